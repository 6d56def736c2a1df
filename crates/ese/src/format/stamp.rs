//! Dates and signatures in headers, and the marker by which brunt recognises its own files.
//!
//! ```text
//!    date, 8 bytes (LOGTIME)       second, minute, hour, day, month 1-12, year − 1900,
//!                                  bit 0 UTC + low 7 bits of milliseconds, bits 1-3 high bits of milliseconds
//!    signature, 28 bytes (SIGNATURE)
//!     0   4  random
//!     4   8  date of creation
//!    12  16  computer name          zero in genuine files
//! ```
//!
//! **The marker.** brunt writes real ESE files, possibly next to someone's mail. It opens a file
//! for writing only if the file carries its marker, and the marker must not disturb any reader. The
//! computer name of a signature is such a place: no reader interprets it. Ours is
//!
//! ```text
//!    0   8  "brunt", three zero bytes
//!    8   8  id of the run that created the file
//! ```
//!
//! in the database signature (database header, byte 24) and in the log signature (log header and
//! checkpoint). A file is ours when that name is there *and* the header's checksum is right.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/daedef.hxx (`LOGTIME`,
//! `SIGNATURE`).

use std::fmt;
use std::time::Duration;

use jiff::civil::{Date, Time, date};

use super::field::{array_at, put, put_u32, u32_at};

/// Bytes of a date.
pub const STAMP_BYTES: usize = 8;
pub const SIGNATURE_BYTES: usize = 28;

const COMPUTER_AT: usize = 12;
const MARK: &[u8; 8] = b"brunt\0\0\0";

/// A date in a header, to the millisecond; the default means "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp([u8; STAMP_BYTES]);

impl Stamp {
    /// The date `milliseconds` after the start of 1970, in UTC. Years after 2155 become 2155.
    pub fn from_unix_millis(milliseconds: u64) -> Self {
        let epoch = date(1970, 1, 1).at(0, 0, 0, 0);
        let date = epoch.saturating_add(Duration::from_millis(milliseconds));
        let byte = |value: i16| u8::try_from(value).unwrap_or(u8::MAX);
        let millis = date.millisecond();
        Self([
            byte(date.second().into()),
            byte(date.minute().into()),
            byte(date.hour().into()),
            byte(date.day().into()),
            byte(date.month().into()),
            byte(date.year() - 1900),
            byte((millis & 0x7F) << 1 | 1),
            byte((millis >> 7) << 1),
        ])
    }

    /// Milliseconds from the start of 1970; `None` for bytes that are no date since then.
    pub fn to_unix_millis(self) -> Option<u64> {
        let [second, minute, hour, day, month, year, low, high] = self.0;
        let byte = |value: u8| i8::try_from(value).ok();
        let day = Date::new(1900 + i16::from(year), byte(month)?, byte(day)?).ok()?;
        let millis = i32::from(low >> 1) | i32::from(high >> 1 & 7) << 7;
        let nanos = millis.checked_mul(1_000_000)?;
        let time = Time::new(byte(hour)?, byte(minute)?, byte(second)?, nanos).ok()?;
        let epoch = date(1970, 1, 1).at(0, 0, 0, 0);
        let since = day.to_datetime(time).duration_since(epoch);
        u64::try_from(since.as_millis()).ok()
    }

    /// The date in `bytes`; any bytes are a date.
    pub const fn from_bytes(bytes: [u8; STAMP_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes on disk.
    pub const fn to_bytes(self) -> [u8; STAMP_BYTES] {
        self.0
    }

    /// Whether this is a date.
    pub fn is_some(self) -> bool {
        self.0 != [0; STAMP_BYTES]
    }
}

impl fmt::Display for Stamp {
    /// `2026-11-21 18:15:03`, or `never`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_some() {
            return write!(f, "never");
        }
        let [second, minute, hour, day, month, year, ..] = self.0;
        let year = 1900 + u16::from(year);
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// Identifies the run that created a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Identifies a database or log stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Random number.
    pub random: u32,
    /// When it was created.
    pub created: Stamp,
    /// Zero in genuine files; holds our marker.
    pub computer: [u8; 16],
}

impl Signature {
    /// A signature with our marker and `run`.
    pub fn ours(random: u32, created: Stamp, run: RunId) -> Self {
        let mut computer = [0; 16];
        computer[..8].copy_from_slice(MARK);
        computer[8..].copy_from_slice(&run.0.to_le_bytes());
        Self { random, created, computer }
    }

    /// The run that created this signature, if it was brunt.
    pub fn run_id(&self) -> Option<RunId> {
        let (mark, run) = self.computer.split_first_chunk::<8>()?;
        let run = u64::from_le_bytes(run.try_into().ok()?);
        (mark == MARK).then_some(RunId(run))
    }

    /// Whether brunt created this signature.
    pub fn is_ours(&self) -> bool {
        self.run_id().is_some()
    }

    /// Whether this is a signature.
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }

    /// Reads the signature at `at`.
    ///
    /// # Panics
    /// When it extends past the end of `bytes`.
    pub fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            random: u32_at(bytes, at),
            created: Stamp(array_at(bytes, at + 4)),
            computer: array_at(bytes, at + COMPUTER_AT),
        }
    }

    /// Writes the signature at `at`.
    ///
    /// # Panics
    /// When it extends past the end of `bytes`.
    pub fn write(&self, bytes: &mut [u8], at: usize) {
        put_u32(bytes, at, self.random);
        put(bytes, at + 4, &self.created.0);
        put(bytes, at + COMPUTER_AT, &self.computer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_calendar_s() {
        let text = |seconds: u64| Stamp::from_unix_millis(seconds * 1000).to_string();
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(text(951_868_799), "2000-02-29 23:59:59");
        assert_eq!(text(951_868_800), "2000-03-01 00:00:00");
        assert_eq!(text(1_795_284_903), "2026-11-21 18:15:03");
        assert_eq!(Stamp::default().to_string(), "never");
    }

    #[test]
    fn milliseconds_take_ten_bits_around_the_utc_flag() {
        let bytes = Stamp::from_unix_millis(999).to_bytes();
        assert_eq!(bytes[6] & 1, 1);
        assert_eq!(u16::from(bytes[6] >> 1) | u16::from(bytes[7] >> 1) << 7, 999);
    }

    #[test]
    fn a_date_gives_its_milliseconds_back() {
        for millis in [0, 999, 951_782_400_127, 1_795_284_903_128, 1_795_284_903_512] {
            let stamp = Stamp::from_unix_millis(millis);
            assert_eq!(stamp.to_unix_millis(), Some(millis));
        }
        for bytes in [[0; 8], [0xFF; 8], Stamp::from_bytes([61, 0, 0, 1, 1, 90, 1, 0]).to_bytes()] {
            assert_eq!(Stamp::from_bytes(bytes).to_unix_millis(), None);
        }
    }

    #[test]
    fn our_marker_is_found_and_others_have_none() {
        let ours = Signature::ours(7, Stamp::from_unix_millis(1), RunId(0xABCD));
        let mut bytes = [0xEE; 40];
        ours.write(&mut bytes, 4);
        let read = Signature::read(&bytes, 4);
        assert_eq!(read, ours);
        assert_eq!(read.run_id(), Some(RunId(0xABCD)));
        assert_eq!(Signature::default().run_id(), None);
        let mut other = ours;
        other.computer[5] = b'!';
        assert!(!other.is_ours());
        assert_eq!(RunId(0xABCD).to_string(), "000000000000abcd");
    }
}
