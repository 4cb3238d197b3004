//! The page in Markdown: the same words and tables, without the drawings.

use super::document::{Block, Document, Grid, heads, reasons};
use crate::sheet::Table;

/// The whole page.
pub(super) fn page(document: &Document) -> String {
    let mut text = format!("# {}\n", document.title);
    for section in &document.sections {
        text += &format!("\n## {}\n", section.title);
        for piece in &section.blocks {
            text += &block(piece);
        }
    }
    text
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("\n### {text}\n"),
        Block::Text(text) => format!("\n{text}\n"),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
            format!("\n{items}")
        }
        Block::Code(code) => format!("\n```sh\n{code}\n```\n"),
        Block::Grid(found) => format!("\n{}", grid(found)),
        Block::Folded(title, found) => format!("\n{title}\n\n{}", grid(found)),
        Block::Figures(table) => format!("\n{}", figures(table)),
        Block::Charts(..) => String::new(),
    }
}

fn figures(table: &Table) -> String {
    let heads = ["".into(), "".into()].into_iter().chain(heads(table)).collect();
    let mut found = Grid { heads, left: 2, grouped: true, rows: Vec::new() };
    for row in &table.rows {
        let cells = row.cells.iter().map(ToString::to_string);
        found.push(row.ours, [row.group.clone(), row.name.clone()].into_iter().chain(cells).collect());
    }
    let notes: String = reasons(table).iter().map(|reason| format!("\n{reason}\n")).collect();
    grid(&found) + &notes
}

fn grid(grid: &Grid) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = |index| if index < grid.left { "---" } else { "--:" };
    let mut text = row(grid.heads.iter().map(|head| escape(head)).collect());
    text += &row((0..grid.heads.len()).map(|index| rule(index).into()).collect());
    for line in &grid.rows {
        text += &row(line.cells.iter().map(|cell| escape(cell)).collect());
    }
    text
}

/// Text for a cell: it ends neither the cell nor the row, and begins no element. Within `code` only the bar has a meaning.
pub(super) fn escape(text: &str) -> String {
    let code = text.starts_with('`') && text.ends_with('`');
    let safe = text.replace('|', "\\|").replace(['\n', '\r'], " ");
    if code { safe } else { safe.replace('<', "&lt;").replace('*', "\\*") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_stay_in_their_cells() {
        let mut found = Grid::new(["a|b", "n"], 1);
        found.push(false, vec!["<x>\n*y*".into(), "1".into()]);
        found.push(false, vec!["`a <b> | c`".into(), "2".into()]);
        assert_eq!(grid(&found), "| a\\|b | n |\n| --- | --: |\n| &lt;x> \\*y\\* | 1 |\n| `a <b> \\| c` | 2 |\n");
    }
}
