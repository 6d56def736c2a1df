//! What ends a session, by kind, with the line that showed it.

use std::fmt;

/// Characters of a line that a failure or a tape keeps.
pub(crate) const SHOWN: usize = 200;

/// Why a session cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The line is not one of this protocol. Often another protocol listens at the port.
    Garbage,
    /// The lines of one reply have different codes.
    MixedCodes,
    /// A line has more bytes than any server needs.
    LineTooLong,
    /// A reply has more lines than any server needs.
    ReplyTooLong,
    /// A line contains NUL.
    Nul,
    /// A line ends in LF without CR.
    LoneLineFeed,
    /// A reply came that answers no command.
    Unasked,
    /// A tagged reply has a tag that is not in use.
    WrongTag,
    /// The server ended the session (`421`, `BYE`).
    Goodbye,
    /// Bytes came between the reply to STARTTLS and the start of TLS: an attacker's, or a server
    /// that would accept them (CVE-2011-0411, RFC 3207 section 6).
    EarlyBytes,
    /// The server answers `354` although it has accepted no recipient.
    OutOfPlace,
    /// The server's part of an authentication cannot be read, or asks for too much work.
    Challenge,
    /// The server does not know the password either, and pretends to (RFC 5802 section 3).
    Unproven,
    /// TLS failed: the text says why.
    Tls,
    /// The server's certificate is not trusted: expired, for another name, or of an unknown
    /// authority.
    Certificate,
}

impl Kind {
    /// In words, for tables of errors.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Garbage => "not a line of this protocol",
            Self::MixedCodes => "different codes in one reply",
            Self::LineTooLong => "endless line",
            Self::ReplyTooLong => "endless reply",
            Self::Nul => "NUL in a line",
            Self::LoneLineFeed => "LF without CR",
            Self::Unasked => "reply to no command",
            Self::WrongTag => "reply with a wrong tag",
            Self::Goodbye => "server ended the session",
            Self::EarlyBytes => "bytes between STARTTLS and TLS",
            Self::OutOfPlace => "asked for a text without recipients",
            Self::Challenge => "unreadable authentication",
            Self::Unproven => "server did not prove itself",
            Self::Tls => "TLS failed",
            Self::Certificate => "certificate not trusted",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// A session that is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {line}")]
pub struct Failure {
    /// What kind of failure.
    pub kind: Kind,
    /// The line that showed it, shortened and printable; or what TLS said.
    pub line: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, line: &[u8]) -> Self {
        Self { kind, line: printable(line) }
    }
}

/// At most [`SHOWN`] characters of a line; what does not print is escaped.
pub(crate) fn printable(line: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in line.utf8_chunks() {
        for character in chunk.valid().chars() {
            if shown.len() >= SHOWN {
                shown.push('…');
                return shown;
            }
            match character {
                '\t' => shown.push(' '),
                control if control.is_control() => shown.extend(control.escape_default()),
                other => shown.push(other),
            }
        }
        for byte in chunk.invalid() {
            if shown.len() >= SHOWN {
                shown.push('…');
                return shown;
            }
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_printable() {
        assert_eq!(printable(b"250 ok"), "250 ok");
        assert_eq!(printable(b"a\0b\x1b[1m\xffc"), "a\\u{0}b\\u{1b}[1m\\xffc");
        assert_eq!(printable("Postfach \u{e4}".as_bytes()), "Postfach \u{e4}");
        let long = printable(&[b'x'; 10_000]);
        assert_eq!(long.chars().count(), SHOWN + 1);
        assert!(long.ends_with('…'));
        assert!(printable(&[0xff; 10_000]).len() < SHOWN + 8);
    }
}
