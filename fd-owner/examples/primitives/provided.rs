//! A ring of provided buffers: the kernel picks one for each reception.

use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// Bytes of one.
const EACH: usize = 2048;
/// The list of them has to begin at a page.
const PAGE: usize = 4096;

pub(crate) struct Provided {
    /// The list, and how far into this memory it begins.
    list: Vec<u8>,
    start: usize,
    bytes: Vec<u8>,
    count: u16,
    tail: u16,
}

impl Provided {
    /// `count` buffers, a power of two, given to `ring` as its group `group`; the ring has to be dropped before them.
    pub(crate) fn new(ring: &IoUring, group: u16, count: u16) -> Provided {
        let list = vec![0; usize::from(count) * size_of::<BufRingEntry>() + PAGE];
        let start = list.as_ptr().align_offset(PAGE);
        let mut provided = Provided { list, start, bytes: vec![0; usize::from(count) * EACH], count, tail: 0 };
        let at = provided.base() as u64;
        // SAFETY: the list has `count` entries from there on, and outlives the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(at, count, group, 0) }.expect("Linux 5.19");
        (0..count).for_each(|which| provided.give(which));
        provided
    }

    fn base(&mut self) -> *mut BufRingEntry {
        self.list[self.start..].as_mut_ptr().cast()
    }

    /// Where buffer `which` begins.
    pub(crate) fn at(&self, which: u16) -> *const u8 {
        self.bytes[usize::from(which) * EACH..].as_ptr()
    }

    /// Lets the kernel have buffer `which` (again).
    pub(crate) fn give(&mut self, which: u16) {
        let (base, mask) = (self.base(), self.count - 1);
        let at = self.bytes[usize::from(which) * EACH..].as_mut_ptr() as u64;
        // SAFETY: the list has `count` entries.
        let entry = unsafe { base.add(usize::from(self.tail & mask)) };
        // SAFETY: the kernel reads it from the new tail on only.
        let entry = unsafe { &mut *entry };
        entry.set_addr(at);
        entry.set_len(u32::try_from(EACH).expect("a short buffer"));
        entry.set_bid(which);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the list's first entry, which is live.
        let tail = unsafe { BufRingEntry::tail(base) };
        // SAFETY: two bytes, aligned, which the kernel reads and only this thread writes.
        unsafe { AtomicU16::from_ptr(tail.cast_mut()) }.store(self.tail, Ordering::Release);
    }
}
