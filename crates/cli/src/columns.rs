//! Tables for a terminal: columns as wide as their widest cell, two blanks between them.

/// Lays `rows` out below `head`. Columns named in `right` are flush right, as numbers are.
///
/// # Panics
/// When a row has another number of cells than the head.
pub fn columns(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let mut widths = vec![0; head.len()];
    for row in std::iter::once(&head).chain(rows) {
        assert_eq!(row.len(), widths.len());
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| {
            let width = *width;
            if right.contains(&at) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let lines: Vec<_> = std::iter::once(&head).chain(rows).map(line).collect();
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
}
