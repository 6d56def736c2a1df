//! Faults of the storage, in words: file, page, offset and the error number of ESE.
//!
//! They come from sessions, maintenance, closing and verification. Each is listed once, in the order found; the rules do the
//! counting.

use std::fmt::Write;
use std::path::Path;

use brunt_ese::error::EngineError;
use brunt_ese::verify::{Fault, FileReport, Finding, Place};

/// Lines that are listed; a broken device would fill the report.
const LISTED_MAX: usize = 32;

/// The faults found, at most 32 lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found(Vec<String>);

impl Found {
    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    /// Adds an error of the engine.
    pub fn note(&mut self, error: &EngineError) {
        self.push(error.to_string());
    }

    /// Adds the findings of verification in a file. Flipped bits that the checksum corrects are no fault.
    pub(crate) fn note_file(&mut self, report: &FileReport) {
        let findings = report.findings.iter();
        let bad = findings.filter(|finding| !matches!(finding.fault, Fault::Correctable { .. }));
        for finding in bad.take(LISTED_MAX) {
            self.push(in_words(&report.file, finding));
        }
    }

    /// Adds a file that could not be judged at all.
    pub(crate) fn note_unreadable(&mut self, path: &Path, why: &str) {
        self.push(format!("{}: {why}", path.display()));
    }

    /// Adds the lines of another list.
    pub fn absorb(&mut self, other: &Self) {
        other.0.iter().for_each(|line| self.push(line.clone()));
    }

    fn push(&mut self, line: String) {
        if self.0.len() < LISTED_MAX && !self.0.contains(&line) {
            self.0.push(line);
        }
    }
}

/// Formats a finding like [`EngineError::Page`].
fn in_words(path: &Path, finding: &Finding) -> String {
    let mut line = format!("{}: ", path.display());
    let place = match finding.place {
        Place::Header => write!(line, "header"),
        Place::Shadow => write!(line, "second header"),
        Place::Page(page) => write!(line, "page {page}"),
        Place::Segment(number) => write!(line, "segment {number}"),
    };
    place.expect("a string takes all");
    format!("{line} (offset {}): {}", finding.offset, finding.fault)
}

#[cfg(test)]
mod tests {
    use brunt_ese::error::PageFault;
    use brunt_units::PageNumber;

    use super::*;

    fn error(page: u32) -> EngineError {
        EngineError::Page {
            database: "/data/a.edb".into(),
            page: PageNumber(page),
            offset: PageNumber(page).offset(brunt_units::PageSize::KIB_4),
            fault: PageFault::LostFlush,
        }
    }

    #[test]
    fn each_thing_is_listed_once_and_not_without_end() {
        let mut found = Found::default();
        for page in [7, 7, 8] {
            found.note(&error(page));
        }
        let wanted = "/data/a.edb: page 7 (offset 32768): an earlier write is missing (ESE -1119)";
        assert_eq!(
            (found.lines().len(), found.lines()[0].as_str()),
            (2, wanted)
        );
        (100..200).for_each(|page| found.note(&error(page)));
        assert_eq!(found.lines().len(), LISTED_MAX);
    }

    #[test]
    fn what_verification_finds_reads_the_same() {
        let finding = Finding {
            place: Place::Page(PageNumber(7)),
            offset: 32_768,
            fault: Fault::Checksum,
        };
        let wanted = "/data/a.edb: page 7 (offset 32768): the checksum fails (ESE -1018)";
        assert_eq!(in_words(Path::new("/data/a.edb"), &finding), wanted);
    }
}
