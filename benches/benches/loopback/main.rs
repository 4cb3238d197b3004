//! What a request costs each server's processor, over loopback TCP.
//!
//! `cargo bench --bench loopback -- --help` tells the options.

use std::process::ExitCode;

arenatls_benches::count_everything!();
arenatls_benches::count_system_calls!();

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    arenatls_benches::loopback::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("loopback: SKIPPED: this bench knows Linux only");
    ExitCode::SUCCESS
}
