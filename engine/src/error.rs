//! What can go wrong, and who is to blame.

use std::ffi::c_ulong;
use std::fmt;

use openssl::error::ErrorStack;
use thiserror::Error;

use crate::alert::Alert;
use crate::state::IllegalTransition;

/// Who has to act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The other end of the connection, or whatever stands between.
    Peer,
    /// The code that called.
    Caller,
    /// A limit of memory, keys or configuration was reached.
    Resource,
    /// This library, or OpenSSL.
    Bug,
}

/// Why a connection cannot go on, or why one call was refused.
///
/// Every variant but [`Illegal`](Error::Illegal), [`Misuse`](Error::Misuse) and [`TooSmall`](Error::TooSmall) is
/// final: the connection is then in [`State::Failed`](crate::State::Failed) and reports the same error again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The call does not fit the connection's state; nothing was changed.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The call can never work on this connection (say, a KeyUpdate in TLS 1.2); nothing was changed.
    #[error("{0}; nothing was changed")]
    Misuse(&'static str),
    /// Memory that the caller gave is too small; nothing was changed.
    #[error("{needed} bytes are needed and {given} were given; nothing was changed")]
    TooSmall {
        /// Bytes that would have been enough.
        needed: usize,
        /// Bytes there were.
        given: usize,
    },
    /// The peer ended the connection with a fatal alert (RFC 8446 §6.2).
    #[error("the peer sent the fatal alert {0}")]
    PeerAlert(Alert),
    /// The peer's certificate was refused (`X509_V_ERR_*` and its text).
    #[error("the peer's certificate was refused: {reason} ({code})")]
    Certificate {
        /// The value of `SSL_get_verify_result`.
        code: i32,
        /// Its text.
        reason: &'static str,
    },
    /// The peer broke the protocol; OpenSSL's words.
    #[error("the peer broke the protocol: {0}")]
    Protocol(Native),
    /// The peer broke no rule and does not meet this end's terms: no version, suite or application protocol in common, or
    /// no certificate where one is required. OpenSSL's words.
    #[error("the peer does not meet this end's terms: {0}")]
    Incompatible(Native),
    /// A record that could not be authenticated or breaks a limit of the record layer.
    #[error("bad record from the peer: {0}")]
    Record(#[from] BadRecord),
    /// The peer sends what is legal once and an attack in this number.
    #[error("the peer sent more than {limit} {what} in a row")]
    Flood {
        /// What there was too much of.
        what: &'static str,
        /// How many are let through.
        limit: u32,
    },
    /// The transport ended without close_notify: what was read so far may be less than what was sent.
    #[error("the transport ended without close_notify: data may be missing")]
    Truncated,
    /// The peer sent close_notify before the handshake was done.
    #[error("the peer closed the connection during the handshake")]
    ClosedInHandshake,
    /// The keys have protected as many records as they safely can, and cannot be replaced: in TLS 1.2, or in a kernel that
    /// takes no others.
    #[error("the keys have protected {records} records, which is their limit, and cannot be replaced")]
    KeysWornOut {
        /// Records protected.
        records: u64,
    },
    /// The peer replaces keys, and the kernel that has them takes no others (Linux before 6.14).
    #[error("the peer asked for new keys, and this kernel cannot replace those it has")]
    KernelCannotRekey,
    /// OpenSSL refused for a reason of its own configuration (no certificate, no private key, no protocol left, …).
    #[error("OpenSSL refused: {0}")]
    Configuration(Native),
    /// This library or OpenSSL broke a promise.
    #[error("internal error: {what} ({native})")]
    Bug {
        /// The promise.
        what: &'static str,
        /// What OpenSSL's error queue held.
        native: Native,
    },
}

impl Error {
    /// Who has to act on it.
    pub fn blame(&self) -> Blame {
        match self {
            Error::Illegal(_) | Error::Misuse(_) | Error::TooSmall { .. } => Blame::Caller,
            Error::PeerAlert(_)
            | Error::Certificate { .. }
            | Error::Protocol(_)
            | Error::Incompatible(_)
            | Error::Record(_)
            | Error::Flood { .. }
            | Error::Truncated
            | Error::ClosedInHandshake => Blame::Peer,
            Error::KeysWornOut { .. } | Error::KernelCannotRekey | Error::Configuration(_) => Blame::Resource,
            Error::Bug { .. } => Blame::Bug,
        }
    }

    /// True where the connection is unharmed and the call may be made again, corrected.
    pub fn is_recoverable(&self) -> bool {
        matches!(self, Error::Illegal(_) | Error::Misuse(_) | Error::TooSmall { .. })
    }
}

/// A record that is not what RFC 8446 §5 or RFC 5246 §6.2 allows; the connection ends with the alert it calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum BadRecord {
    /// The authentication tag does not fit (alert bad_record_mac).
    #[error("its authentication tag does not fit")]
    Mac,
    /// Longer than the protocol allows (alert record_overflow).
    #[error("it is {length} bytes long and at most {limit} are allowed")]
    Overflow {
        /// Bytes of the record's body, or of its plaintext.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Shorter than its protection needs (alert bad_record_mac).
    #[error("it is {length} bytes long, too short for its protection")]
    TooShort {
        /// Bytes of the record's body.
        length: usize,
    },
    /// A version field that this connection cannot have (alert protocol_version).
    #[error("its version field is {0:#06x}")]
    Version(u16),
    /// A content type that is not allowed here, or no content type at all (alert unexpected_message).
    #[error("content type {0} is not allowed here")]
    ContentType(u8),
    /// The sequence number would wrap.
    #[error("the sequence number would wrap")]
    SequenceWrap,
}

/// An entry of OpenSSL's error queue, taken out the moment the call failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Native {
    code: c_ulong,
    reason: Option<&'static str>,
}

impl Native {
    /// The packed code (`ERR_get_error`); 0 where OpenSSL left no entry.
    pub fn code(&self) -> c_ulong {
        self.code
    }

    /// The reason part of the code (`ERR_GET_REASON`).
    pub fn reason_code(&self) -> i32 {
        // OpenSSL 3: 23 bits of reason below the library number, unless it is a system error (bit 31).
        i32::try_from(self.code & 0x7f_ffff).unwrap_or(0)
    }

    /// The reason in words (`ERR_reason_error_string`).
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Whether it is an entry of OpenSSL's TLS code (`ERR_LIB_SSL`).
    pub(crate) fn is_ssl(&self) -> bool {
        const ERR_LIB_SSL: c_ulong = 20;
        self.code >> 23 & 0xff == ERR_LIB_SSL
    }

    /// Empties the thread's queue and keeps one entry of it: the oldest of OpenSSL's TLS code, which judges what the
    /// layers below only notice, or else the oldest.
    pub(crate) fn drain() -> Native {
        Native::from(ErrorStack::get())
    }
}

impl From<ErrorStack> for Native {
    fn from(stack: ErrorStack) -> Native {
        let entries = || stack.errors().iter().map(|e| Native { code: e.code(), reason: e.reason() });
        entries().find(Native::is_ssl).or_else(|| entries().next()).unwrap_or_default()
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Native({self})")
    }
}

impl fmt::Display for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Some(reason) => write!(f, "{reason} [{:08X}]", self.code),
            None if self.code == 0 => f.write_str("no entry in OpenSSL's error queue"),
            None => write!(f, "[{:08X}]", self.code),
        }
    }
}

/// Why a connection could not be made. The backend it was given is dropped with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A client was asked for with a peer name that is none.
    #[error("{name:?} is neither a host name nor an IP address: {why}")]
    BadName {
        /// What was given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The `Ssl` does not verify its peer; see `Connection::connect_dangerous`.
    #[error("this client would accept any certificate: its verify mode is not SslVerifyMode::PEER")]
    NotVerifying,
    /// The `Ssl` is for datagrams.
    #[error("DTLS is not supported")]
    Datagram,
    /// An option that cannot be.
    #[error("{0}")]
    BadOption(&'static str),
    /// OpenSSL refused, usually for lack of memory.
    #[error("OpenSSL refused: {0}")]
    Native(Native),
}

impl From<ErrorStack> for BuildError {
    fn from(stack: ErrorStack) -> BuildError {
        BuildError::Native(stack.into())
    }
}
