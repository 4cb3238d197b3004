//! What was found, as tables.

use super::lane::{Found, STALL};
use crate::sheet::{Better, Cell, Column, Sheet, Table};

/// What was done.
const ABOUT: [&str; 3] = [
    "A client and a server, each in a thread of its own, on one core, joined by TCP over loopback; both ends are the same \
     contender. The client sends a request, waits for the response, and sends the next. `Nagle` is TCP's default: a small segment waits \
     until the one before is acknowledged, which the receiver may delay by 40 ms. Without it `TCP_NODELAY` is set.",
    "In TLS 1.0 with CBC, OpenSSL puts an empty record before each record, against an attack on its IVs: `split`. \
     `not split` has `SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS`. The security level is lowered to 0 for these rows alone; do not \
     use TLS 1.0.",
    "`a send a record (control)` is the `openssl` crate over a socket that gives each record to the kernel by itself, which \
     OpenSSL 3.6.3 does anyhow and 3.0.19 does not. It shows that this bench would see it.",
];

/// What to know.
const NOTES: [&str; 4] = [
    "p50 and p99 are medians of the rounds', too: what half of a round's requests, and 99 of 100, took at most.",
    "Stalls are requests, after the first, that took 30 ms or more. A busy machine may cause a few anywhere; those of \
     Nagle's algorithm come with every request.",
    "Bytes and segments are the receiving kernel's count (`TCP_INFO`); submissions are system calls that send, or send \
     operations of the ring, for each write of a request or a response.",
    "In TLS 1.3 with Nagle's algorithm the first request waits for the acknowledgement of the client's last flight, whoever \
     sends it: see the last column.",
];

/// A sheet without figures yet.
pub(super) fn sheet(quick: bool, command: String) -> Sheet {
    let mut sheet = Sheet::new("request_response", "Small requests, one at a time", quick, None);
    sheet.command = command;
    sheet.about = ABOUT.map(String::from).into();
    sheet.notes = NOTES.map(String::from).into();
    sheet
}

/// A table without rows yet, for requests that are described so.
pub(super) fn table(title: &str, about: &str) -> Table {
    let columns = vec![
        Column::plotted("requests", "1/s", Better::More),
        Column::plain("p50", "µs", Better::Less),
        Column::plotted("p99", "µs", Better::Less),
        Column::plain("stalls", "", Better::Less),
        Column::plain("of requests", "", Better::Neither),
        Column::plain("submissions a write", "", Better::Less),
        Column::plain("segments a request", "", Better::Less),
        Column::plain("on the wire, first", "B", Better::Less),
        Column::plain("later ones", "", Better::Neither),
        Column::plain("records by", "", Better::Neither),
        Column::plain("first request", "ms", Better::Less),
    ];
    Table::new(title, about, columns)
}

/// The cells of a row.
pub(super) fn cells(found: &Found) -> Vec<Cell> {
    let text = |words: &str| Cell::Text(words.into());
    vec![
        Cell::of(&found.rates),
        Cell::of(&found.halves),
        Cell::of(&found.nearly_all),
        Cell::Number(found.stalls as f64),
        Cell::Number(found.asked as f64),
        Cell::Number(found.submissions),
        Cell::Number(found.segments),
        Cell::Number(found.bytes as f64),
        text(if found.same { "the same" } else { "differ" }),
        text(&found.protection),
        Cell::Number(found.first),
    ]
}

/// What to say on a terminal of a contender that stalled.
pub(super) fn remark(found: &Found) -> Option<String> {
    let (stalls, of) = (found.stalls, found.asked);
    (stalls > 0).then(|| format!("{stalls} of {of} requests took {} ms or more", STALL.as_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let mut table = table("t", "");
        table.push("g", "arenatls", true, cells(&Found::default()));
        assert_eq!(table.rows.len(), 1);
    }
}
