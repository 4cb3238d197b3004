//! The column of copies: what an executable's own `memcpy` and `memmove` do.
//!
//! Each goes through a pointer, as a call into a shared library does anyway. The pointer leads to libc's function while
//! nothing is counted, and to one that counts first while something is. Before libc's is known, which a dynamic
//! executable's first copies precede, it leads to a string instruction.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{COPIES, NotCounting};
use crate::moves;

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

static MEMCPY: Switch = Switch::new(early_memcpy, counted_memcpy);
static MEMMOVE: Switch = Switch::new(early_memmove, counted_memmove);

/// Finds libc's `memcpy` and `memmove` behind the executable's own (`dlsym`, `RTLD_NEXT`).
pub(super) fn resolve() -> Result<(), NotCounting> {
    for (switch, name) in [(&MEMCPY, c"memcpy"), (&MEMMOVE, c"memmove")] {
        // SAFETY: the name is a C string; asking for a symbol that libc defines runs no foreign constructor.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if found.is_null() {
            return Err(NotCounting(format!("libc's {name:?} is not to be found")));
        }
        switch.plain.store(found, Ordering::Relaxed);
        switch.count(false);
    }
    Ok(())
}

/// Counts copies from now on, or no more.
#[inline]
pub(super) fn count(on: bool) {
    MEMCPY.count(on);
    MEMMOVE.count(on);
}

/// `memcpy`, counted while the gate is open.
///
/// # Safety
///
/// As C's: both ranges hold `length` bytes and do not overlap.
#[inline]
pub unsafe fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    let now = function(&MEMCPY.now);
    // SAFETY: the caller's promise is the one every `memcpy` wants.
    unsafe { now(to, from, length) }
}

/// `memmove`, counted while the gate is open.
///
/// # Safety
///
/// As C's: both ranges hold `length` bytes.
#[inline]
pub unsafe fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    let now = function(&MEMMOVE.now);
    // SAFETY: the caller's promise is the one every `memmove` wants.
    unsafe { now(to, from, length) }
}

/// Where calls of one symbol go.
struct Switch {
    now: AtomicPtr<c_void>,
    plain: AtomicPtr<c_void>,
    counted: AtomicPtr<c_void>,
}

impl Switch {
    const fn new(early: Copy, counted: Copy) -> Self {
        Self {
            now: AtomicPtr::new(early as *mut c_void),
            plain: AtomicPtr::new(early as *mut c_void),
            counted: AtomicPtr::new(counted as *mut c_void),
        }
    }

    #[inline]
    fn count(&self, on: bool) {
        let way = if on { &self.counted } else { &self.plain };
        self.now.store(way.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[inline]
fn function(pointer: &AtomicPtr<c_void>) -> Copy {
    let address = pointer.load(Ordering::Relaxed);
    // SAFETY: a `Switch` holds nothing but the addresses of libc's memcpy and memmove and of functions of this file, all
    // of this type.
    unsafe { std::mem::transmute::<*mut c_void, Copy>(address) }
}

unsafe extern "C" fn counted_memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    COPIES.add(length);
    let plain = function(&MEMCPY.plain);
    // SAFETY: the caller's promise is the one libc wants.
    unsafe { plain(to, from, length) }
}

unsafe extern "C" fn counted_memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    COPIES.add(length);
    let plain = function(&MEMMOVE.plain);
    // SAFETY: the caller's promise is the one libc wants.
    unsafe { plain(to, from, length) }
}

unsafe extern "C" fn early_memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    // SAFETY: both ranges are good and apart, says the caller.
    unsafe { moves::ascending(to, from, length) };
    to
}

unsafe extern "C" fn early_memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    if to.cast_const() <= from {
        // SAFETY: both ranges are good, says the caller, and the target is not above.
        unsafe { moves::ascending(to, from, length) };
    } else {
        // SAFETY: both ranges are good, says the caller, and the target is above.
        unsafe { moves::descending(to, from, length) };
    }
    to
}
