//! Breaks text into lines.

use super::fonts::{Face, letter, width};

/// The lines of `text` in this face and size, none wider than `room`. A word that is wider is
/// broken.
pub(super) fn broken(face: Face, size: f32, text: &str, room: f32) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut used = 0.0;
        for word in paragraph.split(' ') {
            let own = width(face, size, word);
            let gap = match line.is_empty() {
                true => 0.0,
                false => width(face, size, " "),
            };
            if used + gap + own <= room {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
                used += gap + own;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            used = 0.0;
            for c in word.chars() {
                let letter = size * letter(face, c).width;
                if used + letter > room && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    used = 0.0;
                }
                line.push(c);
                used += letter;
            }
        }
        lines.push(line);
    }
    lines
}

/// The widest word and the widest line of `text`.
pub(super) fn widths(face: Face, size: f32, text: &str) -> [f32; 2] {
    let lines = text.split('\n');
    let whole = lines.map(|line| width(face, size, line)).fold(0.0, f32::max);
    let words = text.split(['\n', ' ']);
    let word = words.map(|word| width(face, size, word)).fold(0.0, f32::max);
    [word, whole]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide_and_nothing_is_lost() {
        let text = "a few words, and averyveryverylongwordwithoutanend\nthen a line";
        for room in [20.0, 60.0, 130.0, 1_000.0] {
            let lines = broken(Face::Plain, 10.0, text, room);
            for line in &lines {
                assert!(width(Face::Plain, 10.0, line) <= room, "{room}: {line}");
            }
            let kept = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!(kept(&lines.concat()), kept(text));
        }
        assert_eq!(broken(Face::Plain, 10.0, text, 1_000.0).len(), 2);
        assert_eq!(broken(Face::Plain, 10.0, "", 10.0), [""]);
    }
}
