//! What the driver reports.

use std::fmt;
use std::io;

use arenatls_engine::Error;

use crate::{DriverError, FileError};

/// One connection of one driver. Another that takes its place later has another id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// A number below [`Config::connections`](crate::Config::connections) that no other connection has at the same time:
    /// where the application keeps what it knows of the connection.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({}.{})", self.index, self.generation)
    }
}

/// A listener of one driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(crate) u32);

/// Something the application should know.
///
/// [`Closed`](DriverEvent::Closed) comes once for every connection that is not
/// [taken](crate::RingDriver::take_detached), last; its id is stale from then on.
///
/// An event borrows nothing, so that the driver can be used while one is handled; plaintext is lent by a call of its own.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriverEvent {
    /// A listener has a new connection; its handshake is under way.
    Accepted(ConnectionId, ListenerId),
    /// The handshake is done, and its last flight has been sent.
    HandshakeComplete(ConnectionId),
    /// There is plaintext of one record: [`plaintext`](crate::RingDriver::plaintext) lends it where the kernel put the
    /// ciphertext. Told once; as long as that is not called, nothing further of the peer's is told.
    Plaintext(ConnectionId),
    /// A write that found no room can be tried again.
    Writable(ConnectionId),
    /// The peer sent close_notify: it will send no more. We may still write.
    PeerClosed(ConnectionId),
    /// The transport ended without close_notify: data may be missing. The connection closes.
    Truncated(ConnectionId),
    /// The peer takes nothing more (the error of the send operation): output is thrown away from here on. What it sent
    /// can still be read.
    SendFailed(ConnectionId, io::Error),
    /// The connection failed. It closes, once the alert has left.
    Failed(ConnectionId, Error),
    /// The connection is no more: its socket is closed, its slot is home.
    Closed(ConnectionId, CloseReason),
    /// The kernel has nothing of the connection any more: [`take_detached`](crate::RingDriver::take_detached) gives it out.
    Detached(ConnectionId),
    /// A [file](crate::RingDriver::send_file) is sealed as a whole, and leaves before all that is written from here on: its
    /// length (bytes).
    FileSent(ConnectionId, u64),
    /// A [file](crate::RingDriver::send_file) is not sent as a whole. If the connection is open, it goes on, and what is
    /// written from here on follows what was sent.
    FileFailed(ConnectionId, FileError),
    /// As many connections as allowed: the listener pauses until one has gone.
    AtCapacity(ListenerId),
    /// A connection could not be accepted; the listener goes on, after a pause if descriptors are short.
    AcceptFailed(ListenerId, DriverError),
}

/// Why a connection closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// We closed it, and the peer ended its direction, too.
    Done,
    /// We closed it, and the peer did not end its direction, or did not take what was left to send, in time. Or it was to be
    /// [detached](crate::RingDriver::detach), and the peer did not take what writers had brought.
    CloseTimeout,
    /// The handshake was not done in time.
    HandshakeTimeout,
    /// Neither direction moved a byte for too long.
    IdleTimeout,
    /// It failed ([`DriverEvent::Failed`] said why).
    Failed,
    /// The transport ended without close_notify.
    Truncated,
    /// It could not be made: the address refused, or was not reached (the system's error number).
    NotConnected(i32),
    /// We gave it up.
    Aborted,
}
