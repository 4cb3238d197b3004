//! The port through which a [`Connection`](crate::Connection) reaches ciphertext memory.

/// Where a connection's ciphertext lies on its way in and out.
///
/// The engine does no I/O: it opens records in [`input`](Backend::input) memory and seals records into
/// [`room`](Backend::room) memory. Who owns the memory, and who moves the bytes between it and the wire, is the
/// backend's business. The two directions are independent and each is a reserve/commit pair:
///
/// | port | look | move on |
/// |---|---|---|
/// | ciphertext in | [`input`](Backend::input) | [`consume`](Backend::consume) |
/// | ciphertext out | [`room`](Backend::room) | [`commit`](Backend::commit) |
///
/// # What an implementation promises
///
/// - `input` is contiguous, starts at the oldest byte not consumed, and holds at least one record of maximal
///   size ([`MAX_RECORD_IN`](crate::record::MAX_RECORD_IN)) before it stops growing.
/// - Bytes already in `input` keep their values and their offset from its start until they are consumed: the
///   engine opens records in place and may come back later for the rest of an opened record.
/// - Committed bytes leave in the order of the commits.
/// - With nothing left to send, `room` has at least one record of maximal size
///   ([`MAX_RECORD_OUT`](crate::record::MAX_RECORD_OUT)) and [`CONTROL_RESERVE`](crate::record::CONTROL_RESERVE) bytes.
///
/// A backend that breaks these promises breaks its own connection; it cannot break memory safety.
pub trait Backend {
    /// Ciphertext received and not yet consumed, oldest byte first (bytes).
    fn input(&mut self) -> &mut [u8];

    /// Releases the `n` oldest bytes of [`input`](Backend::input).
    ///
    /// # Panics
    ///
    /// May panic if `n` exceeds the length of `input`; the engine never asks for that.
    fn consume(&mut self, n: usize);

    /// True once the transport has ended and no byte will ever be added to [`input`](Backend::input).
    fn input_ended(&self) -> bool;

    /// All the contiguous room there is for ciphertext to send, if that is at least `at_least` bytes; else an
    /// empty slice. Asking changes nothing that the peer or the owner can see.
    fn room(&mut self, at_least: usize) -> &mut [u8];

    /// Hands the first `n` bytes of the last [`room`](Backend::room) over for sending.
    ///
    /// # Panics
    ///
    /// May panic if `n` exceeds the length of that room; the engine never asks for that.
    fn commit(&mut self, n: usize);

    /// [`input`](Backend::input) and [`room`](Backend::room) at once, for a call into OpenSSL that may use both.
    fn ports(&mut self, at_least: usize) -> Ports<'_>;

    /// Ciphertext committed and not yet sent (bytes).
    fn unsent(&self) -> usize;
}

/// Both ports of a [`Backend`], borrowed together.
#[derive(Debug)]
pub struct Ports<'a> {
    /// As [`Backend::input`].
    pub input: &'a mut [u8],
    /// As [`Backend::room`].
    pub room: &'a mut [u8],
}
