//! Tables that are wider than the terminal: the gaps between columns shrink first, then names and
//! words are broken within their column.
//!
//! ```text
//!   limit                            at most     here    outcome
//!   copies after failures, at worst  at least 1  1       ok
//!
//!   limit                 at most    here outcome
//!   copies after          at least 1 1    ok
//!     failures, at worst
//! ```
//!
//! A table is known by its form: lines two blanks from the edge, with gaps of two blanks or more
//! that all of them share.

use std::cmp::Reverse;

use super::{HANG, cells, pieces};

/// Where the lines of a table begin.
const EDGE: usize = 2;

/// How far `lines` belong together as lines of one table; none if they are no table.
pub(super) fn table_at(lines: &[&str]) -> usize {
    let is_row = |line: &&&str| line.starts_with("  ") && !line.trim().is_empty();
    let rows = lines.iter().take_while(is_row).count();
    let begin = |line: &&str| line.len() - line.trim_start().len();
    match lines[..rows].iter().map(begin).min() {
        Some(EDGE) if rows > 1 => rows,
        _ => 0,
    }
}

/// The lines of a table, no wider than `width`; nothing if that cannot be. Lines without a gap are
/// remarks between rows, and set by `alone`.
pub(super) fn fitted(
    lines: &[&str],
    width: usize,
    alone: impl Fn(&str) -> String,
) -> Option<Vec<String>> {
    let is_row = |line: &str| line.trim().contains("  ");
    let rows: Vec<Vec<String>> =
        lines.iter().filter(|line| is_row(line)).map(|line| places(line)).collect();
    let mut columns = columns(&rows);
    let gaps = columns.len().checked_sub(1).filter(|gaps| *gaps > 0)?;
    let needed = |columns: &[Column], gap: usize| {
        EDGE + columns.iter().map(|column| column.width).sum::<usize>() + gaps * gap
    };
    let gap = if needed(&columns, 2) <= width { 2 } else { 1 };
    while needed(&columns, gap) > width {
        // Where the fewest cells are broken: a long head above short numbers goes first.
        let wide = columns.iter_mut().filter(|column| column.width > column.least);
        let broken = |column: &Column| {
            let cells_of = rows.iter().map(|row| cells(column.cell(row).trim()));
            cells_of.filter(|cell| *cell >= column.width).count()
        };
        wide.min_by_key(|column| (broken(column), Reverse(column.width)))?.width -= 1;
    }
    let mut rows = rows.iter();
    let lines = lines.iter().flat_map(|line| match is_row(line) {
        true => rows.next().map_or_else(Vec::new, |row| set(row, &columns, gap)),
        false => vec![alone(line)],
    });
    Some(lines.collect())
}

/// The letters of a line by their places, each with the colours before it.
fn places(line: &str) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    let (mut waiting, mut is_colour) = (String::new(), false);
    for letter in line.chars() {
        is_colour |= letter == '\x1b';
        waiting.push(letter);
        match is_colour {
            true => is_colour = letter != 'm',
            false => places.push(std::mem::take(&mut waiting)),
        }
    }
    if let Some(last) = places.last_mut() {
        last.push_str(&waiting);
    }
    places
}

struct Column {
    /// Where it stands in the lines as they are.
    from: usize,
    until: usize,
    /// Whether its cells end at the same place.
    is_right: bool,
    width: usize,
    /// The widest of what stays whole.
    least: usize,
}

impl Column {
    /// What `row` has in it.
    fn cell(&self, row: &[String]) -> String {
        let until = self.until.min(row.len());
        row.get(self.from..until).unwrap_or_default().concat()
    }
}

fn is_blank(row: &[String], at: usize) -> bool {
    row.get(at).is_none_or(|place| place == " ")
}

/// The columns of `rows`: between them all rows have two blanks or more.
fn columns(rows: &[Vec<String>]) -> Vec<Column> {
    let end = rows.iter().map(Vec::len).max().unwrap_or_default();
    let is_gap = |at: usize| rows.iter().all(|row| is_blank(row, at));
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let (mut from, mut blanks) = (EDGE, 0);
    for at in EDGE..=end {
        match at == end || is_gap(at) {
            true => blanks += 1,
            false => {
                if blanks > 1 {
                    ends.push((from, at - blanks));
                    from = at;
                }
                blanks = 0;
            }
        }
    }
    ends.push((from, end));
    ends.into_iter().map(|(from, until)| column(rows, from, until)).collect()
}

fn column(rows: &[Vec<String>], from: usize, until: usize) -> Column {
    let ends_there =
        |row: &Vec<String>| (from..until).all(|at| is_blank(row, at)) || !is_blank(row, until - 1);
    let begins_there =
        |row: &Vec<String>| (from..until).all(|at| is_blank(row, at)) || !is_blank(row, from);
    let is_right = rows.iter().all(ends_there) && !rows.iter().all(begins_there);
    let mut column = Column { from, until, is_right, width: until - from, least: 0 };
    let hang = if is_right { 0 } else { HANG };
    let least = rows.iter().flat_map(|row| {
        let cell = column.cell(row);
        let cell = cell.trim();
        let parts: Vec<usize> = pieces(cell).iter().map(|piece| cells(piece.trim_end())).collect();
        let first = parts.first().copied();
        first
            .into_iter()
            .chain(parts.into_iter().skip(1).map(move |part| part + hang))
            .collect::<Vec<_>>()
    });
    column.least = least.max().unwrap_or_default().min(column.width);
    column
}

/// The lines of a row.
fn set(row: &[String], columns: &[Column], gap: usize) -> Vec<String> {
    let cells_of = columns.iter().map(|column| broken(&column.cell(row), column));
    let cells_of: Vec<Vec<String>> = cells_of.collect();
    let height = cells_of.iter().map(Vec::len).max().unwrap_or(1);
    let line = |at: usize| {
        let mut line = " ".repeat(EDGE);
        for (number, (column, parts)) in columns.iter().zip(&cells_of).enumerate() {
            let part = parts.get(at).map_or("", String::as_str);
            let blanks = " ".repeat(column.width.saturating_sub(cells(part)));
            if number > 0 {
                line += &" ".repeat(gap);
            }
            line += &if column.is_right { blanks + part } else { part.to_owned() + &blanks };
        }
        line.truncate(line.trim_end().len());
        line
    };
    (0..height).map(line).collect()
}

/// A cell in lines of the column's width.
fn broken(cell: &str, column: &Column) -> Vec<String> {
    // What is narrower than its column stands where it stood.
    let cell = cell.trim_end();
    let cell = if column.is_right || cells(cell) > column.width { cell.trim_start() } else { cell };
    if cells(cell) <= column.width {
        return vec![cell.to_owned()];
    }
    let hang = if column.is_right { 0 } else { HANG };
    let mut lines = vec![String::new()];
    for piece in pieces(cell) {
        let last = lines.last_mut().expect("there is one");
        if cells(last.trim_end()) > 0 && cells(last) + cells(piece.trim_end()) > column.width {
            last.truncate(last.trim_end().len());
            lines.push(" ".repeat(hang) + piece);
        } else {
            last.push_str(piece);
        }
    }
    if let Some(last) = lines.last_mut() {
        last.truncate(last.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::wrapped;

    const TABLE: [&str; 3] = [
        "  limit                            at most     here      outcome",
        "  size of a database               2 TiB       1.18 TiB  ok",
        "  copies after failures, at worst  at least 1  1         \x1b[32mok\x1b[0m",
    ];

    fn shown(width: usize) -> Vec<String> {
        wrapped(&TABLE.join("\n"), Some(width)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn gaps_shrink_first() {
        let narrow = [
            "  limit                           at most    here     outcome",
            "  size of a database              2 TiB      1.18 TiB ok",
            "  copies after failures, at worst at least 1 1        \x1b[32mok\x1b[0m",
        ];
        assert_eq!(shown(64), TABLE);
        assert_eq!(shown(61), narrow);
    }

    #[test]
    fn names_are_broken_within_their_column() {
        let narrow = [
            "  limit                at most    here     outcome",
            "  size of a database   2 TiB      1.18 TiB ok",
            "  copies after         at least 1 1        \x1b[32mok\x1b[0m",
            "    failures, at worst",
        ];
        assert_eq!(shown(50), narrow);
    }

    #[test]
    fn a_remark_between_rows_is_no_row() {
        let table = [TABLE[0], TABLE[1], "      DB1, 3 s after the start", TABLE[2]].join("\n");
        let lines: Vec<String> = wrapped(&table, Some(61)).lines().map(str::to_owned).collect();
        assert_eq!(lines[2], "      DB1, 3 s after the start");
        assert_eq!([&lines[..2], &lines[3..]].concat(), shown(61));
    }

    #[test]
    fn numbers_stay_right() {
        let table = "  group   back reads /s  queue\n  data           100.29   0.17";
        let narrow = "  group   back queue\n         reads\n            /s\n  data  100.29  0.17";
        assert_eq!(wrapped(table, Some(20)), narrow);
        assert!(
            wrapped(table, Some(12)).lines().count() > 2,
            "what cannot fit is broken as lines are"
        );
    }
}
