//! Cuts bytes into responses: lines joined by literals (RFC 3501 section 4.3).
//!
//! ```text
//!    * 12 FETCH (UID 9 BODY[] {8192}CRLF  8192 bytes of text   FLAGS ())CRLF
//!    ------- line, kept --------------    ---- streamed -----  -- line, kept --
//! ```
//!
//! A response keeps at most [`KEPT`] bytes of its lines and small literals. A longer one is read to
//! its end all the same, and is marked as cut. The announced length of a literal allocates nothing.

use std::fmt;

use crate::{Failure, Kind};

/// Bytes that are kept of a response.
pub(crate) const KEPT: usize = 16 << 10;
/// Bytes of the longest literal that is kept.
const LITERAL_KEPT: u64 = 4 << 10;
/// Bytes of the lines of a response, kept or not, that are read at most.
const LINE_MAX: u64 = 16 << 20;
/// Bytes of the end of a line in which the length of a literal stands.
const TAIL: usize = 32;

/// What a client cannot read and passes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Oddity {
    /// NUL outside of a literal.
    Nul,
    /// More than 16 KiB, texts of messages not counted.
    TooLong,
    /// Neither `*` nor `+` nor a tag at its beginning.
    Unmarked,
    /// A response that this client does not know.
    Unknown,
    /// A response that it knows, in a form that it cannot read.
    Unreadable,
}

impl Oddity {
    /// In words, for tables of errors.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Nul => "NUL in a response",
            Self::TooLong => "response of more than 16 KiB",
            Self::Unmarked => "response without * or tag",
            Self::Unknown => "unknown response",
            Self::Unreadable => "unreadable response",
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// A literal of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) bytes: u64,
    /// Where its bytes begin in [`Frame::text`]; `None` when they were not kept.
    pub(crate) kept_at: Option<usize>,
}

/// A whole response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Lines with the CRLF between them and small literals; without the last CRLF.
    pub(crate) text: Vec<u8>,
    pub(crate) literals: Vec<Literal>,
    /// Whether bytes are missing that should have been kept.
    pub(crate) is_cut: bool,
    pub(crate) has_nul: bool,
}

/// A part of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A text of a message begins: the message's number, and the name of its section as the server
    /// wrote it.
    TextBegins { number: u32, section: Vec<u8>, bytes: u64 },
    /// A chunk of it.
    Text(&'a [u8]),
    /// It has ended.
    TextEnds,
    /// The response is whole.
    Whole(Frame),
}

#[derive(Debug, Default)]
enum Reading {
    #[default]
    Line,
    /// So many bytes of a literal are left; streamed, kept or passed over.
    Streamed(u64),
    Kept(u64),
    Passed(u64),
}

/// Cuts bytes into pieces.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    frame: Frame,
    reading: Reading,
    /// The last bytes of the line that is read.
    tail: Vec<u8>,
    /// Bytes of the response's lines so far.
    line_bytes: u64,
}

impl Framer {
    /// The next piece in `input`, which loses what was read.
    pub(crate) fn take<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Failure> {
        loop {
            match &mut self.reading {
                Reading::Line => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    if let Some(piece) = self.line(input)? {
                        return Ok(Some(piece));
                    }
                }
                Reading::Streamed(0) => {
                    self.reading = Reading::Line;
                    return Ok(Some(Piece::TextEnds));
                }
                Reading::Kept(0) | Reading::Passed(0) => self.reading = Reading::Line,
                Reading::Streamed(left) => {
                    let chunk = some_of(input, left);
                    return Ok((!chunk.is_empty()).then_some(Piece::Text(chunk)));
                }
                Reading::Passed(left) => {
                    if some_of(input, left).is_empty() {
                        return Ok(None);
                    }
                }
                Reading::Kept(left) => {
                    let chunk = some_of(input, left);
                    if chunk.is_empty() {
                        return Ok(None);
                    }
                    let text = &mut self.frame.text;
                    keep(text, chunk);
                }
            }
        }
    }

    /// Reads a part of a line; at its end there is a response, or a literal.
    fn line<'a>(&mut self, input: &mut &[u8]) -> Result<Option<Piece<'a>>, Failure> {
        let end = input.iter().position(|byte| *byte == b'\n');
        let part = input.split_off(..end.map_or(input.len(), |at| at + 1)).unwrap_or_default();
        // A NUL does not end the session: the response is passed over.
        self.frame.has_nul |= part.contains(&0);
        self.line_bytes += part.len() as u64;
        let room = KEPT.saturating_sub(self.frame.text.len());
        self.frame.is_cut |= part.len() > room;
        keep(&mut self.frame.text, part.get(..room).unwrap_or(part));
        let last = part.len().saturating_sub(TAIL);
        self.tail.extend_from_slice(&part[last..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        if self.line_bytes > LINE_MAX {
            return Err(Failure::new(Kind::LineTooLong, &self.frame.text));
        }
        if end.is_none() {
            return Ok(None);
        }
        if !self.tail.ends_with(b"\r\n") {
            return Err(Failure::new(Kind::LoneLineFeed, &self.frame.text));
        }
        let announced = literal_at_end(&self.tail).filter(|_| may_have_literals(&self.frame.text));
        self.tail.clear();
        match announced {
            None => {
                let mut frame = std::mem::take(&mut self.frame);
                self.line_bytes = 0;
                if !frame.is_cut {
                    frame.text.truncate(frame.text.len() - 2);
                }
                Ok(Some(Piece::Whole(frame)))
            }
            Some(bytes) => Ok(self.literal(bytes)),
        }
    }

    fn literal<'a>(&mut self, bytes: u64) -> Option<Piece<'a>> {
        let section = section_before(&self.frame.text).filter(|_| !self.frame.is_cut);
        let at = self.frame.text.len();
        let fits = bytes <= LITERAL_KEPT && at as u64 + bytes <= KEPT as u64;
        let is_kept = section.is_none() && fits && !self.frame.is_cut;
        if self.frame.literals.len() < 256 {
            self.frame.literals.push(Literal { bytes, kept_at: is_kept.then_some(at) });
        } else {
            self.frame.is_cut = true;
        }
        if let Some(section) = section {
            self.reading = Reading::Streamed(bytes);
            let (number, section) = (section.0, section.1.to_vec());
            return Some(Piece::TextBegins { number, section, bytes });
        }
        self.reading = if is_kept { Reading::Kept(bytes) } else { Reading::Passed(bytes) };
        None
    }
}

/// Appends to a text that never needs more than [`KEPT`] bytes, nor takes more.
fn keep(text: &mut Vec<u8>, more: &[u8]) {
    let needed = text.len() + more.len();
    if needed > text.capacity() {
        let room = needed.max((2 * text.capacity()).min(KEPT));
        text.reserve_exact(room - text.len());
    }
    text.extend_from_slice(more);
}

/// At most `left` bytes of `input`, counted off both.
fn some_of<'a>(input: &mut &'a [u8], left: &mut u64) -> &'a [u8] {
    let most = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (some, rest) = input.split_at(most);
    *input = rest;
    *left -= some.len() as u64;
    some
}

/// The length in `{length}` or `{length+}` before CRLF.
fn literal_at_end(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"}\r\n")?;
    let line = line.strip_suffix(b"+").unwrap_or(line);
    let open = line.iter().rposition(|byte| *byte == b'{')?;
    let digits = line.get(open + 1..)?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    number.parse().ok()
}

/// Whether the response is one whose end may be a literal. Text for people is not: `* OK`, `+`.
fn may_have_literals(text: &[u8]) -> bool {
    let mut words = text.split(|byte| *byte == b' ');
    let (first, second) = (words.next(), words.next().unwrap_or_default());
    let for_people: [&[u8]; 5] = [b"OK", b"NO", b"BAD", b"BYE", b"PREAUTH"];
    first != Some(b"+") && !for_people.iter().any(|word| second.eq_ignore_ascii_case(word))
}

/// The message, and the section of it that a FETCH response is about to give as a literal.
fn section_before(text: &[u8]) -> Option<(u32, &[u8])> {
    let mut words = text.splitn(4, |byte| *byte == b' ');
    let is_marked = words.next() == Some(b"*");
    let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let is_fetch = is_marked && words.next()?.eq_ignore_ascii_case(b"FETCH");
    let open = text.iter().rposition(|byte| *byte == b'{').filter(|_| is_fetch)?;
    let before = text.get(..open)?;
    let before = before.strip_suffix(b"~").unwrap_or(before).strip_suffix(b" ")?;
    let begins = |name: &[u8]| {
        let places = before.windows(name.len());
        places.rev().position(|part| part.eq_ignore_ascii_case(name))
    };
    let from_end = match before.last()? {
        b']' | b'>' => {
            let body = begins(b"BODY[").map(|at| at + 5);
            let binary = begins(b"BINARY[").map(|at| at + 7);
            [body, binary].into_iter().flatten().min()?
        }
        _ => {
            let word = before.rsplit(|byte| matches!(byte, b' ' | b'(')).next()?;
            let names: [&[u8]; 3] = [b"RFC822", b"RFC822.TEXT", b"RFC822.HEADER"];
            names.iter().any(|name| word.eq_ignore_ascii_case(name)).then_some(word.len())?
        }
    };
    Some((number, before.get(before.len().checked_sub(from_end)?..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a framer keeps, and the most it kept while it read `bytes` again and again.
    fn kept(bytes: &[u8], times: usize) -> (usize, usize) {
        let (mut framer, mut most) = (Framer::default(), 0);
        let size = |framer: &Framer| {
            let literals = framer.frame.literals.capacity() * size_of::<Literal>();
            framer.frame.text.capacity() + literals + framer.tail.capacity()
        };
        for _ in 0..times {
            let mut input = bytes;
            while let Ok(Some(_)) = framer.take(&mut input) {
                most = most.max(size(&framer));
            }
            most = most.max(size(&framer));
        }
        (size(&framer), most)
    }

    #[test]
    fn no_response_takes_more_than_its_share() {
        const SHARE: usize = KEPT + (8 << 10);
        for hostile in [
            &b"* LIST (x"[..],
            b"* 1 FETCH (X {4096}\r\n",
            b"* X {1}\r\na",
            b"* X {999999999999}\r\nabc",
            b"* 1 FETCH (BODY[] {3}\r\nabc",
            b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ] {
            let (_, most) = kept(hostile, 5000);
            let shown = String::from_utf8_lossy(hostile);
            assert!(most <= SHARE, "{most} bytes for {shown}");
        }
        assert!(kept(b"* 3 EXISTS\r\n", 5000).1 <= 64);
    }
}
