//! Another backend for a live connection.

use std::error;
use std::fmt;

use thiserror::Error;

use super::Connection;
use super::inbound::Lent;
use crate::backend::Backend;
use crate::handover::Handover;
use crate::protection::{Direction, Protection};
use crate::state::State;

/// Why a connection keeps the backend it has. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Its handshake is not done, or it is over: closed, or failed.
    #[error("a connection in state {0:?} does not change its backend")]
    NotLive(State),
    /// Keys of it are the kernel's, or are kept for the kernel ([`Connection::hand_over`]): they belong to the socket.
    #[error("the kernel has keys of the connection, or is to have them")]
    InKernel,
    /// The new backend holds bytes already, or its transport has ended.
    #[error("the new backend is not empty")]
    NotEmpty,
    /// The transport has some of a backend's memory.
    #[error("the transport is at work on the backend's memory")]
    Busy,
    /// More input waits than the new backend can hold. Reading makes it less.
    #[error("{pending} bytes of input wait, and the new backend has room for {room}")]
    InputTooLarge {
        /// What waits (bytes).
        pending: usize,
        /// What the new backend holds (bytes).
        room: usize,
    },
    /// More output waits than the new backend can hold. Sending makes it less.
    #[error("{pending} bytes of output wait, and the new backend has room for {room}")]
    OutputTooLarge {
        /// What waits (bytes).
        pending: usize,
        /// What the new backend holds (bytes).
        room: usize,
    },
}

/// What [`Connection::exchange`] was given, unchanged, and why it was refused.
pub struct Refused<B: Backend, C> {
    /// The connection, over the backend it had.
    pub connection: Connection<B>,
    /// The backend that it did not change to.
    pub backend: C,
    /// The reason.
    pub why: ExchangeError,
}

impl<B: Backend, C> fmt::Debug for Refused<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("connection", &self.connection).field("why", &self.why).finish_non_exhaustive()
    }
}

impl<B: Backend, C> fmt::Display for Refused<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<B: Backend, C> error::Error for Refused<B, C> {}

impl<B: Handover> Connection<B> {
    /// The same connection over another backend: keys, counters and OpenSSL's state move, and the bytes that the old
    /// backend holds are copied to `backend`, which must be empty. Plaintext of a record that is open and not yet read to
    /// its end is among them and is lent again, from where it was left; what was read of it stays behind. The old backend
    /// is dropped.
    ///
    /// It works in [`Traffic`](State::Traffic), [`SendClosed`](State::SendClosed) and
    /// [`ReceiveClosed`](State::ReceiveClosed).
    ///
    /// # Errors
    ///
    /// [`Refused`], with all that was given and the reason; nothing was changed.
    pub fn exchange<C: Handover>(mut self, mut backend: C) -> Result<Connection<C>, Box<Refused<B, C>>> {
        if let Err(why) = self.carry_over(&mut backend) {
            return Err(Box::new(Refused { connection: self, backend, why }));
        }
        // No BIO, key or counter refers to the backend between two calls: it is the only field that changes.
        Ok(Connection {
            tls: self.tls,
            outbound: self.outbound,
            inbound: self.inbound,
            state: self.state,
            cause: self.cause,
            want: self.want,
            handshaken: self.handshaken,
            blocked: self.blocked,
            held: self.held,
            options: self.options,
            backend,
            not_sync: self.not_sync,
        })
    }

    /// Whether it can change its backend, whatever the new one is.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::NotLive`], [`ExchangeError::InKernel`].
    pub fn is_exchangeable(&self) -> Result<(), ExchangeError> {
        let in_kernel = |keys: Protection, direction| keys == Protection::Kernel || self.offers_keys(direction);
        let (sending, receiving) = self.protection();
        if !self.state.is_live() {
            Err(ExchangeError::NotLive(self.state))
        } else if in_kernel(sending, Direction::Send) || in_kernel(receiving, Direction::Receive) {
            Err(ExchangeError::InKernel)
        } else {
            Ok(())
        }
    }

    fn carry_over(&mut self, to: &mut impl Handover) -> Result<(), ExchangeError> {
        self.is_exchangeable()?;
        if to.input_ended() || to.unsent() > 0 || !to.input().is_empty() {
            return Err(ExchangeError::NotEmpty);
        }
        self.leave_what_was_read();
        to.take_over(&self.backend.pending().ok_or(ExchangeError::Busy)?)
    }

    /// Gives back the memory before what is left of an opened record. Positions count from the start of the input, so
    /// those of what is left move along.
    fn leave_what_was_read(&mut self) {
        let Lent { offset, len, record } = self.inbound.lent;
        if offset > 0 {
            self.backend.consume(offset);
            self.inbound.lent = Lent { offset: 0, len, record: record - offset };
        }
    }
}
