//! `cargo bench --bench handshakes`: what handshakes cost.

mod course;
mod life;
mod plan;
mod tables;
mod watch;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use crate::count;
use crate::ends::{Certificate, Parties};
use crate::run::{self, Args, Mode, Progress};
use crate::sheet::Sheet;
use course::{Counted, Course, Rate, Sharing, Spent, THREADS, Until};
use plan::{Heat, Subject, plan};

const HELP: &str = "\
What TLS handshakes cost: processor time of each end, allocations, bytes, and how they scale over two threads.

Usage: cargo bench --bench handshakes -- [OPTIONS]

Options:
      --quick         A rough run in less than a minute
      --only REGEX    Only the rows whose label matches; a label reads `group contender`, as in
                      `TLS 1.3, P-256, X25519, full rustls-ring`
      --test          Does every row work? Measures next to nothing and keeps no sheet
  -h, --help          Prints this

Keeps benches/handshakes.json in cargo's target directory.
";

/// How hard to measure.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Turns of every contender in one thread.
    rounds: usize,
    /// A turn.
    turn: Until,
    /// Turns of every contender in several threads.
    races: usize,
    /// A race.
    race: Until,
    /// Handshakes before anything is measured, and those over which allocations are counted.
    counted: u64,
}

/// What was measured of one contender.
struct Entry {
    subject: Subject,
    spent: Vec<Spent>,
    counted: Counted,
    /// One thread, several with shared contexts, several with their own; one of each a round.
    rates: Vec<[Rate; 3]>,
}

/// Runs the bench as the command line says.
///
/// # Panics
///
/// If a contender does not work, or a handshake is not what its row says.
pub fn main() -> ExitCode {
    run::main("handshakes", HELP, count::install(), Args::parse, take)
}

fn take(args: &Args) -> io::Result<()> {
    let heats = plan(args);
    if heats.is_empty() {
        return Err(io::Error::other("no row matches `--only`"));
    }
    let mut sheet = Sheet::new("handshakes", "Handshakes", args.mode == Mode::Quick, None);
    let effort = effort(args);
    let mut kinds = [Certificate::P256, Certificate::Rsa2048].map(|kind| (kind, None));
    let mut progress = Progress::new(heats.len());
    let mut entries = Vec::new();
    for heat in &heats {
        progress.step(&format!("{}: {} contenders", heat.title(), heat.subjects.len()));
        let wanted = kinds.iter_mut().find(|(kind, _)| *kind == heat.terms.certificate);
        let (kind, parties) = wanted.expect("there are two kinds");
        let parties = parties.get_or_insert_with(|| Parties::new(*kind));
        entries.push(measure(heat, parties, &effort));
    }
    if args.mode == Mode::Test {
        println!("handshakes: {} rows work", entries.iter().map(Vec::len).sum::<usize>());
        return Ok(());
    }
    tables::fill(&mut sheet, &heats, &entries);
    sheet.seconds = progress.elapsed().as_secs_f64();
    eprintln!("kept: {}", sheet.save()?.display());
    print!("{}", sheet.text());
    Ok(())
}

fn effort(args: &Args) -> Effort {
    let milliseconds = |number| Until::Passed(Duration::from_millis(number));
    let full = Effort { rounds: 25, turn: milliseconds(40), races: 11, race: milliseconds(100), counted: 50 };
    let quick = Effort { rounds: 5, turn: milliseconds(20), races: 3, race: milliseconds(40), counted: 10 };
    let test = Effort { rounds: 1, turn: Until::Done(2), races: 1, race: Until::Done(2), counted: 2 };
    args.choose(full, quick, test)
}

fn measure(heat: &Heat, parties: &Parties, effort: &Effort) -> Vec<Entry> {
    let subjects = heat.subjects.iter();
    let mut courses: Vec<_> = subjects.map(|subject| (subject.course)(&heat.terms, parties)).collect();
    let mut entries: Vec<_> = heat.subjects.iter().zip(&mut courses).map(|pair| enter(pair, effort)).collect();
    for _ in 0..effort.rounds {
        for (entry, course) in entries.iter_mut().zip(&mut courses) {
            entry.spent.push(course.turn(effort.turn));
        }
    }
    for _ in 0..if heat.raced { effort.races } else { 0 } {
        for (entry, course) in entries.iter_mut().zip(&mut courses) {
            entry.rates.push(race(&mut **course, effort.race));
        }
    }
    entries
}

fn enter((subject, course): (&Subject, &mut Box<dyn Course>), effort: &Effort) -> Entry {
    course.turn(Until::Done(effort.counted));
    let counted = course.count(effort.counted);
    Entry { subject: *subject, spent: Vec::new(), counted, rates: Vec::new() }
}

fn race(course: &mut dyn Course, until: Until) -> [Rate; 3] {
    let ways = [(1, Sharing::Shared), (THREADS, Sharing::Shared), (THREADS, Sharing::Own)];
    ways.map(|(threads, sharing)| course.race(threads, sharing, until))
}
