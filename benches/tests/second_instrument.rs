//! The ledger's count of what reaches libc, confirmed by a second instrument: glibc's own malloc trace.
//!
//! The one program counts by taking the place of `malloc`; the other takes nobody's place, and glibc's debugging
//! library writes down each call. For every contender below both must tell the same number, to the last allocation.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::{env, fs, process};

use arenatls_benches::count::Counts;

/// glibc's library that writes the trace.
const TRACER: &str = "libc_malloc_debug.so.0";

/// Records by which the longer of two runs is longer.
const RECORDS: usize = 100;

/// Who sends what, and what is expected of libc for a record, if that is fixed.
struct Case {
    contender: &'static str,
    protection: &'static str,
    payload: usize,
    expected: Option<u64>,
}

/// Nothing, where OpenSSL gives the keys away in both directions, as the vendored one does.
const ENGINE: Option<u64> = if cfg!(feature = "vendored") { Some(0) } else { None };

const CASES: &[Case] = &[
    case("arenatls", "Library", 1024, Some(4)),
    case("arenatls", "Engine", 1024, ENGINE),
    case("arenatls", "Engine", 16384, ENGINE),
    // Three for SSL_write and one for SSL_read, in TLS 1.3.
    case("openssl-membio", "own", 1024, Some(4)),
    case("openssl-stream", "own", 64, Some(4)),
    // One for the ciphertext and one for the plaintext.
    case("rustls-ring-unbuffered", "own", 1024, Some(2)),
    // Its buffers grow and shrink again with every long record.
    case("rustls-aws-lc-rs-buffered", "own", 16384, None),
    case("wire-only", "own", 1024, Some(0)),
];

const fn case(contender: &'static str, protection: &'static str, payload: usize, expected: Option<u64>) -> Case {
    Case { contender, protection, payload, expected }
}

#[test]
fn glibc_traces_what_the_ledger_counts() {
    for case in CASES {
        let Some(traced) = traced(case) else {
            eprintln!("SKIPPED: {TRACER} cannot be loaded, so nothing confirms the ledger's counts");
            return;
        };
        let counted = counted(case);
        let Case { contender, payload, expected, .. } = case;
        println!("{contender}, {payload} B: {counted} counted, {traced} traced");
        assert_eq!(counted, traced, "{contender}, {payload} B, {RECORDS} records");
        if let Some(expected) = expected {
            assert_eq!(counted, expected * RECORDS as u64, "{contender}, {payload} B");
        }
    }
}

/// Allocations of [`RECORDS`] records, as the ledger's own counters see them.
fn counted(case: &Case) -> u64 {
    let output = errand(env!("CARGO_BIN_EXE_count"), case, RECORDS).output().unwrap();
    let counts: Counts = serde_json::from_slice(&succeeded(&output).stdout).unwrap();
    counts.libc.calls
}

/// Allocations of [`RECORDS`] records, as glibc traces them: the difference of two runs, so that what the tracer itself
/// allocates does not matter. Nothing if glibc's tracer is not there.
fn traced(case: &Case) -> Option<u64> {
    let long = trace(case, 2 * RECORDS)?;
    let short = trace(case, RECORDS)?;
    Some(long - short)
}

fn trace(case: &Case, records: usize) -> Option<u64> {
    let file = trace_file(case, records);
    let mut probe = errand(env!("CARGO_BIN_EXE_probe"), case, records);
    let output = probe.env("LD_PRELOAD", TRACER).env("MALLOC_TRACE", &file).output().unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("cannot be preloaded") {
        return None;
    }
    succeeded(&output);
    let trace = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let allocates = |line: &&str| line.contains(" + ") || line.contains(" > ");
    let lines = trace.lines().filter(allocates).count();
    assert!(trace.contains("= Start"), "glibc's trace has a beginning");
    Some(u64::try_from(lines).unwrap())
}

fn trace_file(case: &Case, records: usize) -> PathBuf {
    let Case { contender, protection, payload, .. } = case;
    let name = format!("trace-{}-{contender}-{protection}-{payload}-{records}", process::id());
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn errand(program: &str, case: &Case, records: usize) -> Command {
    let mut command = Command::new(program);
    command.args(["--contender", case.contender, "--protection", case.protection]);
    command.args(["--payload", &case.payload.to_string(), "--records", &records.to_string()]);
    command
}

fn succeeded(output: &Output) -> &Output {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    output
}
