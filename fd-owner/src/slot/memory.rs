//! The memory of all slots: one anonymous mapping.

use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{self, NonNull};

use zeroize::Zeroize as _;

use super::PAGE;

/// Pages that nothing else in the process knows of, until it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Asks for `len` bytes of zeros. No page is taken before it is used.
    pub(crate) fn new(len: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: no address is asked for, so that no mapping of anybody else's is replaced.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }

    /// Where `range` begins. A pointer may be made to any byte at any time; what may be done with it is said by R1
    /// and R2.
    ///
    /// # Panics
    ///
    /// If the mapping has no such bytes.
    pub(crate) fn at(&self, range: &Range<usize>) -> NonNull<[u8]> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} bytes", self.len);
        // SAFETY: the start is at most `len`, the length of the one mapping that `start` begins (checked above).
        let start = unsafe { self.start.add(range.start) };
        NonNull::slice_from_raw_parts(start, range.len())
    }

    /// Zeroes `range`.
    ///
    /// # Safety
    ///
    /// No reference to any byte of `range` exists, and no operation of the kernel has any.
    pub(crate) unsafe fn wipe(&self, range: &Range<usize>) {
        // SAFETY: live memory of the mapping, initialised since it was made; the caller's promise makes it exclusive.
        unsafe { self.at(range).as_mut() }.zeroize();
    }

    /// Gives the pages of `range` back to the system: its bytes are zero from here on, and take no memory until they are
    /// used again (`madvise(MADV_DONTNEED)`). Where the system refuses, it zeroes them.
    ///
    /// # Panics
    ///
    /// If the mapping has no such bytes, or they are not whole pages.
    ///
    /// # Safety
    ///
    /// As for [`wipe`](Self::wipe).
    pub(crate) unsafe fn give_back(&self, range: &Range<usize>) {
        assert!(range.start.is_multiple_of(PAGE) && range.end.is_multiple_of(PAGE), "{range:?} is not of whole pages");
        let pages = self.at(range);
        // SAFETY: whole pages of this private anonymous mapping, which nobody else has a byte of (caller).
        let given = unsafe { libc::madvise(pages.as_ptr().cast(), pages.len(), libc::MADV_DONTNEED) };
        if given != 0 {
            // SAFETY: the caller's promise is the same.
            unsafe { self.wipe(range) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping, whole, unmapped once. Leases and rings keep it alive by reference count (R3).
        let _ = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The one right to make references to a slot's bytes (R1).
#[derive(Debug)]
pub(crate) struct Lease {
    /// `!Send`, `!Sync`: what it refers to is counted without atomics.
    local: PhantomData<*mut ()>,
}

impl Lease {
    /// # Safety
    ///
    /// There is no other lease of the slot that this one will be used for (R1).
    pub(crate) unsafe fn new() -> Lease {
        Lease { local: PhantomData }
    }

    /// The bytes of `range`, for as long as the lease is borrowed.
    ///
    /// # Safety
    ///
    /// This is the lease of the slot that `range` lies in, and the kernel has no byte of `range`, nor gets one while
    /// the slice lives (R2).
    pub(crate) unsafe fn bytes<'l>(&'l mut self, memory: &'l Mapping, range: &Range<usize>) -> &'l mut [u8] {
        // SAFETY: live for 'l, by the borrow of the mapping; initialised since it was made; exclusive, by the caller's
        // promise and the borrow of the lease.
        unsafe { memory.at(range).as_mut() }
    }

    /// Two ranges that do not overlap.
    ///
    /// # Safety
    ///
    /// As [`bytes`](Self::bytes), for both.
    pub(crate) unsafe fn both<'l>(
        &'l mut self,
        memory: &'l Mapping,
        [one, two]: [&Range<usize>; 2],
    ) -> [&'l mut [u8]; 2] {
        assert!(one.end <= two.start || two.end <= one.start, "{one:?} and {two:?} overlap");
        // SAFETY: as in `bytes`.
        let first = unsafe { memory.at(one).as_mut() };
        // SAFETY: as in `bytes`; apart from `first` (checked above).
        let second = unsafe { memory.at(two).as_mut() };
        [first, second]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_what_is_written_by_one_range_is_read_by_it_and_wiped() {
        let memory = Mapping::new(10_000).unwrap();
        // SAFETY: the only one.
        let mut lease = unsafe { Lease::new() };
        // SAFETY: its own memory; there is no kernel in this.
        unsafe { lease.bytes(&memory, &(100..200)) }.fill(7);
        // SAFETY: as above.
        let [left, right] = unsafe { lease.both(&memory, [&(90..150), &(150..210)]) };
        assert_eq!((left[9], left[10], right[49], right[50]), (0, 7, 7, 0));
        // SAFETY: no reference is left.
        unsafe { memory.wipe(&(100..200)) };
        // SAFETY: as above.
        assert!(unsafe { lease.bytes(&memory, &(0..10_000)) }.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn r6_pages_that_were_given_back_are_zero_and_take_no_memory() {
        let memory = Mapping::new(4 * PAGE).unwrap();
        // SAFETY: the only one.
        let mut lease = unsafe { Lease::new() };
        // SAFETY: its own memory; there is no kernel in this.
        unsafe { lease.bytes(&memory, &(0..4 * PAGE)) }.fill(7);
        // SAFETY: no reference is left.
        unsafe { memory.give_back(&(PAGE..3 * PAGE)) };
        let mut present = [0_u8; 4];
        let start = memory.at(&(0..4 * PAGE)).as_ptr().cast();
        // SAFETY: four pages of a live mapping, and a byte of room for each.
        assert_eq!(unsafe { libc::mincore(start, 4 * PAGE, present.as_mut_ptr()) }, 0);
        assert_eq!(present.map(|byte| byte & 1), [1, 0, 0, 1]);
        // SAFETY: as above.
        let bytes = unsafe { lease.bytes(&memory, &(0..4 * PAGE)) };
        assert!(bytes.iter().enumerate().all(|(at, byte)| (*byte == 0) == (PAGE..3 * PAGE).contains(&at)));
    }

    #[test]
    #[should_panic(expected = "0..11 of 10 bytes")]
    fn beyond_the_mapping_there_is_nothing() {
        Mapping::new(10).unwrap().at(&(0..11));
    }
}
