//! What a record costs each contender: time, allocations in three columns, copies.
//!
//! `cargo bench --bench ledger -- --help` tells the options.

use std::process::ExitCode;

arenatls_benches::count_everything!();

fn main() -> ExitCode {
    arenatls_benches::ledger::main()
}
