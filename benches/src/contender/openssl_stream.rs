//! The `openssl` crate by its `SslStream` over a [`Read`] + [`Write`] in memory.
//!
//! The stream's transport is the wire itself: what OpenSSL writes goes straight to it, and what OpenSSL reads comes
//! straight from it, as with a socket. The wire is lent to the transport for the time of a call.

use std::io::{self, Read, Write};

use openssl::ssl::{HandshakeError, MidHandshakeSslStream, Ssl, SslStream};

use super::{Contender, Look, MAX_PLAINTEXT};
use crate::setting::{SERVER_NAME, Setting};
use crate::wire::Wire;

struct Pair {
    client: SslStream<Port>,
    server: SslStream<Port>,
    plaintext: Box<[u8]>,
}

/// A transport that reads from one wire and writes to another.
#[derive(Debug, Default)]
struct Port {
    incoming: Wire,
    outgoing: Wire,
}

impl Read for Port {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.incoming.read(into)
    }
}

impl Write for Port {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a connected pair.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let mut client = Ssl::new(&setting.openssl_client()).expect("OpenSSL makes a client");
    client.param_mut().set_host(SERVER_NAME).expect("the server's name is a host name");
    let server = Ssl::new(&setting.openssl_server()).expect("OpenSSL makes a server");
    let port = || Port { incoming: Wire::new(), outgoing: Wire::new() };
    let (client, server) = shake(client.connect(port()), server.accept(port()));
    Box::new(Pair { client, server, plaintext: vec![0; MAX_PLAINTEXT].into_boxed_slice() })
}

type Half = Result<SslStream<Port>, HandshakeError<Port>>;

fn shake(mut client: Half, mut server: Half) -> (SslStream<Port>, SslStream<Port>) {
    loop {
        std::mem::swap(&mut port(&mut client).outgoing, &mut port(&mut server).incoming);
        server = resume(server);
        std::mem::swap(&mut port(&mut server).outgoing, &mut port(&mut client).incoming);
        client = resume(client);
        match (client, server) {
            (Ok(client), Ok(server)) => return (client, server),
            unfinished => (client, server) = unfinished,
        }
    }
}

fn port(half: &mut Half) -> &mut Port {
    match half {
        Ok(stream) => stream.get_mut(),
        Err(HandshakeError::WouldBlock(middle)) => middle.get_mut(),
        Err(failure) => panic!("the handshake fails: {failure}"),
    }
}

fn resume(half: Half) -> Half {
    match half {
        Err(HandshakeError::WouldBlock(middle)) => MidHandshakeSslStream::handshake(middle),
        settled => settled,
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        std::mem::swap(&mut self.client.get_mut().outgoing, wire);
        let written = self.client.ssl_write(payload);
        std::mem::swap(&mut self.client.get_mut().outgoing, wire);
        assert_eq!(written.ok(), Some(payload.len()), "a record is taken whole");
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        std::mem::swap(&mut self.server.get_mut().incoming, wire);
        let read = self.server.ssl_read(&mut self.plaintext);
        std::mem::swap(&mut self.server.get_mut().incoming, wire);
        let length = read.expect("a record is on the wire and opens");
        look(&self.plaintext[..length]);
        length
    }
}
