//! Preparing the next log file while the current one fills.
//!
//! A new log file is filled with a pattern before use, so that its blocks are allocated, its size
//! is durable, and a flush into it never waits for the file system. That doubles the bytes written.
//! All at once, it would delay commits, so it is spread: the next file is formatted in chunks, in
//! step with the filling of the current one and slightly faster.
//!
//! ```text
//!   formatted |              ____  whole file, ready at 7/8
//!             |          ____|
//!             |      ____|         steps of one chunk
//!             |  ____|
//!             +--|---|---|---|--   used of the current file
//! ```
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx (asynchronous
//! creation, triggered by the position in the current file; pattern writes of the largest write
//! size). The margin of 1/8 is ours.

/// Largest chunk: ESE's largest coalesced write.
pub const CHUNK_BYTES: u64 = 512 << 10;

/// Chunk of the older engines, whose checkpoint writes in bursts.
///
/// Fitted to a published test of 2007 (EMC H2930, EMC CX3-20, appendix B). It shows 127 log writes
/// of 10.7 kB per second. The operation mix implies 100 hard commits per second and a log that
/// grows by 0.6 MB/s. Chunks of 16 KiB would give 137 writes, 32 KiB gives 119.
pub const OLD_CHUNK_BYTES: u64 = 32 << 10;

/// The next file must be ready when this share of the current one is used, as (numerator,
/// denominator).
const READY: (u64, u64) = (7, 8);

/// How many bytes to format now, starting at `formatted`; zero when the next file is far enough
/// ahead.
///
/// `used` of `file_bytes` are used in the current file; `formatted` bytes of the next one are
/// written or in flight. Each answer is at most one `chunk`; call again when it is done and when
/// `used` has grown. Answers end at multiples of the chunk or at the end of the file.
///
/// # Panics
/// When `used` or `formatted` exceeds the file size, or `chunk` is zero.
pub fn format_now(file_bytes: u64, used: u64, formatted: u64, chunk: u64) -> u64 {
    assert!(used <= file_bytes, "{used} of {file_bytes} bytes used");
    assert!(formatted <= file_bytes, "{formatted} of {file_bytes} bytes formatted");
    assert!(chunk > 0, "a chunk of nothing");
    let in_step = (used * READY.1).div_ceil(READY.0).min(file_bytes);
    let target = in_step.next_multiple_of(chunk).min(file_bytes);
    let step = (formatted + 1).next_multiple_of(chunk).min(file_bytes);
    if formatted < target { step - formatted } else { 0 }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn a_file_of_one_mebibyte_takes_two_writes() {
        let now = |used, formatted| format_now(1 << 20, used, formatted, CHUNK_BYTES);
        assert_eq!(now(0, 0), 0);
        assert_eq!(now(1, 0), 512 << 10);
        assert_eq!(now(400 << 10, 512 << 10), 0);
        assert_eq!(now(500 << 10, 512 << 10), 512 << 10);
        assert_eq!(now(1 << 20, 1 << 20), 0);
    }

    #[test]
    fn the_next_file_is_ready_in_time_and_not_in_one_burst() {
        let mut random = Streams::new(8).named("format");
        for _ in 0..500 {
            let file = 512 * (8 + random.below(4_000));
            let chunk = 512 * (1 + random.below(64));
            let (mut used, mut formatted) = (0, 0);
            while used < file {
                used = (used + 1 + random.below(file.div_ceil(16))).min(file);
                loop {
                    let bytes = format_now(file, used, formatted, chunk);
                    assert!(bytes <= chunk);
                    formatted += bytes;
                    if bytes == 0 {
                        break;
                    }
                }
                let share = used as f64 / file as f64;
                let ahead = formatted as f64 - file as f64 * share;
                assert!(ahead >= 0.0, "behind the current file");
                let most = file as f64 * share / 7.0 + chunk as f64 + 1.0;
                assert!(ahead <= most, "{ahead} bytes ahead, chunk {chunk}");
                assert!(share < 0.875 || formatted == file);
            }
            assert_eq!(formatted, file);
        }
    }
}
