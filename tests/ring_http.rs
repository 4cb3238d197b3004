//! The example server `http` in this process, against clients that are well-behaved, slow, rude or wrong.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use arenatls::fd_owner::{CloseReason, Config, DriverEvent, RingDriver};
use arenatls_rig::ring::{self, Server, Told, WATCHDOG, contexts, read_to_end, reasons};
use openssl::ssl::{SslContext, SslStream};

#[path = "../examples/common/mod.rs"]
#[expect(dead_code, reason = "what the server needs of it")]
mod common;
#[path = "../examples/http/site/mod.rs"]
mod site;

use site::{Root, Site};

const CONNECTIONS: u32 = 16;
/// How long a request may take, where that is not the point.
const LIMIT: Duration = Duration::from_secs(20);
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The site on a ring, in a thread of its own; and what its clients need. Nothing where there is no io_uring.
fn start(config: Config, limit: Duration) -> Option<(Server, SslContext)> {
    start_with(config, limit, None)
}

/// The same with files.
fn start_with(config: Config, limit: Duration, root: Option<Root>) -> Option<(Server, SslContext)> {
    let (client_context, server_context) = contexts();
    let app = move || {
        let mut site = Site::new(CONNECTIONS, limit, root);
        move |driver: &mut RingDriver, event: &DriverEvent| site.on(driver, event)
    };
    let server = Server::start(config.connections(CONNECTIONS), server_context, app)?;
    Some((server, client_context))
}

struct Client {
    stream: SslStream<TcpStream>,
    /// What has come and was not looked at.
    got: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Client {
    fn new(server: &Server, context: &SslContext) -> Client {
        Client { stream: ring::client(server.address, context), got: Vec::new() }
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("a write");
    }

    fn receive(&mut self) {
        let mut piece = [0; 16_384];
        let n = self.stream.read(&mut piece).expect("more of an answer");
        assert!(n > 0, "the end amid an answer: {:?}", String::from_utf8_lossy(&self.got));
        self.got.extend_from_slice(&piece[..n]);
    }

    /// The next answer; without its body, if that is to a HEAD.
    fn answer(&mut self, has_body: bool) -> Answer {
        let end = loop {
            match self.got.windows(4).position(|end| end == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.receive(),
            }
        };
        let head = String::from_utf8(self.got.drain(..end).collect()).expect("a head in ASCII");
        let code = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest[..3].parse().ok()).expect("a status line");
        let mut answer = Answer { code, head, body: Vec::new() };
        if has_body && code >= 200 {
            let length = answer.field("Content-Length").expect("a length").parse().expect("a number");
            while self.got.len() < length {
                self.receive();
            }
            answer.body = self.got.drain(..length).collect();
        }
        answer
    }

    fn ask(&mut self, request: &str) -> Answer {
        self.send(request);
        self.answer(!request.starts_with("HEAD"))
    }

    /// Nothing more, and close_notify.
    fn ends(mut self) {
        assert_eq!((self.got.len(), read_to_end(&mut self.stream).len()), (0, 0));
    }
}

/// What `/bytes/N` is.
fn pattern(n: usize) -> Vec<u8> {
    (0..=250).cycle().take(n).collect()
}

fn chunked(pieces: &[&str]) -> String {
    let chunk = |piece: &&str| format!("{:X};name=\"value\"\r\n{piece}\r\n", piece.len());
    pieces.iter().map(chunk).collect::<String>() + "0\r\nTrailer: thrown away\r\n\r\n"
}

fn post(fields: &str, body: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{body}")
}

#[test]
fn what_is_asked_is_answered_on_one_connection() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let mut client = Client::new(&server, &context);
    let echoed = post("Transfer-Encoding: chunked", &chunked(&["hello, ", "chunks"]));
    let discarded = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde";
    let cases: [(&str, u16, Vec<u8>); 16] = [
        (GET, 200, b"hello, world\n".to_vec()),
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200, Vec::new()),
        ("GET /?query HTTP/1.1\r\nHost: a\r\n\r\n", 200, b"hello, world\n".to_vec()),
        ("GET https://a/health HTTP/1.1\r\nHost: a\r\n\r\n", 200, b"well\n".to_vec()),
        ("GET https://a HTTP/1.1\nHost: a\n\n", 200, b"hello, world\n".to_vec()),
        ("GET /bytes/0 HTTP/1.1\r\nHost: a\r\n\r\n", 200, Vec::new()),
        ("GET /bytes/70000 HTTP/1.1\r\nHost: a\r\n\r\n", 200, pattern(70_000)),
        ("HEAD /bytes/1000000000000 HTTP/1.1\r\nHost: a\r\n\r\n", 200, Vec::new()),
        (&post("Content-Length: 5", "hello"), 200, b"hello".to_vec()),
        (&post("Content-Length: 5, 5\r\nContent-Length: 5", "hello"), 200, b"hello".to_vec()),
        (&post("Content-Length: 0", ""), 200, Vec::new()),
        (&echoed, 200, b"hello, chunks".to_vec()),
        (discarded, 200, b"hello, world\n".to_vec()),
        ("\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, b"hello, world\n".to_vec()),
        ("DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 405, Vec::new()),
        ("GET /bytes/-1 HTTP/1.1\r\nHost: a\r\n\r\n", 404, client.ask("GET /no HTTP/1.1\r\nHost: a\r\n\r\n").body),
    ];
    for (request, code, body) in cases {
        let answer = client.ask(request);
        assert_eq!((answer.code, &answer.body), (code, &body), "{request:?} {}", answer.head);
        assert_eq!(answer.field("Allow").is_some(), code == 405, "{request:?} {}", answer.head);
        let option = request.contains("HTTP/1.0").then_some("keep-alive");
        assert_eq!(answer.field("Connection"), option, "{request:?} {}", answer.head);
        let date = answer.field("Date").and_then(|date| httpdate::parse_http_date(date).ok());
        assert!(date.is_some_and(|date| date.elapsed().is_ok_and(|age| age < WATCHDOG)), "{}", answer.head);
    }
    let head = client.ask("HEAD /bytes/1000000000000 HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n");
    assert_eq!(head.field("Content-Length"), Some("1000000000000"));
    assert_eq!(head.field("Connection"), Some("close"));
    client.ends();
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn what_is_wrong_is_refused_by_its_number_and_the_connection_ends() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let endless = format!("GET /{}", "x".repeat(40_000));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(64));
    let chunk = |body: &str| post("Transfer-Encoding: chunked", body);
    let half = chunk(&format!("8000\r\n{}\r\n8001\r\n", "x".repeat(0x8000)));
    let host = |rest: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{rest}\r\n\r\n");
    let cases: [(&str, u16); 32] = [
        ("GET / HTTP/1.0\r\n\r\n", 200),
        (&host("Connection: close"), 200),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        (&host("Host: a"), 400),
        ("nonsense\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("\x00\x01\x02", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (&host("Expect: a miracle"), 417),
        (&host("Content-Length: +5"), 400),
        (&host("Content-Length: 5x"), 400),
        (&host("Content-Length: "), 400),
        (&host("Content-Length: 5, 6"), 400),
        (&host("Content-Length: 5\r\nContent-Length: 6"), 400),
        (&host("Content-Length: 5\r\nTransfer-Encoding: chunked"), 400),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (&host("Transfer-Encoding: gzip, chunked"), 501),
        (&host("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 501),
        (&host("Content-Length: 2000000"), 413),
        (&host("Content-Length: 99999999999999999999999999"), 413),
        (&post("Content-Length: 65537", ""), 413),
        (&chunk("10001\r\n"), 413),
        (&half, 413),
        (&chunk("fffffffffffffffff\r\n"), 400),
        (&chunk("5\r\nhelloX"), 400),
        (&chunk(&"x".repeat(300)), 400),
        (&long, 431),
        (&endless, 431),
        (&many, 431),
    ];
    for (request, code) in cases {
        let mut client = Client::new(&server, &context);
        // What lies behind it is not answered.
        if !request.ends_with("\r\n\r\n") || code == 200 {
            client.send(request);
        } else {
            client.send(format!("{request}{GET}"));
        }
        let answer = client.answer(true);
        let shown = &request[..request.len().min(100)];
        assert_eq!((answer.code, answer.field("Connection")), (code, Some("close")), "{shown:?}");
        client.ends();
    }
    let log = server.stop();
    assert_eq!(reasons(&log), [CloseReason::Done; 32]);
}

#[test]
fn a_body_that_waits_to_be_asked_for_is_asked_for_where_it_is_wanted() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let mut client = Client::new(&server, &context);
    for fields in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        client.send(post(&format!("{fields}\r\nExpect: 100-Continue"), ""));
        assert_eq!(client.answer(true).code, 100);
        client.send(if fields.starts_with('C') { "hello".to_owned() } else { chunked(&["hello"]) });
        let answer = client.answer(true);
        assert_eq!((answer.code, &answer.body[..]), (200, &b"hello"[..]));
    }
    // Without a body there is nothing to wait for; and where the answer is no, it comes at once.
    assert_eq!(client.ask("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").code, 200);
    let answer = client.ask("POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!((answer.code, answer.field("Connection")), (404, Some("close")));
    client.ends();
    server.stop();
}

#[test]
fn a_hundred_requests_in_one_write_are_answered_in_order() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let mut client = Client::new(&server, &context);
    let ask = |n: usize| format!("GET /bytes/{n} HTTP/1.1\r\nHost: a\r\n\r\n");
    for step in [0, 1, 37, 997] {
        let requests: String = (0..100).map(|k| ask(k * step)).collect();
        assert!(requests.len() < 16_384, "one record");
        client.send(requests);
        for k in 0..100 {
            let answer = client.answer(true);
            assert_eq!(answer.code, 200);
            assert!(answer.body == pattern(k * step), "{k}: {} bytes", answer.body.len());
        }
    }
    client.send(GET.repeat(99) + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + GET);
    (0..100).for_each(|_| assert_eq!(client.answer(true).body, b"hello, world\n"));
    client.ends();
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn a_pipeline_without_end_is_held_back_by_a_client_that_does_not_read() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let Client { stream, .. } = Client::new(&server, &context);
    stream.get_ref().set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut client = Client { stream, got: Vec::new() };
    let asked = "GET /bytes/100000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(300);
    // More than 30 MB of answers for each: soon nothing more is read from it, and its writes wait.
    let sent = (0..10_000).take_while(|_| client.stream.write_all(asked.as_bytes()).is_ok()).count();
    assert!(sent < 10_000, "all {sent} were taken");
    drop(client);
    let log = server.stop();
    assert!(!reasons(&log).is_empty(), "{log:?}");
}

#[test]
fn cut_anywhere_the_requests_are_the_same() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let echo = post("Transfer-Encoding: chunked", &chunked(&["a", "bc", "def"]));
    let all = [GET, &echo, &post("Content-Length: 3", "ghi"), "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", GET].concat();
    // From one byte in each record to all in one; then by the numbers of a small generator.
    let mut seed = 1_u32;
    let random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(seed >> 26).unwrap() + 1
    };
    let regular = [1, 2, 3, 5, 7, 60, 61, all.len()].map(|n| vec![n; all.len().div_ceil(n)]);
    let irregular: Vec<Vec<usize>> = std::iter::repeat_with(random)
        .take(20 * all.len())
        .collect::<Vec<_>>()
        .chunks(all.len())
        .map(<[usize]>::to_vec)
        .collect();
    let mut client = Client::new(&server, &context);
    for cuts in regular.into_iter().chain(irregular) {
        let mut rest = all.as_bytes();
        for n in cuts {
            let (piece, behind) = rest.split_at(n.min(rest.len()));
            client.send(piece);
            rest = behind;
        }
        let bodies: [&[u8]; 5] = [b"hello, world\n", b"abcdef", b"ghi", b"", b"hello, world\n"];
        for (k, body) in bodies.into_iter().enumerate() {
            let answer = client.answer(k != 3);
            assert_eq!((answer.code, &answer.body[..]), (200, body));
        }
    }
    server_ends(server, client);
}

/// The client says goodbye, and that is all that was to be said.
fn server_ends(server: Server, mut client: Client) {
    client.stream.shutdown().unwrap();
    client.ends();
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}

#[test]
fn a_slow_client_is_served_until_its_time_is_up_and_holds_nobody_else_back() {
    let limit = Duration::from_secs(2);
    let Some((server, context)) = start(Config::default(), limit) else { return };
    let mut other = Client::new(&server, &context);
    for (slow, is_served) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), true),
        (post("Content-Length: 9999", &"x".repeat(999)), false),
    ] {
        let mut client = Client::new(&server, &context);
        let start = Instant::now();
        // One byte in each record; what is not served never comes to its end.
        for byte in slow.as_bytes().chunks(1) {
            if client.stream.write_all(byte).is_err() || start.elapsed() > 2 * limit {
                break;
            }
            let asked = Instant::now();
            assert_eq!(other.ask(GET).code, 200);
            assert!(asked.elapsed() < limit, "it waited for another: {:?}", asked.elapsed());
            if !is_served {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let answer = client.answer(true);
        assert_eq!(answer.code, if is_served { 200 } else { 408 });
        if !is_served {
            client.ends();
        }
    }
    drop(other);
    server.stop();
}

#[test]
fn half_a_request_and_then_the_end() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let halves = [
        "GET / HTTP/1.1\r\nHost:",
        &post("Content-Length: 10", "half"),
        &post("Transfer-Encoding: chunked", "5\r\nhe"),
    ];
    for half in halves {
        let mut client = Client::new(&server, &context);
        client.send(half);
        client.stream.shutdown().unwrap();
        assert_eq!(client.answer(true).code, 400);
        client.ends();
        // Without close_notify there is nobody to answer to: the end, or the alert that says so.
        let mut client = Client::new(&server, &context);
        client.send(half);
        client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = client.stream.read_to_end(&mut answer);
        assert_eq!(answer, b"");
    }
    // Whole requests are answered before the end is; no request at all is no mistake.
    for requests in [0, 1, 50] {
        let mut client = Client::new(&server, &context);
        client.send("GET /bytes/100000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(requests));
        client.stream.shutdown().unwrap();
        (0..requests).for_each(|_| assert!(client.answer(true).body == pattern(100_000)));
        client.ends();
    }
    let log = server.stop();
    let count = |reason| reasons(&log).iter().filter(|one| **one == reason).count();
    assert_eq!((count(CloseReason::Done), count(CloseReason::Truncated)), (6, 3), "{log:?}");
}

#[test]
fn a_client_that_never_ends_its_head_hears_why() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let mut client = Client::new(&server, &context);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n");
    // It goes on after the answer has come: what the server does not read must not take the answer away.
    let mut writes = 0;
    while writes < 500 && client.stream.write_all(&[b'X'; 4096]).is_ok() {
        writes += 1;
    }
    assert_eq!(client.answer(true).code, 431);
    client.ends();
    assert_eq!(reasons(&server.stop()).len(), 1);
}

/// Reads the head of a long answer, and a little of its body.
fn begin_to_read(server: &Server, context: &SslContext) -> Client {
    let mut client = Client::new(server, context);
    client.send("GET /bytes/1000000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    while client.got.len() < 100_000 {
        client.receive();
    }
    client
}

#[test]
fn a_client_that_stops_reading_costs_its_slot_and_no_more() {
    let Some((server, context)) = start(Config::default(), LIMIT) else { return };
    let mut other = Client::new(&server, &context);
    let stopped: Vec<Client> = (0..4).map(|_| begin_to_read(&server, &context)).collect();
    thread::sleep(Duration::from_millis(100));
    for _ in 0..100 {
        assert_eq!(other.ask(GET).code, 200);
    }
    // One goes on, one ends its direction, one is reset, one just goes.
    let [mut first, mut second, third, fourth] = stopped.try_into().ok().unwrap();
    let head = first.got.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    while first.got.len() < head + 5_000_000 {
        first.receive();
    }
    assert!(first.got[head..] == pattern(first.got.len() - head), "it goes on where it was");
    second.stream.shutdown().unwrap();
    second.receive();
    ring::reset_when_closed(third.stream.get_ref());
    drop((first, second, third, fourth));
    assert_eq!(other.ask(GET).code, 200);
    server_drains(server, other, 5);
}

fn server_drains(server: Server, mut last: Client, connections: usize) {
    last.stream.shutdown().unwrap();
    last.ends();
    let log = server.stop();
    assert_eq!(reasons(&log).len(), connections, "{log:?}");
    assert!(log.contains(&Told::Closed(first_id(&log), CloseReason::Done)), "{log:?}");
}

fn first_id(log: &[Told]) -> arenatls::fd_owner::ConnectionId {
    let Some(Told::Accepted(id)) = log.first() else { panic!("{log:?}") };
    *id
}

#[test]
fn who_takes_nothing_for_too_long_is_let_go() {
    let patience = Duration::from_millis(300);
    let config = Config::default().idle_timeout(Some(patience)).close_timeout(patience);
    let Some((server, context)) = start(config, LIMIT) else { return };
    let mut client = begin_to_read(&server, &context);
    thread::sleep(4 * patience);
    let mut rest = vec![0; 1 << 20];
    let end = loop {
        match client.stream.read(&mut rest) {
            Ok(0) | Err(_) => break true,
            Ok(n) => client.got.extend_from_slice(&rest[..n]),
        }
    };
    assert!(end && client.got.len() < 100_000_000, "{} bytes came", client.got.len());
    assert_eq!(reasons(&server.stop()), [CloseReason::IdleTimeout]);
}

/// A directory with files in it, and a file and links beside it, which is gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        let path = std::env::temp_dir().join(format!("arenatls-root-{}", std::process::id()));
        let (root, below) = (path.join("root"), path.join("root/below"));
        fs::create_dir_all(&below).unwrap();
        fs::write(path.join("secret"), "secret").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("with space"), "spaced").unwrap();
        fs::write(below.join("big"), pattern(1_000_003)).unwrap();
        symlink("../secret", root.join("link")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("below/big", root.join("inner")).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_served_and_none_beside_them() {
    let directory = Directory::new();
    let root = Root::new(directory.0.join("root").to_str().unwrap()).unwrap();
    let Some((server, context)) = start_with(Config::default(), LIMIT, Some(root)) else { return };
    let mut client = Client::new(&server, &context);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let big = pattern(1_000_003);
    let served = [("/below/big", &big[..]), ("/empty", b""), ("/with%20space", b"spaced"), ("/inner?query", &big)];
    for (path, body) in served {
        let answer = client.ask(&get(path));
        assert!((answer.code, &answer.body[..]) == (200, body), "{path}: {}", answer.head);
    }
    for path in [
        "/secret",
        "/../secret",
        "/%2e%2e/secret",
        "/below/../../secret",
        "/link",
        "/up/secret",
        "/up/root/empty",
        "/below",
        "/below/",
        "//etc/passwd",
        "/below%2fbig%00",
        "/%",
        "/%2",
        "/%zz",
        "/%+1",
        "/.",
        "/none",
    ] {
        let answer = client.ask(&get(path));
        assert_eq!(answer.code, if path == "/up/root/empty" { 200 } else { 404 }, "{path}");
    }
    let head = client.ask("HEAD /below/big HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((head.code, head.field("Content-Length")), (200, Some("1000003")));
    let post = client.ask("POST /below/big HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((post.code, post.field("Allow")), (405, Some("GET, HEAD")));
    // A pipeline: each in its turn.
    client.send(get("/below/big") + &get("/bytes/70000") + &get("/inner") + GET);
    for body in [&big, &pattern(70_000), &big, &b"hello, world\n".to_vec()] {
        assert!(client.answer(true).body == *body);
    }
    client.send("GET /below/big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(client.answer(true).body == big);
    client.ends();
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
}
