//! `cargo bench --bench memory`: what a connection holds.
//!
//! For each contender and number of connections there is a process of its own, which has nothing but servers, and with
//! it another, which holds the clients. What the first has more than before is the servers'.

mod frame;
mod holder;
mod reading;
mod ring;
mod subject;
mod tables;

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode, Stdio};

use crate::count;
use crate::ends::{
    Arenatls, AwsLcRs, Engine, LeastMemory, Library, Openssl, Ring, Rustls, S2nTls, Usual, WithoutIdleBuffers,
};
use crate::run::{self, Args, Mode, Progress};
use crate::sheet::Sheet;
use reading::Reading;

const HELP: &str = "\
What a TLS connection holds of memory: after its handshake, idle, after traffic.

Usage: cargo bench --bench memory -- [OPTIONS]

Options:
      --quick         Fewer connections
      --only REGEX    Only the rows whose label matches; a label reads `connections contender`, as in
                      `10000 rustls-ring`
      --test          Does every row work? Counts a few connections and keeps no sheet
  -h, --help          Prints this

Keeps benches/memory.json in cargo's target directory.
";

/// The first argument of the process that holds the clients.
const HOLDER: &str = "--holder";
/// The first argument of the process that is measured; its contender and the number of connections follow.
const SUBJECT: &str = "--subject";
/// What goes through each connection, there and back (bytes).
const PAYLOAD: usize = 16 * 1024;

/// What was read after the handshakes, idle, after the echo, and when all were dropped, less what was there before.
type Readings = [Reading; 4];

/// A way to have servers.
struct Subject {
    name: &'static str,
    ours: bool,
    measure: fn(usize) -> io::Result<Readings>,
}

const SUBJECTS: [Subject; 9] = [
    ours("arenatls Engine", subject::in_memory::<Arenatls<Engine>>),
    ours("arenatls Engine, least budget", subject::in_memory::<Arenatls<LeastMemory>>),
    ours("arenatls Library", subject::in_memory::<Arenatls<Library>>),
    ours("arenatls RingDriver", ring::on_a_ring),
    other("openssl-membio", subject::in_memory::<Openssl<Usual>>),
    other("openssl-membio, release", subject::in_memory::<Openssl<WithoutIdleBuffers>>),
    other("rustls-aws-lc-rs", subject::in_memory::<Rustls<AwsLcRs>>),
    other("rustls-ring", subject::in_memory::<Rustls<Ring>>),
    other("s2n-tls", subject::in_memory::<S2nTls>),
];

const fn ours(name: &'static str, measure: fn(usize) -> io::Result<Readings>) -> Subject {
    Subject { name, ours: true, measure }
}

const fn other(name: &'static str, measure: fn(usize) -> io::Result<Readings>) -> Subject {
    Subject { name, ours: false, measure }
}

/// What was found of one contender with so many connections, or why nothing was.
struct Entry {
    subject: &'static Subject,
    connections: usize,
    readings: Result<Readings, String>,
}

/// Runs the bench as the command line says.
///
/// # Panics
///
/// If a contender does not work.
pub fn main() -> ExitCode {
    // First of all; see [`run::main`].
    let counting = count::install();
    count::watch_live();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some(HOLDER) => run::end("memory", counting, holder::hold),
        Some(SUBJECT) => run::end("memory", counting, || be_measured(&arguments[1..])),
        _ => run::main("memory", HELP, counting, Args::parse, take),
    }
}

/// The process that is measured: says what it has read, or what its contender lacks here.
fn be_measured(arguments: &[OsString]) -> io::Result<()> {
    let [name, connections] = arguments else { return Err(io::Error::other("a contender and a number")) };
    let subject = SUBJECTS.iter().find(|subject| name == subject.name);
    let subject = subject.ok_or_else(|| io::Error::other("there is no such contender"))?;
    let connections = connections.to_str().and_then(|number| number.parse().ok());
    let connections = connections.ok_or_else(|| io::Error::other("a number of connections"))?;
    let readings = match (subject.measure)(connections) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(error.to_string()),
        readings => Ok(readings?),
    };
    println!("{}", serde_json::to_string(&readings)?);
    Ok(())
}

fn take(args: &Args) -> io::Result<()> {
    let numbers = args.choose(&[1, 100, 10_000][..], &[1, 100, 1000], &[1, 20]);
    let wanted = |connections: usize| {
        SUBJECTS.iter().filter(move |subject| args.wants(&format!("{connections} {}", subject.name)))
    };
    let steps: usize = numbers.iter().map(|&connections| wanted(connections).count()).sum();
    if steps == 0 {
        return Err(io::Error::other("no row matches `--only`"));
    }
    let mut sheet = Sheet::new("memory", "Memory of a connection", args.mode == Mode::Quick, None);
    let mut progress = Progress::new(steps);
    let mut entries = Vec::new();
    for &connections in numbers {
        for subject in wanted(connections) {
            progress.step(&format!("{connections} connections: {}", subject.name));
            let readings = measure(subject, connections)?;
            if let Err(why) = &readings {
                eprintln!("SKIPPED: {}: {why}", subject.name);
            }
            entries.push(Entry { subject, connections, readings });
        }
    }
    entries.iter().for_each(check);
    if args.mode == Mode::Test {
        println!("memory: {} rows work", entries.len());
        return Ok(());
    }
    tables::fill(&mut sheet, &entries);
    sheet.seconds = progress.elapsed().as_secs_f64();
    eprintln!("kept: {}", sheet.save()?.display());
    print!("{}", sheet.text());
    Ok(())
}

/// In a process of its own.
fn measure(subject: &Subject, connections: usize) -> io::Result<Result<Readings, String>> {
    let mut command = Command::new(env::current_exe()?);
    let command = command.arg(SUBJECT).arg(subject.name).arg(connections.to_string()).stdin(Stdio::null());
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        let (name, status) = (subject.name, output.status);
        return Err(io::Error::other(format!("{name} with {connections} connections: {status}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Connections hold memory, and give it back: all of OpenSSL's where it is OpenSSL's.
fn check(entry: &Entry) {
    let (name, connections) = (entry.subject.name, entry.connections);
    let Ok([shaken, _, _, dropped]) = &entry.readings else { return };
    assert!(shaken.libc > 0, "{name}, {connections}: {shaken:?}");
    // What a library keeps for the next connection does not grow with the number of those that went.
    assert!(dropped.openssl <= 64 * 1024, "{name}, {connections}: {dropped:?}");
}
