//! Plaintext in one piece or several, read from where it lies.

use std::io::IoSlice;

/// `len` bytes that start `skip` bytes into a list of slices.
#[derive(Clone, Copy, Debug)]
pub struct Gather<'a> {
    first: &'a [u8],
    rest: &'a [IoSlice<'a>],
    len: usize,
}

impl<'a> Gather<'a> {
    /// One piece.
    #[inline]
    pub const fn one(bytes: &'a [u8]) -> Gather<'a> {
        Gather { first: bytes, rest: &[], len: bytes.len() }
    }

    /// Several pieces, in order.
    pub fn many(slices: &'a [IoSlice<'a>]) -> Gather<'a> {
        let len = slices.iter().map(|s| s.len()).sum();
        let (first, rest): (&[u8], _) = match slices.split_first() {
            Some((first, rest)) => (first, rest),
            None => (&[], slices),
        };
        Gather { first, rest, len }
    }

    /// All of it, if it lies in one piece.
    #[inline]
    pub fn as_one(&self) -> Option<&'a [u8]> {
        self.first.get(..self.len)
    }

    /// Bytes in all.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the first `n` bytes off (all there are, if fewer) and returns them.
    #[inline]
    pub fn take(&mut self, n: usize) -> Gather<'a> {
        let taken = Gather { len: n.min(self.len), ..*self };
        self.advance(taken.len);
        taken
    }

    #[inline]
    fn advance(&mut self, mut n: usize) {
        self.len -= n;
        while n > self.first.len() {
            n -= self.first.len();
            let Some((next, rest)) = self.rest.split_first() else { return };
            (self.first, self.rest) = (next, rest);
        }
        self.first = &self.first[n..];
    }

    /// The pieces, none of them empty.
    pub fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut left = self.len;
        std::iter::once(self.first)
            .chain(self.rest.iter().map(|s| &**s))
            .map_while(move |piece| {
                let here = &piece[..piece.len().min(left)];
                let more = left > 0;
                left -= here.len();
                more.then_some(here)
            })
            .filter(|piece| !piece.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_the_bytes_in_order(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..6),
                                         cuts in prop::collection::vec(0usize..20, 0..5)) {
            let slices: Vec<IoSlice<'_>> = parts.iter().map(|p| IoSlice::new(p)).collect();
            let whole: Vec<u8> = parts.concat();
            let mut rest = Gather::many(&slices);
            let mut got = Vec::new();
            for cut in cuts {
                let piece = rest.take(cut);
                prop_assert_eq!(piece.len(), piece.pieces().map(<[u8]>::len).sum::<usize>());
                got.extend(piece.pieces().flatten().copied());
            }
            prop_assert_eq!(rest.len(), whole.len() - got.len());
            prop_assert!(rest.pieces().all(|p| !p.is_empty()));
            got.extend(rest.pieces().flatten().copied());
            prop_assert_eq!(got, whole);
        }
    }
}
