//! Reading a request's head: what is asked, how long its body is, and why it may be refused (RFC 9110, RFC 9112).

use httparse::{EMPTY_HEADER, Error as Bad, Header, Status};

use crate::common::http::{keeps_alive, values};

/// Longest head of a request (bytes).
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Most header fields of a request.
const MAX_FIELDS: usize = 64;
/// Longest answer of `/bytes/N`.
const MAX_BYTES: u64 = 1 << 40;
/// Longest body that is sent back (bytes): it is kept until the last of it has come.
const MAX_ECHO: u64 = 64 * 1024;
/// Longest body that is read and thrown away (bytes).
const MAX_DISCARDED: u64 = 1 << 20;

/// A request that can be answered, once its body is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) answer: Answer,
    pub(crate) framing: Framing,
    /// The answer's head alone is wanted.
    pub(crate) head_only: bool,
    pub(crate) keep_alive: bool,
    /// HTTP/1.0, where keeping alive has to be said.
    pub(crate) is_old: bool,
    /// The client waits with the body until it is asked for it.
    pub(crate) awaits_continue: bool,
}

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Page(&'static str),
    /// So many bytes.
    Bytes(u64),
    /// The file that was opened, of so many bytes.
    File(u64),
    /// The body of the request.
    Echo,
    NotFound,
    /// The methods that there are instead.
    NotAllowed(&'static str),
}

/// How the body's end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// Why no request can follow on this connection: a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) u16);

/// What lies in the bytes that have come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The blank line is not there yet.
    Partial,
    /// A request whose head has so many bytes.
    Whole(Request, usize),
}

impl Answer {
    /// The longest body that a request for it may have (bytes).
    pub(crate) fn most(self) -> u64 {
        if self == Answer::Echo { MAX_ECHO } else { MAX_DISCARDED }
    }

    /// Whether a body means anything to it.
    pub(crate) fn is_served(self) -> bool {
        !matches!(self, Answer::NotFound | Answer::NotAllowed(_))
    }
}

/// Looks for a request at the front of `bytes`. `open` opens a file by its path, and says how long it is.
pub(crate) fn parse(bytes: &[u8], open: &mut dyn FnMut(&str) -> Option<u64>) -> Result<Parsed, Refusal> {
    let mut fields = [EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(Status::Complete(length)) if length <= MAX_HEAD => Ok(Parsed::Whole(judge(&request, open)?, length)),
        Ok(Status::Partial) if bytes.len() <= MAX_HEAD => Ok(Parsed::Partial),
        Ok(_) | Err(Bad::TooManyHeaders) => Err(Refusal(431)),
        Err(Bad::Version) => Err(Refusal(505)),
        Err(_) => Err(Refusal(400)),
    }
}

fn judge(request: &httparse::Request<'_, '_>, open: &mut dyn FnMut(&str) -> Option<u64>) -> Result<Request, Refusal> {
    let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version) else {
        return Err(Refusal(400));
    };
    let fields = &*request.headers;
    let hosts = values(fields, "host").count();
    if hosts > 1 || (version == 1 && hosts == 0) {
        return Err(Refusal(400));
    }
    let framing = framing(fields, version)?;
    if !is_known(method) {
        return Err(Refusal(501));
    }
    Ok(Request {
        answer: route(method, target, open),
        framing,
        head_only: method == "HEAD",
        keep_alive: keeps_alive(fields, Some(version)),
        is_old: version == 0,
        awaits_continue: awaits_continue(fields, version)?,
    })
}

/// RFC 9112 §6.3. Two ways to say it are refused: who believes one and who believes the other see different requests.
fn framing(fields: &[Header<'_>], version: u8) -> Result<Framing, Refusal> {
    let mut codings = values(fields, "transfer-encoding");
    let Some(coding) = codings.next() else { return length(fields) };
    if version == 0 || values(fields, "content-length").next().is_some() {
        return Err(Refusal(400));
    }
    if codings.next().is_none() && coding.trim_ascii().eq_ignore_ascii_case(b"chunked") {
        return Ok(Framing::Chunked);
    }
    Err(Refusal(501))
}

fn length(fields: &[Header<'_>]) -> Result<Framing, Refusal> {
    let mut length = None;
    for value in values(fields, "content-length").flat_map(|value| value.split(|byte| *byte == b',')) {
        let digits = value.trim_ascii();
        // `parse` would take a sign.
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(digits).ok().filter(|_| is_number).ok_or(Refusal(400))?;
        // More than 2^64 is a number, too, and more than anybody takes.
        let number = number.parse().unwrap_or(u64::MAX);
        if length.replace(number).is_some_and(|before| before != number) {
            return Err(Refusal(400));
        }
    }
    Ok(Framing::Length(length.unwrap_or(0)))
}

fn is_known(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "CONNECT" | "OPTIONS" | "TRACE" | "PATCH")
}

/// RFC 9110 §10.1.1: nothing else can be expected, and of HTTP/1.0 nothing at all.
fn awaits_continue(fields: &[Header<'_>], version: u8) -> Result<bool, Refusal> {
    match values(fields, "expect").next() {
        None => Ok(false),
        Some(_) if version == 0 => Ok(false),
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => Ok(true),
        Some(_) => Err(Refusal(417)),
    }
}

fn route(method: &str, target: &str, open: &mut dyn FnMut(&str) -> Option<u64>) -> Answer {
    let path = path(target);
    let bytes = path.strip_prefix("/bytes/").and_then(|n| n.parse().ok()).filter(|n| *n <= MAX_BYTES);
    let (answer, allowed) = match (path, bytes) {
        ("/", _) => (Answer::Page("hello, world\n"), "GET, HEAD"),
        ("/health", _) => (Answer::Page("well\n"), "GET, HEAD"),
        (_, Some(n)) => (Answer::Bytes(n), "GET, HEAD"),
        ("/echo", _) => (Answer::Echo, "POST"),
        _ => match open(path) {
            Some(length) => (Answer::File(length), "GET, HEAD"),
            None => return Answer::NotFound,
        },
    };
    if allowed.split(", ").any(|one| one == method) { answer } else { Answer::NotAllowed(allowed) }
}

/// The path in a target, which may be a whole address (RFC 9112 §3.2).
fn path(target: &str) -> &str {
    let (target, _query) = target.split_once('?').unwrap_or((target, ""));
    match target.split_once("://") {
        Some((_, rest)) if !target.starts_with('/') => rest.find('/').map_or("/", |slash| &rest[slash..]),
        _ => target,
    }
}
