//! In the steady state a request costs the driver's thread no call of either allocator, Rust's or OpenSSL's. Alone in its
//! binary, because of its allocator.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use arenatls::{Options, Progress, Protection};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::alloc::{Count, CountingAllocator, Counts, count_openssl};
use arenatls_rig::ring::{client, contexts, driver};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
    count_openssl();
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
    let (mut copy, mut requests, mut before, mut cost) = ([0; 1024], 0, Counts::now(), None);
    let (nothing, mut connected) = (Count { calls: 0, live: 0 }, 0);
    while cost.is_none() {
        while let Some(event) = driver.poll_event().unwrap() {
            if let DriverEvent::HandshakeComplete(id) = event {
                connected += 1;
                let engine = driver.connection(id).unwrap().protection() == (Protection::Engine, Protection::Engine);
                if !engine {
                    eprintln!("SKIPPED: this OpenSSL keeps the keys, and allocates for records");
                    return;
                }
            }
            let DriverEvent::Plaintext(id) = event else { continue };
            answer(&mut driver, id, &mut copy);
            // The steady state begins when the last has connected.
            requests += u64::from(connected == CLIENTS);
            if requests == WARM_UP {
                before = Counts::now();
            } else if requests == WARM_UP + COUNTED {
                cost = Some(Counts::now().since(before));
            }
        }
        driver.turn(Some(arenatls_rig::ring::WATCHDOG)).unwrap();
    }
    assert_eq!(cost, Some(Counts { rust: nothing, openssl: nothing }), "{COUNTED} requests");
    drop(driver);
    for client in clients {
        client.join().unwrap();
    }
}
