//! What background maintenance of a passive copy has found.

use brunt_ese::error::EngineError;
use brunt_ese::maintenance::Findings;
use brunt_report::counted;
use brunt_report::result::CopyScan;

/// The scan of all databases of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Passes over every database.
    pub passes: u64,
    /// Pages judged.
    pub judged: u64,
    /// Bad pages, repaired or not.
    pub found: u64,
    /// The error of each bad page that was not repaired.
    pub bad: Vec<EngineError>,
}

impl Scan {
    /// The scan of these databases; `None` without any.
    pub(super) fn of(databases: &[Findings]) -> Option<Self> {
        let passes = databases.iter().map(|one| one.passes).min()?;
        let bad = databases.iter().flat_map(|one| one.bad.values().cloned());
        let each = databases.iter();
        Some(Self {
            found: each.map(|one| one.bad.len() as u64 + one.patched).sum(),
            passes,
            judged: databases.iter().map(|one| one.judged).sum(),
            bad: bad.collect(),
        })
    }

    /// What is wrong, in words; `None` when nothing is.
    pub(super) fn wrong(&self) -> Option<String> {
        let first = self.bad.first()?;
        let more = match self.bad.len() - 1 {
            0 => String::new(),
            more => format!(", and {}", counted(more as u64, "more bad page")),
        };
        Some(format!("background maintenance found {first}{more}"))
    }

    /// The scan in the result; pages without content were only read.
    pub(super) fn in_result(&self, has_content: bool) -> CopyScan {
        CopyScan {
            passes: self.passes,
            pages_read: Some(self.judged),
            pages_judged: has_content.then_some(self.judged),
            pages_bad: has_content.then_some(self.found),
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_ese::error::PageFault;
    use brunt_units::PageNumber;

    use super::*;

    fn findings(passes: u64, bad: &[u32]) -> Findings {
        let error = |page| EngineError::Page {
            database: "copy/1.edb".into(),
            page,
            offset: 0,
            fault: PageFault::Checksum,
        };
        let bad = bad.iter().map(|page| PageNumber(*page));
        Findings {
            passes,
            judged: 10,
            bad: bad.map(|page| (page, error(page))).collect(),
            ..Findings::default()
        }
    }

    #[test]
    fn a_bad_page_is_named_and_the_others_are_counted() {
        assert_eq!(Scan::of(&[]), None);
        let fine = Scan::of(&[findings(2, &[]), findings(1, &[])]).unwrap();
        assert_eq!((fine.passes, fine.judged, fine.wrong()), (1, 20, None));
        let one = Scan::of(&[findings(0, &[7])]).unwrap().wrong().unwrap();
        assert!(one.contains("copy/1.edb") && one.contains("page 7"), "{one}");
        let three = Scan::of(&[findings(0, &[7]), findings(0, &[8, 9])]).unwrap();
        let said = three.wrong().unwrap();
        assert_eq!(said, format!("{one}, and 2 more bad pages"));
        assert_eq!(three.in_result(true).pages_bad, Some(3));
        let ghosts = three.in_result(false);
        assert_eq!((ghosts.pages_read, ghosts.pages_bad), (Some(20), None));
        let repaired = Findings { patched: 2, ..findings(1, &[]) };
        let fine = Scan::of(&[repaired]).unwrap();
        assert_eq!((fine.in_result(true).pages_bad, fine.wrong()), (Some(2), None));
    }
}
