//! Is all of the data on the page, and is the page well made?

use super::gather::Data;
use super::{html, markdown};
use crate::sheet::{Cell, Table};

/// Elements that have no end.
const VOID: [&str; 4] = ["meta", "br", "hr", "!DOCTYPE"];

/// Whether both pages have every row and every figure, and the one in HTML is whole and asks for nothing from elsewhere.
pub(super) fn check(data: &Data, page: &str, text: &str) -> Result<(), String> {
    let ledger = data.ledger.iter().flat_map(|taken| super::ledger::tables(&taken.what));
    let sheets = data.sheets.iter().flat_map(|taken| taken.what.tables.iter().cloned());
    for table in ledger.chain(sheets) {
        has_all(&table, page, text)?;
    }
    for (bench, _) in data.missing.iter().chain(&data.failed) {
        there(page, &html::escape(bench), "HTML")?;
        there(text, bench, "Markdown")?;
    }
    balanced(page)?;
    alone(page)
}

fn has_all(table: &Table, page: &str, text: &str) -> Result<(), String> {
    for row in &table.rows {
        let name = row.name.replace('`', "");
        let name = html::escape(&name);
        there(
            &page.replace("<code>", "").replace("</code>", "").replace("<em>", "*").replace("</em>", "*"),
            &name,
            "HTML",
        )?;
        there(text, &markdown::escape(&row.name), "Markdown")?;
        for cell in &row.cells {
            let figure = cell.to_string();
            there(text, &markdown::escape(&figure), "Markdown")?;
            let figure = figure.split(" [").next().unwrap_or_default();
            there(page, &html::escape(figure), "HTML")?;
            if let Cell::Missing(why) = cell {
                there(page, &html::escape(why), "HTML")?;
            }
        }
    }
    Ok(())
}

fn there(page: &str, what: &str, which: &str) -> Result<(), String> {
    if page.contains(what) { Ok(()) } else { Err(format!("{what:?} is missing in {which}")) }
}

/// Every element that begins ends, in order.
fn balanced(page: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let Some((tag, _)) = piece.split_once('>') else { return Err(format!("a tag does not end: {piece:?}")) };
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(ended) = name.strip_prefix('/') {
            let begun = open.pop();
            if begun != Some(ended) {
                return Err(format!("{begun:?} is ended by {ended:?}"));
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("not ended: {open:?}")) }
}

/// Nothing comes from elsewhere, and nothing runs.
fn alone(page: &str) -> Result<(), String> {
    let foreign = ["<script", "<link", "<img", "<iframe", "src=", "@import", "url(", "href=\"h", "onload="];
    match foreign.into_iter().find(|sign| page.contains(sign)) {
        Some(sign) => Err(format!("{sign:?} is in the page")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{build, sample};
    use super::*;

    #[test]
    fn sample_data_becomes_whole_pages() {
        let data = sample::data();
        let document = build::document(&data);
        check(&data, &html::page(&document), &markdown::page(&document)).unwrap();
    }

    #[test]
    fn no_data_at_all_is_a_page_too() {
        let data = Data { missing: vec![("ledger".into(), "it has not been run".into())], ..Data::default() };
        let document = build::document(&data);
        let (page, text) = (html::page(&document), markdown::page(&document));
        check(&data, &page, &text).unwrap();
        assert!(page.contains("cargo bench --bench ledger"), "{page}");
    }

    #[test]
    fn what_is_wrong_is_found() {
        let data = sample::data();
        let document = build::document(&data);
        let (page, text) = (html::page(&document), markdown::page(&document));
        for (from, to) in [("contender 4", "x"), ("</details>", ""), ("<main>", "<main><script>")] {
            assert!(check(&data, &page.replace(from, to), &text).is_err(), "{from}");
        }
        assert!(check(&data, &page, &text.replace("contender 4", "x")).is_err());
    }
}
