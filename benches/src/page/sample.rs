//! Data that nobody measured, to see whether a page can be made of it: odd names, missing figures, few rows and many.

use std::collections::BTreeMap;

use super::gather::{Data, Taken};
use crate::measure::Summary;
use crate::report::{Host, Report, Row, Versions};
use crate::sheet::{Better, Cell, Column, Sheet, Table};

/// A name of all that means something to HTML, SVG or Markdown.
pub(super) const ODD: &str = "<b>&\"odd\" | 'name'</b> of *some* `length`, which no drawing has room for";

/// All of it.
pub(super) fn data() -> Data {
    let taken = |what| Taken { what, at: Some(1_700_000_000) };
    Data {
        ledger: Some(Taken { what: ledger(), at: None }),
        sheets: vec![taken(small()), taken(large()), taken(empty())],
        missing: vec![("contention".into(), "it has not been run".into())],
        failed: vec![("small".into(), "it ended with <exit status: 1>".into())],
    }
}

/// A ledger of two transports, with a contender for each architecture.
pub(super) fn ledger() -> Report {
    let own = [("rustls-ring-unbuffered", 2.0), ("openssl-membio", 3.0), ("openssl-stream", 4.0), ("wire-only", 0.1)];
    let rows = |transport: &str, backend: &str| {
        let ours = [("arenatls", "Engine", backend, 1.0), ("arenatls", "Library", backend, 2.5)];
        let others = own.map(|(name, time)| (name, "own", "own", time));
        let all = ours.into_iter().chain(others);
        all.map(|(contender, protection, backend, time)| row(transport, contender, protection, backend, time))
            .collect::<Vec<_>>()
    };
    let all = rows("memory", "memory-bio").into_iter().chain(rows("loopback", "fd-owner"));
    Report { host: Host::look(None, 2), versions: Versions::linked(), rows: all.collect() }
}

fn row(transport: &str, contender: &str, protection: &str, backend: &str, time: f64) -> Row {
    let times = [("rustls-ring-unbuffered", 2.0), ("openssl-membio", 3.0), ("wire-only", 0.1)];
    let times: BTreeMap<_, _> = times.into_iter().map(|(name, other)| (name.to_owned(), other / time)).collect();
    Row {
        contender: contender.into(),
        protection: protection.into(),
        backend: backend.into(),
        transport: transport.into(),
        version: "TLSv1.3".into(),
        suite: "TLS_AES_128_GCM_SHA256".into(),
        payload: 1024,
        direction: "both".into(),
        ns_per_op: Summary { min: time * 90.0, median: time * 100.0, max: time * 300.0 },
        rust_allocs: 0.0,
        rust_bytes: 0.0,
        openssl_allocs: time,
        openssl_bytes: time * 40.0,
        libc_allocs: time,
        libc_bytes: time * 40.0,
        copied_per_byte: 0.5,
        copies: 4.0,
        times_rustls_best: Some(2.0 / time),
        times_openssl_membio: None,
        times,
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::plotted("rate", "1/s", Better::More),
        Column::plotted("p99 <latency>", "µs", Better::Less),
        Column::plain("remark", "", Better::Neither),
    ]
}

/// One table of one row, and one of odd ones.
fn small() -> Sheet {
    let mut sheet = Sheet::new("small", "A small sheet", true, Some(1));
    sheet.about.push(format!("About `code` and {ODD}."));
    let mut lone = Table::new("A lone row", "", columns());
    lone.push("", "arenatls", true, vec![Cell::of(&[1.0, 2.0, 3.0]), Cell::Number(0.0), Cell::Text("fine".into())]);
    let mut odd = Table::new("Odd <rows>", "Text of *its* own.", columns());
    let missing = |why: &str| Cell::Missing(why.into());
    odd.push("group | one", "arenatls, arena", true, vec![Cell::Number(0.0), Cell::Number(-3.0), missing("no <time>")]);
    odd.push(
        "group | one",
        ODD,
        false,
        vec![missing("it is 'not' here"), Cell::of(&[1e9, 2e9]), Cell::Text(ODD.into())],
    );
    odd.push(
        "group two",
        "bare floor",
        false,
        vec![Cell::Number(f64::INFINITY), Cell::of(&[]), Cell::Text(String::new())],
    );
    sheet.tables.extend([lone, odd]);
    sheet.notes.push("A note with <markup> & more.".into());
    sheet
}

/// Many groups of many rows.
fn large() -> Sheet {
    let mut sheet = Sheet::new("large", "A large sheet", false, None);
    let mut table = Table::new("Many rows", "", columns());
    for group in 1..=12 {
        for who in 0..6 {
            let (name, base) = (format!("contender {who}"), f64::from(group * group * (who + 1)) * 1e3);
            let cells =
                vec![Cell::of(&[base, base * 1.1, base * 1.7]), Cell::Number(1e9 / base), Cell::Text("-".into())];
            table.push(&format!("{group} connections"), &name, who == 2, cells);
        }
    }
    sheet.tables.push(table);
    sheet
}

fn empty() -> Sheet {
    let mut sheet = Sheet::new("empty", "An empty sheet", false, None);
    sheet.tables.push(Table::new("No rows", "", columns()));
    sheet
}
