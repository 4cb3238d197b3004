//! Moving bytes without `memcpy`: for the wire, and for the counters' own `memcpy` before the real one is known.
//!
//! On x86-64 it is the string instruction, which the compiler cannot turn into a library call; elsewhere a loop of
//! volatile accesses, which it must not.

use std::ffi::c_void;

/// Moves all of `from` into `to`.
///
/// # Panics
///
/// Panics if the lengths differ.
#[inline]
pub fn forward(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a move has one length");
    // SAFETY: both ranges are borrowed for this call, hold `from.len()` bytes, and cannot overlap: one is exclusive.
    unsafe { ascending(to.as_mut_ptr().cast(), from.as_ptr().cast(), from.len()) }
}

/// Moves `length` bytes, lowest address first.
///
/// # Safety
///
/// - `from` is readable and `to` writable for `length` bytes.
/// - Where the ranges overlap, `to` lies below `from`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn ascending(to: *mut c_void, from: *const c_void, length: usize) {
    // SAFETY: `rep movsb` reads and writes exactly the ranges that the caller vouches for; the ABI keeps the direction
    // flag clear.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") length => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Moves `length` bytes, highest address first.
///
/// # Safety
///
/// - `from` is readable and `to` writable for `length` bytes.
/// - Where the ranges overlap, `to` lies above `from`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn descending(to: *mut c_void, from: *const c_void, length: usize) {
    let last = length.wrapping_sub(1);
    // SAFETY: with the direction flag set, `rep movsb` goes from the last bytes of the caller's ranges down to the
    // first; the flag is clear again at the end, as the ABI wants it. A length of zero touches nothing.
    unsafe {
        std::arch::asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rcx") length => _,
            inout("rsi") from.wrapping_byte_add(last) => _,
            inout("rdi") to.wrapping_byte_add(last) => _,
            options(nostack)
        );
    }
}

/// Moves `length` bytes, lowest address first.
///
/// # Safety
///
/// As its namesake for x86-64.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub unsafe fn ascending(to: *mut c_void, from: *const c_void, length: usize) {
    for index in 0..length {
        // SAFETY: `index` is below `length`, and the caller vouches for both ranges.
        unsafe { one(to, from, index) };
    }
}

/// Moves `length` bytes, highest address first.
///
/// # Safety
///
/// As its namesake for x86-64.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub unsafe fn descending(to: *mut c_void, from: *const c_void, length: usize) {
    for index in (0..length).rev() {
        // SAFETY: `index` is below `length`, and the caller vouches for both ranges.
        unsafe { one(to, from, index) };
    }
}

/// Moves the byte at `index`.
///
/// # Safety
///
/// `from` is readable and `to` writable at `index`.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn one(to: *mut c_void, from: *const c_void, index: usize) {
    // SAFETY: readable there, says the caller.
    let byte = unsafe { from.cast::<u8>().wrapping_add(index).read_volatile() };
    // SAFETY: writable there, says the caller.
    unsafe { to.cast::<u8>().wrapping_add(index).write_volatile(byte) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_moves_keep_the_bytes() {
        let expected: Vec<u8> = (0..100).collect();
        let mut memory: Vec<u8> = (0..110).collect();
        let base = memory.as_mut_ptr();
        // SAFETY: 100 bytes from the start and 100 from the tenth lie in the 110, and the target is above the source.
        unsafe { descending(base.wrapping_add(10).cast(), base.cast(), 100) };
        assert_eq!(memory[10..], expected);
        let base = memory.as_mut_ptr();
        // SAFETY: the same ranges, and now the target is below the source.
        unsafe { ascending(base.cast(), base.wrapping_add(10).cast(), 100) };
        assert_eq!(memory[..100], expected);
    }
}
