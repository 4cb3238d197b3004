//! The ledger for a page.

use super::table::{Cells, Side, cells, columns, groups, title};
use super::{Host, Report, Versions};

/// What the columns mean, in a few lines.
const LEGEND: &str = "\
Client to server, in memory, one thread on one core; one operation is one record. `write`: protect it and hand it to \
the wire; `read`: take it from the wire and open it; `both`: the one and then the other. Time is the median of the \
rounds with least and most. Allocations (bytes) are per record: calls of Rust's global allocator; calls OpenSSL makes to \
its hook; all that reaches libc, the other two among them. *copied/byte* is what `memcpy` and `memmove` moved for a byte \
of payload. The ratios say how many times faster a row is than the fastest rustls, and than the `openssl` crate over \
memory BIOs: medians of the ratios of each round. `bare-evp` is the AEAD calls alone, `wire-only` the wire alone; the \
wire is in everybody's time and in nobody's copies.";

/// The ledger as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let all: Vec<Cells> = report.rows.iter().map(cells).collect();
    let mut text = format!("# Ledger\n\n{LEGEND}\n\n");
    text += &host(&report.host);
    text += &versions(&report.versions);
    for (rows, cells) in groups(&report.rows, &all) {
        text += &format!("\n## {}\n\n", title(&rows[0]));
        text += &heads();
        for row in cells {
            text += &format!("| {} |\n", row.join(" | "));
        }
    }
    text
}

fn heads() -> String {
    let names: Vec<_> = columns().iter().map(|(head, _)| *head).collect();
    let rules: Vec<_> = columns().iter().map(|(_, side)| rule(*side)).collect();
    format!("| {} |\n| {} |\n", names.join(" | "), rules.join(" | "))
}

fn rule(side: Side) -> &'static str {
    match side {
        Side::Left => "---",
        Side::Right => "--:",
    }
}

fn host(host: &Host) -> String {
    let Host {
        system,
        processor,
        features,
        cores,
        pinned_to,
        load,
    } = host;
    let features = features.join(" ");
    let pinned = pinned_to.map_or("not pinned".into(), |core| format!("pinned to core {core}"));
    let load = load.map_or("unknown".into(), |load| load.to_string());
    format!("- host: {processor} ({features}), {cores} cores, {pinned}, load {load}, {system}\n")
}

fn versions(versions: &Versions) -> String {
    let Versions {
        arenatls,
        openssl,
        openssl_crate,
        rustls,
        aws_lc_rs,
        ring,
        rustc,
        ..
    } = versions;
    let origin = if versions.openssl_vendored {
        "vendored"
    } else {
        "the system's"
    };
    format!(
        "- versions: arenatls {arenatls}; {openssl} ({origin}); crates openssl {openssl_crate}, rustls {rustls}, \
         aws-lc-rs {aws_lc_rs}, ring {ring}; {rustc}\n"
    )
}
