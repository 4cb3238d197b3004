//! Limits: tiny queues, few connections, small memory.

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use arenatls::openssl::ssl::SslContext;
use arenatls_fd_owner::{CloseReason, Config, DriverError, DriverEvent, RingDriver};
use arenatls_rig::ring::{Server, Told, client, contexts, driver, pattern, reasons};

/// `clients` at a time, each with a few exchanges of its own bytes.
fn exchange(server: &Server, context: &SslContext, clients: usize) {
    thread::scope(|scope| {
        for which in 0..clients {
            scope.spawn(move || {
                let mut stream = client(server.address, context);
                for k in 0..10 {
                    let sent = pattern(which * 100 + k, 3000);
                    stream.write_all(&sent).unwrap();
                    let mut got = vec![0; sent.len()];
                    stream.read_exact(&mut got).unwrap();
                    assert_eq!(got, sent);
                }
                stream.shutdown().unwrap();
                assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
            });
        }
    });
}

#[test]
fn a_tiny_ring_loses_no_operation_and_no_completion() {
    let (client_context, server_context) = contexts();
    for (submissions, completions) in [(1, 2), (2, 4), (8, 8)] {
        let config = Config::default().queues(submissions, completions);
        let Some(server) = Server::echo(config, server_context.clone(), 64) else { return };
        exchange(&server, &client_context, 48);
        assert_eq!(reasons(&server.stop()), [CloseReason::Done; 48], "{submissions}, {completions}");
    }
}

#[test]
fn the_cap_on_connections_pauses_the_listener_and_refuses_nobody() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::echo(Config::default(), server_context, 2) else { return };
    exchange(&server, &client_context, 12);
    let log = server.stop();
    assert!(log.contains(&Told::AtCapacity), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Done; 12]);
    let (mut open, mut most) = (0, 0);
    for told in &log {
        match told {
            Told::Accepted(_) => open += 1,
            Told::Closed(..) => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    assert_eq!(most, 2);
}

#[test]
fn the_least_memory_is_enough_and_output_is_bounded_by_it() {
    let (client_context, server_context) = contexts();
    let (inbound, outbound) = Config::LEAST_MEMORY;
    let config = Config::default().connections(4).memory(inbound, outbound);
    let flood = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::HandshakeComplete(id) = *event {
            let connection = driver.connection(id).unwrap();
            let taken = connection.write(&pattern(0, 100_000)).unwrap().done().unwrap();
            assert!(taken < 20_000, "{taken}");
            assert!(connection.write(&[0; 1000]).unwrap().done().is_none());
            driver.close(id).unwrap();
        }
    };
    let Some(server) = Server::start(config.clone(), server_context.clone(), move || flood) else { return };
    let mut stream = client(server.address, &client_context);
    let got = arenatls_rig::ring::read_to_end(&mut stream);
    assert!(got == pattern(0, got.len()) && got.len() >= 16_384, "{}", got.len());
    drop(stream);
    assert_eq!(reasons(&server.stop()), [CloseReason::Done]);

    let Some(server) = Server::echo(config, server_context, 4) else { return };
    exchange(&server, &client_context, 4);
    server.stop();
}

#[test]
fn what_cannot_be_is_refused() {
    let bad = [
        Config::default().connections(0),
        Config::default().connections(1 << 21),
        Config::default().memory(1000, 40_000),
        Config::default().memory(40_000, 1000),
        Config::default().queues(0, 0),
        Config::default().queues(64, 32),
        Config::default().idle_timeout(Some(Duration::MAX)),
    ];
    for config in bad {
        assert!(matches!(RingDriver::new(config), Err(DriverError::BadConfig(_))));
    }
}

#[test]
fn a_handle_is_stale_once_its_connection_is_no_more() {
    let (client_context, _) = contexts();
    let Some(mut driver) = driver(Config::default().connections(1)) else { return };
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let ssl = || arenatls::openssl::ssl::Ssl::new(&client_context).unwrap();
        let id = driver.connect(address, ssl(), "localhost").unwrap();
        assert!(!ids.contains(&id));
        let refused = driver.connect(address, ssl(), "localhost");
        assert!(matches!(refused, Err(DriverError::AtCapacity { connections: 1 })));
        for old in &ids {
            assert!(driver.connection(*old).is_none());
            assert!(matches!(driver.close(*old), Err(DriverError::Stale)));
            assert!(matches!(driver.abort(*old), Err(DriverError::Stale)));
            assert!(matches!(driver.pause(*old), Err(DriverError::Stale)));
            assert!(matches!(driver.resume(*old), Err(DriverError::Stale)));
            assert!(driver.plaintext(*old).is_none());
        }
        ids.push(id);
        arenatls_rig::ring::run_out(&mut driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut Vec::new());
    }
}

#[test]
fn a_waker_ends_a_wait_from_another_thread() {
    let Some(mut driver) = driver(Config::default().connections(1)) else { return };
    let waker = driver.waker();
    for _ in 0..50 {
        let waker = waker.clone();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            // As often as one likes: it does not block.
            (0..100).for_each(|_| waker.wake());
        });
        driver.turn(Some(arenatls_rig::ring::WATCHDOG)).unwrap();
        other.join().unwrap();
    }
    waker.wake();
    driver.turn(Some(Duration::MAX)).unwrap();
    drop(driver);
    waker.wake();
}
