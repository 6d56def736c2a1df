//! Tables for spreadsheets and scripts.

use std::fmt::Write;

use super::{Cell, Table};
use crate::one_line;

impl Table {
    /// The table with its head.
    pub fn to_csv(&self) -> String {
        let head: Vec<Cell> = self.columns.iter().map(|c| c.name.as_str().into()).collect();
        let rows = self.rows.iter().map(|row| &row.cells);
        let mut text = String::new();
        std::iter::once(&head).chain(rows).for_each(|cells| csv_row(&mut text, cells));
        text
    }
}

/// Appends a row: plain numbers, and an empty cell for [`Cell::Nothing`].
pub fn csv_row(text: &mut String, cells: &[Cell]) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match cell {
            Cell::Text(words) | Cell::Link(words, _) => {
                text.push_str(&field(words));
                Ok(())
            }
            Cell::Count(count) | Cell::Bytes(count) => write!(text, "{count}"),
            Cell::Number(number) | Cell::Share(number) => write!(text, "{number}"),
            Cell::Fixed(number, places) => write!(text, "{number:.places$}"),
            Cell::Time(time) => write!(text, "{time}"),
            Cell::Nothing => Ok(()),
        }
        .expect("a string takes all");
    }
    text.push('\n');
}

/// Characters at which a spreadsheet begins a formula, and the mark that prevents it.
const FORMULA: [char; 5] = ['=', '+', '-', '@', TEXT_MARK];
/// Precedes a text that would be read as a formula, and one that begins with the mark itself.
pub(crate) const TEXT_MARK: char = '\'';

/// A text as a cell. Control characters are written out, so that a row stays on one line.
fn field(text: &str) -> String {
    let text = one_line(text);
    let mark = if text.starts_with(FORMULA) { "'" } else { "" };
    if !mark.is_empty() || text.contains([',', '"']) {
        format!("\"{mark}{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}
