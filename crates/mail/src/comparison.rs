//! Whether a fetched message is the one that was sent.
//!
//! ```text
//!    Return-Path, Received, Delivered-To ...     the server's: read for times, otherwise ignored
//!    X-Brunt: ...                                the message is made again from here
//!    ...                                         each byte is compared as it arrives
//! ```
//!
//! Bytes come in pieces of any length, and memory does not grow with the message. Nothing is
//! forgiven: a store may keep lines as it likes, but what it shows has CRLF again; a relay that
//! rewrites 8 bit as quoted-printable, escapes `From ` or adds a header below ours has changed the
//! message.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::alien::Alien;
use crate::mailing::Mailing;
use crate::mark::{HEADER, Mark};
use crate::message::Message;
use crate::trace::Trace;

/// A line that is longer is neither a mark nor a header of a server that matters.
const LINE: usize = 1024;
/// A server adds less than this; our mark must stand before.
const ADDED_MAX: u64 = 256 << 10;
/// Bytes of each side of a difference.
const EXCERPT: usize = 32;

/// What a message in a mailbox turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A message of this run.
    Ours(Copy),
    /// A report that a message of this run could not be delivered to these accounts.
    Bounce {
        /// The message.
        number: u32,
        /// The accounts that the report names.
        to: SmallVec<[u32; 8]>,
    },
    /// A message of another run.
    OtherRun {
        /// That run.
        run: u64,
    },
    /// No message of ours.
    Alien,
}

/// A copy of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The message.
    pub number: u32,
    /// Bytes of everything, with what the server added.
    pub bytes: u64,
    /// When each hop received it by its own clock, in Unix seconds, the last hop first.
    pub received: Vec<u64>,
    /// Where it differs from what was sent.
    pub difference: Option<Difference>,
}

/// The first place at which a message differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Bytes from the beginning of the message as it was sent.
    pub offset: u64,
    /// What was sent from there, up to 32 bytes; none when the message should have ended.
    pub expected: Vec<u8>,
    /// What was found from there, up to 32 bytes; none when it ended.
    pub found: Vec<u8>,
}

/// A message while it is being read from a mailbox.
pub struct Comparison {
    mailing: Rc<Mailing>,
    bytes: u64,
    /// The line that has begun, up to its first [`LINE`] bytes, and its length.
    line: Vec<u8>,
    line_bytes: usize,
    trace: Trace,
    /// A first header of ours that was damaged, perhaps.
    suspect: Option<Vec<u8>>,
    at: At,
}

enum At {
    /// Before our first header.
    Above,
    /// Equal so far.
    Equal {
        sent: Message,
        number: u32,
        used: usize,
        offset: u64,
    },
    Differs {
        number: u32,
        difference: Difference,
    },
    OtherRun(u64),
    Alien(Alien),
}

impl Comparison {
    /// A comparison before the first byte.
    pub fn new(mailing: &Rc<Mailing>) -> Self {
        Self {
            mailing: Rc::clone(mailing),
            bytes: 0,
            line: Vec::new(),
            line_bytes: 0,
            trace: Trace::default(),
            suspect: None,
            at: At::Above,
        }
    }

    /// The next bytes of the message, as the mailbox shows them: not dot-stuffed.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = match &mut self.at {
                At::Above => self.feed_above(bytes),
                At::Equal { .. } => self.feed_equal(bytes),
                At::Differs { difference, .. } => {
                    let room = EXCERPT - difference.found.len();
                    difference.found.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    return;
                }
                At::OtherRun(_) => return,
                At::Alien(alien) => {
                    alien.feed(&self.mailing, bytes);
                    return;
                }
            };
        }
    }

    /// The message has ended: what it was.
    pub fn finish(mut self) -> Seen {
        let (number, difference) = match self.at {
            At::Above => return Seen::Alien,
            At::OtherRun(run) => return Seen::OtherRun { run },
            At::Alien(alien) => {
                return match alien.bounce(&self.mailing) {
                    Some((number, to)) => Seen::Bounce { number, to },
                    None => Seen::Alien,
                };
            }
            At::Differs { number, difference } => (number, Some(difference)),
            At::Equal { mut sent, number, mut used, offset } => {
                if used == sent.chunk().len() {
                    sent.next_chunk();
                    used = 0;
                }
                let missing = excerpt(&sent.chunk()[used..]);
                let ends = Difference { offset, expected: missing, found: Vec::new() };
                (number, (!ends.expected.is_empty()).then_some(ends))
            }
        };
        Seen::Ours(Copy { number, bytes: self.bytes, received: self.trace.times(), difference })
    }

    /// Reads a line before our first header; returns what follows it.
    fn feed_above<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        let room = LINE - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        self.line_bytes += part.len();
        if end.is_some() {
            let line = std::mem::take(&mut self.line);
            let is_whole = self.line_bytes == line.len();
            self.line_bytes = 0;
            self.line_above(&line, is_whole);
        }
        if matches!(self.at, At::Above) && self.bytes - rest.len() as u64 > ADDED_MAX {
            self.at = At::Alien(Alien::default());
        }
        rest
    }

    fn line_above(&mut self, line: &[u8], is_whole: bool) {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        let run = self.mailing.options().run;
        if let Some(mark) = Mark::in_header(bare).filter(|_| is_whole) {
            if mark.run != run {
                self.at = At::OtherRun(mark.run);
                return;
            }
            let (sent, number) = (Message::new(&self.mailing, mark.number), mark.number);
            self.at = At::Equal { sent, number, used: 0, offset: 0 };
            let rest = self.feed_equal(line);
            if let At::Differs { difference, .. } = &mut self.at {
                let room = EXCERPT - difference.found.len();
                difference.found.extend_from_slice(&rest[..rest.len().min(room)]);
            }
        } else if let Some(mark) = Mark::in_message_id(bare).filter(|_| is_whole) {
            // Our first header is damaged or gone.
            let expected = format!("{HEADER}{mark}\r\n").into_bytes();
            let found = self.suspect.take().unwrap_or_default();
            let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
            let difference = Difference {
                offset: same as u64,
                expected: excerpt(&expected[same..]),
                found: excerpt(&found[same..]),
            };
            self.at = match mark.run == run {
                true => At::Differs { number: mark.number, difference },
                false => At::OtherRun(mark.run),
            };
        } else if bare.is_empty() {
            self.at = At::Alien(Alien::default());
        } else {
            if is_nearly_ours(bare) {
                self.suspect = Some(line.to_vec());
            }
            self.trace.line(bare);
        }
    }

    /// Compares bytes with what was sent; returns what is left when they differ.
    fn feed_equal<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        let At::Equal { sent, number, used, offset } = &mut self.at else {
            return bytes;
        };
        while !bytes.is_empty() {
            if *used == sent.chunk().len() {
                sent.next_chunk();
                *used = 0;
            }
            let expected = &sent.chunk()[*used..];
            let length = expected.len().min(bytes.len());
            if length > 0 && expected[..length] == bytes[..length] {
                *used += length;
                *offset += length as u64;
                bytes = &bytes[length..];
                continue;
            }
            let same = expected.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            let difference = Difference {
                offset: *offset + same as u64,
                expected: excerpt(&expected[same..]),
                found: Vec::new(),
            };
            self.at = At::Differs { number: *number, difference };
            return &bytes[same..];
        }
        bytes
    }
}

fn excerpt(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(EXCERPT)].to_vec()
}

/// Whether a line could be our first header with a byte changed.
fn is_nearly_ours(line: &[u8]) -> bool {
    let differing = HEADER.bytes().zip(line).filter(|(ours, found)| ours != *found).count();
    line.len() > HEADER.len() && differing <= 1
}

#[cfg(test)]
mod tests;
