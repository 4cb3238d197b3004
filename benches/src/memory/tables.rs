//! What was found, as a sheet.

use super::{Entry, Reading};
use crate::sheet::{Better, Cell, Column, Sheet, Table};

const PHASES: [&str; 4] = ["after the handshake", "idle", "after 16 KiB of echo", "when all are gone"];

const ABOUT: [&str; 3] = [
    "Servers, TLS 1.3 with a P-256 certificate, X25519 and AES-128-GCM, without tickets, in a process that has nothing \
     else; the clients are OpenSSL's, in another process. What the process has more than before the first connection, \
     divided by the number of connections. One connection of each kind came and went before that.",
    "In memory, but for RingDriver, whose connections are on loopback: the kernel's memory for sockets is in no column.",
    "Idle: arenatls RingDriver has given its slots back (`Config::rest_after`), s2n-tls its buffers (`release_buffers`); \
     the others have no such thing, or do it by themselves. The echo is one record of 16 KiB there and one back.",
];

const NOTES: [&str; 5] = [
    "Rust: bytes asked of Rust's allocator, s2n-tls's own among them. OpenSSL: what its allocator hook gave out. libc: all \
     that malloc gave out to anyone, the former two included; aws-lc (rustls, s2n-tls) asks it itself. The latter two are \
     as libc rounds them. RSS: resident memory, that of RingDriver's slots, which are mapped, included.",
    "The structures that connections are, in a vector of exactly their number, are in the column Rust.",
    "A pool of arenatls grows by chunks, each as big as all before: what of the last one no connection has yet is in the \
     column Rust, and not resident.",
    "When all are gone: arenatls's pool keeps the blocks for the next connections, and libc much of what it was given back.",
    "RSS comes in pages, and of few connections says little.",
];

/// Fills the sheet.
pub(super) fn fill(sheet: &mut Sheet, entries: &[Entry]) {
    sheet.about = ABOUT.map(String::from).into();
    sheet.notes = NOTES.map(String::from).into();
    let mut table = Table::new("What a server's connection holds", "", columns());
    let mut numbers: Vec<usize> = entries.iter().map(|entry| entry.connections).collect();
    numbers.dedup();
    for number in numbers {
        for (phase, name) in PHASES.iter().enumerate() {
            for entry in entries.iter().filter(|entry| entry.connections == number) {
                let connections = if number == 1 { "connection" } else { "connections" };
                let group = format!("{number} {connections}, {name}");
                table.push(&group, entry.subject.name, entry.subject.ours, cells(entry, phase));
            }
        }
    }
    sheet.tables = vec![table];
}

fn columns() -> Vec<Column> {
    let allocators = ["Rust", "OpenSSL", "libc"].map(|name| Column::plain(name, "B", Better::Less));
    allocators.into_iter().chain([Column::plotted("RSS", "B", Better::Less)]).collect()
}

fn cells(entry: &Entry, phase: usize) -> Vec<Cell> {
    match &entry.readings {
        Ok(readings) => {
            let Reading { rust, openssl, libc, rss } = readings[phase];
            [rust, openssl, libc, rss].map(|bytes| Cell::Number(bytes as f64 / entry.connections as f64)).into()
        }
        Err(why) => vec![Cell::Missing(why.clone()); 4],
    }
}
