//! In the steady state a request costs the driver's thread no call of the global allocator. Alone in its binary, because
//! of its allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use arenatls::{Options, Progress, Protection};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::ring::{client, contexts, driver};

thread_local! {
    /// Calls made by this thread.
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

const CLIENTS: usize = 4;
const WARM_UP: u64 = 400;
const COUNTED: u64 = 4000;

/// Answers every request of one record with itself.
fn answer(driver: &mut RingDriver, id: ConnectionId, copy: &mut [u8; 1024]) {
    let bytes = driver.plaintext(id).unwrap();
    let len = bytes.len();
    copy[..len].copy_from_slice(&bytes);
    assert_eq!(driver.connection(id).unwrap().write(&copy[..len]).unwrap(), Progress::Done(len));
}

#[test]
fn a_request_in_the_steady_state_allocates_nothing() {
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let context = client_context.clone();
            thread::spawn(move || {
                let mut stream = client(address, &context);
                // Until the server has counted enough and is gone.
                while stream.write_all(&[7; 1024]).is_ok() && stream.read_exact(&mut [0; 1024]).is_ok() {}
            })
        })
        .collect();
    let (mut copy, mut requests, mut before, mut after) = ([0; 1024], 0, 0, None);
    while after.is_none() {
        while let Some(event) = driver.poll_event().unwrap() {
            if let DriverEvent::HandshakeComplete(id) = event {
                let engine = driver.connection(id).unwrap().protection() == (Protection::Engine, Protection::Engine);
                if !engine {
                    eprintln!("SKIPPED: this OpenSSL keeps the keys, and allocates for records");
                    return;
                }
            }
            let DriverEvent::Plaintext(id) = event else { continue };
            answer(&mut driver, id, &mut copy);
            requests += 1;
            if requests == WARM_UP {
                before = CALLS.get();
            } else if requests == WARM_UP + COUNTED {
                after = Some(CALLS.get());
            }
        }
        driver.turn(Some(arenatls_rig::ring::WATCHDOG)).unwrap();
    }
    println!("{COUNTED} requests, {} calls of the allocator", after.unwrap() - before);
    assert_eq!(after.unwrap() - before, 0);
    drop(driver);
    for client in clients {
        client.join().unwrap();
    }
}
