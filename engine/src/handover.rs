//! What one backend hands to another when a live connection changes over.

use crate::backend::Backend;
use crate::connection::ExchangeError;

/// A backend between which and others a live connection can change
/// ([`Connection::exchange`](crate::Connection::exchange)).
///
/// All that a backend knows of a connection is bytes: those received and not yet consumed, those committed and not yet
/// sent, and whether more will come. They are copied from one to the other, which is the only copy there is.
///
/// # What an implementation promises
///
/// - [`pending`](Handover::pending) shows every byte that was received and not consumed, and every byte that was committed
///   and not sent. Nothing is added to them or taken from them while they are shown.
/// - After [`take_over`](Handover::take_over), [`input`](Backend::input) begins with the same bytes in the same order, and
///   the same bytes leave, before whatever is committed later.
pub trait Handover: Backend {
    /// What it holds of the connection; `None` while the transport is at work on some of it, or might add to it.
    fn pending(&mut self) -> Option<Pending<'_>>;

    /// Takes what another backend held. [`exchange`](crate::Connection::exchange) calls it on one that holds nothing.
    ///
    /// # Errors
    ///
    /// What [`Pending::check_room`] says, or [`ExchangeError::Busy`]; nothing was changed then.
    ///
    /// # Panics
    ///
    /// May panic on a backend that holds something.
    fn take_over(&mut self, pending: &Pending<'_>) -> Result<(), ExchangeError>;
}

/// What a backend holds of a connection.
#[derive(Clone, Copy)]
pub struct Pending<'a> {
    /// Received and not consumed, oldest first. Plaintext of an opened record may be among it.
    pub input: &'a [u8],
    /// Committed and not sent, oldest first, in the two places where it may lie.
    pub unsent: [&'a [u8]; 2],
    /// As [`Backend::input_ended`].
    pub input_ended: bool,
}

impl Pending<'_> {
    /// Committed and not sent (bytes).
    pub fn unsent_len(&self) -> usize {
        self.unsent.iter().map(|part| part.len()).sum()
    }

    /// Whether it fits an empty backend of these capacities (bytes).
    ///
    /// # Errors
    ///
    /// [`ExchangeError::InputTooLarge`], [`ExchangeError::OutputTooLarge`].
    pub fn check_room(&self, inbound: usize, outbound: usize) -> Result<(), ExchangeError> {
        if self.input.len() > inbound {
            return Err(ExchangeError::InputTooLarge { pending: self.input.len(), room: inbound });
        }
        if self.unsent_len() > outbound {
            return Err(ExchangeError::OutputTooLarge { pending: self.unsent_len(), room: outbound });
        }
        Ok(())
    }
}

impl std::fmt::Debug for Pending<'_> {
    /// Lengths only: the bytes may be plaintext.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("input", &self.input.len())
            .field("unsent", &self.unsent_len())
            .field("input_ended", &self.input_ended)
            .finish()
    }
}
