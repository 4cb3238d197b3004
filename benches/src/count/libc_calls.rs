//! The column of libc: what an executable's own `malloc` and kin do before they pass the call on.
//!
//! The functions here have ordinary names. [`count_everything!`](crate::count_everything) defines the symbols that
//! take libc's place, in the executables that want them and in no other.

use std::ffi::{c_int, c_void};

use super::{LIBC, live};

/// glibc's own names for its allocator, for those who interpose the usual names (`malloc/malloc.c`).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod real {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub(super) fn __libc_malloc(size: usize) -> *mut c_void;
        pub(super) fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        pub(super) fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
        pub(super) fn __libc_free(block: *mut c_void);
        pub(super) fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    }
}

/// Elsewhere nothing is interposed, so nothing of this is ever called.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod real {
    use std::ffi::c_void;

    pub(super) unsafe fn __libc_malloc(_size: usize) -> *mut c_void {
        std::process::abort()
    }
    pub(super) unsafe fn __libc_calloc(_count: usize, _size: usize) -> *mut c_void {
        std::process::abort()
    }
    pub(super) unsafe fn __libc_realloc(_block: *mut c_void, _size: usize) -> *mut c_void {
        std::process::abort()
    }
    pub(super) unsafe fn __libc_free(_block: *mut c_void) {
        std::process::abort()
    }
    pub(super) unsafe fn __libc_memalign(_alignment: usize, _size: usize) -> *mut c_void {
        std::process::abort()
    }
}

/// `malloc`, counted.
///
/// # Safety
///
/// None beyond C's: the block belongs to [`free`] and [`realloc`].
#[inline]
pub unsafe fn malloc(size: usize) -> *mut c_void {
    LIBC.add(size);
    // SAFETY: any size will do.
    taken(unsafe { real::__libc_malloc(size) })
}

/// `calloc`, counted.
///
/// # Safety
///
/// None beyond C's: the block belongs to [`free`] and [`realloc`].
#[inline]
pub unsafe fn calloc(count: usize, size: usize) -> *mut c_void {
    LIBC.add(count.saturating_mul(size));
    // SAFETY: any numbers will do; glibc checks the product.
    taken(unsafe { real::__libc_calloc(count, size) })
}

/// `realloc`, counted as one allocation of the new size.
///
/// # Safety
///
/// `block` is null or a live block of libc's allocator.
#[inline]
pub unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    LIBC.add(size);
    // SAFETY: the caller's promise.
    unsafe { live::LIBC.gave_block(block) };
    // SAFETY: the caller's promise is the one glibc wants.
    taken(unsafe { real::__libc_realloc(block, size) })
}

/// `free`, which is not counted.
///
/// # Safety
///
/// `block` is null or a live block of libc's allocator.
#[inline]
pub unsafe fn free(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { live::LIBC.gave_block(block) };
    // SAFETY: the caller's promise is the one glibc wants.
    unsafe { real::__libc_free(block) }
}

/// Takes a block of glibc's into the account of what is live.
#[inline]
fn taken(block: *mut c_void) -> *mut c_void {
    // SAFETY: glibc has just made the block, or refused with null.
    unsafe { live::LIBC.took_block(block) };
    block
}

/// `memalign` and `aligned_alloc`, counted.
///
/// # Safety
///
/// None beyond C's: the block belongs to [`free`] and [`realloc`].
#[inline]
pub unsafe fn memalign(alignment: usize, size: usize) -> *mut c_void {
    LIBC.add(size);
    // SAFETY: any numbers will do; glibc checks the alignment.
    taken(unsafe { real::__libc_memalign(alignment, size) })
}

/// `posix_memalign`, counted.
///
/// # Safety
///
/// `out` is writable.
#[inline]
pub unsafe fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    // SAFETY: any numbers will do.
    let block = unsafe { memalign(alignment, size) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: `out` is writable, says the caller.
    unsafe { out.write(block) };
    0
}
