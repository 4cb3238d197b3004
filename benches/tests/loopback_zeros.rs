//! Over a loopback connection that a ring owns, a full record allocates nothing, whoever is asked, and copies nothing.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::process::Command;

use arenatls_benches::contender::find;
use arenatls_benches::count::{Count, Counts};

const RECORDS: u64 = 500;
const PAYLOAD: u64 = 16384;

fn counted(contender: &str) -> Counts {
    let mut count = Command::new(env!("CARGO_BIN_EXE_count"));
    count.args(["--contender", contender, "--payload", &PAYLOAD.to_string(), "--records", &RECORDS.to_string()]);
    let output = count.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn copied_per_byte(counts: &Counts) -> f64 {
    counts.copies.bytes as f64 / (RECORDS * PAYLOAD) as f64
}

#[test]
fn a_full_record_on_a_ring_allocates_nothing_and_copies_nothing() {
    if !find("arenatls-fd-owner", None).unwrap().carrier.is_here() {
        eprintln!("SKIPPED: there is no io_uring here");
        return;
    }
    if cfg!(not(feature = "vendored")) {
        eprintln!("SKIPPED: an OpenSSL that keeps the keys allocates for records");
        return;
    }
    let counts = counted("arenatls-fd-owner");
    assert_eq!([counts.rust, counts.openssl, counts.libc], [Count::default(); 3]);
    // Nonces, headers and the like: a few dozen bytes a record. An unoptimised program moves its own variables by `memcpy`
    // as well; one copy of the payload would still be far beyond that.
    let limit = if cfg!(debug_assertions) { 0.6 } else { 0.005 };
    assert!(copied_per_byte(&counts) < limit, "{counts:?}");
}

/// The counters see what a ring does not do: OpenSSL over a socket of its own allocates, and copies both ways.
#[test]
fn the_same_over_openssls_own_sockets_does_both() {
    let counts = counted("openssl-set-fd");
    assert!(counts.openssl.calls >= RECORDS && counts.libc.calls >= RECORDS, "{counts:?}");
    assert!(copied_per_byte(&counts) >= 1.0, "{counts:?}");
}
