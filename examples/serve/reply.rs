//! What is answered, and how it is written.

use std::fmt::Write as _;
use std::io::IoSlice;

use crate::common::failure::Failure;
use crate::common::link::Link;

/// Longest answer of `/bytes/N`.
const MAX_BYTES: u64 = 1 << 30;

/// Bytes of `/bytes/N`: byte number i is i modulo 251, a period that shows when anything is lost or doubled.
static PATTERN: [u8; 251 * 64] = pattern();

const fn pattern() -> [u8; 251 * 64] {
    let mut bytes = [0; 251 * 64];
    let (mut at, mut value) = (0, 0);
    while at < bytes.len() {
        bytes[at] = value;
        value = if value == 250 { 0 } else { value + 1 };
        at += 1;
    }
    bytes
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    code: u16,
    body: Body,
    keep_alive: bool,
}

#[derive(Debug)]
enum Body {
    Text(String),
    /// So much of the pattern.
    Pattern(u64),
}

impl Reply {
    /// The answer to GET; `facts` is what `/` says.
    pub(crate) fn to_get(path: &str, facts: &str, keep_alive: bool) -> Reply {
        let (path, _query) = path.split_once('?').unwrap_or((path, ""));
        let bytes = path.strip_prefix("/bytes/").and_then(|n| n.parse().ok()).filter(|n| *n <= MAX_BYTES);
        let (code, body) = match (path, bytes) {
            ("/", _) => (200, Body::Text(format!("{facts}\n"))),
            (_, Some(n)) => (200, Body::Pattern(n)),
            _ => (404, Body::Text("there are / and /bytes/N here\n".into())),
        };
        Reply { code, body, keep_alive }
    }

    /// A refusal, after which the connection ends.
    pub(crate) fn refusal(code: u16, why: &str) -> Reply {
        Reply { code, body: Body::Text(format!("{why}\n")), keep_alive: false }
    }

    /// Sends it; head and body are one record where they fit one. False if the peer takes no more.
    pub(crate) fn send(&self, link: &mut Link<'_>, head_only: bool) -> Result<bool, Failure> {
        let head = self.head();
        match &self.body {
            _ if head_only => link.send(&mut [IoSlice::new(head.as_bytes())]),
            Body::Text(text) => link.send(&mut [IoSlice::new(head.as_bytes()), IoSlice::new(text.as_bytes())]),
            Body::Pattern(n) => send_pattern(link, &head, *n),
        }
    }

    fn head(&self) -> String {
        let (length, kind) = match &self.body {
            Body::Text(text) => (text.len() as u64, "text/plain; charset=utf-8"),
            Body::Pattern(n) => (*n, "application/octet-stream"),
        };
        let (code, reason) = (self.code, reason(self.code));
        let mut head = format!("HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n");
        if code == 405 {
            head.push_str("Allow: GET, HEAD\r\n");
        }
        let option = if self.keep_alive { "keep-alive" } else { "close" };
        // Writing to a String cannot fail.
        let _ = write!(head, "Connection: {option}\r\n\r\n");
        head
    }
}

/// The head with the first of the body, then four slices of it at a time: the engine gathers them into full records.
fn send_pattern(link: &mut Link<'_>, head: &str, n: u64) -> Result<bool, Failure> {
    let mut left = n;
    let mut head = head.as_bytes();
    loop {
        let mut piece = || {
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(PATTERN.len());
            left -= n as u64;
            IoSlice::new(&PATTERN[..n])
        };
        let mut pieces = [IoSlice::new(head), piece(), piece(), piece(), piece()];
        link.expect("the peer to take the answer");
        if !link.send(&mut pieces)? || left == 0 {
            return Ok(left == 0);
        }
        head = &[];
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Unknown",
    }
}
