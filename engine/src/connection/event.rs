//! What polling a connection gives.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::inbound::Lent;

/// Something the application should know.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The handshake is done and its last flight has left the backend. Reported once.
    HandshakeComplete,
    /// Plaintext, lent where it lies.
    Plaintext(Received<'a>),
    /// The peer will send no more: its close_notify arrived. Reported once; we may still write.
    PeerClosed,
    /// The transport ended without close_notify: the connection has failed and data may be missing. Reported once,
    /// as an error from then on.
    Truncated,
}

/// Plaintext of one record, lent where the backend received it. Dropping it consumes it all; [`consume`](Self::consume)
/// keeps the rest for the next poll.
pub struct Received<'a> {
    data: &'a mut [u8],
    lent: &'a mut Lent,
    taken: usize,
}

impl<'a> Received<'a> {
    pub(super) fn new(data: &'a mut [u8], lent: &'a mut Lent) -> Received<'a> {
        let taken = data.len();
        Received { data, lent, taken }
    }

    /// Consumes the first `n` bytes (all, if there are fewer); what is left is lent again by the next poll.
    pub fn consume(mut self, n: usize) {
        self.taken = n.min(self.data.len());
    }
}

impl Drop for Received<'_> {
    fn drop(&mut self) {
        self.lent.offset += self.taken;
        self.lent.len -= self.taken;
    }
}

impl Deref for Received<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data
    }
}

impl DerefMut for Received<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.data
    }
}

impl fmt::Debug for Received<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received({} bytes)", self.data.len())
    }
}
