//! What a bench has found, as data: one form for all benches but the ledger, from which text and the report are made.

mod text;

pub(crate) use text::figures;

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::measure::median;
use crate::report::{Host, Versions, target_directory};

/// All that one run of a bench has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// The bench's name, as cargo knows it.
    pub bench: String,
    /// A heading.
    pub title: String,
    /// What was done and what the figures mean, a paragraph each.
    pub about: Vec<String>,
    /// The command that makes this sheet.
    pub command: String,
    /// True if it was made in the quick mode, which shows that the bench works and nothing else.
    pub quick: bool,
    /// The machine.
    pub host: Host,
    /// What was linked.
    pub versions: Versions,
    /// How long it took (seconds).
    pub seconds: f64,
    /// The figures.
    pub tables: Vec<Table>,
    /// What a reader must know to read them right.
    pub notes: Vec<String>,
}

/// Rows that may be compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A heading.
    pub title: String,
    /// What was done to get these figures, if the sheet's text does not say it.
    pub about: String,
    /// What each cell of a row is.
    pub columns: Vec<Column>,
    /// The rows, those of a group one after the other.
    pub rows: Vec<Row>,
}

/// What the cells of a column are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The head.
    pub name: String,
    /// Their unit; empty for plain numbers and text.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// Whether the report draws it.
    pub plot: bool,
}

/// Which figures are the good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Better {
    /// Great ones.
    More,
    /// Small ones.
    Less,
    /// It is no matter of good or bad.
    Neither,
}

/// One contender under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it has in common with those it may be compared with: "TLS 1.3, 64 connections".
    pub group: String,
    /// Who.
    pub name: String,
    /// True for arenatls.
    pub ours: bool,
    /// One a column.
    pub cells: Vec<Cell>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// Measured several times.
    Range {
        /// The middle one.
        median: f64,
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// Counted, or measured once.
    Number(f64),
    /// In words.
    Text(String),
    /// Not to be had, and why.
    Missing(String),
}

impl Sheet {
    /// A sheet without figures of `bench`, on this machine.
    #[must_use]
    pub fn new(bench: &str, title: &str, quick: bool, pinned_to: Option<usize>) -> Sheet {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Sheet {
            bench: bench.into(),
            title: title.into(),
            about: Vec::new(),
            command: format!("cargo bench --bench {bench}"),
            quick,
            host: Host::look(pinned_to, cores),
            versions: Versions::linked(),
            seconds: 0.0,
            tables: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Where the sheet of `bench` is kept.
    #[must_use]
    pub fn path(bench: &str) -> PathBuf {
        target_directory().join("benches").join(format!("{bench}.json"))
    }

    /// Keeps the sheet for the report, in place of the one before.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self) -> io::Result<PathBuf> {
        let path = Sheet::path(&self.bench);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, serde_json::to_string_pretty(self)?)?;
        Ok(path)
    }

    /// The sheet of `bench` that was kept last.
    ///
    /// # Errors
    ///
    /// If there is none, or it is of another form.
    pub fn load(bench: &str) -> io::Result<Sheet> {
        Ok(serde_json::from_str(&fs::read_to_string(Sheet::path(bench))?)?)
    }
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: &str, about: &str, columns: Vec<Column>) -> Table {
        Table { title: title.into(), about: about.into(), columns, rows: Vec::new() }
    }

    /// Appends a row.
    ///
    /// # Panics
    ///
    /// If it has not a cell for each column.
    pub fn push(&mut self, group: &str, name: &str, ours: bool, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.columns.len(), "cells of {name} in {:?}", self.title);
        self.rows.push(Row { group: group.into(), name: name.into(), ours, cells });
    }
}

impl Column {
    /// A column that the report draws.
    #[must_use]
    pub fn plotted(name: &str, unit: &str, better: Better) -> Column {
        Column { plot: true, ..Column::plain(name, unit, better) }
    }

    /// A column that stands in the table only.
    #[must_use]
    pub fn plain(name: &str, unit: &str, better: Better) -> Column {
        Column { name: name.into(), unit: unit.into(), better, plot: false }
    }
}

impl Cell {
    /// Of measurements; missing if there is none.
    #[must_use]
    pub fn of(values: &[f64]) -> Cell {
        if values.is_empty() {
            return Cell::Missing("not measured".into());
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Cell::Range { median: median(values), least, most }
    }

    /// The figure to draw, if it is one.
    #[must_use]
    pub fn middle(&self) -> Option<f64> {
        match self {
            Cell::Range { median, .. } => Some(*median),
            Cell::Number(number) => Some(*number),
            Cell::Text(_) | Cell::Missing(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_measurements_has_their_middle_and_ends() {
        assert_eq!(Cell::of(&[3.0, 1.0, 9.0]), Cell::Range { median: 3.0, least: 1.0, most: 9.0 });
        assert_eq!(Cell::of(&[]).middle(), None);
    }

    #[test]
    fn a_sheet_is_the_same_after_json() {
        let mut sheet = Sheet::new("nothing", "Nothing", true, None);
        let mut table = Table::new("t", "", vec![Column::plotted("rate", "1/s", Better::More)]);
        table.push("g", "arenatls", true, vec![Cell::of(&[1.5])]);
        sheet.tables.push(table);
        let json = serde_json::to_string(&sheet).unwrap();
        assert_eq!(serde_json::from_str::<Sheet>(&json).unwrap(), sheet);
    }
}
