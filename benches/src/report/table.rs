//! The ledger's rows as cells, and the ledger for a terminal.

use super::grid::Grid;
use super::{Report, Row, standing};

/// Heads of the columns.
const HEADS: [&str; 10] = [
    "contender",
    "protection",
    "ns/op (min–max)",
    "ops/s",
    "rust allocs (B)",
    "openssl allocs (B)",
    "libc allocs (B)",
    "copied/byte",
    "× rustls-best",
    "× openssl",
];

/// The ledger as aligned tables: one for each group, then where arenatls stands.
#[must_use]
pub fn table(report: &Report) -> String {
    let grid = grid();
    let widths = grid.widths(&report.rows.iter().map(cells).collect::<Vec<_>>());
    let mut text = String::new();
    for group in groups(report) {
        let rows: Vec<_> = group.iter().map(cells).collect();
        text += &format!("\n{}\n{}", title(&group[0]), grid.plain(&rows, &widths));
    }
    let (grid, rows) = standing_grid(report);
    if !rows.is_empty() {
        text += &format!("\nstanding\n{}", grid.plain(&rows, &grid.widths(&rows)));
    }
    text
}

/// The grid of a group.
pub(super) fn grid() -> Grid {
    Grid { heads: HEADS.map(String::from).into(), left: 2 }
}

/// The grid of where arenatls stands, and its rows.
pub(super) fn standing_grid(report: &Report) -> (Grid, Vec<Vec<String>>) {
    let grid = Grid { heads: standing::heads(), left: 6 };
    (grid, standing::lines(report))
}

/// Rows that may be compared, together.
pub(super) fn groups(report: &Report) -> impl Iterator<Item = &[Row]> {
    report.rows.chunk_by(|a, b| a.group() == b.group())
}

/// What heads a group.
pub(super) fn title(row: &Row) -> String {
    let Row { version, suite, transport, payload, direction, .. } = row;
    format!("{version} {suite}, {transport}, {payload} B, {direction}")
}

/// A row's cells, as in `HEADS`.
pub(super) fn cells(row: &Row) -> Vec<String> {
    let ns = &row.ns_per_op;
    vec![
        row.contender.clone(),
        row.protection.clone(),
        format!("{:.0} ({:.0}–{:.0})", ns.median, ns.min, ns.max),
        format!("{:.0}", 1e9 / ns.median),
        allocations(row.rust_allocs, row.rust_bytes),
        allocations(row.openssl_allocs, row.openssl_bytes),
        allocations(row.libc_allocs, row.libc_bytes),
        format!("{:.2}", row.copied_per_byte),
        times(row.times_rustls_best),
        times(row.times_openssl_membio),
    ]
}

fn allocations(calls: f64, bytes: f64) -> String {
    if calls == 0.0 { "0".into() } else { format!("{} ({bytes:.0})", short(calls)) }
}

/// Two decimals, unless the number is whole.
fn short(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))
}
