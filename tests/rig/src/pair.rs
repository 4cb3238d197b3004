//! Two joined connections in memory.

use std::ops::RangeInclusive;

use arenatls_engine::{Connection, Error, Event, Options, Progress, State};
use arenatls_memory_bio::{ArenaBackend, ArenaPool, Budget};
use openssl::ssl::{Ssl, SslContext};

/// What the rig's connections run over.
pub type Conn = Connection<ArenaBackend<'static>>;

/// Budget of one connection of the rig (bytes).
pub const BUDGET: usize = 96 * 1024;

/// A pool that lives as long as the test process.
pub fn pool(bytes: usize) -> &'static ArenaPool {
    Box::leak(Box::new(ArenaPool::new(Budget::bytes(bytes))))
}

/// An event without its borrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// See [`Event::HandshakeComplete`].
    HandshakeComplete,
    /// The bytes of an [`Event::Plaintext`].
    Plaintext(Vec<u8>),
    /// See [`Event::PeerClosed`].
    PeerClosed,
    /// See [`Event::Truncated`].
    Truncated,
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Seen {
        match event {
            Event::HandshakeComplete => Seen::HandshakeComplete,
            Event::Plaintext(bytes) => Seen::Plaintext(bytes.to_vec()),
            Event::PeerClosed => Seen::PeerClosed,
            Event::Truncated => Seen::Truncated,
            other => panic!("an event the rig does not know: {other:?}"),
        }
    }
}

/// A client and a server.
pub struct Pair {
    /// The client's end.
    pub client: Conn,
    /// The server's end.
    pub server: Conn,
}

impl Pair {
    /// A pair that has not spoken yet; the client expects `localhost`.
    pub fn new(client: &SslContext, server: &SslContext, options: &Options) -> Pair {
        Pair::with(client, server, options, options, crate::mode::usual_pool())
    }

    /// [`new`](Self::new) with the choices of each end, and memory from `pool`.
    pub fn with(
        client: &SslContext,
        server: &SslContext,
        client_options: &Options,
        server_options: &Options,
        pool: &'static ArenaPool,
    ) -> Pair {
        let ssl = |context| Ssl::new(context).expect("an Ssl");
        let backend = || pool.backend().expect("memory for a connection");
        Pair {
            client: Connection::connect_with(ssl(client), "localhost", backend(), client_options).expect("a client"),
            server: Connection::accept_with(ssl(server), backend(), server_options).expect("a server"),
        }
    }

    /// A pair in traffic.
    pub fn connected(client: &SslContext, server: &SslContext, options: &Options) -> Pair {
        let mut pair = Pair::new(client, server, options);
        pair.handshake();
        pair
    }

    /// Runs the handshake to its end on both sides, and what the server still had to say (tickets).
    pub fn handshake(&mut self) {
        let (client, server) = self.settle();
        assert_eq!(client.expect("the client's handshake"), [Seen::HandshakeComplete]);
        assert_eq!(server.expect("the server's handshake"), [Seen::HandshakeComplete]);
        assert_eq!((self.client.state(), self.server.state()), (State::Traffic, State::Traffic));
    }

    /// Polls and moves bytes until nothing moves; what each end saw, or how it failed.
    pub fn settle(&mut self) -> (Result<Vec<Seen>, Error>, Result<Vec<Seen>, Error>) {
        let (mut client, mut server) = (Ok(Vec::new()), Ok(Vec::new()));
        loop {
            drain_events(&mut self.client, &mut client);
            drain_events(&mut self.server, &mut server);
            let moved = carry(&mut self.client, &mut self.server) + carry(&mut self.server, &mut self.client);
            if moved == 0 {
                return (client, server);
            }
        }
    }

    /// [`settle`](Self::settle) where neither end fails; what the client saw, and what the server saw.
    ///
    /// # Panics
    ///
    /// If either end fails.
    pub fn settled(&mut self) -> (Vec<Seen>, Vec<Seen>) {
        let (client, server) = self.settle();
        (client.expect("the client is well"), server.expect("the server is well"))
    }

    /// Moves all there is to move from the client to the server, and returns what the server then sees.
    pub fn to_server(&mut self) -> Vec<Seen> {
        carry(&mut self.client, &mut self.server);
        events(&mut self.server).expect("the server reads")
    }

    /// [`to_client`](Self::to_client) of what may fail the client.
    ///
    /// # Errors
    ///
    /// What the client failed with.
    pub fn to_client_result(&mut self) -> Result<Vec<Seen>, Error> {
        carry(&mut self.server, &mut self.client);
        events(&mut self.client)
    }

    /// [`to_server`](Self::to_server) of what may fail the server.
    ///
    /// # Errors
    ///
    /// What the server failed with.
    pub fn to_server_result(&mut self) -> Result<Vec<Seen>, Error> {
        carry(&mut self.client, &mut self.server);
        events(&mut self.server)
    }

    /// As [`to_server`](Self::to_server), the other way.
    pub fn to_client(&mut self) -> Vec<Seen> {
        carry(&mut self.server, &mut self.client);
        events(&mut self.client).expect("the client reads")
    }
}

fn drain_events(conn: &mut Conn, seen: &mut Result<Vec<Seen>, Error>) {
    while let Ok(list) = seen {
        match conn.poll_event() {
            Ok(Some(event)) => list.push(event.into()),
            Ok(None) => return,
            Err(error) => *seen = Err(error),
        }
    }
}

/// Polls until there is nothing more.
///
/// # Errors
///
/// What the connection failed with; what was seen before is lost.
pub fn events(conn: &mut Conn) -> Result<Vec<Seen>, Error> {
    let mut seen = Ok(Vec::new());
    drain_events(conn, &mut seen);
    seen
}

/// All plaintext among `seen`, joined.
pub fn plaintext(seen: &[Seen]) -> Vec<u8> {
    seen.iter().flat_map(|s| if let Seen::Plaintext(bytes) = s { bytes.as_slice() } else { &[] }).copied().collect()
}

/// Takes all ciphertext that waits to be sent.
pub fn take_output(conn: &mut Conn) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let backend = conn.backend_mut();
        let n = backend.to_send().len();
        if n == 0 {
            return out;
        }
        out.extend_from_slice(backend.to_send());
        backend.sent(n).expect("sent what was offered");
    }
}

/// Gives as much of `bytes` as there is room for, and returns how much that was.
pub fn feed(conn: &mut Conn, bytes: &[u8]) -> usize {
    let backend = conn.backend_mut();
    let room = backend.receive_into();
    let n = room.len().min(bytes.len());
    room[..n].copy_from_slice(&bytes[..n]);
    backend.received(n).expect("received what there was room for");
    n
}

/// Gives all of `bytes`, polling whenever there is no room, and returns what was seen on the way.
///
/// # Errors
///
/// What the connection failed with.
pub fn feed_all(conn: &mut Conn, mut bytes: &[u8]) -> Result<Vec<Seen>, Error> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let n = feed(conn, bytes);
        bytes = &bytes[n..];
        let new = events(conn)?;
        assert!(n > 0 || !new.is_empty(), "a connection that takes no input and does nothing with what it has");
        seen.extend(new);
    }
    Ok(seen)
}

/// Moves what one end has to send into what room the other has; bytes moved.
pub fn carry(from: &mut Conn, to: &mut Conn) -> usize {
    carry_chunks(from, to, 1..=usize::MAX)
}

/// [`carry`], of at most as many bytes as the end of `size` says.
pub fn carry_chunks(from: &mut Conn, to: &mut Conn, size: RangeInclusive<usize>) -> usize {
    let bytes = from.backend().to_send();
    let n = feed(to, &bytes[..bytes.len().min(*size.end())]);
    from.backend_mut().sent(n).expect("sent what was offered");
    n
}

/// Writes all of `bytes`, handing them over through `carry_on` whenever the output is full.
pub fn write_all(conn: &mut Conn, mut bytes: &[u8], mut carry_on: impl FnMut(&mut Conn)) {
    while !bytes.is_empty() {
        match conn.write(bytes).expect("a write") {
            Progress::Done(n) => bytes = &bytes[n..],
            Progress::Want(_) => {
                let unsent = conn.backend().unsent();
                carry_on(conn);
                assert!(conn.backend().unsent() < unsent, "nothing was carried on");
            }
        }
    }
}
