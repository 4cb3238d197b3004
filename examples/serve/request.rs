//! Reading a request: as much of HTTP/1.1 as it takes to answer GET and HEAD, and to refuse the rest well.

use httparse::{EMPTY_HEADER, Error as Bad, Status};

use crate::common::http::{keeps_alive, values};

/// Longest head of a request (bytes).
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Most header fields of a request.
const MAX_FIELDS: usize = 64;

/// What to do about the bytes that have come in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The blank line is not there yet.
    Incomplete,
    /// A request; its head has `length` bytes.
    Get { path: String, length: usize, head_only: bool, keep_alive: bool },
    /// No request that can be answered: what to say instead, before the connection ends.
    Refused { code: u16, why: &'static str },
}

impl Request {
    /// Looks at all that has come in and is not answered yet.
    pub(crate) fn parse(bytes: &[u8]) -> Request {
        let mut fields = [EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(bytes) {
            Ok(Status::Complete(length)) if length <= MAX_HEAD => judge(&request, length),
            Ok(Status::Partial) if bytes.len() < MAX_HEAD => Request::Incomplete,
            Ok(_) => Request::Refused { code: 431, why: "the head of the request is too long" },
            Err(Bad::TooManyHeaders) => Request::Refused { code: 431, why: "too many header fields" },
            Err(_) => Request::Refused { code: 400, why: "this is not an HTTP/1.1 request" },
        }
    }
}

fn judge(request: &httparse::Request<'_, '_>, length: usize) -> Request {
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version) else {
        return Request::Refused { code: 400, why: "the request line is not whole" };
    };
    let fields = &*request.headers;
    if version == 1 && values(fields, "host").count() != 1 {
        return Request::Refused { code: 400, why: "HTTP/1.1 wants one Host field" };
    }
    if !matches!(method, "GET" | "HEAD") {
        return Request::Refused { code: 405, why: "only GET and HEAD are served here" };
    }
    let has_body = values(fields, "content-length").any(|length| length != b"0")
        || values(fields, "transfer-encoding").next().is_some();
    if has_body {
        return Request::Refused { code: 400, why: "a request with a body is not served here" };
    }
    Request::Get {
        path: path.into(),
        length,
        head_only: method == "HEAD",
        keep_alive: keeps_alive(fields, Some(version)),
    }
}
