//! The mark of a message: run, number, and a checksum of both.
//!
//! It stands twice, in the first header (`X-Brunt`) and in the Message-ID, so a byte that changes in
//! one of them does not make a message nobody's, or another one's.

use std::fmt;

/// Name of the header before which a server may add its own.
pub(crate) const HEADER: &str = "X-Brunt: ";
/// Domain of our Message-IDs.
pub(crate) const DOMAIN: &str = "@brunt.invalid";

/// Names a message for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The run.
    pub run: u64,
    /// The message.
    pub number: u32,
}

impl Mark {
    fn check(self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.run.to_le_bytes());
        hasher.update(&self.number.to_le_bytes());
        hasher.finalize()
    }

    /// The mark at the beginning of `text`, and what follows it; `None` when there is none, or
    /// when its checksum is wrong.
    pub(crate) fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        let ascii = text.iter().take(64).take_while(|byte| byte.is_ascii()).count();
        let ascii = std::str::from_utf8(&text[..ascii]).ok()?;
        let (run, rest) = ascii.split_once('-')?;
        let number = rest.split_once('-')?.0;
        let run = u64::from_str_radix(run, 16).ok()?;
        let mark = Self { run, number: number.parse().ok()? };
        // Written again, so digits in capitals or leading zeros are not ours either.
        let written = mark.to_string();
        ascii.starts_with(&written).then(|| (mark, &text[written.len()..]))
    }

    /// The mark in a line of a header, which ends without its CRLF.
    pub fn in_header(line: &[u8]) -> Option<Self> {
        let (mark, rest) = Self::read(line.strip_prefix(HEADER.as_bytes())?)?;
        rest.is_empty().then_some(mark)
    }

    /// The mark in the line of a Message-ID, which ends without its CRLF.
    pub(crate) fn in_message_id(line: &[u8]) -> Option<Self> {
        let (name, value) = line.split_at_checked("Message-ID: <".len())?;
        let (mark, rest) = Self::read(value)?;
        let is_ours = name.eq_ignore_ascii_case(b"Message-ID: <");
        (is_ours && rest.strip_suffix(b">") == Some(DOMAIN.as_bytes())).then_some(mark)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{:08x}", self.run, self.number, self.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_mark_is_none() {
        let mark = Mark { run: 0x1F, number: 1234 };
        let line = format!("X-Brunt: {mark}");
        assert_eq!(Mark::in_header(line.as_bytes()), Some(mark));
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone().into_bytes();
                changed[at] ^= 1 << bit;
                assert_eq!(Mark::in_header(&changed), None, "bit {bit} of byte {at}");
            }
            assert_eq!(Mark::in_header(&line.as_bytes()[..at]), None);
        }
        let id = format!("Message-Id: <{mark}@brunt.invalid>");
        assert_eq!(Mark::in_message_id(id.as_bytes()), Some(mark));
        assert_eq!(Mark::in_message_id(&id.as_bytes()[..id.len() - 1]), None);
    }
}
