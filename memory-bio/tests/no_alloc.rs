//! After warm-up, a connection that starts, works and ends takes no memory from the global allocator.
//! Alone in its binary, because of its allocator.

use arenatls_engine::Backend;
use arenatls_memory_bio::{Arena, ArenaBackend, ArenaPool, Budget, Capacities};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Calls made by this thread; the test harness has threads of its own.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: every method passes its arguments on to `System` unchanged and returns what that returns; counting
// itself allocates nothing, for the counter is const-initialised and needs no drop.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on; all memory comes from `System`.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise, passed on; all memory comes from `System`.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Calls of the global allocator that `work` makes, of whatever kind.
fn calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

fn traffic(backend: &mut ArenaBackend<'_>) {
    for _ in 0..100 {
        let room = backend.receive_into();
        let n = room.len().min(700);
        room[..n].fill(1);
        backend.received(n).unwrap();
        backend.consume(n - n / 16);
        backend.room(900)[..900].fill(2);
        backend.commit(900);
        backend.sent(backend.to_send().len()).unwrap();
    }
    assert!(backend.moved_bytes() > 0);
}

#[test]
fn the_counter_counts() {
    assert_eq!(calls(|| drop(std::hint::black_box(Box::new(1)))), 2);
}

#[test]
fn a_warm_pool_starts_and_ends_connections_without_the_allocator() {
    let pool = ArenaPool::new(Budget::bytes(64 * 1024));
    let warm_up: Vec<_> = (0..10).map(|_| pool.backend().unwrap()).collect();
    drop(warm_up);
    let reserved = pool.reserved();
    let mut loans: [Option<ArenaBackend<'_>>; 10] = Default::default();
    let made = calls(|| {
        for round in 0..50 {
            for loan in &mut loans[..1 + round % 10] {
                traffic(loan.insert(pool.backend().unwrap()));
            }
            loans.fill_with(|| None);
        }
    });
    assert_eq!(made, 0);
    assert_eq!((pool.idle(), pool.reserved()), (10, reserved));
}

#[test]
fn the_first_return_to_a_pool_does_not_allocate_either() {
    let pool = ArenaPool::new(Budget::bytes(64 * 1024));
    let mut loans = [(); 33].map(|()| Some(pool.backend().unwrap()));
    assert_eq!(calls(|| loans.fill_with(|| None)), 0);
}

#[test]
fn a_limited_pool_takes_its_memory_when_it_is_made() {
    let pool = ArenaPool::with_limit(Budget::bytes(64 * 1024), 100);
    let list = calls(|| drop(pool.backend().unwrap()));
    assert!(list <= 1, "the free list at most: {list}");
}

#[test]
fn an_arena_that_is_reset_is_used_again_without_the_allocator() {
    let mut arena = Arena::new(Budget::bytes(64 * 1024));
    drop(ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap());
    let made = calls(|| {
        for _ in 0..5 {
            arena.reset();
            traffic(&mut ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap());
        }
    });
    assert_eq!(made, 0);
}
