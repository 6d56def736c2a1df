//! Lines that fit a terminal.
//!
//! ```text
//!   note          a line that is too long is broken at a
//!                 blank and goes on below its text
//! ```
//!
//! Tables are fitted as a whole, see [`columns`]. Text to copy stays whole: a word that is wider than the terminal, such as a path, and a command
//! after a label. So does a number with its unit.

mod columns;

use brunt_report::is_measured;

/// Where the text after a label begins.
pub const INDENT: usize = 14;
/// How much further in a line without a label goes on.
const HANG: usize = 2;

/// `text` with every line that is wider than `width` broken at blanks.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let is_command = |line: &str| {
        let text = line.get(INDENT..);
        text.is_some_and(|text| text.starts_with("brunt "))
    };
    let alone = |line: &str| match cells(line) {
        cells if cells > width && !is_command(line) => broken(line, width),
        _ => line.to_owned(),
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let mut fitted: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let table = &lines[at..at + columns::table_at(&lines[at..])];
        let is_wide = table.iter().any(|line| cells(line) > width);
        match is_wide.then(|| columns::fitted(table, width, alone)).flatten() {
            Some(table) => fitted.extend(table),
            None if table.is_empty() => fitted.push(alone(lines[at])),
            None => fitted.extend(table.iter().map(|line| alone(line))),
        }
        at += table.len().max(1);
    }
    fitted.join("\n")
}

/// Cells that `text` takes on a terminal: colours take none.
pub fn cells(text: &str) -> usize {
    let mut coloured = false;
    let is_seen = |letter: &char| match letter {
        '\x1b' => {
            coloured = true;
            false
        }
        'm' if coloured => {
            coloured = false;
            false
        }
        _ => !coloured,
    };
    text.chars().filter(is_seen).count()
}

fn broken(line: &str, width: usize) -> String {
    let indent = indent(line);
    let mut broken = String::new();
    let (mut column, mut is_begun) = (0, false);
    for piece in groups(line, width.saturating_sub(indent)) {
        let word = piece.trim_end_matches(' ');
        if is_begun && column > indent && column + cells(word) > width {
            broken.truncate(broken.trim_end_matches(' ').len());
            broken.push_str(&format!("\n{:indent$}", ""));
            (column, is_begun) = (indent, false);
        }
        // Blanks before the first word of a line are its indent; where it was broken they are no
        // longer needed.
        if word.is_empty() && !is_begun && broken.contains('\n') {
            continue;
        }
        broken.push_str(piece);
        column += cells(piece);
        is_begun |= !word.is_empty();
    }
    broken.truncate(broken.trim_end_matches(' ').len());
    broken
}

/// The pieces of `line`; what stands between gaps of three blanks is one piece, if there is `room`
/// for it.
fn groups(line: &str, room: usize) -> Vec<&str> {
    const GAP: &str = "   ";
    let mut groups: Vec<&str> = Vec::new();
    let mut begin = 0;
    let gaps = line.match_indices(GAP).map(|(at, _)| at);
    for at in gaps.filter(|at| !line[..*at].ends_with(' ')) {
        let rest = line[at..].trim_start_matches(' ');
        let number = line[..at].rsplit(' ').next().unwrap_or_default();
        let unit = rest.split(' ').next().unwrap_or_default();
        if !line[begin..at].trim().is_empty() && !is_measured(number, unit) {
            groups.push(&line[begin..line.len() - rest.len()]);
            begin = line.len() - rest.len();
        }
    }
    groups.push(&line[begin..]);
    let whole = |group: &&str| cells(group.trim_end()) <= room;
    let parts = groups.into_iter().map(|group| match whole(&group) {
        true => vec![group],
        false => pieces(group),
    });
    parts.flatten().collect()
}

/// The words of `line`, each with a blank behind it; a number and its unit are one.
fn pieces(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line.split_inclusive(' ').collect();
    let mut pieces: Vec<&str> = Vec::new();
    let (mut at, mut begin) = (0, 0);
    while at < words.len() {
        let blanks = words[at + 1..].iter().take_while(|word| **word == " ").count();
        let unit = words.get(at + 1 + blanks).filter(|unit| is_measured(words[at], unit));
        let taken = 1 + unit.map_or(0, |_| blanks + 1);
        let end = begin + words[at..at + taken].iter().map(|word| word.len()).sum::<usize>();
        pieces.push(&line[begin..end]);
        (at, begin) = (at + taken, end);
    }
    pieces
}

/// Where a line goes on: below its text when a label stands before it.
fn indent(line: &str) -> usize {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let mut column = 0;
    let mut blanks = 0;
    for piece in line.split_inclusive(' ') {
        let word = cells(piece.trim_end_matches(' '));
        if word > 0 {
            if column == INDENT && blanks >= 2 {
                return INDENT;
            }
            blanks = 0;
        }
        column += cells(piece);
        blanks += cells(piece) - word;
    }
    leading + HANG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_at_blanks_and_goes_on_below_its_text() {
        let note = "note          the run folder is on the tested volume";
        assert_eq!(
            wrapped(note, Some(32)),
            "note          the run folder is\n              on the tested\n              volume"
        );
        assert_eq!(
            wrapped("not a qualification: too short", Some(20)),
            "not a qualification:\n  too short"
        );
        assert_eq!(wrapped("    one two three\nfour", Some(12)), "    one two\n      three\nfour");
        assert_eq!(wrapped(note, None), note);
        assert_eq!(wrapped(note, Some(cells(note))), note);
    }

    #[test]
    fn what_is_copied_stays_whole() {
        let line = "report        /a/very/long/path/report.html";
        assert_eq!(wrapped(line, Some(20)), line);
        let line = "again         brunt run /a/very/long/path";
        assert_eq!(wrapped(line, Some(30)), line);
        assert_eq!(
            wrapped("report        in /a/very/long/path", Some(20)),
            "report        in\n              /a/very/long/path"
        );
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            wrapped("note          reads took 11.1 ms, and 3 % of them", Some(29)),
            "note          reads took\n              11.1 ms, and\n              3 % of them"
        );
        assert_eq!(wrapped("  limit      11.1    ms  ok", Some(20)), "  limit\n    11.1    ms  ok");
        let line = "one 2,496 mailboxes";
        assert_eq!(pieces(line), ["one ", "2,496 ", "mailboxes"]);
    }

    #[test]
    fn colours_take_no_room() {
        let verdict = "\x1b[1;32mPASS        \x1b[0m  1,198 I/Os   target 1,000";
        assert_eq!(cells(verdict), 39);
        assert_eq!(wrapped(verdict, Some(39)), verdict);
        let narrow = "\x1b[1;32mPASS        \x1b[0m  1,198 I/Os\n              target 1,000";
        assert_eq!(wrapped(verdict, Some(30)), narrow);
    }
}
