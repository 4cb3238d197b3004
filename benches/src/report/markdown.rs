//! The ledger for a page.

use super::table::{cells, grid, groups, standing_grid, title};
use super::{Host, Report, Versions};

/// What the columns mean, in a few lines.
const LEGEND: &str = "\
Client to server, one thread on one core; one operation is one record. In `memory` a wire of memory carries it, over \
`loopback` the kernel's TCP does; rows of the one are not to be compared with rows of the other. `write`: protect it and hand it to \
the wire; `read`: take it from the wire and open it; `both`: the one and then the other. Time is the median of the \
rounds with least and most. Allocations (bytes) are per record: calls of Rust's global allocator; calls OpenSSL makes to \
its hook; all that reaches libc, the other two among them. *copied/byte* is what `memcpy` and `memmove` moved for a byte \
of payload. The ratios say how many times faster a row is than the fastest rustls, and than the `openssl` crate over \
memory BIOs: medians of the ratios of each round. `bare-evp` is the AEAD calls alone, `wire-only` the wire alone; the \
wire is in everybody's time and in nobody's copies.";

/// What the last table means.
const STANDING: &str = "\
How many times faster arenatls is than the faster API of rustls with either provider, and than the `openssl` crate; and \
its time as a multiple of the bare AEAD's.";

/// The ledger as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# Ledger\n\n{LEGEND}\n\n");
    text += &host(&report.host);
    text += &versions(&report.versions);
    for group in groups(report) {
        let rows: Vec<_> = group.iter().map(cells).collect();
        text += &format!("\n## {}\n\n{}", title(&group[0]), grid().markdown(&rows));
    }
    let (grid, rows) = standing_grid(report);
    if !rows.is_empty() {
        text += &format!("\n## Standing\n\n{STANDING}\n\n{}", grid.markdown(&rows));
    }
    text
}

fn host(host: &Host) -> String {
    let Host { system, processor, features, cores, pinned_to, load } = host;
    let features = features.join(" ");
    let pinned = pinned_to.map_or("not pinned".into(), |core| format!("pinned to core {core}"));
    let load = load.map_or("unknown".into(), |load| load.to_string());
    format!("- host: {processor} ({features}), {cores} cores, {pinned}, load {load}, {system}\n")
}

fn versions(versions: &Versions) -> String {
    let Versions { arenatls, openssl, openssl_crate, rustls, aws_lc_rs, ring, s2n_tls, rustc, .. } = versions;
    let origin = if versions.openssl_vendored { "vendored" } else { "the system's" };
    format!(
        "- versions: arenatls {arenatls}; {openssl} ({origin}); crates openssl {openssl_crate}, rustls {rustls}, \
         aws-lc-rs {aws_lc_rs}, ring {ring}, s2n-tls {s2n_tls}; {rustc}\n"
    )
}
