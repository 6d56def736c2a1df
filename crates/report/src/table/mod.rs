//! Tables of typed cells, built once and written in four formats.
//!
//! | writer | numbers | nothing |
//! | --- | --- | --- |
//! | terminal: [`Table::to_text`] | for people, flush right | `-` |
//! | web page: in templates, and [`Table::to_html`] | for people | `-` |
//! | Markdown: [`Table::to_markdown`] | for people, flush right | `-` |
//! | CSV: [`csv_row`], row by row, because `counters.csv` grows | for programs | empty |

mod csv;
mod html;
mod markdown;
mod text;

pub(crate) use csv::TEXT_MARK;
pub use csv::csv_row;

use std::fmt;

use crate::{decimals, grouped};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count: `1,024`.
    Count(u64),
    /// A measured number, with the decimals of [`decimals`]: `4.29`.
    Number(f64),
    /// A number with a fixed number of decimals.
    Fixed(f64, usize),
    /// A share from 0 to 1: `40 %`.
    Share(f64),
    /// Not measured, or not applicable.
    Nothing,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    /// Numbers are aligned right.
    is_number: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    cells: Vec<Cell>,
    /// A CSS class for the whole row, or for the value of a pair; often empty.
    pub(crate) class: &'static str,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// A line above the table; often empty.
    pub(crate) title: String,
    /// Empty when the rows are pairs of a name and a value.
    columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// A line below the table; often empty.
    note: String,
}

impl fmt::Display for Cell {
    /// The cell for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => f.write_str(&grouped(*count)),
            Self::Number(number) => f.write_str(&decimals(*number)),
            Self::Fixed(number, places) => write!(f, "{number:.places$}"),
            Self::Share(share) => write!(f, "{:.0} %", share * 100.0),
            Self::Nothing => f.write_str("-"),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<C: Into<Self>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Self {
        cell.map_or(Self::Nothing, Into::into)
    }
}

impl Column {
    /// A column of words.
    pub fn words(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_number: false,
        }
    }

    /// A column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_number: true,
        }
    }
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        Self::classed(cells, "")
    }

    /// A row with a CSS class.
    pub fn classed(cells: impl IntoIterator<Item = impl Into<Cell>>, class: &'static str) -> Self {
        Self {
            cells: cells.into_iter().map(Into::into).collect(),
            class,
        }
    }
}

impl Table {
    /// A table of `columns` and `rows`.
    ///
    /// # Panics
    /// When a row has more or fewer cells than there are columns.
    pub fn new(
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let columns: Vec<Column> = columns.into_iter().collect();
        let rows: Vec<Row> = rows.into_iter().collect();
        assert!(rows.iter().all(|row| row.cells.len() == columns.len()));
        Self {
            columns,
            rows,
            ..Self::default()
        }
    }

    /// A table of words with the given `head`.
    ///
    /// # Panics
    /// As [`Table::new`].
    pub fn grid(title: &str, head: &[&str], rows: Vec<Row>) -> Self {
        Self::new(head.iter().map(|name| Column::words(*name)), rows).titled(title)
    }

    /// Names and values: two columns without a head.
    pub fn pairs(title: &str, pairs: Vec<(&str, String)>) -> Self {
        let row = |(name, value): (&str, String)| Row::new([name.to_owned(), value]);
        let rows = pairs.into_iter().map(row).collect();
        Self {
            rows,
            ..Self::default().titled(title)
        }
    }

    /// Sets the title.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        let title = title.to_owned();
        Self { title, ..self }
    }

    /// Sets the line below the table.
    #[must_use]
    pub fn noted(self, note: &str) -> Self {
        let note = note.to_owned();
        Self { note, ..self }
    }

    /// Inserts a column at index `at`.
    ///
    /// # Panics
    /// When there are fewer cells than rows.
    pub fn insert(&mut self, at: usize, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.columns.insert(at, column);
        let mut cells = cells.into_iter();
        for row in &mut self.rows {
            row.cells
                .insert(at, cells.next().expect("a cell for each row"));
        }
    }

    /// Every cell of the first `count` columns.
    pub fn cells_mut(&mut self, count: usize) -> impl Iterator<Item = &mut Cell> {
        let rows = self.rows.iter_mut();
        rows.flat_map(move |row| row.cells.iter_mut().take(count))
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Every writer, on the same table.
#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(
            [
                Column::words("file"),
                Column::numbers("pages"),
                Column::numbers("ms"),
            ],
            [
                Row::new([Cell::from("a|<b>"), Cell::from(1_024), Cell::from(4.291)]),
                Row::classed(
                    [Cell::from("c\nd"), Cell::Share(0.4), Cell::Nothing],
                    "failed",
                ),
            ],
        )
    }

    #[test]
    fn a_terminal_has_columns() {
        let text = "file   pages    ms\na|<b>  1,024  4.29\nc\\nd    40 %     -";
        assert_eq!(table().to_text(), text);
    }

    #[test]
    fn a_page_has_harmless_cells_and_classes() {
        let html = table().to_html();
        assert!(html.contains("<tr><td>a|&lt;b&gt;</td><td>1,024</td><td>4.29</td></tr>"));
        assert!(html.contains("<tr class=\"failed\"><td>c\nd</td>"));
        let pairs = Table::pairs("", vec![("a", "b".to_owned())]).to_html();
        assert!(pairs.contains("<td class=\"grid_row_header\">a</td>\n<td>b</td></tr>"));
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let text = "| file | pages | ms |\n| --- | ---: | ---: |\n| a\\|<b> | 1,024 | 4.29 |\n| c d | 40 % | - |\n";
        assert_eq!(table().to_markdown(), text);
    }

    #[test]
    fn programs_get_plain_numbers() {
        let mut text = String::new();
        for row in &table().rows {
            csv_row(&mut text, &row.cells);
        }
        csv_row(&mut text, &[Cell::Fixed(0.5, 3), Cell::from("-1,\"2\"")]);
        assert_eq!(
            text,
            "a|<b>,1024,4.291\nc\\nd,0.4,\n0.500,\"'-1,\"\"2\"\"\"\n"
        );
    }

    #[test]
    fn a_column_can_come_later() {
        let mut table = table();
        table.insert(1, Column::words("kind"), [Cell::from("log"), Cell::Nothing]);
        assert!(table.to_text().starts_with("file   kind  pages"));
    }
}
