//! An HTTP/1.1 server over TLS: a thread per connection, blocking sockets, and memory from one pool for all of them.
//!
//! ```text
//! cargo run --example serve -- --listen 127.0.0.1:4433
//! ```

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread::{self, Scope};
use std::time::Duration;

use arenatls::{ArenaPool, Budget};

mod args;
#[path = "../common/mod.rs"]
mod common;
mod context;
mod identity;
mod reply;
mod request;
mod worker;

use args::{Args, HELP};
use common::failure::Failure;
use identity::Identity;
use worker::Shared;

/// Memory of one connection (bytes).
const PER_CONNECTION: usize = 64 * 1024;
/// Connections at a time.
const CONNECTIONS: usize = 512;

fn main() -> ExitCode {
    match Args::parse(lexopt::Parser::from_env()) {
        Ok(None) => {
            say(HELP.trim_end());
            ExitCode::SUCCESS
        }
        Ok(Some(args)) => finish(serve(&args)),
        Err(failure) => finish(Err(failure)),
    }
}

fn finish(outcome: Result<(), Failure>) -> ExitCode {
    outcome.map_or_else(
        |failure| {
            failure.report("serve");
            failure.exit_code()
        },
        |()| ExitCode::SUCCESS,
    )
}

fn serve(args: &Args) -> Result<(), Failure> {
    let (context, made) = context::build(args)?;
    let shared = Shared {
        context,
        pool: ArenaPool::with_limit(Budget::bytes(PER_CONNECTION), CONNECTIONS),
        options: args.options,
        timeout: args.timeout,
    };
    let listener = listen(&args.listen)?;
    let address =
        listener.local_addr().map_err(|cause| Failure::Network { doing: "learn the address".into(), cause })?;
    // Last, so that nothing is left behind where something else fails.
    let ca_file = made.as_ref().map(Identity::write_ca).transpose()?;
    say(&format!("listening on {address}"));
    if let Some(file) = ca_file {
        say(&format!("for clients to trust: {}", file.display()));
    }
    thread::scope(|scope| accept_for_ever(scope, &listener, &shared))
}

fn listen(address: &str) -> Result<TcpListener, Failure> {
    let doing = || format!("listen on {address}");
    TcpListener::bind(address).map_err(|cause| Failure::Local { doing: doing(), cause: cause.into() })
}

fn accept_for_ever<'scope>(scope: &'scope Scope<'scope, '_>, listener: &TcpListener, shared: &'scope Shared) -> ! {
    let mut number = 0_u64;
    loop {
        number += 1;
        match listener.accept() {
            Ok((socket, peer)) => start(scope, shared, socket, format!("#{number} {peer}")),
            Err(error) => {
                // Out of descriptors, say: some connection has to end first.
                say(&format!("#{number}: cannot accept: {error}"));
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn start<'scope>(scope: &'scope Scope<'scope, '_>, shared: &'scope Shared, socket: TcpStream, name: String) {
    let label = name.clone();
    let started = thread::Builder::new().spawn_scoped(scope, move || worker::run(shared, socket, &label));
    if let Err(error) = started {
        say(&format!("{name}: turned away, no thread for it: {error}"));
    }
}

/// Prints a line. That nobody reads it must not end a connection.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
