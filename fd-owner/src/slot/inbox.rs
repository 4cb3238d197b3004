//! Where received ciphertext lies in its region: positions only, no memory.

use std::ops::{Range, RangeInclusive};

use arenatls_engine::record::{HEADER, MAX_RECORD_IN};

/// One region that the kernel fills at its end while the engine opens records at its front.
///
/// ```text
///   0        head             tail                    end of grant   capacity
///   [ free   | waits for the  | the kernel's, while a reception     |        ]
///   [        | engine         | is in flight                        |        ]
/// ```
///
/// Always `head <= tail <= capacity`. While a reception is in flight nothing moves but `head`, and never past `tail`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inbox {
    head: usize,
    tail: usize,
    capacity: usize,
    /// Length of what was granted to the kernel, from `tail` on; 0 if nothing is.
    granted: usize,
    /// One past the last byte ever filled.
    high_water: usize,
    moved_bytes: u64,
}

impl Inbox {
    pub(crate) fn new(capacity: usize) -> Inbox {
        Inbox { capacity, ..Inbox::default() }
    }

    /// What waits for the engine.
    pub(crate) fn waiting(&self) -> Range<usize> {
        self.head..self.tail
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// True unless the kernel has a grant.
    pub(crate) fn is_whole(&self) -> bool {
        self.granted == 0
    }

    pub(crate) fn high_water(&self) -> usize {
        self.high_water
    }

    /// The first `n` bytes of the grant were written, and will never be received.
    pub(crate) fn leave_traces(&mut self, n: usize) {
        self.high_water = self.high_water.max(self.tail + n);
    }

    /// The memory is zero again.
    pub(crate) fn forget_traces(&mut self) {
        self.high_water = 0;
    }

    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }

    /// Releases the `n` oldest bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        assert!(n <= self.tail - self.head, "consume of {n} bytes, {} wait", self.tail - self.head);
        self.head += n;
        self.begin_again();
    }

    /// Releases all that waits.
    pub(crate) fn discard(&mut self) {
        self.head = self.tail;
        self.begin_again();
    }

    fn begin_again(&mut self) {
        if self.head == self.tail && self.granted == 0 {
            (self.head, self.tail) = (0, 0);
        }
    }

    /// Grants the kernel room behind what waits; nothing if there is none, or it has a grant already. `whole` is the
    /// length of the record under way, as far as it is known ([`whole`]), and `most` a limit.
    ///
    /// It is not given room in which a record could begin that would not fit behind its beginning: the record under way
    /// is received to its end and no further, and the next one begins at the front, where nothing has to move.
    pub(crate) fn grant(&mut self, whole: usize, most: usize) -> Option<Range<usize>> {
        let end = (self.head + whole).max(self.last_beginning()).min(self.capacity);
        if self.granted > 0 || end <= self.tail {
            return None;
        }
        self.granted = (end - self.tail).min(most);
        Some(self.granted())
    }

    /// Up to here a record may begin. In small regions one of maximal size would not fit from there on; such are rare,
    /// and are moved.
    fn last_beginning(&self) -> usize {
        self.capacity.saturating_sub(MAX_RECORD_IN).max(self.capacity / 2)
    }

    /// Grants the kernel the room behind what waits, as much as `within` allows; nothing if there is less, or it has a
    /// grant already.
    pub(crate) fn grant_within(&mut self, within: RangeInclusive<usize>) -> Option<Range<usize>> {
        let room = self.capacity - self.tail;
        if self.granted > 0 || room < *within.start() {
            return None;
        }
        self.granted = room.min(*within.end());
        Some(self.granted())
    }

    /// Where the kernel's grant is.
    pub(crate) fn granted(&self) -> Range<usize> {
        self.tail..self.tail + self.granted
    }

    /// The kernel is done with its grant and has filled `n` bytes of it.
    pub(crate) fn filled(&mut self, n: usize) {
        assert!(n <= self.granted, "{n} bytes received, {} granted", self.granted);
        self.granted = 0;
        self.tail += n;
        self.high_water = self.high_water.max(self.tail);
        self.begin_again();
    }

    /// What has to move to the front so that the record under way has room for its rest; `waiting` is what waits.
    /// Nothing while the kernel has a grant.
    pub(crate) fn must_move(&self, waiting: &[u8]) -> bool {
        self.granted == 0 && self.head > 0 && self.capacity - self.tail < missing(waiting)
    }

    /// What waited now lies at the front.
    pub(crate) fn moved(&mut self) {
        assert!(self.granted == 0, "what waits moved under a reception");
        let len = self.tail - self.head;
        (self.head, self.tail) = (0, len);
        // usize is at most 64 bits wide on every platform there is.
        self.moved_bytes += len as u64;
    }
}

/// Length of the oldest record in `waiting`, as far as it is known: that of a header before there is one (bytes). What
/// lies there may also be the rest of an opened record, and its "header" any bytes: so whatever is said here, nothing but
/// speed may depend on it.
pub(super) fn whole(waiting: &[u8]) -> usize {
    match waiting.first_chunk::<HEADER>() {
        Some(&[_, _, _, high, low]) => HEADER + usize::from(u16::from_be_bytes([high, low])),
        None => HEADER,
    }
}

/// Room needed so that the oldest record in `waiting` can become whole (bytes).
fn missing(waiting: &[u8]) -> usize {
    let whole = if waiting.len() < HEADER { MAX_RECORD_IN } else { whole(waiting) };
    let least = usize::from(waiting.len() < MAX_RECORD_IN);
    whole.min(MAX_RECORD_IN).saturating_sub(waiting.len()).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_fills_behind_what_waits_and_the_reader_catches_up() {
        let mut inbox = Inbox::new(100);
        assert_eq!(inbox.grant(5, usize::MAX), Some(0..50));
        assert_eq!(inbox.grant(5, usize::MAX), None, "one at a time");
        inbox.filled(30);
        assert_eq!(inbox.grant(40, usize::MAX), Some(30..50));
        inbox.consume(30);
        assert_eq!(inbox.waiting(), 30..30, "it stays in place under a grant");
        inbox.filled(5);
        assert_eq!(inbox.waiting(), 30..35);
        inbox.consume(5);
        assert_eq!(inbox.waiting(), 0..0, "and begins again without one");
    }

    #[test]
    fn a_record_is_received_to_its_end_and_the_next_begins_at_the_front() {
        let mut inbox = Inbox::new(100);
        inbox.grant(5, usize::MAX);
        inbox.filled(50);
        inbox.consume(30);
        assert_eq!(inbox.grant(5, usize::MAX), None, "a header is here");
        assert_eq!(inbox.grant(32, usize::MAX), Some(50..62));
        inbox.filled(12);
        inbox.consume(32);
        assert_eq!(inbox.grant(5, usize::MAX), Some(0..50));
        inbox.filled(48);
        inbox.consume(48);
        inbox.grant(5, usize::MAX);
        inbox.filled(48);
        assert_eq!(inbox.grant(5, usize::MAX), Some(48..50), "half a header, and the rest of it");
    }

    #[test]
    fn a_full_inbox_grants_nothing_until_something_is_consumed() {
        let mut inbox = Inbox::new(10);
        inbox.grant(10, usize::MAX);
        inbox.filled(10);
        assert_eq!(inbox.grant(10, usize::MAX), None);
        inbox.consume(9);
        assert_eq!(inbox.grant(10, usize::MAX), None, "a move comes first");
        assert!(inbox.must_move(b"x"));
        inbox.moved();
        assert_eq!(inbox.grant(20, usize::MAX), Some(1..10));
        assert_eq!(inbox.moved_bytes(), 1);
        assert!(!inbox.must_move(b"x"), "not under a grant");
    }

    #[test]
    fn an_empty_reception_gives_the_grant_back() {
        let mut inbox = Inbox::new(10);
        inbox.grant(5, usize::MAX);
        inbox.filled(0);
        assert_eq!(inbox.grant(5, usize::MAX), Some(0..5));
    }

    #[test]
    fn a_grant_is_as_long_as_is_asked_for_or_not_at_all() {
        let mut inbox = Inbox::new(10);
        assert_eq!(inbox.grant_within(11..=20), None);
        assert_eq!(inbox.grant_within(1..=4), Some(0..4));
        inbox.filled(3);
        assert_eq!(inbox.grant_within(8..=8), None);
        assert_eq!(inbox.grant_within(7..=8), Some(3..10));
    }

    #[test]
    fn missing_is_the_rest_of_the_record_under_way() {
        assert_eq!(missing(b""), MAX_RECORD_IN);
        assert_eq!(missing(b"\x17\x03\x03\x01\x00"), 256);
        assert_eq!(missing(b"\0\0\0\0\0opened"), 1, "room for the next");
        assert_eq!(missing(&[0xff; MAX_RECORD_IN + 1]), 0);
    }

    #[test]
    #[should_panic(expected = "11 bytes received, 10 granted")]
    fn more_than_was_granted_cannot_have_come() {
        let mut inbox = Inbox::new(10);
        inbox.grant(10, usize::MAX);
        inbox.filled(11);
    }
}
