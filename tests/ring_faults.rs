//! A random schedule of faults over hundreds of connections, by a seed: `RING_SEED=7 cargo test --test ring_faults`
//! replays one. Everything happens in one thread, so that nothing but the kernel's timing differs from run to run.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use arenatls::Options;
use arenatls::openssl::ssl::{ErrorCode, ShutdownState, Ssl, SslContext, SslStream};
use arenatls_fd_owner::{Config, ConnectionId, RingDriver};
use arenatls_rig::random::Random;
use arenatls_rig::ring::{Echo, Told, WATCHDOG, all_home, contexts, driver, pattern, poll, reset_when_closed, run_out};

/// Connections of one run.
const TOTAL: usize = 300;
/// At a time.
const AT_A_TIME: usize = 24;

/// A socket that gives and takes only so much at a time.
struct Choppy {
    socket: TcpStream,
    read_quota: usize,
    write_quota: usize,
}

fn within(quota: &mut usize, most: usize, f: impl FnOnce(usize) -> io::Result<usize>) -> io::Result<usize> {
    let most = most.min(*quota);
    if most == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let n = f(most)?;
    *quota -= n;
    Ok(n)
}

impl Read for Choppy {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        within(&mut self.read_quota, buf.len(), |most| self.socket.read(&mut buf[..most]))
    }
}

impl Write for Choppy {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        within(&mut self.write_quota, buf.len(), |most| self.socket.write(&buf[..most]))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What will become of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It sends all, reads all, and ends well.
    Clean,
    /// It closes its socket with a reset after so many steps.
    Reset(usize),
    /// It closes its socket after so many steps.
    Vanish(usize),
    /// It stops doing anything after so many steps, and lets its socket be.
    Freeze(usize),
}

struct Client {
    stream: SslStream<Choppy>,
    fate: Fate,
    seed: usize,
    total: usize,
    connected: bool,
    unsent: Option<Vec<u8>>,
    sent: usize,
    got: usize,
    said_goodbye: bool,
    steps: usize,
    /// The server ended it, which is a fault, too.
    cut: bool,
}

impl Client {
    fn new(address: SocketAddr, context: &SslContext, random: &mut Random) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut ssl = Ssl::new(context).unwrap();
        ssl.param_mut().set_host("localhost").unwrap();
        let when = random.next(60);
        let fate = match random.next(10) {
            0 => Fate::Reset(when),
            1 => Fate::Vanish(when),
            2 => Fate::Freeze(when),
            _ => Fate::Clean,
        };
        let stream = SslStream::new(ssl, Choppy { socket, read_quota: 0, write_quota: 0 }).unwrap();
        let (seed, total) = (random.next(10_000), 1 + random.next(60_000));
        Client {
            stream,
            fate,
            seed,
            total,
            connected: false,
            unsent: None,
            sent: 0,
            got: 0,
            said_goodbye: false,
            steps: 0,
            cut: false,
        }
    }

    /// Does a little. True when it is over.
    fn step(&mut self, random: &mut Random) -> bool {
        self.steps += 1;
        match self.fate {
            Fate::Reset(when) if self.steps > when => {
                reset_when_closed(&self.stream.get_ref().socket);
                return true;
            }
            Fate::Vanish(when) if self.steps > when => return true,
            // Until the server has had enough: long enough to meet its deadlines.
            Fate::Freeze(when) if self.steps > when => return self.steps > when + 2000,
            _ => {}
        }
        let size = |random: &mut Random| [1 + random.next(40), 1 + random.next(3000), 40_000][random.next(3)];
        self.stream.get_mut().read_quota = size(random);
        self.stream.get_mut().write_quota = size(random);
        match self.work(random) {
            Ok(over) => over,
            Err(error) => self.judge(&error),
        }
    }

    fn work(&mut self, random: &mut Random) -> Result<bool, arenatls::openssl::ssl::Error> {
        if !self.connected {
            self.stream.connect()?;
            self.connected = true;
        }
        if self.sent < self.total && !random.once_in(3) {
            let n = (1 + random.next(20_000)).min(self.total - self.sent);
            // OpenSSL wants a write that did not go through repeated from the same place.
            let piece = self.unsent.get_or_insert_with(|| pattern(self.seed + self.sent, n));
            match self.stream.ssl_write(piece) {
                Ok(n) => {
                    self.sent += n;
                    self.unsent = None;
                }
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.total && !self.said_goodbye {
            self.said_goodbye = match self.stream.shutdown() {
                Ok(_) => true,
                Err(error) if would_block(&error) => false,
                Err(error) => return Err(error),
            };
        }
        let mut piece = vec![0; 1 + random.next(20_000)];
        let n = self.stream.ssl_read(&mut piece)?;
        assert!(piece[..n] == pattern(self.seed + self.got, n), "bytes {}..{} are wrong", self.got, self.got + n);
        self.got += n;
        Ok(false)
    }

    /// True when it is over. A client without a fault must have had all of its bytes.
    fn judge(&mut self, error: &arenatls::openssl::ssl::Error) -> bool {
        if would_block(error) {
            return false;
        }
        if !self.cut {
            assert_eq!(error.code(), ErrorCode::ZERO_RETURN, "{error}, {:?} step {}", self.fate, self.steps);
            assert_eq!((self.got, self.sent), (self.total, self.total), "{:?}", self.fate);
            assert!(self.stream.get_shutdown().contains(ShutdownState::RECEIVED));
        }
        true
    }
}

fn would_block(error: &arenatls::openssl::ssl::Error) -> bool {
    matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE)
}

/// What the schedule does, and what it has done.
struct Run {
    random: Random,
    driver: RingDriver,
    echo: Echo,
    log: Vec<Told>,
    context: SslContext,
    address: SocketAddr,
    clients: Vec<Client>,
    started: usize,
    clean: usize,
}

impl Run {
    fn action(&mut self) {
        if self.started < TOTAL && self.clients.len() < AT_A_TIME && self.random.once_in(4) {
            self.clients.push(Client::new(self.address, &self.context, &mut self.random));
            self.started += 1;
        }
        if self.clients.is_empty() {
            return;
        }
        let which = self.random.next(self.clients.len());
        if self.clients[which].step(&mut self.random) {
            let client = self.clients.swap_remove(which);
            self.clean += usize::from(client.fate == Fate::Clean && !client.cut);
        }
        if self.random.once_in(100) {
            self.interfere();
        }
        if !self.random.once_in(3) {
            self.turn();
        }
    }

    fn turn(&mut self) {
        poll(&mut self.driver, &mut self.echo, &mut self.log);
        self.driver.turn(Some(Duration::ZERO)).unwrap();
    }

    /// The server ends a connection of its choice, at any point of its life.
    fn interfere(&mut self) {
        let ids: Vec<ConnectionId> = self
            .log
            .iter()
            .filter_map(|told| if let Told::Accepted(id) = told { Some(*id) } else { None })
            .filter(|id| !self.log.iter().any(|told| matches!(told, Told::Closed(closed, _) if closed == id)))
            .collect();
        if ids.is_empty() {
            return;
        }
        let id = ids[self.random.next(ids.len())];
        let Ok(peer) = self.driver.peer_addr(id) else { return };
        let ended = if self.random.once_in(2) { self.driver.abort(id) } else { self.driver.close(id) };
        if ended.is_ok() {
            let is_it = |client: &&mut Client| client.stream.get_ref().socket.local_addr().is_ok_and(|own| own == peer);
            self.clients.iter_mut().filter(is_it).for_each(|client| client.cut = true);
        }
    }
}

fn run(seed: u64, submissions: u32, completions: u32) {
    let usual = Config::default().register_after(u32::try_from(seed % 4).ok());
    run_with(usual, seed, submissions, completions);
}

fn run_with(config: Config, seed: u64, submissions: u32, completions: u32) {
    let (client_context, server_context) = contexts();
    let config = config.rest_after(Some(Duration::from_millis(1))).connections(20).queues(submissions, completions);
    let Some(mut driver) = driver(config) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let id = driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let mut run = Run {
        random: Random::new(seed),
        driver,
        echo: Echo::new(20),
        log: Vec::new(),
        context: client_context,
        address,
        clients: Vec::new(),
        started: 0,
        clean: 0,
    };
    let end = Instant::now() + 3 * WATCHDOG;
    while run.started < TOTAL || !run.clients.is_empty() {
        run.action();
        assert!(Instant::now() < end, "seed {seed}: it does not end: {:?}", run.driver);
    }
    run.driver.stop_listening(id);
    run_out(&mut run.driver, &mut run.echo, &mut run.log);
    all_home(&run.driver);
    let closed = arenatls_rig::ring::reasons(&run.log).len();
    println!("seed {seed}: {} clean ends, {closed} connections in all, {:?}", run.clean, run.driver.slots());
    // How many the server happens to end first is a matter of timing; that it is not nearly all is not.
    assert!(run.clean > TOTAL / 10, "{} of {TOTAL}", run.clean);
    assert!(!run.log.iter().any(|told| matches!(told, Told::AcceptFailed(_))));
    drop(run);
    assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
}

#[test]
fn a_random_schedule_loses_no_byte_and_no_slot() {
    match std::env::var("RING_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => run(seed, 256, 1024),
        None => (1..=4).for_each(|seed| run(seed, 256, 1024)),
    }
}

#[test]
fn nor_does_one_on_a_tiny_ring() {
    run(11, 2, 4);
}

/// All are registered at once, and have the least memory: what comes seldom fits what was provided.
#[test]
fn nor_does_one_of_registered_connections_with_the_least_memory() {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    for (seed, submissions, completions) in [(21, 256, 1024), (22, 1, 2)] {
        run_with(Config::default().register_after(Some(0)).memory(inbound, outbound), seed, submissions, completions);
    }
}
