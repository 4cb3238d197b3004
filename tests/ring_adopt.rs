//! Sockets that were connected elsewhere, and connections that are not where they belong.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::{Ssl, SslContext, SslStream};
use arenatls::{Backend as _, Progress};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver, Role};
use arenatls_rig::ring::{App, Told, WATCHDOG, all_home, contexts, driver, pattern, poll, reasons, run_out, run_until};

/// Both ends of one connection, over a pair of sockets that are not even TCP's.
fn joined(driver: &mut RingDriver, client: &SslContext, server: &SslContext) -> (ConnectionId, ConnectionId) {
    let (one, two) = UnixStream::pair().unwrap();
    let server = driver.adopt(one.into(), Ssl::new(server).unwrap(), Role::Server).unwrap();
    let role = Role::Client { name: "localhost" };
    let client = driver.adopt(two.into(), Ssl::new(client).unwrap(), role).unwrap();
    (client, server)
}

/// The client sends `self.bytes` as fast as it can; the server takes them three bytes at a time or so.
struct Pieces {
    client: ConnectionId,
    bytes: Vec<u8>,
    sent: usize,
    got: Vec<u8>,
}

impl Pieces {
    fn send(&mut self, driver: &mut RingDriver) {
        let Some(connection) = driver.connection(self.client) else { return };
        if let Progress::Done(n) = connection.write(&self.bytes[self.sent..]).unwrap() {
            self.sent += n;
        }
        if self.sent == self.bytes.len() {
            driver.close(self.client).unwrap();
        }
    }
}

impl App for Pieces {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) if id == self.client => self.send(driver),
            DriverEvent::Plaintext(id) => {
                let bytes = driver.plaintext(id).unwrap();
                // What is not consumed is told of again.
                let n = bytes.len().min(1 + self.got.len() % 5000);
                self.got.extend_from_slice(&bytes[..n]);
                bytes.consume(n);
            }
            DriverEvent::PeerClosed(id) if id != self.client => driver.close(id).unwrap(),
            _ => {}
        }
    }
}

#[test]
fn adopted_sockets_carry_every_byte_however_it_is_consumed() {
    let (client, server) = contexts();
    let config = Config::default().connections(2).spin(Duration::from_micros(20));
    let Some(mut driver) = driver(config) else { return };
    let (client, _) = joined(&mut driver, &client, &server);
    let mut app = Pieces { client, bytes: pattern(0, 300_000), sent: 0, got: Vec::new() };
    let mut log = Vec::new();
    run_out(&mut driver, &mut app, &mut log);
    assert!(app.got == app.bytes, "{} bytes", app.got.len());
    assert_eq!(reasons(&log), [CloseReason::Done; 2]);
}

#[test]
fn a_paused_connection_is_told_nothing_and_loses_nothing() {
    let (client, server) = contexts();
    let Some(mut driver) = driver(Config::default().connections(2)) else { return };
    let (client, server) = joined(&mut driver, &client, &server);
    let mut app = Pieces { client, bytes: pattern(0, 2_000_000), sent: 0, got: Vec::new() };
    let mut log = Vec::new();
    run_until(&mut driver, &mut app, &mut log, |log| log.contains(&Told::HandshakeComplete(server)));
    driver.pause(server).unwrap();
    let (told, end) = (log.len(), Instant::now() + Duration::from_millis(50));
    while Instant::now() < end {
        poll(&mut driver, &mut app, &mut log);
        driver.turn(Some(Duration::from_millis(5))).unwrap();
    }
    assert!(!log[told..].contains(&Told::Plaintext(server)), "{:?}", &log[told..]);
    assert!(app.sent < app.bytes.len(), "what nobody reads is not taken for ever");
    driver.resume(server).unwrap();
    run_out(&mut driver, &mut app, &mut log);
    assert!(app.got == app.bytes, "{} bytes", app.got.len());
}

/// Safe code can exchange the connections of two drivers. Each then fails, and no memory is touched that it does not own.
#[test]
fn r1_connections_that_were_exchanged_between_drivers_do_no_harm() {
    let (client, server) = contexts();
    for first in [true, false] {
        let Some(mut one) = driver(Config::default().connections(2)) else { return };
        let mut two = driver(Config::default().connections(2)).unwrap();
        let ids = [joined(&mut one, &client, &server), joined(&mut two, &client, &server)];
        for driver in [&mut one, &mut two] {
            let mut log = Vec::new();
            run_until(driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut log, |log| {
                log.iter().filter(|told| matches!(told, Told::HandshakeComplete(_))).count() == 2
            });
        }
        std::mem::swap(one.connection(ids[0].0).unwrap(), two.connection(ids[1].0).unwrap());
        for (driver, ids) in [(&mut one, ids[0]), (&mut two, ids[1])] {
            for id in [ids.0, ids.1] {
                let _ = driver.connection(id).unwrap().write(&[7; 1000]);
            }
        }
        let end = Instant::now() + Duration::from_millis(20);
        while Instant::now() < end {
            for driver in [&mut one, &mut two] {
                poll(driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new());
                driver.turn(Some(Duration::ZERO)).unwrap();
            }
        }
        for driver in [&mut one, &mut two] {
            let _ = [driver.abort(ids[0].0), driver.abort(ids[0].1), driver.abort(ids[1].0), driver.abort(ids[1].1)];
        }
        // Each driver's slots go home when the other lets go of what it holds.
        let end = Instant::now() + WATCHDOG;
        while one.connections() + two.connections() > 0 {
            for driver in [&mut one, &mut two] {
                poll(driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new());
                driver.turn(Some(Duration::ZERO)).unwrap();
            }
            assert!(Instant::now() < end, "{one:?} {two:?}");
        }
        all_home(&one);
        all_home(&two);
        let (early, late) = if first { (one, two) } else { (two, one) };
        drop(early);
        drop(late);
    }
    assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
}

/// A connection of each of two drivers, and its peer on the same driver, all in traffic.
fn two_drivers() -> Option<[(RingDriver, (ConnectionId, ConnectionId)); 2]> {
    let (client, server) = contexts();
    let config = || Config::default().connections(2).rest_after(Some(Duration::from_millis(50)));
    let connected = |mut driver: RingDriver| {
        let ids = joined(&mut driver, &client, &server);
        run_until(&mut driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new(), |log| {
            log.iter().filter(|told| matches!(told, Told::HandshakeComplete(_))).count() == 2
        });
        (driver, ids)
    };
    Some([connected(driver(config())?), connected(driver(config())?)])
}

/// Whoever polls a connection and not its driver takes an event, and no deadline with it.
#[test]
fn a_handshake_whose_end_the_driver_did_not_tell_is_done_all_the_same() {
    let (client, server) = contexts();
    let config = Config::default().connections(2).handshake_timeout(Duration::from_millis(200));
    let Some(mut driver) = driver(config) else { return };
    let ids = joined(&mut driver, &client, &server);
    let mut log = Vec::new();
    let end = Instant::now() + Duration::from_millis(500);
    while Instant::now() < end {
        for id in [ids.0, ids.1] {
            if let Some(connection) = driver.connection(id) {
                while let Ok(Some(_)) = connection.poll_event() {}
            }
        }
        driver.turn(Some(Duration::from_millis(5))).unwrap();
    }
    poll(&mut driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut log);
    assert!(driver.connection(ids.0).is_some_and(|connection| connection.state().is_live()), "{log:?}");
    assert_eq!(driver.connections(), 2, "{log:?}");
}

#[test]
fn r6_a_driver_gives_no_memory_back_that_another_shows() {
    let Some([(mut one, first), (mut two, second)]) = two_drivers() else { return };
    std::mem::swap(one.connection(first.0).unwrap(), two.connection(second.0).unwrap());
    let room = two.connection(second.0).unwrap().backend_mut().room(100);
    room.fill(7);
    for _ in 0..40 {
        poll(&mut one, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new());
        one.turn(Some(Duration::from_millis(5))).unwrap();
    }
    assert!(one.resting() > 0);
    assert!(room.iter().all(|byte| *byte == 7), "it was given back under a slice");
}

#[test]
fn r2_a_driver_receives_nothing_into_memory_that_another_shows() {
    let Some([(mut one, first), (mut two, second)]) = two_drivers() else { return };
    // Nobody polls, so that it waits in the slot.
    let _ = one.connection(first.1).unwrap().write(&[1; 1000]).unwrap();
    while one.connection(first.0).unwrap().backend_mut().input().is_empty() {
        one.turn(Some(Duration::from_millis(1))).unwrap();
    }
    std::mem::swap(one.connection(first.0).unwrap(), two.connection(second.0).unwrap());
    let shown = two.connection(second.0).unwrap().backend_mut().input();
    let before = shown.to_vec();
    one.close(first.0).unwrap();
    for _ in 0..20 {
        let _ = one.connection(first.1).map(|peer| peer.write(&[2; 1000]));
        poll(&mut one, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new());
        one.turn(Some(Duration::from_millis(1))).unwrap();
    }
    assert!(shown == before, "the kernel wrote under a slice");
}

#[test]
fn a_peer_that_takes_nothing_more_is_read_to_its_end() {
    let (client, server) = contexts();
    let Some(mut driver) = driver(Config::default().connections(1)) else { return };
    let (one, two) = UnixStream::pair().unwrap();
    two.set_read_timeout(Some(WATCHDOG)).unwrap();
    let peer = thread::spawn(move || {
        let mut ssl = Ssl::new(&client).unwrap();
        ssl.param_mut().set_host("localhost").unwrap();
        let mut stream = SslStream::new(ssl, two).unwrap();
        stream.connect().unwrap();
        // From here on the server's sends fail.
        stream.get_ref().shutdown(Shutdown::Read).unwrap();
        for part in [&b"question"[..], b" and", b" the rest"] {
            stream.write_all(part).unwrap();
            thread::sleep(Duration::from_millis(10));
        }
        let _ = stream.shutdown().unwrap();
    });
    driver.adopt(one.into(), Ssl::new(&server).unwrap(), Role::Server).unwrap();
    let (mut got, mut log) = (Vec::new(), Vec::new());
    let mut answer = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::Plaintext(id) => {
            got.extend_from_slice(&driver.plaintext(id).unwrap());
            assert_eq!(driver.connection(id).unwrap().write(b"reply").unwrap(), Progress::Done(5));
        }
        DriverEvent::PeerClosed(id) => driver.close(id).unwrap(),
        _ => {}
    };
    run_out(&mut driver, &mut answer, &mut log);
    peer.join().unwrap();
    assert_eq!(got, b"question and the rest");
    assert!(log.iter().any(|told| matches!(told, Told::SendFailed(_))), "{log:?}");
    assert!(log.iter().any(|told| matches!(told, Told::PeerClosed(_))), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Done]);
}
