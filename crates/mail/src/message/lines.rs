//! Lines of a message, by kind.
//!
//! Text is cut from a pool of words that the whole mailing shares, at places that its number draws:
//! a copy of 70 bytes for each draw of the generator. Base64 lines are random, or one that repeats.

use brunt_world::random::Stream;

const POOL: usize = 64 << 10;
/// Content of the longest line, without its CRLF.
const LONG: usize = 998;
/// Content of a line of text.
const TEXT: usize = 72;
/// A full line of base64, of 57 bytes.
pub(crate) const BASE64: usize = 76;

/// What text is cut from.
pub(crate) struct Pool {
    words: Vec<u8>,
    /// Two characters of base64 for each of 4,096 values.
    pairs: Vec<[u8; 2]>,
}

/// Which lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Dots,
    Long,
    Blanks,
    EightBit,
    From,
    /// Continuations of a header.
    Folded,
    /// Whole lines of base64; so many of a hundred repeat.
    Base64(u8),
}

/// Lines that are being written until their bytes are used up.
pub(crate) struct Lines {
    kind: Kind,
    left: u64,
}

impl Pool {
    pub(crate) fn new(stream: &mut Stream) -> Self {
        const WORDS: &str = "the message was read again by all of us before noon and nobody knew \
            which meeting it meant so please find attached what we said about storage budget \
            numbers for next quarter thanks regards team project plan review customer order \
            shipping delay invoice number question answer tomorrow today yesterday office phone";
        let words: Vec<_> = WORDS.split(' ').filter(|word| !word.is_empty()).collect();
        let mut pool = Vec::with_capacity(POOL + 16);
        while pool.len() < POOL {
            let drawn = usize::try_from(stream.below(words.len() as u64)).expect("a short list");
            pool.extend_from_slice(words[drawn].as_bytes());
            pool.push(b' ');
        }
        pool.truncate(POOL);
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let pairs = (0..4096).map(|pair: usize| [alphabet[pair >> 6], alphabet[pair & 63]]);
        Self { words: pool, pairs: pairs.collect() }
    }

    /// Words of this length, which neither begin nor end with a blank.
    fn words(&self, stream: &mut Stream, length: usize, out: &mut Vec<u8>) {
        if length == 0 {
            return;
        }
        let places = (POOL - LONG) as u64;
        let at = usize::try_from(stream.below(places)).expect("within the pool");
        let begin = out.len();
        out.extend_from_slice(&self.words[at..at + length]);
        let end = out.len() - 1;
        for edge in [begin, end] {
            if out[edge] == b' ' {
                out[edge] = b',';
            }
        }
    }

    fn base64(&self, stream: &mut Stream, out: &mut Vec<u8>) {
        // Five pairs of a draw, and 38 pairs of a line.
        let mut bits = 0;
        for pair in 0..38 {
            if pair % 5 == 0 {
                bits = stream.bits();
            }
            let index = usize::try_from(bits & 0xFFF).expect("twelve bits");
            out.extend_from_slice(&self.pairs[index]);
            bits >>= 12;
        }
    }
}

impl Lines {
    /// Lines of together `bytes`, which is none or at least 2; of base64 whole lines.
    pub(crate) fn new(kind: Kind, bytes: u64) -> Self {
        Self { kind, left: bytes }
    }

    /// Writes the next line with its end; false when there is none.
    pub(crate) fn write(&mut self, pool: &Pool, stream: &mut Stream, out: &mut Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        let before = out.len();
        match self.kind {
            Kind::Base64(compressible) => {
                if stream.percent(u32::from(compressible)) {
                    out.resize(before + BASE64, b'A');
                } else {
                    pool.base64(stream, out);
                }
            }
            kind => {
                let most = match kind {
                    Kind::Long => LONG,
                    Kind::Dots if stream.below(8) == 0 => 1,
                    _ => TEXT,
                };
                let length = content_of_next_line(self.left, most);
                pool.words(stream, length, out);
                decorate(kind, stream, &mut out[before..]);
            }
        }
        out.extend_from_slice(b"\r\n");
        self.left -= (out.len() - before) as u64;
        true
    }
}

/// Content of the next line, so that the rest is nothing or another line.
fn content_of_next_line(left: u64, most: usize) -> usize {
    let room = usize::try_from(left).unwrap_or(usize::MAX) - 2;
    if room <= most {
        room
    } else if room == most + 1 {
        // One byte would remain, and a line has two.
        most - 1
    } else {
        most
    }
}

fn decorate(kind: Kind, stream: &mut Stream, line: &mut [u8]) {
    let begin: &[u8] = match kind {
        Kind::Dots => match stream.below(4) {
            0 => b".",
            1 => b"..",
            2 => b"....",
            _ => b"",
        },
        Kind::From => match stream.below(3) {
            0 => b"From ",
            1 => b">From ",
            _ => b"",
        },
        Kind::Folded => b" ",
        _ => b"",
    };
    if let Some(place) = line.get_mut(..begin.len()) {
        place.copy_from_slice(begin);
    }
    match kind {
        Kind::Blanks => {
            let count = usize::try_from(stream.below(5)).expect("below five");
            let end = line.len().saturating_sub(count);
            let blanks = line[end..].iter_mut().zip(b"\t  \t ");
            blanks.for_each(|(place, blank)| *place = *blank);
        }
        Kind::EightBit => {
            for place in line.iter_mut().step_by(3) {
                *place |= 0x80;
            }
        }
        _ => {}
    }
}
