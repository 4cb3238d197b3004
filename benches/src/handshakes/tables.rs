//! What was measured, as a sheet.

use super::plan::{Heat, REFERENCE};
use super::{Counted, Entry};
use crate::count::{Count, Counts};
use crate::sheet::{Better, Cell, Column, Sheet, Table};

/// Fills the sheet.
pub(super) fn fill(sheet: &mut Sheet, heats: &[Heat], entries: &[Vec<Entry>]) {
    sheet.about = ABOUT.map(String::from).into();
    let mut tables = [times(), memory(), threads()];
    for (heat, entries) in heats.iter().zip(entries) {
        let (title, reference) = (heat.title(), entries.iter().find(|entry| entry.subject.name == REFERENCE));
        for entry in entries {
            let (name, ours) = (entry.subject.name, entry.subject.ours);
            tables[0].push(&title, name, ours, time(entry, reference));
            tables[1].push(&title, name, ours, counts(&entry.counted));
            if heat.raced {
                tables[2].push(&title, name, ours, rates(entry));
            }
        }
    }
    sheet.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    sheet.notes = NOTES.map(String::from).into();
}

const ABOUT: [&str; 3] = [
    "A client and a server in memory, one thread: both are made, shake hands (the client verifies the server's \
     certificate, signed by a root of the same kind), the client says close_notify, the server hears it, both are \
     dropped. All of that is in the time, by the side whose call it was.",
    "The suite is AES-128-GCM with SHA-256. Resumptions are by stateless tickets (TLS 1.3: with a new key exchange), and \
     the server gives a new one each time; full handshakes give none. Nobody keeps a cache of sessions on the server's \
     side. arenatls takes connection memory from a pool that was used before, 64 KiB each.",
    "Each handshake is checked to be what its row says: version, key exchange, resumed or not.",
];

const NOTES: [&str; 3] = [
    "In the group X25519MLKEM768 clients of s2n-tls send a second key share, of X25519 alone; the others do not.",
    "Two threads: each does both ends of its own connections. Where each has its own contexts, all have the same ticket \
     keys, and all but the first begin with a session that the first one's server began; without that a resumption at \
     another thread would fall back to a full handshake.",
    "libc contains what came to it from Rust and from OpenSSL; aws-lc (rustls, s2n-tls) asks libc itself.",
];

fn times() -> Table {
    let about = "Processor time of a handshake, medians of turns; ratios are those of times in the same round.";
    Table::new(
        "What a handshake costs",
        about,
        vec![
            Column::plotted("client", "µs", Better::Less),
            Column::plotted("server", "µs", Better::Less),
            Column::plain("both ends", "1/s", Better::More),
            Column::plain("client, as fast as openssl-membio", "×", Better::More),
            Column::plain("server, as fast as openssl-membio", "×", Better::More),
        ],
    )
}

fn memory() -> Table {
    let names = ["Rust", "OpenSSL", "libc"];
    let columns = ["client", "server"].map(|side| {
        let columns = names.map(|name| Column::plain(&format!("{side}, {name}"), "calls", Better::Less));
        let bytes = Column::plain(&format!("{side}, libc"), "B", Better::Less);
        columns.into_iter().chain([bytes])
    });
    let sent = ["client sent", "server sent"].map(|name| Column::plain(name, "B", Better::Less));
    let about = "Allocations of a whole life, and bytes on the wire up to the end of the handshake, tickets included.";
    Table::new("What a handshake allocates and sends", about, columns.into_iter().flatten().chain(sent).collect())
}

fn threads() -> Table {
    let about = "Handshakes a second, both ends in each thread, by the clock on the wall less the time in which a thread \
                 was ready to run and other processes had the core: waiting for locks is in it, a busy machine is not. \
                 Processor time of a handshake in two threads, over that in one: what sharing costs without waiting.";
    Table::new(
        "One thread and two",
        about,
        vec![
            Column::plain("one thread", "1/s", Better::More),
            Column::plain("two, shared contexts", "1/s", Better::More),
            Column::plain("two, own contexts", "1/s", Better::More),
            Column::plotted("shared / one", "×", Better::More),
            Column::plotted("own / one", "×", Better::More),
            Column::plain("CPU, shared / one", "×", Better::Less),
            Column::plain("CPU, own / one", "×", Better::Less),
        ],
    )
}

fn time(entry: &Entry, reference: Option<&Entry>) -> Vec<Cell> {
    let side = |entry: &Entry, side: usize| entry.spent.iter().map(|spent| spent.time[side]).collect::<Vec<f64>>();
    let micro = |times: &[f64]| Cell::of(&times.iter().map(|time| time / 1e3).collect::<Vec<f64>>());
    let both: Vec<f64> = entry.spent.iter().map(|spent| 1e9 / spent.time.iter().sum::<f64>()).collect();
    let ratio = |of: usize| match reference {
        Some(reference) => Cell::of(&crate::measure::ratios(&side(reference, of), &side(entry, of))),
        None => Cell::Missing(format!("{REFERENCE} was not measured")),
    };
    vec![micro(&side(entry, 0)), micro(&side(entry, 1)), Cell::of(&both), ratio(0), ratio(1)]
}

fn counts(counted: &Counted) -> Vec<Cell> {
    let each = |number: u64| Cell::Number(number as f64 / counted.handshakes as f64);
    let side = |counts: &Counts| {
        let calls = [counts.rust, counts.openssl, counts.libc].map(|Count { calls, .. }| calls);
        [calls[0], calls[1], calls[2], counts.libc.bytes].map(each)
    };
    let sent = counted.sent.map(|bytes| Cell::Number(bytes as f64));
    counted.counts.iter().flat_map(side).chain(sent).collect()
}

fn rates(entry: &Entry) -> Vec<Cell> {
    let per_second = |way: usize| entry.rates.iter().map(|rates| rates[way].per_second).collect::<Vec<f64>>();
    let over = |way: usize| entry.rates.iter().map(move |rates| rates[way].per_second / rates[0].per_second);
    let cpu = |way: usize| entry.rates.iter().map(move |rates| rates[way].time / rates[0].time);
    vec![
        Cell::of(&per_second(0)),
        Cell::of(&per_second(1)),
        Cell::of(&per_second(2)),
        Cell::of(&over(1).collect::<Vec<f64>>()),
        Cell::of(&over(2).collect::<Vec<f64>>()),
        Cell::of(&cpu(1).collect::<Vec<f64>>()),
        Cell::of(&cpu(2).collect::<Vec<f64>>()),
    ]
}
