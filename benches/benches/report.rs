//! Runs the other benches, and makes one page of what they have found.
//!
//! `cargo bench --bench report -- --help` tells the options.

use std::process::ExitCode;

fn main() -> ExitCode {
    arenatls_benches::page::main()
}
