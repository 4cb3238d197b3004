//! Connections that are exchanged between drivers at random, registered, at rest, with files: each may fail, and no memory
//! is touched that is not its own, nothing panics, and every slot comes home.
#![cfg(target_os = "linux")]

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arenatls::Backend as _;
use arenatls::openssl::ssl::{Ssl, SslContext};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver, Role};
use arenatls_rig::files::file_of;
use arenatls_rig::random::Random;
use arenatls_rig::ring::{Told, WATCHDOG, all_home, contexts, driver, pattern, poll, run_until};

const EACH: u32 = 4;

fn nothing(driver: &mut RingDriver, event: &DriverEvent) {
    if let DriverEvent::Plaintext(id) = *event {
        let _ = driver.plaintext(id);
    }
}

fn connected(client: &SslContext, server: &SslContext) -> Option<(RingDriver, Vec<ConnectionId>)> {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    let config = Config::default()
        .connections(EACH)
        .memory(inbound, outbound)
        .register_after(Some(0))
        .close_timeout(Duration::from_millis(20))
        .rest_after(Some(Duration::from_millis(1)));
    let mut driver = driver(config)?;
    let mut ids = Vec::new();
    for _ in 0..EACH / 2 {
        let (one, two) = UnixStream::pair().unwrap();
        ids.push(driver.adopt(one.into(), Ssl::new(server).unwrap(), Role::Server).unwrap());
        let role = Role::Client { name: "localhost" };
        ids.push(driver.adopt(two.into(), Ssl::new(client).unwrap(), role).unwrap());
    }
    run_until(&mut driver, &mut nothing, &mut Vec::new(), |log| {
        log.iter().filter(|told| matches!(told, Told::HandshakeComplete(_))).count() == EACH as usize
    });
    Some((driver, ids))
}

fn act(random: &mut Random, drivers: &mut [(RingDriver, Vec<ConnectionId>); 2], file: &Arc<std::fs::File>) {
    let which = random.next(2);
    let (one, two) = drivers.split_at_mut(1);
    let [(one, ones), (two, twos)] = [&mut one[0], &mut two[0]];
    let (a, b) = (ones[random.next(ones.len())], twos[random.next(twos.len())]);
    match random.next(40) {
        0 => {
            if let (Some(a), Some(b)) = (one.connection(a), two.connection(b)) {
                std::mem::swap(a, b);
            }
        }
        1 => drop((which == 0).then(|| one.close(a))),
        2 => drop((which == 0).then(|| two.abort(b))),
        3 => drop(one.send_file(a, Arc::clone(file), 0..1000)),
        4 => drop(two.send_file(b, Arc::clone(file), 0..100_000)),
        5 => drop(one.pause(a)),
        6 => drop(one.resume(a)),
        7 => drop(two.detach(b)),
        8 => std::thread::sleep(Duration::from_millis(3)),
        9..15 => drop(one.connection(a).map(|c| c.write(&pattern(0, 1 + random.next(20_000))))),
        15..20 => drop(two.connection(b).map(|c| c.write(&pattern(0, 1 + random.next(20_000))))),
        20..25 => drop(two.connection(b).map(|c| c.backend_mut().input().len())),
        n => {
            let driver = if n % 2 == 0 { one } else { two };
            if random.once_in(2) {
                poll(driver, &mut nothing, &mut Vec::new());
            }
            driver.turn(Some(Duration::ZERO)).unwrap();
        }
    }
}

#[test]
fn connections_that_are_exchanged_at_random_do_no_harm() {
    let (client, server) = contexts();
    let file = Arc::new(file_of(&pattern(0, 100_000)));
    let seeds = match std::env::var("RING_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 1..20,
    };
    for seed in seeds {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let Some(one) = connected(&client, &server) else { return };
        let Some(two) = connected(&client, &server) else { return };
        let mut drivers = [one, two];
        for _ in 0..1500 {
            act(&mut random, &mut drivers, &file);
        }
        let [(mut one, ones), (mut two, twos)] = drivers;
        ones.into_iter().for_each(|id| drop(one.abort(id)));
        twos.into_iter().for_each(|id| drop(two.abort(id)));
        let end = Instant::now() + WATCHDOG;
        while one.connections() + two.connections() > 0 {
            for driver in [&mut one, &mut two] {
                poll(driver, &mut nothing, &mut Vec::new());
                driver.turn(Some(Duration::ZERO)).unwrap();
            }
            assert!(Instant::now() < end, "seed {seed}: {one:?} {two:?}");
        }
        all_home(&one);
        all_home(&two);
    }
    assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
}
