//! Faults of the storage, in words: file, page, offset and the error number of ESE.
//!
//! They come from sessions, maintenance, closing and verification. Each page is listed once, in the
//! order found, with every error number that it gave; the rules do the counting.

use std::collections::BTreeSet;
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
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    /// Files with a bad page, segment or header.
    pub(crate) fn files(&self) -> u64 {
        let places = self.0.iter().filter_map(|line| place(line));
        let files = places.filter_map(|(place, _)| Some(place.rsplit_once(": ")?.0));
        files.collect::<BTreeSet<&str>>().len() as u64
    }

    /// Adds an error of the engine.
    pub fn note(&mut self, error: &EngineError) {
        self.push(error.to_string());
    }

    /// Adds the findings of verification in a file. Flipped bits that the checksum corrects are no
    /// fault.
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
        self.carry(&other.0);
    }

    /// Adds the lines of an earlier report.
    pub(crate) fn carry(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.push(line.clone()));
    }

    fn push(&mut self, line: String) {
        let same_place = |known: &String| match (place(known), place(&line)) {
            (Some((known, _)), Some((new, _))) => known == new,
            _ => *known == line,
        };
        let Some(at) = self.0.iter().position(same_place) else {
            self.0.extend((self.0.len() < LISTED_MAX).then_some(line));
            return;
        };
        let known = &mut self.0[at];
        let faults = place(&line).map_or("", |(_, faults)| faults);
        for fault in faults.split("; ") {
            let code = fault.rfind("(ESE ").map_or(fault, |at| &fault[at..]);
            if !known.contains(code) {
                known.push_str("; ");
                known.push_str(fault);
            }
        }
    }
}

/// The page of a line, and what is wrong with it.
fn place(line: &str) -> Option<(&str, &str)> {
    let (place, fault) = line.split_once("): ")?;
    place.contains(" (offset ").then_some((place, fault))
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
    use brunt_world::IoError;

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
        assert_eq!((found.lines().len(), found.lines()[0].as_str()), (2, wanted));
        assert_eq!(found.files(), 1);
        (100..200).for_each(|page| found.note(&error(page)));
        assert_eq!(found.lines().len(), LISTED_MAX);
    }

    #[test]
    fn a_page_has_one_line_with_every_error_number() {
        let mut found = Found::default();
        found.note(&error(7));
        for fault in [
            "an earlier write is missing (flush type 3, map 1) (ESE -1119)",
            "checksum mismatch (ESE -1018)",
        ] {
            found.push(format!("/data/a.edb: page 7 (offset 32768): {fault}"));
        }
        let wanted = "/data/a.edb: page 7 (offset 32768): an earlier write is missing (ESE -1119); checksum mismatch (ESE -1018)";
        assert_eq!(found.lines(), [wanted]);
        let mut all = found.clone();
        all.absorb(&found);
        assert_eq!(all, found);
    }

    #[test]
    fn what_verification_finds_reads_the_same() {
        let finding =
            Finding { place: Place::Page(PageNumber(7)), offset: 32_768, fault: Fault::Checksum };
        let path = Path::new("/data/a.edb");
        let wanted = "/data/a.edb: page 7 (offset 32768): checksum mismatch (ESE -1018)";
        assert_eq!(in_words(path, &finding), wanted);
        let at_work = |fault| PageFault::to_string(&fault);
        let verified = |fault: Fault| fault.to_string();
        let belongs_at = PageNumber(9);
        for (engine, verify) in [
            (PageFault::Checksum, Fault::Checksum),
            (PageFault::Uninitialised, Fault::Uninitialised),
            (PageFault::WrongNumber, Fault::WrongNumber { belongs_at }),
            (PageFault::LostFlush, Fault::LostFlush { page: 3, map: 1 }),
            (PageFault::TooNew, Fault::TooNew),
            (PageFault::Device(IoError::Medium), Fault::Device(IoError::Medium)),
        ] {
            assert!(verified(verify).starts_with(&at_work(engine)), "{engine}");
            assert_eq!(verify.code(), engine.code());
        }
    }
}
