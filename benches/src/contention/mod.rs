//! The contention bench: threads that share one connection, and connections that come and go.
//!
//! Its shape and its defaults are those of a public report about a framework in Java whose writers met at the lock of a
//! connection. Everything asserts that bytes are right, nothing how fast they are.

mod args;
mod connections;
mod gate;
mod message;
mod peers;
mod ready;
mod traffic;
mod waits;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::run::{self, Mode};
use crate::setting::Parties;
use crate::sheet::Sheet;

pub use args::{Args, HELP};

const BENCH: &str = "contention";

/// Runs what the command line names.
///
/// # Panics
///
/// Panics if a byte is wrong, or nothing moves any more.
pub fn main() -> ExitCode {
    run::main(BENCH, HELP, Ok(()), Args::parse, |args| {
        take(args).map_err(|error| format!("the sheet is not written: {error}"))
    })
}

fn take(args: &Args) -> io::Result<()> {
    if !(args.traffic || args.connections) {
        print!("{HELP}");
        return Ok(());
    }
    let (parties, begun) = (Parties::new(), Instant::now());
    let mut sheet = Sheet::new(BENCH, "Contention", args.mode == Mode::Quick, None);
    sheet.about = ABOUT.map(String::from).to_vec();
    let named = [(args.traffic, "traffic"), (args.connections, "connections")];
    let (mut events, mut names) = (Vec::new(), String::new());
    for (_, name) in named.into_iter().filter(|(wanted, _)| *wanted) {
        let measure = if name == "traffic" { traffic::measure } else { connections::measure };
        let (tables, notes, happened) = measure(args, &parties);
        sheet.tables.extend(tables);
        sheet.notes.extend(notes);
        events.push((name, happened));
        names = format!("{names} {name}");
    }
    sheet.command = format!("cargo bench --bench {BENCH} --{names}");
    sheet.seconds = begun.elapsed().as_secs_f64();
    sheet.notes.push(format!("{}; {}", machine(&sheet), versions(&sheet)));
    print!("{}", sheet.text());
    if args.mode == Mode::Test {
        return Ok(());
    }
    let path = sheet.save()?;
    eprintln!("written: {}", path.display());
    let folder = path.parent().unwrap_or(Path::new("."));
    for (name, happened) in events {
        let path = folder.join(format!("{BENCH}-{name}.csv"));
        fs::write(&path, happened)?;
        eprintln!("written: {}", path.display());
    }
    Ok(())
}

fn machine(sheet: &Sheet) -> String {
    let (host, load) = (&sheet.host, sheet.host.load.map_or_else(|| "unknown".into(), |load| load.to_string()));
    format!("{}, {}, {} cores, load {load} before", host.system, host.processor, host.cores)
}

fn versions(sheet: &Sheet) -> String {
    let Sheet { versions: v, .. } = sheet;
    format!("arenatls {}, {}, rustls {} on aws-lc-rs {}, {}", v.arenatls, v.openssl, v.rustls, v.aws_lc_rs, v.rustc)
}

const ABOUT: [&str; 3] = [
    "Traffic: writers in threads of their own write to one connection, whose peer echoes every byte. Behind a mutex, a writer \
     takes the lock, seals its message as one record and sends it; with an owner, it copies its message into the ring of its \
     handle, and the owner's thread seals what lies in the rings, several short messages to a record. So the owner's records \
     are fewer and longer, for the peer, too.",
    "A lock entry is contended if `try_lock` fails. A wait for room is one for the socket behind a mutex, and one for the \
     ring of a handle. Sleeps are what the kernel counts as voluntary switches of the writing and reading threads, whatever \
     they waited for. Each figure is the median of the runs, with the least and the most of them.",
    "Connections: client and server are of the same library and share the machine, so a connection costs both ends.",
];
