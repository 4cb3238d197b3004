//! How connections end, well and badly, and how long that takes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use arenatls::Progress;
use arenatls::openssl::ssl::{ShutdownState, Ssl, SslContext, SslStream};
use arenatls_fd_owner::{CloseReason, Config, DriverEvent, RingDriver};
use arenatls_rig::ring::{
    App, Echo, Server, Source, Told, client, contexts, driver, pattern, read_to_end, reasons, run_out, small_buffers,
    tcp,
};
use arenatls_rig::wire::Hello;

const SHORT: Duration = Duration::from_millis(150);
/// A loaded machine is late, and a deadline that does not hold is later.
const LATE: Duration = Duration::from_secs(3);

fn config() -> Config {
    Config::default().connections(8).close_timeout(SHORT)
}

#[test]
fn slow_readers_get_every_byte_of_short_sends() {
    let (client_context, server_context) = contexts();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 4096);
    let config = Config::default().connections(8).close_timeout(Duration::from_secs(10));
    let Some(server) = Server::on(listener, config, server_context, || Source::new(400_000, 8)) else { return };
    thread::scope(|scope| {
        for reader in 0..4_u64 {
            let (context, address) = (&client_context, server.address);
            scope.spawn(move || {
                let mut stream = client(address, context);
                let (mut got, mut piece) = (Vec::new(), [0; 3000]);
                loop {
                    let n = stream.read(&mut piece).unwrap();
                    if n == 0 {
                        break;
                    }
                    got.extend_from_slice(&piece[..n]);
                    thread::sleep(Duration::from_micros(200 * reader));
                }
                assert!(got == pattern(0, 400_000), "reader {reader}: {} bytes", got.len());
            });
        }
    });
    assert_eq!(reasons(&server.stop()), [CloseReason::Done; 4]);
}

/// A server that ends a connection in the way its first byte asks for.
fn on_request(driver: &mut RingDriver, event: &DriverEvent) {
    if let DriverEvent::PeerClosed(id) = *event {
        driver.close(id).unwrap();
    }
    let DriverEvent::Plaintext(id) = *event else { return };
    let first = driver.plaintext(id).unwrap()[0];
    match first {
        b'a' => driver.abort(id).unwrap(),
        b'c' => driver.close(id).unwrap(),
        _ => drop(driver.connection(id).unwrap().write(&[first]).unwrap().done().unwrap()),
    }
}

#[test]
fn r5_an_old_peer_sees_the_end_at_once_and_a_new_one_nothing_of_the_old() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::start(config(), server_context, || on_request) else { return };
    for ending in [b'a', b'c'] {
        let mut old = client(server.address, &client_context);
        old.write_all(&[ending]).unwrap();
        let start = Instant::now();
        let end = old.read(&mut [0; 10]);
        let early = start.elapsed() < Duration::from_millis(200);
        assert!(early, "{:?} until the end", start.elapsed());
        assert_eq!(end.unwrap_or(0), 0);
        let clean = old.get_shutdown().contains(ShutdownState::RECEIVED);
        assert_eq!(clean, ending == b'c', "only a close is a clean end");
        // Its descriptor's number is the next to be used.
        let mut new = client(server.address, &client_context);
        let _ = old.get_mut().write(b"OLD!");
        for byte in *b"xyz" {
            new.write_all(&[byte]).unwrap();
            let mut back = [0];
            new.read_exact(&mut back).unwrap();
            assert_eq!(back, [byte]);
        }
        new.shutdown().unwrap();
        drop(new);
    }
    let log = server.stop();
    assert!(!log.iter().any(|told| matches!(told, Told::Failed(..))), "{log:?}");
}

#[test]
fn a_client_that_does_not_read_gets_its_data_through_in_100_of_100_runs() {
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default().connections(4)) else { return };
    for run in 0..100 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let context = server_context.clone();
        let reader = thread::spawn(move || slow_server(&listener, &context));
        driver.connect(address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut log = Vec::new();
        run_out(&mut driver, &mut Source::new(100_000, 4), &mut log);
        let got = reader.join().unwrap();
        assert!(got == pattern(0, 100_000), "run {run}: {} bytes", got.len());
        assert_eq!(reasons(&log), [CloseReason::Done], "run {run}: {log:?}");
    }
}

/// Reads slowly to a clean end. It has sent tickets, which nobody reads.
fn slow_server(listener: &TcpListener, context: &SslContext) -> Vec<u8> {
    let (socket, _) = listener.accept().unwrap();
    socket.set_read_timeout(Some(arenatls_rig::ring::WATCHDOG)).unwrap();
    let mut stream = SslStream::new(Ssl::new(context).unwrap(), socket).unwrap();
    stream.accept().unwrap();
    // The client is done, and gone if it can, before anything is read.
    thread::sleep(Duration::from_millis(5));
    let (mut got, mut piece) = (Vec::new(), [0; 20_000]);
    loop {
        thread::sleep(Duration::from_millis(1));
        match stream.read(&mut piece).unwrap() {
            0 => break,
            n => got.extend_from_slice(&piece[..n]),
        }
    }
    assert!(stream.get_shutdown().contains(ShutdownState::RECEIVED));
    got
}

/// Reads little by little, with pauses in which nothing is polled.
#[derive(Default)]
struct SlowReader {
    got: usize,
    wrong: bool,
}

impl App for SlowReader {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Accepted(..) => self.got = 0,
            DriverEvent::Plaintext(id) => {
                let bytes = driver.plaintext(id).unwrap();
                self.wrong |= *bytes != pattern(self.got, bytes.len());
                self.got += bytes.len();
                thread::sleep(Duration::from_micros(500));
            }
            DriverEvent::PeerClosed(id) => {
                assert!(!self.wrong && self.got == 100_000, "{} bytes, wrong: {}", self.got, self.wrong);
                driver.close(id).unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn our_slow_server_reads_a_write_only_client_to_its_clean_end() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::start(config(), server_context, SlowReader::default) else { return };
    let mut driver = driver(Config::default().connections(4)).unwrap();
    for run in 0..100 {
        driver.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut log = Vec::new();
        run_out(&mut driver, &mut Source::new(100_000, 4), &mut log);
        assert_eq!(reasons(&log), [CloseReason::Done], "run {run}: {log:?}");
    }
    let log = server.stop();
    assert_eq!(log.iter().filter(|told| matches!(told, Told::PeerClosed(_))).count(), 100);
    assert_eq!(reasons(&log), [CloseReason::Done; 100]);
}

#[test]
fn a_peer_that_never_ends_is_waited_for_until_the_deadline() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::start(config(), server_context, || on_request) else { return };
    let mut stream = client(server.address, &client_context);
    stream.write_all(b"c").unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "close_notify");
    let start = Instant::now();
    // What it sends in the meantime is thrown away and draws no reset.
    stream.get_mut().write_all(&[0; 1000]).unwrap();
    assert_eq!(stream.get_mut().read(&mut [0; 10]).unwrap(), 0, "our direction was shut");
    let log = server.stop();
    assert_eq!(reasons(&log), [CloseReason::CloseTimeout]);
    assert!(start.elapsed() < LATE, "{:?}", start.elapsed());
}

#[test]
fn a_peer_that_never_reads_is_given_up_at_the_deadline() {
    let (client_context, server_context) = contexts();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 4096);
    // It writes until nothing more goes, and closes all the same.
    let fill = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::HandshakeComplete(id) = *event {
            while let Ok(Progress::Done(_)) = driver.connection(id).unwrap().write(&[7; 16_384]) {}
            driver.close(id).unwrap();
        }
    };
    let Some(server) = Server::on(listener, config(), server_context, move || fill) else { return };
    let start = Instant::now();
    let stream = client(server.address, &client_context);
    small_buffers(stream.get_ref(), 4096);
    let log = server.stop();
    assert!(matches!(reasons(&log)[..], [CloseReason::CloseTimeout | CloseReason::Done]), "{log:?}");
    assert!(start.elapsed() < LATE, "{:?}", start.elapsed());
    drop(stream);
}

#[test]
fn a_silent_peer_is_dropped_at_the_handshake_deadline() {
    let (_, server_context) = contexts();
    let Some(server) = Server::echo(config().handshake_timeout(SHORT), server_context, 4) else { return };
    let start = Instant::now();
    let mut stream = tcp(server.address);
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
    assert!((SHORT..LATE).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(reasons(&server.stop()), [CloseReason::HandshakeTimeout]);
}

#[test]
fn an_idle_connection_is_closed_well() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::echo(config().idle_timeout(Some(SHORT)), server_context, 4) else { return };
    let mut stream = client(server.address, &client_context);
    for _ in 0..5 {
        thread::sleep(SHORT / 2);
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    let start = Instant::now();
    assert_eq!(read_to_end(&mut stream), b"");
    assert!((SHORT / 2..LATE).contains(&start.elapsed()), "{:?}", start.elapsed());
    drop(stream);
    assert_eq!(reasons(&server.stop()), [CloseReason::IdleTimeout]);
}

#[test]
fn the_alert_of_a_failed_handshake_leaves_before_the_socket_closes() {
    let (_, server_context) = contexts();
    let Some(server) = Server::echo(config(), server_context, 4) else { return };
    let mut stream = tcp(server.address);
    stream.write_all(&Hello::tls10().record()).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    // TLS alert, fatal, protocol_version; or handshake_failure, where the version is on and no suite of it is.
    assert_eq!((got.len(), got[0], &got[3..6]), (7, 21, &[0, 2, 2][..]), "{got:?}");
    assert!([70, 40].contains(&got[6]), "{got:?}");
    drop(stream);
    let log = server.stop();
    assert!(matches!(log[1], Told::Failed(..)), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Failed]);
}

#[test]
fn an_end_without_close_notify_is_a_truncation() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::echo(config(), server_context, 4) else { return };
    let stream = client(server.address, &client_context);
    stream.get_ref().shutdown(Shutdown::Both).unwrap();
    drop(stream);
    let log = server.stop();
    assert!(log.iter().any(|told| matches!(told, Told::Truncated(_))), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Truncated]);
}

#[test]
fn half_close_works_both_ways() {
    let (client_context, server_context) = contexts();
    // Answers only when the client has ended its direction, after ending its own towards reading.
    let late = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
        DriverEvent::PeerClosed(id) => {
            assert_eq!(driver.connection(id).unwrap().write(b"reply").unwrap(), Progress::Done(5));
            let _ = driver.connection(id).unwrap().close().unwrap();
        }
        _ => {}
    };
    let Some(server) = Server::start(config(), server_context, move || late) else { return };
    let mut stream = client(server.address, &client_context);
    stream.write_all(b"question").unwrap();
    stream.shutdown().unwrap();
    assert_eq!(read_to_end(&mut stream), b"reply");
    drop(stream);
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn an_address_where_nobody_listens_is_told() {
    let (client_context, _) = contexts();
    let Some(mut driver) = driver(config()) else { return };
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    driver.connect(address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let mut log = Vec::new();
    run_out(&mut driver, &mut Echo::new(8), &mut log);
    assert!(matches!(reasons(&log)[..], [CloseReason::NotConnected(111)]), "{log:?}");
}

#[test]
fn r3_a_driver_that_is_dropped_leaves_nothing_behind() {
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default().connections(50)) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, arenatls::Options::default()).unwrap();
    let clients = thread::spawn(move || (0..30).map(|_| client(address, &client_context)).collect::<Vec<_>>());
    let mut log = Vec::new();
    arenatls_rig::ring::run_until(&mut driver, &mut Echo::new(50), &mut log, |log| {
        log.iter().filter(|told| matches!(told, Told::HandshakeComplete(_))).count() == 30
    });
    let mut clients = clients.join().unwrap();
    driver.turn(Some(Duration::ZERO)).unwrap();
    let start = Instant::now();
    drop(driver);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
    for client in &mut clients {
        // Tickets may come first.
        while let Ok(n @ 1..) = client.get_mut().read(&mut [0; 1000]) {
            assert!(n > 0);
        }
    }
    assert!(TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused));
}
