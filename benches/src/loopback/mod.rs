//! What a request costs a server's processor: 1 KiB there and back over loopback TCP, every server under the same load.
//!
//! `cargo bench --bench loopback` runs it. A [`Server`](servers::Server) has one thread on a core of its own; the one
//! thread of its clients has the others. Servers take turns, round by round, each turn with fresh connections: so what
//! befalls the machine befalls all of them, and ratios are taken within a round.

mod args;
mod bare_ring;
pub mod clients;
pub mod cores;
mod epoll;
mod link;
pub mod load;
pub mod servers;
mod targets;
mod tell;
pub mod turn;
pub mod work;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::count;
use crate::run::{self, Mode};
use cores::{Cores, most_descriptors, stay_on};
use load::{Figures, Plan};
use servers::{SUBJECTS, Subject};
use turn::{Part, turn};
use work::Work;

pub use args::{Args, HELP};

/// Connections of the streams.
const STREAMS: usize = 8;

/// Connections that ask beside the idle ones.
const BESIDE: usize = 100;

/// Descriptors of the process besides those of connections.
const OTHERS: usize = 100;

/// One server in one part, and what was measured of it in each round.
#[derive(Debug)]
pub struct Lane {
    /// The server.
    pub subject: &'static Subject,
    /// What it did.
    pub part: Part,
    /// Round by round.
    pub turns: Vec<Figures>,
}

/// Runs the bench as the command line says.
///
/// # Panics
///
/// Panics if a server does not work.
pub fn main() -> ExitCode {
    let counting = count::install().and_then(|()| count::install_system_calls());
    run::main("loopback", HELP, counting, Args::parse, take)
}

fn take(args: &Args) -> io::Result<()> {
    let begun = Instant::now();
    let cores = Cores::share().ok_or_else(|| io::Error::other("the system does not tell its cores"))?;
    let mut sheet = tell::sheet(args, &cores);
    if cores.clients.contains(&cores.server) {
        loudly(&mut sheet.notes, "NOTE: there is one core, which a server shares with its clients.");
    }
    let parts = parts(args, &mut sheet.notes);
    let mut lanes = lanes(args, &parts, &mut sheet.notes);
    if lanes.is_empty() {
        return Err(io::Error::other("no row matches `--only`, or none can run here"));
    }
    stay_on(&cores.clients);
    measure(args.mode, &mut lanes, &cores);
    if args.mode == Mode::Test {
        println!("loopback: {} rows work", lanes.len());
        return Ok(());
    }
    tell::enter(&mut sheet, &lanes);
    sheet.seconds = begun.elapsed().as_secs_f64();
    print!("{}", sheet.text());
    eprintln!("written: {}", sheet.save()?.display());
    Ok(())
}

fn loudly(notes: &mut Vec<String>, note: &str) {
    eprintln!("{note}");
    notes.push(note.into());
}

fn parts(args: &Args, notes: &mut Vec<String>) -> Vec<Part> {
    let asking = args.connections.iter().map(|&active| Part { work: Work::Answer, active, idle: 0 });
    let streams = [Work::Receive, Work::Send].map(|work| Part { work, active: STREAMS, idle: 0 });
    let beside = args.idle.map(|idle| [0, idle].map(|idle| Part { work: Work::Answer, active: BESIDE, idle }));
    let mut parts: Vec<_> = asking.chain(streams).chain(beside.into_iter().flatten()).collect();
    let wanted = parts.iter().map(Part::connections).max().unwrap_or(0) * 2 + OTHERS;
    let most = (most_descriptors(wanted) - OTHERS) / 2;
    for part in &mut parts {
        if part.connections() > most {
            let fewer =
                Part { active: part.active.min(most), idle: part.idle.min(most - part.active.min(most)), ..*part };
            let note = format!("NOTE: descriptors are short (RLIMIT_NOFILE): {fewer:?} instead of {part:?}.");
            loudly(notes, &note);
            *part = fewer;
        }
    }
    parts.dedup();
    parts
}

fn lanes(args: &Args, parts: &[Part], notes: &mut Vec<String>) -> Vec<Lane> {
    let ring = arenatls_fd_owner::Capabilities::probe();
    if let Err(why) = &ring {
        loudly(notes, &format!("SKIPPED: what needs io_uring: {why}."));
    }
    let mut lanes = Vec::new();
    for &part in parts {
        let with = |subject: &&Subject| args.wants(&part.label(subject)) && (ring.is_ok() || !subject.on_ring);
        let lane = |subject| Lane { subject, part, turns: Vec::new() };
        lanes.extend(SUBJECTS.iter().filter(with).map(lane));
    }
    lanes
}

/// All lanes of a part take turns, round by round; then those of the next.
fn measure(mode: Mode, lanes: &mut [Lane], cores: &Cores) {
    let (most, plan) = effort(mode);
    // Those with idle connections and those without stand side by side, too.
    let together = |a: &Lane, b: &Lane| (a.part.work, a.part.active) == (b.part.work, b.part.active);
    let rounds = |part: &[Lane]| rounds(most, part);
    let all: usize = lanes.chunk_by(together).map(|part| part.len() * rounds(part)).sum();
    let (begun, mut done) = (Instant::now(), 0);
    for part in lanes.chunk_by_mut(together) {
        let rounds = rounds(part);
        eprint!("{}: {} servers ", tell::group(part[part.len() - 1].part), part.len());
        for _ in 0..rounds {
            for lane in &mut *part {
                lane.turns.push(turn(lane.subject, clients::of(lane.subject), lane.part, plan, cores));
            }
            eprint!(".");
        }
        done += part.len() * rounds;
        let took = begun.elapsed().as_secs_f64();
        eprintln!(" {took:.0} s, {:.0} s left", took * (all - done) as f64 / done as f64);
    }
}

/// Many connections take long to open.
fn rounds(most: usize, part: &[Lane]) -> usize {
    match part.iter().map(|lane| lane.part.connections()).max() {
        Some(..500) => most,
        Some(500..5000) => most.min(5),
        _ => most.min(3),
    }
}

fn effort(mode: Mode) -> (usize, Plan) {
    let plan = |warm_up, timed, counted| {
        let [warm_up, timed, counted] = [warm_up, timed, counted].map(Duration::from_millis);
        Plan { warm_up, timed, counted }
    };
    match mode {
        Mode::Full => (9, plan(100, 400, 50)),
        Mode::Quick => (3, plan(30, 100, 20)),
        Mode::Test => (1, plan(5, 5, 5)),
    }
}
