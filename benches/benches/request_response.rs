//! Small requests over loopback TCP, one at a time: do they stall, and in how many pieces do they leave?
//!
//! `cargo bench --bench request_response -- --help` tells the options.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return arenatls_benches::request_response::main();
    #[cfg(not(target_os = "linux"))]
    {
        eprintln!("request_response: its counters are Linux's");
        ExitCode::SUCCESS
    }
}
