//! Tables for a terminal: columns as wide as their widest cell, two blanks between them.

use brunt_report::escaped;

/// Lays `rows` out below `head`. Columns named in `right` are flush right, as numbers are.
///
/// # Panics
/// When a row has another number of cells than the head.
pub fn columns(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    // Colours of ours stay; what else begins with an escape ends in `Output`.
    let shown = |cell: &str| escaped(cell, |c| c == '\x1b').into_owned();
    let head: Vec<String> = head.iter().map(|cell| shown(cell)).collect();
    let rows = rows.iter().map(|row| row.iter().map(|cell| shown(cell)));
    let rows: Vec<Vec<String>> = rows.map(Iterator::collect).collect();
    let mut widths = vec![0; head.len()];
    for row in std::iter::once(&head).chain(&rows) {
        assert_eq!(row.len(), widths.len());
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| {
            // Widths of `format!` end at 65,535.
            let blanks = " ".repeat(width - cell.chars().count());
            match right.contains(&at) {
                true => format!("{blanks}{cell}"),
                false => format!("{cell}{blanks}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let lines: Vec<_> = std::iter::once(&head).chain(&rows).map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_one_another() {
        let rows = [
            vec!["a.edb".to_owned(), "7".to_owned()],
            vec!["b".to_owned(), "1,024".to_owned()],
        ];
        assert_eq!(
            columns(&["file", "pages"], &[1], &rows),
            "file   pages\na.edb      7\nb      1,024"
        );
    }

    #[test]
    fn a_row_is_a_line_and_cells_have_any_length() {
        let long = "i".repeat(70_000);
        let rows = [vec!["a\nb".to_owned(), long.clone()]];
        let text = columns(&["file", "name"], &[], &rows);
        assert_eq!(text.lines().nth(1), Some(&*format!("a\\nb  {long}")));
        assert_eq!(text.lines().count(), 2);
    }
}
