//! Writers on other threads: every message whole and in order, however many write; and every writer learns the end.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::{Ssl, SslContext, SslStream, SslVersion};
use arenatls::{ArenaBackend, Connection, Progress};
use arenatls_fd_owner::{
    CloseReason, Config, ConnectionId, DriverError, DriverEvent, RingDriver, Waker, WriteError, Writer, WriterEnd,
};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::pair::pool;
use arenatls_rig::ring::{
    App, Server, Told, WATCHDOG, client, contexts, driver, pattern, read_to_end, reasons, reset_when_closed,
    small_buffers,
};

const SHORT: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(5);

/// What a test may have the driver's thread do.
type Order = Box<dyn FnOnce(&mut RingDriver) + Send>;

/// A connection as other threads have it.
struct Remote {
    id: ConnectionId,
    writer: Writer,
    orders: Sender<Order>,
    waker: Waker,
}

impl Remote {
    fn order(&self, order: impl FnOnce(&mut RingDriver) + Send + 'static) {
        self.orders.send(Box::new(order)).unwrap();
        self.waker.wake();
    }

    /// Does it, and waits for the answer.
    fn ask<T: Send + 'static>(&self, order: impl FnOnce(&mut RingDriver) -> T + Send + 'static) -> T {
        let (tell, hear) = channel();
        self.order(move |driver| tell.send(order(driver)).unwrap());
        hear.recv_timeout(WATCHDOG).unwrap()
    }
}

/// Hands out a writer of every connection, and obeys.
struct Handing {
    capacity: usize,
    /// At the start of the handshake, not at its end.
    early: bool,
    told: Sender<Remote>,
    orders: (Sender<Order>, Receiver<Order>),
}

impl App for Handing {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Accepted(id, _) if self.early => self.hand(driver, id),
            DriverEvent::HandshakeComplete(id) if !self.early => self.hand(driver, id),
            DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
            DriverEvent::PeerClosed(id) => driver.close(id).unwrap(),
            DriverEvent::Detached(id) => {
                let taken = driver.take_detached(id, pool(256 * 1024).backend().unwrap());
                finish_elsewhere(taken.unwrap_or_else(|refused| panic!("{refused}")));
            }
            _ => {}
        }
    }

    fn before_turn(&mut self, driver: &mut RingDriver) {
        while let Ok(order) = self.orders.1.try_recv() {
            order(driver);
        }
    }
}

impl Handing {
    fn hand(&self, driver: &mut RingDriver, id: ConnectionId) {
        let (writer, waker) = (driver.writer(id, self.capacity).unwrap(), driver.waker());
        self.told.send(Remote { id, writer, orders: self.orders.0.clone(), waker }).unwrap();
    }
}

/// Sends what a connection that left its driver has still to send, and closes it.
fn finish_elsewhere((socket, mut connection): (OwnedFd, Connection<ArenaBackend<'static>>)) {
    let mut socket = TcpStream::from(socket);
    assert_eq!(connection.close(), Ok(Progress::Done(())));
    socket.write_all(connection.backend().to_send()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    // Until the peer has it all and is gone.
    std::io::copy(&mut socket, &mut std::io::sink()).unwrap();
}

fn config() -> Config {
    Config::default().connections(4).close_timeout(SHORT)
}

/// A server whose sockets hold little.
fn start(config: Config, context: SslContext, capacity: usize, early: bool) -> Option<(Server, Receiver<Remote>)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 4096);
    let (told, remotes) = channel();
    let app = move || Handing { capacity, early, told, orders: channel() };
    Some((Server::on(listener, config, context, app)?, remotes))
}

fn next(remotes: &Receiver<Remote>) -> Remote {
    remotes.recv_timeout(WATCHDOG).unwrap()
}

/// A message that says whose it is and how long: `[length, writer, number, filling]`.
fn message(writer: u8, number: u32) -> Vec<u8> {
    let length = 7 + (number as usize * 131 + usize::from(writer) * 977) % 3000;
    let mut bytes = u16::try_from(length).unwrap().to_be_bytes().to_vec();
    bytes.push(writer);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(&pattern(number as usize + usize::from(writer), length - 7));
    bytes
}

/// How many messages of each of `writers` came, checked byte for byte.
fn messages(stream: &[u8], writers: usize) -> Vec<u32> {
    let (mut at, mut next) = (0, vec![0; writers]);
    while at < stream.len() {
        let length = usize::from(u16::from_be_bytes([stream[at], stream[at + 1]]));
        let writer = stream[at + 2];
        let number = &mut next[usize::from(writer)];
        assert!(stream[at..at + length] == message(writer, *number), "message {number} of {writer} at {at}");
        (*number, at) = (*number + 1, at + length);
    }
    next
}

/// Writes until it is refused; the refusal, how many messages were accepted, and how many bytes were never sealed.
fn write_until_refused(mut writer: Writer) -> JoinHandle<(WriteError, u32, u64)> {
    thread::spawn(move || {
        let mut number = 0;
        loop {
            if let Err(error) = writer.write(&message(0, number)) {
                return (error, number, writer.unsealed());
            }
            number += 1;
        }
    })
}

/// Waits until the writer's thread waits for a peer that does not read.
fn blocked<T>(thread: &JoinHandle<T>) {
    thread::sleep(SHORT);
    assert!(!thread.is_finished(), "it should wait");
}

fn four_writers(config: Config, client_context: &SslContext, server_context: SslContext, capacity: usize) {
    const EACH: u32 = 2000;
    let config = config.connections(4).close_timeout(WATCHDOG);
    let Some((server, remotes)) = start(config, server_context, capacity, false) else { return };
    let mut stream = client(server.address, client_context);
    let remote = next(&remotes);
    let threads: Vec<_> = (0..4)
        .map(|name| {
            let mut writer = remote.writer.clone();
            thread::spawn(move || (0..EACH).for_each(|number| writer.write(&message(name, number)).unwrap()))
        })
        .collect();
    let reader = thread::spawn(move || read_to_end(&mut stream));
    for thread in threads {
        thread.join().unwrap();
    }
    // At once: what was accepted is still sent.
    let id = remote.id;
    remote.order(move |driver| driver.close(id).unwrap());
    let got = reader.join().unwrap();
    assert_eq!(messages(&got, 4), [EACH; 4], "capacity {capacity}");
    assert_eq!(remote.ask(|driver| driver.unsealed_at_end()), 0);
    drop(remote);
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn four_writers_messages_come_whole_and_in_order() {
    let authority = Authority::new("writers");
    let spinning = Config::default().spin(Duration::from_micros(50));
    let tiny = Config::default().queues(1, 2).memory(Config::LEAST_MEMORY.0, Config::LEAST_MEMORY.1);
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let terms = Terms::default().version(version);
        let contexts = || (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms));
        for (config, capacity) in [(Config::default(), 65_536), (spinning.clone(), 8192), (tiny.clone(), 3100)] {
            let (client, server) = contexts();
            four_writers(config, &client, server, capacity);
        }
    }
}

#[test]
fn a_close_reads_on_for_a_peer_that_writes_before_it_reads() {
    let (client_context, server_context) = contexts();
    let config = config().close_timeout(WATCHDOG);
    let Some((server, remotes)) = start(config, server_context, 2_000_000, false) else { return };
    let mut peer = client(server.address, &client_context);
    let mut remote = next(&remotes);
    let id = remote.id;
    remote.ask(move |driver| driver.pause(id).unwrap());
    let (mut accepted, mut number) = (0, 0);
    while accepted < 1_900_000 {
        let bytes = message(0, number);
        remote.writer.write(&bytes).unwrap();
        (accepted, number) = (accepted + bytes.len(), number + 1);
    }
    let begun = Instant::now();
    let reader = thread::spawn(move || {
        peer.write_all(&vec![7; 12_000_000]).unwrap();
        (read_to_end(&mut peer), peer)
    });
    thread::sleep(SHORT);
    assert!(!reader.is_finished() && remote.writer.unsealed() > 0, "both are stuck");
    remote.order(move |driver| driver.close(id).unwrap());
    let (got, peer) = reader.join().unwrap();
    assert_eq!(messages(&got, 1), [number]);
    assert!(begun.elapsed() < WATCHDOG / 2, "{:?}", begun.elapsed());
    drop((remote, peer));
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn a_peer_that_does_not_read_holds_the_writers_back_and_then_gets_it_all() {
    const EACH: u32 = 300;
    let (client_context, server_context) = contexts();
    let Some((server, remotes)) = start(config(), server_context, 8192, false) else { return };
    let mut stream = client(server.address, &client_context);
    let remote = next(&remotes);
    let mut last = remote.writer.clone();
    let threads: Vec<_> = (0..3)
        .map(|name| {
            let mut writer = remote.writer.clone();
            thread::spawn(move || {
                (0..EACH).for_each(|number| writer.write(&message(name, number)).unwrap());
                writer.counts()
            })
        })
        .collect();
    threads.iter().for_each(blocked);
    // Another one fills its own ring, and then the time is over.
    let mut number = 0;
    let (refused, waited) = loop {
        let (bytes, begun) = (message(3, number), Instant::now());
        match last.write_before(&bytes, begun + SHORT) {
            Ok(()) => number += 1,
            Err(error) => break (error, begun.elapsed()),
        }
    };
    assert_eq!(refused, WriteError::TimedOut);
    assert!((SHORT..LATE).contains(&waited), "{waited:?}");
    let fourth = number;
    let reader = thread::spawn(move || {
        let got = read_to_end(&mut stream);
        (got, stream)
    });
    for thread in threads {
        let counts = thread.join().unwrap();
        assert_eq!(counts.messages, u64::from(EACH));
        assert!(counts.parks > 0 && counts.full >= counts.parks, "{counts:?}");
    }
    let id = remote.id;
    remote.order(move |driver| driver.close(id).unwrap());
    let (got, _stream) = reader.join().unwrap();
    assert_eq!(messages(&got, 4), [EACH, EACH, EACH, fourth]);
    drop(remote);
    let log = server.stop();
    assert!(!log.iter().any(|told| matches!(told, Told::Writable(_))), "the owner wrote nothing: {log:?}");
}

/// A writer that waits for a peer that does not read, until `end` ends the connection: what it learns.
fn ended(end: impl FnOnce(&Remote, &mut Option<SslStream<TcpStream>>)) -> Option<(WriterEnd, Vec<Told>)> {
    let (client_context, server_context) = contexts();
    let (server, remotes) = start(config(), server_context, 8192, false)?;
    let mut peer = Some(client(server.address, &client_context));
    let remote = next(&remotes);
    let thread = write_until_refused(remote.writer.clone());
    blocked(&thread);
    let begun = Instant::now();
    end(&remote, &mut peer);
    let (error, _, unsealed) = thread.join().unwrap();
    assert!(begun.elapsed() < LATE, "{:?}", begun.elapsed());
    let WriteError::Closed(why) = error else { panic!("{error}") };
    assert!(remote.writer.is_closed());
    assert_eq!(remote.writer.clone().try_write(b"x"), Err(WriteError::Closed(why)));
    assert!(unsealed > 0, "its ring was full");
    while remote.ask(|driver| driver.connections()) > 0 {
        thread::sleep(Duration::from_millis(5));
        assert!(begun.elapsed() < WATCHDOG, "it is not over");
    }
    assert_eq!(remote.ask(|driver| driver.unsealed_at_end()), unsealed);
    drop((remote, peer));
    Some((why, server.stop()))
}

#[test]
fn an_abort_wakes_a_writer_that_waits() {
    let abort = |remote: &Remote, _: &mut _| {
        let id = remote.id;
        remote.order(move |driver| driver.abort(id).unwrap());
    };
    let Some((why, log)) = ended(abort) else { return };
    assert_eq!((why, reasons(&log)), (WriterEnd::Connection(CloseReason::Aborted), vec![CloseReason::Aborted]));
}

#[test]
fn a_close_wakes_a_writer_that_waits_and_gives_up_at_its_deadline() {
    let close = |remote: &Remote, _: &mut _| {
        let id = remote.id;
        remote.order(move |driver| driver.close(id).unwrap());
    };
    let Some((why, log)) = ended(close) else { return };
    assert_eq!((why, reasons(&log)), (WriterEnd::Connection(CloseReason::Done), vec![CloseReason::CloseTimeout]));
}

#[test]
fn a_detach_gives_up_at_its_deadline_where_the_peer_does_not_take_what_writers_brought() {
    let detach = |remote: &Remote, _: &mut _| {
        let id = remote.id;
        remote.order(move |driver| driver.detach(id).unwrap());
    };
    let Some((why, log)) = ended(detach) else { return };
    assert_eq!((why, reasons(&log)), (WriterEnd::Gone, vec![CloseReason::CloseTimeout]));
}

#[test]
fn a_reset_by_the_peer_wakes_a_writer_that_waits() {
    let reset = |_: &Remote, peer: &mut Option<SslStream<TcpStream>>| {
        let peer = peer.take().unwrap();
        reset_when_closed(peer.get_ref());
    };
    let Some((why, log)) = ended(reset) else { return };
    let expected = [WriterEnd::SendFailed, WriterEnd::Connection(CloseReason::Truncated)];
    assert!(expected.contains(&why), "{why:?} {log:?}");
    assert_eq!(reasons(&log), [CloseReason::Truncated]);
}

#[test]
fn ending_the_sending_direction_ends_the_writers() {
    let (client_context, server_context) = contexts();
    let Some((server, remotes)) = start(config(), server_context, 8192, false) else { return };
    let mut peer = client(server.address, &client_context);
    let mut remote = next(&remotes);
    remote.writer.write(b"before").unwrap();
    let mut got = [0; 6];
    peer.read_exact(&mut got).unwrap();
    let id = remote.id;
    let closed = remote.ask(move |driver| driver.connection(id).unwrap().close().unwrap());
    assert_eq!(closed, Progress::Done(()));
    assert_eq!(read_to_end(&mut peer), b"");
    assert_eq!(remote.writer.write(b"after"), Err(WriteError::Closed(WriterEnd::SendClosed)));
    drop((remote, peer));
    server.stop();
}

#[test]
fn a_connection_that_leaves_its_driver_takes_along_what_its_writers_had_accepted() {
    let (client_context, server_context) = contexts();
    let config = config().close_timeout(WATCHDOG);
    let Some((server, remotes)) = start(config, server_context, 8192, false) else { return };
    let mut peer = client(server.address, &client_context);
    let remote = next(&remotes);
    let thread = write_until_refused(remote.writer.clone());
    blocked(&thread);
    let id = remote.id;
    remote.ask(move |driver| driver.detach(id).unwrap());
    let got = read_to_end(&mut peer);
    let (error, accepted, _) = thread.join().unwrap();
    assert_eq!(error, WriteError::Closed(WriterEnd::Gone));
    assert_eq!(messages(&got, 1), [accepted]);
    drop((remote, peer));
    server.stop();
}

#[test]
fn a_driver_that_is_dropped_wakes_a_writer_that_waits() {
    let (client_context, server_context) = contexts();
    let (told, hear) = channel();
    let owner = thread::spawn(move || {
        let Some(mut driver) = driver(config()) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        small_buffers(&listener, 4096);
        let address = listener.local_addr().unwrap();
        driver.listen(listener.into(), server_context, arenatls::Options::default()).unwrap();
        told.send((address, None)).unwrap();
        let end = Instant::now() + WATCHDOG;
        let mut until = end;
        while Instant::now() < until {
            while let Some(event) = driver.poll_event().unwrap() {
                if let DriverEvent::HandshakeComplete(id) = event {
                    told.send((address, Some(driver.writer(id, 8192).unwrap()))).unwrap();
                    until = Instant::now() + SHORT * 3;
                }
            }
            driver.turn(Some(SHORT)).unwrap();
        }
        assert!(until < end);
    });
    let Ok((address, _)) = hear.recv() else { return };
    let peer = client(address, &client_context);
    let (_, writer) = hear.recv_timeout(WATCHDOG).unwrap();
    let writing = write_until_refused(writer.unwrap());
    blocked(&writing);
    owner.join().unwrap();
    let (error, messages, unsealed) = writing.join().unwrap();
    assert_eq!(error, WriteError::Closed(WriterEnd::Gone));
    assert!(messages > 0 && unsealed > 0);
    drop(peer);
}

#[test]
fn a_handle_of_an_old_connection_never_writes_into_the_next_in_its_place() {
    let (client_context, server_context) = contexts();
    let Some((server, remotes)) = start(config().connections(1), server_context, 8192, false) else { return };
    let mut olds: Vec<Remote> = Vec::new();
    for round in 0..5 {
        let mut stream = client(server.address, &client_context);
        let mut remote = next(&remotes);
        assert!(olds.iter().all(|old| old.id.index() == remote.id.index() && old.id != remote.id));
        for old in &mut olds {
            assert_eq!(old.writer.write(b"OLD!"), Err(WriteError::Closed(WriterEnd::Connection(CloseReason::Done))));
            let id = old.id;
            assert!(remote.ask(move |driver| matches!(driver.writer(id, 100), Err(DriverError::Stale))));
        }
        // Dropped clones of old connections make noise about a place that is another's now.
        olds.iter().for_each(|old| drop(old.writer.clone()));
        remote.writer.write(b"new").unwrap();
        let id = remote.id;
        remote.order(move |driver| driver.close(id).unwrap());
        assert_eq!(read_to_end(&mut stream), b"new", "round {round}");
        drop(stream);
        olds.push(remote);
    }
    drop(olds);
    assert_eq!(reasons(&server.stop()), [CloseReason::Done; 5]);
}

#[test]
fn what_is_written_before_the_handshake_is_done_waits_for_it() {
    let (client_context, server_context) = contexts();
    let Some((server, remotes)) = start(config(), server_context, 8192, true) else { return };
    let tcp = TcpStream::connect(server.address).unwrap();
    let mut remote = next(&remotes);
    remote.writer.write(b"early").unwrap();
    thread::sleep(Duration::from_millis(20));
    assert_eq!(remote.writer.unsealed(), 5);
    let mut ssl = Ssl::new(&client_context).unwrap();
    ssl.param_mut().set_host("localhost").unwrap();
    let mut stream = SslStream::new(ssl, tcp).unwrap();
    stream.connect().unwrap();
    let mut got = [0; 5];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"early");
    let id = remote.id;
    remote.order(move |driver| driver.close(id).unwrap());
    assert_eq!(read_to_end(&mut stream), b"");
    drop((remote, stream));
    server.stop();
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let (client_context, server_context) = contexts();
    let Some((server, remotes)) = start(config().writers(2), server_context, 100, false) else { return };
    let stream = client(server.address, &client_context);
    let mut remote = next(&remotes);
    let id = remote.id;
    assert_eq!(remote.writer.write(&[0; 97]), Err(WriteError::TooLong { length: 97, most: 96 }));
    let second = remote.writer.try_clone().unwrap();
    assert_eq!(remote.writer.try_clone().map(drop), Err(WriteError::TooManyWriters { most: 2 }));
    let mut third = second.clone();
    assert_eq!(third.write(b"x"), Err(WriteError::TooManyWriters { most: 2 }));
    let refused = remote.ask(move |driver| driver.writer(id, 100).map(drop));
    assert!(matches!(refused, Err(DriverError::TooManyWriters { most: 2 })), "{refused:?}");
    for capacity in [0, 15, (1 << 30) + 1] {
        let refused = remote.ask(move |driver| driver.writer(id, capacity).map(drop));
        assert!(matches!(refused, Err(DriverError::BadConfig(_))), "{refused:?}");
    }
    drop(second);
    let end = Instant::now() + WATCHDOG;
    while third.write(b"x").is_err() {
        assert!(Instant::now() < end, "its place is free again");
        thread::yield_now();
    }
    drop((third, remote, stream));
    server.stop();
}
