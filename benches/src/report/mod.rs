//! The ledger as data, and where it is kept.

mod grid;
mod host;
mod markdown;
mod standing;
mod table;
mod target;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contender::Role;
use crate::measure::{Group, Measured, Summary, median, ratios};

pub(crate) use grid::Grid;
pub use host::{Host, Versions};
pub use markdown::markdown;
pub use table::table;
pub use target::target_directory;

/// A whole ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The machine it was taken on.
    pub host: Host,
    /// What was compared.
    pub versions: Versions,
    /// The entries, in the order of measurement: group after group.
    pub rows: Vec<Row>,
}

/// One entry: a contender, a suite, a payload and a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Who.
    pub contender: String,
    /// `Library`, `Engine` or `Kernel`, both with a slash where writer and reader differ; `own` for all but arenatls.
    pub protection: String,
    /// The backend of arenatls; `own` for all others.
    pub backend: String,
    /// What carried the ciphertext: `memory` or `loopback`.
    pub transport: String,
    /// The protocol version.
    pub version: String,
    /// The suite, by OpenSSL's name of it.
    pub suite: String,
    /// Plaintext in a record (bytes).
    pub payload: usize,
    /// `write`, `read` or `both`.
    pub direction: String,
    /// Time for a record (nanoseconds), over the rounds.
    pub ns_per_op: Summary,
    /// Calls of Rust's global allocator for a record.
    pub rust_allocs: f64,
    /// Bytes asked for in them.
    pub rust_bytes: f64,
    /// Calls OpenSSL made to its allocator hook for a record.
    pub openssl_allocs: f64,
    /// Bytes asked for in them.
    pub openssl_bytes: f64,
    /// Allocations that reached libc for a record, those of the other two columns among them.
    pub libc_allocs: f64,
    /// Bytes asked for in them.
    pub libc_bytes: f64,
    /// Bytes moved by `memcpy` and `memmove` for a byte of payload.
    pub copied_per_byte: f64,
    /// Calls of `memcpy` and `memmove` for a record, of whatever length.
    pub copies: f64,
    /// How many times faster than the fastest rustls of the group (median of the rounds' ratios).
    pub times_rustls_best: Option<f64>,
    /// How many times faster than the `openssl` crate over memory BIOs (median of the rounds' ratios).
    pub times_openssl_membio: Option<f64>,
    /// The same against each contender of the group that is not arenatls.
    pub times: BTreeMap<String, f64>,
}

impl Row {
    /// What rows must have in common to be compared.
    fn group(&self) -> (&str, &str, &str, usize, &str) {
        let Self { version, suite, transport, payload, direction, .. } = self;
        (version, suite, transport, *payload, direction)
    }
}

/// The rows of a measured group.
#[must_use]
pub fn rows(group: &Group, measured: &[Measured]) -> Vec<Row> {
    let rustls = fastest(measured, Role::Rustls);
    let membio = fastest(measured, Role::OpensslMembio);
    measured
        .iter()
        .map(|lane| Row {
            times_rustls_best: rustls.map(|reference| times_faster(lane, reference)),
            times_openssl_membio: membio.map(|reference| times_faster(lane, reference)),
            times: others(lane, measured),
            ..row(group, lane)
        })
        .collect()
}

fn row(group: &Group, lane: &Measured) -> Row {
    let records = lane.counted as f64;
    let per_record = |number: u64| number as f64 / records;
    let counts = &lane.counts;
    Row {
        contender: lane.subject.name.into(),
        protection: lane.protection.clone(),
        backend: lane.subject.backend.into(),
        transport: group.transport.name().into(),
        version: group.suite.version_name().into(),
        suite: group.suite.openssl().into(),
        payload: group.payload,
        direction: group.direction.name().into(),
        ns_per_op: Summary::of(&lane.times),
        rust_allocs: per_record(counts.rust.calls),
        rust_bytes: per_record(counts.rust.bytes),
        openssl_allocs: per_record(counts.openssl.calls),
        openssl_bytes: per_record(counts.openssl.bytes),
        libc_allocs: per_record(counts.libc.calls),
        libc_bytes: per_record(counts.libc.bytes),
        copied_per_byte: per_record(counts.copies.bytes) / group.payload as f64,
        copies: per_record(counts.copies.calls),
        times_rustls_best: None,
        times_openssl_membio: None,
        times: BTreeMap::new(),
    }
}

fn fastest(measured: &[Measured], role: Role) -> Option<&Measured> {
    let candidates = measured.iter().filter(|lane| lane.subject.role == role);
    candidates.min_by(|a, b| median(&a.times).total_cmp(&median(&b.times)))
}

fn times_faster(lane: &Measured, reference: &Measured) -> f64 {
    median(&ratios(&reference.times, &lane.times))
}

fn others(lane: &Measured, measured: &[Measured]) -> BTreeMap<String, f64> {
    let peers = measured.iter().filter(|other| other.subject.role != Role::Ours);
    peers.map(|other| (other.subject.name.to_owned(), times_faster(lane, other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::find;
    use crate::measure::{Direction, Transport};
    use crate::setting::Suite;

    fn lane(name: &str, times: &[f64]) -> Measured {
        let subject = find(name, None).unwrap();
        let (times, protection) = (times.to_vec(), subject.protection.to_owned());
        let counts = crate::count::Counts::default();
        Measured { subject, protection, times, counts, counted: 1 }
    }

    fn group() -> Group {
        let (suite, direction) = (Suite::ALL[0], Direction::Both);
        Group { suite, transport: Transport::Memory, payload: 64, direction, subjects: Vec::new() }
    }

    #[test]
    fn ratios_are_against_the_fastest_rustls_and_the_memory_bios() {
        let measured = [
            lane("arenatls", &[1.0, 2.0, 3.0]),
            lane("rustls-ring-buffered", &[2.0, 4.0, 6.0]),
            lane("rustls-aws-lc-rs-buffered", &[9.0, 9.0, 9.0]),
            lane("openssl-membio", &[4.0, 8.0, 12.0]),
        ];
        let rows = rows(&group(), &measured);
        assert_eq!(rows[0].times_rustls_best, Some(2.0));
        assert_eq!(rows[0].times_openssl_membio, Some(4.0));
        assert_eq!(rows[1].times_rustls_best, Some(1.0));
        assert_eq!(rows[0].times.len(), 3);
    }

    #[test]
    fn a_row_has_the_fields_that_readers_of_the_json_know() {
        let rows = rows(&group(), &[lane("arenatls", &[1.0])]);
        let json = serde_json::to_value(&rows[0]).unwrap();
        let known = "contender protection backend transport version suite payload direction ns_per_op rust_allocs \
                     rust_bytes openssl_allocs openssl_bytes libc_allocs libc_bytes copied_per_byte";
        for field in known.split(' ') {
            assert!(json.get(field).is_some(), "{field}");
        }
        for field in ["min", "median", "max"] {
            assert_eq!(json["ns_per_op"][field], 1.0, "{field}");
        }
        assert_eq!(serde_json::from_value::<Row>(json).unwrap(), rows[0]);
    }
}
