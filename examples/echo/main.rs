//! Sends back what comes, over TLS: the same application on memory that a thread moves to and from a blocking socket, and
//! on sockets that a ring owns.
//!
//! ```text
//! cargo run --release --features fd-owner --example echo -- --listen 127.0.0.1:4433 --backend uring --threads 2
//! openssl s_client -quiet -connect 127.0.0.1:4433
//! ```

use std::error::Error;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::process::ExitCode;
use std::thread;

use arenatls::openssl::ssl::SslContext;
use lexopt::prelude::*;

mod app;
mod arena;
mod context;
#[cfg(target_os = "linux")]
mod uring;

const HELP: &str = "\
echo: sends back what comes, over TLS

  echo --listen ADDRESS:PORT [OPTIONS]

  --listen ADDRESS:PORT    where to listen; port 0 takes a free one, and the first line printed says which
  --backend arena|uring    who moves the bytes: a blocking thread for each connection, or a ring for each thread [uring]
  --threads N              threads that accept [1]
  --cert FILE --key FILE   certificate chain and key (PEM); without them an identity for localhost is made
  --help                   this
";

/// Whatever ends the program.
type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Arena,
    Uring,
}

struct Args {
    listen: String,
    backend: Choice,
    threads: usize,
    files: (Option<String>, Option<String>),
}

fn main() -> ExitCode {
    let run = || match parse(lexopt::Parser::from_env())? {
        Some(args) => serve(&args),
        None => say(HELP.trim_end()),
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("echo: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Option<Args>, Failure> {
    let mut args = Args { listen: String::new(), backend: Choice::Uring, threads: 1, files: (None, None) };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("listen") => args.listen = parser.value()?.string()?,
            Long("backend") => args.backend = backend(&parser.value()?.string()?)?,
            Long("threads") => args.threads = parser.value()?.parse()?,
            Long("cert") => args.files.0 = Some(parser.value()?.string()?),
            Long("key") => args.files.1 = Some(parser.value()?.string()?),
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    if args.listen.is_empty() {
        return Err("--listen is missing, say --listen 127.0.0.1:4433".into());
    }
    Ok(Some(args))
}

fn backend(name: &str) -> Result<Choice, Failure> {
    match name {
        "arena" => Ok(Choice::Arena),
        "uring" => Ok(Choice::Uring),
        _ => Err(format!("--backend is arena or uring, not {name:?}").into()),
    }
}

fn serve(args: &Args) -> Result<(), Failure> {
    let context = context::build(&args.files)?;
    let listener = TcpListener::bind(&args.listen)?;
    say(&format!("listening on {}", listener.local_addr()?))?;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..args.threads.max(1))
            .map(|_| listener.try_clone())
            .map(|listener| scope.spawn(|| work(args.backend, listener?, &context)))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
    })
}

fn work(backend: Choice, listener: TcpListener, context: &SslContext) -> Result<(), Failure> {
    match backend {
        Choice::Arena => arena::serve(&listener, context),
        #[cfg(target_os = "linux")]
        Choice::Uring => uring::serve(listener, context),
        #[cfg(not(target_os = "linux"))]
        Choice::Uring => Err(arenatls::fd_owner::Unsupported::NotLinux.into()),
    }
}

/// Prints a line.
fn say(line: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
