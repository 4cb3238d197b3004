//! The ledger for a terminal.

use super::{Report, Row};

/// Heads of the columns, with the side each is aligned to.
const COLUMNS: [(&str, Side); 10] = [
    ("contender", Side::Left),
    ("protection", Side::Left),
    ("ns/op (min–max)", Side::Right),
    ("ops/s", Side::Right),
    ("rust allocs (B)", Side::Right),
    ("openssl allocs (B)", Side::Right),
    ("libc allocs (B)", Side::Right),
    ("copied/byte", Side::Right),
    ("× rustls-best", Side::Right),
    ("× openssl", Side::Right),
];

/// The side a cell's text keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The left.
    Left,
    /// The right.
    Right,
}

/// The cells of one row, as in `COLUMNS`.
pub(super) type Cells = [String; COLUMNS.len()];

/// The ledger as an aligned table, group after group.
#[must_use]
pub fn table(report: &Report) -> String {
    let cells: Vec<Cells> = report.rows.iter().map(cells).collect();
    let widths = widths(&cells);
    let mut text = String::new();
    for (rows, cells) in groups(&report.rows, &cells) {
        text += &format!("\n{}\n", title(&rows[0]));
        text += &line(&COLUMNS.map(|(head, _)| head.to_owned()), &widths);
        for row in cells {
            text += &line(row, &widths);
        }
    }
    text
}

/// Rows of one group each, beside their cells.
pub(super) fn groups<'a>(
    rows: &'a [Row],
    cells: &'a [Cells],
) -> impl Iterator<Item = (&'a [Row], &'a [Cells])> {
    let mut begin = 0;
    rows.chunk_by(|a, b| a.group() == b.group())
        .map(move |group| {
            let from = begin;
            begin += group.len();
            (group, &cells[from..begin])
        })
}

/// What heads a group.
pub(super) fn title(row: &Row) -> String {
    let Row {
        version,
        suite,
        transport,
        payload,
        direction,
        ..
    } = row;
    format!("{version} {suite}, {transport}, {payload} B, {direction}")
}

/// The heads of the columns, with their sides.
pub(super) fn columns() -> &'static [(&'static str, Side)] {
    &COLUMNS
}

/// A row's cells.
pub(super) fn cells(row: &Row) -> Cells {
    let ns = &row.ns_per_op;
    [
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
    if calls == 0.0 {
        "0".into()
    } else {
        format!("{} ({bytes:.0})", short(calls))
    }
}

/// Two decimals, unless the number is whole.
fn short(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))
}

fn widths(cells: &[Cells]) -> [usize; COLUMNS.len()] {
    std::array::from_fn(|column| {
        let widest = cells.iter().map(|row| row[column].chars().count()).max();
        widest.unwrap_or(0).max(COLUMNS[column].0.chars().count())
    })
}

fn line(cells: &Cells, widths: &[usize]) -> String {
    let padded =
        cells
            .iter()
            .zip(widths)
            .zip(COLUMNS)
            .map(|((cell, width), (_, side))| match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
    let joined = padded.collect::<Vec<_>>().join("  ");
    format!("{}\n", joined.trim_end())
}
