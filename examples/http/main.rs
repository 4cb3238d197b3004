//! An HTTP/1.1 server over TLS on io_uring: a ring, a listening socket and a thread as often as asked for. It keeps
//! connections alive, answers pipelines, and streams answers of any length as the peer takes them.
//!
//! ```text
//! cargo run --release --features fd-owner --example http -- --listen 127.0.0.1:4433
//! wrk -t1 -c64 -d5 https://127.0.0.1:4433/
//! h2load --h1 -t1 -c64 -n100000 https://127.0.0.1:4433/
//! ```

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod args;
#[cfg(target_os = "linux")]
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "parts of it are for connections on blocking sockets")]
mod common;
#[cfg(target_os = "linux")]
mod context;
#[cfg(target_os = "linux")]
#[path = "../serve/identity.rs"]
mod identity;
#[cfg(target_os = "linux")]
mod listen;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod site;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    serve::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("http: {}", arenatls::fd_owner::Unsupported::NotLinux);
    ExitCode::FAILURE
}
