//! The read cache of a hard disk: segments of consecutive sectors, one of which is still growing.
//!
//! After a read the disk reads ahead from where it ended. Its progress follows from the time, so no
//! events are needed.

use std::ops::Range;

use brunt_units::{Span, Time};

use crate::Extent;

/// Read-ahead: `from` passed the head at `at`, and sectors follow every `pace` nanoseconds up to
/// `limit`.
#[derive(Clone, Copy, Debug)]
struct Growing {
    start: u64,
    from: u64,
    at: Time,
    pace: f64,
    /// The inverse of the pace: look-ups are more frequent than changes.
    per_ns: f64,
    limit: u64,
}

impl Growing {
    /// The first sector that has not passed the head at `time`.
    fn reached(&self, time: Time) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "positive, and cut to the limit")]
        let passed = ((time - self.at).0 as f64 * self.per_ns) as u64;
        self.from.saturating_add(passed).min(self.limit)
    }

    /// When `sector` has passed the head.
    fn passes(&self, sector: u64) -> Time {
        let ahead = sector.saturating_sub(self.from) as f64 * self.pace;
        self.at + Span::from_seconds(ahead / 1e9)
    }
}

/// How much of a read is in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it, in a complete segment.
    There,
    /// Read-ahead is passing through it; its end passes, or has passed, the head at this time.
    Passing(Time),
    /// Its beginning; this end of it is missing.
    Beginning(Extent),
    /// Nothing usable.
    Nothing,
}

/// How many segments touch each block, with block numbers folded into 256 classes; a block is at
/// least as long as a segment.
///
/// Nearly every random read misses, so the sixteen segments are searched only when this filter says
/// that one may match. No segment is longer than a block, so it touches at most two.
struct Touched {
    counts: Box<[u32; 256]>,
    block_bits: u32,
}

impl Touched {
    fn new(segment_sectors: u64) -> Self {
        Self {
            counts: Box::new([0; 256]),
            block_bits: segment_sectors.next_power_of_two().trailing_zeros(),
        }
    }

    fn class(&self, sector: u64) -> usize {
        usize::try_from((sector >> self.block_bits) % 256).expect("below 256")
    }

    /// The classes of the first and the last sector; equal when they are in one block.
    fn classes(&self, segment: Extent) -> [usize; 2] {
        [segment.start, segment.end() - 1].map(|sector| self.class(sector))
    }

    fn add(&mut self, segment: Extent) {
        if segment.length > 0 {
            for class in self.classes(segment) {
                self.counts[class] += 1;
            }
        }
    }

    fn remove(&mut self, segment: Extent) {
        if segment.length > 0 {
            for class in self.classes(segment) {
                self.counts[class] -= 1;
            }
        }
    }

    /// Whether a segment may contain `sector`.
    fn may_have(&self, sector: u64) -> bool {
        self.counts[self.class(sector)] > 0
    }

    /// Whether a segment may overlap `extent`.
    fn may_touch(&self, extent: Extent) -> bool {
        let is_long = extent.length >> self.block_bits > 0;
        let [first, last] = self.classes(extent);
        is_long || self.counts[first] > 0 || self.counts[last] > 0
    }
}

/// All segments, including the growing one.
pub(super) struct TrackCache {
    segments: Vec<Extent>,
    touched: Touched,
    oldest: usize,
    count: usize,
    segment_sectors: u64,
    growing: Option<Growing>,
    /// The first sector after the last request.
    last: u64,
}

impl TrackCache {
    pub(super) fn new(segments: u32, segment_sectors: u32) -> Self {
        Self {
            segments: Vec::new(),
            touched: Touched::new(u64::from(segment_sectors)),
            oldest: 0,
            count: segments as usize,
            segment_sectors: u64::from(segment_sectors),
            growing: None,
            last: 0,
        }
    }

    /// The first sector after the last request.
    pub(super) fn last_sector(&self) -> u64 {
        self.last
    }

    /// The sectors read ahead so far, including the one being read; empty when read-ahead has
    /// stopped.
    pub(super) fn passing(&self, now: Time) -> Range<u64> {
        self.growing.map_or(0..0, |growing| growing.start..growing.reached(now).saturating_add(1))
    }

    /// Looks up `extent` at `time`.
    pub(super) fn read(&mut self, time: Time, extent: Extent) -> Found {
        if self.count == 0 {
            return Found::Nothing;
        }
        if let Some(growing) = self.growing.as_mut() {
            let reached = growing.reached(time);
            if extent.start >= growing.start && extent.start <= reached {
                self.last = extent.end();
                let is_running = reached < growing.limit;
                if is_running {
                    growing.limit = growing.limit.max(extent.end() + self.segment_sectors);
                }
                if is_running || extent.end() <= reached {
                    return Found::Passing(growing.passes(extent.end()));
                }
                // Read-ahead has stopped. The rest must be read from the medium.
                return Found::Beginning(Extent::new(reached, extent.end() - reached));
            }
        }
        let holds =
            |segment: &Extent| segment.start <= extent.start && extent.end() <= segment.end();
        if self.touched.may_have(extent.start) && self.segments.iter().any(holds) {
            return Found::There;
        }
        self.stop(time);
        Found::Nothing
    }

    /// Starts read-ahead after a read of `extent` from the medium that ended at `time`.
    pub(super) fn read_on(&mut self, extent: Extent, time: Time, pace: f64) {
        self.last = extent.end();
        let start = match self.growing.take() {
            Some(before) if before.limit == extent.start => before.start,
            _ => extent.start,
        };
        if self.count > 0 {
            self.growing = Some(Growing {
                start,
                from: extent.end(),
                at: time,
                pace,
                per_ns: 1.0 / pace,
                limit: extent.end() + self.segment_sectors,
            });
        }
    }

    /// Updates the read-ahead: it passed `sector` at `time` and continues at `pace`, which changes
    /// with the zone.
    pub(super) fn keep_pace(&mut self, sector: u64, time: Time, pace: f64) {
        let most = self.segment_sectors;
        if let Some(growing) = self.growing.as_mut() {
            growing.start = growing.start.max(sector.saturating_sub(most));
            if growing.pace != pace {
                (growing.from, growing.at) = (sector, time);
                (growing.pace, growing.per_ns) = (pace, 1.0 / pace);
            }
        }
    }

    /// Stops read-ahead for a write of `extent` at `time` and drops the segments it overlaps.
    pub(super) fn write(&mut self, time: Time, extent: Extent) {
        self.stop(time);
        self.last = extent.end();
        if !self.touched.may_touch(extent) {
            return;
        }
        for segment in &mut self.segments {
            if segment.overlap(extent).is_some() {
                self.touched.remove(*segment);
                *segment = Extent::default();
            }
        }
    }

    /// Stops read-ahead and keeps what was read.
    fn stop(&mut self, time: Time) {
        let Some(growing) = self.growing.take() else {
            return;
        };
        let end = growing.reached(time);
        let start = growing.start.max(end.saturating_sub(self.segment_sectors));
        let segment = Extent::new(start, end - start);
        self.touched.add(segment);
        if self.segments.len() < self.count {
            self.segments.push(segment);
        } else {
            self.touched.remove(self.segments[self.oldest]);
            self.segments[self.oldest] = segment;
            self.oldest = (self.oldest + 1) % self.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sectors 100 to 108 were read at time 1,000; the next ones take ten nanoseconds each.
    fn reading_on() -> TrackCache {
        let mut cache = TrackCache::new(2, 20);
        cache.read_on(Extent::new(100, 8), Time(1000), 10.0);
        cache
    }

    #[test]
    fn a_stream_waits_for_the_medium() {
        let mut cache = reading_on();
        assert_eq!(cache.read(Time(1010), Extent::new(108, 8)), Found::Passing(Time(1080)));
        assert_eq!(cache.read(Time(1100), Extent::new(116, 8)), Found::Passing(Time(1160)));
        assert!(cache.passing(Time(1100)).contains(&117));
        assert!(!cache.passing(Time(1100)).contains(&130));
    }

    #[test]
    fn what_has_passed_is_there_and_the_rest_is_not() {
        let mut cache = reading_on();
        // Much later, the segment is full up to 128 and read-ahead has stopped.
        assert_eq!(cache.read(Time(9000), Extent::new(120, 8)), Found::Passing(Time(1200)));
        let mut cache = reading_on();
        assert_eq!(
            cache.read(Time(9000), Extent::new(120, 16)),
            Found::Beginning(Extent::new(128, 8))
        );
    }

    #[test]
    fn jumping_away_keeps_the_segment_and_writing_spoils_it() {
        let mut cache = reading_on();
        assert_eq!(cache.read(Time(1050), Extent::new(5000, 8)), Found::Nothing);
        cache.read_on(Extent::new(5000, 8), Time(2000), 10.0);
        assert_eq!(cache.read(Time(2500), Extent::new(100, 13)), Found::There);
        assert_eq!(cache.read(Time(2500), Extent::new(100, 14)), Found::Nothing);
        cache.write(Time(2600), Extent::new(104, 1));
        assert_eq!(cache.read(Time(2700), Extent::new(100, 4)), Found::Nothing);
    }

    #[test]
    fn what_may_be_there_agrees_with_looking_through_all() {
        let mut stream = brunt_world::random::Streams::new(5).named("segments");
        let mut cache = TrackCache::new(4, 20);
        let mut hits = 0;
        for step in 0..50_000_u64 {
            let now = Time(step * 1000);
            let extent = Extent::new(stream.below(6000), 1 + stream.below(60));
            if stream.percent(20) {
                cache.write(now, extent);
                let is_left = cache.segments.iter().any(|one| one.overlap(extent).is_some());
                assert!(!is_left, "{extent:?}");
                continue;
            }
            cache.stop(now);
            let holds = |one: &Extent| one.start <= extent.start && extent.end() <= one.end();
            let expected = cache.segments.iter().any(holds);
            assert_eq!(cache.read(now, extent) == Found::There, expected);
            hits += u32::from(expected);
            cache.read_on(extent, now, 10.0);
        }
        assert!(hits > 20, "{hits}");
    }
}
