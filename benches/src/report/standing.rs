//! Where arenatls stands: its rows against each peer, and against the bare AEAD, in few lines.

use super::{Report, Row};

/// Peers by the beginning of their names; where several match, the fastest of them counts.
const PEERS: [(&str, &str); 5] = [
    ("× rustls aws-lc-rs", "rustls-aws-lc-rs-"),
    ("× rustls ring", "rustls-ring-"),
    ("× openssl membio", "openssl-membio"),
    ("× openssl stream", "openssl-stream"),
    ("× openssl set-fd", "openssl-set-fd"),
];

/// The name of the floor.
const FLOOR: &str = "bare-evp";

/// Heads of the columns.
#[must_use]
pub(super) fn heads() -> Vec<String> {
    let mut heads: Vec<String> =
        ["suite", "transport", "payload", "direction", "contender", "protection"].map(String::from).into();
    heads.extend(PEERS.map(|(head, _)| head.to_owned()));
    heads.push(format!("time / {FLOOR}"));
    heads
}

/// One line of cells for each row of arenatls.
#[must_use]
pub(super) fn lines(report: &Report) -> Vec<Vec<String>> {
    let ours = report.rows.iter().filter(|row| row.backend != "own");
    ours.map(line).collect()
}

fn line(row: &Row) -> Vec<String> {
    let Row { suite, transport, payload, direction, contender, protection, .. } = row;
    let mut cells = vec![
        suite.clone(),
        transport.clone(),
        format!("{payload} B"),
        direction.clone(),
        contender.clone(),
        protection.clone(),
    ];
    cells.extend(PEERS.map(|(_, begin)| cell(against(row, begin))));
    cells.push(cell(against(row, FLOOR).map(f64::recip)));
    cells
}

/// How many times faster than the fastest whose name begins so.
fn against(row: &Row, begin: &str) -> Option<f64> {
    let matching = row.times.iter().filter(|(name, _)| name.starts_with(begin));
    matching.map(|(_, ratio)| *ratio).min_by(f64::total_cmp)
}

fn cell(ratio: Option<f64>) -> String {
    ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))
}
