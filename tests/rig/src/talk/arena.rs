//! arenatls over arena memory and plain sockets.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::LazyLock;

use arenatls_engine::{Connection, Event, Options, Progress};
use arenatls_memory_bio::{ArenaPool, Budget};
use openssl::ssl::{Ssl, SslContext};

use super::{Role, Talker};
use crate::pair::Conn;

/// Memory of an end (bytes): a write of several records fits.
const MEMORY: usize = 256 * 1024;

static POOL: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(MEMORY)));

struct Arena {
    conn: Conn,
    socket: TcpStream,
    submissions: u64,
}

/// An end whose ciphertext lies in an arena, and goes to the socket and comes from it by `send` and `recv`.
///
/// # Panics
///
/// If the handshake fails.
#[must_use]
pub fn over_plain_sockets(socket: TcpStream, role: Role, context: &SslContext, options: &Options) -> Box<dyn Talker> {
    let ssl = Ssl::new(context).expect("an Ssl");
    let memory = POOL.backend().expect("a pool without limit");
    let conn = match role {
        Role::Client => Connection::connect_with(ssl, "localhost", memory, options),
        Role::Server => Connection::accept_with(ssl, memory, options),
    };
    let mut arena = Arena { conn: conn.expect("a connection"), socket, submissions: 0 };
    arena.shake();
    Box::new(arena)
}

impl Arena {
    fn shake(&mut self) {
        loop {
            match self.conn.poll_event().expect("an honest peer") {
                Some(Event::HandshakeComplete) => return self.flush(),
                Some(_) => continue,
                None => {}
            }
            // The handshake is not complete before its last flight has left.
            let left = self.conn.backend().unsent();
            self.flush();
            assert!(left > 0 || self.fill(), "the peer ended amid the handshake");
        }
    }

    fn flush(&mut self) {
        let backend = self.conn.backend_mut();
        while !backend.to_send().is_empty() {
            let sent = again_if_interrupted(|| self.socket.write(backend.to_send())).expect("a peer that is there");
            self.submissions += 1;
            backend.sent(sent).expect("no more than there was");
        }
    }

    /// Waits for more; false at the end.
    fn fill(&mut self) -> bool {
        let backend = self.conn.backend_mut();
        match again_if_interrupted(|| self.socket.read(backend.receive_into())) {
            Ok(0) => false,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            read => {
                backend.received(read.expect("a socket that works")).expect("no more than there was room for");
                true
            }
        }
    }
}

/// What the standard library's own loops do.
fn again_if_interrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl Talker for Arena {
    fn send(&mut self, plaintext: &[u8]) {
        let written = self.conn.write(plaintext).expect("a connection in traffic");
        assert_eq!(written, Progress::Done(plaintext.len()), "it fits");
        self.flush();
    }

    fn receive(&mut self, into: &mut [u8]) -> bool {
        let mut got = 0;
        while got < into.len() {
            if let Some(event) = self.conn.poll_event().expect("an honest peer") {
                if let Event::Plaintext(bytes) = event {
                    into[got..got + bytes.len()].copy_from_slice(&bytes);
                    got += bytes.len();
                }
                continue;
            }
            if !self.fill() {
                assert_eq!(got, 0, "the peer ended amid a message");
                return false;
            }
        }
        true
    }

    fn submissions(&self) -> u64 {
        self.submissions
    }

    fn protection(&mut self) -> String {
        self.conn.protection().0.to_string()
    }
}
