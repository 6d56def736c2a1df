//! For spreadsheets and scripts.

use std::fmt::Write;

use super::Cell;
use crate::one_line;

/// Appends a row: numbers as programs read them, and an empty cell for nothing.
pub fn csv_row(text: &mut String, cells: &[Cell]) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match cell {
            Cell::Text(words) => {
                text.push_str(&field(words));
                Ok(())
            }
            Cell::Count(count) => write!(text, "{count}"),
            Cell::Number(number) | Cell::Share(number) => write!(text, "{number}"),
            Cell::Fixed(number, places) => write!(text, "{number:.places$}"),
            Cell::Nothing => Ok(()),
        }
        .expect("a string takes all");
    }
    text.push('\n');
}

/// What a spreadsheet takes for the begin of a formula, and the mark that tells it otherwise.
const FORMULA: [char; 5] = ['=', '+', '-', '@', TEXT_MARK];
/// Stands before a text that would be taken for a formula, and before one that begins with the mark itself.
pub(crate) const TEXT_MARK: char = '\'';

/// A text as a cell. Control characters are written out, so that a row is a line.
fn field(text: &str) -> String {
    let text = one_line(text);
    let mark = if text.starts_with(FORMULA) { "'" } else { "" };
    if !mark.is_empty() || text.contains([',', '"']) {
        format!("\"{mark}{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}
