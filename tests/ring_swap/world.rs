//! A connection that changes its backend, and its peer, which never does.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use arenatls::{ArenaPool, Backend, Connection, Progress};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::mode::{Mode, usual_pool};
use arenatls_rig::pair::{Conn, Pair, Seen, events, plaintext};
use arenatls_rig::ring::{Told, WATCHDOG, driver, poll};

/// Two ends of a TCP connection; nothing on either blocks.
pub(crate) fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (two, _) = listener.accept().unwrap();
    for socket in [&one, &two] {
        socket.set_nonblocking(true).unwrap();
        socket.set_nodelay(true).unwrap();
    }
    (one, two)
}

/// Moves what can be moved between a connection and its socket, at most so many bytes each way; bytes moved.
pub(crate) fn pump_some(conn: &mut Conn, socket: &mut TcpStream, most: usize) -> usize {
    let out = conn.backend().to_send();
    // Not an empty write: a socket whose direction is shut refuses even that.
    let sent = if out.is_empty() { 0 } else { moved(socket.write(&out[..out.len().min(most)])) };
    conn.backend_mut().sent(sent).unwrap();
    let room = conn.backend_mut().receive_into();
    let most = room.len().min(most);
    if most == 0 {
        return sent;
    }
    let read = socket.read(&mut room[..most]);
    let (ended, n) = (matches!(read, Ok(0)), moved(read));
    conn.backend_mut().received(n).unwrap();
    if ended {
        conn.backend_mut().end_of_input();
    }
    sent + n
}

fn moved(result: std::io::Result<usize>) -> usize {
    match result {
        Ok(n) => n,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// A driver, the peer of its one connection, and the peer's socket.
pub(crate) struct World {
    pub(crate) driver: RingDriver,
    pub(crate) peer: Conn,
    pub(crate) line: TcpStream,
    pub(crate) log: Vec<Told>,
}

impl World {
    /// A server in traffic that nobody has yet, its socket, and the world of its client; nothing without io_uring.
    pub(crate) fn with(mode: &Mode, config: Config) -> Option<(World, Conn, TcpStream)> {
        let mut pair = mode.connected();
        pair.settled();
        World::of(config, pair)
    }

    /// As [`with`](Self::with), of a pair in whatever state.
    pub(crate) fn of(config: Config, pair: Pair) -> Option<(World, Conn, TcpStream)> {
        let driver = driver(config)?;
        let (line, socket) = sockets();
        Some((World { driver, peer: pair.client, line, log: Vec::new() }, pair.server, socket))
    }

    /// The server on the ring already.
    pub(crate) fn on_ring(mode: &Mode, config: Config) -> Option<(World, ConnectionId)> {
        let (mut world, conn, socket) = World::with(mode, config)?;
        let id = world.adopt(conn, socket);
        Some((world, id))
    }

    pub(crate) fn adopt(&mut self, conn: Conn, socket: TcpStream) -> ConnectionId {
        self.driver.adopt_connection(socket.into(), conn).unwrap()
    }

    /// One turn, whose events nobody acts on.
    pub(crate) fn turn(&mut self) {
        poll(&mut self.driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut self.log);
        self.driver.turn(Some(Duration::from_millis(1))).unwrap();
    }

    /// Turns until `done`, or the watchdog barks.
    pub(crate) fn until<T>(&mut self, mut done: impl FnMut(&mut World) -> Option<T>) -> T {
        let end = Instant::now() + WATCHDOG;
        loop {
            if let Some(result) = done(self) {
                return result;
            }
            self.turn();
            assert!(Instant::now() < end, "it does not come to pass: {:?} {:?}", self.driver, self.log);
        }
    }

    /// Turns until `told` was told.
    pub(crate) fn until_told(&mut self, told: &Told) {
        self.until(|world| world.log.contains(told).then_some(()));
    }

    /// Detaches the connection and takes it into memory of `pool`.
    pub(crate) fn take_into(&mut self, id: ConnectionId, pool: &'static ArenaPool) -> (Conn, TcpStream) {
        self.driver.detach(id).unwrap();
        self.take_detached_into(id, pool)
    }

    /// Turns until the connection is detached, and takes it.
    pub(crate) fn take_detached_into(&mut self, id: ConnectionId, pool: &'static ArenaPool) -> (Conn, TcpStream) {
        self.until_told(&Told::Detached(id));
        let (socket, conn) = self.driver.take_detached(id, pool.backend().unwrap()).unwrap();
        (conn, socket.into())
    }

    pub(crate) fn take(&mut self, id: ConnectionId) -> (Conn, TcpStream) {
        self.take_into(id, usual_pool())
    }

    /// Turns until plaintext is told, lends it, and consumes so much of it; what was consumed.
    pub(crate) fn read(&mut self, id: ConnectionId, most: usize) -> Vec<u8> {
        self.until(|world| {
            let bytes = world.driver.plaintext(id)?;
            let read = bytes[..most.min(bytes.len())].to_vec();
            bytes.consume(read.len());
            Some(read)
        })
    }

    /// Turns until the slot holds so much input.
    pub(crate) fn until_input(&mut self, id: ConnectionId, len: usize) {
        self.until(|world| (world.driver.connection(id)?.backend_mut().input().len() >= len).then_some(()));
    }

    /// The peer says all of `bytes`, as far as the socket takes it.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        assert_eq!(self.peer.write(bytes).unwrap(), Progress::Done(bytes.len()));
        while pump_some(&mut self.peer, &mut self.line, usize::MAX) > 0 {}
    }

    /// What the peer hears until it is so many bytes, while both sides go on.
    pub(crate) fn peer_hears(&mut self, len: usize) -> Vec<u8> {
        let mut heard = Vec::new();
        self.until(|world| {
            pump_some(&mut world.peer, &mut world.line, usize::MAX);
            heard.extend(plaintext(&events(&mut world.peer).unwrap()));
            (heard.len() >= len).then_some(())
        });
        heard
    }

    /// What the peer sees until there is an end, while both sides go on.
    pub(crate) fn peer_sees_the_end(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        self.until(|world| {
            pump_some(&mut world.peer, &mut world.line, usize::MAX);
            seen.extend(events(&mut world.peer).unwrap());
            matches!(seen.last(), Some(Seen::PeerClosed)).then_some(())
        });
        seen
    }

    /// Nothing is lent to anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.driver.slots().lent == 0 && self.driver.connections() == 0
    }
}

/// Pumps and polls until so many bytes were heard.
pub(crate) fn hear(conn: &mut Conn, socket: &mut TcpStream, len: usize) -> Vec<u8> {
    let (mut heard, end) = (Vec::new(), Instant::now() + WATCHDOG);
    while heard.len() < len {
        pump_some(conn, socket, usize::MAX);
        heard.extend(plaintext(&events(conn).unwrap()));
        assert!(Instant::now() < end, "{} of {len} bytes", heard.len());
    }
    heard
}

/// Pumps and polls until there is an end.
pub(crate) fn hear_the_end(conn: &mut Conn, socket: &mut TcpStream) -> Vec<Seen> {
    let (mut seen, end) = (Vec::new(), Instant::now() + WATCHDOG);
    while !matches!(seen.last(), Some(Seen::PeerClosed | Seen::Truncated)) {
        pump_some(conn, socket, usize::MAX);
        while let Ok(Some(event)) = conn.poll_event() {
            seen.push(event.into());
        }
        assert!(Instant::now() < end, "{seen:?}");
    }
    seen
}

/// Answers, whoever moves the bytes.
pub(crate) fn answer<B: Backend>(connection: &mut Connection<B>, bytes: &[u8]) {
    assert_eq!(connection.write(bytes).unwrap(), Progress::Done(bytes.len()));
}

/// A descriptor as a stream again.
pub(crate) fn stream(socket: OwnedFd) -> TcpStream {
    socket.into()
}
