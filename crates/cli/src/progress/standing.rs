//! Lines that stand on the terminal and will be replaced.
//!
//! ```text
//!   |  test          #####.......   2 s of 9 s  |
//!   |                1,198 IOPS   read 0.2 ms   |  two lines stand
//!   |^C_                                        |  the terminal shows what was typed
//! ```
//!
//! Whatever is written next first takes away what stands, from the beginning of its first line on.
//! When the terminal has become narrower since, it has wrapped these lines, and each takes several
//! of its rows.

use std::sync::{Arc, Mutex};

use crate::wrap::cells;

/// Lines that stand. Cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing(Arc<Mutex<Vec<usize>>>);

impl Standing {
    /// What is to be written to a terminal of `width` so that `text` stays, and nothing else
    /// stands.
    pub(crate) fn say(&self, text: &str, width: Option<usize>) -> String {
        format!("{}{text}\n", self.erase(width))
    }

    /// What is to be written so that `text` stands instead of what stood.
    pub(crate) fn stand(&self, text: &str, width: Option<usize>) -> String {
        let said = self.say(text, width);
        *self.0.lock().expect("nobody panicked") = text.lines().map(cells).collect();
        said
    }

    /// What is to be written so that nothing stands.
    pub(crate) fn erase(&self, width: Option<usize>) -> String {
        let lines = std::mem::take(&mut *self.0.lock().expect("nobody panicked"));
        let width = width.unwrap_or(usize::MAX).max(1);
        let rows: usize = lines.iter().map(|cells| cells.div_ceil(width).max(1)).sum();
        match rows {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A\x1b[J"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a terminal shows.
    pub(crate) struct Terminal {
        pub(crate) rows: Vec<String>,
        row: usize,
        column: usize,
    }

    impl Terminal {
        pub(crate) fn new() -> Self {
            Self { rows: vec![String::new()], row: 0, column: 0 }
        }

        /// The terminal becomes narrower, and wraps what is on it.
        fn shrink(&mut self, width: usize) {
            let rows = self.rows.iter().flat_map(|row| {
                let letters: Vec<char> = row.chars().collect();
                match letters.is_empty() {
                    true => vec![String::new()],
                    false => letters.chunks(width).map(String::from_iter).collect(),
                }
            });
            self.rows = rows.collect();
            self.row = self.rows.len() - 1;
        }

        pub(crate) fn write(&mut self, text: &str) {
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\r' => self.column = 0,
                    '\n' => {
                        (self.row, self.column) = (self.row + 1, 0);
                        if self.row == self.rows.len() {
                            self.rows.push(String::new());
                        }
                    }
                    '\x1b' => {
                        let code: String =
                            letters.by_ref().take_while(|c| *c != 'A' && *c != 'J').collect();
                        match code.strip_prefix('[').unwrap() {
                            "" => {
                                self.rows.truncate(self.row + 1);
                                self.rows[self.row].truncate(self.column);
                            }
                            up => self.row -= up.parse::<usize>().unwrap(),
                        }
                    }
                    letter => {
                        let row = &mut self.rows[self.row];
                        let end = row.char_indices().nth(self.column);
                        row.truncate(end.map_or(row.len(), |(at, _)| at));
                        row.push(letter);
                        self.column += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_of_what_stood() {
        let (standing, mut terminal) = (Standing::default(), Terminal::new());
        let (other, wide) = (standing.clone(), Some(80));
        terminal.write(&standing.stand("test          ####   7 s\n              21 IOPS", wide));
        terminal.write(&standing.stand("test          #####  8 s\n              20 IOPS", wide));
        assert_eq!(terminal.rows.len(), 3);
        terminal.write("^C");
        terminal.write(&other.say("test          ended after 8 s of 30 s", wide));
        terminal.write(&standing.stand("verify        ##", wide));
        terminal.write(&standing.say("verify        done", wide));
        assert_eq!(
            terminal.rows,
            ["test          ended after 8 s of 30 s", "verify        done", ""]
        );
    }

    #[test]
    fn nothing_is_left_when_the_terminal_became_narrower() {
        let (standing, mut terminal) = (Standing::default(), Terminal::new());
        terminal.write("note          before\n");
        let frame = "test          #####.......   7 s of 8 s\n\nDB1           \u{2581}\u{2582}";
        terminal.write(&standing.stand(frame, Some(80)));
        terminal.shrink(20);
        assert_eq!(terminal.rows.len(), 1 + 2 + 1 + 1 + 1);
        terminal.write(&standing.say("done", Some(20)));
        assert_eq!(terminal.rows, ["note          before", "done", ""]);
    }
}
