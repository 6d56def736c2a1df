//! Tables of typed cells, built once and written in four formats.
//!
//! | writer | numbers | nothing |
//! | --- | --- | --- |
//! | terminal: [`Table::to_text`] | for people | `-` |
//! | web page: in templates, and [`Table::to_html`] | for people | `-` |
//! | Markdown: [`Table::to_markdown`] | for people | `-` |
//! | CSV: [`Table::to_csv`], and [`csv_row`] because `counters.csv` grows | for programs | empty |
//!
//! For people, a column of numbers is aligned right, and its measured numbers have equal decimals.
//! A column whose rows measure different things takes texts instead, each with the decimals of
//! [`decimals`].

mod csv;
mod html;
mod markdown;
mod text;

pub(crate) use csv::TEXT_MARK;
pub use csv::csv_row;

use std::fmt;

use brunt_units::ByteSize;

use crate::{Timestamp, decimals, grouped};
use brunt_units::{fixed, places};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// Words, and where on the web page they lead.
    Link(String, String),
    /// A count: `1,024`.
    Count(u64),
    /// A measured number: `4.29`.
    Number(f64),
    /// A number with a fixed number of decimals and without thousands separators.
    Fixed(f64, usize),
    /// A share from 0 to 1: `40 %`.
    Share(f64),
    /// A size: `4.05 GiB`.
    Bytes(u64),
    /// A point in time.
    Time(Timestamp),
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

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    cells: Vec<Cell>,
    /// A CSS class for the whole row, or for the value of a pair; often empty.
    pub(crate) class: &'static str,
}

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
            Self::Text(text) | Self::Link(text, _) => f.write_str(text),
            Self::Count(count) => f.write_str(&grouped(*count)),
            Self::Number(number) => f.write_str(&decimals(*number)),
            Self::Fixed(number, places) => write!(f, "{number:.places$}"),
            Self::Share(share) => write!(f, "{:.0} %", share * 100.0),
            Self::Bytes(bytes) => ByteSize::bytes(*bytes).fmt(f),
            Self::Time(time) => f.write_str(&time.for_people()),
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

impl From<Timestamp> for Cell {
    fn from(time: Timestamp) -> Self {
        Self::Time(time)
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
        Self { name: name.into(), is_number: false }
    }

    /// A column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_number: true }
    }

    /// Columns of words, and columns of numbers after them.
    pub fn of(words: &[&str], numbers: &[&str]) -> Vec<Self> {
        let words = words.iter().map(|name| Self::words(*name));
        let numbers = numbers.iter().map(|name| Self::numbers(*name));
        words.chain(numbers).collect()
    }
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        Self::classed(cells, "")
    }

    /// A row with a CSS class.
    pub fn classed(cells: impl IntoIterator<Item = impl Into<Cell>>, class: &'static str) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), class }
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
        Self { columns, rows, ..Self::default() }
    }

    /// Names and values: two columns without a head.
    pub fn pairs(title: &str, pairs: Vec<(&str, impl Into<Cell>)>) -> Self {
        let row = |(name, value): (&str, _)| Row::new([name.into(), Into::<Cell>::into(value)]);
        let rows = pairs.into_iter().map(row).collect();
        Self { rows, ..Self::default().titled(title) }
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

    /// Keeps only the rows of which `wanted` says so, by their cells and their class.
    #[must_use]
    pub fn with_rows(mut self, wanted: impl Fn(&[Cell], &str) -> bool) -> Self {
        self.rows.retain(|row| wanted(&row.cells, row.class));
        self
    }

    /// Inserts a column at index `at`.
    ///
    /// # Panics
    /// When there are fewer cells than rows.
    pub fn insert(&mut self, at: usize, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.columns.insert(at, column);
        let mut cells = cells.into_iter();
        for row in &mut self.rows {
            row.cells.insert(at, cells.next().expect("a cell for each row"));
        }
    }

    /// The line above it; often empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The line below it; often empty.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Name of each column, and whether it has numbers; none when the rows are pairs of a name and
    /// a value.
    pub fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let columns = self.columns.iter();
        columns.map(|column| (column.name.as_str(), column.is_number))
    }

    /// The cells of each row for people, and the row's class.
    pub fn for_people(&self) -> impl Iterator<Item = (Vec<String>, &'static str)> {
        // The values of pairs measure different things, so each has its own decimals.
        let is_pairs = self.columns.is_empty();
        self.rows.iter().zip(self.shown()).map(move |(row, shown)| {
            let cells = match is_pairs {
                true => row.cells.iter().map(Cell::to_string).collect(),
                false => shown,
            };
            (cells, row.class)
        })
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The cells of each row for people.
    fn shown(&self) -> impl Iterator<Item = Vec<String>> {
        let places: Vec<usize> = (0..self.columns.len()).map(|at| self.places(at)).collect();
        let shown = move |(cell, places): (&Cell, &usize)| match cell {
            Cell::Number(number) => fixed(*number, *places),
            other => other.to_string(),
        };
        let rows = self.rows.iter();
        rows.map(move |row| row.cells.iter().zip(&places).map(shown).collect())
    }

    /// The decimals of the measured numbers of a column: those of its smallest. Zero needs none.
    fn places(&self, column: usize) -> usize {
        let numbers = self.rows.iter().map(|row| match row.cells[column] {
            Cell::Number(number) if number != 0.0 => places(number),
            _ => 0,
        });
        numbers.max().unwrap_or(0)
    }
}

/// Every writer, on the same table.
#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(
            [Column::words("file"), Column::numbers("pages"), Column::numbers("ms")],
            [
                Row::new([Cell::from("a|<b>"), Cell::from(1_024), Cell::from(4.291)]),
                Row::classed([Cell::from("c\nd"), Cell::Share(0.4), Cell::Nothing], "failed"),
            ],
        )
        .titled("Some <files>")
    }

    #[test]
    fn a_terminal_has_columns() {
        let text = "file   pages    ms\na|<b>  1,024  4.29\nc\\nd    40 %     -";
        assert_eq!(table().to_text(), text);
    }

    #[test]
    fn a_page_has_harmless_cells_and_classes() {
        let html = table().to_html();
        let row =
            "<tr><td>a|&lt;b&gt;</td><td class=\"n\">1,024</td><td class=\"n\">4.29</td></tr>";
        assert!(html.contains(row));
        assert!(html.contains("<tr class=\"failed\"><td>c\nd</td>"));
        let pairs = Table::pairs("", vec![("a", "b")]);
        assert!(pairs.to_html().contains("<td class=\"grid_row_header\">a</td>\n<td>b</td></tr>"));
        let cells: Vec<_> = pairs.for_people().collect();
        assert_eq!(cells, [(vec!["a".to_owned(), "b".to_owned()], "")]);
    }

    #[test]
    fn a_page_says_what_each_cell_belongs_to() {
        let html = table().to_html();
        assert!(html.contains("<table class=\"grid\" aria-label=\"Some &lt;files&gt;\">"));
        let head = "<tr><th scope=\"col\">file</th><th scope=\"col\" class=\"n\">pages</th>";
        assert!(html.contains(head));
        let pairs = Table::pairs("Sizes", vec![("a", "b")]).to_html();
        assert!(pairs.contains("aria-label=\"Sizes\"") && pairs.contains("<th scope=\"col\">Name"));
    }

    #[test]
    fn a_size_has_a_cell_for_scripts_and_one_for_people() {
        let size = Table::pairs("", vec![("size", Cell::Bytes(4_351_557_632))]).to_html();
        assert!(size.contains("\n<td>4351557632</td>\n<td class=\"aside\">4.05 GiB</td></tr>"));
    }

    #[test]
    fn a_time_does_not_break() {
        let time = Timestamp { unix_seconds: 951_782_400 };
        let html = Table::pairs("", vec![("at", time)]).to_html();
        let wanted =
            "<td><time datetime=\"2000-02-29T00:00:00Z\">2000-02-29 00:00:00 UTC</time></td>";
        assert!(html.contains(wanted), "{html}");
    }

    #[test]
    fn measured_numbers_of_a_column_have_equal_decimals() {
        let rows = [Some(191.2), Some(9.914), Some(56.9), Some(0.0), None];
        let rows = rows.map(|number| Row::new([Cell::from(number), Cell::from("812")]));
        let table = Table::new(["ms", "any"].map(Column::numbers), rows);
        let text = "    ms  any\n191.20  812\n  9.91  812\n 56.90  812\n  0.00  812\n     -  812";
        assert_eq!(table.to_text(), text);
        assert!(table.to_html().contains("<td class=\"n\">191.20</td>"));
        assert!(table.to_markdown().contains("| 56.90 | 812 |"));
        let whole = Table::new([Column::numbers("")], [21_480.2, 0.0].map(|n| Row::new([n])));
        assert_eq!(whole.to_text(), "\n21,480\n     0");
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let text = "| file | pages | ms |\n| --- | ---: | ---: |\n| a\\|<b> | 1,024 | 4.29 |\n| c d | 40 % | - |\n";
        assert_eq!(table().to_markdown(), text);
    }

    #[test]
    fn programs_get_plain_numbers() {
        let mut text = table().to_csv();
        csv_row(&mut text, &[Cell::Fixed(0.5, 3), Cell::from("-1,\"2\"")]);
        assert_eq!(text, "file,pages,ms\na|<b>,1024,4.291\nc\\nd,0.4,\n0.500,\"'-1,\"\"2\"\"\"\n");
    }

    #[test]
    fn a_column_can_come_later() {
        let mut table = table();
        table.insert(1, Column::words("kind"), [Cell::from("log"), Cell::Nothing]);
        assert!(table.to_text().starts_with("file   kind  pages"));
    }
}
