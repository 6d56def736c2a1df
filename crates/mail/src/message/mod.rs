//! The bytes of a message, made in chunks.
//!
//! ```text
//!    X-Brunt: run-number-check      the first header, and the border of what servers may add
//!    From, To, Date, Message-ID, Subject, MIME-Version, Content-...
//!
//!    text, parts, attachments       filled to the drawn length, to the byte
//! ```
//!
//! Lines end in CRLF, nothing is dot-stuffed, and the last byte is a line feed, so no server has to
//! complete a line. One message in a hundred is each of the [`Hard`] cases: what servers, stores and
//! proxies are known to change, or to fail on.
//!
//! A message is a list of segments: bytes that are written out, or lines of a kind that are made as
//! they are needed. So one of 1 GiB takes no more memory than one of a kilobyte.

mod lines;
mod shape;

use std::rc::Rc;

use brunt_world::random::Stream;
use serde::{Deserialize, Serialize};

use crate::mailing::Mailing;
use lines::Lines;
pub(crate) use lines::Pool;
use shape::Segment;

/// Chunks end with the first segment or line that reaches this length.
const CHUNK: usize = 4096;

/// A form that mail systems get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Hard {
    /// Lines of a dot, and lines that begin with one or two (RFC 5321, 4.5.2).
    LeadingDots,
    /// Nothing follows the headers.
    EmptyBody,
    /// Lines of 998 bytes, the longest that are allowed (RFC 5322, 2.1.1).
    LongLines,
    /// Lines that end in blanks and tabs.
    TrailingBlanks,
    /// Bytes above 127; needs 8BITMIME (RFC 6152).
    EightBit,
    /// Lines that begin with `From `, which mailboxes in mbox format escape.
    FromLines,
    /// Parts within parts, thirty levels deep.
    DeepMime,
    /// One folded header of 60,000 bytes.
    LongHeader,
}

impl Hard {
    /// Each of them.
    pub const ALL: [Self; 8] = [
        Self::LeadingDots,
        Self::EmptyBody,
        Self::LongLines,
        Self::TrailingBlanks,
        Self::EightBit,
        Self::FromLines,
        Self::DeepMime,
        Self::LongHeader,
    ];
}

/// A set of hard cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardCases(u8);

impl HardCases {
    /// All of them.
    pub const ALL: Self = Self(0xFF);
    /// None of them.
    pub const NONE: Self = Self(0);

    /// The set without one case: 8 bit, say, for a server without 8BITMIME.
    #[must_use]
    pub const fn without(self, case: Hard) -> Self {
        Self(self.0 & !(1 << case as u8))
    }

    /// Whether the set has this case.
    pub const fn has(self, case: Hard) -> bool {
        self.0 & (1 << case as u8) != 0
    }
}

/// A message while it is being made.
pub struct Message {
    mailing: Rc<Mailing>,
    bytes: u64,
    hard: Option<Hard>,
    /// Last one first.
    segments: Vec<Segment>,
    lines: Option<Lines>,
    text: Stream,
    chunk: Vec<u8>,
}

impl Message {
    /// Message `number` of a mailing, from its first byte.
    pub fn new(mailing: &Rc<Mailing>, number: u32) -> Self {
        let mut message = Self {
            mailing: Rc::clone(mailing),
            bytes: 0,
            hard: None,
            segments: Vec::new(),
            lines: None,
            text: mailing.stream("text", number),
            chunk: Vec::new(),
        };
        message.begin(number);
        message
    }

    /// Begins again with another message, in the same memory.
    pub fn begin(&mut self, number: u32) {
        let shape = shape::of(&self.mailing, number);
        (self.bytes, self.hard, self.segments) = (shape.bytes, shape.hard, shape.segments);
        self.segments.reverse();
        self.text = self.mailing.stream("text", number);
        self.lines = None;
        self.chunk.clear();
    }

    /// Its length, which RFC822.SIZE shows when nothing was added.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hard case that it is.
    pub fn hard(&self) -> Option<Hard> {
        self.hard
    }

    /// Whether it has bytes above 127 and must be sent as BODY=8BITMIME.
    pub fn is_8bit(&self) -> bool {
        self.hard == Some(Hard::EightBit)
    }

    /// The next bytes, at most a few thousand; none at the end.
    pub fn next_chunk(&mut self) -> &[u8] {
        self.chunk.clear();
        while self.chunk.len() < CHUNK {
            if let Some(lines) = &mut self.lines {
                if lines.write(self.mailing.pool(), &mut self.text, &mut self.chunk) {
                    continue;
                }
                self.lines = None;
            }
            match self.segments.pop() {
                None => break,
                Some(Segment::Bytes(bytes)) => self.chunk.extend_from_slice(&bytes),
                Some(Segment::Lines(kind, bytes)) => self.lines = Some(Lines::new(kind, bytes)),
            }
        }
        &self.chunk
    }

    /// The bytes that [`Self::next_chunk`] returned last.
    pub fn chunk(&self) -> &[u8] {
        &self.chunk
    }

    /// All of it at once, for short ones.
    pub fn collect(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.next_chunk().is_empty() {
            all.extend_from_slice(&self.chunk);
        }
        all
    }
}

#[cfg(test)]
mod tests;
