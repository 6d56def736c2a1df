//! A latency histogram in little memory.
//!
//! **Precision.** Buckets are at most 1/128 of their value wide, so a percentile is at most 0.8 %
//! too high and never too low. Count, sum (hence mean) and maximum are kept separately and are
//! exact.
//!
//! **Memory.** A simulated group of servers has thousands of histograms, and most of them stay
//! empty. One holds buckets up to the longest span recorded so far, with 32-bit counts: nothing
//! when empty, 12 KB for up to a second, 18 KB for an hour. A count stops at 2^32 - 1, which is a
//! hundred thousand I/Os per second for eleven hours in a single bucket.
//!
//! **Percentile rule.** The p-th percentile is the smallest recorded span such that at least p % of
//! the recorded spans are no longer (nearest rank; no interpolation), rounded up to the end of its
//! bucket but never past the maximum.
//!
//! **Range.** One nanosecond to one hour. A longer span counts in the last bucket; mean and maximum
//! remain exact.

use brunt_units::Span;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

const LONGEST: u64 = Span::seconds(3600).0;
const DIGITS: u8 = 2;

/// A percentile in thousandths: 990 is the 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(u16);

impl Percentile {
    /// The median.
    pub const P50: Self = Self(500);
    /// The 99th percentile.
    pub const P99: Self = Self(990);
    /// The 99.9th percentile.
    pub const P99_9: Self = Self(999);

    /// `count` thousandths, 1 to 1,000.
    ///
    /// # Panics
    /// Outside that range.
    pub const fn per_mille(count: u16) -> Self {
        assert!(count >= 1 && count <= 1000);
        Self(count)
    }

    /// The rank of the percentile, from 1, among `count` spans.
    fn rank(self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.0)).div_ceil(1000);
        u64::try_from(rank).expect("not above count")
    }
}

/// Buckets per octave. The first two octaves have one bucket for each nanosecond.
const IN_OCTAVE: usize = 128;

/// The bucket of `nanos`, as HdrHistogram with two digits numbers them.
#[inline]
fn bucket_of(nanos: u64) -> usize {
    let shift = (u64::BITS - IN_OCTAVE.ilog2() - 1).saturating_sub(nanos.leading_zeros());
    let within = usize::try_from(nanos >> shift).expect("below two octaves");
    shift as usize * IN_OCTAVE + within
}

/// The longest span of a bucket.
fn end_of(bucket: usize) -> u64 {
    let shift = bucket.div_euclid(IN_OCTAVE).saturating_sub(1);
    let next = (bucket - shift * IN_OCTAVE + 1) as u64;
    (next << shift) - 1
}

/// A latency histogram. See the top of this file for precision, range and percentile rule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "PackedLatencies", into = "PackedLatencies")]
pub struct Latencies {
    /// As far as the longest span so far.
    counts: Vec<u32>,
    count: u64,
    sum_nanos: u128,
    max: Span,
}

impl Latencies {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one span. Allocates only for a span longer than all before.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.count_in(bucket_of(span.0.min(LONGEST)), 1);
        self.sum_nanos += u128::from(span.0);
        self.max = self.max.max(span);
    }

    #[inline]
    fn count_in(&mut self, bucket: usize, count: u32) {
        if bucket >= self.counts.len() {
            self.reach(bucket);
        }
        let own = &mut self.counts[bucket];
        *own = own.saturating_add(count);
        self.count += u64::from(count);
    }

    /// Makes room up to the end of the octave of `bucket`.
    #[cold]
    fn reach(&mut self, bucket: usize) {
        let length = (bucket + 1).next_multiple_of(IN_OCTAVE);
        self.counts.reserve_exact(length - self.counts.len());
        self.counts.resize(length, 0);
    }

    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Self) {
        if let Some(last) = other.counts.len().checked_sub(1)
            && self.counts.len() <= last
        {
            self.reach(last);
        }
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*other);
        }
        self.count += other.count;
        self.sum_nanos += other.sum_nanos;
        self.max = self.max.max(other.max);
    }

    /// Adds a foreign histogram of nanoseconds; each value counts as the end of its bucket.
    pub(crate) fn add(&mut self, other: &Histogram<u64>) {
        for step in other.iter_recorded() {
            let (end, count) = (step.value_iterated_to(), step.count_since_last_iteration());
            let end = other.highest_equivalent(end);
            let bucket = bucket_of(end.min(LONGEST));
            self.count_in(bucket, u32::try_from(count).unwrap_or(u32::MAX));
            self.sum_nanos += u128::from(end) * u128::from(count);
            self.max = self.max.max(Span(end));
        }
    }

    /// Sets the exact mean and maximum of spans that were read back from buckets.
    pub fn correct(&mut self, mean: Span, max: Span) {
        self.sum_nanos = u128::from(mean.0) * u128::from(self.count());
        self.max = max;
    }

    /// Clears the histogram but keeps its memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.counts.fill(0);
        }
        self.count = 0;
        self.sum_nanos = 0;
        self.max = Span::ZERO;
    }

    /// Number of recorded spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum, in nanoseconds.
    pub fn sum_nanos(&self) -> u128 {
        self.sum_nanos
    }

    /// The exact mean, rounded to the nearest nanosecond; `None` if nothing was recorded.
    pub fn mean(&self) -> Option<Span> {
        let count = u128::from(self.count());
        let mean = (self.sum_nanos * 2 + count).checked_div(count * 2)?;
        Some(Span(u64::try_from(mean).expect("a mean of 64-bit numbers")))
    }

    /// The exact maximum; `None` if nothing was recorded.
    pub fn max(&self) -> Option<Span> {
        (self.count() > 0).then_some(self.max)
    }

    /// The percentile by the rule at the top of this file; `None` if nothing was recorded.
    pub fn percentile(&self, percentile: Percentile) -> Option<Span> {
        let rank = percentile.rank(self.count());
        let mut below = 0;
        self.buckets().find_map(|(end, count)| {
            below += count;
            (below >= rank).then_some(end)
        })
    }

    /// Spans that are not longer than `limit`, or so little that they are in its bucket. What was
    /// counted once is counted from then on, whatever is recorded after it.
    pub fn count_within(&self, limit: Span) -> u64 {
        let last = bucket_of(limit.0.min(LONGEST));
        let within = self.recorded().take_while(|(bucket, _)| *bucket <= last);
        within.map(|(_, count)| count).sum()
    }

    /// The non-empty buckets, shortest first: the longest span of each (never past the maximum) and
    /// its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let last = bucket_of(LONGEST);
        self.recorded().map(move |(bucket, count)| {
            // Spans beyond the range are in the last bucket.
            let end = match bucket < last {
                true => Span(end_of(bucket)).min(self.max),
                false => self.max,
            };
            (end, count)
        })
    }

    /// The non-empty buckets by number.
    fn recorded(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = self.counts.iter().map(|count| u64::from(*count));
        counts.enumerate().filter(|(_, count)| *count > 0)
    }

    /// Buckets that it has taken memory for.
    pub(crate) fn reached(&self) -> usize {
        self.counts.len()
    }

    /// An HdrHistogram of the whole range, for its own formats.
    pub(crate) fn to_hdr(&self) -> Histogram<u64> {
        let mut whole = Histogram::new_with_max(LONGEST, DIGITS).expect("the bounds are valid");
        for (bucket, count) in self.recorded() {
            let counted = whole.record_n(end_of(bucket).min(LONGEST), count);
            counted.expect("no span is past the range");
        }
        whole
    }
}

/// A histogram that keeps only the buckets that are not empty, each by its distance from the one
/// before: a fifth of the memory. Records keep it that way, and and so do sums of thousands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedLatencies {
    sum_nanos: u128,
    max: Span,
    buckets: Vec<(u32, u32)>,
}

impl PackedLatencies {
    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Latencies) {
        let mut all = self.unpacked();
        all.merge(other);
        *self = Self::from(&all);
    }

    /// The whole histogram. Buckets past the range count in the last one.
    pub fn unpacked(&self) -> Latencies {
        let mut latencies = Latencies::new();
        let last = bucket_of(LONGEST);
        if let Some(reached) = self.reached().checked_sub(1) {
            latencies.reach(reached.min(last));
        }
        let mut next = 0_usize;
        for (distance, count) in &self.buckets {
            let bucket = next.saturating_add(*distance as usize).min(last);
            latencies.count_in(bucket, *count);
            next = bucket + 1;
        }
        (latencies.sum_nanos, latencies.max) = (self.sum_nanos, self.max);
        latencies
    }

    /// Buckets up to the last that is not empty.
    fn reached(&self) -> usize {
        let distances = self.buckets.iter().map(|(distance, _)| *distance as usize + 1);
        distances.fold(0, usize::saturating_add)
    }
}

impl From<&Latencies> for PackedLatencies {
    fn from(latencies: &Latencies) -> Self {
        let counts = || latencies.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut buckets = Vec::with_capacity(counts().count());
        let mut next = 0;
        for (bucket, count) in counts() {
            let distance = u32::try_from(bucket - next).expect("there are fewer buckets");
            buckets.push((distance, *count));
            next = bucket + 1;
        }
        Self { buckets, sum_nanos: latencies.sum_nanos, max: latencies.max }
    }
}

impl From<Latencies> for PackedLatencies {
    fn from(latencies: Latencies) -> Self {
        Self::from(&latencies)
    }
}

impl TryFrom<PackedLatencies> for Latencies {
    type Error = &'static str;

    fn try_from(packed: PackedLatencies) -> Result<Self, Self::Error> {
        let latencies = packed.unpacked();
        let most = u128::from(latencies.count()) * u128::from(u64::MAX);
        let is_sound = packed.reached() <= bucket_of(LONGEST) + 1
            && packed.buckets.iter().all(|(_, count)| *count > 0)
            && packed.sum_nanos <= most
            && (latencies.count() > 0 || packed.max == Span::ZERO);
        match is_sound {
            true => Ok(latencies),
            false => Err("is not a histogram of latencies"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed sequence that covers many magnitudes.
    fn spans(seed: u64, count: usize) -> Vec<Span> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                Span((state >> 33) >> (state >> 59))
            })
            .collect()
    }

    fn histogram(spans: &[Span]) -> Latencies {
        let mut latencies = Latencies::new();
        spans.iter().for_each(|span| latencies.record(*span));
        latencies
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        for (seed, count) in [(1, 1), (2, 2), (3, 3), (4, 99), (5, 100), (6, 101), (7, 5000)] {
            let mut spans = spans(seed, count);
            let latencies = histogram(&spans);
            spans.sort();
            assert_eq!(latencies.count(), count as u64);
            assert_eq!(latencies.max(), spans.last().copied());
            let sum: u64 = spans.iter().map(|span| span.0).sum();
            let mean = sum as f64 / count as f64;
            assert!((latencies.mean().unwrap().0 as f64 - mean).abs() <= 0.5);
            for per_mille in [1, 10, 333, 500, 550, 900, 990, 999, 1000] {
                let exact = spans[(count * per_mille).div_ceil(1000) - 1].0;
                let percentile = Percentile::per_mille(u16::try_from(per_mille).unwrap());
                let read = latencies.percentile(percentile).unwrap().0;
                assert!(read >= exact, "{per_mille} of seed {seed}");
                assert!(read <= exact + exact.div_ceil(128), "{read} for {exact}");
            }
        }
    }

    #[test]
    fn merging_is_recording_both() {
        let (one, two) = (spans(8, 700), spans(9, 300));
        let mut merged = histogram(&one);
        merged.merge(&histogram(&two));
        let both = histogram(&[one, two].concat());
        assert_eq!(merged.mean(), both.mean());
        assert_eq!(merged.max(), both.max());
        assert!(merged.buckets().eq(both.buckets()));
        merged.clear();
        assert_eq!(merged.count(), 0);
        assert_eq!(merged.buckets().count(), 0);
    }

    #[test]
    fn buckets_reach_as_far_as_the_longest_span() {
        let bytes = |latencies: &Latencies| 4 * latencies.counts.capacity();
        let mut short = Latencies::new();
        assert_eq!(bytes(&short), 0);
        short.record(Span::millis(900));
        assert!(bytes(&short) <= 12 << 10);
        let long = histogram(&[Span::seconds(7200), Span::micros(3)]);
        assert!(bytes(&long) <= 19 << 10);
        let mut either = long.clone();
        either.merge(&short);
        short.merge(&long);
        assert!(short.buckets().eq(either.buckets()));
        assert_eq!(short.buckets().count(), 3);
        assert_eq!(short.to_hdr().len(), 3);
    }

    /// Other programs read the log with HdrHistogram's buckets.
    #[test]
    fn buckets_are_those_of_hdr_histogram() {
        let hdr = Histogram::<u64>::new_with_max(LONGEST, DIGITS).unwrap();
        for span in spans(10, 5_000) {
            let nanos = span.0.min(LONGEST);
            assert_eq!(end_of(bucket_of(nanos)), hdr.highest_equivalent(nanos));
        }
        for bucket in 0..=bucket_of(LONGEST) {
            assert_eq!(bucket_of(end_of(bucket)), bucket);
            assert_eq!(bucket_of(end_of(bucket) + 1), bucket + 1);
        }
    }

    #[test]
    fn nothing_has_no_mean() {
        let empty = Latencies::new();
        assert_eq!(empty.mean(), None);
        assert_eq!(empty.max(), None);
        assert_eq!(empty.percentile(Percentile::P50), None);
    }

    #[test]
    fn a_histogram_in_a_record_is_the_same() {
        for latencies in
            [histogram(&spans(11, 900)), histogram(&[Span::seconds(9_000)]), Latencies::new()]
        {
            let text = serde_json::to_string(&latencies).unwrap();
            let read: Latencies = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (read.count(), read.mean(), read.max()),
                (latencies.count(), latencies.mean(), latencies.max())
            );
            assert!(read.buckets().eq(latencies.buckets()));
        }
        for wrong in [
            r#"{"sum_nanos":0,"max":0,"buckets":[[4294967295,1]]}"#,
            r#"{"sum_nanos":0,"max":0,"buckets":[[4000,1],[4294967295,1]]}"#,
            r#"{"sum_nanos":5,"max":0,"buckets":[]}"#,
            r#"{"sum_nanos":0,"max":0,"buckets":[[1,0]]}"#,
        ] {
            assert!(serde_json::from_str::<Latencies>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn packed_histograms_merge_like_whole_ones() {
        let parts = [spans(12, 300), Vec::new(), spans(13, 40), vec![Span::seconds(9_000)]];
        let mut packed = PackedLatencies::default();
        for part in &parts {
            packed.merge(&histogram(part));
        }
        assert_eq!(packed, histogram(&parts.concat()).into());
        assert!(packed.unpacked().buckets().eq(histogram(&parts.concat()).buckets()));
    }

    #[test]
    fn a_hang_of_two_hours_stays_two_hours() {
        let latencies = histogram(&[Span::millis(1), Span::seconds(7200)]);
        assert_eq!(latencies.max(), Some(Span::seconds(7200)));
        assert_eq!(latencies.percentile(Percentile::P99), latencies.max());
        assert_eq!(latencies.mean(), Some(Span(3_600_000_500_000)));
    }
}
