//! Reading pages before they are asked for.
//!
//! Two sources know what comes next. A *sequential* reader, such as a range scan, tells its place, and the longer it has
//! been reading in order, the further ahead it is served ([`Sequential`]). *Recovery* knows from the log which pages the
//! coming records change ([`Preread`]): they are collected, sorted, freed of duplicates, joined into runs and issued in
//! page order, few at a time, because they compete with reads that somebody waits for already.
//!
//! Source of the limit: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx (JET_paramPrereadIOMax,
//! 8 outstanding) and jetapi.cxx (5 for solid-state disks). The doubling window of sequential readers is ours.

use brunt_units::{PageNumber, PageSize};

use super::coalesce::{self, Limits, Run};

/// ESE's limit of preread I/Os outstanding.
pub const IN_FLIGHT: u32 = 8;

/// Pages that will be needed soon.
#[derive(Clone, Debug, Default)]
pub struct Preread {
    wanted: Vec<PageNumber>,
    /// Whether `wanted` is in order and free of duplicates.
    sorted: bool,
    runs: Vec<Run>,
}

impl Preread {
    /// Nothing wanted.
    pub fn new() -> Self {
        Self::default()
    }

    /// `page` will be needed; to say so twice changes nothing.
    pub fn want(&mut self, page: PageNumber) {
        self.sorted = false;
        self.wanted.push(page);
    }

    /// Pages that are still to be issued, duplicates perhaps among them.
    pub fn pending(&self) -> usize {
        self.wanted.len()
    }

    /// Forgets what has not been issued.
    pub fn clear(&mut self) {
        self.wanted.clear();
    }

    /// Appends to `out` the reads to begin now, lowest pages first, so that at most `most` are outstanding.
    ///
    /// `in_flight` are outstanding already. Pages for which `cached` is true are dropped.
    pub fn issue(
        &mut self,
        in_flight: u32,
        most: u32,
        size: PageSize,
        limits: Limits,
        cached: &mut dyn FnMut(PageNumber) -> bool,
        out: &mut Vec<Run>,
    ) {
        let room = most.saturating_sub(in_flight) as usize;
        if room == 0 || self.wanted.is_empty() {
            return;
        }
        if !self.sorted {
            self.wanted.sort_unstable();
            self.wanted.dedup();
            self.sorted = true;
        }
        self.wanted.retain(|page| !cached(*page));
        self.runs.clear();
        coalesce::reads(&self.wanted, size, limits, &mut self.runs);
        self.runs.truncate(room);
        if let Some(last) = self.runs.last() {
            let done = self.wanted.partition_point(|page| *page <= last.last());
            self.wanted.drain(..done);
        }
        out.extend_from_slice(&self.runs);
    }
}

/// How far ahead a reader is served that reads in order.
///
/// The first step in order shows a sequence; from then on the window doubles with each step up to its maximum. A jump
/// closes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequential {
    next: PageNumber,
    window: u32,
}

impl Sequential {
    /// A reader that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reader is at a page whose successor in key order is `next` ([`PageNumber::NONE`] at the end): how many
    /// further pages in key order should be cached or on their way, at most `most`.
    pub fn step(&mut self, page: PageNumber, next: PageNumber, most: u32) -> u32 {
        let in_order = page.is_some() && page == self.next;
        self.window = if in_order {
            (2 * self.window).clamp(1, most.max(1)).min(most)
        } else {
            0
        };
        self.next = next;
        if next.is_some() { self.window } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn every_wanted_page_is_read_once_unless_cached() {
        let mut random = Streams::new(14).named("preread");
        for _ in 0..300 {
            let limits = Limits {
                max_bytes: 4096 * (1 + random.below(6)),
                max_gap_bytes: 4096 * random.below(3),
            };
            let mut draw = |bound| u32::try_from(random.below(bound)).unwrap();
            let mut preread = Preread::new();
            let cached: BTreeSet<u32> = (0..draw(30)).map(|_| 1 + draw(100)).collect();
            let wanted: BTreeSet<u32> = (0..draw(60)).map(|_| 1 + draw(100)).collect();
            for page in wanted.iter().chain(&wanted) {
                preread.want(PageNumber(*page));
            }
            let mut out = Vec::new();
            let mut rounds = 0;
            while preread.pending() > 0 {
                let before = out.len();
                let in_flight = draw(IN_FLIGHT.into());
                preread.issue(
                    in_flight,
                    IN_FLIGHT,
                    PageSize::KIB_4,
                    limits,
                    &mut |page| cached.contains(&page.0),
                    &mut out,
                );
                assert!(out.len() - before <= (IN_FLIGHT - in_flight) as usize);
                rounds += 1;
                assert!(rounds < 200, "no progress");
            }
            let missing: BTreeSet<u32> = wanted.difference(&cached).copied().collect();
            for page in &missing {
                let times = out.iter().filter(|run| run.contains(PageNumber(*page)));
                assert_eq!(times.count(), 1, "page {page}");
            }
            for run in &out {
                assert!(missing.contains(&run.first.0) && missing.contains(&run.last().0));
            }
        }
    }

    #[test]
    fn a_sequence_opens_the_window_and_a_jump_closes_it() {
        let mut reader = Sequential::new();
        let mut visit = |page, next| reader.step(PageNumber(page), PageNumber(next), IN_FLIGHT);
        assert_eq!(visit(10, 11), 0);
        assert_eq!(visit(11, 12), 1);
        assert_eq!(visit(12, 40), 2);
        assert_eq!(visit(40, 41), 4);
        assert_eq!(visit(41, 42), 8);
        assert_eq!(visit(42, 43), 8);
        assert_eq!(visit(7, 8), 0);
        assert_eq!(visit(8, 0), 0);
        assert_eq!(visit(0, 1), 0);
    }
}
