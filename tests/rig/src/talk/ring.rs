//! arenatls over a ring that owns the socket.

use std::net::TcpStream;

use arenatls_engine::{Options, Progress};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver, Role as Side};
use openssl::ssl::{Ssl, SslContext};

use super::{Role, Talker};
use crate::ring::{WATCHDOG, driver};

/// Memory of an end, inbound and outbound (bytes): a write of several records fits.
const MEMORY: (usize, usize) = (64 * 1024, 128 * 1024);

struct Ring {
    driver: RingDriver,
    id: ConnectionId,
}

/// Whether there is io_uring for [`over_a_ring`]; a loud word where there is none.
#[must_use]
pub fn has_a_ring() -> bool {
    driver(Config::default().connections(1)).is_some()
}

/// An end that owns its socket by io_uring. Ask [`has_a_ring`] first.
///
/// # Panics
///
/// If there is no io_uring, or the handshake fails.
#[must_use]
pub fn over_a_ring(socket: TcpStream, role: Role, context: &SslContext, options: &Options) -> Box<dyn Talker> {
    let config = Config::default().connections(1).memory(MEMORY.0, MEMORY.1).options(*options);
    let mut driver = RingDriver::new(config.idle_timeout(None).rest_after(None)).expect("io_uring");
    let side = if role == Role::Server { Side::Server } else { Side::Client { name: "localhost" } };
    let ssl = Ssl::new(context).expect("an Ssl");
    let id = driver.adopt(socket.into(), ssl, side).expect("a connection");
    let mut ring = Ring { driver, id };
    ring.shake();
    Box::new(ring)
}

impl Ring {
    fn shake(&mut self) {
        loop {
            match self.next() {
                DriverEvent::HandshakeComplete(_) => return,
                DriverEvent::Closed(_, reason) => panic!("amid the handshake: {reason:?}"),
                _ => {}
            }
        }
    }

    /// Waits for the next event.
    fn next(&mut self) -> DriverEvent {
        loop {
            if let Some(event) = self.driver.poll_event().expect("a ring that works") {
                return event;
            }
            self.driver.turn(Some(WATCHDOG)).expect("a ring that works");
        }
    }
}

impl Talker for Ring {
    fn send(&mut self, plaintext: &[u8]) {
        let connection = self.driver.connection(self.id).expect("an open connection");
        let written = connection.write(plaintext).expect("a connection in traffic");
        assert_eq!(written, Progress::Done(plaintext.len()), "it fits");
    }

    fn receive(&mut self, into: &mut [u8]) -> bool {
        let mut got = 0;
        while got < into.len() {
            match self.next() {
                DriverEvent::Plaintext(id) => {
                    let bytes = self.driver.plaintext(id).expect("what was told of");
                    into[got..got + bytes.len()].copy_from_slice(&bytes);
                    got += bytes.len();
                }
                DriverEvent::Closed(..) => {
                    assert_eq!(got, 0, "the peer ended amid a message");
                    return false;
                }
                _ => {}
            }
        }
        true
    }

    fn submissions(&self) -> u64 {
        self.driver.sends()
    }

    fn protection(&mut self) -> String {
        let connection = self.driver.connection(self.id).expect("an open connection");
        connection.protection().0.to_string()
    }
}
