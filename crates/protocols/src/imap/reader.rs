//! Reads the words, strings and lists of a response, front to back, without a tree: what nobody
//! asked for is skipped where it stands.

use super::frame::Frame;

/// Lists within lists that are skipped at most.
const DEPTH: u32 = 32;

/// A string of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    Nil,
    Kept(Vec<u8>),
    /// A literal that was streamed or passed over: its length.
    Gone(u64),
}

/// A place in a response. Every verb returns `None` when something else stands there.
pub(crate) struct Reader<'a> {
    frame: &'a Frame,
    at: usize,
    /// Literals that were read.
    literals: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(frame: &'a Frame) -> Self {
        Self { frame, at: 0, literals: 0 }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.frame.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Reads exactly this byte.
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        let is_there = self.rest().first() == Some(&byte);
        is_there.then(|| self.at += 1)
    }

    /// Reads blanks, as many as there are. The standard says one; Exchange and others vary.
    pub(crate) fn blanks(&mut self) {
        while self.byte(b' ').is_some() {}
    }

    /// Reads a word: up to a blank, a bracket or a parenthesis. Not empty.
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        self.until(|byte| matches!(byte, b' ' | b'(' | b')' | b'[' | b']' | b'"' | b'{'))
    }

    /// Reads up to the first byte that ends it. Not empty.
    pub(crate) fn until(&mut self, is_end: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        let rest = self.rest();
        let is_end = |byte: &u8| is_end(*byte) || matches!(byte, b'\r' | b'\n');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).filter(|word| !word.is_empty())
    }

    /// Reads a word that is a number.
    pub(crate) fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        let word = self.word()?;
        let is_number = word.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(word).ok().filter(|_| is_number)?.parse().ok()
    }

    /// Reads a string: quoted, literal, NIL, or a word where the server saves quotes.
    pub(crate) fn string(&mut self) -> Option<Text> {
        match self.rest() {
            [b'"', ..] => self.quoted().map(Text::Kept),
            [b'{', ..] | [b'~', b'{', ..] => self.literal(),
            _ => {
                let word = self.until(|byte| matches!(byte, b' ' | b'(' | b')' | b'"'))?;
                Some(match word.eq_ignore_ascii_case(b"NIL") {
                    true => Text::Nil,
                    false => Text::Kept(word.to_vec()),
                })
            }
        }
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        self.byte(b'"')?;
        let mut text = Vec::new();
        loop {
            let byte = *self.rest().first()?;
            self.at += 1;
            match byte {
                b'"' => return Some(text),
                b'\\' => {
                    text.push(*self.rest().first()?);
                    self.at += 1;
                }
                b'\r' | b'\n' => return None,
                other => text.push(other),
            }
        }
    }

    fn literal(&mut self) -> Option<Text> {
        let _ = self.byte(b'~');
        let line = self.rest().iter().position(|byte| *byte == b'\n')? + 1;
        let literal = self.frame.literals.get(self.literals)?;
        self.literals += 1;
        self.at += line;
        let Some(begin) = literal.kept_at else {
            return Some(Text::Gone(literal.bytes));
        };
        let end = begin + usize::try_from(literal.bytes).ok()?;
        let text = self.frame.text.get(begin..end)?;
        self.at = end;
        Some(Text::Kept(text.to_vec()))
    }

    /// Reads a list of words, such as flags.
    pub(crate) fn words(&mut self) -> Option<Vec<&'a [u8]>> {
        self.byte(b'(')?;
        let mut words = Vec::new();
        loop {
            self.blanks();
            if self.byte(b')').is_some() {
                return Some(words);
            }
            words.push(self.until(|byte| matches!(byte, b' ' | b'(' | b')'))?);
        }
    }

    /// Skips whatever stands here: a string, a word with its brackets, a list.
    pub(crate) fn skip(&mut self) -> Option<()> {
        self.skip_within(DEPTH)
    }

    fn skip_within(&mut self, depth: u32) -> Option<()> {
        match self.rest().first()? {
            b'(' => {
                let depth = depth.checked_sub(1)?;
                self.at += 1;
                loop {
                    self.blanks();
                    if self.byte(b')').is_some() {
                        return Some(());
                    }
                    self.skip_within(depth)?;
                }
            }
            b')' => None,
            _ => self.string().map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        Frame { text: text.as_bytes().to_vec(), ..Frame::default() }
    }

    #[test]
    fn strings_come_in_four_forms() {
        let frame = frame(r#""a \"b\" \\" NIL nil INBOX "" "open"#);
        let mut reader = Reader::new(&frame);
        let mut next = || {
            reader.blanks();
            reader.string()
        };
        assert_eq!(next(), Some(Text::Kept(br#"a "b" \"#.to_vec())));
        assert_eq!(next(), Some(Text::Nil));
        assert_eq!(next(), Some(Text::Nil));
        assert_eq!(next(), Some(Text::Kept(b"INBOX".to_vec())));
        assert_eq!(next(), Some(Text::Kept(Vec::new())));
        assert_eq!(next(), None);
    }

    #[test]
    fn lists_are_skipped_but_not_for_ever() {
        let some = frame(r#"(a ("b)" (c d)) NIL) 7"#);
        let mut reader = Reader::new(&some);
        assert_eq!(reader.skip(), Some(()));
        reader.blanks();
        assert_eq!(reader.number::<u32>(), Some(7));
        for unclosed in ["((((", "(a", ")", "", "(\"a"] {
            assert_eq!(Reader::new(&frame(unclosed)).skip(), None, "{unclosed}");
        }
        let deep = "(".repeat(10_000) + &")".repeat(10_000);
        assert_eq!(Reader::new(&frame(&deep)).skip(), None);
    }

    #[test]
    fn numbers_are_digits_and_fit() {
        for (text, number) in [
            ("17", Some(17)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("+1", None),
            ("-1", None),
            ("1a", None),
            ("", None),
        ] {
            assert_eq!(Reader::new(&frame(text)).number::<u32>(), number, "{text}");
        }
    }
}
