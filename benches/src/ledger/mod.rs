//! The ledger's main line: understand what is wanted, measure it, tell it.

mod args;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::count;
use crate::measure::{Effort, Group, measure, pin_to_one_core, plan};
use crate::report::{Host, Report, Row, Versions, markdown, rows, table, target_directory};
use crate::run::{self, Mode};
use crate::setting::{Parties, Suite};

pub use args::{Args, HELP};

/// Time for all turns of a full run, set-up not included.
const FULL: Duration = Duration::from_secs(75);

/// Time for all turns of a quick run, set-up not included.
const QUICK: Duration = Duration::from_secs(8);

/// Longest turn of one contender: a run of few rows need not last as long as one of all. Many short turns bear a busy
/// machine better than few long ones, for they are close to the turns they are compared with.
const LONGEST_TURN: Duration = Duration::from_millis(12);

/// Runs the ledger as the command line says.
///
/// # Panics
///
/// Panics if a contender does not work.
pub fn main() -> ExitCode {
    run::main("ledger", HELP, count::install(), Args::parse, |args| {
        take(args).map_err(|error| format!("the ledger is not written: {error}"))
    })
}

fn take(args: &Args) -> io::Result<()> {
    let suites = if args.mode == Mode::Test { &Suite::ALL[..] } else { &args.suites };
    let groups = plan(suites, |label| args.only.as_ref().is_none_or(|only| only.is_match(label)));
    if groups.is_empty() {
        return Err(io::Error::other("no row matches `--only`"));
    }
    let host = look();
    let rows = enter(&groups, &effort(args.mode, &groups));
    if args.mode == Mode::Test {
        println!("ledger: {} rows work", rows.len());
        return Ok(());
    }
    let report = Report { host, versions: Versions::linked(), rows };
    keep(&report, &target_directory())?;
    io::stdout().write_all(table(&report).as_bytes())
}

/// Counts the cores before the thread is pinned to one of them.
fn look() -> Host {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Host::look(pin_to_one_core(), cores)
}

fn effort(mode: Mode, groups: &[Group]) -> Effort {
    let rows: usize = groups.iter().map(|group| group.subjects.len()).sum();
    let (rounds, time) = match mode {
        Mode::Full => (75, FULL),
        Mode::Quick => (15, QUICK),
        Mode::Test => (1, Duration::ZERO),
    };
    let turns = u32::try_from(rounds * rows.max(1)).unwrap_or(u32::MAX);
    let records = if mode == Mode::Test { 8 } else { 256 };
    Effort { rounds, turn: (time / turns).min(LONGEST_TURN), warm_up: records, counted: records }
}

fn enter(groups: &[Group], effort: &Effort) -> Vec<Row> {
    let parties = Parties::new();
    let begun = Instant::now();
    let mut entered = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let (number, of, title) = (index + 1, groups.len(), group.title());
        eprint!("[{number:>2}/{of}] {title}: {} contenders ", group.subjects.len());
        let mut round = 0;
        let measured = measure(group, &parties, effort, || {
            round += 1;
            if round % 5 == 0 {
                eprint!(".");
            }
        });
        eprintln!(" {:.0} s", begun.elapsed().as_secs_f64());
        entered.extend(rows(group, &measured));
    }
    entered
}

fn keep(report: &Report, directory: &Path) -> io::Result<()> {
    let (json, page) = (directory.join("ledger.json"), directory.join("ledger.md"));
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    fs::create_dir_all(directory)?;
    fs::write(&json, text)?;
    fs::write(&page, markdown(report))?;
    eprintln!("written: {} and {}", json.display(), page.display());
    Ok(())
}
