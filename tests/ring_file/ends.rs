//! How connections end that are sending a file, at every point of it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::{ShutdownState, Ssl, SslStream};
use arenatls_fd_owner::{CloseReason, ConnectionId, DriverEvent, RingDriver, Role, leaked_rings};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::files::{file_of, make_cold};
use arenatls_rig::identity::Authority;
use arenatls_rig::ring::{
    Told, all_home, contexts, driver, pattern, poll, read_to_end, reasons, reset_when_closed, run_out, run_until, tcp,
};

use crate::support::{config, start};

const LEN: usize = (1 << 20) + 1;
/// So many turns do not send that much: one seals 32 KiB of it at most.
const POINTS: usize = 28;

fn nothing(_: &mut RingDriver, _: &DriverEvent) {}

/// The last two words, if the file failed before the connection closed.
fn last_words(log: &[Told]) -> Option<(u64, &str, CloseReason)> {
    match log {
        [.., Told::FileFailed(_, sent, why), Told::Closed(_, reason)] => Some((*sent, why, *reason)),
        _ => None,
    }
}

#[test]
fn close_sends_the_rest_of_the_file_and_then_says_goodbye() {
    let bytes = pattern(5, LEN);
    let Some((mut driver, _, reader)) = start(config(), contexts(), None, |mut stream| read_to_end(&mut stream)) else {
        return;
    };
    let file = Arc::new(file_of(&bytes));
    let mut log = Vec::new();
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::HandshakeComplete(id) = *event {
            let mut writer = driver.writer(id, 1000).unwrap();
            writer.try_write(b"before").unwrap();
            driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap();
            writer.try_write(b"after").unwrap();
            driver.close(id).unwrap();
            assert!(driver.send_file(id, Arc::clone(&file), 0..1).is_err());
        }
    };
    run_out(&mut driver, &mut app, &mut log);
    assert!(reader.join().unwrap() == [b"before", &bytes[..], b"after"].concat(), "{log:?}");
    assert!(matches!(log[..], [.., Told::FileSent(_, _), Told::Closed(_, CloseReason::Done)]), "{log:?}");
}

#[test]
fn close_does_not_wait_for_ever() {
    let (tell, hear) = std::sync::mpsc::channel::<()>();
    let read = move |_stream: SslStream<TcpStream>| hear.recv().unwrap();
    let config = config().close_timeout(Duration::from_millis(200));
    let Some((mut driver, id, reader)) = start(config, contexts(), Some(4096), read) else { return };
    let mut log = Vec::new();
    run_until(&mut driver, &mut nothing, &mut log, |log| log.contains(&Told::HandshakeComplete(id)));
    driver.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
    driver.close(id).unwrap();
    run_out(&mut driver, &mut nothing, &mut log);
    tell.send(()).unwrap();
    reader.join().unwrap();
    let (sent, why, reason) = last_words(&log).unwrap_or_else(|| panic!("{log:?}"));
    assert_eq!((why, reason), ("Connection(CloseTimeout)", CloseReason::CloseTimeout));
    assert!(sent < LEN as u64);
}

/// Reads until something ends it.
fn read_what_comes(mut stream: SslStream<TcpStream>) -> Vec<u8> {
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    got
}

/// Takes so many turns after the handshake, then does it.
fn after(turns: usize, cold: bool, act: impl FnOnce(RingDriver, ConnectionId, &mut Vec<Told>)) -> Option<Vec<u8>> {
    let (mut driver, id, reader) = start(config(), contexts(), None, read_what_comes)?;
    let mut log = Vec::new();
    run_until(&mut driver, &mut nothing, &mut log, |log| log.contains(&Told::HandshakeComplete(id)));
    let file = file_of(&pattern(5, LEN));
    if cold {
        make_cold(&file);
    }
    driver.send_file(id, file, 0..LEN as u64).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    for _ in 0..turns {
        poll(&mut driver, &mut nothing, &mut log);
        driver.turn(Some(Duration::from_millis(1))).unwrap();
        assert!(Instant::now() < end);
    }
    act(driver, id, &mut log);
    Some(reader.join().unwrap())
}

#[test]
fn abort_at_every_point_brings_every_slot_home() {
    for turns in 0..POINTS {
        let got = after(turns, turns % 2 == 0, |mut driver, id, log| {
            driver.abort(id).unwrap();
            run_out(&mut driver, &mut nothing, log);
            let (sent, why, reason) = last_words(log).unwrap_or_else(|| panic!("{log:?}"));
            assert_eq!((why, reason), ("Connection(Aborted)", CloseReason::Aborted));
            assert!(sent < LEN as u64);
        });
        let Some(got) = got else { return };
        assert!(pattern(5, LEN).starts_with(&got));
    }
}

#[test]
fn close_at_every_point_loses_nothing() {
    for turns in 0..20 {
        let got = after(turns, turns % 2 == 0, |mut driver, id, log| {
            driver.close(id).unwrap();
            run_out(&mut driver, &mut nothing, log);
            assert_eq!(reasons(log), [CloseReason::Done], "{log:?}");
        });
        let Some(got) = got else { return };
        assert!(got == pattern(5, LEN), "{} bytes", got.len());
    }
}

#[test]
fn r8_a_driver_that_is_dropped_at_every_point_leaves_nothing_behind() {
    let before = leaked_rings();
    for turns in 0..POINTS {
        if after(turns, turns % 2 == 0, |driver, _, _| drop(driver)).is_none() {
            return;
        }
    }
    assert_eq!(leaked_rings(), before);
}

#[test]
fn a_peer_that_is_gone_ends_the_file() {
    let read = |mut stream: SslStream<TcpStream>| {
        stream.read_exact(&mut [0; 1000]).unwrap();
        reset_when_closed(stream.get_ref());
    };
    let Some((mut driver, id, reader)) = start(config(), contexts(), Some(4096), read) else { return };
    driver.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
    let mut log = Vec::new();
    run_until(&mut driver, &mut nothing, &mut log, |log| !reasons(log).is_empty());
    reader.join().unwrap();
    let failed: Vec<_> = log.iter().filter(|told| matches!(told, Told::FileFailed(..))).collect();
    let [Told::FileFailed(_, sent, why)] = failed[..] else { panic!("{log:?}") };
    assert!(["SendFailed", "Connection(Truncated)"].contains(&why.as_str()) && *sent < LEN as u64, "{log:?}");
    assert!(matches!(log.last(), Some(Told::Closed(_, CloseReason::Truncated))), "{log:?}");
}

#[test]
fn a_peer_that_has_said_goodbye_gets_the_whole_file() {
    let read = |mut stream: SslStream<TcpStream>| {
        stream.write_all(b"GET").unwrap();
        stream.shutdown().unwrap();
        stream.get_ref().shutdown(Shutdown::Write).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(stream.get_shutdown().contains(ShutdownState::RECEIVED));
        got
    };
    let Some((mut driver, _, reader)) = start(config(), contexts(), None, read) else { return };
    let mut log = Vec::new();
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::Plaintext(id) => {
            assert!(driver.plaintext(id).is_some());
            driver.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
        }
        DriverEvent::FileSent(id, _) => driver.close(id).unwrap(),
        _ => {}
    };
    run_out(&mut driver, &mut app, &mut log);
    assert!(reader.join().unwrap() == pattern(5, LEN));
    assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
}

/// What comes meanwhile is read, or waits if the application pauses: the file goes on in both cases.
#[test]
fn both_directions_go_on_by_themselves() {
    for pauses in [false, true] {
        let read = |mut stream: SslStream<TcpStream>| {
            stream.write_all(&[1; 300_000]).unwrap();
            read_to_end(&mut stream)
        };
        let Some((mut driver, id, reader)) = start(config(), contexts(), None, read) else { return };
        driver.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
        let (mut log, mut came, mut sent) = (Vec::new(), 0, false);
        let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
            match *event {
                DriverEvent::HandshakeComplete(id) if pauses => driver.pause(id).unwrap(),
                DriverEvent::Plaintext(id) => came += driver.plaintext(id).map_or(0, |bytes| bytes.len()),
                DriverEvent::FileSent(id, _) => {
                    sent = true;
                    driver.resume(id).unwrap();
                }
                _ => {}
            }
            if sent && came == 300_000 && driver.connection(id).is_some() {
                driver.close(id).unwrap();
            }
        };
        run_out(&mut driver, &mut app, &mut log);
        assert_eq!((came, reasons(&log)), (300_000, vec![CloseReason::Done]));
        assert!(reader.join().unwrap() == pattern(5, LEN));
    }
}

/// A file that waits for a handshake does not keep one that fails from its end.
#[test]
fn a_handshake_that_fails_ends_the_file_at_once() {
    for first in [&b"no TLS at all"[..], b""] {
        let limit = Duration::from_secs(10);
        let Some(mut driver) = driver(config().close_timeout(limit)) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = tcp(listener.local_addr().unwrap());
        let accepted = listener.accept().unwrap().0;
        let id = driver.adopt(accepted.into(), Ssl::new(&contexts().1).unwrap(), Role::Server).unwrap();
        driver.send_file(id, file_of(&pattern(1, 1000)), 0..1000).unwrap();
        socket.write_all(first).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let begun = Instant::now();
        let mut log = Vec::new();
        run_until(&mut driver, &mut nothing, &mut log, |log| !reasons(log).is_empty());
        assert!(begun.elapsed() < limit / 4, "{:?}: {log:?}", begun.elapsed());
        let failed = |told: &Told| matches!(told, Told::FileFailed(_, 0, why) if why.starts_with("Connection"));
        assert!(log.iter().any(failed), "{log:?}");
        all_home(&driver);
    }
}

/// So it is with a writer's message.
#[test]
fn close_before_the_handshake_is_done_sends_what_writers_brought() {
    let limit = Duration::from_secs(10);
    let read = |mut stream: SslStream<TcpStream>| read_to_end(&mut stream);
    let Some((mut driver, id, reader)) = start(config().close_timeout(limit), contexts(), None, read) else { return };
    let mut writer = driver.writer(id, 2000).unwrap();
    writer.try_write(&pattern(1, 1000)).unwrap();
    driver.close(id).unwrap();
    assert!(writer.try_write(b"more").is_err());
    let (mut log, begun) = (Vec::new(), Instant::now());
    run_out(&mut driver, &mut nothing, &mut log);
    assert!(begun.elapsed() < limit / 4, "{:?}: {log:?}", begun.elapsed());
    assert!(reader.join().unwrap() == pattern(1, 1000), "{log:?}");
    assert_eq!((writer.unsealed(), driver.unsealed_at_end()), (0, 0));
}

/// The handshake goes on, too, and the file follows its end at once: nothing else has to happen.
#[test]
fn close_before_the_handshake_is_done_sends_the_file_behind_it() {
    let authority = Authority::new("ring");
    for tickets in [0, 2] {
        let terms = Terms::default().tickets(tickets);
        let both = (contexts::client(&authority, &terms), contexts::server(&authority.server(), &terms));
        let limit = Duration::from_secs(10);
        let read = |mut stream: SslStream<TcpStream>| read_to_end(&mut stream);
        let Some((mut driver, id, reader)) = start(config().close_timeout(limit), both, None, read) else { return };
        driver.send_file(id, file_of(&pattern(1, 1000)), 0..1000).unwrap();
        driver.close(id).unwrap();
        let begun = Instant::now();
        let mut log = Vec::new();
        run_out(&mut driver, &mut nothing, &mut log);
        assert!(begun.elapsed() < limit / 4, "{:?}: {log:?}", begun.elapsed());
        assert!(reader.join().unwrap() == pattern(1, 1000), "{log:?}");
    }
}
