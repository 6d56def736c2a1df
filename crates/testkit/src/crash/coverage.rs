//! Coverage of a search: the number of crashes, their variety, and the paths of the recoveries.

use std::collections::BTreeSet;

use brunt_ese::instance::recovery::RecoveryReport;

use super::Story;

/// The path of a recovery. Numbers above three count as three: none, one and a few make the
/// difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    generations: u32,
    records: u32,
    changes: u32,
    torn_pages: u32,
    undone: u32,
    is_second: bool,
}

impl Path {
    fn of(report: &RecoveryReport, is_second: bool) -> Self {
        let few = |number: u64| u32::try_from(number.min(3)).expect("three at most");
        Self {
            generations: report.generations.min(3),
            records: few(report.records),
            changes: few(report.changes),
            torn_pages: report.torn_pages.min(3),
            undone: report.undone.min(3),
            is_second,
        }
    }
}

/// Counts of a search.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Crash points that were recovered and compared.
    pub steps: u64,
    /// Stories that were cut.
    pub stories: u64,
    /// Stories whose process was killed on its way.
    pub killed: u64,
    /// Stories that began with the remains of another one after a power failure.
    pub later: u64,
    /// Stories whose log volume was full for a while.
    pub full: u64,
    /// Stories whose database volume was full for a while.
    pub cramped: u64,
    /// I/Os and changes of names that the stories recorded.
    pub actions: u64,
    /// Number of times an engine was opened on the remains of a crash.
    pub recoveries: u64,
    /// Recoveries after the crash of another recovery.
    pub second_crashes: u64,
    /// Recoveries whose trees and space were walked.
    pub walks: u64,
    /// Writes, lengths and names that were not durable at a crash; each was kept, lost or torn.
    pub faults: u64,
    /// Crash points at which a page was damaged as well.
    pub spoiled: u64,
    /// Of these, those that the engine refused for lack of another copy.
    pub refused: u64,
    /// Of these, those whose page was taken for torn, so that only the oracle sees the error.
    pub missed: u64,
    /// Passive copies that were activated after a crash of their own.
    pub copies: u64,
    /// Pages that were rebuilt because their last write was torn.
    pub torn_pages: u64,
    /// Transactions that were rolled back.
    pub undone: u64,
    images: BTreeSet<u64>,
    states: BTreeSet<u64>,
    paths: BTreeSet<Path>,
}

impl Coverage {
    /// Number of different file images after crashes, by hash.
    pub fn images(&self) -> u64 {
        self.images.len() as u64
    }

    /// Number of different recovered states, by hash.
    pub fn states(&self) -> u64 {
        self.states.len() as u64
    }

    /// Number of different recovery paths: none, one, two or more log files, records, missing
    /// changes, torn pages and rolled-back transactions, after a crash of a running engine or of a
    /// recovery.
    pub fn paths(&self) -> u64 {
        self.paths.len() as u64
    }

    /// Counts a story.
    pub(super) fn saw_story(&mut self, story: &Story) {
        self.stories += 1;
        self.later += u64::from(story.configuration.generation > 0);
        self.killed += u64::from(story.configuration.killed);
        self.full += u64::from(story.refusals.log.get() > 0);
        self.cramped += u64::from(story.refusals.databases.get() > 0);
        self.actions += story.journal.actions().len() as u64;
    }

    /// Counts an image.
    pub(super) fn saw_image(&mut self, digest: u64) {
        self.images.insert(digest);
    }

    /// Counts a recovered state.
    pub(super) fn saw_state(&mut self, digest: u64) {
        self.states.insert(digest);
    }

    /// Counts a recovery and its path.
    pub(super) fn saw_recovery(&mut self, report: &RecoveryReport, is_second: bool) {
        self.recoveries += 1;
        self.second_crashes += u64::from(is_second);
        self.torn_pages += u64::from(report.torn_pages);
        self.undone += u64::from(report.undone);
        self.paths.insert(Path::of(report, is_second));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_differ_by_none_one_and_a_few() {
        let mut coverage = Coverage::default();
        let mut go = |undone, is_second| {
            let report = RecoveryReport { undone, ..RecoveryReport::default() };
            coverage.saw_recovery(&report, is_second);
            coverage.paths()
        };
        let seen = [go(0, false), go(1, false), go(3, false), go(90, false)];
        assert_eq!(seen, [1, 2, 3, 3]);
        assert_eq!(go(1, true), 4);
    }
}
