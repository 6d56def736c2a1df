//! Tables: widths of columns, and rows over pages.
//!
//! Columns get the room that their widest line needs if all fits; else those with long texts are
//! broken into lines, but no word is. If even that does not fit, letters are smaller; as a last
//! resort words are broken. Rows are not split over pages, unless one is higher than a page.

use brunt_report::Table;

use super::display::{BAD, Colour, DOUBT, FAINT, GOOD, Mark, Part, RULE, Role, SHADE, TEXT};
use super::flow::{BOTTOM, Flow, MARGIN, ROOM};
use super::fonts::{Face, shown, width};
use super::lines::{broken, widths};
use crate::numbers::count;

/// Sizes of letters, the best first.
const SIZES: [f32; 6] = [8.5, 8.0, 7.5, 7.0, 6.5, 6.0];
const GAP: f32 = 9.0;
const LEADING: f32 = 1.25;
/// Above and below the text of a row.
const PADDING: f32 = 2.2;

/// Tables below this height are not split over pages.
const TOGETHER: f32 = 280.0;

/// A cell, broken into lines.
struct Cell {
    lines: Vec<String>,
    is_number: bool,
    face: Face,
    colour: Colour,
}

/// The columns of a table.
struct Grid {
    size: f32,
    lefts: Vec<f32>,
    widths: Vec<f32>,
}

impl Flow<'_> {
    pub(super) fn table(&mut self, table: &Table) {
        let head: Vec<(String, bool)> = table
            .columns()
            .map(|(name, is_number)| (shown(name).into_owned(), is_number))
            .collect();
        let is_pairs = head.is_empty();
        let rows: Vec<(Vec<String>, &'static str)> = table
            .for_people()
            .map(|(cells, class)| {
                let cells = cells.iter().map(|cell| shown(cell).into_owned());
                (cells.collect(), class)
            })
            .collect();
        if rows.is_empty() {
            return;
        }
        let sides: Vec<bool> = match is_pairs {
            true => vec![false, false],
            false => head.iter().map(|(_, is_number)| *is_number).collect(),
        };
        let grid = Grid::fit(&head, &rows, &sides);
        let node = self.display.node(None, Role::Table(table.title().to_owned()));
        let heights =
            rows.iter().map(|(cells, class)| grid.height(&grid.row(cells, class, &sides)));
        let whole = 40.0 + heights.sum::<f32>();
        // A short table stays on one page; a long one begins with a few rows on this one.
        self.need(if whole < TOGETHER { whole } else { 72.0 });
        if !table.title().is_empty() {
            // The title is that of the table's node, too; there it is not part of a cell.
            let title = shown(table.title());
            let at = [MARGIN, self.y + 9.5];
            self.text(Part::Decoration, Face::Bold, 9.5, TEXT, at, &title);
            self.y += 15.0;
        }
        let head = (!is_pairs).then(|| grid.head(&head));
        if let Some(head) = &head {
            let section = self.display.node(Some(node), Role::Head);
            self.head(head, &grid, Some(section));
        }
        let body = self.display.node(Some(node), Role::Rows);
        for (cells, class) in &rows {
            let cells = grid.row(cells, class, &sides);
            let height = grid.height(&cells);
            if self.y + height > BOTTOM {
                self.new_page();
                if let Some(head) = &head {
                    self.head(head, &grid, None);
                }
            }
            self.row(&cells, &grid, body);
        }
        if !table.note().is_empty() {
            self.y += 3.0;
            self.note(&shown(table.note()));
        }
        self.y += 14.0;
    }

    fn note(&mut self, note: &str) {
        const SIZE: f32 = 7.5;
        let node = self.display.node(None, Role::Paragraph);
        let lines = broken(Face::Plain, SIZE, note, ROOM);
        let last = lines.len() - 1;
        for (at, line) in lines.iter().enumerate() {
            self.need(SIZE * 1.3);
            let line = match at == last {
                true => line.clone(),
                false => format!("{line} "),
            };
            let place = [MARGIN, self.y + SIZE];
            self.text(Part::Of(node), Face::Plain, SIZE, FAINT, place, &line);
            self.y += SIZE * 1.3;
        }
    }

    /// The head of a table; without a `section` it is a repetition, which is not read out.
    fn head(&mut self, head: &[Cell], grid: &Grid, section: Option<usize>) {
        let height = grid.height(head);
        let at = [MARGIN, self.y, ROOM, height];
        self.mark(Part::Decoration, Mark::Rectangle { colour: SHADE, at });
        let row = section.map(|section| self.display.node(Some(section), Role::Row));
        let top = self.y;
        for (column, cell) in head.iter().enumerate() {
            let part = match row {
                Some(row) => {
                    let role = Role::HeadCell { of_row: false };
                    Part::Of(self.display.node(Some(row), role))
                }
                None => Part::Decoration,
            };
            self.cell(cell, grid, column, part, top, height);
        }
        self.y = top + height;
        self.rule();
    }

    fn row(&mut self, cells: &[Cell], grid: &Grid, body: usize) {
        let row = self.display.node(Some(body), Role::Row);
        let (top, height) = (self.y, grid.height(cells));
        for (column, cell) in cells.iter().enumerate() {
            let role = match column {
                0 => Role::HeadCell { of_row: true },
                _ => Role::Cell,
            };
            let part = Part::Of(self.display.node(Some(row), role));
            // A row that is higher than a page runs out of it; nothing in a result is that long,
            // and what is cut is in the evidence.
            self.cell(cell, grid, column, part, top, 0.0);
        }
        self.y = top + height;
        self.rule();
    }

    /// The lines of a cell; in a row of this `height` they stand at its bottom.
    fn cell(&mut self, cell: &Cell, grid: &Grid, column: usize, part: Part, top: f32, height: f32) {
        let each = grid.size * LEADING;
        let own = count(cell.lines.len()) * each + 2.0 * PADDING;
        let mut y = top + PADDING + f32::max(0.0, height - own);
        let last = cell.lines.len() - 1;
        for (at, line) in cell.lines.iter().enumerate() {
            let free = grid.widths[column] - width(cell.face, grid.size, line);
            let x = grid.lefts[column] + if cell.is_number { free } else { 0.0 };
            let line = match at == last {
                true => line.clone(),
                false => format!("{line} "),
            };
            self.text(part, cell.face, grid.size, cell.colour, [x, y + grid.size], &line);
            y += each;
        }
    }

    fn rule(&mut self) {
        let at = [MARGIN, self.y - 0.25, ROOM, 0.5];
        self.mark(Part::Decoration, Mark::Rectangle { colour: RULE, at });
    }
}

impl Grid {
    fn fit(head: &[(String, bool)], rows: &[(Vec<String>, &'static str)], sides: &[bool]) -> Self {
        let columns = sides.len();
        let room = ROOM - GAP * count(columns - 1);
        let mut best = None;
        for size in SIZES {
            let mut needs = vec![[0.0_f32; 2]; columns];
            for (column, (name, _)) in head.iter().enumerate() {
                // Heads may always be broken between words.
                let [word, _] = widths(Face::Bold, size, name);
                needs[column] = [word, word];
            }
            for (cells, class) in rows {
                for (column, cell) in cells.iter().enumerate() {
                    let own = widths(face(cells, class, column), size, cell);
                    let [word, whole] = &mut needs[column];
                    (*word, *whole) = (word.max(own[0]), whole.max(own[1]));
                }
            }
            let least: f32 = needs.iter().map(|need| need[0]).sum();
            let widths = shared(&needs, room);
            let fits = least <= room;
            best = Some((size, widths));
            if fits {
                break;
            }
        }
        let (size, widths) = best.expect("there are sizes");
        let mut left = MARGIN;
        let lefts = widths.iter().map(|width| {
            let own = left;
            left += width + GAP;
            own
        });
        let lefts = lefts.collect();
        Self { size, lefts, widths }
    }

    fn head(&self, head: &[(String, bool)]) -> Vec<Cell> {
        let cells = head.iter().zip(&self.widths);
        let cells = cells.map(|((name, is_number), room)| Cell {
            lines: broken(Face::Bold, self.size, name, *room + 0.01),
            is_number: *is_number,
            face: Face::Bold,
            colour: TEXT,
        });
        cells.collect()
    }

    fn row(&self, cells: &[String], class: &str, sides: &[bool]) -> Vec<Cell> {
        let all = cells.iter().zip(&self.widths).zip(sides).enumerate();
        let all = all.map(|(column, ((text, room), is_number))| {
            let face = face(cells, class, column);
            Cell {
                lines: broken(face, self.size, text, *room + 0.01),
                is_number: *is_number,
                face,
                colour: colour(class, column, sides.len()),
            }
        });
        all.collect()
    }

    fn height(&self, cells: &[Cell]) -> f32 {
        let lines = cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(1);
        count(lines) * self.size * LEADING + 2.0 * PADDING
    }
}

/// Widths of the columns: what each needs, or what there is, shared by what is still needed.
fn shared(needs: &[[f32; 2]], room: f32) -> Vec<f32> {
    let least: f32 = needs.iter().map(|need| need[0]).sum();
    let most: f32 = needs.iter().map(|need| need[1]).sum();
    if most <= room {
        // What is left over goes to the gaps, but not without bound: a table of two columns stays
        // together.
        let more = ((room - most) / count(needs.len())).min(46.0);
        return needs.iter().map(|need| need[1] + more).collect();
    }
    if least >= room {
        return needs.iter().map(|need| need[0] * room / least).collect();
    }
    // A long text takes what it gets, but does not take it from the others.
    let most = |need: &[f32; 2]| need[0].max(need[1].min(room * 0.4));
    let wanted: f32 = needs.iter().map(|need| most(need) - need[0]).sum();
    let share = match wanted > 0.0 {
        true => (room - least) / wanted,
        false => 0.0,
    };
    let mut widths: Vec<f32> =
        needs.iter().map(|need| need[0] + share.min(1.0) * (most(need) - need[0])).collect();
    // What is left goes to the widest.
    let left = room - widths.iter().sum::<f32>();
    let widest = widths.iter_mut().max_by(|one, other| one.total_cmp(other));
    if let Some(widest) = widest {
        *widest += left.max(0.0);
    }
    widths
}

/// Sums stand out, and so do the values that decide.
fn face(cells: &[String], class: &str, column: usize) -> Face {
    let is_sum = ["Sum", "Avg", "Total", "(Sum)"].contains(&cells[0].as_str());
    match is_sum || class == "failed" && column == 0 {
        true => Face::Bold,
        false => Face::Plain,
    }
}

fn colour(class: &str, column: usize, columns: usize) -> Colour {
    match class {
        "failed" | "failure" => BAD,
        "advisory" => DOUBT,
        "unmeasured" if column > 0 => FAINT,
        "success" if column > 0 => GOOD,
        "ok" if columns == 2 && column == 1 => GOOD,
        _ => TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_what_there_is() {
        assert_eq!(shared(&[[10.0, 20.0], [10.0, 80.0]], 400.0), [66.0, 126.0]);
        let tight = shared(&[[10.0, 20.0], [10.0, 200.0]], 120.0);
        assert!((tight.iter().sum::<f32>() - 120.0).abs() < 0.01);
        assert_eq!(tight, [20.0, 100.0]);
        let less = shared(&[[100.0, 100.0], [300.0, 300.0]], 200.0);
        assert_eq!(less, [50.0, 150.0]);
    }
}
