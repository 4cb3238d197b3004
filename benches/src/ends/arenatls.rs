//! arenatls over arena memory of a pool: connections of the usual budget, taken from memory that was used before.

use std::marker::PhantomData;

use arenatls_engine::{Connection, Event, Options, Progress};
use arenatls_memory_bio::{ArenaBackend, ArenaPool, Budget, Capacities};
use openssl::ssl::SslMode;

use super::openssl_contexts::agreed;
use super::{Agreed, Contexts, End, Kit, Parties, Terms};
use crate::contender::Look;
use crate::setting::SERVER_NAME;
use crate::wire::Wire;

/// arenatls over a pool.
#[derive(Debug)]
pub struct Arenatls<C> {
    contexts: Contexts,
    /// Lent for as long as the process lives, so that ends need no lifetime.
    pool: &'static ArenaPool,
    options: Options,
    choice: PhantomData<fn() -> C>,
}

/// What a user chooses.
pub trait Choice {
    /// Memory of one connection.
    const BUDGET: Budget = Budget::bytes(64 * 1024);

    /// The options.
    fn options() -> Options {
        Options::default()
    }
}

/// The engine protects records, wherever OpenSSL offers the keys.
#[derive(Debug)]
pub struct Engine;

/// As [`Engine`], with no more memory than a connection works with.
#[derive(Debug)]
pub struct LeastMemory;

/// OpenSSL protects records.
#[derive(Debug)]
pub struct Library;

impl Choice for Engine {}

impl Choice for LeastMemory {
    const BUDGET: Budget = Budget::bytes(Capacities::MINIMUM.total());
}

impl Choice for Library {
    fn options() -> Options {
        Options::default().library_protection()
    }
}

/// A connection, and whether its handshake is done.
#[derive(Debug)]
pub struct ArenatlsEnd {
    connection: Connection<ArenaBackend<'static>>,
    done: bool,
}

impl<C: Choice> Kit for Arenatls<C> {
    type Client = ArenatlsEnd;
    type Server = ArenatlsEnd;

    fn can(terms: &Terms) -> bool {
        Contexts::can(terms)
    }

    fn new(terms: &Terms, parties: &Parties, sibling: Option<&Self>) -> Self {
        let sibling = sibling.map(|sibling| &sibling.contexts);
        Self {
            contexts: Contexts::new(terms, parties, sibling, SslMode::empty()),
            pool: Box::leak(Box::new(ArenaPool::new(C::BUDGET))),
            options: C::options(),
            choice: PhantomData,
        }
    }

    fn client(&self) -> ArenatlsEnd {
        let (ssl, memory) = (self.contexts.client(), self.pool.backend().expect("the pool has no limit"));
        let connection = Connection::connect_with(ssl, SERVER_NAME, memory, &self.options);
        ArenatlsEnd { connection: connection.expect("a client is made"), done: false }
    }

    fn server(&self) -> ArenatlsEnd {
        let (ssl, memory) = (self.contexts.server(), self.pool.backend().expect("the pool has no limit"));
        let connection = Connection::accept_with(ssl, memory, &self.options);
        ArenatlsEnd { connection: connection.expect("a server is made"), done: false }
    }

    fn keep(&self, client: &mut ArenatlsEnd) {
        self.contexts.keep(client.connection.ssl());
    }
}

impl ArenatlsEnd {
    fn receive(&mut self, from: &mut Wire) {
        let backend = self.connection.backend_mut();
        let length = from.pull(backend.receive_into());
        backend.received(length).expect("no more was received than there was room for");
    }

    fn send(&mut self, to: &mut Wire) {
        let backend = self.connection.backend_mut();
        while !backend.to_send().is_empty() {
            let length = backend.to_send().len();
            to.push(backend.to_send());
            backend.sent(length).expect("no more was sent than there was");
        }
    }
}

impl End for ArenatlsEnd {
    fn go_on(&mut self, from: &mut Wire, to: &mut Wire) -> bool {
        loop {
            if !from.is_empty() {
                self.receive(from);
            }
            while let Some(event) = self.connection.poll_event().expect("the peer is honest") {
                self.done |= matches!(event, Event::HandshakeComplete);
            }
            self.send(to);
            if from.is_empty() {
                return self.done;
            }
        }
    }

    fn agreed(&self) -> Agreed {
        agreed(self.connection.ssl())
    }

    fn write(&mut self, plaintext: &[u8], to: &mut Wire) {
        let written = self.connection.write(plaintext).expect("it is connected");
        assert_eq!(written, Progress::Done(plaintext.len()), "all is taken");
        self.send(to);
    }

    fn read(&mut self, from: &mut Wire, look: &mut Look<'_>) -> usize {
        let mut shown = 0;
        while !from.is_empty() {
            self.receive(from);
            while let Some(event) = self.connection.poll_event().expect("it opens") {
                if let Event::Plaintext(plaintext) = event {
                    look(&plaintext);
                    shown += plaintext.len();
                }
            }
        }
        shown
    }

    fn close(&mut self, to: &mut Wire) {
        assert_eq!(self.connection.close().expect("it is connected"), Progress::Done(()), "close_notify is said");
        self.send(to);
    }
}
