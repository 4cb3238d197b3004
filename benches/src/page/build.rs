//! From the data to what is on the page.

use super::benches;
use super::chart::panels;
use std::collections::BTreeSet;

use super::compare::{Comparison, Standing, of_ledger, of_sheet, standings, times};
use super::document::{Block, Document, Grid, Section};
use super::gather::{Data, LEDGER};
use super::{ledger, origin};
use crate::report::Report;
use crate::sheet::{Sheet, Table};

/// What the page is, and what its words mean.
const LEAD: &str = "What the benches of arenatls have found on one machine. Figures are medians, with least and most in \
                    brackets; bars have them as whiskers, cut where they would crush the bars. Rows are compared only \
                    within their group, which ran in turns under one setting.";
const STANDING: &str = "A comparison is one row of arenatls beside one peer's, in one setting, by one of the measures that are \
                        drawn below. *Times better* is how many times as many a second, or how many times less time or \
                        memory; within 3 % the two are even. Floors (`bare…`, `wire-only`) and controls are no peers.";
const ARCHITECTURES: &str = "Four ways to share memory between a TLS library and its caller, by the record that is protected and \
                             opened. Bytes allocated for an operation are in three columns that are never added up: what Rust's \
                             global allocator was asked for, what OpenSSL asked its own hook for, and what reached libc from \
                             anybody, the other two among it. Copies are what `memcpy` and `memmove` moved. Rows in memory and \
                             over loopback are never in one table.";
const LEDGER_ABOUT: &str = "One operation is one record from client to server: `write` protects it and hands it on, `read` takes \
                            and opens it, `both` is the one and then the other. Calls and bytes of the three allocators are for \
                            each record; `copied` is bytes moved for a byte of payload. The ratios at the end are medians of the \
                            ratios of each round. `bare-evp` is the AEAD calls alone, `wire-only` the wire alone.";

/// Peers that are ahead, as many as are shown at once of each measure.
const BEHIND: usize = 3;

/// The whole page.
pub(super) fn document(data: &Data) -> Document {
    let ledger = data.ledger.as_ref().map(|taken| &taken.what);
    let mut comparisons: Vec<Comparison> = ledger.map(of_ledger).unwrap_or_default();
    comparisons.extend(data.sheets.iter().flat_map(|taken| of_sheet(&taken.what)));
    let mut sections = vec![summary(data, &comparisons), origin::section(data)];
    if let Some(report) = ledger {
        sections.insert(1, architectures(report));
        sections.push(whole_ledger(report, &comparisons));
    }
    sections.extend(data.sheets.iter().map(|taken| sheet(&taken.what, &comparisons)));
    Document { title: "arenatls: what it costs".into(), sections }
}

fn summary(data: &Data, comparisons: &[Comparison]) -> Section {
    let mut section = Section::new("Where arenatls stands");
    section.text(LEAD);
    if !data.missing.is_empty() {
        let names: Vec<_> = data.missing.iter().map(|(bench, _)| format!("`{bench}`")).collect();
        section.text(format!(
            "Not here: {}. How to get them is told under Machine, versions, commands.",
            names.join(", ")
        ));
    }
    if data.sheets.iter().any(|taken| taken.what.quick) {
        section.text("Some of these figures are of rough runs, which show that a bench works and little more.");
    }
    if comparisons.is_empty() {
        section.text("There is nothing yet in which arenatls and a peer could be compared.");
        return section;
    }
    let standings = standings(comparisons);
    section.text(STANDING);
    section.blocks.push(Block::Grid(glance(&standings)));
    section.heading("Where a peer is ahead");
    let (farthest, others) = behind(&standings);
    if farthest.rows.is_empty() {
        section.text("Nowhere in these data.");
    } else {
        section.blocks.push(Block::Grid(farthest));
    }
    if !others.rows.is_empty() {
        let title = format!("{} more, which are less far ahead in the same things", others.rows.len());
        section.blocks.push(Block::Folded(title, others));
    }
    section.blocks.push(Block::Folded("All that was compared, peer by peer".into(), against(&standings)));
    section
}

/// For each row of arenatls and each measure: how it stands beside all peers, and beside the one that is the hardest.
fn glance(standings: &[Standing<'_>]) -> Grid {
    let heads =
        ["where", "what", "arenatls as", "ahead", "even", "behind", "hardest peer", "times better than it [range]"];
    let mut grid = Grid::new(heads, 3).grouped();
    let key = |standing: &Standing<'_>| {
        let Comparison { source, metric, ours, .. } = standing.first;
        (source.clone(), metric.clone(), ours.clone())
    };
    let mut keys: Vec<_> = standings.iter().map(key).collect();
    let mut seen = BTreeSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    for wanted in keys {
        let these: Vec<_> = standings.iter().filter(|standing| key(standing) == wanted).collect();
        let Some(hardest) = these.iter().min_by(|a, b| a.ratios.0.total_cmp(&b.ratios.0)) else { continue };
        let sum =
            |count: fn(&Standing<'_>) -> usize| these.iter().map(|standing| count(standing)).sum::<usize>().to_string();
        let (source, metric, ours) = wanted;
        let counts = [sum(|s| s.ahead), sum(|s| s.even), sum(|s| s.behind)];
        let beside = [hardest.first.peer.clone(), ranged(hardest)];
        grid.push(false, [source, metric, ours].into_iter().chain(counts).chain(beside).collect());
    }
    grid
}

fn ranged(standing: &Standing<'_>) -> String {
    let (middle, least, most) = standing.ratios;
    match standing.ahead + standing.even + standing.behind {
        1 => times(middle),
        _ => format!("{} [{}–{}]", times(middle), times(least), times(most)),
    }
}

/// Who is ahead of us in anything, and how far: those who are the farthest, and the others.
fn behind(standings: &[Standing<'_>]) -> (Grid, Grid) {
    let heads = ["where", "what", "peer", "arenatls as", "worst in", "behind in", "times better [range]"];
    let (mut farthest, mut others) = (Grid::new(heads, 5).grouped(), Grid::new(heads, 5).grouped());
    let alike =
        |a: &Standing<'_>, b: &Standing<'_>| (&a.first.source, &a.first.metric) == (&b.first.source, &b.first.metric);
    for group in standings.chunk_by(alike) {
        let mut found: Vec<_> = group.iter().filter(|standing| standing.behind > 0).collect();
        found.sort_by(|a, b| a.ratios.0.total_cmp(&b.ratios.0));
        for (index, standing) in found.into_iter().enumerate() {
            let grid = if index < BEHIND { &mut farthest } else { &mut others };
            let (Comparison { source, metric, peer, ours, .. }, worst) = (standing.first, standing.worst);
            let of = format!("{} of {}", standing.behind, standing.ahead + standing.even + standing.behind);
            grid.push(false, [source, metric, peer, ours, worst, &of, &ranged(standing)].map(String::from).into());
        }
    }
    (farthest, others)
}

fn against(standings: &[Standing<'_>]) -> Grid {
    let heads = ["where", "what", "arenatls as", "peer", "ahead", "even", "behind", "times better [range]"];
    let mut grid = Grid::new(heads, 4).grouped();
    for standing in standings {
        let Comparison { source, metric, ours, peer, .. } = standing.first;
        let counts = [standing.ahead, standing.even, standing.behind].map(|count| count.to_string());
        let names = [source, metric, ours, peer].map(String::clone);
        grid.push(false, names.into_iter().chain(counts).chain([ranged(standing)]).collect());
    }
    grid
}

fn architectures(report: &Report) -> Section {
    let mut section = Section::new("What an architecture costs");
    section.text(ARCHITECTURES);
    for found in ledger::architectures(report) {
        section.heading(found.title);
        section.blocks.push(Block::Grid(found.grid));
        drawings(&mut section, &found.table);
    }
    section
}

fn whole_ledger(report: &Report, comparisons: &[Comparison]) -> Section {
    let mut section = Section::new("The ledger");
    section.text(LEDGER_ABOUT);
    for table in ledger::tables(report) {
        figures(&mut section, table);
    }
    let transports: BTreeSet<_> = report.rows.iter().map(|row| &row.transport).collect();
    for transport in transports {
        ratios(&mut section, &format!("{LEDGER}: {transport}"), "ops/s", comparisons);
    }
    section
}

fn sheet(sheet: &Sheet, comparisons: &[Comparison]) -> Section {
    let mut section = Section::new(sheet.title.clone());
    if sheet.quick {
        section.text("A rough run: it shows that the bench works and little more.");
    }
    sheet.about.iter().for_each(|text| section.text(text.clone()));
    section.blocks.push(Block::Code(sheet.command.clone()));
    for table in &sheet.tables {
        figures(&mut section, table.clone());
        let source = format!("{}: {}", sheet.bench, table.title);
        for column in table.columns.iter().filter(|column| column.plot) {
            ratios(&mut section, &source, &column.name, comparisons);
        }
    }
    if !sheet.notes.is_empty() {
        section.blocks.push(Block::List(sheet.notes.clone()));
    }
    section
}

/// A table with its drawings.
fn figures(section: &mut Section, table: Table) {
    section.heading(table.title.clone());
    if !table.about.is_empty() {
        section.text(table.about.clone());
    }
    drawings(section, &table);
    section.blocks.push(Block::Figures(table));
}

/// A drawing of each column that is to be drawn.
fn drawings(section: &mut Section, table: &Table) {
    for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.plot) {
        let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
        let good = match column.better {
            crate::sheet::Better::More => ", more is better",
            crate::sheet::Better::Less => ", less is better",
            crate::sheet::Better::Neither => "",
        };
        section.blocks.push(Block::Charts(format!("{}{unit}{good}", column.name), panels(table, index)));
    }
}

/// How many times better each row of ours is than each peer's, folded.
fn ratios(section: &mut Section, source: &str, metric: &str, comparisons: &[Comparison]) {
    let of = |comparison: &&Comparison| comparison.source == source && comparison.metric == metric;
    let found: Vec<_> = comparisons.iter().filter(of).collect();
    let mut peers: Vec<&str> = Vec::new();
    for comparison in &found {
        if !peers.contains(&comparison.peer.as_str()) {
            peers.push(&comparison.peer);
        }
    }
    if peers.is_empty() {
        return;
    }
    let heads = ["setting", "arenatls as"].into_iter().chain(peers.iter().copied()).map(String::from).collect();
    let mut grid = Grid { heads, left: 2, grouped: true, rows: Vec::new() };
    for row in found.chunk_by(|a, b| (&a.setting, &a.ours) == (&b.setting, &b.ours)) {
        let with = |peer: &&str| row.iter().find(|comparison| comparison.peer == **peer);
        let cells = peers.iter().map(|peer| with(peer).map_or("–".into(), |comparison| times(comparison.ratio)));
        let names = [row[0].setting.clone(), row[0].ours.clone()];
        grid.push(false, names.into_iter().chain(cells).collect());
    }
    section.blocks.push(Block::Folded(format!("{metric}: how many times better than each peer ({source})"), grid));
}

/// How to get what is missing.
pub(super) fn advice(bench: &str, why: &str) -> String {
    format!("{bench}: {why}. `{}`", benches::command(bench, false))
}
