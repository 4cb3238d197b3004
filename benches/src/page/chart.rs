//! Horizontal bars, drawn by hand.

use std::fmt::Write as _;

use super::compare::is_floor;
use super::html::escape;
use super::scale::{Scale, short};
use crate::sheet::{Cell, Row, Table, figures};

/// Width of a drawing, in its own units: about what a phone has, so that it is not made smaller there.
const WIDTH: f64 = 360.0;
/// Height of a bar with its words.
const ROW: f64 = 33.0;
/// Height of a bar.
const BAR: f64 = 10.0;
/// Height of the axis with its numbers.
const AXIS: f64 = 32.0;
/// What keeps numbers at the ends of the axis within the drawing.
const MARGIN: f64 = 12.0;
/// Width of a letter, about.
const LETTER: f64 = 6.7;
/// How far whiskers may stretch the axis beyond the longest bar.
const STRETCH: f64 = 1.35;
/// Groups have one axis if the longest bars of all are within this factor; otherwise each has its own.
const ALIKE: f64 = 4.0;

/// A drawing: the bars of a group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    pub(super) title: String,
    unit: String,
    bars: Vec<Bar>,
    scale: Scale,
}

#[derive(Debug, Clone, PartialEq)]
struct Bar {
    name: String,
    kind: &'static str,
    cell: Cell,
}

/// The drawings of a column, one for each group of rows; one for all if no group has a second row.
pub(super) fn panels(table: &Table, column: usize) -> Vec<Panel> {
    let groups: Vec<&[Row]> = table.rows.chunk_by(|a, b| a.group == b.group).collect();
    let cells = |rows: &[Row]| rows.iter().filter_map(|row| row.cells.get(column).cloned()).collect::<Vec<_>>();
    let unit = table.columns.get(column).map(|column| column.unit.clone()).unwrap_or_default();
    if groups.len() > 1 && groups.iter().all(|rows| rows.len() == 1) {
        let name =
            |row: &Row| if row.group.is_empty() { row.name.clone() } else { format!("{}: {}", row.group, row.name) };
        let bars = table.rows.iter().zip(cells(&table.rows)).map(|(row, cell)| bar(name(row), row, cell)).collect();
        let scale = scale(&table.rows, column);
        return vec![Panel { title: String::new(), unit, bars, scale }];
    }
    let longest = |rows: &&[Row]| scale(rows, column).high();
    let (least, most) = groups.iter().map(longest).fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let common = (most <= least * ALIKE).then(|| scale(&table.rows, column));
    let panel = |rows: &[Row]| Panel {
        title: rows.first().map(|row| row.group.clone()).unwrap_or_default(),
        unit: unit.clone(),
        bars: rows.iter().zip(cells(rows)).map(|(row, cell)| bar(row.name.clone(), row, cell)).collect(),
        scale: common.unwrap_or_else(|| scale(rows, column)),
    };
    groups.into_iter().map(panel).collect()
}

fn bar(name: String, row: &Row, cell: Cell) -> Bar {
    let kind = match row.ours {
        true => "ours",
        false if is_floor(&row.name) => "floor",
        false => "peer",
    };
    Bar { name, kind, cell }
}

/// An axis for the bars of `rows`. Floors stretch it no more than whiskers do: theirs may be many times as long.
fn scale(rows: &[Row], column: usize) -> Scale {
    let cells =
        |floors| rows.iter().filter(move |row| is_floor(&row.name) == floors).filter_map(|row| row.cells.get(column));
    let middles = |floors| cells(floors).filter_map(Cell::middle);
    let longest = middles(false).fold(0.0, f64::max);
    let most = if longest > 0.0 { longest * STRETCH } else { f64::INFINITY };
    let ends = cells(false).flat_map(|cell| match cell {
        Cell::Range { median, least, most: end } => vec![*median, *least, end.min(most)],
        other => other.middle().into_iter().collect(),
    });
    let ends = ends.chain(middles(true).filter(|middle| *middle <= most));
    Scale::over(ends, WIDTH - 2.0 * MARGIN)
}

impl Panel {
    /// As an SVG element that inherits its colours from classes.
    pub(super) fn svg(&self) -> String {
        let bottom = ROW * self.bars.len() as f64;
        let height = bottom + AXIS;
        let label = escape(&format!("{} ({})", self.title, self.unit));
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n");
        self.axis(&mut svg, bottom);
        for (index, bar) in self.bars.iter().enumerate() {
            self.bar(&mut svg, bar, ROW * index as f64);
        }
        svg + "</svg>\n"
    }

    fn place(&self, value: f64) -> f64 {
        MARGIN + self.scale.place(value)
    }

    fn axis(&self, svg: &mut String, bottom: f64) {
        for tick in self.scale.ticks(4) {
            let (x, number) = (self.place(tick), short(tick));
            let class = if tick == 0.0 { "zero" } else { "grid" };
            line(svg, &format!("<path class=\"{class}\" d=\"M{x:.1} 14V{:.1}\"/>", bottom + 2.0));
            line(svg, &format!("<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{number}</text>", bottom + 13.0));
        }
        let (x, y) = (WIDTH - MARGIN, bottom + 26.0);
        line(svg, &format!("<text class=\"unit\" x=\"{x}\" y=\"{y:.1}\">{}</text>", escape(&self.unit)));
    }

    fn bar(&self, svg: &mut String, bar: &Bar, top: f64) {
        let (kind, value) = (bar.kind, shown(&bar.cell));
        let room = WIDTH - 2.0 * MARGIN - LETTER * (value.chars().count() + 1) as f64;
        let (name, whole) = (escape(&fitting(&bar.name, room)), escape(&bar.name));
        let (value, end, words) = (escape(&value), WIDTH - MARGIN, top + 12.0);
        line(svg, &format!("<g class=\"{kind}\"><title>{whole}: {}</title>", escape(&bar.cell.to_string())));
        line(svg, &format!("<text class=\"name\" x=\"{MARGIN}\" y=\"{words:.1}\">{name}</text>"));
        line(svg, &format!("<text class=\"value\" x=\"{end}\" y=\"{words:.1}\">{value}</text>"));
        if let Some(middle) = bar.cell.middle().filter(|middle| middle.is_finite() && *middle != 0.0) {
            let (zero, at) = (self.place(0.0), self.place(middle));
            // So thin that it cannot be seen, it would look as if it had been left out.
            let (x, width, y) = (zero.min(at), (zero - at).abs().max(1.0), top + 17.0);
            line(svg, &format!("<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"1.5\"/>"));
            if !self.scale.holds(middle) {
                // It goes on.
                line(svg, &format!("<path class=\"cut\" d=\"M{:.1} {:.1}l-4 14m-4 0l4 -14\"/>", at - 4.0, y - 2.0));
            }
        }
        if let Cell::Range { least, most, .. } = bar.cell {
            self.whisker(svg, (least, most), top + 17.0 + BAR / 2.0);
        }
        line(svg, "</g>");
    }

    /// From the least to the most; an end beyond the axis is drawn without a cap.
    fn whisker(&self, svg: &mut String, (least, most): (f64, f64), y: f64) {
        let mut path = format!("M{:.1} {y:.1}H{:.1}", self.place(least), self.place(most));
        for end in [least, most].into_iter().filter(|end| self.scale.holds(*end)) {
            let _ = write!(path, "M{:.1} {:.1}v6", self.place(end), y - 3.0);
        }
        line(svg, &format!("<path class=\"halo\" d=\"{path}\"/><path class=\"whisker\" d=\"{path}\"/>"));
    }
}

fn line(svg: &mut String, text: &str) {
    svg.push_str(text);
    svg.push('\n');
}

/// What stands at the end of a bar.
fn shown(cell: &Cell) -> String {
    match (cell, cell.middle()) {
        (_, Some(middle)) if middle.abs() >= 1e9 => short(middle),
        (_, Some(middle)) => figures(middle),
        (Cell::Missing(why), _) => format!("– ({})", fitting(why, 170.0)),
        (other, None) => other.to_string(),
    }
}

/// As much of `name` as there is room for.
fn fitting(name: &str, room: f64) -> String {
    let most = (room / LETTER).max(4.0) as usize;
    if name.chars().count() <= most {
        return name.into();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{Better, Column};

    fn table(rows: &[(&str, &str, bool, Cell)]) -> Table {
        let mut table = Table::new("t", "", vec![Column::plotted("rate", "1/s", Better::More)]);
        for (group, name, ours, cell) in rows {
            table.push(group, name, *ours, vec![cell.clone()]);
        }
        table
    }

    fn range(least: f64, median: f64, most: f64) -> Cell {
        Cell::Range { median, least, most }
    }

    #[test]
    fn each_group_is_a_panel_and_ours_stand_out() {
        let rows = [
            ("a", "arenatls", true, range(90.0, 100.0, 110.0)),
            ("a", "bare ring", false, Cell::Number(50.0)),
            ("b", "<odd & \"name\">", false, Cell::Missing("it is 'not' <there>".into())),
            ("b", "arenatls", true, Cell::Text("n/a".into())),
        ];
        let panels = panels(&table(&rows), 0);
        assert_eq!(panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let (a, b) = (panels[0].svg(), panels[1].svg());
        assert!(a.contains("class=\"ours\"") && a.contains("class=\"floor\""), "{a}");
        assert_eq!((a.matches("<rect").count(), a.matches("whisker").count()), (2, 1));
        assert!(b.contains("&lt;odd &amp; &quot;name&quot;&gt;") && !b.contains("<odd") && !b.contains("<rect"), "{b}");
        assert!(b.contains("not&#39; &lt;there&gt;") && b.contains("n/a"), "{b}");
    }

    #[test]
    fn groups_that_are_alike_share_an_axis() {
        let rows = |second| [("a", "x", true, Cell::Number(100.0)), ("b", "x", true, Cell::Number(second))];
        let doubled = |second| rows(second).into_iter().flat_map(|row| [row.clone(), row]).collect::<Vec<_>>();
        let alike = panels(&table(&doubled(40.0)), 0);
        assert_eq!(alike[0].scale, alike[1].scale);
        let apart = panels(&table(&doubled(4.0)), 0);
        assert_ne!(apart[0].scale, apart[1].scale);
        // Single rows are one drawing.
        assert_eq!(panels(&table(&rows(4.0)), 0).len(), 1);
        assert!(panels(&table(&[]), 0).is_empty());
    }

    #[test]
    fn a_whisker_that_would_crush_the_bars_is_cut() {
        let rows = [("a", "x", true, range(1.0, 10.0, 1000.0)), ("a", "y", false, range(1.0, 8.0, 9.0))];
        let panel = &panels(&table(&rows), 0)[0];
        assert!(panel.scale.holds(13.0) && !panel.scale.holds(14.0));
        let svg = panel.svg();
        // Two ends of the one and one of the other, and the same for what keeps them apart from their bars.
        assert_eq!(svg.matches("v6").count(), 6, "{svg}");
    }

    #[test]
    fn every_coordinate_is_within_the_drawing() {
        let cells = [range(-5.0, -2.0, 3.0), range(0.0, 0.0, 0.0), Cell::Number(f64::NAN), Cell::Number(1e300)];
        let rows: Vec<_> =
            cells.iter().map(|cell| ("a", "a name that is much too long for its place", true, cell.clone())).collect();
        let svg = panels(&table(&rows), 0)[0].svg();
        for piece in svg.split(" x=\"").skip(1) {
            let x: f64 = piece.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=WIDTH).contains(&x), "{x} in {svg}");
        }
        assert!(svg.contains('…'));
    }
}
