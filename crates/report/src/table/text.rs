//! Tables for a terminal: columns as wide as their widest cell, two spaces apart.

use super::Table;
use crate::escaped;

impl Table {
    /// The table, without a line break at the end.
    pub fn to_text(&self) -> String {
        self.text_lines().join("\n")
    }

    /// The table with a line break behind each line and two blanks before it.
    pub fn to_indented_text(&self) -> String {
        let lines = self.text_lines().into_iter();
        lines.map(|line| format!("  {line}\n")).collect()
    }

    /// A line for the head and one for each row.
    pub fn text_lines(&self) -> Vec<String> {
        // Our own colours stay. Other escapes are written out where the text is shown.
        let shown = |cell: &str| escaped(cell, |c| c == '\x1b').into_owned();
        let head: Vec<String> = self.columns.iter().map(|c| shown(&c.name)).collect();
        let rows = self.shown();
        let rows = rows.map(|cells| cells.iter().map(|cell| shown(cell)).collect());
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| lines.iter().map(|line| line[at].chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().zip(&widths).zip(&self.columns);
            let cells = cells.map(|((cell, width), column)| {
                // Widths in `format!` end at 65,535.
                let blanks = " ".repeat(width - cell.chars().count());
                match column.is_number {
                    true => format!("{blanks}{cell}"),
                    false => format!("{cell}{blanks}"),
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        lines.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::table::{Column, Row, Table};

    #[test]
    fn a_row_is_a_line_and_cells_have_any_length() {
        let long = "i".repeat(70_000);
        let row = Row::new(["a\nb", &long]);
        let table = Table::new(["file", "name"].map(Column::words), [row]);
        assert_eq!(table.text_lines()[1], format!("a\\nb  {long}"));
        assert_eq!(table.to_text().lines().count(), 2);
    }
}
