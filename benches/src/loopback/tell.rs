//! The bench's sheet: tables, ratios, and how they stand to what the project has set itself.

use super::cores::Cores;
use super::load::Figures;
use super::servers::Role;
use super::turn::Part;
use super::work::Work;
use super::{Args, Lane, targets};
use crate::run::Mode;
use crate::sheet::{Better, Cell, Column, Sheet, Table};

/// Whom all are compared with.
const REFERENCES: [&str; 4] = ["bare ring", "tokio-rustls", "tokio-openssl", "epoll + SSL_set_fd"];

const ABOUT: [&str; 3] = [
    "A server with one thread on a core of its own, and one thread of clients on the other cores, over loopback TCP with \
     TLS 1.3 and AES-128-GCM. The clients of all TLS servers are arenatls on a ring; those of the bare ring send bytes of \
     the same length on a ring. Each connection has one request outstanding. Servers take turns, round by round, with \
     fresh connections in each turn; set-up, handshakes and warm-up are not measured. In the warm-up every byte that comes \
     back is compared, in the timed part every answer's number and each 64th answer's bytes.",
    "CPU is the processor time, user's and system's, of the server's thread. Figures are medians of the rounds with least \
     and most; ratios are taken within a round. `×` is how many times as much is done in a second of the server's \
     processor time; `CPU ÷ bare ring` is processor time as a multiple of what the same ring costs without TLS.",
    "System calls (the wrappers of libc that are called, counted in their place), allocations (calls of Rust's global \
     allocator; of OpenSSL's hook; all that reach libc, the other two among them) and copies (bytes moved by `memcpy` and \
     `memmove` for a byte of payload, requests and answers together) are those of the server's thread, counted in a part \
     of each turn of their own.",
];

/// A sheet without figures.
pub(super) fn sheet(args: &Args, cores: &Cores) -> Sheet {
    let title = "Loopback: requests and streams over TCP";
    let mut sheet = Sheet::new("loopback", title, args.mode == Mode::Quick, Some(cores.server));
    sheet.about = ABOUT.map(String::from).into();
    sheet
}

/// Enters what was measured.
pub(super) fn enter(sheet: &mut Sheet, lanes: &[Lane]) {
    let (asked, streamed): (Vec<_>, Vec<_>) = lanes.iter().partition(|lane| lane.part.work == Work::Answer);
    let (beside, alone): (Vec<_>, Vec<_>) = asked.into_iter().partition(|lane| is_beside(lane.part, lanes));
    let tables = [filled(requests(), &alone), filled(streams(), &streamed), idle(&beside)];
    sheet.tables.extend(tables.into_iter().filter(|table| !table.rows.is_empty()));
    sheet.notes.extend(targets::notes(lanes));
}

/// Whether a part is there to be compared with one that has idle connections, or is that one.
fn is_beside(part: Part, lanes: &[Lane]) -> bool {
    lanes.iter().any(|lane| lane.part.idle > 0 && lane.part.active == part.active)
}

/// What idle connections cost those that are not.
fn idle(lanes: &[&Lane]) -> Table {
    let columns = vec![
        Column::plain("CPU/request without", "µs", Better::Less),
        Column::plotted("CPU/request with them", "µs", Better::Less),
        Column::plain("with ÷ without", "", Better::Less),
    ];
    let about = "What a request costs where other connections are open that say nothing.";
    let mut table = Table::new("Beside idle connections", about, columns);
    for with in lanes.iter().filter(|lane| lane.part.idle > 0) {
        let same = |lane: &&&Lane| lane.part.idle == 0 && lane.subject.name == with.subject.name;
        let Some(without) = lanes.iter().find(same) else { continue };
        let (without, with_them) = (cpu(without), cpu(with));
        let ratios = quotients(&with_them, &without);
        let cells = vec![Cell::of(&without), Cell::of(&with_them), Cell::of(&ratios)];
        table.push(&group(with.part), with.subject.name, with.subject.role == Role::Ours, cells);
    }
    table
}

fn requests() -> Table {
    let mut columns = vec![
        Column::plotted("CPU/request", "µs", Better::Less),
        Column::plotted("requests/CPU second", "", Better::More),
        Column::plain("requests/second", "", Better::More),
        Column::plain("system calls/request", "", Better::Less),
        Column::plain("p50", "µs", Better::Less),
        Column::plain("p99", "µs", Better::Less),
    ];
    columns.extend(memory("request"));
    Table::new("Requests of 1 KiB, answers of 1 KiB", "", columns)
}

fn streams() -> Table {
    let mut columns = vec![
        Column::plain("CPU/record", "µs", Better::Less),
        Column::plotted("MB/CPU second", "", Better::More),
        Column::plain("MB/second", "", Better::More),
        Column::plain("system calls/record", "", Better::Less),
    ];
    columns.extend(memory("record"));
    Table::new("Streams of records of 16 KiB, one way", "", columns)
}

fn memory(of: &str) -> Vec<Column> {
    let allocations = ["Rust", "OpenSSL", "libc"].map(|who| format!("{who} allocs/{of}"));
    let mut columns = Vec::from(allocations.map(|head| Column::plain(&head, "", Better::Less)));
    columns.push(Column::plain("copied/byte", "", Better::Less));
    columns.push(Column::plain("CPU ÷ bare ring", "", Better::Less));
    columns.extend(REFERENCES[1..].iter().map(|who| Column::plain(&format!("× {who}"), "", Better::More)));
    columns
}

fn filled(mut table: Table, lanes: &[&Lane]) -> Table {
    for part in lanes.chunk_by(|a, b| a.part == b.part) {
        for lane in part {
            let mut cells = if lane.part.work == Work::Answer { asked(lane) } else { streamed(lane) };
            cells.extend(counted(lane));
            cells.extend(ratios(lane, part));
            table.push(&group(lane.part), lane.subject.name, lane.subject.role == Role::Ours, cells);
        }
    }
    table
}

/// What a part is called.
pub(super) fn group(part: Part) -> String {
    match part.work {
        Work::Answer if part.active == 1 => "1 connection".into(),
        Work::Answer if part.idle == 0 => format!("{} connections", part.active),
        Work::Answer => format!("{} connections and {} idle ones", part.active, part.idle),
        Work::Receive => format!("the server receives, {} connections", part.active),
        Work::Send => format!("the server sends, {} connections", part.active),
    }
}

/// What each unit is in bytes of payload: a request with its answer, or a byte.
fn bytes(lane: &Lane) -> f64 {
    if lane.part.work == Work::Answer { 2.0 * lane.part.work.record() as f64 } else { 1.0 }
}

/// How many units make what a row counts by: a request, or a record.
fn units(lane: &Lane) -> f64 {
    if lane.part.work == Work::Answer { 1.0 } else { lane.part.work.record() as f64 }
}

fn over(lane: &Lane, figure: impl Fn(&Figures) -> f64) -> Cell {
    Cell::of(&lane.turns.iter().map(figure).collect::<Vec<_>>())
}

/// Round by round.
pub(super) fn quotients(over: &[f64], under: &[f64]) -> Vec<f64> {
    over.iter().zip(under).map(|(over, under)| over / under).collect()
}

/// Processor time for a request, or a record (µs).
pub(super) fn cpu(lane: &Lane) -> Vec<f64> {
    let each = |turn: &Figures| turn.cpu.as_secs_f64() * 1e6 / turn.units as f64 * units(lane);
    lane.turns.iter().map(each).collect()
}

fn asked(lane: &Lane) -> Vec<Cell> {
    vec![
        Cell::of(&cpu(lane)),
        over(lane, |turn| turn.units as f64 / turn.cpu.as_secs_f64()),
        over(lane, |turn| turn.units as f64 / turn.wall.as_secs_f64()),
        over(lane, |turn| turn.system_calls as f64 / turn.counted as f64),
        over(lane, |turn| percentile(turn, 0.50)),
        over(lane, |turn| percentile(turn, 0.99)),
    ]
}

fn streamed(lane: &Lane) -> Vec<Cell> {
    vec![
        Cell::of(&cpu(lane)),
        over(lane, |turn| turn.units as f64 / 1e6 / turn.cpu.as_secs_f64()),
        over(lane, |turn| turn.units as f64 / 1e6 / turn.wall.as_secs_f64()),
        over(lane, |turn| turn.system_calls as f64 / turn.counted as f64 * units(lane)),
    ]
}

fn counted(lane: &Lane) -> Vec<Cell> {
    let counted: u64 = lane.turns.iter().map(|turn| turn.counted).sum();
    let sum = |of: fn(&Figures) -> u64| lane.turns.iter().map(of).sum::<u64>() as f64 / counted as f64;
    vec![
        Cell::Number(sum(|turn| turn.counts.rust.calls) * units(lane)),
        Cell::Number(sum(|turn| turn.counts.openssl.calls) * units(lane)),
        Cell::Number(sum(|turn| turn.counts.libc.calls) * units(lane)),
        Cell::Number(sum(|turn| turn.counts.copies.bytes) / bytes(lane)),
    ]
}

fn ratios(lane: &Lane, part: &[&Lane]) -> Vec<Cell> {
    let mine = cpu(lane);
    let against = |name: &&str| {
        let Some(reference) = part.iter().find(|other| other.subject.name == *name) else {
            return Cell::Missing(format!("{name} is not in this run"));
        };
        let theirs = cpu(reference);
        Cell::of(&if *name == REFERENCES[0] { quotients(&mine, &theirs) } else { quotients(&theirs, &mine) })
    };
    REFERENCES.iter().map(against).collect()
}

/// The latency that this share of the answers did not exceed (µs).
fn percentile(turn: &Figures, share: f64) -> f64 {
    let mut latencies = turn.latencies.clone();
    if latencies.is_empty() {
        return f64::NAN;
    }
    let place = ((latencies.len() - 1) as f64 * share) as usize;
    let (_, nanos, _) = latencies.select_nth_unstable(place);
    f64::from(*nanos) / 1e3
}
