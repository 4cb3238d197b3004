//! The `serve` example against curl, `openssl s_client` and sockets that misbehave.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use arenatls_rig::contexts::{self, Terms};
use openssl::ssl::{Ssl, SslStream, SslVersion};

mod interop;

use interop::{Files, Running, example, openssl, peer};

/// Two identities, and a server that presents one of them.
struct Server {
    files: Files,
    running: Running,
    port: u16,
}

impl Server {
    fn start(test: &str, options: &[&str]) -> Server {
        let files = Files::new(test);
        let mut command = example("serve");
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--cert",
            &files.path("server.pem"),
            "--key",
            &files.path("server.key"),
        ]);
        for option in options {
            command.arg(if option.ends_with(".pem") { files.path(option) } else { (*option).to_owned() });
        }
        let running = Running::start(&mut command);
        let port = running.wait_for("listening on 127.0.0.1:", 1).parse().expect("a port");
        Server { files, running, port }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// What the server says of connection `number`, once it has said `text` of it.
    fn says(&self, number: u32, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let output = self.running.output();
            let mut lines = output.lines().filter(|line| line.starts_with(&format!("#{number} ")));
            if let Some(line) = lines.find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(Instant::now() < deadline, "nothing about {text:?} of #{number}:\n{output}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn curl(&self, arguments: &[&str]) -> Option<(Option<i32>, String)> {
        let mut curl = peer("curl", "--version")?;
        curl.args(["-sS", "--max-time", "30", "--noproxy", "*", "--cacert", &self.files.path("ca.pem")]);
        let done = Running::run(curl.args(arguments));
        Some((done.code, String::from_utf8_lossy(&done.stdout).into_owned() + &done.stderr))
    }

    fn s_client(&self, arguments: &[&str]) -> Option<Running> {
        let mut s_client = openssl("s_client")?;
        s_client.args(["-connect", &format!("127.0.0.1:{}", self.port), "-servername", "localhost"]);
        s_client.args(["-CAfile", &self.files.path("ca.pem"), "-verify_return_error"]);
        Some(Running::start(s_client.args(arguments)))
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        socket.set_write_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        socket
    }

    /// A client of stock OpenSSL, after its handshake.
    fn stock(&self, version: SslVersion) -> SslStream<TcpStream> {
        let context = contexts::client(&self.files.authority, &Terms::default().version(version));
        let mut ssl = Ssl::new(&context).expect("an Ssl");
        ssl.param_mut().set_host("localhost").expect("a name");
        let mut stream = SslStream::new(ssl, self.socket()).expect("a stream");
        stream.connect().expect("a handshake");
        stream
    }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What `/bytes/N` is.
fn pattern(n: usize) -> Vec<u8> {
    (0..=250).cycle().take(n).collect()
}

#[test]
fn curl_fetches_in_both_versions_under_both_protections() {
    for protection in ["engine", "library"] {
        let server = Server::start(&format!("curl-{protection}"), &["--protection", protection]);
        for (number, version, option) in [(1, "TLSv1.2", "--tls-max"), (2, "TLSv1.3", "--tlsv1.3")] {
            let arguments = if number == 1 { vec![option, "1.2"] } else { vec![option] };
            let url = server.url("/");
            let Some((code, text)) = server.curl(&[&arguments[..], &[&url]].concat()) else { return };
            assert_eq!(code, Some(0), "{text}");
            assert!(text.starts_with(version) && text.contains("ALPN http/1.1"), "{text}");
            let facts = server.says(number, version);
            assert!(facts.ends_with(text.trim_end()), "what the server prints is what it answers: {facts}\n{text}");
            assert!(protection == "engine" || facts.contains("Library sending, Library receiving"), "{facts}");
            server.says(number, "closed, 1 requests answered");
        }
    }
}

#[test]
fn a_big_body_arrives_whole_and_a_connection_is_used_again() {
    for protection in ["engine", "library"] {
        let server = Server::start(&format!("big-{protection}"), &["--protection", protection]);
        let (big, small) = (server.url("/bytes/3000001"), server.url("/bytes/0"));
        let file = server.files.path("body");
        let Some((code, text)) = server.curl(&["-o", &file, &big, "-o", "/dev/null", &small]) else { return };
        assert_eq!(code, Some(0), "{text}");
        assert!(std::fs::read(&file).expect("a body") == pattern(3_000_001), "the body differs");
        server.says(1, "closed, 2 requests answered");
    }
}

#[test]
fn what_is_not_served_is_refused_by_its_number() {
    let server = Server::start("refusals", &[]);
    let url = server.url("/");
    let missing = server.url("/nothing");
    let long = format!("X-Long: {}", "x".repeat(20_000));
    let cases: [(&[&str], &str); 6] = [
        (&["-I", &url], "HTTP/1.1 200 OK\r\n"),
        (&["-i", &missing], "HTTP/1.1 404 Not Found\r\n"),
        (&["-i", "-X", "DELETE", &url], "HTTP/1.1 405 Method Not Allowed\r\n"),
        (&["-i", "-X", "GET", "-d", "a body", &url], "HTTP/1.1 400 Bad Request\r\n"),
        (&["-i", "-H", "Host:", &url], "HTTP/1.1 400 Bad Request\r\n"),
        (&["-i", "-H", &long, &url], "HTTP/1.1 431 Request Header Fields Too Large\r\n"),
    ];
    for (arguments, start) in cases {
        let Some((code, text)) = server.curl(arguments) else { return };
        assert_eq!(code, Some(0), "{text}");
        assert!(text.starts_with(start), "{start:?}: {text}");
    }
}

#[test]
fn an_answer_that_fits_is_one_record() {
    let server = Server::start("one-record", &[]);
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let mut stream = server.stock(version);
        // SSL_read gives at most one record.
        let mut record = [0; 20_000];
        stream.ssl_write(b"GET /bytes/16000 HTTP/1.1\r\nHost: a\r\n\r\n").expect("a request");
        let n = stream.ssl_read(&mut record).expect("an answer");
        let body = record[..n].windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4;
        assert_eq!(record[body..n], pattern(16_000));
    }
}

#[test]
fn a_client_that_ends_its_direction_gets_the_whole_answer_and_close_notify() {
    let server = Server::start("half-close", &[]);
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let mut stream = server.stock(version);
        stream.ssl_write(b"GET /bytes/2000000 HTTP/1.1\r\nHost: a\r\n\r\n").expect("a request");
        stream.shutdown().expect("close_notify");
        stream.get_ref().shutdown(Shutdown::Write).expect("the end of one direction");
        std::thread::sleep(Duration::from_millis(50));
        let mut answer = Vec::new();
        // An end without close_notify would be an error.
        stream.read_to_end(&mut answer).expect("an answer and its end");
        assert!(answer.ends_with(&pattern(2_000_000)));
    }
}

#[test]
fn client_certificates_are_asked_for_and_checked() {
    for version in ["1.2", "1.3"] {
        let server = Server::start(&format!("mutual-{version}"), &["--client-ca", "ca.pem"]);
        let (cert, key, url) = (server.files.path("client.pem"), server.files.path("client.key"), server.url("/"));
        let known = ["--tls-max", version, "--cert", &cert, "--key", &key, &url];
        let Some((code, text)) = server.curl(&known) else { return };
        assert_eq!(code, Some(0), "{text}");
        assert!(text.starts_with(&format!("TLSv{version}")), "{text}");
        let (code, text) = server.curl(&["--tls-max", version, &url]).expect("curl is here");
        assert_eq!(code, Some(if version == "1.2" { 35 } else { 56 }), "{text}");
        assert!(text.contains("alert"), "the alert arrives: {text}");
        server.says(2, "peer did not return a certificate");
    }
}

#[test]
fn protocols_are_agreed_on_by_alpn() {
    let server = Server::start("alpn", &[]);
    let url = server.url("/");
    let cases: [(&[&str], &str); 2] = [(&["--http2", &url], "ALPN http/1.1"), (&["--no-alpn", &url], "ALPN none")];
    for (arguments, expected) in cases {
        let Some((code, text)) = server.curl(arguments) else { return };
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let Some(mut s_client) = server.s_client(&["-alpn", "h2"]) else { return };
    s_client.end_input();
    assert!(s_client.finish().stderr.contains("alert no application protocol"));

    let server = Server::start("alpn-h2", &["--alpn", "h2,http/1.1"]);
    let Some((code, text)) = server.curl(&["--http2", &server.url("/")]) else { return };
    assert_ne!(code, Some(0), "{text}");
    server.says(1, "h2 was agreed on, as --alpn allows, but this example speaks only http/1.1");
}

#[test]
fn s_client_resumes_in_both_versions() {
    for (version, option) in [("TLSv1.2", "-tls1_2"), ("TLSv1.3", "-tls1_3")] {
        let server = Server::start(&format!("resume-{version}"), &["--client-ca", "ca.pem"]);
        let (session, cert) = (server.files.path("session"), server.files.path("client.pem"));
        let key = server.files.path("client.key");
        for (number, way, handshake, resumed) in [(1, "-sess_out", "New", "no"), (2, "-sess_in", "Reused", "yes")] {
            let arguments = [option, "-cert", &cert, "-key", &key, way, &session];
            let Some(mut s_client) = server.s_client(&arguments) else { return };
            s_client.input(GET);
            s_client.wait_for("HTTP/1.1 200 OK", 1);
            s_client.input(b"Q\n");
            let output = String::from_utf8_lossy(&s_client.finish().stdout).into_owned();
            assert!(output.contains(&format!("{handshake}, {version}")), "{output}");
            // An answer was read after the tickets, so both have been.
            assert!(
                version == "TLSv1.2" || number == 2 || output.matches("New Session Ticket arrived").count() == 2,
                "{output}"
            );
            assert!(server.says(number, version).contains(&format!("resumed {resumed}")));
        }
    }
}

#[test]
fn s_client_updates_its_keys_and_asks_for_ours() {
    let server = Server::start("key-update", &[]);
    let Some(mut s_client) = server.s_client(&["-tls1_3", "-msg"]) else { return };
    for round in 1..=4 {
        s_client.input(if round % 2 == 0 { b"K\n" } else { b"k\n" });
        s_client.wait_for("KEYUPDATE", round);
        s_client.input(GET);
        s_client.wait_for("HTTP/1.1 200 OK", round);
    }
    s_client.input(b"Q\n");
    let output = String::from_utf8_lossy(&s_client.finish().stdout).into_owned();
    assert_eq!(output.matches(">>> TLS 1.3, Handshake [length 0005], KeyUpdate").count(), 4, "{output}");
    assert_eq!(output.matches("<<< TLS 1.3, Handshake [length 0005], KeyUpdate").count(), 2, "{output}");
    server.says(1, "closed, 4 requests answered");
}

#[test]
fn old_versions_work_where_the_security_level_allows_them() {
    let server = Server::start("old", &["--min-version", "tls1.0", "--security-level", "0"]);
    for (number, version, option) in [(1, "TLSv1,", "-tls1"), (2, "TLSv1.1,", "-tls1_1")] {
        let Some(mut s_client) = server.s_client(&[option, "-cipher", "DEFAULT@SECLEVEL=0"]) else { return };
        s_client.input(GET);
        s_client.wait_for("HTTP/1.1 200 OK", 1);
        s_client.input(b"Q\n");
        assert_eq!(s_client.finish().code, Some(0));
        assert!(server.says(number, version).contains("Library sending, Library receiving"));
    }
    let server = Server::start("not-old", &[]);
    let Some(mut s_client) = server.s_client(&["-tls1", "-cipher", "DEFAULT@SECLEVEL=0"]) else { return };
    s_client.end_input();
    assert!(s_client.finish().stderr.contains("alert protocol version"));
}

#[test]
fn a_silent_peer_is_dropped_at_the_deadline() {
    let server = Server::start("silent", &["--timeout", "0.4"]);
    let mut silent = server.socket();
    assert_eq!(silent.read(&mut [0; 16]).expect("the end"), 0);
    server.says(1, "the peer was not done within 0.4 s: the handshake");

    // Neither does it help to say a little all the time.
    let mut stream = server.stock(SslVersion::TLS1_3);
    let started = Instant::now();
    for byte in GET.iter().cycle().take(400).filter(|byte| **byte != b'\n') {
        if stream.ssl_write(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    server.says(2, "the peer was not done within 0.4 s: a whole request");
}

#[test]
fn noise_ends_its_own_connection_only() {
    let server = Server::start("noise", &[]);
    let mut bystander = server.stock(SslVersion::TLS1_3);
    // A request without TLS (which OpenSSL answers with silence), and a record whose message there is none of: the
    // alert unexpected_message arrives whole, though more noise was never read; a reset would have cost it.
    let unknown = [b"\x16\x03\x01\x00\x04\x63\x00\x00\x00", GET].concat();
    let noises = [(GET.to_vec(), &b""[..]), (unknown, b"\x15\x03\x03\x00\x02\x02\x0a")];
    for (number, (noise, expected)) in (2..).zip(noises) {
        let mut socket = server.socket();
        socket.write_all(&noise).expect("noise is taken");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("an end without a reset");
        // Before a version is agreed on, OpenSSL 3.0 writes 3.1.
        answer.iter_mut().skip(2).take(1).for_each(|minor| *minor = 3);
        assert_eq!(answer, expected);
        drop(socket);
        server.says(number, "failed, 0 requests answered: ");
    }

    let cut = server.stock(SslVersion::TLS1_3);
    cut.get_ref().shutdown(Shutdown::Both).expect("a cut");
    server.says(4, "failed, 0 requests answered: the transport ended without close_notify");

    bystander.ssl_write(GET).expect("a request");
    assert!(bystander.ssl_read(&mut [0; 1000]).expect("an answer") > 100);
}

#[test]
fn the_identity_it_makes_is_good_for_this_machine() {
    let running = Running::start(example("serve").args(["--listen", "127.0.0.1:0"]));
    let port = running.wait_for("listening on 127.0.0.1:", 1);
    let ca = running.wait_for("for clients to trust: ", 1);
    for host in ["localhost", "127.0.0.1"] {
        let Some(mut curl) = peer("curl", "--version") else { return };
        curl.args(["-sS", "--max-time", "30", "--noproxy", "*", "--cacert", &ca, &format!("https://{host}:{port}/")]);
        let done = Running::run(&mut curl);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    std::fs::remove_dir_all(std::path::Path::new(&ca).parent().expect("a directory")).expect("it is ours");
}

#[test]
fn a_wrong_command_line_is_told_from_what_else_can_fail() {
    let help = Running::run(example("serve").arg("--help"));
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.starts_with(b"serve: "));

    let usage: [&[&str]; 7] = [
        &[],
        &["--listen"],
        &["--listen", "127.0.0.1:0", "--cert", "a.pem"],
        &["--listen", "127.0.0.1:0", "--alpn", "a,,b"],
        &["--listen", "127.0.0.1:0", "--min-version", "ssl3"],
        &["--listen", "127.0.0.1:0", "--protection", "kernel"],
        &["--what"],
    ];
    for arguments in usage {
        let done = Running::run(example("serve").args(arguments));
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("hint: --help"), "{}", done.stderr);
    }
    let failing: [(&[&str], &str); 3] = [
        (&["--listen", "127.0.0.1:0", "--cert", "/no/such.pem", "--key", "/no/such.key"], "/no/such.pem"),
        (&["--listen", "127.0.0.1:0", "--client-ca", "/no/ca.pem"], "/no/ca.pem"),
        (&["--listen", "127.0.0.1:99999"], "127.0.0.1:99999"),
    ];
    for (arguments, named) in failing {
        let done = Running::run(example("serve").args(arguments));
        assert_eq!(done.code, Some(1), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(named) && done.stderr.contains("to blame: this side"), "{}", done.stderr);
    }
}
