//! Files into connections whose records the kernel protects.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arenatls::openssl::ssl::{Ssl, SslContext, SslStream, SslVersion};
use arenatls::{Error, Options, Progress, Protection, Want};
use arenatls_fd_owner::{CloseReason, Config, DriverEvent, RingDriver, Role};
use arenatls_rig::files::file_of;
use arenatls_rig::ring::{Told, driver, pattern, read_to_end, reasons, run_out, run_until, small_buffers, tcp};

use crate::support::{SUITES, config, failure, kernel_has_it, kernel_rekeys, pair_of_contexts};

const LEN: usize = (1 << 20) + 1;

/// A driver with a connection on its way, and a stock client's thread, which does `read`.
fn start<T: Send + 'static>(
    config: Config,
    (client_context, server_context): (SslContext, SslContext),
    small: Option<i32>,
    read: impl FnOnce(SslStream<TcpStream>) -> T + Send + 'static,
) -> (RingDriver, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = tcp(listener.local_addr().unwrap());
    let accepted = listener.accept().unwrap().0;
    for socket in [&socket, &accepted] {
        if let Some(bytes) = small {
            small_buffers(socket, bytes);
        }
    }
    let mut ours = driver(config).unwrap();
    ours.adopt(accepted.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
    let reader = thread::spawn(move || {
        let mut ssl = Ssl::new(&client_context).unwrap();
        ssl.set_hostname("localhost").unwrap();
        let mut stream = SslStream::new(ssl, socket).unwrap();
        stream.connect().unwrap();
        read(stream)
    });
    (ours, reader)
}

fn read_all(mut stream: SslStream<TcpStream>) -> Vec<u8> {
    read_to_end(&mut stream)
}

#[test]
fn every_size_arrives_in_every_suite() {
    if !kernel_has_it() {
        return;
    }
    let bytes = pattern(5, LEN + 20_000);
    let file = Arc::new(file_of(&bytes));
    let parts: Vec<_> =
        [0, 1, 16_383, 16_384, 16_385, LEN].iter().flat_map(|len| [0, 7, 20_000].map(|at| at..at + len)).collect();
    let mut expected: Vec<u8> = b"between".to_vec();
    for part in &parts {
        expected.extend_from_slice(&bytes[part.clone()]);
        expected.extend_from_slice(b"between");
    }
    for (version, suite) in SUITES {
        let (mut ours, reader) = start(config(true, true), pair_of_contexts(version, suite), None, read_all);
        let (mut next, mut log, mut seen) = (0, Vec::new(), None);
        let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
            let (DriverEvent::HandshakeComplete(id) | DriverEvent::FileSent(id, _)) = *event else { return };
            let connection = driver.connection(id).unwrap();
            assert_eq!(connection.write(b"between").unwrap(), Progress::Done(7));
            seen = Some(connection.protection().0);
            match parts.get(next) {
                Some(part) => {
                    driver.send_file(id, Arc::clone(&file), part.start as u64..part.end as u64).unwrap();
                    assert_eq!(driver.connection(id).unwrap().write(b"x").unwrap(), Progress::Want(Want::Drain));
                }
                None => driver.close(id).unwrap(),
            }
            next += 1;
        };
        run_out(&mut ours, &mut app, &mut log);
        assert!(reader.join().unwrap() == expected, "{suite}");
        assert_eq!((seen, reasons(&log)), (Some(Protection::Kernel), vec![CloseReason::Done]), "{suite}");
    }
}

/// Small buffers: sends are cut in the middle of records, and the end must not overtake the last of them.
#[test]
fn a_slow_reader_gets_it_all_and_a_clean_end() {
    if !kernel_has_it() {
        return;
    }
    let len = LEN / 4;
    for (version, suite) in [SUITES[0], SUITES[3]] {
        let read = |mut stream: SslStream<TcpStream>| {
            let (mut got, mut piece) = (Vec::new(), [0; 3000]);
            loop {
                match stream.read(&mut piece).unwrap() {
                    0 => return got,
                    n => got.extend_from_slice(&piece[..n]),
                }
                thread::sleep(Duration::from_micros(300));
            }
        };
        let config = config(true, true).close_timeout(Duration::from_secs(20));
        let (mut ours, reader) = start(config, pair_of_contexts(version, suite), Some(4096), read);
        let file = Arc::new(file_of(&pattern(5, len)));
        let mut log = Vec::new();
        let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
            if let DriverEvent::HandshakeComplete(id) = *event {
                driver.send_file(id, Arc::clone(&file), 0..len as u64).unwrap();
                driver.close(id).unwrap();
            }
        };
        run_out(&mut ours, &mut app, &mut log);
        assert!(reader.join().unwrap() == pattern(5, len), "{suite}");
        assert!(matches!(log[..], [.., Told::FileSent(..), Told::Closed(_, CloseReason::Done)]), "{log:?}");
    }
}

#[test]
fn new_keys_in_the_middle_of_a_file() {
    if !kernel_has_it() {
        return;
    }
    if !kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes no new keys");
        return;
    }
    let config = config(true, true).options(Options::default().rekey_after(3));
    let (mut ours, reader) = start(config, pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1), None, read_all);
    let file = Arc::new(file_of(&pattern(5, LEN)));
    let (mut log, mut generations) = (Vec::new(), 0);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap(),
        DriverEvent::FileSent(id, _) => {
            generations = driver.connection(id).unwrap().sent().key_generations;
            driver.close(id).unwrap();
        }
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert!(reader.join().unwrap() == pattern(5, LEN), "{log:?}");
    assert!(generations > 20, "{generations} keys");
}

/// A file counts its records as writes do.
#[test]
fn a_key_that_is_worn_out_ends_the_file_and_the_connection() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    let config = config(true, true).options(Options::default().rekey_after(10));
    let (mut ours, reader) = start(config, pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1), None, read_all);
    let file = Arc::new(file_of(&pattern(5, LEN)));
    let mut log = Vec::new();
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::HandshakeComplete(id) = *event {
            driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap();
        }
    };
    run_out(&mut ours, &mut app, &mut log);
    assert_eq!(failure(&log), Error::KeysWornOut { records: 10 }.to_string());
    let sent = log.iter().find_map(|told| match told {
        Told::FileFailed(_, sent, why) if why == "Connection(Failed)" => usize::try_from(*sent).ok(),
        _ => None,
    });
    let sent = sent.unwrap_or_else(|| panic!("{log:?}"));
    // Two of the ten were tickets.
    assert_eq!(sent, 8 * 16_384);
    assert!(reader.join().unwrap() == pattern(5, sent));
}

#[test]
fn abort_at_every_point_brings_every_slot_home() {
    if !kernel_has_it() {
        return;
    }
    for turns in 0..20 {
        let read = |mut stream: SslStream<TcpStream>| {
            let mut got = Vec::new();
            let _ = stream.read_to_end(&mut got);
            got
        };
        let contexts = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
        let (mut ours, reader) = start(config(true, true), contexts, Some(16_384), read);
        let (mut log, mut id) = (Vec::new(), None);
        let mut app = |_: &mut RingDriver, event: &DriverEvent| {
            if let DriverEvent::HandshakeComplete(of) = *event {
                id = Some(of);
            }
        };
        let done = |log: &[Told]| log.iter().any(|told| matches!(told, Told::HandshakeComplete(_)));
        run_until(&mut ours, &mut app, &mut log, done);
        let id = id.unwrap();
        ours.send_file(id, file_of(&pattern(5, LEN)), 0..LEN as u64).unwrap();
        let mut nothing = |_: &mut RingDriver, _: &DriverEvent| {};
        for _ in 0..turns {
            arenatls_rig::ring::poll(&mut ours, &mut nothing, &mut log);
            ours.turn(Some(Duration::from_millis(1))).unwrap();
        }
        ours.abort(id).unwrap();
        run_out(&mut ours, &mut nothing, &mut log);
        let last = (log.pop(), log.pop());
        // All of it may have gone into sockets that took more than they were told to.
        let told = matches!(last, (Some(Told::Closed(..)), Some(Told::FileFailed(..) | Told::FileSent(..))));
        assert!(told && (turns > 2 || !matches!(last.1, Some(Told::FileSent(..)))), "{last:?}");
        assert!(pattern(5, LEN).starts_with(&reader.join().unwrap()));
    }
}
