//! From the command line to threads that serve.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use arenatls::fd_owner::DriverError;

use crate::args::{Args, HELP};
use crate::common::failure::Failure;
use crate::identity::Identity;
use crate::worker::{self, Shared};
use crate::{context, listen};

pub(crate) fn main() -> ExitCode {
    let outcome = Args::parse(lexopt::Parser::from_env()).and_then(|args| match args {
        Some(args) => serve(&args),
        None => {
            say(HELP.trim_end());
            Ok(())
        }
    });
    outcome.map_or_else(
        |failure| {
            failure.report("http");
            failure.exit_code()
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Returns when one thread fails; the others end with the process.
fn serve(args: &Args) -> Result<(), Failure> {
    let (context, made) = context::build(args)?;
    let shared = Shared {
        context,
        options: args.options,
        root: args.root.clone(),
        connections: args.connections,
        timeout: args.timeout,
    };
    let doing = || format!("listen on {}", args.listen);
    let refused = |cause: io::Error| Failure::Local { doing: doing(), cause: cause.into() };
    let listeners = listen::listen(&args.listen, args.threads).map_err(refused)?;
    let address = listeners[0].local_addr().map_err(refused)?;
    let (tell, hear) = channel();
    for listener in listeners {
        start(&shared, listener, tell.clone())?;
    }
    drop(tell);
    for _ in 0..args.threads {
        outcome(hear.recv().ok())?;
    }
    // Last, so that nothing is left behind where something else fails.
    let ca_file = made.as_ref().map(Identity::write_ca).transpose()?;
    say(&format!("listening on {address}"));
    if let Some(file) = ca_file {
        say(&format!("for clients to trust: {}", file.display()));
    }
    outcome(hear.recv().ok())
}

/// Starts a thread. It says `Ok` once it serves, and why when it does not any more.
fn start(shared: &Shared, listener: TcpListener, tell: Sender<Result<(), DriverError>>) -> Result<(), Failure> {
    let shared = shared.clone();
    let run = move || {
        let outcome = worker::run(&shared, listener, || drop(tell.send(Ok(()))));
        // Nobody hears it if another was faster.
        let _ = tell.send(outcome);
    };
    let started = thread::Builder::new().spawn(run);
    started.map(drop).map_err(|cause| Failure::Local { doing: "start a thread".into(), cause: cause.into() })
}

/// What a thread said; `None` if all of them are gone without a word.
fn outcome(said: Option<Result<(), DriverError>>) -> Result<(), Failure> {
    let doing = || "serve by io_uring".into();
    let said = said.ok_or_else(|| Failure::Local { doing: doing(), cause: "a thread panicked".into() })?;
    said.map_err(|cause| Failure::Local { doing: doing(), cause: cause.into() })
}

/// Prints a line. That nobody reads it must not end the server.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
