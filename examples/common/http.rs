//! The little of HTTP/1.1 that both sides need.

use arenatls::{Backend, Connection};
use httparse::Header;

use super::failure::Failure;

/// The only protocol that the examples speak above TLS.
const HTTP_1_1: &[u8] = b"http/1.1";

/// The values of the fields called `name`.
pub(crate) fn values<'f>(fields: &'f [Header<'_>], name: &str) -> impl Iterator<Item = &'f [u8]> {
    fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// Whether another message may follow on the connection (RFC 9112 §9.3); `version` is 1 for HTTP/1.1.
pub(crate) fn keeps_alive(fields: &[Header<'_>], version: Option<u8>) -> bool {
    let options = || values(fields, "connection").flat_map(|value| value.split(|byte| *byte == b','));
    let says = |option: &[u8]| options().any(|value| value.trim_ascii().eq_ignore_ascii_case(option));
    !says(b"close") && (version == Some(1) || says(b"keep-alive"))
}

/// The protocol agreed on may be one that was named on the command line and is not spoken here.
pub(crate) fn is_agreed_on<B: Backend>(connection: &Connection<B>) -> Result<(), Failure> {
    match connection.ssl().selected_alpn_protocol() {
        None | Some(HTTP_1_1) => Ok(()),
        Some(other) => Err(Failure::Unsupported(format!(
            "{} was agreed on, as --alpn allows, but this example speaks only http/1.1",
            String::from_utf8_lossy(other)
        ))),
    }
}
