//! How arenatls on a ring stands to what the project has set itself. Nothing is asserted: a machine may be busy.

use std::fmt::Write as _;

use super::Lane;
use super::load::Figures;
use super::servers::Role;
use super::tell::{cpu, group, quotients};
use super::work::Work;
use crate::measure::median;

/// Who has set itself the aims.
const WHO: &str = "arenatls ring";
/// Processor time as a multiple of the floor's, at most.
const OF_FLOOR: f64 = 1.20;
/// How many times as much in a second of processor time as these, at least.
const TIMES: [(&str, f64); 3] = [("tokio-rustls", 1.25), ("tokio-openssl", 1.5), ("epoll + SSL_set_fd", 1.5)];
/// System calls of a request, at most.
const CALLS: f64 = 0.25;
/// How many times as much of a stream in a second of processor time as the best peer, at least.
const STREAMS: f64 = 1.2;

/// A note for each part that has an aim.
pub(super) fn notes(lanes: &[Lane]) -> Vec<String> {
    let parts = lanes.chunk_by(|a, b| a.part == b.part).filter(|part| part[0].part.idle == 0);
    parts.filter_map(note).collect()
}

fn note(part: &[Lane]) -> Option<String> {
    let ours = part.iter().find(|lane| lane.subject.name == WHO)?;
    let mut said = String::new();
    match (ours.part.work, ours.part.active) {
        (Work::Answer, 1) => against_best(&mut said, ours, part, 1.0),
        (Work::Answer, _) => {
            many(&mut said, ours, part);
        }
        _ => against_best(&mut said, ours, part, STREAMS),
    }
    (!said.is_empty()).then(|| format!("{WHO}, {}:{said}.", group(ours.part)))
}

fn many(said: &mut String, ours: &Lane, part: &[Lane]) {
    if let Some(floor) = part.iter().find(|lane| lane.subject.role == Role::Floor) {
        let ratio = median(&quotients(&cpu(ours), &cpu(floor)));
        aim(said, ratio <= OF_FLOOR, &format!("{ratio:.2} × the processor time of {}", floor.subject.name), OF_FLOOR);
    }
    for (name, least) in TIMES {
        if let Some(peer) = part.iter().find(|lane| lane.subject.name == name) {
            let ratio = median(&quotients(&cpu(peer), &cpu(ours)));
            aim(said, ratio >= least, &format!("{ratio:.2} × the requests of {name}"), least);
        }
    }
    if ours.part.active == 64 {
        let each = |turn: &Figures| turn.system_calls as f64 / turn.counted as f64;
        let calls = median(&ours.turns.iter().map(each).collect::<Vec<_>>());
        aim(said, calls <= CALLS, &format!("{calls:.2} system calls a request"), CALLS);
    }
}

fn against_best(said: &mut String, ours: &Lane, part: &[Lane], least: f64) {
    let peers = part.iter().filter(|lane| lane.subject.role == Role::Peer);
    let best = peers.min_by(|a, b| median(&cpu(a)).total_cmp(&median(&cpu(b))));
    if let Some(best) = best {
        let ratio = median(&quotients(&cpu(best), &cpu(ours)));
        let name = best.subject.name;
        aim(said, ratio >= least, &format!("{ratio:.2} × the work of the best peer ({name})"), least);
    }
}

fn aim(said: &mut String, met: bool, what: &str, aim: f64) {
    let verdict = if met { "met" } else { "MISSED" };
    let comma = if said.is_empty() { "" } else { ";" };
    // Writing to a string does not fail.
    let _ = write!(said, "{comma} {what} (aim {aim:.2}, {verdict})");
}
