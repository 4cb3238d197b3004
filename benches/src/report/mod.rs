//! The ledger as data, and where it is kept.

mod host;
mod markdown;
mod table;
mod target;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contender::Role;
use crate::measure::{Group, Measured, Summary, median, ratios};

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
    /// `Library`, `Engine` or `Kernel`; `own` for peers, `none` for floors.
    pub protection: String,
    /// The backend of arenatls; `own` for peers, `none` for floors.
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
        let Self {
            version,
            suite,
            transport,
            payload,
            direction,
            ..
        } = self;
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
        protection: lane.subject.protection.into(),
        backend: lane.subject.backend.into(),
        transport: "memory".into(),
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
    let peers = measured
        .iter()
        .filter(|other| other.subject.role != Role::Ours);
    peers
        .map(|other| (other.subject.name.to_owned(), times_faster(lane, other)))
        .collect()
}
