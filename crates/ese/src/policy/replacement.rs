//! Which cached page is the coldest: LRU-K with K = 2, the way ESE measures it.
//!
//! References within the *correlation* interval after the first of them form a run, and a run
//! counts once: if one operation finds, reads and changes a page, that is one use. Pages are
//! replaced in the order of their *rank*:
//!
//! ```text
//!   one run:         rank = start of that run
//!   several runs:    rank = end of the second-to-last run + timeout
//!
//!          run        run            run
//!     -----|==|-------|=|------------|===|-----> time
//!                       ^ + timeout = rank; the newest run counts only as the end of the one before it
//! ```
//!
//! So a second use protects a page for `timeout` longer than a page used once. A scan of pages used
//! once cannot evict the working set, unless the working set has been idle for that long. Evicted
//! pages are remembered for a while ([`LruK::history`]), so that a page that returns within
//! `timeout` of its rank counts as used twice.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/resmgr.hxx (touching,
//! history, index by the K-th touch); O'Neil, O'Neil, Weikum, "The LRU-K page replacement
//! algorithm", SIGMOD 1993, for the idea. ESE's index is approximate; ours is exact, with ties
//! broken by frame number.
//!
//! A rank only grows while its page stays, so [`Replacement::touch`] changes one [`Stamp`] and
//! leaves the order alone; [`Replacement::coldest`] corrects the entries it visits (see
//! `frame_order`). The stamps are where the cache keeps the rest of each frame: an access to a page
//! then touches one line of memory.

use brunt_units::{Span, Time};

use super::frame_order::{FrameOrder, NOWHERE};
use super::history::{History, Past};

/// Rank of a frame that holds no page.
const VACANT: Time = Time(NOWHERE);

/// The parameters of LRU-K. Defaults: dev/ese/src/ese/sysparamtable.g.cxx of
/// microsoft/Extensible-Storage-Engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LruK {
    /// References up to this long after the first of a run belong to the run. ESE: 128 ms.
    pub correlation: Span,
    /// How much rank a second run adds, and how long after its rank an evicted page is remembered.
    /// ESE: 100 s.
    pub timeout: Span,
    /// How many evicted pages are remembered. ESE: 100,000.
    pub history: u32,
}

impl Default for LruK {
    fn default() -> Self {
        Self { correlation: Span::millis(128), timeout: Span::seconds(100), history: 100_000 }
    }
}

/// The references of one frame's page.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Start of the latest run.
    first: Time,
    /// Latest reference of that run.
    last: Time,
    rank: Time,
}

/// The replacement order of a cache; see the [module](self).
///
/// Times passed to it never decrease; a touch at the time of the previous one changes nothing.
#[derive(Debug)]
pub struct Replacement {
    parameters: LruK,
    /// The frames, filed under a current or former rank.
    order: FrameOrder,
    history: History,
}

impl Replacement {
    /// The order of a cache of `frames` frames, all vacant.
    pub fn new(frames: u32, parameters: LruK) -> Self {
        Self {
            parameters,
            order: FrameOrder::new(frames),
            history: History::new(parameters.history),
        }
    }

    /// The page `key` enters the vacant `frame`, whose stamp is given. This counts as a reference.
    ///
    /// Keys are permanent: a page has the same key each time it is admitted.
    ///
    /// # Panics
    /// When the frame is occupied.
    pub fn admit(&mut self, frame: u32, stamp: &mut Stamp, key: u64, now: Time) {
        assert!(stamp.rank == VACANT, "frame {frame} is occupied");
        let known = self.history.take(key);
        let known = known.filter(|past| past.rank + self.parameters.timeout >= now);
        let Past { first, rank } = known.unwrap_or(Past { first: now, rank: now });
        *stamp = Stamp { first, last: first, rank };
        stamp.touch(self.parameters, now);
        self.order.file(frame, stamp.rank.0);
    }

    /// The page of a frame is referenced.
    ///
    /// # Panics
    /// When the frame is vacant.
    pub fn touch(&self, stamp: &mut Stamp, now: Time) {
        assert!(stamp.rank != VACANT, "the frame is vacant");
        stamp.touch(self.parameters, now);
    }

    /// The page of a frame will be referenced soon: rank it as if used twice, so that it is not
    /// evicted first.
    ///
    /// # Panics
    /// When the frame is vacant.
    pub fn promise(&self, stamp: &mut Stamp, now: Time) {
        assert!(stamp.rank != VACANT, "the frame is vacant");
        stamp.rank = stamp.rank.max(now + self.parameters.timeout);
    }

    /// The page `key` of a frame is evicted and remembered.
    ///
    /// # Panics
    /// When the frame is vacant.
    pub fn evict(&mut self, stamp: &mut Stamp, key: u64) {
        assert!(stamp.rank != VACANT, "the frame is vacant");
        let past = Past { first: stamp.first, rank: std::mem::replace(&mut stamp.rank, VACANT) };
        self.history.remember(key, past);
    }

    /// The page `key` will be admitted or evicted soon.
    pub fn anticipate(&self, key: u64) {
        self.history.anticipate(key);
    }

    /// Appends to `out` up to `want` occupied frames for which `eligible` is true, coldest first.
    ///
    /// `stamp_of` has the stamps of all frames. Frames are not removed from the order: those
    /// returned stay until [`Self::evict`], and those refused are checked again next time.
    pub fn coldest(
        &mut self,
        want: usize,
        stamp_of: impl Fn(u32) -> Stamp,
        eligible: &mut dyn FnMut(u32) -> bool,
        out: &mut Vec<u32>,
    ) {
        let end = out.len().saturating_add(want);
        if want == 0 {
            return;
        }
        self.order.walk(
            |frame| stamp_of(frame).rank.0,
            |frame, _| {
                if eligible(frame) {
                    out.push(frame);
                }
                out.len() < end
            },
        );
    }
}

impl Stamp {
    /// The stamp of a vacant frame.
    pub const VACANT: Self = Self { first: Time::ZERO, last: Time::ZERO, rank: VACANT };

    fn touch(&mut self, parameters: LruK, now: Time) {
        if now <= self.last {
            return;
        }
        if now.since(self.first) > parameters.correlation {
            self.rank = self.last + parameters.timeout;
            self.first = now;
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::{Stream, Streams};

    use super::*;

    /// Frames with nothing but their stamps.
    struct Frames {
        replacement: Replacement,
        frames: Vec<(u64, Stamp)>,
    }

    impl Frames {
        fn new(frames: u32, parameters: LruK) -> Self {
            Self {
                replacement: Replacement::new(frames, parameters),
                frames: vec![(0, Stamp::VACANT); frames as usize],
            }
        }

        fn admit(&mut self, frame: u32, key: u64, now: Time) {
            let (held, stamp) = &mut self.frames[frame as usize];
            *held = key;
            self.replacement.admit(frame, stamp, key, now);
        }

        fn touch(&mut self, frame: u32, now: Time) {
            self.replacement.touch(&mut self.frames[frame as usize].1, now);
        }

        fn promise(&mut self, frame: u32, now: Time) {
            self.replacement.promise(&mut self.frames[frame as usize].1, now);
        }

        fn evict(&mut self, frame: u32) {
            let (key, stamp) = &mut self.frames[frame as usize];
            self.replacement.evict(stamp, *key);
        }

        fn coldest(
            &mut self,
            want: usize,
            eligible: &mut dyn FnMut(u32) -> bool,
            out: &mut Vec<u32>,
        ) {
            let stamp_of = |frame: u32| self.frames[frame as usize].1;
            self.replacement.coldest(want, stamp_of, eligible, out);
        }
    }

    /// Keeps every run of every page and sorts on each request.
    struct Oracle {
        parameters: LruK,
        resident: BTreeMap<u32, (u64, Vec<(Time, Time)>)>,
        evicted: Vec<(u64, Vec<(Time, Time)>)>,
    }

    impl Oracle {
        fn rank(&self, runs: &[(Time, Time)]) -> Time {
            match runs {
                [] => unreachable!("a page has at least one run"),
                [only] => only.0,
                [.., last_but_one, _] => last_but_one.1 + self.parameters.timeout,
            }
        }

        fn touch(&mut self, frame: u32, now: Time) {
            let runs = &mut self.resident.get_mut(&frame).unwrap().1;
            let last = runs.last_mut().unwrap();
            if now.since(last.0) <= self.parameters.correlation {
                last.1 = last.1.max(now);
            } else {
                runs.push((now, now));
            }
        }

        fn admit(&mut self, frame: u32, key: u64, now: Time) {
            let at = self.evicted.iter().position(|(known, _)| *known == key);
            let runs = at.map(|at| self.evicted.remove(at).1);
            let valid = |runs: &Vec<_>| self.rank(runs) + self.parameters.timeout >= now;
            let runs = runs.filter(valid).unwrap_or(vec![(now, now)]);
            self.resident.insert(frame, (key, runs));
            self.touch(frame, now);
        }

        fn evict(&mut self, frame: u32) {
            let (key, mut runs) = self.resident.remove(&frame).unwrap();
            // Only the start of the last run is remembered.
            let last = runs.last_mut().unwrap();
            last.1 = last.0;
            self.evicted.push((key, runs));
            let excess = self.evicted.len();
            let excess = excess.saturating_sub(self.parameters.history as usize);
            self.evicted.drain(..excess);
        }

        fn coldest(&self, want: usize, eligible: impl Fn(u32) -> bool) -> Vec<u32> {
            let ranked = self.resident.iter().filter(|(frame, _)| eligible(**frame));
            let mut ranked: Vec<_> = ranked.map(|(f, (_, runs))| (self.rank(runs), *f)).collect();
            ranked.sort_unstable();
            ranked.into_iter().map(|(_, frame)| frame).take(want).collect()
        }
    }

    fn pick(random: &mut Stream, bound: u32) -> u32 {
        u32::try_from(random.below(u64::from(bound))).unwrap()
    }

    fn agree(seed: u64, frames: u32, pages: u64, parameters: LruK) {
        let mut random = Streams::new(seed).named("replacement");
        let mut fast = Frames::new(frames, parameters);
        let mut slow = Oracle { parameters, resident: BTreeMap::new(), evicted: Vec::new() };
        let mut now = Time(1);
        for _ in 0..6_000 {
            let longest = if random.percent(5) { 400 } else { 9 };
            now += Span::millis(random.below(longest));
            let hottest = random.below(pages);
            let key = random.below(1 + hottest);
            let home = slow.resident.iter().find(|(_, (held, _))| *held == key);
            if let Some(frame) = home.map(|(frame, _)| *frame) {
                fast.touch(frame, now);
                slow.touch(frame, now);
                continue;
            }
            let pinned = pick(&mut random, frames);
            let want = if random.percent(10) { frames } else { 2 } as usize;
            let mut out = Vec::new();
            fast.coldest(want, &mut |frame| frame != pinned, &mut out);
            assert_eq!(out, slow.coldest(want, |frame| frame != pinned));
            if slow.resident.len() == frames as usize {
                // Usually evict the coldest, sometimes a random page.
                let any = random.percent(20) || out.is_empty();
                let victim = if any { pick(&mut random, frames) } else { out[0] };
                fast.evict(victim);
                slow.evict(victim);
            }
            let free = (0..frames).find(|frame| !slow.resident.contains_key(frame));
            let free = free.unwrap();
            fast.admit(free, key, now);
            slow.admit(free, key, now);
        }
    }

    #[test]
    fn agrees_with_an_oracle_that_keeps_everything() {
        let mut seed = 0;
        for (frames, correlation, timeout) in [(1, 0, 50), (5, 20, 400), (24, 128, 5_000)] {
            for history in [0, 3, 40] {
                let parameters = LruK {
                    correlation: Span::millis(correlation),
                    timeout: Span::millis(timeout),
                    history,
                };
                seed += 1;
                agree(seed, frames, 60, parameters);
            }
        }
    }

    fn second(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    #[test]
    fn what_was_read_ahead_stays_until_it_is_used() {
        let mut cache = Frames::new(4, LruK::default());
        for frame in 0..3 {
            cache.admit(frame, u64::from(frame), second(1));
            cache.touch(frame, second(2));
        }
        cache.admit(3, 3, second(3));
        let mut out = Vec::new();
        cache.coldest(1, &mut |_| true, &mut out);
        assert_eq!(out, [3], "it was used once");
        cache.promise(3, second(3));
        out.clear();
        cache.coldest(4, &mut |_| true, &mut out);
        assert_eq!(out, [0, 1, 2, 3]);
        // Its second use does not count.
        cache.touch(3, second(4));
        cache.touch(2, second(5));
        out.clear();
        cache.coldest(4, &mut |_| true, &mut out);
        assert_eq!(out, [0, 1, 2, 3]);
    }

    #[test]
    fn a_scan_does_not_push_out_what_is_used_twice() {
        let mut cache = Frames::new(100, LruK::default());
        for frame in 0..50 {
            cache.admit(frame, u64::from(frame), second(1));
            cache.touch(frame, second(2));
        }
        for frame in 50..100 {
            cache.admit(frame, u64::from(frame), second(3));
        }
        let mut out = Vec::new();
        cache.coldest(50, &mut |_| true, &mut out);
        assert_eq!(out, (50..100).collect::<Vec<_>>());
    }

    #[test]
    fn references_of_one_operation_count_once() {
        let mut cache = Frames::new(2, LruK::default());
        let at = |millis: u64| Time::ZERO + Span::millis(millis);
        cache.admit(0, 10, at(1_000));
        (1..=127).for_each(|later| cache.touch(0, at(1_000 + later)));
        cache.admit(1, 11, at(1_128));
        let mut out = Vec::new();
        cache.coldest(2, &mut |_| true, &mut out);
        assert_eq!(out, [0, 1]);
        // One millisecond past the interval counts as a second use.
        cache.touch(0, at(1_129));
        out.clear();
        cache.coldest(2, &mut |_| true, &mut out);
        assert_eq!(out, [1, 0]);
    }

    #[test]
    fn a_page_that_comes_back_soon_counts_as_used_twice() {
        for (back, order) in [(50, [1, 0]), (150, [0, 1])] {
            let mut cache = Frames::new(2, LruK::default());
            cache.admit(0, 10, second(1));
            cache.evict(0);
            cache.admit(0, 10, second(back));
            cache.admit(1, 11, second(back + 1));
            let mut out = Vec::new();
            cache.coldest(2, &mut |_| true, &mut out);
            assert_eq!(out, order, "back after {back} s");
        }
    }
}
