//! The columns of libc: what an executable's own `malloc` and `memcpy` do before they pass the call on.
//!
//! The functions here have ordinary names. [`count_everything!`](crate::count_everything) defines the symbols that
//! take libc's place, in the executables that want them and in no other.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{COPIES, LIBC, NotCounting};
use crate::moves;

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

static REAL_MEMCPY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static REAL_MEMMOVE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

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

/// Finds libc's `memcpy` and `memmove` behind the executable's own (`dlsym`, `RTLD_NEXT`).
pub(super) fn resolve() -> Result<(), NotCounting> {
    for (slot, name) in [(&REAL_MEMCPY, c"memcpy"), (&REAL_MEMMOVE, c"memmove")] {
        // SAFETY: the name is a C string; asking for a symbol that libc defines runs no foreign constructor.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if found.is_null() {
            return Err(NotCounting(format!("libc's {name:?} is not to be found")));
        }
        slot.store(found, Ordering::Relaxed);
    }
    Ok(())
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
    unsafe { real::__libc_malloc(size) }
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
    unsafe { real::__libc_calloc(count, size) }
}

/// `realloc`, counted as one allocation of the new size.
///
/// # Safety
///
/// `block` is null or a live block of libc's allocator.
#[inline]
pub unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    LIBC.add(size);
    // SAFETY: the caller's promise is the one glibc wants.
    unsafe { real::__libc_realloc(block, size) }
}

/// `free`, which is not counted.
///
/// # Safety
///
/// `block` is null or a live block of libc's allocator.
#[inline]
pub unsafe fn free(block: *mut c_void) {
    // SAFETY: the caller's promise is the one glibc wants.
    unsafe { real::__libc_free(block) }
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
    unsafe { real::__libc_memalign(alignment, size) }
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

/// `memcpy`, counted.
///
/// # Safety
///
/// As C's: both ranges hold `length` bytes and do not overlap.
#[inline]
pub unsafe fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    COPIES.add(length);
    match real(&REAL_MEMCPY) {
        // SAFETY: the caller's promise is the one libc wants.
        Some(copy) => unsafe { copy(to, from, length) },
        None => {
            // SAFETY: both ranges are good and apart, says the caller.
            unsafe { moves::ascending(to, from, length) };
            to
        }
    }
}

/// `memmove`, counted.
///
/// # Safety
///
/// As C's: both ranges hold `length` bytes.
#[inline]
pub unsafe fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    COPIES.add(length);
    match real(&REAL_MEMMOVE) {
        // SAFETY: the caller's promise is the one libc wants.
        Some(copy) => unsafe { copy(to, from, length) },
        None if to.cast_const() <= from => {
            // SAFETY: both ranges are good, says the caller, and the target is below.
            unsafe { moves::ascending(to, from, length) };
            to
        }
        None => {
            // SAFETY: both ranges are good, says the caller, and the target is above.
            unsafe { moves::descending(to, from, length) };
            to
        }
    }
}

#[inline]
fn real(slot: &AtomicPtr<c_void>) -> Option<Copy> {
    let found = slot.load(Ordering::Relaxed);
    if found.is_null() {
        return None;
    }
    // SAFETY: what is stored is the address of libc's memcpy or memmove, which have this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Copy>(found) })
}
