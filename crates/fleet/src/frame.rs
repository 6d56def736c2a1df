//! Messages in a stream of bytes.
//!
//! ```text
//!   "brunt.fleet/1\n" | length | checksum | content | length | checksum | content | ...
//!                        4 B      4 B      length B
//! ```
//!
//! Numbers are little-endian; the checksum is CRC-32 of length and content. The first line tells a
//! frame from what a login shell or a launcher may print on the same stream. A stream that is
//! damaged is of no more use: the connection is closed, and made again.

/// The first bytes of each direction: the protocol and its version.
pub const FIRST: &[u8] = b"brunt.fleet/1\n";

/// Bytes in the longest content.
pub const FRAME_MAX: usize = 1 << 20;

/// Length and checksum.
const BORDER: usize = 8;

/// Bytes of a foreign stream that are shown.
const SHOWN_MAX: usize = 120;

/// Why a stream has no more messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else speaks there.
    #[error("not brunt answers there, but: {0:?}")]
    Foreign(String),
    /// A length that no message has.
    #[error("a message of {0} bytes; {FRAME_MAX} are allowed")]
    TooLong(u32),
    /// The content is not what was sent.
    #[error("a message was damaged on its way")]
    Damaged,
}

/// `content` as it is sent.
///
/// # Panics
/// When it is longer than [`FRAME_MAX`].
pub fn frame(content: &[u8]) -> Vec<u8> {
    assert!(content.len() <= FRAME_MAX, "a message of {} bytes", content.len());
    let length = u32::try_from(content.len()).expect("at most 1 MiB").to_le_bytes();
    let sum = checksum(length, content).to_le_bytes();
    [&length, &sum, content].concat()
}

fn checksum(length: [u8; 4], content: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length);
    sum.update(content);
    sum.finalize()
}

/// The messages of one direction, from its first byte.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    arrived: Vec<u8>,
    /// Bytes of these that have been taken.
    taken: usize,
    has_begun: bool,
}

impl Frames {
    /// Takes bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.arrived.drain(..self.taken);
        self.taken = 0;
        self.arrived.extend_from_slice(bytes);
    }

    /// The content of the next message that is whole.
    ///
    /// # Errors
    /// [`FrameError`]; the stream is of no more use.
    pub fn next_content(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        if !self.has_begun {
            let begin = &self.arrived[..self.arrived.len().min(FIRST.len())];
            if !FIRST.starts_with(begin) {
                let shown = &self.arrived[..self.arrived.len().min(SHOWN_MAX)];
                let shown = String::from_utf8_lossy(shown);
                return Err(FrameError::Foreign(shown.trim_end().to_owned()));
            }
            if begin.len() < FIRST.len() {
                return Ok(None);
            }
            self.has_begun = true;
            self.taken = FIRST.len();
        }
        let left = &self.arrived[self.taken..];
        let Some((border, rest)) = left.split_first_chunk::<BORDER>() else {
            return Ok(None);
        };
        let [a, b, c, d, sum @ ..] = *border;
        let (length, sum) = ([a, b, c, d], u32::from_le_bytes(sum));
        let bytes = u32::from_le_bytes(length) as usize;
        if bytes > FRAME_MAX {
            return Err(FrameError::TooLong(u32::from_le_bytes(length)));
        }
        let Some(content) = rest.get(..bytes) else {
            return Ok(None);
        };
        if checksum(length, content) != sum {
            return Err(FrameError::Damaged);
        }
        let content = content.to_vec();
        self.taken += BORDER + bytes;
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(contents: &[&[u8]]) -> Vec<u8> {
        let frames = contents.iter().flat_map(|content| frame(content));
        FIRST.iter().copied().chain(frames).collect()
    }

    #[test]
    fn messages_come_whole_however_the_bytes_come() {
        let contents: [&[u8]; 3] = [b"", b"one", &[7; 70_000]];
        let bytes = stream(&contents);
        for piece in [1, 3, 9, 1000, bytes.len()] {
            let mut frames = Frames::default();
            let mut came = Vec::new();
            for piece in bytes.chunks(piece) {
                frames.push(piece);
                while let Some(content) = frames.next_content().unwrap() {
                    came.push(content);
                }
            }
            assert_eq!(came, contents);
        }
    }

    #[test]
    fn no_changed_bit_is_taken_for_a_message() {
        let bytes = stream(&[b"where it stands"]);
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at >> 3] ^= 1 << (at & 7);
            let mut frames = Frames::default();
            frames.push(&bytes);
            let read = frames.next_content();
            assert!(!matches!(read, Ok(Some(_))), "bit {at}: {read:?}");
        }
    }

    #[test]
    fn a_login_message_is_named() {
        let mut frames = Frames::default();
        frames.push(b"Welcome to a1!\nbrunt.fleet/1\n");
        let error = frames.next_content().unwrap_err();
        assert!(matches!(&error, FrameError::Foreign(said) if said.starts_with("Welcome")));
    }

    #[test]
    fn a_length_takes_no_memory() {
        let mut frames = Frames::default();
        frames.push(FIRST);
        frames.push(&[0xFF; 8]);
        assert_eq!(frames.next_content(), Err(FrameError::TooLong(u32::MAX)));
    }
}
