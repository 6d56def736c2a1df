//! Replies: a code, lines of text, and the limit of both.

use std::fmt;

use crate::failure::printable;
use crate::lines::Lines;
use crate::{Failure, Kind};

/// Lines that a reply may have. The longest known replies are to EHLO, with about 30.
const REPLY_LINES: u32 = 128;

/// A reply of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 599.
    pub code: u16,
    /// The text of its last line, shortened and printable.
    pub text: String,
}

impl Reply {
    /// 2xx: done.
    pub const fn is_positive(&self) -> bool {
        matches!(self.code, 200..300)
    }

    /// 4xx: refused for now.
    pub const fn is_transient(&self) -> bool {
        matches!(self.code, 400..500)
    }

    /// 5xx: refused for good.
    pub const fn is_permanent(&self) -> bool {
        self.code >= 500
    }

    /// The enhanced status code at the start of the text, such as `5.2.2` (RFC 2034).
    pub fn enhanced(&self) -> Option<&str> {
        let word = self.text.split(' ').next()?;
        let mut numbers = word.split('.');
        let is_number = |part: Option<&str>| {
            part.is_some_and(|part| {
                matches!(part.len(), 1..=3) && part.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let is_one = matches!(numbers.next(), Some("2" | "4" | "5"))
            && is_number(numbers.next())
            && is_number(numbers.next())
            && numbers.next().is_none();
        is_one.then_some(word)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// One line of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReplyLine {
    pub(crate) code: u16,
    /// 0 for the first line of its reply.
    pub(crate) number: u32,
    pub(crate) is_last: bool,
    /// The line with its code, as it came.
    pub(crate) line: Vec<u8>,
}

impl ReplyLine {
    /// What stands after the code.
    pub(crate) fn text(&self) -> &[u8] {
        self.line.get(4..).unwrap_or_default()
    }

    /// The reply that this line ends.
    pub(crate) fn reply(&self) -> Reply {
        Reply { code: self.code, text: printable(self.text()) }
    }
}

/// Reads lines of replies.
#[derive(Debug, Default)]
pub(crate) struct ReplyLines {
    lines: Lines,
    /// The code and the number of lines of a reply that has begun.
    begun: Option<(u16, u32)>,
}

impl ReplyLines {
    /// The next line in `input`, which loses what was read.
    pub(crate) fn take(&mut self, input: &mut &[u8]) -> Result<Option<ReplyLine>, Failure> {
        let line = self.lines.take(input);
        let Some(line) = line.map_err(|(kind, line)| Failure::new(kind, &line))? else {
            return Ok(None);
        };
        let Some((code, is_last)) = code_of(&line) else {
            return Err(Failure::new(Kind::Garbage, &line));
        };
        let number = match self.begun {
            Some((begun, _)) if begun != code => {
                return Err(Failure::new(Kind::MixedCodes, &line));
            }
            Some((_, REPLY_LINES..)) => return Err(Failure::new(Kind::ReplyTooLong, &line)),
            Some((_, number)) => number,
            None => 0,
        };
        self.begun = (!is_last).then_some((code, number + 1));
        Ok(Some(ReplyLine { code, number, is_last, line }))
    }
}

/// The code of a line, and whether it is the last one of its reply.
fn code_of(line: &[u8]) -> Option<(u16, bool)> {
    let code = line.get(..3)?;
    let is_code = matches!(code, [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9']);
    let is_last = match line.get(3) {
        Some(b' ') | None => true,
        Some(b'-') => false,
        Some(_) => return None,
    };
    let number = code.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit.wrapping_sub(b'0')));
    is_code.then_some((number, is_last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut input: &[u8]) -> Result<Vec<(u16, bool)>, Kind> {
        let (mut lines, mut read) = (ReplyLines::default(), Vec::new());
        while !input.is_empty() {
            match lines.take(&mut input) {
                Ok(line) => read.extend(line.map(|line| (line.code, line.is_last))),
                Err(failure) => return Err(failure.kind),
            }
        }
        Ok(read)
    }

    #[test]
    fn a_reply_is_lines_of_one_code() {
        assert_eq!(
            read(b"250-a\r\n250-b\r\n250 c\r\n354\r\n"),
            Ok(vec![(250, false), (250, false), (250, true), (354, true)])
        );
        assert_eq!(read(b"250-a\r\n550 b\r\n"), Err(Kind::MixedCodes));
        for garbage in ["", "25", "250:a", "150 a", "650 a", "25x a", "* OK", "SSH-2.0-x"] {
            let line = format!("{garbage}\r\n");
            assert_eq!(read(line.as_bytes()), Err(Kind::Garbage), "{garbage}");
        }
        assert_eq!(read(&b"250-more\r\n".repeat(129)), Err(Kind::ReplyTooLong));
    }

    #[test]
    fn enhanced_codes_are_found() {
        let reply = |text: &str| Reply { code: 552, text: text.to_owned() };
        assert_eq!(reply("5.2.2 <u> Quota exceeded").enhanced(), Some("5.2.2"));
        assert_eq!(reply("2.1.5").enhanced(), Some("2.1.5"));
        for none in ["", "ok", "5.2", "3.1.1 a", "5.2.2222 a", "5..2 a", "5.2.2.2 a", "5.a.2"] {
            assert_eq!(reply(none).enhanced(), None, "{none}");
        }
        let kinds =
            |reply: Reply| (reply.is_positive(), reply.is_transient(), reply.is_permanent());
        assert_eq!(kinds(reply("a")), (false, false, true));
        assert_eq!(kinds(Reply { code: 451, text: String::new() }), (false, true, false));
        assert_eq!(kinds(Reply { code: 250, text: String::new() }), (true, false, false));
    }
}
