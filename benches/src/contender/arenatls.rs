//! arenatls over arena memory, by each protection it has in memory.
//!
//! Settings: the default options, and the usual budget of a connection. The client seals from the payload into its
//! arena and pushes from there; the server pulls into its arena and is lent the plaintext there.

use std::sync::LazyLock;

use arenatls_engine::{Connection, Event, Options, Progress};
use arenatls_memory_bio::{ArenaBackend, ArenaPool, Budget};
use openssl::ssl::Ssl;

use super::{Contender, Look, Protections};
use crate::setting::{SERVER_NAME, Setting};
use crate::wire::Wire;

/// Memory of one connection (bytes).
const BUDGET: Budget = Budget::bytes(64 * 1024);

static POOL: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(BUDGET));

type End = Connection<ArenaBackend<'static>>;

struct Pair {
    client: End,
    server: End,
}

/// Makes a connected pair whose records OpenSSL protects.
pub(super) fn library(setting: &Setting<'_>) -> Box<dyn Contender> {
    connect(setting, &Options::default().library_protection())
}

/// Makes a connected pair that takes the keys wherever OpenSSL offers them, with EVP as the AEAD.
pub(super) fn engine(setting: &Setting<'_>) -> Box<dyn Contender> {
    connect(setting, &Options::default())
}

/// Makes a connected pair that takes the keys wherever OpenSSL offers them, with ring as the AEAD.
#[cfg(feature = "ring")]
pub(super) fn engine_ring(setting: &Setting<'_>) -> Box<dyn Contender> {
    connect(setting, &Options::default().aead(arenatls_engine::AeadChoice::Ring))
}

fn connect(setting: &Setting<'_>, options: &Options) -> Box<dyn Contender> {
    let client = Ssl::new(&setting.openssl_client()).expect("OpenSSL makes a client");
    let server = Ssl::new(&setting.openssl_server()).expect("OpenSSL makes a server");
    let memory = || POOL.backend().expect("the pool has no limit");
    let mut pair = Pair {
        client: Connection::connect_with(client, SERVER_NAME, memory(), options).expect("a client is made"),
        server: Connection::accept_with(server, memory(), options).expect("a server is made"),
    };
    pair.shake();
    Box::new(pair)
}

impl Pair {
    fn shake(&mut self) {
        let mut wire = Wire::new();
        let (mut client_done, mut server_done) = (false, false);
        while !(client_done && server_done) {
            client_done |= step(&mut self.client);
            carry(&mut self.client, &mut wire, &mut self.server);
            server_done |= step(&mut self.server);
            carry(&mut self.server, &mut wire, &mut self.client);
        }
    }
}

/// Goes on with the handshake; returns whether it has just been completed.
fn step(end: &mut End) -> bool {
    let mut done = false;
    while let Some(event) = end.poll_event().expect("the peer is honest") {
        done |= matches!(event, Event::HandshakeComplete);
    }
    done
}

fn carry(from: &mut End, wire: &mut Wire, to: &mut End) {
    send(from, wire);
    while !wire.is_empty() {
        receive(to, wire);
    }
    wire.reset();
}

#[inline]
fn send(end: &mut End, wire: &mut Wire) {
    let backend = end.backend_mut();
    while !backend.to_send().is_empty() {
        let ciphertext = backend.to_send();
        let length = ciphertext.len();
        wire.push(ciphertext);
        backend.sent(length).expect("no more was sent than there was");
    }
}

#[inline]
fn receive(end: &mut End, wire: &mut Wire) {
    let backend = end.backend_mut();
    let length = wire.pull(backend.receive_into());
    backend.received(length).expect("no more was received than there was room for");
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        let written = self.client.write(payload).expect("the pair is connected");
        assert_eq!(written, Progress::Done(payload.len()), "a record is taken whole");
        send(&mut self.client, wire);
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        receive(&mut self.server, wire);
        let mut shown = 0;
        while let Some(event) = self.server.poll_event().expect("it opens") {
            if let Event::Plaintext(plaintext) = event {
                look(&plaintext);
                shown += plaintext.len();
            }
        }
        shown
    }

    fn protections(&mut self) -> Protections {
        Protections { writing: self.client.protection().0.to_string(), reading: self.server.protection().1.to_string() }
    }
}
