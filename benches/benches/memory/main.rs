//! What a connection of each contender holds of memory.
//!
//! `cargo bench --bench memory -- --help` tells the options.

use std::process::ExitCode;

arenatls_benches::count_everything!();

fn main() -> ExitCode {
    arenatls_benches::memory::main()
}
