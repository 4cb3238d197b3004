//! Bytes that were taken and not given back, in the same columns.
//!
//! Rust's are as asked for. OpenSSL's and libc's are as libc rounds them (`malloc_usable_size`), for C gives blocks back
//! without saying how big they are; what libc keeps before each block (8 bytes in glibc) is not among them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static WATCHING: AtomicBool = AtomicBool::new(false);
pub(super) static RUST: Balance = Balance::new();
pub(super) static OPENSSL: Balance = Balance::new();
pub(super) static LIBC: Balance = Balance::new();

/// Bytes that were taken and not given back since [`watch_live`]. What was there before and was given back since counts
/// as less than nothing, so only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// From Rust's global allocator.
    pub rust: i64,
    /// From OpenSSL's.
    pub openssl: i64,
    /// From libc's, by whomever; contains the other two.
    pub libc: i64,
}

/// Keeps account from now on.
pub fn watch_live() {
    WATCHING.store(true, Ordering::Relaxed);
}

/// The account.
#[must_use]
pub fn live() -> Live {
    let [rust, openssl, libc] = [&RUST, &OPENSSL, &LIBC].map(|balance| balance.0.load(Ordering::Relaxed));
    Live { rust, openssl, libc }
}

/// One column.
pub(super) struct Balance(AtomicI64);

impl Balance {
    const fn new() -> Self {
        Self(AtomicI64::new(0))
    }

    #[inline]
    pub(super) fn took(&self, bytes: usize) {
        self.change(bytes, 1);
    }

    #[inline]
    pub(super) fn gave(&self, bytes: usize) {
        self.change(bytes, -1);
    }

    /// # Safety
    ///
    /// `block` is null or a live block of libc's allocator.
    #[inline]
    pub(super) unsafe fn took_block(&self, block: *mut c_void) {
        // SAFETY: the caller's promise.
        self.took(unsafe { size(block) });
    }

    /// # Safety
    ///
    /// As [`took_block`](Balance::took_block).
    #[inline]
    pub(super) unsafe fn gave_block(&self, block: *mut c_void) {
        // SAFETY: the caller's promise.
        self.gave(unsafe { size(block) });
    }

    #[inline]
    fn change(&self, bytes: usize, sign: i64) {
        if WATCHING.load(Ordering::Relaxed) {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            self.0.fetch_add(sign * bytes, Ordering::Relaxed);
        }
    }
}

/// # Safety
///
/// `block` is null or a live block of libc's allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[inline]
unsafe fn size(block: *mut c_void) -> usize {
    if !WATCHING.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: the caller's promise; of null it is 0.
    unsafe { libc::malloc_usable_size(block) }
}

/// # Safety
///
/// None: elsewhere nothing is interposed, and blocks have no size.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
unsafe fn size(_block: *mut c_void) -> usize {
    0
}
