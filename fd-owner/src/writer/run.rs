//! Messages in a ring's bytes: a length of four bytes, least first, and as many bytes as it says.

use std::io::IoSlice;

/// What the ring needs for each message beside it (bytes).
pub(super) const HEADER: usize = 4;
/// As much as fits a record: enough for one visit.
const ENOUGH: usize = arenatls_engine::record::MAX_PLAINTEXT;
/// Pieces that are gathered into records at once.
const PIECES: usize = 32;

/// All there is in a ring, in its two pieces.
#[derive(Clone, Copy)]
pub(super) struct Content<'a>(pub(super) (&'a [u8], &'a [u8]));

impl<'a> Content<'a> {
    fn len(self) -> usize {
        self.0.0.len() + self.0.1.len()
    }

    fn byte(self, at: usize) -> u8 {
        let (one, two) = self.0;
        one.get(at).or_else(|| two.get(at.wrapping_sub(one.len()))).copied().unwrap_or(0)
    }

    /// The length of the message that begins `at`, if its header is there.
    fn length(self, at: usize) -> Option<usize> {
        if at + HEADER > self.len() {
            return None;
        }
        let header = [self.byte(at), self.byte(at + 1), self.byte(at + 2), self.byte(at + 3)];
        Some(u32::from_le_bytes(header) as usize)
    }

    /// `len` bytes from `at` on, which are there, in up to two pieces.
    fn part(self, at: usize, len: usize) -> [&'a [u8]; 2] {
        let (one, two) = self.0;
        let (start, end) = (at, at + len);
        let split = one.len();
        [&one[start.min(split)..end.min(split)], &two[start.saturating_sub(split)..end.saturating_sub(split)]]
    }

    /// How many of the ring's bytes `n` bytes of plaintext are, of the message begun with `rest` to come and those behind.
    pub(super) fn pass(self, rest: &mut usize, mut n: usize) -> usize {
        let mut at = 0;
        while n > 0 {
            if *rest == 0 {
                *rest = self.length(at).unwrap_or(n);
                at += HEADER;
            }
            let here = n.min(*rest);
            (*rest, n, at) = (*rest - here, n - here, at + here);
        }
        at
    }

    /// Plaintext in all (bytes): `rest` of a message, and those behind.
    pub(super) fn plaintext(self, rest: usize) -> u64 {
        let (mut at, mut sum) = (rest, rest as u64);
        while let Some(length) = self.length(at) {
            at += HEADER + length;
            sum += length as u64;
        }
        sum
    }
}

/// Plaintext that can be sealed at once: of one message, or of several that follow each other.
pub(super) struct Run<'a> {
    pieces: [IoSlice<'a>; PIECES],
    used: usize,
}

impl<'a> Run<'a> {
    /// From the front of `bytes`, where `rest` bytes of a message that was begun may come first. No message is begun that
    /// is not there as a whole.
    pub(super) fn of(bytes: Content<'a>, rest: usize) -> Run<'a> {
        let mut run = Run { pieces: [IoSlice::new(&[]); PIECES], used: 0 };
        let (mut at, mut next, mut sum) = (0, rest, 0);
        while run.used + 2 <= PIECES && sum < ENOUGH {
            if next == 0 {
                match bytes.length(at) {
                    Some(length) if at + HEADER + length <= bytes.len() => next = length,
                    _ => break,
                }
                at += HEADER;
            }
            for piece in bytes.part(at, next).into_iter().filter(|piece| !piece.is_empty()) {
                run.pieces[run.used] = IoSlice::new(piece);
                run.used += 1;
            }
            at += next;
            sum += next;
            next = 0;
        }
        run
    }

    pub(super) fn slices(&self) -> &[IoSlice<'a>] {
        &self.pieces[..self.used]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list of messages, split anywhere, sealed in any pieces: all bytes come once, in order, and
        /// none of a message that is not all there.
        #[test]
        fn messages_are_handed_over_as_they_are(
            lengths in prop::collection::vec(1_usize..40, 0..60),
            split in 0_usize..2000, short in 0_usize..30, takes in prop::collection::vec(1_usize..900, 1..60),
        ) {
            let (mut ring, mut plain, mut whole) = (Vec::new(), Vec::new(), 0);
            for (seed, length) in lengths.iter().enumerate() {
                let message: Vec<u8> = (0..*length).map(|i| u8::try_from((seed * 7 + i) % 256).unwrap()).collect();
                ring.extend_from_slice(&u32::try_from(*length).unwrap().to_le_bytes());
                ring.extend_from_slice(&message);
                plain.extend_from_slice(&message);
            }
            ring.truncate(ring.len().saturating_sub(short));
            for (at, sum) in lengths.iter().scan((0, 0), |s, n| { s.0 += n + HEADER; s.1 += n; Some(*s) }) {
                if at <= ring.len() { whole = sum }
            }
            let (mut at, mut rest, mut got) = (0, 0, Vec::new());
            for take in takes.into_iter().chain(std::iter::repeat(usize::MAX)) {
                let left = &ring[at..];
                let cut = split.saturating_sub(at).min(left.len());
                let bytes = Content(left.split_at(cut));
                let run = Run::of(bytes, rest);
                let offered: Vec<u8> = run.slices().iter().flat_map(|s| s.iter().copied()).collect();
                if offered.is_empty() { break }
                let n = offered.len().min(take);
                got.extend_from_slice(&offered[..n]);
                at += bytes.pass(&mut rest, n);
            }
            prop_assert_eq!(rest, 0);
            prop_assert_eq!(&got[..], &plain[..whole]);
        }
    }
}
