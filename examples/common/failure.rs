//! Why a run or a connection ended, who has to act, and what they could do.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use arenatls::{Alert, Blame, BuildError, Error, PoolError};

/// What ended it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line.
    #[error("{0}")]
    Usage(String),
    /// A file, a certificate, standard output: something on this side.
    #[error("cannot {doing}: {cause}")]
    Local { doing: String, cause: Box<dyn std::error::Error + Send + Sync> },
    /// The socket.
    #[error("cannot {doing}: {cause}")]
    Network { doing: String, cause: io::Error },
    /// The peer let its time run out.
    #[error("gave up after waiting {} s for {awaited}", .limit.as_secs_f32())]
    Deadline { awaited: &'static str, limit: Duration },
    /// The command line allows what this example cannot do, and the peer took it up.
    #[error("{0}")]
    Unsupported(String),
    /// TLS.
    #[error(transparent)]
    Tls(#[from] Error),
    /// The connection could not be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No memory for another connection.
    #[error(transparent)]
    Memory(#[from] PoolError),
    /// The peer speaks TLS well and HTTP badly, or not the HTTP that was asked for.
    #[error("{0}")]
    Http(String),
}

impl Failure {
    /// Who has to act.
    pub(crate) fn blame(&self) -> &'static str {
        let blame = match self {
            Failure::Usage(_) | Failure::Unsupported(_) | Failure::Local { .. } | Failure::Build(_) => Blame::Caller,
            Failure::Network { .. } | Failure::Deadline { .. } | Failure::Http(_) => Blame::Peer,
            Failure::Memory(_) => Blame::Resource,
            Failure::Tls(error) => error.blame(),
        };
        match blame {
            Blame::Peer => "the peer or the network",
            Blame::Caller => "this side",
            Blame::Resource => "a limit or the configuration of this side",
            Blame::Bug => "a bug in arenatls or OpenSSL, please report it",
        }
    }

    /// What a person could try.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Failure::Usage(_) => Some("--help lists the options"),
            Failure::Tls(Error::PeerAlert(alert)) => alert_hint(*alert),
            Failure::Tls(Error::Certificate { code, .. }) => verdict_hint(*code),
            Failure::Tls(Error::Protocol(_)) => {
                Some("does the peer speak TLS on this port, in a version allowed here?")
            }
            Failure::Tls(Error::Incompatible(_)) => Some("the two ends allow no version, suite or protocol in common"),
            Failure::Network { cause, .. } if cause.kind() == io::ErrorKind::ConnectionRefused => {
                Some("nothing listens there")
            }
            _ => None,
        }
    }

    /// 2 for usage, 1 for all else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Failure::Usage(_)) { 2 } else { 1 })
    }

    /// Says it on standard error, on behalf of `who`.
    pub(crate) fn report(&self, who: &str) {
        eprintln!("{who}: {self}");
        eprintln!("{who}: to blame: {}", self.blame());
        if let Some(hint) = self.hint() {
            eprintln!("{who}: hint: {hint}");
        }
    }
}

fn alert_hint(alert: Alert) -> Option<&'static str> {
    Some(match alert.0 {
        40 => "no version, suite or group that both sides allow; or the peer wants a client certificate",
        42..=46 => "the peer does not accept the certificate it was shown",
        48 => "the peer does not trust the CA of the certificate it was shown",
        70 => "the peer allows no TLS version that this side allows",
        116 => "the peer wants a client certificate: --cert and --key",
        120 => "the peer speaks none of the protocols offered with --alpn",
        _ => return None,
    })
}

/// By the values of `X509_V_ERR_*`.
fn verdict_hint(code: i32) -> Option<&'static str> {
    Some(match code {
        18..=21 => "the certificate's CA is not trusted here: a CA file of its own can be named on the command line",
        62..=64 => "the certificate is valid, but not for the name or address that was asked for",
        9 | 10 => "the certificate is not valid today; is the clock right?",
        _ => return None,
    })
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Failure {
        Failure::Usage(error.to_string())
    }
}
