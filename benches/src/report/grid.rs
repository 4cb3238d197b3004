//! Cells in aligned columns, for a terminal and for Markdown.

/// Rows of cells under heads. The first `left` columns keep to the left, all others to the right.
pub(crate) struct Grid {
    pub(crate) heads: Vec<String>,
    pub(crate) left: usize,
}

impl Grid {
    /// How wide each column must be to hold all of `rows` and its head.
    pub(crate) fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let column = |index: usize| rows.iter().map(move |row| length(&row[index]));
        let heads = self.heads.iter().enumerate();
        heads.map(|(index, head)| column(index).max().unwrap_or(0).max(length(head))).collect()
    }

    /// The heads and `rows`, aligned to `widths`.
    pub(crate) fn plain(&self, rows: &[Vec<String>], widths: &[usize]) -> String {
        let all = std::iter::once(&self.heads).chain(rows);
        all.map(|row| self.line(row, widths)).collect()
    }

    /// The heads and `rows` as a table of Markdown.
    pub(crate) fn markdown(&self, rows: &[Vec<String>]) -> String {
        let rule = |index| if index < self.left { "---" } else { "--:" };
        let rules: Vec<_> = (0..self.heads.len()).map(rule).collect();
        let mut text = format!("| {} |\n| {} |\n", self.heads.join(" | "), rules.join(" | "));
        for row in rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).enumerate();
        let padded = cells.map(|(index, (cell, &width))| match index < self.left {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    }
}

fn length(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let grid = Grid { heads: vec!["who".into(), "×".into()], left: 1 };
        let rows = [vec!["a".into(), "1–2".into()], vec!["bcde".into(), "3".into()]];
        let widths = grid.widths(&rows);
        assert_eq!(grid.plain(&rows, &widths), "who     ×\na     1–2\nbcde    3\n");
        assert_eq!(grid.markdown(&rows[..1]), "| who | × |\n| --- | --: |\n| a | 1–2 |\n");
    }
}
