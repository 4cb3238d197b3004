//! What the tests share: ends that are watched, and what this kernel can do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use arenatls::openssl::ssl::{Ssl, SslContext, SslStream, SslVersion};
use arenatls::{Counters, Progress, Protection};
use arenatls_fd_owner::{Capabilities, CloseReason, Config, DriverEvent, Feature, RingDriver, Unsupported};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::mode::{Direction, engine_expected};
use arenatls_rig::ring::{App, Echo, Server, Told, client, pattern, reasons};

pub(crate) const SUITES: [(SslVersion, &str); 6] = [
    (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256"),
    (SslVersion::TLS1_3, "TLS_AES_256_GCM_SHA384"),
    (SslVersion::TLS1_3, "TLS_CHACHA20_POLY1305_SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-CHACHA20-POLY1305"),
];
/// Sending, receiving, and both.
pub(crate) const DIRECTIONS: [(bool, bool); 3] = [(true, true), (true, false), (false, true)];
pub(crate) const SIZES: [usize; 10] = [1, 2, 100, 1023, 16_383, 16_384, 16_385, 40_000, 100_000, 1_000_000];

/// What this kernel can do. Asked in a thread of its own: the rings that are made for it end some time after they were
/// dropped, and that interrupts a system call of the thread which made them.
pub(crate) static CAPABILITIES: LazyLock<Result<Capabilities, Unsupported>> =
    LazyLock::new(|| thread::spawn(Capabilities::probe).join().unwrap());

/// Whether the kernel has the layer; if not, a loud word.
pub(crate) fn kernel_has_it() -> bool {
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
pub(crate) fn kernel_rekeys() -> bool {
    CAPABILITIES.as_ref().is_ok_and(|capabilities| capabilities.has(Feature::TlsRekey))
}

pub(crate) fn config(sending: bool, receiving: bool) -> Config {
    Config::default().connections(8).kernel_tls(sending, receiving)
}

/// What the protection has to be: this, where the layer was asked for it.
pub(crate) fn expected(kernel: bool) -> Protection {
    if kernel { Protection::Kernel } else { Protection::Engine }
}

/// What a connection in TLS 1.3 comes to without the kernel: an old OpenSSL keeps the keys.
pub(crate) fn not_in_the_kernel() -> (Protection, Protection) {
    let of = |direction| match engine_expected(SslVersion::TLS1_3, direction) {
        true => Protection::Engine,
        false => Protection::Library,
    };
    (of(Direction::Send), of(Direction::Receive))
}

pub(crate) fn pair_of_contexts(version: SslVersion, suite: &'static str) -> (SslContext, SslContext) {
    let authority = Authority::new("kernel");
    let terms = Terms::default().version(version).suite(suite);
    (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms))
}

/// An echo that writes down how its connections were protected when their peers had closed.
pub(crate) struct Watched {
    pub(crate) echo: Echo,
    pub(crate) seen: Arc<Mutex<Vec<(Protection, Protection)>>>,
}

impl App for Watched {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        if let DriverEvent::PeerClosed(id) = *event {
            self.seen.lock().unwrap().push(driver.connection(id).unwrap().protection());
        }
        self.echo.on(driver, event);
    }
}

pub(crate) type Seen = Arc<Mutex<Vec<(Protection, Protection)>>>;

pub(crate) fn watched(config: Config, context: SslContext) -> Option<(Server, Seen)> {
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let server = Server::start(config, context, move || Watched { echo: Echo::new(8), seen: told })?;
    Some((server, seen))
}

/// Sends `bytes` in pieces and reads them back.
pub(crate) fn there_and_back(stream: &mut (impl Read + Write), bytes: &[u8]) {
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

pub(crate) fn stock_echo(config: Config, (client_context, server_context): (SslContext, SslContext)) -> Option<Seen> {
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

/// A client on a ring that sends so many bytes of the pattern, reads them back, and closes.
pub(crate) struct Caller {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) back: Vec<u8>,
    pub(crate) protection: Option<(Protection, Protection)>,
    pub(crate) counters: Option<Counters>,
}

impl Caller {
    pub(crate) fn new(len: usize) -> Caller {
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

/// A stock server that sends what it gets back, and says close_notify when the client has.
pub(crate) fn stock_server(context: SslContext) -> (std::net::SocketAddr, thread::JoinHandle<()>) {
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

pub(crate) fn failure(log: &[Told]) -> &str {
    for told in log {
        if let Told::Failed(_, why) = told {
            return why;
        }
    }
    panic!("it did not fail: {log:?}");
}
