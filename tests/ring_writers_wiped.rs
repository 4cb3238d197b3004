//! A writer's ring goes back to the global allocator with nothing of what was written, whoever lets go last. Alone in its
//! binary, because of its allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::net::UnixStream;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arenatls::openssl::ssl::{Ssl, SslContext};
use arenatls_fd_owner::{Config, RingDriver, Role, Writer};
use arenatls_rig::ring::{contexts, driver};

/// Stands for plaintext. Nothing else in this binary fills memory of this size with it.
const SECRET: u8 = 0xa5;
const CAPACITY: usize = 54_321;

static FREED: AtomicUsize = AtomicUsize::new(0);
static SECRETS: AtomicUsize = AtomicUsize::new(0);

/// Looks at memory of a ring's size as it is given back.
struct Inspecting;

#[global_allocator]
static ALLOCATOR: Inspecting = Inspecting;

// SAFETY: every method passes its arguments on to `System` and returns what that returns; `alloc` asks for more than it
// must, zeroed memory.
unsafe impl GlobalAlloc for Inspecting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if layout.size() == CAPACITY {
            // SAFETY: the caller gives up these bytes, initialised by `alloc` at the latest.
            let bytes = unsafe { slice::from_raw_parts(place, CAPACITY) };
            FREED.fetch_add(1, Relaxed);
            SECRETS.fetch_add(bytes.iter().filter(|byte| **byte == SECRET).count(), Relaxed);
        }
        // SAFETY: the caller's promise, passed on; all memory comes from `System`.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Rings given back during `work`, and secret bytes in them.
fn freed(work: impl FnOnce()) -> (usize, usize) {
    let before = (FREED.load(Relaxed), SECRETS.load(Relaxed));
    work();
    (FREED.load(Relaxed) - before.0, SECRETS.load(Relaxed) - before.1)
}

/// A writer with secrets in its ring, of a connection whose handshake never comes to an end.
fn writer(driver: &mut RingDriver, context: &SslContext) -> (Writer, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let id = driver.adopt(ours.into(), Ssl::new(context).unwrap(), Role::Server).unwrap();
    let mut writer = driver.writer(id, CAPACITY).unwrap();
    while writer.try_write(&[SECRET; 1000]).is_ok() {}
    (writer, theirs)
}

/// One test, since the counters belong to the process.
#[test]
fn a_writers_ring_is_given_back_wiped() {
    assert_eq!(freed(|| drop(vec![SECRET; CAPACITY])), (1, CAPACITY), "the inspection sees");
    let (_, context) = contexts();
    let Some(mut driver) = driver(Config::default()) else { return };

    let (first, _peer) = writer(&mut driver, &context);
    let (last, _other) = writer(&mut driver, &context);
    assert_eq!(freed(|| drop(first)), (0, 0), "the driver still has it");
    assert_eq!(freed(|| drop(driver)), (1, 0), "the driver is the last of one");
    assert_eq!(freed(|| drop(last)), (1, 0), "the writer of the other");
}
