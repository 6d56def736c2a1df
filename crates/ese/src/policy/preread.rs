//! Reading pages ahead.
//!
//! Two sources know what comes next. A *sequential* reader, such as a range scan, reports its
//! position, and the longer it has been reading in order, the further ahead pages are read
//! ([`Sequential`]). *Recovery* knows from the log which pages the coming records change: while one
//! batch of records is replayed, the pages of the next are being read ([`batch`]).
//!
//! Wanted pages are collected, sorted, deduplicated, joined into runs and read in page order
//! ([`Preread`]). The number in flight is limited because other reads may be waiting.
//!
//! Source of the limit: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx
//! (JET_paramPrereadIOMax, 8 in flight) and jetapi.cxx (5 for solid-state disks). The doubling
//! window of sequential readers is ours.

use std::collections::BTreeSet;

use brunt_units::{PageNumber, PageSize};

use super::coalesce::{self, Limits, Run};

/// ESE's limit on prereads in flight.
pub const IN_FLIGHT: u32 = 8;

/// Approximate number of missing pages in one batch of recovery records.
pub const BATCH: usize = 32;

/// Reads in flight per database in *predictions* of a recovery: two batches.
///
/// Fitted: EMC, CX3-20 for 700 users (H2930), 2007, soft recovery. Its two databases show 563 and
/// 558 reads per second of 99 and 77 ms, so 56 and 43 were in flight. The reason is unknown; the
/// public source has [`IN_FLIGHT`], which recoveries on real storage use.
pub const IN_FLIGHT_RECOVERY: u32 = 64;

/// Pages that will be needed soon.
#[derive(Clone, Debug, Default)]
pub struct Preread {
    wanted: Vec<PageNumber>,
    /// Whether `wanted` is sorted and without duplicates.
    sorted: bool,
    runs: Vec<Run>,
}

impl Preread {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `page`; duplicates have no effect.
    pub fn want(&mut self, page: PageNumber) {
        self.sorted = false;
        self.wanted.push(page);
    }

    /// Pages not issued yet, possibly with duplicates.
    pub fn pending(&self) -> usize {
        self.wanted.len()
    }

    /// Drops pages that have not been issued.
    pub fn clear(&mut self) {
        self.wanted.clear();
    }

    /// Appends to `out` the reads to start now, lowest pages first, so that at most `most` are in
    /// flight.
    ///
    /// `in_flight` are in flight already. Drops pages for which `cached` is true.
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

/// A page that a log record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The database's number in the cache, and the page number.
    pub page: (u8, PageNumber),
    /// The record starts the page from zeros, so its old content is not read.
    pub is_fresh: bool,
}

/// Splits `records` into those to replay next and those that come later, and returns the pages the
/// first part must wait for.
///
/// The first part is as short as possible while it lacks [`BATCH`] pages, or all records if there
/// are fewer. Records that lack nothing belong to the part before them. `changes` appends the pages
/// of a record. A page is lacking if it is not fresh, not started by an earlier record, and not in
/// memory.
pub fn batch<R>(
    records: &[R],
    mut changes: impl FnMut(&R, &mut Vec<Changed>),
    is_in_memory: impl Fn((u8, PageNumber)) -> bool,
) -> (&[R], &[R], BTreeSet<(u8, PageNumber)>) {
    let (mut missing, mut begun) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for (at, record) in records.iter().enumerate() {
        changes(record, &mut found);
        found.retain(|Changed { page, is_fresh }| {
            if *is_fresh {
                begun.insert(*page);
            }
            !begun.contains(page) && !is_in_memory(*page)
        });
        let mut lacks = found.drain(..).map(|changed| changed.page);
        if missing.len() < BATCH {
            missing.extend(lacks);
        } else if lacks.any(|page| !missing.contains(&page)) {
            let (former, later) = records.split_at(at);
            return (former, later, missing);
        }
    }
    (records, &[], missing)
}

/// How far to read ahead of a reader that reads in order.
///
/// The first step in order indicates a sequence; from then on the window doubles with each step up
/// to its maximum. A jump closes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequential {
    next: PageNumber,
    window: u32,
}

impl Sequential {
    /// A reader that has not read anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reader is at `page`, whose successor in key order is `next` ([`PageNumber::NONE`] at the
    /// end). Returns how many further pages in key order should be cached or in flight, at most
    /// `most`.
    pub fn step(&mut self, page: PageNumber, next: PageNumber, most: u32) -> u32 {
        let in_order = page.is_some() && page == self.next;
        self.window = if in_order { (2 * self.window).clamp(1, most.max(1)).min(most) } else { 0 };
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

    fn changed(record: &[(u8, PageNumber)], out: &mut Vec<Changed>) {
        let pages = record.iter().copied();
        out.extend(pages.map(|page| Changed { page, is_fresh: false }));
    }

    #[test]
    fn pages_in_memory_and_those_that_a_record_begins_are_not_read() {
        let at = |page, is_fresh| Changed { page: (2, PageNumber(page)), is_fresh };
        let records = [[at(7, true), at(8, false)], [at(7, false), at(9, false)]];
        let changes = |record: &[Changed; 2], out: &mut Vec<_>| out.extend(record);
        let is_in_memory = |(_, page)| page == PageNumber(9);
        let (now, later, missing) = batch(&records, changes, is_in_memory);
        assert_eq!((now.len(), later.len()), (2, 0));
        assert!(missing.into_iter().eq([(2, PageNumber(8))]));
    }

    #[test]
    fn batches_are_all_records_in_order_and_each_but_the_last_lacks_enough() {
        let mut random = Streams::new(21).named("batch");
        for _ in 0..200 {
            let mut draw = |bound| u32::try_from(random.below(bound)).unwrap();
            // A record is the list of pages it changes; none is in memory.
            let records: Vec<Vec<_>> = (0..draw(200))
                .map(|_| (0..draw(4)).map(|_| (1, PageNumber(draw(90)))).collect())
                .collect();
            let mut rest = records.as_slice();
            let mut seen = Vec::new();
            while !rest.is_empty() {
                let (now, later, missing) =
                    batch(rest, |record: &Vec<_>, out: &mut _| changed(record, out), |_| false);
                let all: BTreeSet<_> = now.iter().flatten().copied().collect();
                assert_eq!(all, missing);
                assert!(!now.is_empty());
                if let Some(next) = later.first() {
                    assert!(missing.len() >= BATCH && missing.len() < BATCH + 4);
                    assert!(next.iter().any(|page| !missing.contains(page)));
                }
                seen.extend_from_slice(now);
                rest = later;
            }
            assert_eq!(seen, records);
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
