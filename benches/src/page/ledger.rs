//! The ledger as tables of the page: what all architectures cost, and every row.

use std::collections::BTreeSet;

use super::compare::name;
use super::document::Grid;
use crate::report::{Report, Row};
use crate::sheet::{Better, Cell, Column, Table, figures};

/// The record whose cost tells of an architecture: this much plaintext (bytes), protected and opened.
const TYPICAL: (usize, &str) = (1024, "both");

/// Where the memory that ciphertext passes through ends to be the library's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Arena,
    Buffers,
    Heap,
    Socket,
}

impl Boundary {
    fn of(row: &Row) -> Boundary {
        match (row.backend.as_str(), row.contender.as_str()) {
            ("memory-bio", _) => Boundary::Arena,
            ("own", contender) if contender.contains("unbuffered") || contender.starts_with("bare-evp") => {
                Boundary::Buffers
            }
            ("own", contender) if contender.contains("stream") || contender.starts_with("tokio") => Boundary::Socket,
            ("own", _) => Boundary::Heap,
            _ => Boundary::Socket,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Boundary::Arena => "caller's arena",
            Boundary::Buffers => "caller's buffers",
            Boundary::Heap => "library's heap buffers",
            Boundary::Socket => "socket-owning",
        }
    }
}

/// What each architecture costs, over one transport.
pub(super) struct Architectures {
    /// Over which, and what it was taken of.
    pub(super) title: String,
    /// A row for each contender.
    pub(super) grid: Grid,
    /// The same rows as in the ledger, to be drawn.
    pub(super) table: Table,
}

/// What each architecture costs, for every transport.
pub(super) fn architectures(report: &Report) -> Vec<Architectures> {
    // In memory first.
    let transports: BTreeSet<_> = report.rows.iter().map(|row| (row.transport != "memory", &row.transport)).collect();
    transports.into_iter().filter_map(|(_, transport)| architecture(report, transport)).collect()
}

fn architecture(report: &Report, transport: &str) -> Option<Architectures> {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.transport == transport).collect();
    let strange = |row: &Row| (row.payload != TYPICAL.0, row.direction != TYPICAL.1);
    // The first of the most typical.
    let first = rows.iter().min_by_key(|row| strange(row))?;
    let mut chosen: Vec<_> =
        rows.iter().copied().filter(|row| group(row) == group(first) && row.contender != "wire-only").collect();
    chosen.sort_by_key(|row| Boundary::of(row));
    let heads = [
        "memory boundary",
        "contender",
        "ops/s [range]",
        "Rust B/op (allocations)",
        "OpenSSL B/op (allocations)",
        "libc B/op (allocations)",
        "copied B/op",
        "copied per byte",
    ];
    let mut grid = Grid::new(heads, 2).grouped();
    for row in &chosen {
        grid.push(row.backend != "own", costs(row));
    }
    let title = format!("{}: {}, {} B, {}", place(transport), speech(first), first.payload, first.direction);
    Some(Architectures { title, grid, table: table(&chosen) })
}

/// The cells of a contender's row.
fn costs(row: &Row) -> Vec<String> {
    let allocated = |bytes: f64, calls: f64| match calls {
        0.0 => "0".into(),
        calls => format!("{} ({})", figures(bytes), figures(calls)),
    };
    vec![
        Boundary::of(row).name().into(),
        name(row),
        rate(row).to_string(),
        allocated(row.rust_bytes, row.rust_allocs),
        allocated(row.openssl_bytes, row.openssl_allocs),
        allocated(row.libc_bytes, row.libc_allocs),
        figures(row.copied_per_byte * row.payload as f64),
        figures(row.copied_per_byte),
    ]
}

fn place(transport: &str) -> String {
    match transport {
        "memory" => "In memory".into(),
        "loopback" => "Over loopback".into(),
        other => format!("Over {other}"),
    }
}

fn speech(row: &Row) -> String {
    format!("{} {}", row.version, row.suite)
}

fn group(row: &Row) -> (&str, &str, &str, usize, &str) {
    (&row.transport, &row.version, &row.suite, row.payload, &row.direction)
}

/// Operations a second: the range of a time's inverse is that of the inverses.
fn rate(row: &Row) -> Cell {
    let time = &row.ns_per_op;
    Cell::Range { median: 1e9 / time.median, least: 1e9 / time.max, most: 1e9 / time.min }
}

/// Every row, in a table for each transport and suite.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let alike = |a: &&Row, b: &&Row| (&a.transport, &a.version, &a.suite) == (&b.transport, &b.version, &b.suite);
    let rows: Vec<&Row> = report.rows.iter().collect();
    rows.chunk_by(alike).map(table).collect()
}

fn table(rows: &[&Row]) -> Table {
    let title = rows.first().map(|row| format!("{}, {}", place(&row.transport), speech(row))).unwrap_or_default();
    let plain = |name, unit| Column::plain(name, unit, Better::Less);
    let columns = vec![
        Column::plotted("ops", "1/s", Better::More),
        plain("time", "ns"),
        plain("Rust", "calls"),
        plain("Rust", "B"),
        plain("OpenSSL", "calls"),
        plain("OpenSSL", "B"),
        plain("libc", "calls"),
        plain("libc", "B"),
        plain("copied", "B/B"),
        Column::plain("× rustls-best", "", Better::More),
        Column::plain("× openssl-membio", "", Better::More),
    ];
    let mut table = Table::new(&title, "", columns);
    for row in rows {
        let group = format!("{} B, {}", row.payload, row.direction);
        table.push(&group, &name(row), row.backend != "own", cells(row));
    }
    table
}

fn cells(row: &Row) -> Vec<Cell> {
    let time = &row.ns_per_op;
    let times =
        |ratio: Option<f64>| ratio.map_or(Cell::Missing("nobody to compare with in this run".into()), Cell::Number);
    vec![
        rate(row),
        Cell::Range { median: time.median, least: time.min, most: time.max },
        Cell::Number(row.rust_allocs),
        Cell::Number(row.rust_bytes),
        Cell::Number(row.openssl_allocs),
        Cell::Number(row.openssl_bytes),
        Cell::Number(row.libc_allocs),
        Cell::Number(row.libc_bytes),
        Cell::Number(row.copied_per_byte),
        times(row.times_rustls_best),
        times(row.times_openssl_membio),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn memory_and_loopback_are_told_apart() {
        let report = sample::ledger();
        let titles: Vec<_> = architectures(&report).into_iter().map(|found| found.title).collect();
        assert_eq!(titles.len(), 2);
        assert!(titles[0].starts_with("In memory") && titles[1].starts_with("Over loopback"), "{titles:?}");
        assert_eq!(tables(&report).iter().map(|table| table.rows.len()).sum::<usize>(), report.rows.len());
    }

    #[test]
    fn the_architectures_are_in_order() {
        let grid = architectures(&sample::ledger()).swap_remove(0).grid;
        let boundaries: Vec<_> = grid.rows.iter().map(|line| line.cells[0].as_str()).collect();
        assert_eq!(boundaries[..2], ["caller's arena"; 2]);
        assert_eq!(boundaries[2..], ["caller's buffers", "library's heap buffers", "socket-owning"]);
    }
}
