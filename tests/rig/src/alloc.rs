//! Allocations of this thread, of Rust's global allocator and of OpenSSL's, counted apart.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Once;

thread_local! {
    static RUST: Tally = const { Tally::new() };
    static OPENSSL: Tally = const { Tally::new() };
    /// What is looked for in memory that OpenSSL gives back, and how many blocks had it.
    static MARK: Cell<Option<&'static [u8]>> = const { Cell::new(None) };
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// Looks for `mark` in every block that OpenSSL takes on this thread from here on, when it gives the block back.
///
/// It takes [`count_openssl`] before.
pub fn look_for(mark: &'static [u8]) {
    MARK.set(Some(mark));
    LEFT.set(0);
}

/// How many blocks were given back with the mark in them.
#[must_use]
pub fn left() -> u64 {
    LEFT.get()
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

/// What precedes each block of OpenSSL's: its size, as asked for (what libc makes of a size depends on what lies free
/// around it, and so would differ from one round to the next), and whether it was zero at first, so that all of it may be
/// looked at.
const HEADER: usize = 16;

fn size_of_block(block: *mut c_void) -> i64 {
    // SAFETY: `block` came from `with_header`, so its header lies there.
    let header = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `with_header` wrote the size there, at a multiple of 16.
    unsafe { header.cast::<i64>().read() }
}

fn was_zero(block: *mut c_void) -> bool {
    // SAFETY: `block` came from `with_header`, so its header lies there.
    let second = unsafe { block.byte_sub(HEADER / 2) };
    // SAFETY: `with_header` wrote it there, at a multiple of 8.
    unsafe { second.cast::<i64>().read() == 1 }
}

fn with_header(start: *mut c_void, size: usize, zero: bool) -> *mut c_void {
    if start.is_null() {
        return start;
    }
    // SAFETY: `start` is a block of HEADER + `size` bytes, at a multiple of 16.
    unsafe { start.cast::<i64>().write(size.try_into().unwrap_or(i64::MAX)) };
    // SAFETY: as above.
    let second = unsafe { start.byte_add(HEADER / 2) };
    // SAFETY: as above.
    unsafe { second.cast::<i64>().write(i64::from(zero)) };
    // SAFETY: the block is that long.
    unsafe { start.byte_add(HEADER) }
}

unsafe extern "C" fn hooked_malloc(size: usize, _: *const c_char, _: c_int) -> *mut c_void {
    let Some(whole) = size.checked_add(HEADER) else { return ptr::null_mut() };
    let block = if MARK.get().is_some() {
        // SAFETY: calloc takes any size.
        with_header(unsafe { libc::calloc(1, whole) }, size, true)
    } else {
        // SAFETY: malloc takes any size.
        with_header(unsafe { libc::malloc(whole) }, size, false)
    };
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
    if was_zero(block) {
        // What libc would move it may leave behind.
        // SAFETY: as for this function.
        let moved = unsafe { hooked_malloc(size, file, line) };
        if !moved.is_null() {
            let both = size.min(usize::try_from(before).unwrap_or(0));
            // SAFETY: both blocks are that long, and the new one is nobody else's.
            unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), moved.cast::<u8>(), both) };
            // SAFETY: as for this function.
            unsafe { hooked_free(block, file, line) };
        }
        return moved;
    }
    let Some(whole) = size.checked_add(HEADER) else { return ptr::null_mut() };
    // SAFETY: `block` came from one of these functions, so its header lies there.
    let start = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `start` came from libc; OpenSSL does not use it again unless this fails, and then it is as it was.
    let block = with_header(unsafe { libc::realloc(start, whole) }, size, false);
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
    look_at(block);
    // SAFETY: `block` came from one of these functions, so its header lies there.
    let start = unsafe { block.byte_sub(HEADER) };
    // SAFETY: `start` came from libc, and OpenSSL does not use it again.
    unsafe { libc::free(start) }
}

/// Counts a block that has the mark in it.
fn look_at(block: *mut c_void) {
    let Some(mark) = MARK.get() else { return };
    let len = usize::try_from(size_of_block(block)).unwrap_or(0);
    if !was_zero(block) || len < mark.len() {
        return;
    }
    // SAFETY: the block has `len` bytes, was zero at first, and OpenSSL has given it back.
    let bytes = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), len) };
    if bytes.windows(mark.len()).any(|window| window == mark) {
        LEFT.set(LEFT.get() + 1);
    }
}
