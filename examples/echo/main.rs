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
use std::sync::mpsc::{Sender, channel};
use std::thread;

use arenatls::fd_owner::DriverError;
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
    threads: u32,
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
            Long("threads") => args.threads = threads(&parser.value()?.string()?)?,
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

fn threads(value: &str) -> Result<u32, Failure> {
    let number = value.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| format!("--threads is a number from 1 to 1024, not {value:?}").into())
}

/// Returns when one thread fails; the others end with the process.
fn serve(args: &Args) -> Result<(), Failure> {
    let context = context::build(&args.files)?;
    let listener = TcpListener::bind(&args.listen)?;
    let address = listener.local_addr()?;
    let (tell, hear) = channel();
    for _ in 0..args.threads {
        start(args.backend, listener.try_clone()?, context.clone(), tell.clone());
    }
    drop(tell);
    for _ in 0..args.threads {
        hear.recv().map_err(|_| "a thread panicked")??;
    }
    say(&format!("listening on {address}"))?;
    hear.recv().map_err(|_| "all threads panicked")?
}

/// Starts a thread. It says `Ok` once it serves, and why when it does not any more.
fn start(backend: Choice, listener: TcpListener, context: SslContext, tell: Sender<Result<(), Failure>>) {
    thread::spawn(move || {
        let ready = || drop(tell.send(Ok(())));
        let outcome = match backend {
            Choice::Arena => arena::serve(&listener, &context, ready),
            #[cfg(target_os = "linux")]
            Choice::Uring => uring::serve(listener, &context, ready).map_err(with_advice),
            #[cfg(not(target_os = "linux"))]
            Choice::Uring => Err(with_advice(DriverError::from(arenatls::fd_owner::Unsupported::NotLinux).into())),
        };
        // Nobody hears it if another was faster.
        let _ = tell.send(outcome);
    });
}

/// Where there is no ring, there is another way.
fn with_advice(failure: Failure) -> Failure {
    match failure.downcast_ref() {
        Some(DriverError::Unsupported(_)) => format!("{failure}\necho: hint: --backend arena needs no io_uring").into(),
        _ => failure,
    }
}

/// Prints a line.
fn say(line: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
