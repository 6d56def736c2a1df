//! Tables as the template draws them.

use serde::Serialize;

/// A titled table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Table {
    pub(super) title: String,
    /// Empty when the rows are pairs of a name and a value.
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// A line below it; often empty.
    pub(super) note: String,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// A CSS class for the last cell of a pair or for the whole row; often empty.
    pub(super) class: &'static str,
}

impl Row {
    pub(super) fn new(cells: Vec<String>) -> Self {
        Self { cells, class: "" }
    }

    pub(super) fn classed(cells: Vec<String>, class: &'static str) -> Self {
        Self { cells, class }
    }
}

impl Table {
    /// Names and values, two columns.
    pub(super) fn pairs(title: &str, pairs: Vec<(&str, String)>) -> Self {
        let row = |(name, value): (&str, String)| Row::new(vec![name.to_owned(), value]);
        Self {
            title: title.to_owned(),
            head: Vec::new(),
            rows: pairs.into_iter().map(row).collect(),
            note: String::new(),
        }
    }

    /// A head and rows of as many cells.
    ///
    /// # Panics
    /// When a row has another number of cells than the head.
    pub(super) fn grid(title: &str, head: &[&str], rows: Vec<Row>) -> Self {
        assert!(rows.iter().all(|row| row.cells.len() == head.len()));
        Self {
            title: title.to_owned(),
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows,
            note: String::new(),
        }
    }

    pub(super) fn noted(self, note: &str) -> Self {
        Self {
            note: note.to_owned(),
            ..self
        }
    }
}
