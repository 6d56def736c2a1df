//! One note for a bad page, however often it is read.
//!
//! A page that no copy can replace is bad again at each read. Its first note says how often so far;
//! what came later is reported once, at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brunt_ese::patch::Patch;
use brunt_units::PageNumber;

/// How often each bad page was found, with the same outcome.
#[derive(Debug, Default)]
pub(super) struct Repeats(BTreeMap<(PathBuf, PageNumber, bool), Times>);

#[derive(Debug)]
struct Times {
    first: String,
    all: u64,
    told: u64,
}

impl Repeats {
    /// Counts `patches`, and returns a note for each page among them that is new.
    pub(super) fn news(&mut self, patches: &[Patch]) -> Vec<String> {
        for patch in patches {
            let page = (patch.database.clone(), patch.page, patch.is_done());
            let times = self.0.entry(page).or_insert_with(|| Times {
                first: patch.to_string(),
                all: 0,
                told: 0,
            });
            times.all += 1;
        }
        let new = self.0.values_mut().filter(|times| times.told == 0);
        new.map(Times::tell).collect()
    }

    /// A note for each page that was found again since its note.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let more = self.0.values_mut().filter(|times| times.told < times.all);
        more.map(Times::tell).collect()
    }
}

impl Times {
    fn tell(&mut self) -> String {
        self.told = self.all;
        match self.all {
            1 => self.first.clone(),
            all => format!("{}, {all} times", self.first),
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_ese::error::PageFault;
    use brunt_ese::patch::Outcome;

    use super::*;

    #[test]
    fn a_page_that_is_bad_again_and_again_has_one_note_and_a_count() {
        let patch = |page| Patch {
            database: "/data/a.edb".into(),
            page: PageNumber(page),
            offset: 0,
            fault: PageFault::LostFlush,
            refused: Vec::new(),
            outcome: Outcome::NoCopy,
        };
        let mut repeats = Repeats::default();
        let first = repeats.news(&[patch(7), patch(7), patch(8)]);
        assert_eq!(first.len(), 2);
        assert!(first[0].ends_with("(ESE event 534), 2 times"), "{first:?}");
        assert_eq!(first[1], patch(8).to_string());
        let again: Vec<Patch> = (0..63).map(|_| patch(7)).collect();
        assert_eq!(repeats.news(&again), Vec::<String>::new());
        let rest = repeats.rest();
        assert_eq!((rest.len(), rest[0].ends_with(", 65 times")), (1, true));
        assert!(repeats.rest().is_empty());
    }
}
