//! Allocations of this thread, of Rust's global allocator and of OpenSSL's, counted apart.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Once;

thread_local! {
    static RUST: Tally = const { Tally::new() };
    static OPENSSL: Tally = const { Tally::new() };
}

struct Tally {
    calls: Cell<u64>,
    live: Cell<i64>,
}

impl Tally {
    const fn new() -> Tally {
        Tally { calls: Cell::new(0), live: Cell::new(0) }
    }

    fn took(&self, bytes: i64) {
        self.calls.set(self.calls.get() + 1);
        self.live.set(self.live.get() + bytes);
    }

    fn gave(&self, bytes: i64) {
        self.live.set(self.live.get() - bytes);
    }

    fn read(&self) -> Count {
        Count { calls: self.calls.get(), live: self.live.get() }
    }
}

/// What a thread has asked of one allocator so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Calls that ask for memory.
    pub calls: u64,
    /// Bytes taken less bytes given back.
    pub live: i64,
}

/// Both allocators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Rust's global allocator.
    pub rust: Count,
    /// OpenSSL's (`CRYPTO_malloc` and kin).
    pub openssl: Count,
}

impl Counts {
    /// This thread's, now.
    #[must_use]
    pub fn now() -> Counts {
        Counts { rust: RUST.with(Tally::read), openssl: OPENSSL.with(Tally::read) }
    }

    /// What has come since `before`.
    #[must_use]
    pub fn since(self, before: Counts) -> Counts {
        let less = |a: Count, b: Count| Count { calls: a.calls - b.calls, live: a.live - b.live };
        Counts { rust: less(self.rust, before.rust), openssl: less(self.openssl, before.openssl) }
    }
}

/// [`System`], counted; to be a test binary's `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

fn size(layout: Layout) -> i64 {
    layout.size().try_into().unwrap_or(i64::MAX)
}

// SAFETY: every method passes its arguments to `System` unchanged and returns what that returns; counting allocates
// nothing, for the tallies are const thread locals without a destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        RUST.with(|tally| tally.took(size(layout)));
        // SAFETY: the caller's promise about `layout` is the one `System` wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        RUST.with(|tally| tally.gave(size(layout)));
        // SAFETY: `block` came from `System` through `alloc`, with this `layout`, says the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

type Malloc = unsafe extern "C" fn(usize, *const c_char, c_int) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize, *const c_char, c_int) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

unsafe extern "C" {
    // openssl/crypto.h
    fn CRYPTO_set_mem_functions(malloc: Malloc, realloc: Realloc, free: Free) -> c_int;
}

/// Counts OpenSSL's allocations from here on.
///
/// # Panics
///
/// If OpenSSL has allocated before: then it refuses its hook.
pub fn count_openssl() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the three functions are malloc, realloc and free with counting, and live as long as the process.
        let taken = unsafe { CRYPTO_set_mem_functions(hooked_malloc, hooked_realloc, hooked_free) };
        assert_eq!(taken, 1, "OpenSSL refuses its allocator hook, so it has allocated before");
    });
}

/// What precedes each block of OpenSSL's: its size, as asked for. (What libc makes of a size depends on what lies free
/// around it, and so would differ from one round to the next.)
const HEADER: usize = 16;

fn size_of_block(block: *mut c_void) -> i64 {
    // SAFETY: `block` came from `with_header`, so its header lies there.
    let header = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `with_header` wrote the size there, at a multiple of 16.
    unsafe { header.cast::<i64>().read() }
}

fn with_header(start: *mut c_void, size: usize) -> *mut c_void {
    if start.is_null() {
        return start;
    }
    // SAFETY: `start` is a block of HEADER + `size` bytes, at a multiple of 16.
    unsafe { start.cast::<i64>().write(size.try_into().unwrap_or(i64::MAX)) };
    // SAFETY: the block is that long.
    unsafe { start.byte_add(HEADER) }
}

unsafe extern "C" fn hooked_malloc(size: usize, _: *const c_char, _: c_int) -> *mut c_void {
    let Some(whole) = size.checked_add(HEADER) else { return std::ptr::null_mut() };
    // SAFETY: malloc takes any size.
    let block = with_header(unsafe { libc::malloc(whole) }, size);
    if !block.is_null() {
        OPENSSL.with(|tally| tally.took(size_of_block(block)));
    }
    block
}

unsafe extern "C" fn hooked_realloc(block: *mut c_void, size: usize, file: *const c_char, line: c_int) -> *mut c_void {
    if block.is_null() {
        // SAFETY: as for this function.
        return unsafe { hooked_malloc(size, file, line) };
    }
    let before = size_of_block(block);
    let Some(whole) = size.checked_add(HEADER) else { return std::ptr::null_mut() };
    // SAFETY: `block` came from one of these functions, so its header lies there.
    let start = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `start` came from libc; OpenSSL does not use it again unless this fails, and then it is as it was.
    let block = with_header(unsafe { libc::realloc(start, whole) }, size);
    if !block.is_null() {
        OPENSSL.with(|tally| tally.took(size_of_block(block) - before));
    }
    block
}

unsafe extern "C" fn hooked_free(block: *mut c_void, _: *const c_char, _: c_int) {
    if block.is_null() {
        return;
    }
    OPENSSL.with(|tally| tally.gave(size_of_block(block)));
    // SAFETY: `block` came from one of these functions, so its header lies there.
    let start = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `start` came from libc, and OpenSSL does not use it again.
    unsafe { libc::free(start) }
}
