//! A file is read no faster than the peer reads; what cannot be sent is refused; what cannot be read is told.

use std::fs::File;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::SslStream;
use arenatls::{Progress, Want};
use arenatls_fd_owner::{CloseReason, DriverError, DriverEvent, RingDriver};
use arenatls_rig::files::file_of;
use arenatls_rig::ring::{Told, contexts, pattern, poll, read_to_end, reasons, run_out, run_until};

use crate::support::{config, serve, start};

const LEN: usize = 4 << 20;

/// How the file failed: the bytes sent, and why.
fn failure(log: &[Told]) -> (usize, &str) {
    for told in log {
        if let Told::FileFailed(_, sent, why) = told {
            return (usize::try_from(*sent).unwrap(), why);
        }
    }
    panic!("it did not: {log:?}");
}

/// While the peer does not read, the file is cut to nothing: what had been read of it by then was little.
#[test]
fn a_file_that_shrinks_is_sent_as_far_as_it_was_read_and_that_is_little_for_a_peer_that_does_not_read() {
    let bytes = pattern(5, LEN);
    let file = Arc::new(file_of(&bytes));
    let (tell, hear) = channel::<()>();
    let read = move |mut stream: SslStream<TcpStream>| {
        hear.recv().unwrap();
        read_to_end(&mut stream)
    };
    let Some((mut driver, id, reader)) = start(config(), contexts(), Some(4096), read) else { return };
    driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap();
    let (mut log, end) = (Vec::new(), Instant::now() + Duration::from_millis(500));
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::FileFailed(id, _) = *event {
            driver.close(id).unwrap();
        }
    };
    while Instant::now() < end {
        poll(&mut driver, &mut app, &mut log);
        driver.turn(Some(Duration::from_millis(20))).unwrap();
    }
    file.set_len(0).unwrap();
    tell.send(()).unwrap();
    run_out(&mut driver, &mut app, &mut log);
    let got = reader.join().unwrap();
    assert!(got == bytes[..got.len()]);
    assert_eq!(failure(&log), (got.len(), "TooShort"));
    // The slot and its tray; the sockets, which take more than they are told to.
    assert!(got.len() < 36 * 1024 + 64 * 1024 + 100_000, "{} bytes had been read", got.len());
    assert_eq!(reasons(&log), [CloseReason::Done]);
}

#[test]
fn a_slow_reader_gets_it_all_and_keeps_the_connection_from_being_idle() {
    let bytes = pattern(5, LEN / 16);
    let file = Arc::new(file_of(&bytes));
    let read = |mut stream: SslStream<TcpStream>| {
        let (mut got, mut piece) = (Vec::new(), [0; 5000]);
        loop {
            match stream.read(&mut piece).unwrap() {
                0 => return got,
                n => got.extend_from_slice(&piece[..n]),
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    let config = config()
        .idle_timeout(Some(Duration::from_secs(2)))
        .rest_after(Some(Duration::from_millis(1)))
        .close_timeout(Duration::from_secs(15));
    let Some((mut driver, id, reader)) = start(config, contexts(), Some(4096), read) else { return };
    driver.send_file(id, file, 0..bytes.len() as u64).unwrap();
    let (mut log, begin) = (Vec::new(), Instant::now());
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::FileSent(id, _) = *event {
            driver.close(id).unwrap();
        }
    };
    run_out(&mut driver, &mut app, &mut log);
    let got = reader.join().unwrap();
    assert!(got == bytes, "{} bytes: {log:?}", got.len());
    assert!(begin.elapsed() > Duration::from_millis(2200), "it was not slow enough to tell");
    assert_eq!(reasons(&log), [CloseReason::Done]);
}

#[test]
fn a_peer_that_reads_nothing_ends_the_file_with_the_idle_connection() {
    let (tell, hear) = channel::<()>();
    let read = move |_stream: SslStream<TcpStream>| hear.recv().unwrap();
    let (idle, close) = (Duration::from_millis(200), Duration::from_millis(100));
    let config = config().idle_timeout(Some(idle)).close_timeout(close);
    let Some((mut driver, id, reader)) = start(config, contexts(), Some(4096), read) else { return };
    driver.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
    let mut log = Vec::new();
    run_out(&mut driver, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut log);
    tell.send(()).unwrap();
    reader.join().unwrap();
    let (sent, why) = failure(&log);
    assert_eq!(why, "Connection(IdleTimeout)");
    assert!(sent > 0 && sent < LEN);
    assert!(matches!(log[..], [.., Told::FileFailed(..), Told::Closed(_, CloseReason::IdleTimeout)]), "{log:?}");
}

#[test]
fn what_cannot_be_sent_is_refused_and_changes_nothing() {
    let bytes = pattern(5, 1000);
    let directory = std::env::temp_dir();
    let app = move |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            let (pipe, _other) = std::io::pipe().unwrap();
            let others =
                [File::open(&directory).unwrap(), File::open("/dev/zero").unwrap(), OwnedFd::from(pipe).into()];
            for other in others {
                assert!(matches!(driver.send_file(id, other, 0..10), Err(DriverError::NotAFile)));
            }
            #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
            for range in [2..1, 0..u64::MAX, 0..(1 << 63)] {
                assert!(matches!(driver.send_file(id, file_of(b""), range), Err(DriverError::BadRange)));
            }
            driver.send_file(id, file_of(&bytes), 0..1000).unwrap();
        }
        DriverEvent::FileSent(id, _) => driver.close(id).unwrap(),
        DriverEvent::Closed(id, _) => {
            assert!(matches!(driver.send_file(id, file_of(b""), 0..0), Err(DriverError::Stale)));
        }
        _ => {}
    };
    let Some((got, log)) = serve(config(), contexts(), app, |mut stream| read_to_end(&mut stream)) else { return };
    assert!(got == pattern(5, 1000), "{log:?}");
}

/// A file that cannot be read, and one that is too short from the start: the connection goes on.
#[test]
fn what_cannot_be_read_is_told_and_the_connection_goes_on() {
    let path = std::env::temp_dir().join(format!("arenatls-deaf-{}", std::process::id()));
    let deaf = File::create(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let mut deaf = Some(deaf);
    let app = move |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => driver.send_file(id, deaf.take().unwrap(), 0..10).unwrap(),
        DriverEvent::FileFailed(id, ref error) if error.sent == 0 => {
            driver.send_file(id, file_of(&pattern(5, 40_000)), 0..40_001).unwrap();
        }
        DriverEvent::FileFailed(id, _) => {
            let _ = driver.connection(id).unwrap().write(b"and on").unwrap();
            driver.close(id).unwrap();
        }
        _ => {}
    };
    let Some((got, log)) = serve(config(), contexts(), app, |mut stream| read_to_end(&mut stream)) else { return };
    assert!(got == [&pattern(5, 40_000)[..], b"and on"].concat(), "{} bytes", got.len());
    let failed: Vec<_> = log.iter().filter(|told| matches!(told, Told::FileFailed(..))).collect();
    assert!(
        matches!(failed[..], [Told::FileFailed(_, 0, why), Told::FileFailed(_, 40_000, short)]
        if why.contains("code: 9") && short == "TooShort"),
        "{failed:?}"
    );
}

/// Somebody waits for room, and the file for its peer: that is no reason to be busy.
#[test]
fn a_file_that_waits_for_its_peer_costs_no_turns() {
    let (tell, hear) = channel::<()>();
    let read = move |mut stream: SslStream<TcpStream>| {
        hear.recv().unwrap();
        read_to_end(&mut stream)
    };
    let Some((mut driver, id, reader)) = start(config(), contexts(), Some(4096), read) else { return };
    let bytes = pattern(5, LEN / 16);
    let (mut log, mut before, mut written) = (Vec::new(), 0, false);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            while let Progress::Done(n) = driver.connection(id).unwrap().write(&[7; 5000]).unwrap() {
                before += n;
            }
            driver.send_file(id, file_of(&bytes), 0..bytes.len() as u64).unwrap();
            assert_eq!(driver.connection(id).unwrap().write(b"x").unwrap(), Progress::Want(Want::Drain));
        }
        DriverEvent::Writable(id) if !written => {
            written = true;
            assert_eq!(driver.connection(id).unwrap().write(b"behind").unwrap(), Progress::Done(6));
            driver.close(id).unwrap();
        }
        _ => {}
    };
    run_until(&mut driver, &mut app, &mut log, |log| log.contains(&Told::HandshakeComplete(id)));
    let (mut turns, end) = (0, Instant::now() + Duration::from_millis(600));
    while Instant::now() < end {
        poll(&mut driver, &mut app, &mut log);
        driver.turn(Some(Duration::from_millis(20))).unwrap();
        turns += 1;
    }
    assert!(turns < 100, "{turns} turns");
    assert!(!log.iter().any(|told| matches!(told, Told::Writable(_))), "{log:?}");
    tell.send(()).unwrap();
    run_out(&mut driver, &mut app, &mut log);
    let got = reader.join().unwrap();
    assert!(got == [&vec![7; before], &bytes[..], b"behind"].concat(), "{} bytes", got.len());
}
