//! Tables for a web page: a grid below its head, or pairs of a name and a value.
//!
//! Templates see the title, the note, and the table as `html`. The title is the name of the table
//! for those who hear the page.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Cell, Row, Table};
use crate::html::escape;

impl Table {
    /// The `table` element; every cell is escaped.
    pub fn to_html(&self) -> String {
        match self.columns.is_empty() {
            true => self.pairs_html(),
            false => self.grid_html(),
        }
    }

    /// Wide tables scroll within a box, which takes the focus so that keys can scroll it.
    fn grid_html(&self) -> String {
        let side = |at: usize| match self.columns[at].is_number {
            true => " class=\"n\"",
            false => "",
        };
        let head = self.columns.iter().enumerate();
        let head = head.map(|(at, column)| match escape(&column.name).as_str() {
            "" => "<td></td>".to_owned(),
            name => format!("<th scope=\"col\"{}>{name}</th>", side(at)),
        });
        let rows = self.rows.iter().zip(self.shown());
        let rows = rows.map(|(row, shown)| {
            let cells = row.cells.iter().zip(&shown).enumerate();
            let cells = cells.map(|(at, (cell, shown))| {
                format!("<td{}>{}</td>", side(at), content(cell, shown))
            });
            format!("\n<tr{}>{}</tr>", class(row), cells.collect::<String>())
        });
        let name = escape(&self.title);
        format!(
            "\n<div class=\"scroll\" role=\"group\" aria-label=\"{name}\" tabindex=\"0\"><table class=\"grid\" aria-label=\"{name}\">\n\
             <thead><tr>{}</tr></thead>\n<tbody>{}\n</tbody></table></div>",
            head.collect::<String>(),
            rows.collect::<String>()
        )
    }

    /// Scripts look for the line after a name, and count rows and cells: so there is a head that is
    /// not seen, and a size in bytes stands alone, with the size for people in a third cell.
    fn pairs_html(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let name = escape(&row.cells[0].to_string());
            let value = match &row.cells[1] {
                cell @ Cell::Bytes(bytes) => format!("{bytes}</td>\n<td class=\"aside\">{cell}"),
                cell => content(cell, &cell.to_string()),
            };
            let class = class(row);
            format!("\n<tr><td class=\"grid_row_header\">{name}</td>\n<td{class}>{value}</td></tr>")
        });
        format!(
            "\n<table class=\"pairs\" aria-label=\"{}\">\n<tr class=\"unseen\"><th scope=\"col\">Name</th><th scope=\"col\">Value</th></tr>{}\n</table>",
            escape(&self.title),
            rows.collect::<String>()
        )
    }
}

/// What is in a cell that shows `shown`.
fn content(cell: &Cell, shown: &str) -> String {
    match cell {
        Cell::Link(_, to) => format!("<a href=\"{}\">{}</a>", escape(to), escape(shown)),
        Cell::Time(time) => format!("<time datetime=\"{time}\">{shown}</time>"),
        Cell::Text(day) if is_day(day) => format!("<time>{shown}</time>"),
        _ => escape(shown),
    }
}

/// Whether `text` is a date such as `2026-11-27`, which stays in one line.
fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
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
