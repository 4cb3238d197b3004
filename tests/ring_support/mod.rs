//! An echo server on a ring in a thread of its own, and plain OpenSSL clients for it.
#![allow(dead_code, clippy::allow_attributes, reason = "every test binary uses a part of it")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::{Ssl, SslContext, SslStream};
use arenatls::{Options, Progress};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverError, DriverEvent, RingDriver, Waker};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;

/// No test waits longer for anything.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(20);
/// What a connection of the echo server keeps for a peer that does not read (bytes).
const PENDING: usize = 64 * 1024;

/// A driver, or nothing and a loud word where this kernel has no io_uring.
pub(crate) fn driver(config: Config) -> Option<RingDriver> {
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
pub(crate) fn contexts() -> (SslContext, SslContext) {
    let authority = Authority::new("ring");
    let terms = Terms::default();
    (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms))
}

/// What happened, without what was lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Accepted(ConnectionId),
    HandshakeComplete(ConnectionId),
    Plaintext(ConnectionId),
    Writable(ConnectionId),
    PeerClosed(ConnectionId),
    Truncated(ConnectionId),
    SendFailed(ConnectionId),
    Failed(ConnectionId, String),
    Closed(ConnectionId, CloseReason),
    AtCapacity,
    AcceptFailed(String),
}

impl Told {
    pub(crate) fn of(event: &DriverEvent) -> Told {
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
            DriverEvent::AtCapacity(_) => Told::AtCapacity,
            DriverEvent::AcceptFailed(_, error) => Told::AcceptFailed(error.to_string()),
            other => panic!("a new event: {other:?}"),
        }
    }
}

/// Sends back what comes, and closes when the peer has.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    peers: Vec<Peer>,
}

#[derive(Debug, Default)]
struct Peer {
    pending: Vec<u8>,
    ended: bool,
    paused: bool,
}

impl Echo {
    pub(crate) fn new(connections: usize) -> Echo {
        let peer = || Peer { pending: Vec::with_capacity(PENDING + 16_384), ..Peer::default() };
        Echo { peers: (0..connections).map(|_| peer()).collect() }
    }

    /// Polls until there is nothing; `told` hears of everything.
    pub(crate) fn run(&mut self, driver: &mut RingDriver, mut told: impl FnMut(&Told)) {
        while let Some(event) = driver.poll_event().unwrap() {
            let what = Told::of(&event);
            told(&what);
            if let DriverEvent::Plaintext(id) = event {
                self.peers[id.index()].pending.extend_from_slice(&driver.plaintext(id).unwrap());
            }
            match what {
                Told::Accepted(id) => {
                    let peer = &mut self.peers[id.index()];
                    peer.pending.clear();
                    (peer.ended, peer.paused) = (false, false);
                }
                Told::Plaintext(id) | Told::Writable(id) | Told::HandshakeComplete(id) => self.reply(driver, id),
                Told::PeerClosed(id) => {
                    self.peers[id.index()].ended = true;
                    self.reply(driver, id);
                }
                _ => {}
            }
        }
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

/// A server in a thread.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<Vec<Told>>>,
}

impl Server {
    /// An echo server; nothing where there is no io_uring.
    pub(crate) fn echo(config: Config, context: SslContext, connections: u32) -> Option<Server> {
        Server::start(config.connections(connections), context, Options::default())
    }

    pub(crate) fn start(config: Config, context: SslContext, options: Options) -> Option<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, (tell, hear)) = (Arc::clone(&stop), channel());
        let thread = std::thread::spawn(move || {
            let Some(mut driver) = driver(config) else {
                drop(tell);
                return Vec::new();
            };
            tell.send(driver.waker()).unwrap();
            driver.listen(listener.into(), context, options).unwrap();
            serve(driver, &stopped)
        });
        let waker = wait_for(&hear)?;
        Some(Server { address, stop, waker, thread: Some(thread) })
    }

    /// Stops it, checks that every slot is home, and returns all that happened.
    pub(crate) fn stop(mut self) -> Vec<Told> {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.thread.take().unwrap().join().unwrap()
    }
}

fn wait_for(hear: &Receiver<Waker>) -> Option<Waker> {
    hear.recv().ok()
}

fn serve(mut driver: RingDriver, stop: &AtomicBool) -> Vec<Told> {
    let mut echo = Echo::new(driver.slots().home);
    let mut log = Vec::new();
    while !stop.load(Ordering::Acquire) {
        echo.run(&mut driver, |told| log.push(told.clone()));
        driver.turn(Some(WATCHDOG)).unwrap();
    }
    let end = Instant::now() + WATCHDOG;
    while driver.connections() > 0 {
        echo.run(&mut driver, |told| log.push(told.clone()));
        driver.turn(Some(Duration::from_millis(100))).unwrap();
        assert!(Instant::now() < end, "connections do not end: {driver:?}");
    }
    all_home(&driver);
    log
}

/// Every slot is home.
pub(crate) fn all_home(driver: &RingDriver) {
    assert_eq!(driver.slots().lent, 0, "{driver:?}");
    assert_eq!(driver.connections(), 0, "{driver:?}");
}

/// A TCP connection that never waits for ever.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    stream.set_write_timeout(Some(WATCHDOG)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// An OpenSSL client, connected.
pub(crate) fn client(address: SocketAddr, context: &SslContext) -> SslStream<TcpStream> {
    let mut ssl = Ssl::new(context).unwrap();
    ssl.param_mut().set_host("localhost").unwrap();
    let mut stream = SslStream::new(ssl, tcp(address)).unwrap();
    stream.connect().unwrap();
    stream
}

/// Bytes that show where they belong.
pub(crate) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (seed..seed + len).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap()).collect()
}
