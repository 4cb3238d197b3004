//! Fetches a page by HTTP/1.1 over TLS from memory of one pool, and says what was negotiated and how long it took.
//!
//! ```text
//! cargo run --example connect -- https://localhost:4433/ --ca ca.pem
//! ```

use std::io::{self, IoSlice, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arenatls::{ArenaPool, Budget, Error};

mod answer;
mod args;
mod chunks;
mod client;
#[path = "../common/mod.rs"]
mod common;
mod url;

use answer::Answer;
use args::{Args, HELP};
use client::{Client, Opened};
use common::choices;
use common::failure::Failure;
use common::http;
use common::link::{Link, Turn};
use url::Url;

/// Memory of one connection (bytes).
const PER_CONNECTION: usize = 64 * 1024;
/// How long the end of a connection may take.
const LINGER: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let outcome = match Args::parse(lexopt::Parser::from_env()) {
        Ok(None) => io::stdout()
            .write_all(HELP.as_bytes())
            .map_err(|cause| Failure::Local { doing: "write to standard output".into(), cause: cause.into() }),
        Ok(Some(args)) => fetch(&args),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report("connect");
            failure.exit_code()
        }
    }
}

fn fetch(args: &Args) -> Result<(), Failure> {
    let pool = ArenaPool::new(Budget::bytes(PER_CONNECTION));
    let client = Client::new(args, &pool)?;
    let mut left = args.repeat;
    while left > 0 {
        left -= visit(&client, args, left, false)?;
    }
    if args.resume {
        visit(&client, args, 1, true)?;
    }
    Ok(())
}

/// One connection, and as many as `most` requests on it; returns how many were answered.
fn visit(client: &Client<'_>, args: &Args, most: u32, resume: bool) -> Result<u32, Failure> {
    let mut opened = client.open(resume)?;
    describe(&opened);
    let outcome = ask(&mut opened.link, args, most, resume);
    opened.link.close(LINGER);
    outcome
}

fn describe(Opened { link, address, tcp, handshake }: &Opened<'_>) {
    eprintln!("connected to {address}: {}", choices::facts(link.connection()));
    eprintln!("  TCP {}, handshake {}", millis(*tcp), millis(*handshake));
}

fn ask(link: &mut Link<'_>, args: &Args, most: u32, resume: bool) -> Result<u32, Failure> {
    http::is_agreed_on(link.connection())?;
    if resume && !link.connection().ssl().session_reused() {
        return Err(Failure::Http("the server did not resume the session".into()));
    }
    let mut answered = 0;
    while answered < most {
        let started = Instant::now();
        request(link, &args.url)?;
        let (answer, first_byte) = receive(link, started)?;
        let (status, bytes, total) = (answer.status(), answer.body_bytes(), millis(started.elapsed()));
        eprintln!("  GET {}: {status}, {bytes} bytes, first byte {first_byte}, total {total}", args.url.path);
        answered += 1;
        if !answer.keep_alive() {
            break;
        }
    }
    Ok(answered)
}

fn request(link: &mut Link<'_>, url: &Url) -> Result<(), Failure> {
    let Url { authority, path, .. } = url;
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: arenatls-connect\r\nAccept: */*\r\n\r\n");
    link.expect("the answer");
    // If it cannot be sent, the server may still say why.
    link.send(&mut [IoSlice::new(head.as_bytes())]).map(|_| ())
}

/// The whole answer, its body passed on to standard output; and the time to its first byte.
fn receive(link: &mut Link<'_>, started: Instant) -> Result<(Answer, String), Failure> {
    let (mut answer, mut first_byte) = (Answer::new(), None);
    let mut body = io::stdout().lock();
    while !answer.is_whole() {
        link.expect("the answer");
        let mut taken = Ok(());
        let turn = link.next(|bytes| {
            first_byte.get_or_insert_with(|| started.elapsed());
            taken = answer.take(bytes, &mut body);
        });
        taken?;
        match turn {
            Ok(Turn::Closed) => answer.closed()?,
            Ok(Turn::Data | Turn::Ready) => {}
            Err(Failure::Tls(Error::Truncated)) => {
                let how_far = answer.progress();
                return Err(Failure::Http(format!("the answer is truncated: the connection was cut {how_far}")));
            }
            Err(failure) => return Err(failure),
        }
    }
    let flushed = body.flush();
    flushed.map_err(|cause| Failure::Local { doing: "write to standard output".into(), cause: cause.into() })?;
    Ok((answer, millis(first_byte.unwrap_or_default())))
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
