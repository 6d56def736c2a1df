//! The fonts, and the widths of their letters.
//!
//! Text is set from left to right, one glyph for each character. That is right for Latin, Greek and
//! Cyrillic. Characters of scripts that need more (joined letters, marks above others, right to
//! left), and those that a font lacks, are shown by their numbers: `[U+4E2D]`.

use std::borrow::Cow;
use std::sync::OnceLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// A font.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Face {
    Plain,
    Bold,
    /// Letters of equal width.
    Mono,
}

impl Face {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Bold, Self::Mono];

    /// The font's file. See `fonts/LICENSE`.
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Plain => include_bytes!("../../fonts/LiberationSans-Regular.ttf"),
            Self::Bold => include_bytes!("../../fonts/LiberationSans-Bold.ttf"),
            Self::Mono => include_bytes!("../../fonts/LiberationMono-Regular.ttf"),
        }
    }

    pub(super) fn number(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Bold => 1,
            Self::Mono => 2,
        }
    }
}

/// Characters above these are not set, even where a font has some of them: see the top of the file.
const SIMPLE: [std::ops::RangeInclusive<char>; 6] = [
    ' '..='~',
    '\u{a1}'..='\u{2ff}',
    '\u{370}'..='\u{482}',
    '\u{48a}'..='\u{52f}',
    '\u{1e00}'..='\u{2000}',
    '\u{2010}'..='\u{2265}',
];

/// Whether a paper shows `c` as it is. Line ends are not shown; they end lines.
pub(crate) fn shows(c: char) -> bool {
    let metrics = Metrics::get();
    c == '\n' || SIMPLE.iter().any(|range| range.contains(&c)) && metrics.has(c)
}

/// `text` with what no font shows replaced.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(shows) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if shows(c) => all.push(c),
            '\t' => all.push_str("    "),
            _ => all.push_str(&format!("[U+{:04X}]", u32::from(c))),
        }
    }
    Cow::Owned(all)
}

/// A glyph and its width, as a share of the size of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Letter {
    pub(super) glyph: u32,
    pub(super) width: f32,
}

/// The letters of all faces.
pub(super) struct Metrics {
    /// By face, range and place in it.
    letters: [Vec<Vec<Option<Letter>>>; 3],
}

impl Metrics {
    fn get() -> &'static Self {
        static ALL: OnceLock<Metrics> = OnceLock::new();
        ALL.get_or_init(Self::new)
    }

    fn new() -> Self {
        let of = |face: Face| {
            let font = FontRef::new(face.bytes()).expect("the fonts are part of the program");
            let location = LocationRef::default();
            let em = f32::from(font.metrics(Size::unscaled(), location).units_per_em);
            let widths = font.glyph_metrics(Size::unscaled(), location);
            let letters = font.charmap();
            let letter = |c: char| {
                let glyph = letters.map(c)?;
                let width = widths.advance_width(glyph)? / em;
                let glyph = glyph.to_u32();
                (glyph > 0).then_some(Letter { glyph, width })
            };
            let ranges = SIMPLE.iter().map(|range| range.clone().map(letter).collect());
            ranges.collect()
        };
        Self { letters: Face::ALL.map(of) }
    }

    fn has(&self, c: char) -> bool {
        Face::ALL.iter().all(|face| self.letter(*face, c).is_some())
    }

    fn letter(&self, face: Face, c: char) -> Option<Letter> {
        let range = SIMPLE.iter().position(|range| range.contains(&c))?;
        let at = u32::from(c) - u32::from(*SIMPLE[range].start());
        *self.letters[face.number()][range].get(usize::try_from(at).ok()?)?
    }
}

/// The letter for `c`, which [`shown`] has let through.
pub(super) fn letter(face: Face, c: char) -> Letter {
    let metrics = Metrics::get();
    let found = metrics.letter(face, c).or_else(|| metrics.letter(face, '?'));
    found.expect("every font has a question mark")
}

/// The width of `text` in this size.
pub(super) fn width(face: Face, size: f32, text: &str) -> f32 {
    size * text.chars().map(|c| letter(face, c).width).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_the_widths_of_the_font() {
        // Liberation Sans has the widths of Arial: 1,139 of 2,048 for a digit.
        assert!((width(Face::Plain, 2048.0, "0") - 1139.0).abs() < 0.5);
        assert!(width(Face::Bold, 10.0, "Wm") > width(Face::Plain, 10.0, "ii"));
        assert!((width(Face::Mono, 10.0, "i") - width(Face::Mono, 10.0, "W")).abs() < 1e-4);
    }

    #[test]
    fn what_a_font_lacks_is_named() {
        assert_eq!(shown("Größe, Ж, λ ≤ 5 µs – “x”"), "Größe, Ж, λ ≤ 5 µs – “x”");
        assert_eq!(shown("a\u{4e2d}\u{5d0}\t\u{1b}"), "a[U+4E2D][U+05D0]    [U+001B]");
        assert!(shows('\n') && !shows('\u{301}'));
    }
}
