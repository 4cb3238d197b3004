//! The `connect` example against `openssl s_server`, our own `serve`, and servers that cut their answers short.

use std::io::Write as _;
use std::net::{Shutdown, TcpListener};
use std::process::Command;
use std::thread;
use std::time::Duration;

use arenatls_rig::contexts::{self, Terms};
use openssl::ssl::{Ssl, SslStream, SslVersion};

mod interop;

use interop::{Files, Running, example, openssl};

/// `openssl s_server -www` on a free port.
fn s_server(files: &Files, options: &[&str]) -> Option<(Running, String)> {
    let mut command = openssl("s_server")?;
    command.args(["-accept", "127.0.0.1:0", "-www", "-CAfile", &files.path("ca.pem")]);
    command.args(["-cert", &files.path("server.pem"), "-key", &files.path("server.key")]);
    let running = Running::start(command.args(options));
    let port = running.wait_for("ACCEPT 127.0.0.1:", 1);
    Some((running, port))
}

/// Our `serve`.
fn serve(files: &Files, options: &[&str]) -> (Running, String) {
    let mut command = example("serve");
    command.args(["--listen", "127.0.0.1:0", "--cert", &files.path("server.pem"), "--key", &files.path("server.key")]);
    let running = Running::start(command.args(options));
    let port = running.wait_for("listening on 127.0.0.1:", 1);
    (running, port)
}

/// `connect https://localhost:PORT/` that trusts the CA of `files`.
fn connect(files: &Files, port: &str) -> Command {
    let mut command = example("connect");
    command.args([&format!("https://localhost:{port}/"), "--ca", &files.path("ca.pem")]);
    command
}

/// What it printed, if it ended well.
fn success(command: &mut Command) -> (String, String) {
    let done = Running::run(command);
    assert_eq!(done.code, Some(0), "{command:?}: {}", done.stderr);
    (String::from_utf8_lossy(&done.stdout).into_owned(), done.stderr)
}

/// What it complained of, if it ended badly.
fn failure(command: &mut Command) -> String {
    let done = Running::run(command);
    assert_eq!(done.code, Some(1), "{command:?}: {}", done.stderr);
    done.stderr
}

const VERSIONS: [(&str, &str); 2] = [("TLSv1.2", "-tls1_2"), ("TLSv1.3", "-tls1_3")];

#[test]
fn fetches_from_s_server_in_both_versions_under_both_protections() {
    let files = Files::new("s_server");
    for (version, option) in VERSIONS {
        let Some((_server, port)) = s_server(&files, &[option]) else { return };
        for protection in ["engine", "library"] {
            let (body, facts) = success(connect(&files, &port).args(["--protection", protection]));
            assert!(body.contains("s_server") && body.trim_end().ends_with("</HTML>"), "{body}");
            assert!(body.contains(&format!("Protocol  : {version}")), "the server agrees: {body}");
            assert!(facts.contains(version) && facts.contains("200 ok"), "{facts}");
            assert!(protection == "engine" || facts.contains("Library sending, Library receiving"), "{facts}");
        }
    }
}

#[test]
fn every_suite_is_spoken() {
    let files = Files::new("suites");
    let suites = [
        ("-ciphersuites", "TLS_AES_128_GCM_SHA256"),
        ("-ciphersuites", "TLS_AES_256_GCM_SHA384"),
        ("-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"),
        ("-ciphersuites", "TLS_AES_128_CCM_SHA256"),
        ("-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("-cipher", "ECDHE-ECDSA-AES128-SHA256"),
    ];
    for (option, suite) in suites {
        let version = if option == "-cipher" { "-tls1_2" } else { "-tls1_3" };
        let Some((_server, port)) = s_server(&files, &[version, option, suite]) else { return };
        if suite.contains("CCM") {
            // OpenSSL's clients do not offer it unless told to.
            assert!(failure(&mut connect(&files, &port)).contains("handshake_failure"));
        } else {
            let (body, _) = success(&mut connect(&files, &port));
            assert!(body.contains(&format!("Cipher    : {suite}")), "{body}");
        }
    }
}

#[test]
fn client_certificates_are_shown_where_they_are_asked_for() {
    let files = Files::new("mutual-client");
    for (_, option) in VERSIONS {
        let Some((_server, port)) = s_server(&files, &[option, "-Verify", "1", "-verify_return_error"]) else { return };
        let (cert, key) = (files.path("client.pem"), files.path("client.key"));
        let (body, _) = success(connect(&files, &port).args(["--cert", &cert, "--key", &key]));
        assert!(body.contains("CN = somebody") || body.contains("CN=somebody"), "{body}");
        let complaint = failure(&mut connect(&files, &port));
        assert!(complaint.contains("fatal alert") && complaint.contains("hint: "), "{complaint}");
    }
}

#[test]
fn a_late_refusal_is_reported_and_not_the_broken_pipe_it_causes() {
    let files = Files::new("late");
    let (_server, port) = serve(&files, &["--client-ca", &files.path("ca.pem")]);
    for _ in 0..20 {
        let complaint = failure(&mut connect(&files, &port));
        assert!(complaint.contains("the peer sent the fatal alert certificate_required (116)"), "{complaint}");
        assert!(complaint.contains("hint: the peer wants a client certificate: --cert and --key"), "{complaint}");
    }
}

#[test]
fn sessions_are_resumed() {
    let files = Files::new("sessions");
    for (version, option) in VERSIONS {
        let Some((_server, port)) = s_server(&files, &[option]) else { return };
        let (bodies, facts) = success(connect(&files, &port).arg("--resume"));
        assert!(bodies.contains("New, TLS") && bodies.contains("Reused, TLS"), "{bodies}");
        assert_eq!(facts.matches(version).count(), 2, "{facts}");
        assert!(facts.contains("resumed no") && facts.contains("resumed yes"), "{facts}");
    }
    let Some((_server, port)) = s_server(&files, &["-tls1_3", "-num_tickets", "1"]) else { return };
    success(connect(&files, &port).arg("--resume"));
    let Some((_server, port)) = s_server(&files, &["-tls1_3", "-num_tickets", "0"]) else { return };
    assert!(failure(connect(&files, &port).arg("--resume")).contains("the server gave no session to resume"));
}

#[test]
fn protocols_are_agreed_on_by_alpn() {
    let files = Files::new("alpn-client");
    for (_, option) in VERSIONS {
        let Some((_server, port)) = s_server(&files, &[option, "-alpn", "h2,http/1.1"]) else { return };
        assert!(success(&mut connect(&files, &port)).1.contains("ALPN http/1.1"));
        let complaint = failure(connect(&files, &port).args(["--alpn", "h2"]));
        assert!(complaint.contains("h2 was agreed on") && complaint.contains("speaks only http/1.1"), "{complaint}");
        let complaint = failure(connect(&files, &port).args(["--alpn", "x"]));
        assert!(complaint.contains("no_application_protocol (120)"), "{complaint}");
    }
}

#[test]
fn a_server_that_cannot_be_verified_is_not_asked() {
    let (files, others) = (Files::new("verified"), Files::new("verified-others"));
    let (server, port) = serve(&files, &[]);
    let complaint = failure(&mut connect(&others, &port));
    assert!(complaint.contains("certificate was refused") && complaint.contains("is not trusted here"), "{complaint}");
    for host in ["127.0.0.1", "localhost"] {
        let mut command = example("connect");
        success(command.args([&format!("https://{host}:{port}/"), "--ca", &files.path("ca.pem")]));
    }
    drop(server);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let files = Files::new("names");
    let context = contexts::server(&files.authority.server_for(&["other.example", "192.0.2.1"]), &Terms::default());
    for (host, code) in [("localhost", "(62)"), ("127.0.0.1", "(64)")] {
        let port = once(&context, |_| {});
        let mut command = example("connect");
        command.args([&format!("https://{host}:{port}/"), "--ca", &files.path("ca.pem")]);
        let complaint = failure(&mut command);
        assert!(complaint.contains(code) && complaint.contains("not for the name or address"), "{complaint}");
    }
}

#[test]
fn s_server_updates_its_keys_and_asks_for_ours() {
    let files = Files::new("key-update-client");
    for protection in ["engine", "library"] {
        let Some(mut command) = openssl("s_server") else { return };
        command.args(["-accept", "127.0.0.1:0", "-msg", "-tls1_3"]);
        command.args(["-cert", &files.path("server.pem"), "-key", &files.path("server.key")]);
        let mut server = Running::start(&mut command);
        let port = server.wait_for("ACCEPT 127.0.0.1:", 1);
        let client = Running::start(connect(&files, &port).args(["--protection", protection]));
        server.wait_for("Accept: */*", 1);
        for round in 1..=4 {
            // The answer to "K" has to leave at once: the client has nothing else to say.
            server.input(if round % 2 == 0 { b"K\n" } else { b"k\n" });
            server.wait_for(">>> TLS 1.3, Handshake [length 0005], KeyUpdate", round);
            server.wait_for("<<< TLS 1.3, Handshake [length 0005], KeyUpdate", round / 2);
        }
        server.input(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nrekeyed\n");
        let done = client.finish();
        assert_eq!((done.code, &*done.stdout), (Some(0), &b"rekeyed\n"[..]), "{}", done.stderr);
    }
}

#[test]
fn requests_share_a_connection_and_then_its_session() {
    let files = Files::new("repeat");
    let (server, port) = serve(&files, &[]);
    let (bodies, facts) = success(connect(&files, &port).args(["--repeat", "3", "--resume"]));
    assert_eq!((bodies.lines().count(), facts.matches("connected to ").count()), (4, 2), "{bodies}{facts}");
    server.wait_for("closed, 3 requests answered", 1);
    server.wait_for("closed, 1 requests answered", 1);
}

/// A server of stock OpenSSL for one connection: reads a request and leaves the rest to `then`.
fn once(
    context: &openssl::ssl::SslContext,
    then: impl FnOnce(&mut SslStream<std::net::TcpStream>) + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let ssl = Ssl::new(context).expect("an Ssl");
    thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a client");
        socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        let mut stream = SslStream::new(ssl, socket).expect("a stream");
        if stream.accept().is_ok() && stream.ssl_read(&mut [0; 4096]).is_ok() {
            then(&mut stream);
        }
        let _ = stream.get_ref().shutdown(Shutdown::Write);
        while let Ok(1..) = std::io::Read::read(stream.get_mut(), &mut [0; 4096]) {}
    });
    port
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    CloseNotify,
    Cut,
}

#[test]
fn only_whole_answers_count() {
    use End::{CloseNotify, Cut};
    let files = Files::new("cut");
    let answers: [(&str, End, Result<&str, &str>); 16] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", CloseNotify, Ok("0123456789")),
        // All that was announced is here; what comes after is nobody's business.
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", Cut, Ok("0123456789")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234", Cut, Err("the connection was cut after 5 of 10 bytes")),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234",
            CloseNotify,
            Err("cut short: the server closed the connection after 5 of 10"),
        ),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", CloseNotify, Ok("until the end")),
        (
            "HTTP/1.0 200 OK\r\n\r\nuntil the end",
            Cut,
            Err("truncated: the connection was cut after 13 bytes, without close_notify"),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", Cut, Ok("abcd")),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            Cut,
            Err("cut after 3 bytes, before the last chunk"),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", CloseNotify, Err("cut short")),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n\r\n",
            CloseNotify,
            Err("coding of the answer is broken"),
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", CloseNotify, Err("more than it had announced")),
        ("HTTP/1.1 200 OK\r\nContent-", Cut, Err("in the middle of the answer's head")),
        ("", Cut, Err("before it answered")),
        ("", CloseNotify, Err("before it answered")),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", Cut, Ok("")),
        ("220 mail.example ESMTP\r\n", Cut, Err("not an HTTP/1.1 answer")),
    ];
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let context = contexts::server(&files.server, &Terms::default().version(version));
        for (answer, end, expected) in answers {
            let port = once(&context, move |stream| {
                if !answer.is_empty() {
                    stream.write_all(answer.as_bytes()).expect("an answer is taken");
                }
                if end == CloseNotify {
                    stream.shutdown().expect("close_notify");
                }
            });
            let done = Running::run(&mut connect(&files, &port.to_string()));
            let (code, body, complaint) = match expected {
                Ok(body) => (0, body, ""),
                Err(complaint) => (1, "", complaint),
            };
            assert_eq!(done.code, Some(code), "{answer:?} {end:?}: {}", done.stderr);
            assert!(code == 1 || done.stdout == body.as_bytes(), "{answer:?} {end:?}");
            assert!(done.stderr.contains(complaint), "{answer:?} {end:?}: {complaint:?}: {}", done.stderr);
        }
    }
}

#[test]
fn a_silent_server_is_given_up_at_the_deadline() {
    let files = Files::new("silent-server");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let complaint = failure(connect(&files, &port).args(["--timeout", "0.3"]));
    assert!(complaint.contains("not done within 0.3 s: the handshake"), "{complaint}");

    let context = contexts::server(&files.server, &Terms::default());
    let port = once(&context, |_| thread::sleep(Duration::from_secs(2))).to_string();
    let complaint = failure(connect(&files, &port).args(["--timeout", "0.5"]));
    assert!(complaint.contains("not done within 0.5 s: the answer"), "{complaint}");
}

#[test]
fn what_cannot_be_written_is_no_success() {
    let files = Files::new("full");
    let (_server, port) = serve(&files, &[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let mut command = connect(&files, &port);
    let done = command.stdout(full).stderr(std::process::Stdio::piped()).output().expect("it runs");
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("cannot write to standard output"), "{complaint}");
}

#[test]
fn a_wrong_command_line_is_told_from_what_else_can_fail() {
    let help = Running::run(example("connect").arg("--help"));
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.starts_with(b"connect: "));

    let usage: [&[&str]; 7] = [
        &[],
        &["http://localhost/"],
        &["https://local host/"],
        &["https://localhost/", "https://localhost/"],
        &["https://localhost/", "--repeat", "0"],
        &["https://localhost/", "--key", "k.pem"],
        &["https://localhost/", "--timeout", "soon"],
    ];
    for arguments in usage {
        let done = Running::run(example("connect").args(arguments));
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("hint: --help"), "{}", done.stderr);
    }
    let complaint = failure(example("connect").args(["https://localhost:1/", "--ca", "/no/ca.pem"]));
    assert!(complaint.contains("/no/ca.pem") && complaint.contains("to blame: this side"), "{complaint}");
    let complaint = failure(example("connect").args(["https://localhost:1/"]));
    assert!(complaint.contains("nothing listens there"), "{complaint}");
    let complaint = failure(example("connect").args(["https://a..b/"]));
    assert!(complaint.contains("a..b"), "{complaint}");
}
