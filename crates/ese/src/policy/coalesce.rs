//! Which pages share an I/O: runs of pages that make one read or one write.
//!
//! One large request costs a disk little more than a small one, so neighbours are joined, also
//! across *gaps*. A write may include clean pages between two dirty ones if they are cached (their
//! content must come from somewhere), and a read may fetch unwanted pages and drop them.
//!
//! ```text
//!   candidates   D c c D . . D D c            D dirty, c cached and clean, . not cached
//!   runs         |-----|     |-|              a run begins and ends with a dirty page, and has no hole
//! ```
//!
//! Both functions work from left to right and make each run as long as the limits allow, which
//! gives the fewest runs. A run never begins or ends with gap pages.
//!
//! Source of the limits: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/daeconst.hxx and
//! sysparamtable.g.cxx (JET_paramMaxCoalesce...: all four 512 KiB) and dev/ese/src/ese/jetapi.cxx
//! (profile for solid-state disks: reads and writes of 256 KiB, no gap writes).

use brunt_units::{PageNumber, PageSize};

/// Limits on the size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes in a run; a run of one page is always allowed.
    pub max_bytes: u64,
    /// Maximum bytes in a gap; with zero, only adjacent pages are joined.
    pub max_gap_bytes: u64,
}

impl Limits {
    /// Reads and writes of rotating disks.
    pub const DISK: Self = Self { max_bytes: 512 << 10, max_gap_bytes: 512 << 10 };
    /// Reads of solid-state disks.
    pub const SSD_READ: Self = Self { max_bytes: 256 << 10, max_gap_bytes: 512 << 10 };
    /// Writes of solid-state disks, where rewriting clean pages only causes wear.
    pub const SSD_WRITE: Self = Self { max_bytes: 256 << 10, max_gap_bytes: 0 };

    /// Whether a run may reach from `first` to `last` across the gap after `previous`.
    fn allow(
        self,
        size: PageSize,
        first: PageNumber,
        previous: PageNumber,
        last: PageNumber,
    ) -> bool {
        let bytes = |pages: u32| u64::from(pages) * size.bytes_u64();
        bytes(last.0 - first.0) + size.bytes_u64() <= self.max_bytes
            && bytes(last.0 - previous.0 - 1) <= self.max_gap_bytes
    }
}

/// A cached page that a write could include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub page: PageNumber,
    /// Whether it needs writing; a clean one only fills a gap.
    pub dirty: bool,
}

/// `count` adjacent pages, at least one, from `first` upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The lowest page.
    pub first: PageNumber,
    /// Number of pages.
    pub count: u32,
}

impl Run {
    fn between(first: PageNumber, last: PageNumber) -> Self {
        Self { first, count: last.0 - first.0 + 1 }
    }

    /// The highest page.
    pub fn last(self) -> PageNumber {
        PageNumber(self.first.0 + (self.count - 1))
    }

    /// Bytes in the run.
    pub fn bytes(self, size: PageSize) -> u64 {
        u64::from(self.count) * size.bytes_u64()
    }

    /// Whether the run contains `page`.
    pub fn contains(self, page: PageNumber) -> bool {
        (self.first..=self.last()).contains(&page)
    }

    /// The pages, lowest first.
    pub fn pages(self) -> impl Iterator<Item = PageNumber> {
        (self.first.0..=self.last().0).map(PageNumber)
    }
}

/// Appends to `out` the runs that write every dirty page of `pages` once.
///
/// `pages` are cached pages of one file in ascending order, without duplicates: the neighbourhood
/// of a page to write.
///
/// # Panics
/// When `pages` are out of order.
pub fn runs(pages: &[Candidate], size: PageSize, limits: Limits, out: &mut Vec<Run>) {
    let mut open: Option<Run> = None;
    // The highest page that the open run can reach over cached pages.
    let mut reach = PageNumber::NONE;
    for candidate in pages {
        let page = candidate.page;
        assert!(page > reach, "candidates out of order at page {page}");
        if page.0 != reach.0 + 1 {
            out.extend(open.take());
        }
        reach = page;
        if candidate.dirty {
            open = Some(extend(open, page, size, limits, out));
        }
    }
    out.extend(open);
}

/// Appends to `out` the runs that read every page of `wanted`, which is in ascending order, each
/// page once.
///
/// Pages in gaps are read as well. The caller drops them, and those already cached.
///
/// # Panics
/// When `wanted` is out of order.
pub fn reads(wanted: &[PageNumber], size: PageSize, limits: Limits, out: &mut Vec<Run>) {
    let mut open: Option<Run> = None;
    for page in wanted {
        open = Some(extend(open, *page, size, limits, out));
    }
    out.extend(open);
}

/// The open run extended by `page`, or a new run after appending the old one to `out`.
fn extend(
    open: Option<Run>,
    page: PageNumber,
    size: PageSize,
    limits: Limits,
    out: &mut Vec<Run>,
) -> Run {
    let Some(run) = open else {
        return Run::between(page, page);
    };
    assert!(page > run.last(), "pages out of order at page {page}");
    if limits.allow(size, run.first, run.last(), page) {
        return Run::between(run.first, page);
    }
    out.push(run);
    Run::between(page, page)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::{Stream, Streams};

    use super::*;

    const SIZE: PageSize = PageSize::KIB_32;

    fn limits(pages: u64, gap: u64) -> Limits {
        Limits { max_bytes: pages * SIZE.bytes_u64(), max_gap_bytes: gap * SIZE.bytes_u64() }
    }

    /// Whether one run may cover wanted pages `from..=to` of the list, applying the rules
    /// literally.
    fn legal(wanted: &[u32], from: usize, to: usize, cached: &[u32], limits: Limits) -> bool {
        let bytes = |pages: u32| u64::from(pages) * SIZE.bytes_u64();
        let whole = wanted[from]..=wanted[to];
        let gaps = wanted[from..=to].windows(2).map(|pair| pair[1] - pair[0]);
        bytes(wanted[to] - wanted[from] + 1) <= limits.max_bytes.max(SIZE.bytes_u64())
            && gaps.into_iter().all(|step| bytes(step - 1) <= limits.max_gap_bytes)
            && whole.into_iter().all(|page| cached.contains(&page))
    }

    /// The smallest number of legal runs, by dynamic programming from the right.
    fn fewest(wanted: &[u32], cached: &[u32], limits: Limits) -> usize {
        let mut best = vec![0_usize; wanted.len() + 1];
        for from in (0..wanted.len()).rev() {
            let ends = (from..wanted.len()).filter(|to| legal(wanted, from, *to, cached, limits));
            best[from] = ends.map(|to| 1 + best[to + 1]).min().unwrap();
        }
        best[0]
    }

    fn check(wanted: &[u32], cached: &[u32], limits: Limits, out: &[Run]) {
        assert_eq!(out.len(), fewest(wanted, cached, limits), "{wanted:?}");
        let mut covered = 0;
        for run in out {
            let from = wanted.iter().position(|page| *page == run.first.0).unwrap();
            let to = wanted.iter().position(|page| *page == run.last().0).unwrap();
            assert_eq!(from, covered, "each wanted page once, in order");
            assert!(legal(wanted, from, to, cached, limits), "{run:?}");
            covered = to + 1;
        }
        assert_eq!(covered, wanted.len());
    }

    fn neighbourhood(random: &mut Stream) -> BTreeMap<u32, bool> {
        let density = 20 + 20 * random.below(5);
        (1..40)
            .filter_map(|page| {
                let cached = random.below(100) < density;
                cached.then(|| (page, random.percent(50)))
            })
            .collect()
    }

    #[test]
    fn writes_are_legal_and_fewest() {
        let mut random = Streams::new(9).named("writes");
        for _ in 0..3_000 {
            let cached = neighbourhood(&mut random);
            let limits = limits(1 + random.below(8), random.below(5));
            let mut out = Vec::new();
            let pages: Vec<_> = cached
                .iter()
                .map(|(page, dirty)| Candidate { page: PageNumber(*page), dirty: *dirty })
                .collect();
            runs(&pages, SIZE, limits, &mut out);
            let dirty: Vec<_> = cached.iter().filter(|(_, d)| **d).map(|(p, _)| *p).collect();
            let cached: Vec<_> = cached.into_keys().collect();
            check(&dirty, &cached, limits, &out);
        }
    }

    #[test]
    fn reads_are_legal_and_fewest() {
        let mut random = Streams::new(10).named("reads");
        let everything: Vec<_> = (0..50).collect();
        for _ in 0..3_000 {
            let wanted: Vec<_> = neighbourhood(&mut random).into_keys().collect();
            let limits = limits(1 + random.below(8), random.below(5));
            let pages: Vec<_> = wanted.iter().copied().map(PageNumber).collect();
            let mut out = Vec::new();
            reads(&pages, SIZE, limits, &mut out);
            check(&wanted, &everything, limits, &out);
        }
    }

    #[test]
    fn solid_state_disks_get_no_gap_writes() {
        let page = |page, dirty| Candidate { page: PageNumber(page), dirty };
        let pages = [page(5, true), page(6, false), page(7, true), page(8, true), page(9, false)];
        let run = |first, count| Run { first: PageNumber(first), count };
        let mut out = Vec::new();
        runs(&pages, SIZE, Limits::SSD_WRITE, &mut out);
        assert_eq!(out, [run(5, 1), run(7, 2)]);
        out.clear();
        runs(&pages, SIZE, Limits::DISK, &mut out);
        assert_eq!(out, [run(5, 4)]);
    }
}
