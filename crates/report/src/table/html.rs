//! Tables for a web page: a grid below its head, or pairs of a name and a value.
//!
//! Templates see the title, the note, and the table as `html`.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Row, Table};
use crate::html::escape;

impl Table {
    /// The `table` element; every cell is escaped.
    pub fn to_html(&self) -> String {
        match self.columns.is_empty() {
            true => self.pairs_html(),
            false => self.grid_html(),
        }
    }

    fn grid_html(&self) -> String {
        let names = self.columns.iter().map(|column| escape(&column.name));
        let head: String = names.map(|name| format!("<th>{name}</th>")).collect();
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| escape(&cell.to_string()));
            let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            format!("\n<tr{}>{cells}</tr>", class(row))
        });
        format!(
            "\n<div class=\"scroll\"><table class=\"grid\">\n<thead><tr>{head}</tr></thead>\n<tbody>{}\n</tbody></table></div>",
            rows.collect::<String>()
        )
    }

    /// Scripts look for the line after a name, and count rows: so the head is there but hidden.
    fn pairs_html(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let [name, value] = [0, 1].map(|at| escape(&row.cells[at].to_string()));
            let class = class(row);
            format!("\n<tr><td class=\"grid_row_header\">{name}</td>\n<td{class}>{value}</td></tr>")
        });
        format!(
            "\n<table class=\"pairs\">\n<tr class=\"unseen\"><th>Name</th><th>Value</th></tr>{}\n</table>",
            rows.collect::<String>()
        )
    }
}

fn class(row: &Row) -> String {
    match row.class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = serializer.serialize_struct("Table", 4)?;
        shown.serialize_field("title", &self.title)?;
        shown.serialize_field("note", &self.note)?;
        shown.serialize_field("is_empty", &self.is_empty())?;
        shown.serialize_field("html", &self.to_html())?;
        shown.end()
    }
}
