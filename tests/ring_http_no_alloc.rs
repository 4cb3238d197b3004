//! In the steady state a request costs the example server `http` no call of either allocator, Rust's or OpenSSL's. Alone in
//! its binary, because of its allocator.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use arenatls::fd_owner::{Config, DriverEvent};
use arenatls::{Options, Protection};
use arenatls_rig::alloc::{Count, CountingAllocator, Counts, count_openssl};
use arenatls_rig::ring::{WATCHDOG, client, contexts, driver};

#[path = "../examples/common/mod.rs"]
#[expect(dead_code, reason = "what the server needs of it")]
mod common;
#[path = "../examples/http/site/mod.rs"]
mod site;

use site::Site;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CONNECTIONS: u32 = 4;
const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
    POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nDELETE / HTTP/1.1\r\nHost: a\r\n\r\n\
    GET /bytes/40000 HTTP/1.1\r\nHost: a\r\n\r\n";
/// All that comes back is longer by its heads.
const BODIES: usize = 40_000;

#[test]
fn a_request_in_the_steady_state_allocates_nothing() {
    count_openssl();
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default().connections(CONNECTIONS)) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let client = thread::spawn(move || {
        let mut stream = client(address, &client_context);
        // Until the server has counted enough and is gone.
        while stream.write_all(ASKED).is_ok() {
            let mut left = BODIES;
            while left > 0 {
                let Ok(n @ 1..) = stream.read(&mut [0; 20_000]) else { return };
                left = left.saturating_sub(n);
            }
        }
    });
    let mut site = Site::new(CONNECTIONS, WATCHDOG, site::Root::new("/").ok());
    let (mut records, mut before, mut cost) = (0, Counts::now(), None);
    while cost.is_none() {
        while let Some(event) = driver.poll_event().unwrap() {
            if let DriverEvent::HandshakeComplete(id) = event
                && driver.connection(id).unwrap().protection() != (Protection::Engine, Protection::Engine)
            {
                eprintln!("SKIPPED: this OpenSSL keeps the keys, and allocates for records");
                return;
            }
            site.on(&mut driver, &event);
            records += u32::from(matches!(event, DriverEvent::Plaintext(_)));
            match records {
                200 => before = Counts::now(),
                2200 => cost = Some(Counts::now().since(before)),
                _ => {}
            }
        }
        driver.turn(Some(WATCHDOG)).unwrap();
    }
    let nothing = Count { calls: 0, live: 0 };
    assert_eq!(cost, Some(Counts { rust: nothing, openssl: nothing }));
    drop(driver);
    client.join().unwrap();
}
