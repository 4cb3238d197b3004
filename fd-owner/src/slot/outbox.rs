//! Where sealed ciphertext lies in its region: positions only, no memory.

use std::ops::Range;

/// A bip buffer: what is committed at once is never split, and no byte moves.
///
/// ```text
///   [ newer ──▶        ][ older ────────────▶ ][ too short ]
///   0         wrapped   head                tail      capacity
/// ```
///
/// Always `wrapped <= head <= tail <= capacity`, and `wrapped == 0` if `head == tail`. A prefix of the older region may be
/// granted to the kernel, which reads it; it is never part of any room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outbox {
    head: usize,
    tail: usize,
    wrapped: usize,
    capacity: usize,
    /// The room that `commit` speaks of.
    offer_at: usize,
    offer_len: usize,
    /// Bytes from `head` on that the kernel reads.
    granted: usize,
    high_water: usize,
    /// The peer takes nothing more: what is committed is gone at once.
    sink: bool,
    /// Room was asked for and there was not enough.
    starved: bool,
}

impl Outbox {
    pub(crate) fn new(capacity: usize) -> Outbox {
        Outbox { capacity, ..Outbox::default() }
    }

    /// Bytes committed and not sent.
    pub(crate) fn len(&self) -> usize {
        self.tail - self.head + self.wrapped
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

    /// What is committed and not sent, oldest first.
    pub(crate) fn waiting(&self) -> [Range<usize>; 2] {
        [self.head..self.tail, 0..self.wrapped]
    }

    /// All the contiguous room there is, if it is at least `at_least` bytes (and one); else an empty range.
    pub(crate) fn room(&mut self, at_least: usize) -> Range<usize> {
        let least = at_least.max(1);
        let (at, end) = if self.wrapped == 0 { (self.tail, self.capacity) } else { (self.wrapped, self.head) };
        let front = if self.wrapped == 0 { self.head } else { 0 };
        (self.offer_at, self.offer_len) = if end - at >= least {
            (at, end - at)
        } else if front >= least {
            (0, front)
        } else {
            self.starved = true;
            (0, 0)
        };
        self.offer_at..self.offer_at + self.offer_len
    }

    /// Appends the first `n` bytes of the room shown last. That room is spent.
    pub(crate) fn commit(&mut self, n: usize) {
        assert!(n <= self.offer_len, "commit of {n} bytes, room for {} was shown", self.offer_len);
        let (at, end) = (self.offer_at, self.offer_at + n);
        (self.offer_at, self.offer_len) = (0, 0);
        if n == 0 {
            return;
        }
        self.high_water = self.high_water.max(end);
        if self.sink {
            return;
        }
        if self.head == self.tail {
            (self.head, self.tail) = (at, end);
        } else if self.wrapped == 0 && at == self.tail {
            self.tail = end;
        } else {
            assert!(at == self.wrapped, "room shown before something else was committed");
            self.wrapped = end;
        }
    }

    /// Grants the kernel all of the older region, to read; nothing if there is none, or it has a grant already.
    pub(crate) fn grant(&mut self) -> Option<Range<usize>> {
        if self.granted > 0 || self.head == self.tail {
            return None;
        }
        self.granted = self.tail - self.head;
        Some(self.head..self.tail)
    }

    /// Where the kernel's grant is.
    pub(crate) fn granted(&self) -> Range<usize> {
        self.head..self.head + self.granted
    }

    /// The kernel is done with its grant and has taken the first `n` bytes of it.
    pub(crate) fn sent(&mut self, n: usize) {
        assert!(n <= self.granted, "{n} bytes sent, {} granted", self.granted);
        self.granted = 0;
        self.head += n;
        if self.sink {
            (self.head, self.wrapped) = (self.tail, 0);
        }
        if self.head == self.tail {
            (self.head, self.tail, self.wrapped) = (0, self.wrapped, 0);
        }
    }

    /// From here on everything goes nowhere. What the kernel has a grant of stays until it is done.
    pub(crate) fn become_sink(&mut self) {
        self.sink = true;
        if self.granted == 0 {
            (self.head, self.tail, self.wrapped) = (0, 0, 0);
        }
    }

    /// The memory is zero again.
    pub(crate) fn forget_traces(&mut self) {
        self.high_water = 0;
    }

    pub(crate) fn is_sink(&self) -> bool {
        self.sink
    }

    /// Whether there was too little room since this was asked last.
    pub(crate) fn take_starved(&mut self) -> bool {
        std::mem::take(&mut self.starved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// What a step of the model does.
    #[derive(Debug, Clone)]
    enum Step {
        Write(usize),
        Grant,
        Sent(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![(1usize..12).prop_map(Step::Write), Just(Step::Grant), (0usize..20).prop_map(Step::Sent),]
    }

    proptest! {
        /// Against a plain list of bytes: all come out once, in order, whatever the sends leave behind; and room never
        /// touches what waits.
        #[test]
        fn what_is_committed_leaves_in_order(steps in prop::collection::vec(step(), 0..200)) {
            let (mut outbox, mut memory) = (Outbox::new(20), [0_u8; 20]);
            let (mut next, mut granted): (u8, Option<Range<usize>>) = (0, None);
            let (mut written, mut left) = (Vec::new(), Vec::<u8>::new());
            for step in steps {
                match step {
                    Step::Write(n) => {
                        let room = outbox.room(n);
                        if let Some(granted) = &granted {
                            prop_assert!(room.is_empty() || room.end <= granted.start || room.start >= granted.end);
                        }
                        if room.is_empty() { continue }
                        for byte in &mut memory[room.start..room.start + n] {
                            *byte = next;
                            written.push(next);
                            next = next.wrapping_add(1);
                        }
                        outbox.commit(n);
                    }
                    Step::Grant => granted = granted.or_else(|| outbox.grant()),
                    Step::Sent(n) => if let Some(range) = granted.take() {
                        let n = n.min(range.len());
                        left.extend(&memory[range.start..range.start + n]);
                        outbox.sent(n);
                    }
                }
                prop_assert_eq!(outbox.len(), written.len() - left.len());
            }
            if let Some(range) = granted.take() {
                left.extend(&memory[range.clone()]);
                outbox.sent(range.len());
            }
            while let Some(range) = outbox.grant() {
                left.extend(&memory[range.clone()]);
                outbox.sent(range.len());
            }
            prop_assert_eq!(left, written);
        }
    }

    #[test]
    fn a_sink_swallows_and_keeps_what_the_kernel_reads() {
        let mut outbox = Outbox::new(20);
        outbox.room(10);
        outbox.commit(10);
        let granted = outbox.grant();
        assert_eq!(granted, Some(0..10));
        outbox.become_sink();
        assert_eq!(outbox.room(11), 0..0, "the kernel reads there");
        assert!(outbox.take_starved() && !outbox.take_starved());
        assert_eq!(outbox.room(5), 10..20);
        outbox.commit(5);
        outbox.sent(0);
        assert_eq!((outbox.len(), outbox.grant()), (0, None));
        assert_eq!(outbox.room(20), 0..20);
    }
}
