//! Makes text from outside safe to show.
//!
//! Names of scenarios and files and remarks of a result may hold control characters. These would
//! move a terminal's cursor, end a line, or reverse its direction, so they are written out: `\n`,
//! `\u{1b}`.

use std::borrow::Cow;

/// Whether `c` is a control character, or changes the direction of writing (Unicode Standard Annex
/// 9, table 4).
fn is_control(c: char) -> bool {
    const DIRECTIONS: [std::ops::RangeInclusive<char>; 3] =
        ['\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    c.is_control() || DIRECTIONS.iter().any(|range| range.contains(&c))
}

/// `text` on one line, with every control character written out.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// `text` with control characters written out, except those that `keep` accepts.
pub fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_harmful = |c: char| is_control(c) && !keep(c);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_harmful(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// `text` with a capital letter at its beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Units that stand behind numbers.
const UNITS: [&str; 24] = [
    "%", "B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "MB/s", "MiB/s", "GiB/s", "/s",
    "/h", "ns", "us", "ms", "s", "min", "h", "days", "bad", "IOPS",
];

/// Whether `unit` is the unit of `number`, so that no line may end between them.
pub fn is_measured(number: &str, unit: &str) -> bool {
    let number = number.trim_start_matches(['(', '+', '-', '<', '>']);
    let unit = unit.trim_end_matches([' ', '.', ',', ';', ':', ')']);
    number.starts_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

/// `text` with a blank that breaks no line between each number and its unit.
pub(crate) fn units_kept(text: &str) -> String {
    let mut kept = String::with_capacity(text.len() + 8);
    let mut last = "";
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            kept.push(if is_measured(last, word) { '\u{a0}' } else { ' ' });
        }
        kept.push_str(word);
        last = word;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = "246 I/Os, 22.8 % above the target (5.35 ms of 10 ms); at 8 min";
        let kept =
            "246 I/Os, 22.8\u{a0}% above the target (5.35\u{a0}ms of 10\u{a0}ms); at 8\u{a0}min";
        assert_eq!(units_kept(text), kept);
    }

    #[test]
    fn what_acts_is_written_out_and_what_is_seen_stays() {
        assert_eq!(one_line("a\nb\t\u{1b}[31m\u{9b}\u{7f}"), "a\\nb\\t\\u{1b}[31m\\u{9b}\\u{7f}");
        assert_eq!(one_line("\u{202e}fdp.exe"), "\\u{202e}fdp.exe");
        let harmless = "Größe 10 % \u{1f4be} 'x' \\n";
        assert!(matches!(one_line(harmless), Cow::Borrowed(text) if text == harmless));
        assert_eq!(escaped("a\nb\r", |c| c == '\n'), "a\nb\\r");
    }
}
