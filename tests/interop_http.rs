//! The `http` example against curl, wrk, h2load, `openssl s_client` and rustls; and the driver as a client of
//! `openssl s_server` and nginx.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use arenatls::fd_owner::{CloseReason, Config, DriverEvent, RingDriver};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::ring::{WATCHDOG, driver, reasons, run_out};
use openssl::sha::sha256;
use openssl::ssl::{Ssl, SslVersion};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

mod interop;

use interop::{Files, Running, example, openssl, peer};

const VERSIONS: [SslVersion; 2] = [SslVersion::TLS1_2, SslVersion::TLS1_3];

/// What `/bytes/N` is.
fn pattern(n: usize) -> Vec<u8> {
    (0..=250).cycle().take(n).collect()
}

/// The server, and files it can be trusted by.
struct Server {
    files: Files,
    /// Kept, because its end ends the server.
    _running: Running,
    port: u16,
}

impl Server {
    /// Nothing, and a loud word, where there is no io_uring.
    fn start(test: &str, options: &[&str]) -> Option<Server> {
        driver(Config::default())?;
        let files = Files::new(test);
        let (cert, key) = (files.path("server.pem"), files.path("server.key"));
        let mut command = example("http");
        command.args(["--listen", "127.0.0.1:0", "--cert", &cert, "--key", &key]);
        let running = Running::start(command.args(options));
        let port = running.wait_for("listening on 127.0.0.1:", 1).parse().expect("a port");
        Some(Server { files, _running: running, port })
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// A program that is given the address last.
    fn run(&self, command: &mut Command, path: &str) -> String {
        let done = Running::run(command.arg(self.url(path)));
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &done.stderr;
        assert_eq!(done.code, Some(0), "{command:?}\n{text}");
        text
    }

    fn curl(&self) -> Option<Command> {
        let mut curl = peer("curl", "--version")?;
        curl.args(["-sS", "--max-time", "50", "--noproxy", "*", "-4", "--cacert", &self.files.path("ca.pem")]);
        Some(curl)
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }
}

#[test]
fn curl_gets_big_bodies_and_sends_some_under_both_versions_and_protections() {
    const BIG: usize = 50_000_017;
    for protection in ["engine", "library"] {
        let name = format!("http-curl-{protection}");
        let Some(server) = Server::start(&name, &["--protection", protection, "--threads", "2"]) else { return };
        let (body, file) = (server.files.path("body"), server.files.path("got"));
        fs::write(&body, pattern(60_000)).expect("a file");
        for version in ["1.2", "1.3"] {
            let curl = || {
                let mut curl = server.curl()?;
                curl.args(["--tls-max", version]);
                Some(curl)
            };
            let Some(mut get) = curl() else { return };
            server.run(get.args(["-o", &file]), &format!("/bytes/{BIG}"));
            let got = fs::read(&file).expect("a body");
            assert_eq!((got.len(), sha256(&got)), (BIG, sha256(&pattern(BIG))));
            let Some(mut head) = curl() else { return };
            let head = server.run(head.arg("-I"), "/bytes/12345");
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 12345\r\n"), "{head}");
            let data = format!("@{body}");
            let ways: [&[&str]; 3] = [&[], &["-H", "Transfer-Encoding: chunked"], &["-H", "Expect: 100-continue"]];
            for way in ways {
                let Some(mut post) = curl() else { return };
                server.run(post.args(["-o", &file, "--data-binary", &data]).args(way), "/echo");
                assert!(fs::read(&file).expect("a body") == pattern(60_000), "{way:?}: the body differs");
            }
        }
    }
}

#[test]
fn curl_uses_a_connection_again_and_hears_the_numbers() {
    let Some(server) = Server::start("http-curl-again", &[]) else { return };
    let Some(mut curl) = server.curl() else { return };
    let (one, two) = (server.url("/health"), server.url("/bytes/100000"));
    curl.args(["-w", "%{http_code} %{num_connects}\n", "-o", "/dev/null", &one, "-o", "/dev/null", &two]);
    assert_eq!(server.run(curl.args(["-o", "/dev/null"]), "/no"), "200 1\n200 0\n404 0\n");
    let cases: [(&[&str], &str); 5] = [
        (&["--http1.0"], "HTTP/1.1 200 OK\r\n"),
        (&["-X", "DELETE"], "HTTP/1.1 405 Method Not Allowed\r\n"),
        (&["-X", "BREW"], "HTTP/1.1 501 Not Implemented\r\n"),
        (&["-H", "Host:"], "HTTP/1.1 400 Bad Request\r\n"),
        (&["-H", "Transfer-Encoding: gzip"], "HTTP/1.1 501 Not Implemented\r\n"),
    ];
    for (arguments, start) in cases {
        let Some(mut curl) = server.curl() else { return };
        let text = server.run(curl.arg("-i").args(arguments), "/");
        assert!(text.starts_with(start), "{arguments:?}: {text}");
    }
    let Some(mut curl) = server.curl() else { return };
    let body = server.files.path("body");
    fs::write(&body, vec![b'x'; 100_000]).expect("a file");
    let text = server.run(curl.args(["-i", "--data-binary", &format!("@{body}")]), "/echo");
    assert!(text.contains("HTTP/1.1 413 Content Too Large\r\n"), "{text}");
}

/// The number before `word`.
fn number_before(text: &str, word: &str) -> u64 {
    let (before, _) = text.split_once(word).unwrap_or_else(|| panic!("no {word:?}: {text}"));
    let number = before.trim_end().rsplit([' ', '\n']).next().expect("a word");
    number.parse().unwrap_or_else(|_| panic!("no number before {word:?}: {text}"))
}

#[test]
fn wrk_finds_no_error() {
    let Some(server) = Server::start("http-wrk", &["--threads", "2"]) else { return };
    for (path, is_found) in [("/", true), ("/bytes/100000", true), ("/no", false)] {
        let Some(mut wrk) = peer("wrk", "-v") else { return };
        let text = server.run(wrk.args(["-t1", "-c16", "-d1s", "--timeout", "20s"]), path);
        let requests = number_before(&text, "requests in");
        assert!(requests > 10, "{text}");
        assert!(!text.contains("Socket errors"), "{text}");
        let refused = text.lines().find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses: "));
        assert_eq!(refused, (!is_found).then(|| requests.to_string()).as_deref(), "{text}");
    }
}

#[test]
fn h2load_sees_every_request_succeed() {
    let Some(server) = Server::start("http-h2load", &["--threads", "2"]) else { return };
    // One request at a time on each connection, then pipelines of twenty.
    for (pipeline, path) in [("-m1", "/"), ("-m20", "/"), ("-m20", "/bytes/20000")] {
        let Some(mut h2load) = peer("h2load", "--version") else { return };
        let text = server.run(h2load.args(["--h1", "-t1", "-c16", "-n3000", pipeline]), path);
        for (word, count) in [("succeeded,", 3000), ("failed,", 0), ("errored,", 0), ("timeout", 0), ("2xx,", 3000)] {
            assert_eq!(number_before(&text, word), count, "{word} {text}");
        }
        assert!(text.contains("Application protocol: http/1.1"), "{text}");
    }
}

#[test]
fn s_client_agrees_on_http_and_is_answered() {
    let Some(server) = Server::start("http-s-client", &[]) else { return };
    for version in ["-tls1_2", "-tls1_3"] {
        let s_client = |alpn: &str| {
            let mut command = openssl("s_client")?;
            command.args(["-connect", &server.address().to_string(), "-servername", "localhost", version]);
            command.args(["-CAfile", &server.files.path("ca.pem"), "-verify_return_error", "-ign_eof", "-alpn", alpn]);
            Some(Running::start(&mut command))
        };
        let Some(mut running) = s_client("h2,http/1.1") else { return };
        running.wait_for("ALPN protocol: http/1.1", 1);
        running.input(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let done = running.finish();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(text.contains("HTTP/1.1 200 OK") && text.contains("\r\n\r\nwell\n"), "{text}");
        // The server ends with close_notify.
        assert_eq!(done.code, Some(0), "{text}{}", done.stderr);
        let Some(refused) = s_client("h2") else { return };
        let done = refused.finish();
        assert!(done.code != Some(0) && done.stderr.contains("no application protocol"), "{}", done.stderr);
    }
}

#[test]
fn a_rustls_client_gets_a_long_answer_and_a_clean_end() {
    let Some(server) = Server::start("http-rustls", &[]) else { return };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(server.files.authority.der())).expect("a root");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        let config = config.expect("a version").with_root_certificates(roots.clone());
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().expect("a name"));
        let socket = arenatls_rig::ring::tcp(server.address());
        let mut stream = StreamOwned::new(connection.expect("a client"), socket);
        let requests =
            "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /bytes/3000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(requests.as_bytes()).expect("a write");
        let mut answers = Vec::new();
        // rustls takes an end without close_notify for an error.
        stream.read_to_end(&mut answers).expect("a clean end");
        assert!(answers.starts_with(b"HTTP/1.1 200 OK\r\n") && answers.ends_with(&pattern(3_000_000)));
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    }
}

/// A port that is free, or was a moment ago.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

/// Waits until something listens.
fn wait_for(address: SocketAddr, running: &Running) {
    let end = Instant::now() + WATCHDOG;
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < end, "it does not listen: {}", running.output());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// All that a server says to `request`, until it ends or `is_all`. On a ring, in this thread.
fn fetch(
    address: SocketAddr,
    files: &Files,
    version: SslVersion,
    request: &[u8],
    is_all: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut driver = driver(Config::default().connections(1))?;
    let context = contexts::client(&files.authority, &Terms::default().version(version));
    driver.connect(address, Ssl::new(&context).expect("an Ssl"), "localhost").expect("a connection");
    let (mut got, mut log) = (Vec::new(), Vec::new());
    let mut talk = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            let connection = driver.connection(id).expect("it is open");
            assert_eq!(connection.ssl().version2(), Some(version));
            assert_eq!(connection.write(request).expect("a write").done(), Some(request.len()));
        }
        DriverEvent::Plaintext(id) => {
            got.extend_from_slice(&driver.plaintext(id).expect("plaintext"));
            if is_all(&got) {
                driver.close(id).expect("it is open");
            }
        }
        DriverEvent::PeerClosed(id) => driver.close(id).expect("it is open"),
        _ => {}
    };
    run_out(&mut driver, &mut talk, &mut log);
    assert!(matches!(reasons(&log)[..], [CloseReason::Done | CloseReason::CloseTimeout]), "{log:?}");
    Some(got)
}

fn s_server(files: &Files, mode: &str) -> Option<(Running, SocketAddr)> {
    let address = free_port();
    let mut command = openssl("s_server")?;
    command.args(["-accept", &address.to_string(), mode]).current_dir(files.path("."));
    command.args(["-cert", &files.path("server.pem"), "-key", &files.path("server.key")]);
    let running = Running::start(&mut command);
    running.wait_for("ACCEPT", 1);
    Some((running, address))
}

#[test]
fn the_driver_is_a_client_of_s_server() {
    let files = Files::new("http-s-server");
    fs::write(files.path("file"), pattern(2_000_003)).expect("a file");
    for version in VERSIONS {
        let Some((_running, address)) = s_server(&files, "-rev") else { return };
        let line = fetch(address, &files, version, b"hello, world\n", |got| got.ends_with(b"\n"));
        let Some(line) = line else { return };
        assert_eq!(line, b"dlrow ,olleh\n");
        let Some((_running, address)) = s_server(&files, "-www") else { return };
        let Some(page) = fetch(address, &files, version, b"GET / HTTP/1.0\r\n\r\n", |_| false) else { return };
        let page = String::from_utf8_lossy(&page);
        assert!(page.starts_with("HTTP/1.0 200 ok\r\n") && page.contains("Secure Renegotiation IS"), "{page}");
        let Some((_running, address)) = s_server(&files, "-WWW") else { return };
        let Some(file) = fetch(address, &files, version, b"GET /file HTTP/1.0\r\n\r\n", |_| false) else { return };
        assert!(file.starts_with(b"HTTP/1.0 200 ok\r\n") && file.ends_with(&pattern(2_000_003)), "{}", file.len());
    }
}

/// nginx in one process, which is all that belongs to it, with `files` to serve.
fn nginx(files: &Files) -> Option<(Running, SocketAddr)> {
    // Debian has it where only root looks for programs.
    let program = ["/usr/sbin/nginx"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("nginx");
    let mut command = peer(program, "-v")?;
    let address = free_port();
    let (cert, key, root) = (files.path("server.pem"), files.path("server.key"), files.path("."));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};\n", files.path(&format!("{kind}.tmp"))))
        .concat();
    let text = format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}\
         server {{\nlisten {address} ssl;\nssl_certificate {cert};\nssl_certificate_key {key};\n\
         ssl_protocols TLSv1.2 TLSv1.3;\nroot {root};\n}}\n}}\n",
        files.path("pid")
    );
    fs::write(files.path("nginx.conf"), text).expect("a configuration");
    let running = Running::start(command.args(["-e", "stderr", "-p", &root, "-c", &files.path("nginx.conf")]));
    wait_for(address, &running);
    Some((running, address))
}

#[test]
fn the_driver_is_a_client_of_nginx() {
    let files = Files::new("http-nginx");
    let body = pattern(5_000_011);
    fs::write(files.path("file"), &body).expect("a file");
    fs::write(files.path("little"), "little\n").expect("a file");
    let Some((_running, address)) = nginx(&files) else { return };
    for version in VERSIONS {
        // Three requests at once, the last of which ends the connection.
        let get = |path: &str, rest: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{rest}\r\n");
        let requests = get("/little", "") + &get("/no", "") + &get("/file", "Connection: close\r\n");
        let Some(got) = fetch(address, &files, version, requests.as_bytes(), |_| false) else { return };
        let start = got.len() - body.len();
        assert_eq!(sha256(&got[start..]), sha256(&body));
        let heads = String::from_utf8_lossy(&got[..start]);
        let codes: Vec<_> = heads.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).collect();
        assert_eq!(codes, ["200 OK", "404 Not Found", "200 OK"], "{heads}");
        assert!(heads.contains("\r\n\r\nlittle\n"), "{heads}");
    }
}
