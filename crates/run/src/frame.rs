//! Records as bytes, and back.
//!
//! ```text
//!   "brunt.run/1\n" | length | checksum | record | length | checksum | record | ...
//!                     4 B      4 B        length B
//! ```
//!
//! Numbers are little-endian; the checksum is CRC-32 of length and record. A record is written by
//! postcard and deflated.
//!
//! A kill or a lost host leaves whole records and at most one that is torn. So reading ends before
//! the first record that is not whole, is of another run, or does not follow the one before it;
//! [`Cut`] says where, and why. What follows a damaged record is left out as well: it is not known
//! what is missing between them.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

use brunt_units::{Time, grouped};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;

use crate::record::{Entry, Record};

/// Name and version of the format, and the first line of a journal.
pub const FORMAT: &str = "brunt.run/1\n";

/// Length and checksum.
const BORDER: usize = 8;

/// A longer record is none, deflated or not: a sample of a thousand databases has a tenth of this.
const RECORD_MAX: usize = 64 << 20;

/// Gives records their place, and turns them into bytes.
#[derive(Clone, Debug)]
pub struct Writer {
    run: u32,
    part: u16,
    seq: u64,
}

impl Writer {
    /// The writer of a run's journal, which begins with [`FORMAT`].
    pub fn new(run_id: &str) -> Self {
        Self { run: checksum(&[run_id.as_bytes()]), part: 0, seq: 0 }
    }

    /// Another part of the run begins.
    pub fn next_part(&mut self) {
        self.part = self.part.saturating_add(1);
    }

    /// `record`, which was made at `at`, with the place that it gets.
    pub fn place<'r>(&self, at: Time, record: &'r Record) -> Entry<&'r Record> {
        Entry { run: self.run, part: self.part, seq: self.seq, at, record }
    }

    /// The bytes of `record`, which was made at `at`; the next one gets the next place.
    ///
    /// # Panics
    /// When it is longer than 64 MiB.
    pub fn bytes(&mut self, at: Time, record: &Record) -> Vec<u8> {
        let plain = self.place(at, record).to_plain();
        assert!(plain.len() <= RECORD_MAX, "a record of {} bytes", plain.len());
        let mut deflated = ZlibEncoder::new(vec![0; BORDER], Compression::default());
        let bytes = deflated.write_all(&plain).and_then(|()| deflated.finish());
        let mut bytes = bytes.expect("memory takes every write");
        self.seq += 1;
        let length = u32::try_from(bytes.len() - BORDER).expect("at most 64 MiB").to_le_bytes();
        let sum = checksum(&[&length, &bytes[BORDER..]]).to_le_bytes();
        bytes[..4].copy_from_slice(&length);
        bytes[4..BORDER].copy_from_slice(&sum);
        bytes
    }
}

/// A journal that is read.
pub struct Journal<R> {
    bytes: R,
    /// Of the last record.
    before: Option<(u32, u16, u64)>,
    cut: Option<Cut>,
    /// Bytes of whole records, and of the first line.
    read: u64,
}

/// Where reading ended before the end of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes before it.
    pub after: u64,
    pub why: Why,
}

impl fmt::Display for Cut {
    /// As an end of a report's reasons.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::Torn => "ends within a record",
            Why::Damaged => "is damaged",
            Why::OutOfOrder => "lacks a record, or has one twice",
            Why::OtherRun => "goes on with records of another run",
        };
        write!(f, "the journal {why} after {} bytes; what follows is left out", grouped(self.after))
    }
}

/// Why a record was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It ends before its length.
    Torn,
    /// Its checksum is wrong, or it is not a record.
    Damaged,
    /// It does not follow the one before it.
    OutOfOrder,
    /// It is of another run.
    OtherRun,
}

/// A journal that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another version, or no journal.
    #[error("is not a journal of this version of brunt, which writes {}", FORMAT.trim_end())]
    Format,
}

impl<R: Read> Journal<R> {
    /// The journal in `bytes`.
    ///
    /// # Errors
    /// [`JournalError`] when it cannot be read, or is not a journal of this version.
    pub fn open(mut bytes: R) -> Result<Self, JournalError> {
        let mut first = [0; FORMAT.len()];
        match fill(&mut bytes, &mut first)? == FORMAT.len() && first == *FORMAT.as_bytes() {
            true => Ok(Self { bytes, before: None, cut: None, read: FORMAT.len() as u64 }),
            false => Err(JournalError::Format),
        }
    }

    /// The next record; `None` at the end, or before a record that is not whole.
    ///
    /// # Errors
    /// Those of reading.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        if self.cut.is_some() {
            return Ok(None);
        }
        let mut border = [0; BORDER];
        match fill(&mut self.bytes, &mut border)? {
            0 => return Ok(None),
            BORDER => {}
            _ => return Ok(self.ends(Why::Torn)),
        }
        let (length, sum) = border.split_at(4);
        let (length, sum) =
            [length, sum].map(|half| u32::from_le_bytes(half.try_into().expect("4 bytes"))).into();
        if length as usize > RECORD_MAX {
            return Ok(self.ends(Why::Damaged));
        }
        let mut bytes = Vec::new();
        (&mut self.bytes).take(length.into()).read_to_end(&mut bytes)?;
        if bytes.len() < length as usize {
            return Ok(self.ends(Why::Torn));
        }
        if checksum(&[&border[..4], &bytes]) != sum {
            return Ok(self.ends(Why::Damaged));
        }
        let Some(entry) = inflated(&bytes) else {
            return Ok(self.ends(Why::Damaged));
        };
        let follows = match self.before {
            None => entry.seq == 0,
            Some((run, ..)) if run != entry.run => return Ok(self.ends(Why::OtherRun)),
            Some((_, part, seq)) => {
                entry.seq == seq + 1 && (part..=part.saturating_add(1)).contains(&entry.part)
            }
        };
        if !follows {
            return Ok(self.ends(Why::OutOfOrder));
        }
        self.before = Some((entry.run, entry.part, entry.seq));
        self.read += (BORDER + bytes.len()) as u64;
        Ok(Some(entry))
    }

    /// Goes back to the end of the last whole record: a journal that is written meanwhile may have
    /// more of them now.
    ///
    /// # Errors
    /// Those of seeking.
    pub fn look_again(&mut self) -> io::Result<()>
    where
        R: Seek,
    {
        self.cut = None;
        self.bytes.seek(SeekFrom::Start(self.read)).map(|_| ())
    }

    fn ends(&mut self, why: Why) -> Option<Entry> {
        self.cut = Some(Cut { after: self.read, why });
        None
    }

    /// Where and why reading ended early.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }
}

/// The record in `bytes`; `None` when there is none.
fn inflated(bytes: &[u8]) -> Option<Entry> {
    let mut plain = Vec::new();
    let most = RECORD_MAX as u64 + 1;
    ZlibDecoder::new(bytes).take(most).read_to_end(&mut plain).ok()?;
    (plain.len() <= RECORD_MAX).then_some(())?;
    Entry::from_plain(&plain)
}

impl Entry {
    /// The record in these bytes, which are not deflated; `None` when there is none.
    pub fn from_plain(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl<R: Serialize> Entry<R> {
    /// Its bytes, not deflated.
    pub fn to_plain(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("memory takes every write")
    }
}

/// Reads until `buffer` is full or the bytes end; returns how many were read.
fn fill(bytes: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}
