//! Records protected by the kernel. Needs TCP's `tls` layer; without, what can be seen is that all goes on as before.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use arenatls::openssl::ssl::{ErrorCode, ShutdownState, Ssl, SslContext, SslStream, SslVersion};
use arenatls::{Counters, Error, Options, Progress, Protection};
use arenatls_fd_owner::{
    Capabilities, CloseReason, Config, ConnectionId, DriverEvent, Feature, RingDriver, Role, Unsupported,
};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::ring::{
    App, Echo, Server, Source, Told, client, contexts, driver, pattern, read_to_end, reasons, run_out, run_until,
    small_buffers, tcp,
};

const SUITES: [(SslVersion, &str); 6] = [
    (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256"),
    (SslVersion::TLS1_3, "TLS_AES_256_GCM_SHA384"),
    (SslVersion::TLS1_3, "TLS_CHACHA20_POLY1305_SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-CHACHA20-POLY1305"),
];
/// Sending, receiving, and both.
const DIRECTIONS: [(bool, bool); 3] = [(true, true), (true, false), (false, true)];
const SIZES: [usize; 10] = [1, 2, 100, 1023, 16_383, 16_384, 16_385, 40_000, 100_000, 1_000_000];

/// What this kernel can do. Asked in a thread of its own: the rings that are made for it end some time after they were
/// dropped, and that interrupts a system call of the thread which made them.
static CAPABILITIES: LazyLock<Result<Capabilities, Unsupported>> =
    LazyLock::new(|| thread::spawn(Capabilities::probe).join().unwrap());

/// Whether the kernel has the layer; if not, a loud word.
fn kernel_has_it() -> bool {
    match &*CAPABILITIES {
        Ok(capabilities) if capabilities.has(Feature::TlsUlp) => true,
        Ok(capabilities) => {
            eprintln!("SKIPPED: this kernel ({}) has no tls layer", capabilities.kernel());
            false
        }
        Err(why) => {
            eprintln!("SKIPPED: {why}");
            false
        }
    }
}

/// Whether it can replace a key.
fn kernel_rekeys() -> bool {
    CAPABILITIES.as_ref().is_ok_and(|capabilities| capabilities.has(Feature::TlsRekey))
}

fn config(sending: bool, receiving: bool) -> Config {
    Config::default().connections(8).kernel_tls(sending, receiving)
}

/// What the protection has to be: this, where the layer was asked for it.
fn expected(kernel: bool) -> Protection {
    if kernel { Protection::Kernel } else { Protection::Engine }
}

fn pair_of_contexts(version: SslVersion, suite: &'static str) -> (SslContext, SslContext) {
    let authority = Authority::new("kernel");
    let terms = Terms::default().version(version).suite(suite);
    (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms))
}

/// An echo that writes down how its connections were protected when their peers had closed.
struct Watched {
    echo: Echo,
    seen: Arc<Mutex<Vec<(Protection, Protection)>>>,
}

impl App for Watched {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        if let DriverEvent::PeerClosed(id) = *event {
            self.seen.lock().unwrap().push(driver.connection(id).unwrap().protection());
        }
        self.echo.on(driver, event);
    }
}

type Seen = Arc<Mutex<Vec<(Protection, Protection)>>>;

fn watched(config: Config, context: SslContext) -> Option<(Server, Seen)> {
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let server = Server::start(config, context, move || Watched { echo: Echo::new(8), seen: told })?;
    Some((server, seen))
}

/// Sends `bytes` in pieces and reads them back.
fn there_and_back(stream: &mut (impl Read + Write), bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    let (mut at, mut back) = (0, 0);
    while back < bytes.len() {
        if at < bytes.len() {
            at += stream.write(&bytes[at..bytes.len().min(at + 16_384)]).unwrap();
        }
        back += stream.read(&mut got[back..at]).unwrap();
    }
    assert!(got == bytes, "{} bytes came back changed", bytes.len());
}

fn stock_echo(config: Config, (client_context, server_context): (SslContext, SslContext)) -> Option<Seen> {
    let (server, seen) = watched(config, server_context)?;
    let mut stream = client(server.address, &client_context);
    for len in SIZES {
        there_and_back(&mut stream, &pattern(len, len));
    }
    stream.shutdown().unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "the server says close_notify, too");
    drop(stream);
    let log = server.stop();
    assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
    Some(seen)
}

#[test]
fn without_the_layer_all_stays_as_it_is_and_says_so() {
    let Ok(capabilities) = &*CAPABILITIES else { return };
    if capabilities.has(Feature::TlsUlp) {
        eprintln!("SKIPPED: this kernel ({}) has the tls layer", capabilities.kernel());
        return;
    }
    assert!(!driver(config(true, true)).unwrap().has_kernel_tls());
    let seen = stock_echo(config(true, true), contexts()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [(Protection::Engine, Protection::Engine)]);
}

#[test]
fn it_is_off_by_default() {
    let Some(seen) = stock_echo(Config::default(), contexts()) else { return };
    assert_eq!(*seen.lock().unwrap(), [(Protection::Engine, Protection::Engine)]);
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

/// A client on a ring that sends so many bytes of the pattern, reads them back, and closes.
struct Caller {
    bytes: Vec<u8>,
    at: usize,
    back: Vec<u8>,
    protection: Option<(Protection, Protection)>,
    counters: Option<Counters>,
}

impl Caller {
    fn new(len: usize) -> Caller {
        Caller { bytes: pattern(7, len), at: 0, back: Vec::new(), protection: None, counters: None }
    }
}

impl App for Caller {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        let id = match *event {
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) => id,
            DriverEvent::Plaintext(id) => {
                self.back.extend_from_slice(&driver.plaintext(id).unwrap());
                id
            }
            _ => return,
        };
        let connection = driver.connection(id).unwrap();
        if let Ok(Progress::Done(n)) = connection.write(&self.bytes[self.at..]) {
            self.at += n;
        }
        if self.back.len() == self.bytes.len() {
            self.protection = Some(connection.protection());
            self.counters = Some(connection.received());
            driver.close(id).unwrap();
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

/// A stock server that sends what it gets back, and says close_notify when the client has.
fn stock_server(context: SslContext) -> (std::net::SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut stream = SslStream::new(Ssl::new(&context).unwrap(), socket).unwrap();
        stream.accept().unwrap();
        let mut piece = [0; 5000];
        loop {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                n => stream.write_all(&piece[..n]).unwrap(),
            }
        }
        stream.shutdown().unwrap();
    });
    (address, thread)
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
fn each_direction_ends_by_itself() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let (address, thread) = stock_server(server_context);
    let mut ours = driver(config(true, true)).unwrap();
    let id = ours.connect(address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut back) = (Vec::new(), Vec::new());
    let sent = pattern(3, 30_000);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            // Half-closed at once: what comes back is read all the same.
            let connection = driver.connection(id).unwrap();
            assert_eq!(connection.write(&sent).unwrap(), Progress::Done(sent.len()));
            assert_eq!(connection.close().unwrap(), Progress::Done(()));
        }
        DriverEvent::Plaintext(id) => back.extend_from_slice(&driver.plaintext(id).unwrap()),
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert!(back == sent, "{} bytes came back", back.len());
    assert!(log.contains(&Told::PeerClosed(id)), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Done]);
    thread.join().unwrap();
}

#[test]
fn a_cut_without_close_notify_is_a_truncation() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let (server, _) = watched(config(true, true), server_context).unwrap();
    let mut stream = client(server.address, &client_context);
    there_and_back(&mut stream, &pattern(1, 100));
    drop(stream);
    assert_eq!(reasons(&server.stop()), [CloseReason::Truncated]);
}

/// A slow reader over small buffers: sends are cut short in the middle of records, and the last alert must not be
/// overtaken by the end of the stream.
#[test]
fn slow_readers_get_every_byte_and_a_clean_end() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in [SUITES[0], SUITES[3]] {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        small_buffers(&listener, 4096);
        let config = config(true, true).close_timeout(Duration::from_secs(20));
        let server = Server::on(listener, config, server_context, || Source::new(400_000, 8)).unwrap();
        thread::scope(|scope| {
            for reader in 0..3_u64 {
                let (context, address) = (&client_context, server.address);
                scope.spawn(move || {
                    let socket = tcp(address);
                    small_buffers(&socket, 4096);
                    let mut ssl = Ssl::new(context).unwrap();
                    ssl.set_hostname("localhost").unwrap();
                    let mut stream = SslStream::new(ssl, socket).unwrap();
                    stream.connect().unwrap();
                    let (mut got, mut piece) = (Vec::new(), [0; 3000]);
                    loop {
                        let n = stream.read(&mut piece).unwrap();
                        if n == 0 {
                            break;
                        }
                        got.extend_from_slice(&piece[..n]);
                        thread::sleep(Duration::from_micros(300 * reader));
                    }
                    assert!(stream.get_shutdown().contains(ShutdownState::RECEIVED), "the end was not clean");
                    assert!(got == pattern(0, 400_000), "reader {reader}: {} bytes", got.len());
                });
            }
        });
        assert_eq!(reasons(&server.stop()), [CloseReason::Done; 3]);
    }
}

/// `shutdown` throws away what the `tls` layer has accepted and TCP had no room for yet, so it has to wait for that. Where
/// the peer's window is small, there is always some.
#[test]
fn the_end_of_the_stream_does_not_overtake_the_last_records() {
    if !kernel_has_it() {
        return;
    }
    for len in [16_384, 65_536, 131_072] {
        let (client_context, server_context) = contexts();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        small_buffers(&listener, 2048);
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        small_buffers(&socket, 2048);
        let mut ours = driver(config(true, true).close_timeout(Duration::from_secs(20))).unwrap();
        ours.adopt(socket.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
        let reader = thread::spawn(move || {
            let mut ssl = Ssl::new(&client_context).unwrap();
            ssl.set_hostname("localhost").unwrap();
            let mut stream = SslStream::new(ssl, listener.accept().unwrap().0).unwrap();
            stream.connect().unwrap();
            thread::sleep(Duration::from_millis(100));
            read_to_end(&mut stream)
        });
        let (mut source, mut log) = (Source::new(len, 8), Vec::new());
        run_out(&mut ours, &mut source, &mut log);
        let got = reader.join().unwrap_or_else(|_| panic!("{log:?}"));
        assert!(got == pattern(0, len));
        assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
    }
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

/// A transport that changes the last byte of what is written, or of what is read, once it is told to.
struct Tamper {
    socket: TcpStream,
    write: bool,
    read: bool,
}

impl Read for Tamper {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.socket.read(bytes)?;
        // OpenSSL asks for a header first, and then for the rest.
        if self.read && bytes.len() != 5 && n > 0 {
            bytes[n - 1] ^= 1;
        }
        Ok(n)
    }
}

impl Write for Tamper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.write {
            return self.socket.write(bytes);
        }
        let mut changed = bytes.to_vec();
        changed[bytes.len() - 1] ^= 1;
        self.socket.write(&changed)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tampering_client(address: std::net::SocketAddr, context: &SslContext) -> SslStream<Tamper> {
    let mut ssl = Ssl::new(context).unwrap();
    ssl.set_hostname("localhost").unwrap();
    let mut stream = SslStream::new(ssl, Tamper { socket: tcp(address), write: false, read: false }).unwrap();
    stream.connect().unwrap();
    stream
}

fn failure(log: &[Told]) -> &str {
    for told in log {
        if let Told::Failed(_, why) = told {
            return why;
        }
    }
    panic!("it did not fail: {log:?}");
}

#[test]
fn a_record_that_was_changed_is_answered_with_bad_record_mac() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.get_mut().write = true;
        stream.write_all(b"changed on the way").unwrap();
        let error = stream.read(&mut [0; 100]).unwrap_err();
        assert!(error.to_string().contains("bad record mac"), "{suite}: {error}");
        drop(stream);
        let log = server.stop();
        assert_eq!(failure(&log), "bad record from the peer: its authentication tag does not fit", "{suite}");
        assert_eq!(reasons(&log), [CloseReason::Failed]);
    }
}

/// The kernel tells of a bad record to whoever uses the socket next, be it the sending that waits for room.
#[test]
fn what_is_on_its_way_still_arrives_before_the_alert_for_a_bad_record() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 4096);
    let config = config(true, true).memory(20_000, 1 << 20).close_timeout(Duration::from_secs(20));
    let server = Server::on(listener, config, server_context, || Source::new(3_000_000, 8)).unwrap();
    let mut stream = tampering_client(server.address, &client_context);
    // By now more is on its way than the sockets take.
    thread::sleep(Duration::from_millis(300));
    stream.get_mut().write = true;
    stream.write_all(b"changed on the way").unwrap();
    thread::sleep(Duration::from_millis(300));
    let mut got = Vec::new();
    let error = stream.read_to_end(&mut got).unwrap_err();
    assert!(error.to_string().contains("bad record mac"), "after {} bytes: {error}", got.len());
    assert!(got.len() > 900_000 && got == pattern(0, got.len()), "{} bytes", got.len());
    drop(stream);
    let log = server.stop();
    assert_eq!(failure(&log), "bad record from the peer: its authentication tag does not fit");
    assert!(!log.iter().any(|told| matches!(told, Told::SendFailed(_))), "{log:?}");
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

#[test]
fn a_record_that_is_too_long_or_of_another_version_is_refused() {
    if !kernel_has_it() {
        return;
    }
    let cases = [
        (&[23, 3, 3, 0xff, 0xff, 0][..], "alert record overflow", "and at most"),
        (&[23, 3, 1, 0, 32, 0], "alert protocol version", "version field"),
    ];
    for (bytes, alert, why) in cases {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.get_mut().socket.write_all(bytes).unwrap();
        let error = stream.read(&mut [0; 100]).unwrap_err();
        assert!(error.to_string().contains(alert), "{error}");
        drop(stream);
        let log = server.stop();
        assert!(failure(&log).contains(why), "{log:?}");
        assert_eq!(reasons(&log), [CloseReason::Failed]);
    }
}

#[test]
fn the_alert_of_a_peer_is_heard() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.write_all(b"comes back changed").unwrap();
        stream.get_mut().read = true;
        let error = stream.ssl_read(&mut [0; 100]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::SSL, "{error}");
        drop(stream);
        let log = server.stop();
        assert_eq!(failure(&log), "the peer sent the fatal alert bad_record_mac (20)", "{suite}");
    }
}

/// A client on a ring without the kernel that asks for new keys once it has heard from the server.
fn asks_for_keys(
    ask_peer: bool,
    config: Config,
    act: impl FnMut(&mut RingDriver, ConnectionId) + 'static,
) -> (Vec<Told>, Vec<Told>) {
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let (server, _) = watched(config, server_context).unwrap();
    let mut ours = driver(Config::default().connections(1)).unwrap();
    let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut act) = (Vec::new(), act);
    let mut app = move |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            assert_eq!(driver.connection(id).unwrap().write(b"first").unwrap(), Progress::Done(5));
        }
        DriverEvent::Plaintext(id) => {
            let got = driver.plaintext(id).unwrap().to_vec();
            if got == b"first" {
                let connection = driver.connection(id).unwrap();
                assert_eq!(connection.key_update(ask_peer).unwrap(), Progress::Done(()));
                assert_eq!(connection.write(b"second").unwrap(), Progress::Done(6));
            } else {
                assert_eq!(got, b"second");
                act(driver, id);
            }
        }
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert_eq!(log.iter().filter(|told| **told == Told::HandshakeComplete(id)).count(), 1);
    (log, server.stop())
}

#[test]
fn new_keys_that_the_kernel_cannot_take_end_the_connection_with_a_word() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    let cases = [
        (false, config(true, true)),
        (true, config(true, true)),
        (false, config(false, true)),
        (true, config(true, false)),
    ];
    for (ask_peer, config) in cases {
        let (client, server) = asks_for_keys(ask_peer, config, |_, _| panic!("nothing can come back"));
        assert_eq!(failure(&server), Error::KernelCannotRekey.to_string());
        assert_eq!(failure(&client), "the peer sent the fatal alert internal_error (80)");
        assert_eq!(reasons(&server), [CloseReason::Failed]);
    }
}

/// Where the receiving keys are the engine's, or the kernel takes new ones.
#[test]
fn new_keys_that_can_be_taken_are_taken() {
    if !kernel_has_it() {
        return;
    }
    let mut cases = vec![(false, config(true, false)), (true, config(false, false))];
    if kernel_rekeys() {
        cases.extend(DIRECTIONS.map(|(sending, receiving)| (true, config(sending, receiving))));
    }
    for (ask_peer, config) in cases {
        let (client, server) = asks_for_keys(ask_peer, config, |driver, id| driver.close(id).unwrap());
        assert_eq!(reasons(&client), [CloseReason::Done], "{server:?}");
        assert_eq!(reasons(&server), [CloseReason::Done]);
    }
}

/// Sends so many bytes, and when they are back asks for new keys and sends them again.
struct Rounds {
    round: Vec<u8>,
    at: usize,
    back: Vec<u8>,
    left: u32,
    generations: (u64, u64),
}

impl App for Rounds {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        let id = match *event {
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) => id,
            DriverEvent::Plaintext(id) => {
                self.back.extend_from_slice(&driver.plaintext(id).unwrap());
                id
            }
            _ => return,
        };
        let connection = driver.connection(id).unwrap();
        if self.back.len() == self.round.len() {
            assert!(self.back == self.round, "{} rounds before the end", self.left);
            self.back.clear();
            if self.left == 0 {
                self.generations = (connection.sent().key_generations, connection.received().key_generations);
                return driver.close(id).unwrap();
            }
            (self.at, self.left) = (0, self.left - 1);
            let _ = connection.key_update(true).unwrap();
        }
        if let Ok(Progress::Done(n)) = connection.write(&self.round[self.at..]) {
            self.at += n;
        }
    }
}

#[test]
fn keys_are_replaced_in_the_middle_of_a_stream() {
    if !kernel_has_it() {
        return;
    }
    if !kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes no new keys");
        return;
    }
    for (_, suite) in &SUITES[..3] {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, suite);
        let (server, seen) = watched(config(true, true), server_context).unwrap();
        // Keys last for three records, too, so that some are replaced within a round.
        let mut ours = driver(config(true, true).options(Options::default().rekey_after(3))).unwrap();
        ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut rounds = Rounds { round: pattern(5, 90_000), at: 0, back: Vec::new(), left: 20, generations: (0, 0) };
        let mut log = Vec::new();
        run_out(&mut ours, &mut rounds, &mut log);
        assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
        assert!(rounds.generations.0 >= 40 && rounds.generations.1 == 21, "{suite}: {:?} keys", rounds.generations);
        assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
        assert_eq!(*seen.lock().unwrap(), [(Protection::Kernel, Protection::Kernel)], "{suite}");
    }
}

#[test]
fn our_own_new_keys_are_refused_and_nothing_changes() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    for (sending, receiving) in DIRECTIONS {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
        let (server, _) = watched(Config::default().connections(8), server_context).unwrap();
        let mut ours = driver(config(sending, receiving)).unwrap();
        let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut log = Vec::new();
        let ready = |log: &[Told]| log.contains(&Told::HandshakeComplete(id));
        run_until(&mut ours, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut log, ready);
        let connection = ours.connection(id).unwrap();
        assert!(matches!(connection.key_update(true), Err(Error::Misuse(_))));
        assert_eq!(matches!(connection.key_update(false), Err(Error::Misuse(_))), sending);
        assert!(
            connection.seal_into(b"x", &mut [0; 100]).is_err() == sending
                && connection.sealed_len(1).is_none() == sending
        );
        let mut caller = Caller::new(5000);
        caller.on(&mut ours, &DriverEvent::HandshakeComplete(id));
        run_out(&mut ours, &mut caller, &mut log);
        assert!(caller.back == caller.bytes, "{log:?}");
        assert_eq!(reasons(&log), [CloseReason::Done]);
        server.stop();
    }
}

#[test]
fn a_key_that_has_done_its_work_ends_the_connection() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let (server, _) = watched(Config::default().connections(8), server_context).unwrap();
    let mut ours = driver(config(true, true).options(Options::default().rekey_after(10))).unwrap();
    let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut written) = (Vec::new(), 0);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            let connection = driver.connection(id).unwrap();
            while let Ok(Progress::Done(n)) = connection.write(b"again") {
                written += n;
            }
        }
        DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert_eq!(written, 50);
    assert_eq!(failure(&log), Error::KeysWornOut { records: 10 }.to_string());
    let log = server.stop();
    assert!(log.iter().any(|told| matches!(told, Told::PeerClosed(_))), "the last word was close_notify: {log:?}");
    let _ = id;
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
    assert_eq!(*seen.lock().unwrap(), [(Protection::Engine, Protection::Engine)]);
}
