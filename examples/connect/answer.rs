//! Reading an answer: its head, how its body ends, and whether that end was reached.

use std::io::Write;

use httparse::{EMPTY_HEADER, Header, Response, Status};

use crate::chunks::Chunks;
use crate::common::failure::Failure;
use crate::common::http::{keeps_alive, values};

/// Longest head of an answer (bytes).
const MAX_HEAD: usize = 64 * 1024;
/// Most header fields of an answer.
const MAX_FIELDS: usize = 128;

/// An answer on its way in.
pub(crate) struct Answer {
    at: At,
    /// What has come in of the head.
    head: Vec<u8>,
    /// The status line, once it is there.
    status: String,
    keep_alive: bool,
    body_bytes: u64,
}

/// RFC 9112 §6.3.
enum At {
    Head,
    /// So many bytes of so many are still to come.
    Length {
        left: u64,
        of: u64,
    },
    Chunked(Chunks),
    UntilClosed,
    Whole,
}

impl Answer {
    pub(crate) fn new() -> Answer {
        Answer { at: At::Head, head: Vec::new(), status: String::new(), keep_alive: false, body_bytes: 0 }
    }

    /// True once nothing is missing.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.at, At::Whole)
    }

    /// The status line.
    pub(crate) fn status(&self) -> &str {
        &self.status
    }

    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether another request may follow on the same connection.
    pub(crate) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Takes what came in, and writes what of it is body.
    pub(crate) fn take(&mut self, mut input: &[u8], body: &mut dyn Write) -> Result<(), Failure> {
        while !input.is_empty() {
            match &mut self.at {
                At::Head => self.take_head(&mut input)?,
                At::Length { left, .. } => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                    let (content, rest) = input.split_at(n);
                    *left -= n as u64;
                    input = rest;
                    if *left == 0 {
                        self.at = At::Whole;
                    }
                    self.write(content, body)?;
                }
                At::Chunked(chunks) => {
                    let content =
                        chunks.step(&mut input).map_err(|_| broken("the chunked coding of the answer is broken"))?;
                    if chunks.is_whole() {
                        self.at = At::Whole;
                    }
                    self.write(content, body)?;
                }
                At::UntilClosed => self.write(std::mem::take(&mut input), body)?,
                At::Whole => {
                    self.keep_alive = false;
                    return Err(broken("the server sent more than it had announced"));
                }
            }
        }
        Ok(())
    }

    /// The server ended the connection, and TLS says that it meant to.
    pub(crate) fn closed(&mut self) -> Result<(), Failure> {
        self.keep_alive = false;
        if matches!(self.at, At::UntilClosed | At::Whole) {
            self.at = At::Whole;
            return Ok(());
        }
        Err(broken(&format!("the answer is cut short: the server closed the connection {}", self.progress())))
    }

    /// How far it has come, for messages.
    pub(crate) fn progress(&self) -> String {
        match &self.at {
            At::Head if self.head.is_empty() => "before it answered".into(),
            At::Head => "in the middle of the answer's head".into(),
            At::Length { left, of } => format!("after {} of {of} bytes", of - left),
            At::Chunked(_) => format!("after {} bytes, before the last chunk", self.body_bytes),
            At::UntilClosed => format!("after {} bytes, without close_notify", self.body_bytes),
            At::Whole => "after the answer".into(),
        }
    }

    fn write(&mut self, content: &[u8], body: &mut dyn Write) -> Result<(), Failure> {
        self.body_bytes += content.len() as u64;
        body.write_all(content)
            .map_err(|cause| Failure::Local { doing: "write to standard output".into(), cause: cause.into() })
    }

    fn take_head(&mut self, input: &mut &[u8]) -> Result<(), Failure> {
        let before = self.head.len();
        self.head.extend_from_slice(input);
        let mut fields = [EMPTY_HEADER; MAX_FIELDS];
        let mut response = Response::new(&mut fields);
        let parsed =
            response.parse(&self.head).map_err(|error| broken(&format!("this is not an HTTP/1.1 answer: {error}")))?;
        let Status::Complete(length) = parsed else {
            *input = &[];
            return if self.head.len() > MAX_HEAD { Err(broken("the head of the answer is too long")) } else { Ok(()) };
        };
        let code = response.code.unwrap_or_default();
        if code >= 200 {
            self.status = format!("{code} {}", response.reason.unwrap_or_default());
            self.keep_alive = keeps_alive(response.headers, response.version);
            self.at = framing(code, response.headers)?;
            self.keep_alive &= !matches!(self.at, At::UntilClosed);
        }
        *input = &input[length - before..];
        self.head.clear();
        Ok(())
    }
}

fn framing(code: u16, fields: &[Header<'_>]) -> Result<At, Failure> {
    if matches!(code, 204 | 304) {
        return Ok(At::Whole);
    }
    let mut codings = values(fields, "transfer-encoding").peekable();
    if codings.peek().is_some() {
        return match (codings.next(), codings.next()) {
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(At::Chunked(Chunks::new())),
            _ => Err(broken("the answer has a transfer coding other than chunked")),
        };
    }
    let mut lengths = values(fields, "content-length").map(|value| std::str::from_utf8(value).ok()?.parse().ok());
    match (lengths.next(), lengths.next()) {
        (None, _) => Ok(At::UntilClosed),
        (Some(Some(0)), None) => Ok(At::Whole),
        (Some(Some(of)), None) => Ok(At::Length { left: of, of }),
        _ => Err(broken("the length of the answer is unclear")),
    }
}

fn broken(what: &str) -> Failure {
    Failure::Http(what.into())
}
