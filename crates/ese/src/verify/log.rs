//! Verifying a brunt log file: its header, then every segment in order.
//!
//! The end of a log is not recorded, so a segment is judged by its context:
//!
//! * valid, with the file's generation and its own number: written;
//! * all zeros, all filling, or valid with another generation: not written in this use of the file.
//!   Normal after the last written segment; before it, something is missing;
//! * anything else: damaged, wherever it is. In a log that was being written at a crash, this can
//!   be the torn end, which recovery replaces.

use std::path::Path;

use brunt_world::IoError;

use super::report::{Fault, FileKind, FileReport, Note, Place};
use super::source::Source;
use crate::format::log_file::{FILL, LOG_HEADER_BYTES, LogHeader, LogHeaderError, SegmentHeader};

/// Verifies the log in `source`; `start` has its first bytes.
///
/// # Errors
/// When it does not have a brunt header.
pub(super) async fn verify(source: &Source, start: &[u8]) -> Result<FileReport, LogHeaderError> {
    let header = start.get(..LOG_HEADER_BYTES).ok_or(LogHeaderError::NotLog)?;
    let header = LogHeader::read(header)?;
    let kind = FileKind::Log { generation: header.generation };
    let mut pass = Pass {
        report: FileReport::new(source.path.clone(), source.length, kind),
        header,
        blank: 0..0,
    };
    pass.report.pages_seen = 1;
    let end = pass.header.file_bytes().min(source.readable);
    let mut stream = source.stream(LOG_HEADER_BYTES as u64..end, UNIT);
    while let Some((offset, bytes)) = stream.next().await {
        match bytes {
            Ok(bytes) => pass.segments(offset, &bytes),
            Err(error) => pass.unreadable(offset, error),
        }
    }
    Ok(pass.finish(source.length))
}

/// Verifies a log file without a header, which [is blank](is_blank) at its start. `None` when other
/// content follows.
///
/// While the next log is being filled, old content follows its start.
pub(super) async fn verify_blank(source: &Source) -> Option<FileReport> {
    let is_next = is_next(&source.path);
    let mut report = FileReport::new(source.path.clone(), source.length, FileKind::BlankLog);
    let mut stream = source.stream(0..source.readable, UNIT);
    while let Some((offset, bytes)) = stream.next().await {
        match bytes {
            // While it is being created, it ends with zeros.
            Ok(bytes) if is_next || bytes.iter().all(|byte| [FILL, 0].contains(byte)) => {
                report.pages_seen += bytes.len().div_euclid(UNIT) as u64;
            }
            Ok(_) => return None,
            Err(error) => {
                let number = u16::try_from(offset.div_euclid(UNIT as u64)).ok()?;
                report.pages_seen += 1;
                report.find(Place::Segment(number), offset, Fault::Device(error));
            }
        }
    }
    Some(report)
}

/// Whether a file with this start may be a blank log: filled; zeros if it has a reserve's name;
/// also empty if it is the next log.
pub(super) fn is_blank(path: &Path, start: &[u8]) -> bool {
    let begins_with = |value| start.iter().take(UNIT).all(|byte| *byte == value);
    let is_reserve = path.extension().is_some_and(|end| end == "jrs");
    let is_next = is_next(path);
    let is_there = !start.is_empty() || is_next;
    is_there && (begins_with(FILL) || ((is_reserve || is_next) && begins_with(0)))
}

/// Whether a file has the name of the next log, which is being created: `edbtmp.log`.
fn is_next(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with("tmp.log"))
}

/// Bytes to skip when a read fails: one large segment, or eight small ones.
const UNIT: usize = 4096;

struct Pass {
    report: FileReport,
    header: LogHeader,
    /// Numbers of the blank segments after the last written one.
    blank: std::ops::Range<u16>,
}

enum Segment {
    Written,
    Blank,
    Damaged,
}

impl Pass {
    fn number(&self, offset: u64) -> u16 {
        let number = offset.div_euclid(self.header.segment_size.bytes() as u64);
        u16::try_from(number).expect("a log file has fewer than 65,536 segments")
    }

    fn segments(&mut self, offset: u64, bytes: &[u8]) {
        let size = self.header.segment_size.bytes();
        for (segment, offset) in bytes.chunks_exact(size).zip((offset..).step_by(size)) {
            self.report.pages_seen += 1;
            let number = self.number(offset);
            match self.classify(segment, number) {
                Segment::Written => self.written(),
                Segment::Blank if self.blank.is_empty() => self.blank = number..number + 1,
                Segment::Blank => self.blank.end = number + 1,
                Segment::Damaged => {
                    self.report.find(Place::Segment(number), offset, Fault::Segment);
                }
            }
        }
    }

    /// Records a unit that cannot be read.
    fn unreadable(&mut self, offset: u64, error: IoError) {
        let size = self.header.segment_size.bytes();
        for offset in (offset..offset + UNIT as u64).step_by(size) {
            self.report.pages_seen += 1;
            let place = Place::Segment(self.number(offset));
            self.report.find(place, offset, Fault::Device(error));
        }
    }

    fn classify(&self, segment: &[u8], number: u16) -> Segment {
        let all = |value| segment.iter().all(|byte| *byte == value);
        match SegmentHeader::read(segment, number) {
            Some(found) if found.position.generation == self.header.generation => Segment::Written,
            Some(_) => Segment::Blank,
            None if all(0) || all(FILL) => Segment::Blank,
            None => Segment::Damaged,
        }
    }

    /// Records a written segment: blank segments before it are missing ones.
    fn written(&mut self) {
        let size = self.header.segment_size.bytes() as u64;
        for number in std::mem::take(&mut self.blank) {
            let offset = u64::from(number) * size;
            self.report.find(Place::Segment(number), offset, Fault::Segment);
        }
    }

    fn finish(mut self, length: u64) -> FileReport {
        let missing = self.header.file_bytes().saturating_sub(length);
        if missing > 0 {
            let segments = missing.div_ceil(self.header.segment_size.bytes() as u64);
            self.report.pages_seen += segments;
            let place = Place::Segment(self.number(length));
            self.report.find(place, length, Fault::PastEnd);
            self.report.pages_bad += segments - 1;
        }
        if !self.blank.is_empty() {
            let segments = u64::try_from(self.blank.len()).expect("16-bit numbers");
            self.report.notes.push(Note::LogEndsEarly(segments));
        }
        self.report
    }
}
