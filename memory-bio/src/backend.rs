//! The backend whose ciphertext the caller moves.

use crate::block::Memory;
use crate::{Arena, ArenaError, Capacities, Queue};
use arenatls_engine::record::{HEADER, MAX_RECORD_IN};
use arenatls_engine::{Backend, ExchangeError, Handover, Pending, Ports};
use std::fmt;

/// One connection's ciphertext, in memory of an [`Arena`] or an [`ArenaPool`](crate::ArenaPool).
///
/// The engine uses it through [`Backend`]; the caller moves the bytes between it and the transport:
///
/// - bytes in: [`receive_into`](Self::receive_into), then [`received`](Self::received);
///   [`end_of_input`](Self::end_of_input) once the transport has ended;
/// - bytes out: [`to_send`](Self::to_send), then [`sent`](Self::sent);
/// - both, for transports of `std::io`: [`read_from`](Self::read_from), [`write_to`](Self::write_to);
/// - to and from another backend: [`Handover`], by way of
///   [`Connection::exchange`](arenatls_engine::Connection::exchange);
/// - getters: [`unsent`](Self::unsent), [`moved_bytes`](Self::moved_bytes), [`capacities`](Self::capacities).
///
/// No byte is copied on the way out. On the way in the head of a record is moved only where the room after it is
/// too short for its rest.
///
/// Dropping it zeroes the memory it has used; plaintext lies there, for records are opened in place.
///
/// It cannot outlive its arena, nor its pool:
///
/// ```compile_fail,E0505
/// use arenatls_memory_bio::{Arena, ArenaBackend, Budget, Capacities};
///
/// let arena = Arena::new(Budget::bytes(64 * 1024));
/// let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
/// drop(arena);
/// drop(backend);
/// ```
///
/// ```compile_fail,E0505
/// use arenatls_memory_bio::{ArenaPool, Budget};
///
/// let pool = ArenaPool::new(Budget::bytes(64 * 1024));
/// let backend = pool.backend().unwrap();
/// drop(pool);
/// drop(backend);
/// ```
///
/// Nor is anything used while it is lent:
///
/// ```compile_fail,E0502
/// use arenatls_memory_bio::{ArenaPool, Budget};
///
/// let pool = ArenaPool::new(Budget::bytes(64 * 1024));
/// let mut backend = pool.backend().unwrap();
/// let out = backend.to_send();
/// backend.sent(0).unwrap();
/// assert!(out.is_empty());
/// ```
pub struct ArenaBackend<'a> {
    memory: Memory<'a>,
    ended: bool,
}

/// More bytes reported as moved than there were to move. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{said} bytes reported as moved, {offered} were offered")]
pub struct Overrun {
    /// What was reported (bytes).
    pub said: usize,
    /// The most that could have been moved (bytes).
    pub offered: usize,
}

impl<'a> ArenaBackend<'a> {
    /// Takes memory for one connection out of `arena`.
    ///
    /// # Errors
    ///
    /// As [`Arena::alloc_bytes`], for both directions together; a refusal takes nothing.
    pub fn new_in(arena: &'a Arena, capacities: Capacities) -> Result<Self, ArenaError> {
        let memory = arena.alloc_bytes(capacities.total())?;
        let (inbound, outbound) = memory.split_at_mut(capacities.inbound());
        Ok(Self::over(Memory::new(inbound, outbound)))
    }

    pub(crate) fn over(memory: Memory<'a>) -> Self {
        Self { memory, ended: false }
    }

    /// Where to put ciphertext from the transport: all the room that adjoins what already waits.
    ///
    /// It is empty only when a record of maximal size or more waits already, which the engine must first be asked
    /// for, or after [`end_of_input`](Self::end_of_input). Don't read into an empty slice: the transport's 0 would
    /// look like its end. Otherwise it takes the rest of the record under way.
    #[inline]
    pub fn receive_into(&mut self) -> &mut [u8] {
        if self.ended {
            return &mut [];
        }
        let inbound = &mut self.memory.inbound;
        inbound.extend(missing(inbound.peek()))
    }

    /// Says that the first `n` bytes of the last [`receive_into`](Self::receive_into) have been filled. An offer
    /// can be answered once.
    ///
    /// # Errors
    ///
    /// If that slice was shorter than `n`, or has been answered already.
    #[inline]
    pub fn received(&mut self, n: usize) -> Result<(), Overrun> {
        within(n, self.memory.inbound.offered())?;
        self.memory.inbound.commit(n);
        Ok(())
    }

    /// Says that the transport has ended: no byte will come any more.
    pub fn end_of_input(&mut self) {
        self.ended = true;
        // Withdraws the last offer.
        self.memory.inbound.commit(0);
    }

    /// The oldest ciphertext to send, as much of it as is contiguous; empty only if nothing waits.
    #[inline]
    pub fn to_send(&self) -> &[u8] {
        self.memory.outbound.peek()
    }

    /// Says that the transport has taken the first `n` bytes of [`to_send`](Self::to_send).
    ///
    /// # Errors
    ///
    /// If `to_send` is shorter than `n`.
    #[inline]
    pub fn sent(&mut self, n: usize) -> Result<(), Overrun> {
        within(n, self.to_send().len())?;
        self.memory.outbound.consume(n);
        Ok(())
    }

    /// Ciphertext that waits to be sent (bytes).
    #[inline]
    pub fn unsent(&self) -> usize {
        self.memory.outbound.len()
    }

    /// Ciphertext moved within the inbound memory so far (bytes).
    pub fn moved_bytes(&self) -> u64 {
        self.memory.inbound.moved_bytes()
    }

    /// How much ciphertext it can hold.
    pub fn capacities(&self) -> Capacities {
        Capacities::new(self.memory.inbound.capacity(), self.memory.outbound.capacity())
    }
}

impl Backend for ArenaBackend<'_> {
    #[inline]
    fn input(&mut self) -> &mut [u8] {
        self.memory.inbound.peek_mut()
    }

    #[inline]
    fn consume(&mut self, n: usize) {
        self.memory.inbound.consume(n);
    }

    #[inline]
    fn input_ended(&self) -> bool {
        self.ended
    }

    #[inline]
    fn room(&mut self, at_least: usize) -> &mut [u8] {
        self.memory.outbound.reserve(at_least)
    }

    #[inline]
    fn commit(&mut self, n: usize) {
        self.memory.outbound.commit(n);
    }

    #[inline]
    fn ports(&mut self, at_least: usize) -> Ports<'_> {
        Ports { input: self.memory.inbound.peek_mut(), room: self.memory.outbound.reserve(at_least) }
    }

    #[inline]
    fn unsent(&self) -> usize {
        ArenaBackend::unsent(self)
    }
}

impl Handover for ArenaBackend<'_> {
    /// Always there: the caller moves the bytes, and does not while this is shown.
    fn pending(&mut self) -> Option<Pending<'_>> {
        let (older, newer) = self.memory.outbound.as_slices();
        Some(Pending { input: self.memory.inbound.peek(), unsent: [older, newer], input_ended: self.ended })
    }

    fn take_over(&mut self, pending: &Pending<'_>) -> Result<(), ExchangeError> {
        let (inbound, outbound) = (&mut self.memory.inbound, &mut self.memory.outbound);
        pending.check_room(inbound.capacity(), outbound.capacity())?;
        append(inbound, pending.input);
        for part in pending.unsent {
            append(outbound, part);
        }
        self.ended = pending.input_ended;
        Ok(())
    }
}

/// Copies `bytes`, for which there is room, to the end of `queue`.
fn append(queue: &mut Queue<'_>, bytes: &[u8]) {
    queue.extend(0)[..bytes.len()].copy_from_slice(bytes);
    queue.commit(bytes.len());
}

impl fmt::Debug for ArenaBackend<'_> {
    /// Lengths only: the bytes may be plaintext.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaBackend")
            .field("pending", &self.memory.inbound.len())
            .field("unsent", &self.unsent())
            .field("capacities", &self.capacities())
            .field("moved_bytes", &self.moved_bytes())
            .field("input_ended", &self.ended)
            .finish()
    }
}

/// Room needed so that the oldest record in `pending` can become whole (bytes).
///
/// What lies there may also be the rest of an opened record, and its "header" any bytes. So the answer is only
/// where a move of `pending` is worth while, never what may be received; and as long as another record must still
/// fit, it is not 0, whatever the bytes say.
#[inline]
fn missing(pending: &[u8]) -> usize {
    let whole = match pending.first_chunk::<HEADER>() {
        Some(&[_, _, _, high, low]) => HEADER + usize::from(u16::from_be_bytes([high, low])),
        None => MAX_RECORD_IN,
    };
    let least = usize::from(pending.len() < MAX_RECORD_IN);
    let missing = whole.min(MAX_RECORD_IN).saturating_sub(pending.len());
    missing.max(least)
}

#[inline]
fn within(said: usize, offered: usize) -> Result<(), Overrun> {
    if said > offered {
        return Err(Overrun { said, offered });
    }
    Ok(())
}

/// A connection may move to another thread with its memory.
const _: fn() = || {
    fn send<T: Send>() {}
    send::<ArenaBackend<'static>>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_the_rest_of_the_record_under_way() {
        assert_eq!(missing(b""), MAX_RECORD_IN);
        assert_eq!(missing(b"\x17\x03\x03\x01"), MAX_RECORD_IN - 4);
        assert_eq!(missing(b"\x17\x03\x03\x01\x00"), 256);
        assert_eq!(missing(b"\x17\x03\x03\x00\x02x"), 1);
    }

    #[test]
    fn missing_copes_with_bytes_that_are_no_header() {
        assert_eq!(missing(b"\xff\xff\xff\xff\xff"), MAX_RECORD_IN - 5);
        assert_eq!(missing(b"\0\0\0\0\0opened"), 1, "room for the next");
        assert_eq!(missing(&[0; MAX_RECORD_IN]), 0);
        assert_eq!(missing(&[0xff; MAX_RECORD_IN + 1]), 0);
    }
}
