//! Where the data come from: machine, versions, commands.

use super::build::advice;
use super::document::{Block, Grid, Section};
use super::gather::{Data, Origin, date};
use crate::report::{Host, Versions};
use crate::sheet::figures;

/// The section.
pub(super) fn section(data: &Data) -> Section {
    let mut section = Section::new("Machine, versions, commands");
    let origins = data.origins();
    section.blocks.push(Block::List(surroundings(&origins)));
    if !origins.is_empty() {
        section.blocks.push(Block::Grid(commands(&origins)));
    }
    let failed = data.failed.iter().map(|(bench, how)| format!("{bench} failed: {how}. What is shown of it is older."));
    let missing = data.missing.iter().map(|(bench, why)| advice(bench, why));
    let sorry: Vec<_> = failed.chain(missing).collect();
    if !sorry.is_empty() {
        section.heading("Not here, or not new");
        section.blocks.push(Block::List(sorry));
    }
    section.text(
        "`cargo bench --bench report` runs all of them and makes this page anew; \
                  `cargo bench --bench report -- --no-run` only makes the page.",
    );
    section
}

/// Each machine and each set of versions once, with those who were there if not all were.
fn surroundings(origins: &[Origin<'_>]) -> Vec<String> {
    let machines = distinct(origins, |origin| machine(origin.host));
    let versions = distinct(origins, |origin| linked(origin.versions));
    machines.into_iter().chain(versions).collect()
}

fn distinct(origins: &[Origin<'_>], told: impl Fn(&Origin<'_>) -> String) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for origin in origins {
        let text = told(origin);
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, who)) => who.push(origin.bench),
            None => found.push((text, vec![origin.bench])),
        }
    }
    let one = found.len() == 1;
    found.into_iter().map(|(text, who)| if one { text } else { format!("{}: {text}", who.join(", ")) }).collect()
}

fn machine(host: &Host) -> String {
    let Host { system, processor, features, cores, .. } = host;
    format!("{processor} ({}), {cores} cores, {system}", features.join(" "))
}

fn linked(versions: &Versions) -> String {
    let Versions { arenatls, openssl, openssl_crate, rustls, aws_lc_rs, ring, rustc, .. } = versions;
    let origin = if versions.openssl_vendored { "vendored" } else { "the system's" };
    format!(
        "arenatls {arenatls}; {openssl} ({origin}); crates openssl {openssl_crate}, rustls {rustls}, aws-lc-rs {aws_lc_rs}, \
         ring {ring}; {rustc}"
    )
}

fn commands(origins: &[Origin<'_>]) -> Grid {
    let mut grid = Grid::new(["bench", "command", "taken", "pinned to core", "load before", "took (s)"], 2);
    for origin in origins {
        let optional = |value: Option<String>| value.unwrap_or("–".into());
        grid.push(
            false,
            vec![
                if origin.quick { format!("{} (rough)", origin.bench) } else { origin.bench.into() },
                format!("`{}`", origin.command),
                optional(origin.at.map(date)),
                optional(origin.host.pinned_to.map(|core| core.to_string())),
                optional(origin.host.load.map(figures)),
                optional(origin.seconds.map(figures)),
            ],
        );
    }
    grid
}
