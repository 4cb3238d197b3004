//! arenatls on a ring: both ends of a loopback connection on one driver, in one thread.
//!
//! Settings: those a driver has by default. The wire is not used: the driver owns the sockets. A record is sealed into a
//! slot, and the turn that sends it also brings it to the slot of the server, where it is opened.

use std::net::{TcpListener, TcpStream};

use arenatls_engine::Progress;
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver, Role};
use openssl::ssl::Ssl;

use super::{Contender, Look, Protections};
use crate::setting::{SERVER_NAME, Setting};
use crate::wire::Wire;

struct Pair {
    driver: RingDriver,
    client: ConnectionId,
    server: ConnectionId,
    /// The driver has told of plaintext that was not taken yet.
    told: bool,
}

/// Makes a connected pair.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let client = Ssl::new(&setting.openssl_client()).expect("OpenSSL makes a client");
    let server = Ssl::new(&setting.openssl_server()).expect("OpenSSL makes a server");
    let mut driver = RingDriver::new(Config::default().connections(2)).expect("a ring");
    let (near, far) = sockets();
    let client = driver.adopt(near.into(), client, Role::Client { name: SERVER_NAME }).expect("a client is made");
    let server = driver.adopt(far.into(), server, Role::Server).expect("a server is made");
    let mut pair = Pair { driver, client, server, told: false };
    pair.shake();
    Box::new(pair)
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    (near, listener.accept().expect("its other end").0)
}

impl Pair {
    fn shake(&mut self) {
        let mut handshaking = 2;
        loop {
            while let Some(event) = self.driver.poll_event().expect("the ring works") {
                match event {
                    DriverEvent::HandshakeComplete(_) => handshaking -= 1,
                    other => panic!("in a handshake of the honest: {other:?}"),
                }
            }
            if handshaking == 0 {
                return;
            }
            self.driver.turn(None).expect("the ring works");
        }
    }

    /// Polls all there is, and takes a turn if that told of nothing to read.
    fn go_on(&mut self) {
        while let Some(event) = self.driver.poll_event().expect("the ring works") {
            match event {
                DriverEvent::Plaintext(_) => self.told = true,
                DriverEvent::Writable(_) => {}
                other => panic!("among the honest: {other:?}"),
            }
        }
        if !self.told {
            self.driver.turn(None).expect("the ring works");
        }
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], _wire: &mut Wire) {
        let mut rest = payload;
        while !rest.is_empty() {
            let client = self.driver.connection(self.client).expect("it is open");
            match client.write(rest).expect("the pair is connected") {
                Progress::Done(n) => rest = &rest[n..],
                // Several records were written, and none was read yet.
                Progress::Want(_) => self.driver.turn(None).expect("the ring works"),
            }
        }
    }

    fn read(&mut self, _wire: &mut Wire, look: &mut Look<'_>) -> usize {
        while !self.told {
            self.go_on();
        }
        self.told = false;
        let plaintext = self.driver.plaintext(self.server).expect("what was told of");
        look(&plaintext);
        plaintext.len()
    }

    fn protections(&mut self) -> Protections {
        let mut of = |id| self.driver.connection(id).expect("it is open").protection();
        Protections { writing: of(self.client).0.to_string(), reading: of(self.server).1.to_string() }
    }
}
