//! Data, tickets, and what stays with the engine.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use arenatls::openssl::ssl::{Ssl, SslStream, SslVersion};
use arenatls::{Options, Progress, Protection};
use arenatls_fd_owner::{CloseReason, Config, DriverEvent, Feature, RingDriver, Role};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::ring::{
    App as _, Echo, Server, Told, client, contexts, driver, pattern, read_to_end, reasons, run_out, tcp,
};

use crate::support::{
    CAPABILITIES, Caller, DIRECTIONS, SUITES, Seen, Watched, config, expected, kernel_has_it, not_in_the_kernel,
    pair_of_contexts, stock_echo, stock_server, there_and_back, watched,
};

#[test]
fn without_the_layer_all_stays_as_it_is_and_says_so() {
    let Ok(capabilities) = &*CAPABILITIES else { return };
    if capabilities.has(Feature::TlsUlp) {
        eprintln!("SKIPPED: this kernel ({}) has the tls layer", capabilities.kernel());
        return;
    }
    assert!(!driver(config(true, true)).unwrap().has_kernel_tls());
    let seen = stock_echo(config(true, true), contexts()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [not_in_the_kernel()]);
}

#[test]
fn it_is_off_by_default() {
    let Some(seen) = stock_echo(Config::default(), contexts()) else { return };
    assert_eq!(*seen.lock().unwrap(), [not_in_the_kernel()]);
}

#[test]
fn a_stock_client_gets_back_what_it_sends_in_every_suite() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        for (sending, receiving) in DIRECTIONS {
            let seen = stock_echo(config(sending, receiving), pair_of_contexts(version, suite)).unwrap();
            let protection = (expected(sending), expected(receiving));
            assert_eq!(*seen.lock().unwrap(), [protection], "{suite}");
            eprintln!("{suite}: {protection:?}");
        }
    }
}

#[test]
fn both_ends_in_the_kernel() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        for (sending, receiving) in DIRECTIONS {
            let (client_context, server_context) = pair_of_contexts(version, suite);
            let (server, seen) = watched(config(sending, receiving), server_context).unwrap();
            let mut ours = driver(config(true, true)).unwrap();
            let ssl = Ssl::new(&client_context).unwrap();
            let id = ours.connect(server.address, ssl, "localhost").unwrap();
            let (mut caller, mut log) = (Caller::new(300_000), Vec::new());
            run_out(&mut ours, &mut caller, &mut log);
            assert!(caller.back == caller.bytes, "{suite}: {} bytes", caller.back.len());
            assert_eq!(caller.protection, Some((Protection::Kernel, Protection::Kernel)), "{suite}");
            assert_eq!(log.last(), Some(&Told::Closed(id, CloseReason::Done)));
            assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
            assert_eq!(*seen.lock().unwrap(), [(expected(sending), expected(receiving))], "{suite}");
        }
    }
}

/// A server's tickets come after the client's handshake is complete, and so to a socket that has the keys.
#[test]
fn tickets_go_to_openssl_and_are_no_error() {
    if !kernel_has_it() {
        return;
    }
    let authority = Authority::new("kernel");
    let terms = Terms::default().version(SslVersion::TLS1_3).tickets(5);
    let mut builder = contexts::client_builder(&authority, &terms);
    let tickets = Arc::new(Mutex::new(0));
    let count = Arc::clone(&tickets);
    builder.set_session_cache_mode(arenatls::openssl::ssl::SslSessionCacheMode::CLIENT);
    builder.set_new_session_callback(move |_, _| *count.lock().unwrap() += 1);
    let (address, thread) = stock_server(contexts::server(&authority.server(), &terms));
    let mut ours = driver(config(true, true)).unwrap();
    ours.connect(address, Ssl::new(&builder.build()).unwrap(), "localhost").unwrap();
    let (mut caller, mut log) = (Caller::new(50_000), Vec::new());
    run_out(&mut ours, &mut caller, &mut log);
    thread.join().unwrap();
    assert!(caller.back == caller.bytes, "{log:?}");
    assert_eq!(caller.protection, Some((Protection::Kernel, Protection::Kernel)));
    assert_eq!(*tickets.lock().unwrap(), 5);
    assert_eq!(caller.counters.unwrap().control_records, 5);
    assert_eq!(reasons(&log), [CloseReason::Done]);
}

#[test]
fn many_small_writes_leave_in_order() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let app = || {
        |driver: &mut RingDriver, event: &DriverEvent| match *event {
            DriverEvent::HandshakeComplete(id) => {
                let connection = driver.connection(id).unwrap();
                for piece in pattern(0, 20_000).chunks(7).take(200) {
                    assert_eq!(connection.write(piece).unwrap(), Progress::Done(piece.len()));
                }
                driver.close(id).unwrap();
            }
            DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
            _ => {}
        }
    };
    let server = Server::start(config(true, true), server_context, app).unwrap();
    let mut stream = client(server.address, &client_context);
    assert!(read_to_end(&mut stream) == pattern(0, 1400));
    drop(stream);
    server.stop();
}

/// Writes nothing before it has to wait for an answer, or is told to.
struct Together {
    socket: TcpStream,
    held: Vec<u8>,
}

impl Read for Together {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.write_all(&std::mem::take(&mut self.held))?;
        self.socket.read(bytes)
    }
}

impl Write for Together {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The client's last flight comes with a stream of data right behind it that never pauses: keys change hands in its midst.
#[test]
fn a_peer_that_never_stops_is_no_reason_to_wait() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let seen = Seen::default();
        let app = Watched { echo: Echo::new(8), seen: Arc::clone(&seen) };
        let opened = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&opened);
        let server = Server::start(config(true, true).memory(20_000, 40_000), server_context, move || {
            let mut app = app;
            move |driver: &mut RingDriver, event: &DriverEvent| {
                if let DriverEvent::Plaintext(id) = *event {
                    let by_engine = driver.connection(id).unwrap().protection().1 == Protection::Engine;
                    count.fetch_add(u64::from(by_engine), Ordering::Relaxed);
                }
                app.on(driver, event);
            }
        });
        let server = server.unwrap();
        let mut ssl = Ssl::new(&client_context).unwrap();
        ssl.set_hostname("localhost").unwrap();
        let mut stream = SslStream::new(ssl, Together { socket: tcp(server.address), held: Vec::new() }).unwrap();
        stream.connect().unwrap();
        let sent = pattern(9, 300_000);
        for piece in sent.chunks(7000) {
            stream.write_all(piece).unwrap();
        }
        let mut socket = stream.get_ref().socket.try_clone().unwrap();
        let held = std::mem::take(&mut stream.get_mut().held);
        let writer = thread::spawn(move || socket.write_all(&held).unwrap());
        let mut got = vec![0; sent.len()];
        stream.read_exact(&mut got).unwrap();
        writer.join().unwrap();
        assert!(got == sent, "{suite}");
        stream.shutdown().unwrap();
        assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
        drop(stream);
        assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
        assert_eq!(*seen.lock().unwrap(), [(Protection::Kernel, Protection::Kernel)], "{suite}");
        // At most so many came with the handshake, into 20,000 bytes, the last of them in part.
        let opened = opened.load(Ordering::Relaxed);
        assert!(opened <= 3, "{suite}: {opened} records were opened by the engine");
    }
}

/// Records of padding, and records shorter than they could be, are the engine's to make.
#[test]
fn what_the_kernel_cannot_make_stays_with_the_engine() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let (server, _) = watched(Config::default().connections(8), server_context).unwrap();
    for options in [Options::default().max_plaintext(1000), Options::default().library_protection()] {
        let mut ours = driver(config(true, true).options(options)).unwrap();
        ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let (mut caller, mut log) = (Caller::new(50_000), Vec::new());
        run_out(&mut ours, &mut caller, &mut log);
        assert!(caller.back == caller.bytes);
        let (sending, _) = caller.protection.unwrap();
        assert_ne!(sending, Protection::Kernel);
    }
    server.stop();
}

/// Sockets that are no TCP have no such layer, whatever the kernel has.
#[test]
fn a_socket_of_another_kind_stays_with_the_engine() {
    let Some(mut ours) = driver(config(true, true)) else { return };
    let (client_context, server_context) = contexts();
    let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.adopt(one.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
    let client = thread::spawn(move || {
        let mut ssl = Ssl::new(&client_context).unwrap();
        ssl.set_hostname("localhost").unwrap();
        let mut stream = SslStream::new(ssl, other).unwrap();
        stream.connect().unwrap();
        there_and_back(&mut stream, &pattern(1, 50_000));
        stream.shutdown().unwrap();
    });
    let seen = Seen::default();
    let mut app = Watched { echo: Echo::new(8), seen: Arc::clone(&seen) };
    let mut log = Vec::new();
    run_out(&mut ours, &mut app, &mut log);
    client.join().unwrap();
    assert_eq!(*seen.lock().unwrap(), [not_in_the_kernel()]);
}
