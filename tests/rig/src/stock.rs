//! The other end as others have it: OpenSSL's own record layer over a pair of byte queues.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use openssl::ssl::{ErrorCode, Ssl, SslContext, SslRef, SslStream};

use crate::pair::{Conn, Seen, events, feed};

/// Bytes on their way in and out; says "would block" where there are none.
#[derive(Debug, Default)]
pub struct Pipe {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.incoming.read(buf) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            other => other,
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.outgoing.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stock OpenSSL endpoint that never runs out of room.
#[derive(Debug)]
pub struct Stock {
    stream: SslStream<Pipe>,
}

impl Stock {
    /// A client of `localhost` that has not spoken yet.
    ///
    /// # Panics
    ///
    /// If OpenSSL cannot make it.
    #[must_use]
    pub fn client(context: &SslContext) -> Stock {
        let mut ssl = Ssl::new(context).expect("an Ssl");
        ssl.set_connect_state();
        Stock { stream: SslStream::new(ssl, Pipe::default()).expect("a stream") }
    }

    /// A server that has not spoken yet.
    ///
    /// # Panics
    ///
    /// If OpenSSL cannot make it.
    #[must_use]
    pub fn server(context: &SslContext) -> Stock {
        let mut ssl = Ssl::new(context).expect("an Ssl");
        ssl.set_accept_state();
        Stock { stream: SslStream::new(ssl, Pipe::default()).expect("a stream") }
    }

    /// Goes on with the handshake; true once it is done.
    ///
    /// # Errors
    ///
    /// What OpenSSL says.
    pub fn handshake(&mut self) -> Result<bool, openssl::ssl::Error> {
        match self.stream.do_handshake() {
            Ok(()) => Ok(true),
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A server's data of 0.5 round trips: before the client has finished, once its hello is there
    /// (`SSL_read_early_data`, `SSL_write_early_data`).
    ///
    /// # Panics
    ///
    /// If OpenSSL does not take all of it.
    pub fn write_early(&mut self, data: &[u8]) {
        let nothing = self.stream.read_early_data(&mut [0; 16]).expect("the hello, and no early data");
        assert_eq!(nothing, 0);
        assert_eq!(self.stream.write_early_data(data).expect("0.5-RTT data"), data.len());
    }

    /// Writes `data`.
    ///
    /// # Panics
    ///
    /// If OpenSSL does not take all of it.
    pub fn write(&mut self, data: &[u8]) {
        assert_eq!(self.stream.ssl_write(data).expect("a write"), data.len());
    }

    /// Reads what there is.
    ///
    /// # Errors
    ///
    /// What OpenSSL says, `ZERO_RETURN` for a clean end.
    pub fn read(&mut self) -> Result<Vec<u8>, openssl::ssl::Error> {
        let (mut data, mut buf) = (Vec::new(), [0; 4096]);
        loop {
            match self.stream.ssl_read(&mut buf) {
                Ok(n) => data.extend(&buf[..n]),
                Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(data),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends close_notify.
    ///
    /// # Panics
    ///
    /// If OpenSSL does not.
    pub fn shutdown(&mut self) {
        self.stream.shutdown().expect("a close_notify");
    }

    /// The `Ssl`.
    #[must_use]
    pub fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    /// Adds to what waits to be read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.stream.get_mut().incoming.extend(bytes);
    }

    /// Takes what waits to be sent.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stream.get_mut().outgoing)
    }

    /// Gives `conn` what waits to be sent, as far as it has room, and has it look.
    ///
    /// # Errors
    ///
    /// What `conn` failed with.
    pub fn send_to(&mut self, conn: &mut Conn) -> Result<Vec<Seen>, arenatls_engine::Error> {
        let bytes = self.take();
        let n = feed(conn, &bytes);
        self.stream.get_mut().outgoing.extend(&bytes[n..]);
        events(conn)
    }

    /// Takes over what `conn` has to send.
    pub fn receive_from(&mut self, conn: &mut Conn) {
        let bytes = crate::pair::take_output(conn);
        self.feed(&bytes);
    }

    /// Runs the handshake with `conn` to its end on both sides.
    ///
    /// # Panics
    ///
    /// If either side fails.
    pub fn handshake_with(&mut self, conn: &mut Conn) {
        for _ in 0..20 {
            let done = self.handshake().expect("the stock end's handshake");
            self.send_to(conn).expect("the engine's handshake");
            self.receive_from(conn);
            events(conn).expect("the engine's handshake");
            if done && conn.state() == arenatls_engine::State::Traffic && conn.backend().unsent() == 0 {
                let _: Vec<u8> = self.read().expect("nothing, or tickets");
                return;
            }
        }
        panic!("the handshake does not end: {conn:?}");
    }
}
