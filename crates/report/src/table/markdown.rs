//! Tables for documentation.

use super::Table;

impl Table {
    /// The table, one line for each row.
    pub fn to_markdown(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|c| shown(&c.name)).collect();
        let sides = self.columns.iter().map(|column| match column.is_number {
            true => "---:",
            false => "---",
        });
        let sides: Vec<_> = sides.map(str::to_owned).collect();
        let rows = self.shown();
        let rows = rows.map(|cells| cells.iter().map(|cell| shown(cell)).collect());
        let lines = [names, sides].into_iter().chain(rows);
        lines.map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
    }
}

/// A cell with line breaks and column separators taken out.
fn shown(cell: &str) -> String {
    cell.replace('\n', " ").replace('|', "\\|")
}
