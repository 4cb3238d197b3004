//! Every byte of every size, however the records are protected.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arenatls::openssl::ssl::SslVersion;
use arenatls::{Options, Progress, Protection};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::contexts::{self as made, Terms};
use arenatls_rig::files::{file_of, make_cold};
use arenatls_rig::identity::Authority;
use arenatls_rig::mode::{Direction, engine_expected};
use arenatls_rig::ring::{Told, contexts, pattern, read_to_end, reasons, run_out};

use crate::support::{config, serve, start, with};

const LONGEST: usize = (1 << 20) + 1;
const SIZES: [u64; 6] = [0, 1, 16_383, 16_384, 16_385, LONGEST as u64];
const OFFSETS: [u64; 3] = [0, 7, 20_000];

/// Sends parts of one file, one after the other, with a few bytes written before each and after the last.
struct Parts {
    file: Arc<File>,
    parts: Vec<Range<u64>>,
    next: usize,
    protection: Option<Protection>,
}

impl Parts {
    fn step(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let connection = driver.connection(id).unwrap();
        self.protection = Some(connection.protection().0);
        assert_eq!(connection.write(b"between").unwrap(), Progress::Done(7));
        match self.parts.get(self.next) {
            Some(part) => driver.send_file(id, Arc::clone(&self.file), part.clone()).unwrap(),
            None => driver.close(id).unwrap(),
        }
        self.next += 1;
    }

    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::HandshakeComplete(id) => self.step(driver, id),
            DriverEvent::FileSent(id, sent) => {
                let part = &self.parts[self.next - 1];
                assert_eq!(sent, part.end - part.start);
                self.step(driver, id);
            }
            DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
            _ => {}
        }
    }
}

/// All sizes at all offsets, in one connection; who protected it.
fn all_parts(config: Config, version: SslVersion) -> Option<Protection> {
    let bytes = pattern(5, LONGEST + 20_000);
    let authority = Authority::new("file");
    let terms = Terms::default().version(version);
    let both = (made::client(&authority, &terms), made::server(&authority.server(), &terms));
    let parts: Vec<_> = SIZES.iter().flat_map(|size| OFFSETS.map(|offset| offset..offset + size)).collect();
    let file = file_of(&bytes);
    make_cold(&file);
    let mut app = Parts { file: Arc::new(file), parts: parts.clone(), next: 0, protection: None };
    let (got, log) = serve(
        config,
        both,
        |driver: &mut RingDriver, event: &DriverEvent| app.on(driver, event),
        |mut stream| read_to_end(&mut stream),
    )?;
    let mut expected = Vec::new();
    for part in parts {
        expected.extend_from_slice(b"between");
        expected.extend_from_slice(&bytes[usize::try_from(part.start).unwrap()..usize::try_from(part.end).unwrap()]);
    }
    expected.extend_from_slice(b"between");
    assert!(got == expected, "{} bytes of {}", got.len(), expected.len());
    assert_eq!(reasons(&log), [CloseReason::Done]);
    assert_eq!(log.iter().filter(|told| matches!(told, Told::FileSent(..))).count(), SIZES.len() * OFFSETS.len());
    app.protection
}

#[test]
fn every_size_arrives_in_engine_protection() {
    for version in [SslVersion::TLS1_3, SslVersion::TLS1_2] {
        let Some(protection) = all_parts(config(), version) else { return };
        let ours = engine_expected(version, Direction::Send);
        assert_eq!(protection, if ours { Protection::Engine } else { Protection::Library });
    }
}

#[test]
fn every_size_arrives_in_library_protection() {
    for version in [SslVersion::TLS1_3, SslVersion::TLS1_2] {
        let Some(protection) = all_parts(with(Options::default().library_protection()), version) else { return };
        assert_eq!(protection, Protection::Library);
    }
}

/// The least memory, the least ring, records of every length, and keys that last for three of them.
#[test]
fn every_size_arrives_whatever_the_records_and_queues_are() {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    let cases = [
        config().memory(inbound, outbound),
        config().memory(inbound, 300_000),
        config().queues(1, 2),
        with(Options::default().max_plaintext(1000)),
        with(Options::default().padding(arenatls::options::Padding::Multiple(256))),
        with(Options::default().rekey_after(3)),
    ];
    for case in cases {
        if all_parts(case, SslVersion::TLS1_3).is_none() {
            return;
        }
    }
}

#[test]
fn a_file_that_is_sent_before_the_handshake_is_done_waits_for_that() {
    let bytes = pattern(5, 100_000);
    let read = |mut stream| read_to_end(&mut stream);
    let Some((mut driver, id, reader)) = start(config(), contexts(), None, read) else { return };
    driver.send_file(id, file_of(&bytes), 0..100_000).unwrap();
    driver.writer(id, 1000).unwrap().try_write(b"behind it").unwrap();
    let mut log = Vec::new();
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::FileSent(id, _) = *event {
            driver.close(id).unwrap();
        }
    };
    run_out(&mut driver, &mut app, &mut log);
    assert!(reader.join().unwrap() == [&bytes[..], b"behind it"].concat(), "{log:?}");
}
