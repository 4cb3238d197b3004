//! Connections without traffic give their memory back, and lose nothing by it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use arenatls::Options;
use arenatls_fd_owner::{Config, ConnectionId, RingDriver};
use arenatls_rig::echo_ring::{CLIENTS, connected, exchange, turn};
use arenatls_rig::ring::{Echo, Told, client, contexts, driver, pattern, reasons, run_out};

fn config(rest_after: Option<Duration>) -> Config {
    Config::default().rest_after(rest_after)
}

/// Turns until so many connections rest.
fn until_resting(driver: &mut RingDriver, echo: &mut Echo, log: &mut Vec<Told>, wanted: usize) {
    for _ in 0..1000 {
        if driver.resting() == wanted {
            return;
        }
        turn(driver, echo, log, 10);
    }
    panic!("{} of {wanted} rest: {driver:?}", driver.resting());
}

#[test]
fn connections_without_traffic_rest_and_go_on_when_it_comes() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config(Some(Duration::from_millis(20)))) else {
        return;
    };
    for round in 0..4 {
        until_resting(&mut driver, &mut echo, &mut log, CLIENTS);
        for client in &mut clients {
            exchange(&mut driver, &mut echo, &mut log, client, 1 + round * 3000);
        }
    }
    until_resting(&mut driver, &mut echo, &mut log, CLIENTS);
    clients.into_iter().for_each(|mut client| assert!(client.shutdown().is_ok()));
    run_out(&mut driver, &mut echo, &mut log);
    assert_eq!(reasons(&log).len(), CLIENTS, "{log:?}");
}

#[test]
fn without_the_option_nobody_rests() {
    let Some((mut driver, mut echo, mut log, clients)) = connected(config(None)) else { return };
    (0..10).for_each(|_| turn(&mut driver, &mut echo, &mut log, 10));
    assert_eq!(driver.resting(), 0);
    drop(clients);
    run_out(&mut driver, &mut echo, &mut log);
}

/// Traffic comes just when its connection goes to rest: nothing is lost to the reception that is taken back.
#[test]
fn a_byte_that_comes_while_its_connection_falls_asleep_is_not_lost() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config(Some(Duration::from_millis(1)))) else {
        return;
    };
    for round in 0_u32..400 {
        let client = &mut clients[round as usize % CLIENTS];
        std::thread::sleep(Duration::from_micros(u64::from(round * 37 % 2500)));
        exchange(&mut driver, &mut echo, &mut log, client, 1 + round as usize % 300);
    }
    drop(clients);
    run_out(&mut driver, &mut echo, &mut log);
}

/// What the application has not read yet stays where it is, and so does half a record.
#[test]
fn memory_that_something_waits_in_is_not_given_back() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config(Some(Duration::from_millis(1)))) else {
        return;
    };
    until_resting(&mut driver, &mut echo, &mut log, CLIENTS);
    let id: ConnectionId =
        log.iter().find_map(|told| if let Told::Accepted(id) = told { Some(*id) } else { None }).unwrap();
    driver.pause(id).unwrap();
    let peer = driver.peer_addr(id).unwrap();
    let paused = clients.iter_mut().find(|client| client.get_ref().local_addr().unwrap() == peer).unwrap();
    paused.write_all(&pattern(5, 700)).unwrap();
    (0..40).for_each(|_| turn(&mut driver, &mut echo, &mut log, 1));
    assert_eq!(driver.resting(), CLIENTS - 1);
    driver.resume(id).unwrap();
    until_resting(&mut driver, &mut echo, &mut log, CLIENTS);
    let mut got = vec![0; 700];
    paused.read_exact(&mut got).unwrap();
    assert_eq!(got, pattern(5, 700));
    drop(clients);
    run_out(&mut driver, &mut echo, &mut log);
}

/// Who is to rest at once, and cannot, does not keep the driver from sleeping.
#[test]
fn a_driver_sleeps_though_a_connection_cannot_rest() {
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config(Some(Duration::ZERO))) else { return };
    until_resting(&mut driver, &mut echo, &mut log, CLIENTS);
    for told in log.clone() {
        if let Told::Accepted(id) = told {
            driver.pause(id).unwrap();
        }
    }
    clients[0].write_all(&pattern(5, 700)).unwrap();
    let (mut turns, begun) = (0, std::time::Instant::now());
    while begun.elapsed() < Duration::from_millis(200) {
        turn(&mut driver, &mut echo, &mut log, 200);
        turns += 1;
    }
    assert_eq!(driver.resting(), CLIENTS - 1);
    assert!(turns < 2000, "{turns} turns in 200 ms");
    drop(clients);
    for told in log.clone() {
        if let Told::Accepted(id) = told {
            driver.close(id).unwrap();
        }
    }
    run_out(&mut driver, &mut echo, &mut log);
}

#[test]
fn the_idle_deadline_comes_to_those_who_rest() {
    let config = Config::default().rest_after(Some(Duration::from_millis(5)));
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(config.idle_timeout(Some(Duration::from_millis(150)))) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let (mut echo, mut log) = (Echo::new(64), Vec::new());
    let client = std::thread::spawn(move || {
        let mut client = client(address, &client_context);
        client.read(&mut [0; 1]).unwrap()
    });
    let mut rested = 0;
    while !client.is_finished() {
        turn(&mut driver, &mut echo, &mut log, 5);
        rested = rested.max(driver.resting());
    }
    assert_eq!((client.join().unwrap(), rested), (0, 1));
    run_out(&mut driver, &mut echo, &mut log);
    assert_eq!(reasons(&log), [arenatls_fd_owner::CloseReason::IdleTimeout]);
}
