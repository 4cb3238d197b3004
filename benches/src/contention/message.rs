//! Messages that say whose they are, and a reader that checks every byte of their echo.

use std::time::Duration;

/// Nothing in this bench may take longer.
pub(super) const WATCHDOG: Duration = Duration::from_secs(60);
/// Writer and number, before the filling.
const HEAD: usize = 5;

/// Makes `message` number `number` of `writer`.
///
/// # Panics
///
/// Panics if numbers do not fit.
pub(super) fn fill(message: &mut [u8], writer: usize, number: usize) {
    let (head, rest) = message.split_at_mut(HEAD);
    head[0] = u8::try_from(writer).expect("there are at most 64 writers");
    head[1..].copy_from_slice(&u32::try_from(number).expect("there are at most 2^24 messages").to_le_bytes());
    rest.fill(filling(head));
}

fn filling(head: &[u8]) -> u8 {
    head.iter().fold(17, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(*byte))
}

/// Reads the echo: messages of one length, each in one piece, those of a writer in order.
#[derive(Debug)]
pub(super) struct Checker {
    size: usize,
    /// Where in its message the next byte is.
    at: usize,
    head: [u8; HEAD],
    filling: u8,
    /// The number of each writer's next message.
    next: Vec<u32>,
    left: usize,
}

impl Checker {
    pub(super) fn new(writers: usize, writes: usize, size: usize) -> Checker {
        let (next, left) = (vec![0; writers], writers * writes * size);
        Checker { size, at: 0, head: [0; HEAD], filling: 0, next, left }
    }

    /// The next bytes of the echo.
    ///
    /// # Panics
    ///
    /// Panics at the first byte that is not as it should be.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        self.left = self.left.checked_sub(bytes.len()).expect("no more comes back than was sent");
        while !bytes.is_empty() {
            if self.at < HEAD {
                self.head[self.at] = bytes[0];
                self.at += 1;
                bytes = &bytes[1..];
                if self.at == HEAD {
                    self.begin();
                }
                continue;
            }
            let (here, rest) = bytes.split_at(bytes.len().min(self.size - self.at));
            assert!(here.iter().all(|byte| *byte == self.filling), "a byte of {:?} is wrong", self.head);
            (self.at, bytes) = ((self.at + here.len()) % self.size, rest);
        }
    }

    fn begin(&mut self) {
        let [writer, number @ ..] = self.head;
        let next = &mut self.next[usize::from(writer)];
        assert_eq!(u32::from_le_bytes(number), *next, "messages of writer {writer} are out of order");
        *next += 1;
        self.filling = filling(&self.head);
    }

    /// True once all has come back.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn stream() -> Vec<u8> {
        let mut all = vec![0; 6 * 20];
        for (index, message) in all.chunks_mut(20).enumerate() {
            fill(message, index % 2, index / 2);
        }
        all
    }

    fn check(bytes: &[u8], piece: usize) -> bool {
        let mut checker = Checker::new(2, 3, 20);
        bytes.chunks(piece).for_each(|piece| checker.feed(piece));
        checker.is_done()
    }

    #[test]
    fn an_echo_is_right_however_it_is_cut_and_wrong_if_a_byte_is() {
        for piece in [1, 3, 20, 47, 200] {
            assert!(check(&stream(), piece));
        }
        assert!(!check(&stream()[..119], 20), "the last byte is missing");
        for at in 0..120 {
            let mut bytes = stream();
            bytes[at] ^= 1;
            assert!(catch_unwind(|| check(&bytes, 20)).is_err(), "byte {at}");
        }
        let swapped: Vec<u8> = stream().chunks(40).rev().flatten().copied().collect();
        assert!(catch_unwind(|| check(&swapped, 20)).is_err(), "out of order");
    }
}
