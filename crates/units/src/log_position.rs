//! The position of a log record in a log stream: ESE's LGPOS.

use std::cmp::Ordering;
use std::fmt;

/// A position in a log stream: generation, segment within the file, byte within the segment.
///
/// Positions are ordered by generation, then segment, then byte, which is the order in which
/// records were appended. The default is before every record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogPosition {
    /// Log generation, from 1; 0 in a null position.
    pub generation: u32,
    /// Segment within the generation's file; the header is segment 0.
    pub segment: u16,
    /// Byte within the segment.
    pub byte: u16,
}

impl PartialOrd for LogPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogPosition {
    /// As one number: trees of dirty pages compare positions at every step.
    fn cmp(&self, other: &Self) -> Ordering {
        u64::from_le_bytes(self.to_bytes()).cmp(&u64::from_le_bytes(other.to_bytes()))
    }
}

impl LogPosition {
    /// Greater than every position in a log: the identity of `min`.
    pub const MAX: Self = Self { generation: u32::MAX, segment: u16::MAX, byte: u16::MAX };

    /// The first byte of a generation's file.
    pub const fn start_of(generation: u32) -> Self {
        Self { generation, segment: 0, byte: 0 }
    }

    /// A number that identifies it, in the same order.
    pub fn to_mark(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.segment) << 16 | u64::from(self.byte)
    }

    /// The inverse of [`Self::to_mark`].
    pub fn from_mark(mark: u64) -> Self {
        let [g0, g1, g2, g3, s0, s1, b0, b1] = mark.to_be_bytes();
        Self {
            generation: u32::from_be_bytes([g0, g1, g2, g3]),
            segment: u16::from_be_bytes([s0, s1]),
            byte: u16::from_be_bytes([b0, b1]),
        }
    }

    /// The eight bytes on disk: byte, segment, generation, each little-endian.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&self.byte.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4..].copy_from_slice(&self.generation.to_le_bytes());
        bytes
    }

    /// The inverse of [`Self::to_bytes`]; any eight bytes are a position.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        let [b0, b1, s0, s1, g @ ..] = bytes;
        Self {
            generation: u32::from_le_bytes(g),
            segment: u16::from_le_bytes([s0, s1]),
            byte: u16::from_le_bytes([b0, b1]),
        }
    }
}

impl fmt::Display for LogPosition {
    /// ESE's notation: generation, segment, byte in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}:{:X}:{:X}", self.generation, self.segment, self.byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_the_order_of_appending() {
        let position = |generation, segment, byte| LogPosition { generation, segment, byte };
        assert!(position(1, 9, 9) < position(2, 0, 0));
        assert!(position(1, 2, 0) > position(1, 1, 4095));
        assert!(LogPosition::default() < LogPosition::start_of(1));
    }

    #[test]
    fn bytes_round_trip() {
        let position = LogPosition { generation: 0x0102_0304, segment: 0x0506, byte: 0x0708 };
        assert_eq!(position.to_bytes(), [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(LogPosition::from_bytes(position.to_bytes()), position);
        assert_eq!(position.to_mark(), 0x0102_0304_0506_0708);
        assert_eq!(LogPosition::from_mark(position.to_mark()), position);
    }
}
