//! arenatls over memory that the caller moves, to be shared behind a mutex.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use arenatls_engine::{Connection, Event, Progress, Want};
use arenatls_memory_bio::ArenaBackend;
use openssl::ssl::{Ssl, SslContext};

use super::shared::Link;
use crate::setting::SERVER_NAME;

/// A connection, and whatever it said in its handshake.
pub(super) struct Shared<'memory>(Connection<ArenaBackend<'memory>>);

impl<'memory> Shared<'memory> {
    /// Shakes hands over `socket`, which blocks until that is done.
    pub(super) fn connect(context: &SslContext, backend: ArenaBackend<'memory>, mut socket: &TcpStream) -> Self {
        let ssl = Ssl::new(context).expect("OpenSSL has memory");
        let mut connection = Connection::connect(ssl, SERVER_NAME, backend).expect("a client");
        loop {
            let mut done = false;
            while let Some(event) = connection.poll_event().expect("the server is honest") {
                done |= matches!(event, Event::HandshakeComplete);
            }
            let backend = connection.backend_mut();
            let n = backend.to_send().len();
            socket.write_all(backend.to_send()).expect("the server reads");
            backend.sent(n).expect("as much as there was");
            if done {
                return Shared(connection);
            }
            // The end is told once the last flight has left.
            if connection.want() != Some(Want::Input) {
                continue;
            }
            let backend = connection.backend_mut();
            let n = socket.read(backend.receive_into()).expect("the server writes");
            backend.received(n).expect("as much as there was room");
        }
    }
}

impl Link for Shared<'_> {
    fn seal(&mut self, message: &[u8]) -> bool {
        match self.0.write(message).expect("the connection is up") {
            Progress::Done(n) => {
                assert_eq!(n, message.len(), "a message is at most one record");
                true
            }
            Progress::Want(_) => false,
        }
    }

    fn send(&mut self, mut socket: &TcpStream) -> bool {
        let backend = self.0.backend_mut();
        while !backend.to_send().is_empty() {
            match socket.write(backend.to_send()) {
                Ok(n) => backend.sent(n).expect("no more than there was"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => panic!("the server reads: {error}"),
            }
        }
        true
    }

    fn receive(&mut self, mut socket: &TcpStream, plaintext: &mut Vec<u8>) {
        let backend = self.0.backend_mut();
        match socket.read(backend.receive_into()) {
            Ok(0) => panic!("the server ended it"),
            Ok(n) => backend.received(n).expect("as much as there was room"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        while let Some(event) = self.0.poll_event().expect("the server is honest") {
            if let Event::Plaintext(bytes) = event {
                plaintext.extend_from_slice(&bytes);
            }
        }
    }
}
