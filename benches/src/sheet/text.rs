//! A sheet for a terminal, and a table of it for Markdown.

use super::{Cell, Sheet, Table};
use crate::report::Grid;

impl Sheet {
    /// The tables and notes, for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for table in &self.tables {
            let (grid, rows) = table.grid();
            text += &format!("\n{}\n{}", table.title, grid.plain(&rows, &grid.widths(&rows)));
        }
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }
}

impl Table {
    /// As a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (grid, rows) = self.grid();
        grid.markdown(&rows)
    }

    fn grid(&self) -> (Grid, Vec<Vec<String>>) {
        let heads = self.columns.iter().map(|column| match column.unit.as_str() {
            "" => column.name.clone(),
            unit => format!("{} ({unit})", column.name),
        });
        let heads = ["".into(), "".into()].into_iter().chain(heads).collect();
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter().map(ToString::to_string);
            [row.group.clone(), row.name.clone()].into_iter().chain(cells).collect()
        });
        (Grid { heads, left: 2 }, rows.collect())
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Range { median, least, most } => {
                write!(f, "{} [{}–{}]", figures(*median), figures(*least), figures(*most))
            }
            Cell::Number(number) => f.write_str(&figures(*number)),
            Cell::Text(text) => f.write_str(text),
            Cell::Missing(_) => f.write_str("–"),
        }
    }
}

/// Three figures or so; a whole number with all its digits, thousands apart.
pub(crate) fn figures(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => thousands(number),
        size if number.fract() == 0.0 && size < 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::from(if number < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Better, Column};
    use super::*;

    #[test]
    fn numbers_read_well() {
        let read = [1_234_567.4, 999.6, 99.94, 12.0, 0.054].map(figures);
        assert_eq!(read, ["1,234,567", "1,000", "99.9", "12", "0.05"]);
    }

    #[test]
    fn a_table_names_units_and_says_what_is_missing() {
        let mut table = Table::new("t", "", vec![Column::plain("rate", "1/s", Better::More)]);
        table.push("g", "arenatls", true, vec![Cell::Number(2.0)]);
        table.push("g", "other", false, vec![Cell::Missing("it does not build here".into())]);
        assert_eq!(
            table.markdown(),
            "|  |  | rate (1/s) |\n| --- | --- | --: |\n| g | arenatls | 2 |\n| g | other | – |\n"
        );
    }
}
