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

/// Plaintext of one record, lent where the backend received it. It counts as read, to its end, unless
/// [`consume`](Self::consume) says how far it was; the memory is the backend's again at the next call on the connection.
///
/// It has no destructor, so the connection is free after its last use:
///
/// ```
/// # use arenatls_engine::{Backend, Connection, Error, Event};
/// # fn on_bytes(_: &[u8]) {}
/// fn turn<B: Backend>(connection: &mut Connection<B>) -> Result<(), Error> {
///     while let Some(event) = connection.poll_event()? {
///         match event {
///             Event::Plaintext(bytes) => {
///                 on_bytes(&bytes);
///                 let _ = connection.write(b"thank you")?;
///             }
///             Event::PeerClosed => {
///                 let _ = connection.close()?;
///             }
///             _ => {}
///         }
///     }
///     Ok(())
/// }
/// ```
pub struct Received<'a> {
    data: &'a mut [u8],
    lent: &'a mut Lent,
}

impl<'a> Received<'a> {
    pub(super) fn new(data: &'a mut [u8], lent: &'a mut Lent) -> Received<'a> {
        // Taken, unless `consume` says otherwise: no destructor, so that the borrow ends with the last use.
        lent.offset += data.len();
        lent.len -= data.len();
        Received { data, lent }
    }

    /// Consumes only the first `n` bytes (all, if there are fewer); what is left is lent again by the next poll.
    pub fn consume(self, n: usize) {
        let left = self.data.len().saturating_sub(n);
        self.lent.offset -= left;
        self.lent.len += left;
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
