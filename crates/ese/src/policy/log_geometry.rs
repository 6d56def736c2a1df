//! The measures of a log stream's files, and how far apart two positions are.
//!
//! ```text
//!   | header | segment | segment | ...                     | shadow |
//!   0        header_segments                               segments - 1
//! ```
//!
//! All files of a stream have equal length. The last segment stays free for the shadow copy of a segment that was
//! flushed partly filled, so that a torn rewrite of it loses nothing.

use brunt_units::LogPosition;

/// The measures; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGeometry {
    /// Bytes in a segment, the unit of log writes: 512 in our logs, 4,096 in current ESE.
    pub segment_bytes: u32,
    /// Segments in a file, header included.
    pub segments: u32,
    /// Segments that the header takes.
    pub header_segments: u32,
}

impl LogGeometry {
    /// The measures of files of `file_bytes`.
    ///
    /// # Panics
    /// When the file is not a whole number of segments, has more than 65,536 of them (positions count them in 16
    /// bits), or has none left beside header and shadow.
    pub fn new(file_bytes: u64, segment_bytes: u32, header_bytes: u32) -> Self {
        let segment = u64::from(segment_bytes);
        assert!(
            file_bytes.is_multiple_of(segment),
            "log file of {file_bytes} bytes"
        );
        let segments = file_bytes.div_euclid(segment);
        assert!(segments <= 1 << 16, "{segments} segments in a log file");
        let geometry = Self {
            segment_bytes,
            segments: u32::try_from(segments).expect("checked on the line above"),
            header_segments: header_bytes.div_ceil(segment_bytes),
        };
        assert!(
            geometry.header_segments + 1 < geometry.segments,
            "no room for log records"
        );
        geometry
    }

    /// Bytes in a file.
    pub fn file_bytes(self) -> u64 {
        u64::from(self.segments) * u64::from(self.segment_bytes)
    }

    /// Bytes of a file that records and segment headers may fill: all but header and shadow.
    pub fn usable_bytes(self) -> u64 {
        u64::from(self.segments - self.header_segments - 1) * u64::from(self.segment_bytes)
    }

    /// How many bytes of log lie before a position, files counted whole.
    pub fn to_bytes(self, position: LogPosition) -> u64 {
        u64::from(position.generation) * self.file_bytes()
            + u64::from(position.segment) * u64::from(self.segment_bytes)
            + u64::from(position.byte)
    }

    /// The position before which `bytes` of log lie: the reverse of [`Self::to_bytes`].
    ///
    /// # Panics
    /// When the generation exceeds 32 bits.
    pub fn to_position(self, bytes: u64) -> LogPosition {
        let segment = u64::from(self.segment_bytes);
        let within = bytes.rem_euclid(self.file_bytes());
        let narrow = |number: u64| u16::try_from(number).expect("segments and bytes have 16 bits");
        LogPosition {
            generation: u32::try_from(bytes.div_euclid(self.file_bytes())).expect("a generation"),
            segment: narrow(within.div_euclid(segment)),
            byte: narrow(within.rem_euclid(segment)),
        }
    }

    /// Bytes of log from `older` to `newer`; zero when it is not older.
    pub fn distance(self, older: LogPosition, newer: LogPosition) -> u64 {
        self.to_bytes(newer).saturating_sub(self.to_bytes(older))
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn positions_and_byte_counts_are_the_same_thing() {
        let mut random = Streams::new(4).named("geometry");
        for (file, segment) in [(64 << 10, 512), (1 << 20, 4096), (32 << 20, 512)] {
            let geometry = LogGeometry::new(file, segment, 4096);
            assert_eq!(geometry.file_bytes(), file);
            assert_eq!(
                geometry.usable_bytes(),
                file - 4096 - u64::from(geometry.segment_bytes)
            );
            for _ in 0..1_000 {
                let bytes = random.below(1 << 45);
                let position = geometry.to_position(bytes);
                assert_eq!(geometry.to_bytes(position), bytes);
                let later = geometry.to_position(bytes + 1);
                assert!(later > position);
                assert_eq!(geometry.distance(position, later), 1);
                assert_eq!(geometry.distance(later, position), 0);
            }
        }
    }

    #[test]
    #[should_panic(expected = "no room for log records")]
    fn a_file_of_header_and_shadow_is_refused() {
        LogGeometry::new(8192, 4096, 4096);
    }
}
