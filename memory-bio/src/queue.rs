//! A byte queue with contiguous room.

use std::fmt;
use zeroize::Zeroize;

/// Bytes in the order they came, in memory that somebody else owns.
///
/// Both ends are contiguous slices, each with a look and a move:
///
/// | end | look | move on |
/// |---|---|---|
/// | writer | [`reserve`](Queue::reserve) or [`extend`](Queue::extend) | [`commit`](Queue::commit) |
/// | reader | [`peek`](Queue::peek), [`peek_mut`](Queue::peek_mut) | [`consume`](Queue::consume) |
///
/// The two ways to look for room differ in what they do when the end of the memory comes near:
///
/// - `reserve` leaves every byte where it is and begins again at the front (a *bip buffer*). The reader sees the
///   older region first, and what was committed at once is never split between the two:
///
///   ```text
///   memory  [ newer ──▶        ][ older ────────────▶ ][ too short ]
///           0         wrapped   head                tail      capacity
///   ```
///
/// - `extend` keeps the room adjoining the bytes that wait, and moves those to the front if there is no other
///   way. [`moved_bytes`](Queue::moved_bytes) counts what that cost.
///
/// Whenever the queue runs empty it begins again at the front, with all its capacity as room.
///
/// ```
/// use arenatls_memory_bio::Queue;
///
/// let mut memory = [0; 10];
/// let mut queue = Queue::new(&mut memory);
/// queue.reserve(8)[..8].copy_from_slice(b"abcdefgh");
/// queue.commit(8);
/// queue.consume(4);
/// queue.reserve(3)[..3].copy_from_slice(b"xyz");
/// queue.commit(3);
/// assert_eq!(queue.as_slices(), (&b"efgh"[..], &b"xyz"[..]));
/// ```
#[derive(Default)]
pub struct Queue<'a> {
    // Always: wrapped <= head <= tail <= memory.len(), and wrapped == 0 if head == tail.
    memory: &'a mut [u8],
    /// Start of the older region.
    head: usize,
    /// End of the older region.
    tail: usize,
    /// End of the newer region, which starts at 0; 0 if there is none.
    wrapped: usize,
    /// The room that `commit` speaks of.
    offer: Offer,
    /// One past the last byte ever committed since the last wipe.
    high_water: usize,
    moved_bytes: u64,
}

/// Room shown to the writer.
#[derive(Debug, Clone, Copy, Default)]
struct Offer {
    at: usize,
    len: usize,
}

impl<'a> Queue<'a> {
    /// An empty queue of the capacity of `memory`.
    pub fn new(memory: &'a mut [u8]) -> Self {
        Self { memory, ..Self::default() }
    }

    /// The most the queue can hold (bytes).
    #[inline]
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Bytes committed and not consumed.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail - self.head + self.wrapped
    }

    /// True if nothing waits to be consumed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Bytes that [`extend`](Queue::extend) has moved to the front so far.
    pub fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }

    /// Bytes at the front of the memory that may hold something other than zero.
    pub fn high_water(&self) -> usize {
        self.high_water
    }

    /// Length of the room shown last and not committed since (bytes).
    #[inline]
    pub fn offered(&self) -> usize {
        self.offer.len
    }

    /// The oldest bytes: all of them, or up to where the writer began again at the front.
    #[inline]
    pub fn peek(&self) -> &[u8] {
        &self.memory[self.head..self.tail]
    }

    /// As [`peek`](Queue::peek), to change in place.
    #[inline]
    pub fn peek_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.head..self.tail]
    }

    /// All that waits: the older region, then the newer.
    pub fn as_slices(&self) -> (&[u8], &[u8]) {
        (self.peek(), &self.memory[..self.wrapped])
    }

    /// Contiguous room of at least `at_least` bytes (and at least one), or an empty slice. Moves no byte.
    ///
    /// The room after the youngest byte is preferred, all of it; that at the front comes into play when the
    /// former is too short.
    #[inline]
    pub fn reserve(&mut self, at_least: usize) -> &mut [u8] {
        let least = at_least.max(1);
        let front = self.front();
        let adjoining = self.adjoining();
        if adjoining.len >= least {
            self.lend(adjoining)
        } else if front.len >= least {
            self.lend(front)
        } else {
            self.lend(Offer::default())
        }
    }

    /// All the room that adjoins the youngest byte, if that is or can be made at least `min` bytes; else an empty
    /// slice.
    ///
    /// The bytes that wait move to the front only if the room is shorter than `min` where they are and is not
    /// there. With a `min` of 0 they never move, and the slice may be empty.
    #[inline]
    pub fn extend(&mut self, min: usize) -> &mut [u8] {
        if self.adjoining().len < min {
            if self.capacity() - self.len() < min {
                return self.lend(Offer::default());
            }
            self.move_to_front();
        }
        self.lend(self.adjoining())
    }

    /// Appends the first `n` bytes of the room shown last. That room is spent, whatever is left of it.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`offered`](Queue::offered).
    #[inline]
    pub fn commit(&mut self, n: usize) {
        let Offer { at, len } = std::mem::take(&mut self.offer);
        assert!(n <= len, "commit of {n} bytes, room for {len} was shown");
        if n == 0 {
            return;
        }
        let end = at + n;
        if self.is_empty() {
            // Not at 0 if the reader has caught up after the room was shown.
            (self.head, self.tail) = (at, end);
        } else if self.wrapped == 0 && at == self.tail {
            self.tail = end;
        } else {
            debug_assert_eq!(at, self.wrapped);
            self.wrapped = end;
        }
        self.high_water = self.high_water.max(end);
    }

    /// Releases the `n` oldest bytes.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`len`](Queue::len).
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "consume of {n} bytes, {len} wait");
        let older = self.tail - self.head;
        if n < older || self.wrapped == 0 {
            self.head += n;
        } else {
            (self.head, self.tail) = (n - older, self.wrapped);
            self.wrapped = 0;
        }
        if self.is_empty() {
            (self.head, self.tail) = (0, 0);
        }
    }

    /// Empties the queue and zeroes the memory it has used, up to [`high_water`](Queue::high_water).
    ///
    /// What was written into room and never committed is not in the count.
    pub fn wipe(&mut self) {
        self.memory[..self.high_water].zeroize();
        (self.head, self.tail, self.wrapped) = (0, 0, 0);
        self.offer = Offer::default();
        self.high_water = 0;
    }

    /// Wipes the queue and gives its memory back.
    pub fn into_memory(mut self) -> &'a mut [u8] {
        self.wipe();
        self.memory
    }

    /// The room right after the youngest byte.
    #[inline]
    fn adjoining(&self) -> Offer {
        let (at, end) = match self.wrapped {
            0 => (self.tail, self.capacity()),
            wrapped => (wrapped, self.head),
        };
        Offer { at, len: end - at }
    }

    /// The room at the front, as long as the writer has not begun there again.
    #[inline]
    fn front(&self) -> Offer {
        let len = if self.wrapped == 0 { self.head } else { 0 };
        Offer { at: 0, len }
    }

    #[inline]
    fn lend(&mut self, offer: Offer) -> &mut [u8] {
        self.offer = offer;
        &mut self.memory[offer.at..][..offer.len]
    }

    fn move_to_front(&mut self) {
        let len = self.len();
        if self.wrapped == 0 {
            self.memory.copy_within(self.head..self.tail, 0);
        } else {
            // newer, gap, older ──▶ older, newer, gap
            self.memory[..self.tail].rotate_left(self.head);
        }
        (self.head, self.tail, self.wrapped) = (0, len, 0);
        // usize is at most 64 bits wide on every platform there is.
        self.moved_bytes += len as u64;
    }
}

impl fmt::Debug for Queue<'_> {
    /// Lengths only: the bytes may be plaintext.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("offered", &self.offered())
            .field("moved_bytes", &self.moved_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut Queue<'_>, bytes: &[u8]) {
        let room = queue.reserve(bytes.len());
        room[..bytes.len()].copy_from_slice(bytes);
        queue.commit(bytes.len());
    }

    #[test]
    fn begins_again_at_the_front_without_moving_a_byte() {
        let mut memory = [0; 10];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abcdefgh");
        queue.consume(5);
        assert_eq!(queue.reserve(2).len(), 2, "the tail is preferred");
        assert_eq!(queue.reserve(3).len(), 5, "then the front");
        assert_eq!(queue.reserve(6).len(), 0);
        push(&mut queue, b"xyz");
        assert_eq!(queue.as_slices(), (&b"fgh"[..], &b"xyz"[..]));
        assert_eq!(queue.reserve(1).len(), 2, "up to the older region");
        queue.consume(3);
        assert_eq!(queue.peek(), b"xyz");
        assert_eq!(queue.reserve(1).len(), 7);
        assert_eq!(queue.moved_bytes(), 0);
    }

    #[test]
    fn extend_moves_only_what_it_must() {
        let mut memory = [0; 10];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abcdefg");
        queue.consume(5);
        assert_eq!(queue.extend(3).len(), 3);
        assert_eq!(queue.moved_bytes(), 0);
        assert_eq!(queue.extend(9).len(), 0, "never possible: nothing moves");
        assert_eq!(queue.moved_bytes(), 0);
        assert_eq!(queue.extend(4).len(), 8);
        assert_eq!((queue.moved_bytes(), queue.peek()), (2, &b"fg"[..]));
    }

    #[test]
    fn extend_joins_the_two_regions_in_order() {
        let mut memory = [0; 10];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abcdefghi");
        queue.consume(7);
        push(&mut queue, b"xyz");
        assert_eq!(queue.extend(4).len(), 4);
        assert_eq!(queue.as_slices(), (&b"hi"[..], &b"xyz"[..]));
        assert_eq!(queue.extend(5).len(), 5);
        assert_eq!((queue.moved_bytes(), queue.peek()), (5, &b"hixyz"[..]));
    }

    #[test]
    fn running_empty_restores_the_whole_capacity() {
        let mut memory = [0; 4];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abc");
        queue.consume(3);
        assert_eq!(queue.reserve(4).len(), 4);
        assert_eq!(queue.extend(4).len(), 4);
    }

    #[test]
    fn room_shown_stays_in_place_while_the_reader_catches_up() {
        let mut memory = [0; 8];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abcd");
        queue.reserve(2)[..2].copy_from_slice(b"xy");
        queue.consume(4);
        queue.commit(2);
        assert_eq!(queue.peek(), b"xy");

        push(&mut queue, b"z");
        queue.reserve(3)[..3].copy_from_slice(b"uvw");
        queue.consume(3);
        queue.commit(3);
        assert_eq!(queue.as_slices(), (&b"uvw"[..], &b""[..]));
    }

    #[test]
    fn wipe_zeroes_what_was_used() {
        let mut memory = [0; 8];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"abcde");
        queue.consume(5);
        push(&mut queue, b"x");
        assert_eq!(queue.high_water(), 5);
        assert_eq!(queue.into_memory(), [0; 8]);
    }

    #[test]
    #[should_panic(expected = "commit of 1 bytes, room for 0 was shown")]
    fn room_is_spent_by_one_commit() {
        let mut memory = [0; 8];
        let mut queue = Queue::new(&mut memory);
        queue.reserve(4);
        queue.commit(2);
        queue.commit(1);
    }

    #[test]
    #[should_panic(expected = "consume of 2 bytes, 1 wait")]
    fn consuming_more_than_there_is_panics() {
        let mut memory = [0; 8];
        let mut queue = Queue::new(&mut memory);
        push(&mut queue, b"a");
        queue.consume(2);
    }
}
