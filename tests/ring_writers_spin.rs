//! A driver that spins submits what it has, however busy its writers are.
#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arenatls::Backend as _;
use arenatls_fd_owner::{Config, WriteError};
use arenatls_rig::mode::modes;
use arenatls_rig::ring::{WATCHDOG, driver};

const ROOM: usize = 64 << 20;

#[test]
fn writers_that_never_stop_do_not_keep_a_spinning_driver_from_sending() {
    let config = Config::default().connections(2).spin(Duration::from_millis(1));
    let Some(mut driver) = driver(config) else { return };
    let mut pair = modes()[2].connected();
    pair.settled();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut line = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    line.set_nonblocking(true).unwrap();
    let id = driver.adopt_connection(listener.accept().unwrap().0.into(), pair.server).unwrap();
    let mut writer = driver.writer(id, ROOM).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let busy = thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            match writer.try_write(b"a message") {
                Ok(()) | Err(WriteError::Full { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    let (mut still, mut longest) = (0, 0);
    let (mut bytes, end) = (vec![0; 1 << 20], Instant::now() + Duration::from_secs(2));
    while Instant::now() < end {
        while driver.poll_event().unwrap().is_some() {}
        let waits = driver.connection(id).unwrap().backend().unsent() > 0;
        driver.turn(Some(WATCHDOG)).unwrap();
        let arrived = match line.read(&mut bytes) {
            Ok(n) => n > 0,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        };
        still = if waits && !arrived { still + 1 } else { 0 };
        longest = longest.max(still);
    }
    stop.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    assert!(longest < 20, "{longest} turns with something to send, and nothing sent");
}
