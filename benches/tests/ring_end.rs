//! What the end of a connection costs in system calls, when its peer's has been read.

#![cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use arenatls_benches::count;
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::ring::{WATCHDOG, client, contexts, driver};
use openssl::ssl::SslContext;

arenatls_benches::count_everything!();
arenatls_benches::count_system_calls!();

/// A peer that ends its direction, and the socket's, and waits for our end.
fn peer(address: SocketAddr, context: &SslContext) {
    let mut stream = client(address, context);
    stream.write_all(b"x").expect("the server reads");
    stream.shutdown().expect("it is up");
    stream.get_ref().shutdown(Shutdown::Write).expect("it is connected");
    assert_eq!(stream.read(&mut [0]).expect("close_notify comes"), 0);
}

/// Turns until the next event of an end; the event, and the system calls of the last turn.
fn next_end(driver: &mut RingDriver) -> (DriverEvent, u64) {
    let mut calls = 0;
    loop {
        while let Some(event) = driver.poll_event().expect("the ring works") {
            match event {
                DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
                DriverEvent::PeerClosed(_) | DriverEvent::Closed(..) => return (event, calls),
                _ => {}
            }
        }
        count::start();
        driver.turn(Some(WATCHDOG)).expect("the ring works");
        count::stop();
        calls = count::system_calls();
    }
}

fn peer_closed(driver: &mut RingDriver) -> ConnectionId {
    match next_end(driver).0 {
        DriverEvent::PeerClosed(id) => id,
        other => panic!("{other:?}"),
    }
}

/// One test alone, for the counters are the process's.
#[test]
fn the_last_turn_shuts_our_direction_and_closes_the_socket_and_does_no_more() {
    count::install_system_calls().expect("the counters are in place");
    count::only_this_thread();
    let (theirs, ours) = contexts();
    let Some(mut driver) = driver(Config::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    driver.listen(listener.into(), ours, Default::default()).expect("a first listener");
    for _ in 0..5 {
        thread::scope(|scope| {
            scope.spawn(|| peer(address, &theirs));
            let id = peer_closed(&mut driver);
            // The end of its socket follows.
            for _ in 0..3 {
                assert!(driver.poll_event().expect("the ring works").is_none());
                driver.turn(Some(Duration::from_millis(20))).expect("the ring works");
            }
            driver.close(id).expect("it is open");
            let (event, calls) = next_end(&mut driver);
            assert!(matches!(event, DriverEvent::Closed(_, CloseReason::Done)), "{event:?}");
            assert!((1..=2).contains(&calls), "{calls} system calls");
        });
    }
}
