//! Where arenatls stands: each of its rows beside each peer's.

use crate::measure::median;
use crate::report::{Report, Row as LedgerRow};
use crate::sheet::{Better, Cell, Column, Row, Sheet, figures};

/// Within this factor two figures are called even.
const EVEN: f64 = 1.03;

/// Beginnings and ends of the names of those who are no peers: they show what everybody pays at least, or what goes wrong.
const FLOORS: [&str; 2] = ["bare", "wire-only"];
const CONTROL: &str = "(control)";

/// One figure of arenatls beside one of a peer's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    /// Which bench, and what was done there.
    pub(super) source: String,
    /// Under which setting.
    pub(super) setting: String,
    /// What is compared.
    pub(super) metric: String,
    /// Ours.
    pub(super) ours: String,
    /// Theirs.
    pub(super) peer: String,
    /// How many times better ours is; infinite where only one of the two is nothing.
    pub(super) ratio: f64,
}

/// What comparisons of the same two in the same way come to.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    pub(super) first: &'a Comparison,
    pub(super) ahead: usize,
    pub(super) even: usize,
    pub(super) behind: usize,
    /// The middle, the least and the most of the ratios.
    pub(super) ratios: (f64, f64, f64),
    /// The setting in which ours is worst off.
    pub(super) worst: &'a str,
}

/// Whether a row of that name is a floor or a control, and no peer.
pub(super) fn is_floor(name: &str) -> bool {
    FLOORS.iter().any(|floor| name.starts_with(floor)) || name.ends_with(CONTROL)
}

/// All comparisons within a sheet: in every plotted column that has a good direction, within every group.
pub(super) fn of_sheet(sheet: &Sheet) -> Vec<Comparison> {
    let mut all = Vec::new();
    for table in &sheet.tables {
        let columns = table.columns.iter().enumerate().filter(|(_, column)| column.plot);
        for (index, column) in columns {
            for group in table.rows.chunk_by(|a, b| a.group == b.group) {
                for (ours, peer) in opposites(group) {
                    let Some(ratio) = ratio(column, &ours.cells[index], &peer.cells[index]) else { continue };
                    all.push(Comparison {
                        source: format!("{}: {}", sheet.bench, table.title),
                        setting: ours.group.clone(),
                        metric: column.name.clone(),
                        ours: ours.name.clone(),
                        peer: peer.name.clone(),
                        ratio,
                    });
                }
            }
        }
    }
    all
}

fn opposites(group: &[Row]) -> impl Iterator<Item = (&Row, &Row)> {
    let peers = || group.iter().filter(|row| !row.ours && !is_floor(&row.name));
    group.iter().filter(|row| row.ours).flat_map(move |ours| peers().map(move |peer| (ours, peer)))
}

/// How many times better `ours` is; nothing where there is nothing to compare.
fn ratio(column: &Column, ours: &Cell, peer: &Cell) -> Option<f64> {
    let (ours, peer) = (ours.middle()?, peer.middle()?);
    let (good, bad) = match column.better {
        Better::More => (ours, peer),
        Better::Less => (peer, ours),
        Better::Neither => return None,
    };
    if good < 0.0 || bad < 0.0 || good.is_nan() || bad.is_nan() {
        return None;
    }
    Some(if good == bad { 1.0 } else { good / bad })
}

/// All comparisons within the ledger: the medians of the ratios of its rounds.
pub(super) fn of_ledger(report: &Report) -> Vec<Comparison> {
    let ours = report.rows.iter().filter(|row| row.backend != "own");
    let with = |row: &LedgerRow| {
        let setting = format!("{} {}, {} B, {}", row.version, row.suite, row.payload, row.direction);
        let peers = row.times.iter().filter(|(name, _)| !is_floor(name));
        peers
            .map(|(peer, ratio)| Comparison {
                source: format!("ledger: {}", row.transport),
                setting: setting.clone(),
                metric: "ops/s".into(),
                ours: name(row),
                peer: peer.clone(),
                ratio: *ratio,
            })
            .collect::<Vec<_>>()
    };
    ours.flat_map(with).collect()
}

/// A row of the ledger as it is called here.
pub(super) fn name(row: &LedgerRow) -> String {
    match row.backend.as_str() {
        "own" => row.contender.clone(),
        "memory-bio" => format!("{} {}", row.contender, row.protection),
        backend => format!("{} {} over {backend}", row.contender, row.protection),
    }
}

/// What `comparisons` come to, for each two that are compared in the same way.
pub(super) fn standings(comparisons: &[Comparison]) -> Vec<Standing<'_>> {
    let alike = |a: &Comparison, b: &Comparison| {
        (&a.source, &a.metric, &a.ours, &a.peer) == (&b.source, &b.metric, &b.ours, &b.peer)
    };
    let mut groups: Vec<Vec<&Comparison>> = Vec::new();
    for comparison in comparisons {
        match groups.iter_mut().find(|group| alike(group[0], comparison)) {
            Some(group) => group.push(comparison),
            None => groups.push(vec![comparison]),
        }
    }
    groups.iter().map(|group| standing(group)).collect()
}

fn standing<'a>(group: &[&'a Comparison]) -> Standing<'a> {
    let ratios: Vec<_> = group.iter().map(|comparison| comparison.ratio).collect();
    let count = |wanted: Verdict| ratios.iter().filter(|ratio| verdict(**ratio) == wanted).count();
    let worst = group.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio)).expect("a group is of something");
    let most = ratios.iter().copied().fold(0.0, f64::max);
    Standing {
        first: group[0],
        ahead: count(Verdict::Ahead),
        even: count(Verdict::Even),
        behind: count(Verdict::Behind),
        ratios: (median(&ratios), worst.ratio, most),
        worst: &worst.setting,
    }
}

/// How ours stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ahead,
    Even,
    Behind,
}

pub(super) fn verdict(ratio: f64) -> Verdict {
    match ratio {
        ratio if ratio > EVEN => Verdict::Ahead,
        ratio if ratio < EVEN.recip() => Verdict::Behind,
        _ => Verdict::Even,
    }
}

/// A ratio to be read.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio.is_infinite() => "∞".into(),
        ratio if ratio > 0.0 && ratio < 0.01 => "<0.01".into(),
        ratio => figures(ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Table;

    fn sheet() -> Sheet {
        let columns = vec![
            Column::plotted("rate", "1/s", Better::More),
            Column::plotted("p99", "µs", Better::Less),
            Column::plotted("size", "B", Better::Neither),
            Column::plain("hidden", "", Better::More),
        ];
        let mut table = Table::new("t", "", columns);
        let cells = |rate, p99| vec![Cell::Number(rate), Cell::Number(p99), Cell::Number(1.0), Cell::Number(1.0)];
        table.push("g", "arenatls", true, cells(200.0, 0.0));
        table.push("g", "peer", false, cells(100.0, 5.0));
        table.push("g", "bare ring", false, cells(900.0, 0.0));
        table.push("h", "arenatls", true, cells(50.0, 2.0));
        table.push(
            "h",
            "peer",
            false,
            vec![Cell::Number(100.0), Cell::Missing("none".into()), Cell::Number(1.0), Cell::Number(9.0)],
        );
        let mut sheet = Sheet::new("b", "B", false, None);
        sheet.tables.push(table);
        sheet
    }

    #[test]
    fn ratios_say_how_many_times_better_and_only_within_a_group() {
        let all = of_sheet(&sheet());
        let read: Vec<_> =
            all.iter().map(|c| (c.setting.as_str(), c.metric.as_str(), c.peer.as_str(), c.ratio)).collect();
        let expected = [("g", "rate", "peer", 2.0), ("h", "rate", "peer", 0.5), ("g", "p99", "peer", f64::INFINITY)];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_standing_names_the_worst() {
        let all = of_sheet(&sheet());
        let standings = standings(&all);
        assert_eq!(standings.len(), 2);
        let rate = &standings[0];
        assert_eq!((rate.ahead, rate.even, rate.behind, rate.worst), (1, 0, 1, "h"));
        assert_eq!(rate.ratios, (1.25, 0.5, 2.0));
    }

    #[test]
    fn a_hair_is_no_lead() {
        assert_eq!([1.02, 0.98, 1.04, 0.96].map(verdict), {
            use Verdict::{Ahead, Behind, Even};
            [Even, Even, Ahead, Behind]
        });
        assert_eq!([0.0, 0.001, 1.5, 250.0, f64::INFINITY].map(times), ["0", "<0.01", "1.50", "250", "∞"]);
    }
}
