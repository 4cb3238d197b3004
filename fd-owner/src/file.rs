//! How the sending of a file can fail.

use std::fmt;
use std::io;

use crate::CloseReason;

/// A file was not sent as a whole.
#[derive(Debug)]
pub struct FileError {
    /// Bytes of it that were accepted, as a write accepts them: the peer gets these, and no others, if the connection
    /// goes on.
    pub sent: u64,
    /// The reason.
    pub why: FileFailure,
}

/// Why a file was not sent as a whole.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileFailure {
    /// The file ended before what was asked for.
    TooShort,
    /// It cannot be read, or a filter forbids the ring to read files.
    Unreadable(io::Error),
    /// The peer takes nothing more ([`DriverEvent::SendFailed`](crate::DriverEvent::SendFailed)).
    SendFailed,
    /// The application ended the sending direction ([`Connection::close`](arenatls_engine::Connection::close)).
    SendClosed,
    /// The connection ended.
    Connection(CloseReason),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of a file were sent and no more: ", self.sent)?;
        match &self.why {
            FileFailure::TooShort => f.write_str("it is shorter than that"),
            FileFailure::Unreadable(cause) => write!(f, "it cannot be read: {cause}"),
            FileFailure::SendFailed => f.write_str("the peer takes nothing more"),
            FileFailure::SendClosed => f.write_str("the sending direction was closed"),
            FileFailure::Connection(reason) => write!(f, "the connection ended: {reason:?}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let FileFailure::Unreadable(cause) = &self.why { Some(cause) } else { None }
    }
}
