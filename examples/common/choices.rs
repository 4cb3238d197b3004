//! Choices on the command line that mean the same in both examples, and the words in which a connection is described.

use std::time::Duration;

use arenatls::{Backend, Connection, Options};
use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslFiletype};

use super::failure::Failure;

/// How long a peer may keep us waiting, if nobody says otherwise.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// `--timeout SECONDS`: up to a day.
pub(crate) fn timeout(value: &str) -> Result<Duration, Failure> {
    let seconds = value.parse().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or_else(|| Failure::Usage(format!("--timeout is a number of seconds, not {value:?}")))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// `--protection engine|library`.
pub(crate) fn protection(value: &str) -> Result<Options, Failure> {
    match value {
        "engine" => Ok(Options::default()),
        "library" => Ok(Options::default().library_protection()),
        _ => Err(Failure::Usage(format!("--protection is engine or library, not {value:?}"))),
    }
}

/// `--alpn a,b`, as the protocol list of RFC 7301 §3.1: each name after its length.
pub(crate) fn alpn(value: &str) -> Result<Vec<u8>, Failure> {
    let mut wire = Vec::new();
    for name in value.split(',') {
        let length = u8::try_from(name.len()).ok().filter(|length| *length > 0);
        let length =
            length.ok_or_else(|| Failure::Usage(format!("--alpn: a name has 1 to 255 bytes, not {name:?}")))?;
        wire.push(length);
        wire.extend_from_slice(name.as_bytes());
    }
    Ok(wire)
}

/// `--cert F --key F`: a certificate chain and its key in PEM files.
#[derive(Debug)]
pub(crate) struct KeyFiles {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl KeyFiles {
    /// Both or neither.
    pub(crate) fn new(cert: Option<String>, key: Option<String>) -> Result<Option<KeyFiles>, Failure> {
        match (cert, key) {
            (Some(cert), Some(key)) => Ok(Some(KeyFiles { cert, key })),
            (None, None) => Ok(None),
            _ => Err(Failure::Usage("--cert and --key go together".into())),
        }
    }

    /// Presents the identity to peers.
    pub(crate) fn present(&self, builder: &mut SslContextBuilder) -> Result<(), Failure> {
        let KeyFiles { cert, key } = self;
        builder
            .set_certificate_chain_file(cert)
            .map_err(|cause| refused(format!("use the certificate chain {cert}"), &cause))?;
        builder
            .set_private_key_file(key, SslFiletype::PEM)
            .map_err(|cause| refused(format!("use the private key {key}"), &cause))?;
        builder.check_private_key().map_err(|cause| refused(format!("use {key} with {cert}"), &cause))
    }
}

/// OpenSSL's reason in one line, the one nearest to the cause.
pub(crate) fn refused(doing: String, cause: &ErrorStack) -> Failure {
    let reason = cause.errors().first().and_then(|error| error.reason()).unwrap_or("OpenSSL gives no reason");
    Failure::Local { doing, cause: reason.into() }
}

/// What was negotiated, in one line.
pub(crate) fn facts<B: Backend>(connection: &Connection<B>) -> String {
    let ssl = connection.ssl();
    let suite = ssl.current_cipher().map_or("no suite", |cipher| cipher.standard_name().unwrap_or(cipher.name()));
    let alpn = ssl.selected_alpn_protocol().map_or("none".into(), String::from_utf8_lossy);
    let resumed = if ssl.session_reused() { "yes" } else { "no" };
    let (sending, receiving) = connection.protection();
    let version = ssl.version_str();
    format!("{version}, {suite}, ALPN {alpn}, resumed {resumed}, protection {sending} sending, {receiving} receiving")
}
