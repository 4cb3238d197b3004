//! Connections that go on are registered with the ring: one reception brings many requests, and nothing else changes.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::{Ssl, SslStream};
use arenatls::{ArenaPool, Budget};
use arenatls_fd_owner::{Capabilities, Config, ConnectionId, Role};
use arenatls_rig::echo_ring::{CLIENTS, connected, exchange, turn};
use arenatls_rig::ring::{Echo, Told, contexts, driver, pattern, reasons, run_out};

/// Receptions before a connection is registered.
const AFTER: u32 = 2;
const ROUNDS: usize = 200;

fn config() -> Config {
    Config::default().register_after(Some(AFTER))
}

/// Before that, connections are not registered.
fn receptions_go_on() -> bool {
    let Ok(kernel) = Capabilities::probe() else { return false };
    let mut numbers = kernel.kernel().split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

fn accepted(log: &[Told]) -> Vec<ConnectionId> {
    log.iter().filter_map(|told| if let Told::Accepted(id) = told { Some(*id) } else { None }).collect()
}

#[test]
fn one_reception_brings_many_requests() {
    for (config, few) in [(config(), true), (Config::default().register_after(None), false)] {
        let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
        let before = driver.receptions();
        for round in 0..ROUNDS {
            for client in &mut clients {
                exchange(&mut driver, &mut echo, &mut log, client, 1 + round * 10);
            }
        }
        let receptions = usize::try_from(driver.receptions() - before).unwrap();
        if few && receptions_go_on() {
            assert!(receptions < CLIENTS * ROUNDS / 10, "{receptions} for {} requests", CLIENTS * ROUNDS);
        } else {
            assert!(receptions >= CLIENTS * ROUNDS, "{receptions} for {} requests", CLIENTS * ROUNDS);
        }
        drop(clients);
        run_out(&mut driver, &mut echo, &mut log);
    }
}

/// More comes at a time than there is memory for, then little again, and so on.
#[test]
fn streams_and_requests_take_turns() {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    for memory in [(inbound, outbound), (64 * 1024, 64 * 1024)] {
        let config = config().memory(memory.0, memory.1);
        let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
        for round in 0..6 {
            for client in &mut clients {
                for n in [10, 1000, 10 + round, 150_000, 20, 16_384, 16_385] {
                    exchange(&mut driver, &mut echo, &mut log, client, n);
                }
            }
        }
        clients.into_iter().for_each(|mut client| assert!(client.shutdown().is_ok()));
        run_out(&mut driver, &mut echo, &mut log);
        assert_eq!(reasons(&log).len(), CLIENTS, "{log:?}");
    }
}

/// What an application does not read does not grow: the kernel has no more room than the slot's, and takes it once.
#[test]
fn a_paused_connection_receives_no_more_than_it_has_memory_for() {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    let config = config().memory(inbound, outbound);
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
    for round in 0..10 {
        exchange(&mut driver, &mut echo, &mut log, &mut clients[0], 100 + round);
    }
    let peer = clients[0].get_ref().local_addr().unwrap();
    let id = accepted(&log).into_iter().find(|id| driver.peer_addr(*id).is_ok_and(|addr| addr == peer)).unwrap();
    driver.pause(id).unwrap();
    let sent = pattern(3, 12 * 5000);
    sent.chunks(5000).for_each(|part| {
        clients[0].write_all(part).unwrap();
        turn(&mut driver, &mut echo, &mut log, 1);
    });
    let before = driver.receptions();
    let (mut turns, begun) = (0, Instant::now());
    while begun.elapsed() < Duration::from_millis(100) {
        turn(&mut driver, &mut echo, &mut log, 100);
        turns += 1;
    }
    assert!(
        turns < 20 && driver.receptions() - before < 4,
        "{turns} turns, {} receptions",
        driver.receptions() - before
    );
    // It is told of again, and all of it is there.
    driver.resume(id).unwrap();
    let mut client = clients.swap_remove(0);
    let mut got = vec![0; sent.len()];
    client.get_ref().set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let reading = std::thread::spawn(move || client.read_exact(&mut got).map(|()| (got, client)));
    while !reading.is_finished() {
        turn(&mut driver, &mut echo, &mut log, 1);
    }
    let (got, client) = reading.join().unwrap().unwrap();
    assert_eq!(got, sent);
    drop((client, clients));
    run_out(&mut driver, &mut echo, &mut log);
}

/// The ring's table has the socket, too: its peer sees the end all the same, and at once.
#[test]
fn peers_see_the_end_when_a_connection_or_its_driver_ends() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config()) else { return };
    for round in 0..10 {
        for client in &mut clients {
            exchange(&mut driver, &mut echo, &mut log, client, 100 + round);
        }
    }
    let ids = accepted(&log);
    driver.abort(ids[0]).unwrap();
    driver.close(ids[1]).unwrap();
    turn(&mut driver, &mut echo, &mut log, 1);
    let ended = |client: &mut arenatls::openssl::ssl::SslStream<std::net::TcpStream>| {
        client.get_ref().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut rest = Vec::new();
        match client.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
        }
    };
    assert_eq!(clients.iter_mut().map(ended).filter(|ended| *ended).count(), 2);
    drop(driver);
    assert_eq!(clients.iter_mut().map(ended).filter(|ended| *ended).count(), CLIENTS);
    assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
}

/// Others' receptions go on, and for as long as they like: they keep nothing of a connection that has gone.
#[test]
fn a_socket_that_was_taken_out_is_nobodys_but_its_takers() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config().rest_after(None)) else { return };
    for round in 0..10 {
        for client in &mut clients {
            exchange(&mut driver, &mut echo, &mut log, client, 100 + round);
        }
    }
    let id = accepted(&log)[0];
    let peer = driver.peer_addr(id).unwrap();
    driver.detach(id).unwrap();
    while !log.contains(&Told::Detached(id)) {
        turn(&mut driver, &mut echo, &mut log, 5);
    }
    let pool = ArenaPool::new(Budget::bytes(64 * 1024));
    let (socket, connection) =
        driver.take_detached(id, pool.backend().unwrap()).map_err(|refused| refused.why).unwrap();
    drop((socket, connection));
    turn(&mut driver, &mut echo, &mut log, 1);
    let client = clients.iter_mut().find(|client| client.get_ref().local_addr().unwrap() == peer).unwrap();
    client.get_ref().set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let end = client.get_ref().read(&mut [0; 100]);
    assert_eq!(end.map_err(|error| error.kind()), Ok(0), "the ring still has the socket");
    drop(clients);
    run_out(&mut driver, &mut echo, &mut log);
}

/// Data and the end in the same moment, on a socket that is not TCP's.
#[test]
fn the_end_right_behind_data_is_told() {
    let (client_context, server_context) = contexts();
    for after in [None, Some(0), Some(2)] {
        let config = Config::default().rest_after(None).register_after(after);
        let Some(mut driver) = driver(config) else { return };
        let (one, two) = UnixStream::pair().unwrap();
        let id = driver.adopt(one.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
        let context = client_context.clone();
        let connecting = std::thread::spawn(move || {
            let mut ssl = Ssl::new(&context).unwrap();
            ssl.param_mut().set_host("localhost").unwrap();
            let mut stream = SslStream::new(ssl, two).unwrap();
            stream.connect().unwrap();
            stream
        });
        let (mut echo, mut log) = (Echo::new(1024), Vec::new());
        while !connecting.is_finished() {
            turn(&mut driver, &mut echo, &mut log, 1);
        }
        let mut stream = connecting.join().unwrap();
        for _ in 0..10 {
            stream.write_all(b"question").unwrap();
            (0..5).for_each(|_| turn(&mut driver, &mut echo, &mut log, 1));
            stream.read_exact(&mut [0; 8]).unwrap();
        }
        stream.write_all(b"last").unwrap();
        stream.get_ref().shutdown(Shutdown::Write).unwrap();
        (0..20).for_each(|_| turn(&mut driver, &mut echo, &mut log, 10));
        assert!(log.contains(&Told::Truncated(id)), "after {after:?}: {log:?}");
        drop(stream);
        run_out(&mut driver, &mut echo, &mut log);
    }
}

/// Registered memory is given back, too, and the connection is registered anew when it goes on.
#[test]
fn who_rests_is_not_registered() {
    let config = config().rest_after(Some(Duration::from_millis(20)));
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
    for round in 0..4 {
        for client in &mut clients {
            for n in 1..8 {
                exchange(&mut driver, &mut echo, &mut log, client, n * (1 + round));
            }
        }
        for _ in 0..500 {
            turn(&mut driver, &mut echo, &mut log, 5);
            if driver.resting() == CLIENTS {
                break;
            }
        }
        assert_eq!(driver.resting(), CLIENTS);
    }
    drop(clients);
    run_out(&mut driver, &mut echo, &mut log);
}
