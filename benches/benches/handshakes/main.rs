//! What handshakes cost each contender.
//!
//! `cargo bench --bench handshakes -- --help` tells the options.

use std::process::ExitCode;

arenatls_benches::count_everything!();

fn main() -> ExitCode {
    arenatls_benches::handshakes::main()
}
