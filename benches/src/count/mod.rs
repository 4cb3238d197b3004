//! Counting what a record costs in memory: three columns that are never merged, and the bytes that were copied.
//!
//! | column | what is counted | how |
//! |---|---|---|
//! | Rust | calls of Rust's global allocator | [`CountingAllocator`] |
//! | OpenSSL | calls OpenSSL makes to its allocator hook | `CRYPTO_set_mem_functions` |
//! | libc | `malloc` and kin, called by anyone in the process | the executable's own `malloc` takes precedence |
//! | copied | bytes moved by `memcpy` and `memmove`, called by anyone in the executable | the same |
//!
//! What reaches the first two columns reaches libc too, so the third contains them. A copy that a compiler expanded in
//! place (a few bytes of a length known to it) calls nobody and is not seen, no more than one glibc makes within itself.
//!
//! [`live`] tells what was taken and not given back, in the first three columns.
//!
//! Nothing is counted until [`start`] and after [`stop`]. Outside of that an allocation pays a load and a branch, and a
//! copy nothing that it does not pay in any other executable: a jump through a pointer.

mod copies;
mod interpose;
mod libc_calls;
mod live;
mod openssl_hook;
mod rust_alloc;
mod system_calls;

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

pub use copies::{memcpy, memmove};
pub use libc_calls::{calloc, free, malloc, memalign, posix_memalign, realloc};
pub use live::{Live, live, watch_live};
pub use rust_alloc::CountingAllocator;
pub use system_calls::{SystemCall, install_system_calls, system_calls};

static COUNTING: AtomicBool = AtomicBool::new(false);
/// The thread whose doings count, by the address of its [`HERE`]; 0 if everybody's do.
static ONLY: AtomicUsize = AtomicUsize::new(0);
static RUST: Tally = Tally::new();
static OPENSSL: Tally = Tally::new();
static LIBC: Tally = Tally::new();
static COPIES: Tally = Tally::new();
static SYSTEM_CALLS: Tally = Tally::new();

thread_local! {
    /// Of no value. Where it lies tells threads apart, and asking that allocates nothing.
    static HERE: u8 = const { 0 };
}

/// Calls, and bytes asked for in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Calls made.
    pub calls: u64,
    /// Bytes asked for.
    pub bytes: u64,
}

/// What was counted between [`start`] and [`stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Calls of Rust's global allocator.
    pub rust: Count,
    /// Calls OpenSSL made to its allocator hook.
    pub openssl: Count,
    /// Allocations that reached libc, whoever made them.
    pub libc: Count,
    /// Calls of `memcpy` and `memmove`.
    pub copies: Count,
}

/// Why the counters cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCounting(String);

impl std::fmt::Display for NotCounting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the counters are not in place: {}", self.0)
    }
}

impl std::error::Error for NotCounting {}

/// Puts the counters in place and proves that each sees what it should.
///
/// Call it first thing in `main`: OpenSSL takes an allocator hook only before its first allocation.
///
/// # Errors
///
/// Fails if OpenSSL refuses the hook, if the real `memcpy` is not found, or if a counter does not count, as in an
/// executable without [`count_everything!`](crate::count_everything).
pub fn install() -> Result<(), NotCounting> {
    openssl_hook::install()?;
    copies::resolve()?;
    prove("Rust", |counts| counts.rust, allocate_something)?;
    prove("libc", |counts| counts.libc, allocate_something)?;
    prove("copies", |counts| counts.copies, copy_something)?;
    prove("OpenSSL", |counts| counts.openssl, ask_openssl)
}

/// Counts from zero from now on.
#[inline]
pub fn start() {
    [&RUST, &OPENSSL, &LIBC, &COPIES, &SYSTEM_CALLS].into_iter().for_each(Tally::reset);
    resume();
}

/// From now on only what the calling thread does is counted, until another says the same.
pub fn only_this_thread() {
    ONLY.store(here(), Ordering::Relaxed);
}

fn here() -> usize {
    HERE.with(|here| ptr::from_ref(here).addr())
}

#[inline]
fn counts() -> bool {
    let only = ONLY.load(Ordering::Relaxed);
    only == 0 || only == here()
}

/// Goes on counting.
#[inline]
pub fn resume() {
    COUNTING.store(true, Ordering::Relaxed);
    copies::count(true);
}

/// Stops counting and tells what was counted.
#[inline]
pub fn stop() -> Counts {
    COUNTING.store(false, Ordering::Relaxed);
    copies::count(false);
    Counts { rust: RUST.read(), openssl: OPENSSL.read(), libc: LIBC.read(), copies: COPIES.read() }
}

fn prove(column: &str, of: fn(&Counts) -> Count, cause: impl FnOnce()) -> Result<(), NotCounting> {
    start();
    black_box(cause)();
    match of(&stop()) {
        Count { calls: 0, .. } => Err(NotCounting(format!("the column {column} sees nothing"))),
        Count { bytes: 0, .. } => Err(NotCounting(format!("the column {column} sees no bytes"))),
        _ => Ok(()),
    }
}

fn allocate_something() {
    drop(black_box(vec![1_u8; 64]));
}

fn copy_something() {
    let from = black_box(vec![1_u8; 300]);
    let mut to = black_box(vec![0_u8; 300]);
    to.copy_from_slice(&from[..black_box(300)]);
    black_box(&to);
}

fn ask_openssl() {
    drop(black_box(openssl::bn::BigNum::new()));
}

/// One column.
struct Tally {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    const fn new() -> Self {
        Self { calls: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    #[inline]
    fn add(&self, bytes: usize) {
        if COUNTING.load(Ordering::Relaxed) && counts() {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    fn reset(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    fn read(&self) -> Count {
        Count { calls: self.calls.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}
