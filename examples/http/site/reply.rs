//! Writing the heads of answers, and the bytes of `/bytes/N`.

use std::io::Write as _;

use super::clock::Clock;

/// "Go on and send the body" (RFC 9110 §15.2.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The period of [`BYTES`]: prime, and so no multiple of any record or buffer length; it shows what is lost or doubled.
pub(crate) const PERIOD: usize = 251;
/// How much of `/bytes/N` is given to the engine at once (bytes).
pub(crate) const PIECE: usize = 64 * 1024;

/// Byte number i of `/bytes/N` is i modulo 251: a piece beginning anywhere in the period.
pub(crate) static BYTES: [u8; PERIOD + PIECE] = bytes();

const fn bytes() -> [u8; PERIOD + PIECE] {
    let mut bytes = [0; PERIOD + PIECE];
    let (mut at, mut value) = (0, 0);
    while at < bytes.len() {
        bytes[at] = value;
        value = if value == 250 { 0 } else { value + 1 };
        at += 1;
    }
    bytes
}

/// What an answer's head says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) code: u16,
    pub(crate) kind: &'static str,
    /// Of the body, whether it follows or not (bytes).
    pub(crate) length: u64,
    /// The methods there are, for 405.
    pub(crate) allow: Option<&'static str>,
    pub(crate) connection: Option<&'static str>,
}

impl Head {
    /// Of a text.
    pub(crate) fn text(code: u16, text: &str) -> Head {
        Head { code, kind: "text/plain; charset=utf-8", length: text.len() as u64, allow: None, connection: None }
    }

    /// Of bytes that mean nothing.
    pub(crate) fn bytes(length: u64) -> Head {
        Head { code: 200, kind: "application/octet-stream", length, allow: None, connection: None }
    }

    /// Appends it to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, clock: &mut Clock) {
        if self.code == 200 {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
        } else {
            // Writing to a Vec cannot fail, here and below.
            let _ = write!(out, "HTTP/1.1 {} {}\r\nDate: ", self.code, reason(self.code));
        }
        out.extend_from_slice(clock.now());
        field(out, b"\r\nContent-Type: ", self.kind);
        let _ = write!(out, "\r\nContent-Length: {}", self.length);
        if let Some(methods) = self.allow {
            field(out, b"\r\nAllow: ", methods);
        }
        if let Some(option) = self.connection {
            field(out, b"\r\nConnection: ", option);
        }
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    out.extend_from_slice(value.as_bytes());
}

/// What a code means in a few words (RFC 9110 §15).
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
