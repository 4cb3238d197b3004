//! What the benches share: their main line, their command line, and how they say how far they are.

mod args;
mod progress;

use std::env::{self, ArgsOs};
use std::fmt::Display;
use std::iter::Skip;
use std::process::{ExitCode, Termination};

use crate::count::NotCounting;

pub use args::{Args, Mode, parse};
pub use progress::Progress;

/// The main line of a bench: `understand` reads its command line, and returns nothing if only the help is wanted;
/// `start` does what was read.
///
/// `counting` is what came of putting the counters in place, if the bench counts. That comes first of all: OpenSSL
/// takes an allocator hook only before its first allocation.
///
/// The exit code is 2 for a command line that is not understood, 1 if the bench fails.
pub fn main<A, T: Termination, E: Display>(
    name: &str,
    help: &str,
    counting: Result<(), NotCounting>,
    understand: impl FnOnce(Skip<ArgsOs>) -> Result<Option<A>, lexopt::Error>,
    start: impl FnOnce(&A) -> Result<T, E>,
) -> ExitCode {
    match understand(env::args_os().skip(1)) {
        Ok(Some(args)) => end(name, counting, || start(&args)),
        Ok(None) => {
            print!("{help}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint!("{name}: {error}\n\n{help}");
            ExitCode::from(2)
        }
    }
}

/// What is left of [`main`] once it is known what to do.
pub fn end<T: Termination, E: Display>(
    name: &str,
    counting: Result<(), NotCounting>,
    start: impl FnOnce() -> Result<T, E>,
) -> ExitCode {
    let done = counting.map_err(|error| error.to_string());
    match done.and_then(|()| start().map_err(|error| error.to_string())) {
        Ok(done) => done.report(),
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
