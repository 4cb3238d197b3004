//! Zeroed memory, carved from the front.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// Memory from the global allocator that was zero from the start (`alloc_zeroed`), so that nobody has to touch a page to
/// make it so: where the system hands out memory lazily, what was never used costs address space only.
#[derive(Debug)]
pub(crate) struct Piece {
    start: NonNull<u8>,
    layout: Layout,
    carved: usize,
}

// SAFETY: plain bytes without ties to a thread; through it they are only carved and freed (M3).
unsafe impl Send for Piece {}

impl Piece {
    /// A piece of `len` bytes; `None` if that is 0, or the global allocator refuses.
    pub(crate) fn new(len: usize) -> Option<Piece> {
        // Of no alignment of its own: for more than malloc's, Rust's allocator has to write the zeros itself.
        let layout = Layout::array::<u8>(len).ok().filter(|layout| layout.size() > 0)?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        Some(Piece { start, layout, carved: 0 })
    }

    /// The next `n` bytes, which nobody else gets; `None` if there are fewer. They are zero, and live as long as the piece.
    pub(crate) fn carve(&mut self, n: usize) -> Option<NonNull<[u8]>> {
        if n > self.left() {
            return None;
        }
        // SAFETY: within the piece (checked above).
        let at = unsafe { self.start.add(self.carved) };
        self.carved += n;
        Some(NonNull::slice_from_raw_parts(at, n))
    }

    /// Bytes not carved yet.
    pub(crate) fn left(&self) -> usize {
        self.layout.size() - self.carved
    }

    pub(crate) fn len(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once; nobody has any of it by now (M1).
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_what_is_carved_is_zero_apart_and_within() {
        let mut piece = Piece::new(100).unwrap();
        let [mut one, mut two] = [40, 60].map(|n| piece.carve(n).unwrap());
        assert!(piece.carve(1).is_none());
        // SAFETY: carved from a live piece, and nobody else has it.
        let first = unsafe { one.as_mut() };
        // SAFETY: as above.
        let second = unsafe { two.as_mut() };
        assert!(first.iter().chain(&*second).all(|byte| *byte == 0));
        first.fill(1);
        second.fill(2);
        assert_eq!((first.len(), second.len(), first[39]), (40, 60, 1));
    }

    #[test]
    fn there_is_no_piece_of_nothing_and_none_of_everything() {
        assert!(Piece::new(0).is_none() && Piece::new(usize::MAX).is_none());
    }
}
