//! rustls by its buffered API, to be shared behind a mutex.

use std::io::{BufRead as _, ErrorKind, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection};

use super::shared::Link;
use crate::contention::peers::server_name;

pub(super) struct Shared {
    connection: ClientConnection,
    /// Sealed, and not all of it sent: until it is, nothing more is sealed, so that what waits is bounded.
    unsent: bool,
}

impl Shared {
    /// Shakes hands over `socket`, which blocks until that is done.
    pub(super) fn connect(config: ClientConfig, mut socket: &TcpStream) -> Shared {
        let mut connection = ClientConnection::new(Arc::new(config), server_name()).expect("rustls makes a client");
        connection.set_buffer_limit(None);
        while connection.is_handshaking() || connection.wants_write() {
            connection.complete_io(&mut socket).expect("the server is honest");
        }
        Shared { connection, unsent: false }
    }
}

impl Link for Shared {
    fn seal(&mut self, message: &[u8]) -> bool {
        if self.unsent {
            return false;
        }
        self.connection.writer().write_all(message).expect("the buffer has no limit");
        true
    }

    fn send(&mut self, mut socket: &TcpStream) -> bool {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = true;
                    return false;
                }
                Err(error) => panic!("the server reads: {error}"),
            }
        }
        self.unsent = false;
        true
    }

    fn receive(&mut self, mut socket: &TcpStream, plaintext: &mut Vec<u8>) {
        match self.connection.read_tls(&mut socket) {
            Ok(0) => panic!("the server ended it"),
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                return;
            }
        }
        self.connection.process_new_packets().expect("the server is honest");
        let mut reader = self.connection.reader();
        while let Ok(bytes) = reader.fill_buf() {
            let n = bytes.len();
            plaintext.extend_from_slice(bytes);
            reader.consume(n);
            if n == 0 {
                break;
            }
        }
    }
}
