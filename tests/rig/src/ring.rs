//! An echo server on a ring in a thread of its own, and plain OpenSSL clients for it.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::contexts::{self, Terms};
use crate::identity::Authority;
use arenatls_engine::{Options, Progress};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverError, DriverEvent, ListenerId, RingDriver, Waker};
use openssl::ssl::{ShutdownState, Ssl, SslContext, SslStream};

/// No test waits longer for anything.
pub const WATCHDOG: Duration = Duration::from_secs(20);
/// What a connection of the echo server keeps for a peer that does not read (bytes).
const PENDING: usize = 64 * 1024;

/// A driver, or nothing and a loud word where this kernel has no io_uring.
pub fn driver(config: Config) -> Option<RingDriver> {
    match RingDriver::new(config) {
        Ok(driver) => Some(driver),
        Err(DriverError::Unsupported(why)) => {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Contexts of a client and a server that trust each other.
pub fn contexts() -> (SslContext, SslContext) {
    let authority = Authority::new("ring");
    let terms = Terms::default();
    (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms))
}

/// What happened, without what was lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// See [`DriverEvent::Accepted`].
    Accepted(ConnectionId),
    /// See [`DriverEvent::HandshakeComplete`].
    HandshakeComplete(ConnectionId),
    /// See [`DriverEvent::Plaintext`].
    Plaintext(ConnectionId),
    /// See [`DriverEvent::Writable`].
    Writable(ConnectionId),
    /// See [`DriverEvent::PeerClosed`].
    PeerClosed(ConnectionId),
    /// See [`DriverEvent::Truncated`].
    Truncated(ConnectionId),
    /// See [`DriverEvent::SendFailed`].
    SendFailed(ConnectionId),
    /// See [`DriverEvent::Failed`].
    Failed(ConnectionId, String),
    /// See [`DriverEvent::Closed`].
    Closed(ConnectionId, CloseReason),
    /// See [`DriverEvent::Detached`].
    Detached(ConnectionId),
    /// See [`DriverEvent::FileSent`].
    FileSent(ConnectionId, u64),
    /// See [`DriverEvent::FileFailed`]: the bytes sent, and why no more.
    FileFailed(ConnectionId, u64, String),
    /// See [`DriverEvent::AtCapacity`].
    AtCapacity,
    /// See [`DriverEvent::AcceptFailed`].
    AcceptFailed(String),
}

impl Told {
    /// What `event` told, without its borrow.
    pub fn of(event: &DriverEvent) -> Told {
        match event {
            DriverEvent::Accepted(id, _) => Told::Accepted(*id),
            DriverEvent::HandshakeComplete(id) => Told::HandshakeComplete(*id),
            DriverEvent::Plaintext(id) => Told::Plaintext(*id),
            DriverEvent::Writable(id) => Told::Writable(*id),
            DriverEvent::PeerClosed(id) => Told::PeerClosed(*id),
            DriverEvent::Truncated(id) => Told::Truncated(*id),
            DriverEvent::SendFailed(id, _) => Told::SendFailed(*id),
            DriverEvent::Failed(id, error) => Told::Failed(*id, error.to_string()),
            DriverEvent::Closed(id, reason) => Told::Closed(*id, *reason),
            DriverEvent::Detached(id) => Told::Detached(*id),
            DriverEvent::FileSent(id, sent) => Told::FileSent(*id, *sent),
            DriverEvent::FileFailed(id, error) => Told::FileFailed(*id, error.sent, format!("{:?}", error.why)),
            DriverEvent::AtCapacity(_) => Told::AtCapacity,
            DriverEvent::AcceptFailed(_, error) => Told::AcceptFailed(error.to_string()),
            other => panic!("a new event: {other:?}"),
        }
    }
}

/// What a server does with its connections.
pub trait App {
    /// Reacts to one event.
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent);

    /// Before every turn.
    fn before_turn(&mut self, _driver: &mut RingDriver) {}
}

impl<F: FnMut(&mut RingDriver, &DriverEvent)> App for F {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        self(driver, event);
    }
}

/// Polls until there is nothing, and writes down all there was.
pub fn poll(driver: &mut RingDriver, app: &mut impl App, log: &mut Vec<Told>) {
    while let Some(event) = driver.poll_event().unwrap() {
        log.push(Told::of(&event));
        app.on(driver, &event);
    }
}

/// Sends back what comes, and closes when the peer has.
#[derive(Debug, Default)]
pub struct Echo {
    peers: Vec<Peer>,
}

#[derive(Debug, Default)]
struct Peer {
    pending: Vec<u8>,
    ended: bool,
    paused: bool,
}

impl Echo {
    /// An echo with memory set aside for this many connections at once.
    pub fn new(connections: u32) -> Echo {
        let peer = || Peer { pending: Vec::with_capacity(PENDING + 16_384), ..Peer::default() };
        Echo { peers: (0..connections).map(|_| peer()).collect() }
    }

    fn reply(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let peer = &mut self.peers[id.index()];
        let Some(connection) = driver.connection(id) else { return };
        if let Ok(Progress::Done(n)) = connection.write(&peer.pending) {
            peer.pending.drain(..n);
        }
        let full = peer.pending.len() > PENDING;
        if full != peer.paused {
            peer.paused = full;
            if full { driver.pause(id) } else { driver.resume(id) }.unwrap();
        }
        if peer.ended && peer.pending.is_empty() {
            driver.close(id).unwrap();
        }
    }
}

impl App for Echo {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Accepted(id, _) => {
                let peer = &mut self.peers[id.index()];
                peer.pending.clear();
                (peer.ended, peer.paused) = (false, false);
            }
            DriverEvent::Plaintext(id) => {
                self.peers[id.index()].pending.extend_from_slice(&driver.plaintext(id).unwrap());
                self.reply(driver, id);
            }
            DriverEvent::Writable(id) => self.reply(driver, id),
            DriverEvent::PeerClosed(id) => {
                self.peers[id.index()].ended = true;
                self.reply(driver, id);
            }
            _ => {}
        }
    }
}

/// Sends so much of the pattern to everybody, and closes.
#[derive(Debug)]
pub struct Source {
    bytes: Vec<u8>,
    at: Vec<usize>,
}

impl Source {
    /// A source of `len` bytes a connection, for this many at once.
    pub fn new(len: usize, connections: u32) -> Source {
        Source { bytes: pattern(0, len), at: vec![0; connections as usize] }
    }
}

impl App for Source {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Accepted(id, _) => self.at[id.index()] = 0,
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) => {
                let at = &mut self.at[id.index()];
                if let Some(Ok(Progress::Done(n))) = driver.connection(id).map(|c| c.write(&self.bytes[*at..])) {
                    *at += n;
                }
                if *at == self.bytes.len() {
                    driver.close(id).unwrap();
                }
            }
            DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
            _ => {}
        }
    }
}

/// A server in a thread.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<Vec<Told>>>,
}

impl Server {
    /// An echo server; nothing where there is no io_uring.
    pub fn echo(config: Config, context: SslContext, connections: u32) -> Option<Server> {
        Server::start(config.connections(connections), context, move || Echo::new(connections))
    }

    /// Runs `app` on a port of the system's choice; `None` where there is no io_uring.
    pub fn start<A: App>(
        config: Config,
        context: SslContext,
        app: impl FnOnce() -> A + Send + 'static,
    ) -> Option<Server> {
        Server::on(TcpListener::bind("127.0.0.1:0").unwrap(), config, context, app)
    }

    /// As [`start`](Self::start), on a socket that listens already.
    pub fn on<A: App>(
        listener: TcpListener,
        config: Config,
        context: SslContext,
        app: impl FnOnce() -> A + Send + 'static,
    ) -> Option<Server> {
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, (tell, hear)) = (Arc::clone(&stop), channel());
        let thread = std::thread::spawn(move || {
            let Some(mut driver) = driver(config) else {
                drop(tell);
                return Vec::new();
            };
            tell.send(driver.waker()).unwrap();
            let listener = driver.listen(listener.into(), context, Options::default()).unwrap();
            serve(driver, listener, &stopped, &mut app())
        });
        let waker = hear.recv().ok()?;
        Some(Server { address, stop, waker, thread: Some(thread) })
    }

    /// Stops it, checks that every slot is home, and returns all that happened.
    pub fn stop(mut self) -> Vec<Told> {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.thread.take().unwrap().join().unwrap()
    }
}

fn serve(mut driver: RingDriver, listener: ListenerId, stop: &AtomicBool, app: &mut impl App) -> Vec<Told> {
    let mut log = Vec::new();
    while !stop.load(Ordering::Acquire) {
        poll(&mut driver, app, &mut log);
        app.before_turn(&mut driver);
        driver.turn(Some(WATCHDOG)).unwrap();
    }
    driver.stop_listening(listener);
    run_out(&mut driver, app, &mut log);
    log
}

/// Goes on until no connection is left, and checks that every slot is home.
pub fn run_out(driver: &mut RingDriver, app: &mut impl App, log: &mut Vec<Told>) {
    let end = Instant::now() + WATCHDOG;
    loop {
        poll(driver, app, log);
        if driver.connections() == 0 {
            break;
        }
        app.before_turn(driver);
        driver.turn(Some(Duration::from_millis(100))).unwrap();
        assert!(Instant::now() < end, "connections do not end: {driver:?}");
    }
    all_home(driver);
}

/// Goes on until `done`, or the watchdog barks.
pub fn run_until(
    driver: &mut RingDriver,
    app: &mut impl App,
    log: &mut Vec<Told>,
    mut done: impl FnMut(&[Told]) -> bool,
) {
    let end = Instant::now() + WATCHDOG;
    loop {
        poll(driver, app, log);
        if done(log) {
            return;
        }
        driver.turn(Some(Duration::from_millis(100))).unwrap();
        assert!(Instant::now() < end, "it does not come to pass: {driver:?} {log:?}");
    }
}

/// Every slot is home.
pub fn all_home(driver: &RingDriver) {
    assert_eq!(driver.slots().lent, 0, "{driver:?}");
    assert_eq!(driver.connections(), 0, "{driver:?}");
}

/// A TCP connection that never waits for ever.
pub fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    stream.set_write_timeout(Some(WATCHDOG)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// An OpenSSL client, connected.
pub fn client(address: SocketAddr, context: &SslContext) -> SslStream<TcpStream> {
    let mut ssl = Ssl::new(context).unwrap();
    ssl.param_mut().set_host("localhost").unwrap();
    let mut stream = SslStream::new(ssl, tcp(address)).unwrap();
    stream.connect().unwrap();
    stream
}

/// Bytes that show where they belong.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (seed..seed + len).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap()).collect()
}

/// Bytes that the client reads until the server's close_notify.
pub fn read_to_end(stream: &mut SslStream<TcpStream>) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(stream.get_shutdown().contains(ShutdownState::RECEIVED), "the end was not clean");
    all
}

/// The reason in the last word on the only connection.
pub fn reasons(log: &[Told]) -> Vec<CloseReason> {
    log.iter().filter_map(|told| if let Told::Closed(_, reason) = told { Some(*reason) } else { None }).collect()
}

/// Closing `socket` will be a reset (`SO_LINGER` of 0 s).
pub fn reset_when_closed(socket: &impl AsRawFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (value, len) = (std::ptr::from_ref(&linger).cast(), 8);
    // SAFETY: the option is a `linger`, of two ints, and `value` points to one.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, len) };
    assert_eq!(set, 0);
}

/// Limits how much the sockets of `listener` take to send, and to receive (`SO_SNDBUF`, `SO_RCVBUF`).
pub fn small_buffers(socket: &impl AsRawFd, bytes: i32) {
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        set_int(socket, option, bytes);
    }
}

/// Limits how much `socket` takes to send (`SO_SNDBUF`). (A small window to receive would make loopback slow.)
pub fn small_send_buffer(socket: &impl AsRawFd, bytes: i32) {
    set_int(socket, libc::SO_SNDBUF, bytes);
}

fn set_int(socket: &impl AsRawFd, option: i32, value: i32) {
    let (value, len) = (std::ptr::from_ref(&value).cast(), 4);
    // SAFETY: the option is an int, and `value` points to one.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, len) };
    assert_eq!(set, 0);
}
