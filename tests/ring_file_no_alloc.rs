//! A file costs the driver's thread no call of either allocator, Rust's or OpenSSL's, however many records it makes. Alone
//! in its binary, because of its allocator.
#![cfg(target_os = "linux")]

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use arenatls::{Options, Protection};
use arenatls_fd_owner::{Config, DriverEvent};
use arenatls_rig::alloc::{Count, CountingAllocator, Counts, count_openssl};
use arenatls_rig::files::file_of;
use arenatls_rig::ring::{WATCHDOG, client, contexts, driver, pattern};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const LEN: u64 = (1 << 20) + 1;
const WARM_UP: u32 = 3;
const COUNTED: u32 = 20;

#[test]
fn a_file_in_the_steady_state_allocates_nothing() {
    count_openssl();
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let client = thread::spawn(move || {
        let mut stream = client(address, &client_context);
        let (mut piece, mut sum) = (vec![0; 65_536], 0);
        while let Ok(n @ 1..) = stream.read(&mut piece) {
            sum += n as u64;
        }
        sum
    });
    let file = Arc::new(file_of(&pattern(0, usize::try_from(LEN).unwrap())));
    let (mut sent, mut before, mut cost) = (0, Counts::now(), None);
    while cost.is_none() {
        while let Some(event) = driver.poll_event().unwrap() {
            let id = match event {
                DriverEvent::HandshakeComplete(id) => {
                    if driver.connection(id).unwrap().protection().0 != Protection::Engine {
                        eprintln!("SKIPPED: this OpenSSL keeps the keys, and allocates for records");
                        return;
                    }
                    id
                }
                DriverEvent::FileSent(id, LEN) => {
                    sent += 1;
                    id
                }
                _ => continue,
            };
            if sent == WARM_UP {
                before = Counts::now();
            } else if sent == WARM_UP + COUNTED {
                cost = Some(Counts::now().since(before));
                driver.close(id).unwrap();
                break;
            }
            driver.send_file(id, Arc::clone(&file), 0..LEN).unwrap();
        }
        driver.turn(Some(WATCHDOG)).unwrap();
    }
    let nothing = Count { calls: 0, live: 0 };
    assert_eq!(cost, Some(Counts { rust: nothing, openssl: nothing }), "{COUNTED} files");
    loop {
        while driver.poll_event().unwrap().is_some() {}
        if driver.connections() == 0 {
            break;
        }
        driver.turn(Some(WATCHDOG)).unwrap();
    }
    assert_eq!(client.join().unwrap(), u64::from(WARM_UP + COUNTED) * LEN);
}
