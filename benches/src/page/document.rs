//! What is on the page, whatever it is written in.

use super::chart::Panel;
use crate::sheet::{Cell, Table};

/// The page.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Its heading.
    pub(super) title: String,
    /// What comes first, in order.
    pub(super) sections: Vec<Section>,
}

/// A part with a heading of its own.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// A piece of a section. Text may have `code` in it, as in Markdown, and nothing else.
#[derive(Debug)]
pub(super) enum Block {
    /// A heading below the section's.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A command.
    Code(String),
    /// Words and numbers in columns.
    Grid(Grid),
    /// The same, of which the page at first shows only this title.
    Folded(String, Grid),
    /// A table of figures, with whose rows groups are headed.
    Figures(Table),
    /// A drawing for each group of a table, under a heading.
    Charts(String, Vec<Panel>),
}

/// Cells under heads; the first `left` columns are words. Where `grouped`, rows that begin alike belong together.
#[derive(Debug, Default)]
pub(super) struct Grid {
    pub(super) heads: Vec<String>,
    pub(super) left: usize,
    pub(super) grouped: bool,
    pub(super) rows: Vec<Line>,
}

/// A row of a grid.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) cells: Vec<String>,
    pub(super) ours: bool,
}

impl Section {
    pub(super) fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), blocks: Vec::new() }
    }

    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    pub(super) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }
}

impl Grid {
    pub(super) fn new<const N: usize>(heads: [&str; N], left: usize) -> Grid {
        Grid { heads: heads.map(String::from).into(), left, grouped: false, rows: Vec::new() }
    }

    /// With rows of the same first cell under one heading.
    pub(super) fn grouped(self) -> Grid {
        Grid { grouped: true, ..self }
    }

    pub(super) fn push(&mut self, ours: bool, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(Line { cells, ours });
    }
}

/// The head of a column, its unit with it.
pub(super) fn heads(table: &Table) -> Vec<String> {
    let head = |column: &crate::sheet::Column| match column.unit.as_str() {
        "" => column.name.clone(),
        unit => format!("{} ({unit})", column.name),
    };
    table.columns.iter().map(head).collect()
}

/// Why figures are missing, each reason once, with who it is that has none.
pub(super) fn reasons(table: &Table) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &table.rows {
        for cell in &row.cells {
            let Cell::Missing(why) = cell else { continue };
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, who)) if who.contains(&row.name.as_str()) => {}
                Some((_, who)) => who.push(&row.name),
                None => reasons.push((why, vec![&row.name])),
            }
        }
    }
    reasons.into_iter().map(|(why, who)| format!("–, {}: {why}", who.join(", "))).collect()
}
