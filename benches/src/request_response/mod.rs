//! Small requests over loopback TCP: the bench's main line.
//!
//! A TLS library that gives a request to the kernel in two pieces meets Nagle's algorithm and delayed acknowledgements:
//! from thousands of requests a second to two dozen. This bench looks for that, and counts what would bring it about.

mod args;
mod contenders;
mod lane;
mod speech;
mod tell;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arenatls_rig::talk::has_a_ring;

use crate::measure::pin_to_one_core;
use crate::run::{self, Mode};
use crate::setting::Parties;
use crate::sheet::{Sheet, Table};
use contenders::contenders;
use lane::Lane;
use speech::{SPEECHES, Speech};

pub use args::{Args, HELP};

/// Rounds in which the contenders take turns.
const ROUNDS: usize = 10;

/// A request of several records (bytes), and its response.
const LONG: (usize, usize) = (40_000, 100);

/// How long a contender that stalls is watched in a round.
const PATIENCE: Duration = Duration::from_millis(300);

/// Runs the bench as the command line says.
///
/// # Panics
///
/// Panics if a contender does not work, or if arenatls breaks what its tests promise.
pub fn main() -> ExitCode {
    run::main("request_response", HELP, Ok(()), Args::parse, |args| {
        take(args).map_err(|error| format!("the sheet is not written: {error}"))
    })
}

fn take(args: &Args) -> io::Result<()> {
    let begun = Instant::now();
    let mut sheet = tell::sheet(args.mode == Mode::Quick, command(args));
    // Client and server wait for each other, so that one core is enough; on two it would be chance who wakes whom where.
    sheet.host.pinned_to = pin_to_one_core();
    let course = Course {
        parties: Parties::new(),
        with_ring: has_a_ring(),
        rounds: if args.mode == Mode::Test { 1 } else { ROUNDS },
        patience: if args.mode == Mode::Full { PATIENCE } else { PATIENCE / 6 },
    };
    let small = format!("Requests and responses of {} bytes", args.length);
    let long = format!("Requests of {} bytes, which are several records", LONG.0);
    sheet.tables.push(course.table(&small, "", (args.length, args.length), args.requests));
    let about = "The response has 100 bytes. One write, and it should be one submission.";
    sheet.tables.push(course.table(&long, about, LONG, args.requests.div_ceil(10)));
    sheet.seconds = begun.elapsed().as_secs_f64();
    if !course.with_ring {
        sheet.notes.push("There is no io_uring here: the rows of the ring are missing.".into());
    }
    finish(&sheet, args.mode)
}

fn finish(sheet: &Sheet, mode: Mode) -> io::Result<()> {
    if mode == Mode::Test {
        let rows: usize = sheet.tables.iter().map(|table| table.rows.len()).sum();
        println!("request_response: {rows} rows work");
        return Ok(());
    }
    print!("{}", sheet.text());
    eprintln!("written: {}", sheet.save()?.display());
    Ok(())
}

fn command(args: &Args) -> String {
    let Args { requests, length, .. } = args;
    let quick = if args.mode == Mode::Quick { " --quick" } else { "" };
    format!("cargo bench --bench request_response --{quick} --requests {requests} --length {length}")
}

/// How all settings are run.
struct Course {
    parties: Parties,
    with_ring: bool,
    rounds: usize,
    patience: Duration,
}

impl Course {
    fn table(&self, title: &str, about: &str, lengths: (usize, usize), requests: usize) -> Table {
        let mut table = tell::table(title, about);
        for speech in &SPEECHES {
            for nagle in [true, false] {
                self.enter(&mut table, speech, nagle, lengths, requests);
            }
        }
        table
    }

    fn enter(&self, table: &mut Table, speech: &Speech, nagle: bool, lengths: (usize, usize), requests: usize) {
        let group = format!("{}, {}", speech.title, if nagle { "Nagle" } else { "no delay" });
        eprintln!("{}: {group}", table.title);
        let share = requests.div_ceil(self.rounds);
        let list = contenders(speech, &self.parties, self.with_ring);
        let lane = |contender| Lane::new(contender, nagle, lengths, share, self.patience);
        let mut lanes: Vec<_> = list.iter().map(lane).collect();
        for _ in 0..self.rounds {
            lanes.iter_mut().for_each(Lane::round);
        }
        for lane in lanes {
            let (name, ours, found) = lane.end();
            if let Some(remark) = tell::remark(&found) {
                eprintln!("  {name}: {remark}");
            }
            table.push(&group, name, ours, tell::cells(&found));
        }
    }
}
