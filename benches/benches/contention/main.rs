//! Threads that share a connection, and connections that come and go, over loopback.
//!
//! `cargo bench --bench contention -- --help` tells the options.

use std::process::ExitCode;

fn main() -> ExitCode {
    arenatls_benches::contention::main()
}
