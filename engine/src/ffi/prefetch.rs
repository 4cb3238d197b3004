//! A hint to the processor.

/// A cache line (bytes).
const LINE: usize = 64;

/// Has the processor bring `bytes` bytes from `at` on into its caches while it does something else; nothing where there is no
/// such hint. `at` need not be a valid address.
#[inline]
pub fn prefetch<T>(at: *const T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(LINE) {
        let line = at.cast::<i8>().wrapping_add(offset);
        // SAFETY: a hint: it reads nothing and never faults, whatever the address.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, bytes, LINE);
}
