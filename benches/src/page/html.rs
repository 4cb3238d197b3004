//! The page in HTML: one file that needs no other.

use super::chart::Panel;
use super::document::{Block, Document, Grid, Section, heads, reasons};
use crate::sheet::{Cell, Table};

const STYLE: &str = include_str!("style.css");

/// Drawings of one column that are shown at once; the others are folded.
const DRAWINGS: usize = 12;

/// Rows of a table that is not folded.
const ROWS: usize = 40;

/// The whole page.
pub(super) fn page(document: &Document) -> String {
    let (title, mut body) = (escape(&document.title), String::new());
    for (index, section) in document.sections.iter().enumerate() {
        body += &part(index, section);
    }
    let links: String = document.sections.iter().enumerate().map(|(index, section)| link(index, section)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<h1>{title}</h1>\n<nav>{links}</nav>\n</header>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn link(index: usize, section: &Section) -> String {
    format!("<a href=\"#s{index}\">{}</a> ", escape(&section.title))
}

fn part(index: usize, section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    format!("<section id=\"s{index}\">\n<h2>{}</h2>\n{blocks}</section>\n", escape(&section.title))
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("<h3>{}</h3>\n", inline(text)),
        Block::Text(text) => format!("<p>{}</p>\n", inline(text)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Code(code) => format!("<pre><code>{}</code></pre>\n", escape(code)),
        Block::Grid(found) => grid(found),
        Block::Folded(title, found) => folded(title, &grid(found)),
        Block::Figures(table) if table.rows.len() > ROWS => {
            folded(&format!("All {} rows", table.rows.len()), &figures(table))
        }
        Block::Figures(table) => figures(table),
        Block::Charts(title, panels) => charts(title, panels),
    }
}

fn folded(title: &str, what: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{what}</details>\n", inline(title))
}

fn charts(title: &str, panels: &[Panel]) -> String {
    if panels.is_empty() {
        return String::new();
    }
    let (shown, others) = panels.split_at(panels.len().min(DRAWINGS));
    let draw = |panels: &[Panel]| -> String {
        let all: String = panels.iter().map(panel).collect();
        format!("<div class=\"panels\">\n{all}</div>\n")
    };
    let others = match others.len() {
        0 => String::new(),
        count => folded(&format!("{count} more"), &draw(others)),
    };
    format!("<figure>\n<figcaption>{}</figcaption>\n{}{others}</figure>\n", inline(title), draw(shown))
}

fn panel(panel: &Panel) -> String {
    let title = if panel.title.is_empty() { String::new() } else { format!("<h4>{}</h4>\n", inline(&panel.title)) };
    format!("<div class=\"panel\">\n{title}{}</div>\n", panel.svg())
}

fn grid(grid: &Grid) -> String {
    let first = usize::from(grid.grouped);
    let class = |index| if index < grid.left { "" } else { " class=\"n\"" };
    let head = |(index, head): (usize, &String)| format!("<th scope=\"col\"{}>{}</th>", class(index), inline(head));
    let heads: String = grid.heads.iter().enumerate().skip(first).map(head).collect();
    let (mut rows, mut group) = (String::new(), "");
    for line in &grid.rows {
        if grid.grouped && line.cells[0] != group {
            group = &line.cells[0];
            rows += &group_head(group, grid.heads.len() - 1);
        }
        let cell = |(index, cell): (usize, &String)| format!("<td{}>{}</td>", class(index), inline(cell));
        let cells: String = line.cells.iter().enumerate().skip(first).map(cell).collect();
        rows += &format!("<tr{}>{cells}</tr>\n", if line.ours { " class=\"ours\"" } else { "" });
    }
    scrolled(&format!("<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n"))
}

fn group_head(name: &str, width: usize) -> String {
    format!("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{width}\">{}</th></tr>\n", inline(name))
}

/// A wide table scrolls by itself, not the page.
fn scrolled(inside: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\"><table>\n{inside}</table></div>\n")
}

fn figures(table: &Table) -> String {
    let heads: String =
        heads(table).iter().map(|head| format!("<th scope=\"col\" class=\"n\">{}</th>", inline(head))).collect();
    let mut inside = format!("<thead><tr><th></th>{heads}</tr></thead>\n");
    for group in table.rows.chunk_by(|a, b| a.group == b.group) {
        inside += "<tbody>\n";
        if !group[0].group.is_empty() {
            inside += &group_head(&group[0].group, table.columns.len() + 1);
        }
        for row in group {
            let cells: String = row.cells.iter().map(cell).collect();
            let class = if row.ours { " class=\"ours\"" } else { "" };
            inside += &format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>\n", inline(&row.name));
        }
        inside += "</tbody>\n";
    }
    let notes: String =
        reasons(table).iter().map(|reason| format!("<p class=\"why\">{}</p>\n", inline(reason))).collect();
    scrolled(&inside) + &notes
}

fn cell(cell: &Cell) -> String {
    let text = cell.to_string();
    // The range is smaller than what it is the range of.
    match (cell, text.split_once(" [")) {
        (Cell::Range { .. }, Some((middle, range))) => {
            format!("<td class=\"n\">{} <small>[{}</small></td>", escape(middle), escape(range))
        }
        _ => format!("<td class=\"n\">{}</td>", escape(&text)),
    }
}

/// Text that may have `code` in it, and *words* that are stressed.
fn inline(text: &str) -> String {
    let mut html = String::new();
    let pieces: Vec<_> = text.split('`').collect();
    let last = pieces.len() - 1;
    for (index, piece) in pieces.into_iter().enumerate() {
        match index % 2 {
            1 if index < last => html += &format!("<code>{}</code>", escape(piece)),
            // A tick without another.
            1 => html += &format!("`{}", escape(piece)),
            _ => html += &stressed(piece),
        }
    }
    html
}

fn stressed(text: &str) -> String {
    let pieces: Vec<_> = text.split('*').collect();
    match pieces[..] {
        [before, words, after] if !words.is_empty() && !words.starts_with(' ') => {
            format!("{}<em>{}</em>{}", escape(before), escape(words), escape(after))
        }
        _ => escape(text),
    }
}

/// Text for HTML and SVG, in elements and attributes. What neither may hold becomes a replacement character.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            letter if letter.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_data_becomes_markup() {
        assert_eq!(escape("<a href='x'>&\"\u{0}\n"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{fffd} ");
        assert_eq!(inline("a `b<c` d"), "a <code>b&lt;c</code> d");
        assert_eq!(inline("one ` <tick"), "one ` &lt;tick");
        assert_eq!(inline("*Times* <b>, 2 * 3"), "*Times* &lt;b&gt;, 2 * 3");
        assert_eq!(inline("see *this* & that"), "see <em>this</em> &amp; that");
    }
}
