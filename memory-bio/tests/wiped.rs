//! What goes back to the global allocator holds nothing of what was in it. Alone in its binary, because of its
//! allocator.

use arenatls_engine::Backend;
use arenatls_memory_bio::{Arena, ArenaPool, Budget};
use std::alloc::{GlobalAlloc, Layout, System};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Stands for plaintext. Nothing else in this binary fills large memory with it.
const SECRET: u8 = 0xa5;
const LARGE: usize = 60_000;

static LARGE_FREED: AtomicUsize = AtomicUsize::new(0);
static SECRETS_FREED: AtomicUsize = AtomicUsize::new(0);

/// Looks at large memory as it is given back.
struct Inspecting;

#[global_allocator]
static ALLOCATOR: Inspecting = Inspecting;

// SAFETY: every method passes its arguments on to `System` and returns what that returns; `alloc` asks for more
// than it must, zeroed memory.
unsafe impl GlobalAlloc for Inspecting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            // SAFETY: the caller gives up these bytes, initialised by `alloc` at the latest.
            let bytes = unsafe { slice::from_raw_parts(place, layout.size()) };
            let secrets = bytes.iter().filter(|&&b| b == SECRET).count();
            LARGE_FREED.fetch_add(1, Relaxed);
            // Single bytes of bookkeeping may look like it.
            SECRETS_FREED.fetch_add(if secrets > 64 { secrets } else { 0 }, Relaxed);
        }
        // SAFETY: the caller's promise, passed on; all memory comes from `System`.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Large pieces given back during `work`, and secret bytes in them.
fn freed(work: impl FnOnce()) -> (usize, usize) {
    let before = (LARGE_FREED.load(Relaxed), SECRETS_FREED.load(Relaxed));
    work();
    (LARGE_FREED.load(Relaxed) - before.0, SECRETS_FREED.load(Relaxed) - before.1)
}

/// One test, since the counters belong to the process.
#[test]
fn nothing_is_left_in_memory_given_back() {
    let (pieces, secrets) = freed(|| drop(vec![SECRET; LARGE]));
    assert_eq!((pieces, secrets), (1, LARGE), "the inspection sees");

    let arena = Arena::new(Budget::bytes(100_000));
    arena.alloc_bytes(1000).unwrap().fill(SECRET);
    arena.alloc_bytes(99_000).unwrap().fill(SECRET);
    assert_eq!(freed(|| drop(arena)), (1, 0), "dropped");

    let mut arena = Arena::new(Budget::bytes(100_000));
    arena.alloc_bytes(70_000).unwrap().fill(SECRET);
    arena.reset();
    assert_eq!(freed(|| drop(arena)), (1, 0), "reset, with nothing handed out since");

    let pool = ArenaPool::new(Budget::bytes(64 * 1024));
    let mut backend = pool.backend().unwrap();
    backend.receive_into().fill(SECRET);
    let n = backend.receive_into().len();
    backend.received(n).unwrap();
    backend.room(1).fill(SECRET);
    backend.commit(10_000);
    backend.room(1).fill(0);
    drop(backend);
    assert_eq!(freed(|| drop(pool)), (1, 0), "pooled");
}
