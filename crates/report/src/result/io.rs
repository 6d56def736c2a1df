//! I/O numbers: by file, by instance, over time, and by latency.

use brunt_run::Value;
use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::streams::{self, CACHE, DATABASE_READ, DATABASE_WRITE, LOG_WRITE, PAGE_FAULT_STALLS};

/// One stream of I/O over the collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoNumbers {
    /// Number of I/Os.
    pub count: u64,
    /// I/Os per second.
    pub per_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// Mean latency from submission to completion. This and the next three are `None` without I/O.
    pub latency_ms_mean: Option<f64>,
    /// Median.
    pub latency_ms_p50: Option<f64>,
    /// 99th percentile.
    pub latency_ms_p99: Option<f64>,
    /// Longest.
    pub latency_ms_max: Option<f64>,
}

impl IoNumbers {
    /// The numbers of `reading` over a collection of `length`.
    pub fn new(reading: &Reading, length: Span) -> Self {
        let millis = |span: Option<Span>| span.map(Span::as_millis);
        Self {
            count: reading.count,
            per_s: rate(reading.count, length),
            bytes: reading.bytes,
            latency_ms_mean: millis(reading.mean),
            latency_ms_p50: millis(reading.p50),
            latency_ms_p99: millis(reading.p99),
            latency_ms_max: millis(reading.max),
        }
    }

    /// Mean bytes of an I/O; `None` without I/O.
    pub fn bytes_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.bytes as f64 / self.count as f64)
    }

    /// Combines several streams. Counts, bytes, mean and maximum are exact. Percentiles are left
    /// out: those of a sum do not follow from those of its parts.
    pub fn together<'a>(streams: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut millis = 0.0;
        for stream in streams {
            all.count += stream.count;
            all.per_s += stream.per_s;
            all.bytes += stream.bytes;
            millis += stream.count as f64 * stream.latency_ms_mean.unwrap_or(0.0);
            all.latency_ms_max = match (all.latency_ms_max, stream.latency_ms_max) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        all.latency_ms_mean = (all.count > 0).then(|| millis / all.count as f64);
        all
    }
}

fn rate(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_seconds() }
}

/// One database's I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseNumbers {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Reads that operations waited for or requested ahead.
    pub reads: IoNumbers,
    /// Pages written out.
    pub writes: IoNumbers,
    /// Reads of background maintenance.
    pub maintenance_reads: IoNumbers,
}

/// One log stream's I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogNumbers {
    /// Its folder.
    pub path: String,
    /// Reads by the engine itself.
    pub reads: IoNumbers,
    /// Log records written.
    pub writes: IoNumbers,
    /// Log files formatted before use.
    pub format_writes: IoNumbers,
    /// Reads of log shipping, for copies of the databases.
    pub replication_reads: IoNumbers,
}

impl DatabaseNumbers {
    /// A database without any I/O.
    pub fn none(name: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            reads: IoNumbers::default(),
            writes: IoNumbers::default(),
            maintenance_reads: IoNumbers::default(),
        }
    }
}

impl LogNumbers {
    /// A log without any I/O.
    pub fn none(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            reads: IoNumbers::default(),
            writes: IoNumbers::default(),
            format_writes: IoNumbers::default(),
            replication_reads: IoNumbers::default(),
        }
    }
}

/// One kind of I/O of the whole server in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// I/Os per second.
    pub per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency. This and the next four are `None` without I/O.
    pub latency_ms_mean: Option<f64>,
    /// Median.
    pub latency_ms_p50: Option<f64>,
    /// 99th percentile.
    pub latency_ms_p99: Option<f64>,
    /// 99.9th percentile.
    pub latency_ms_p999: Option<f64>,
    /// Longest.
    pub latency_ms_max: Option<f64>,
}

impl Flow {
    /// The numbers of `reading` over a sample of `length`.
    pub fn new(reading: &Reading, length: Span) -> Self {
        let millis = |span: Option<Span>| span.map(Span::as_millis);
        Self {
            per_s: rate(reading.count, length),
            bytes_per_s: rate(reading.bytes, length),
            latency_ms_mean: millis(reading.mean),
            latency_ms_p50: millis(reading.p50),
            latency_ms_p99: millis(reading.p99),
            latency_ms_p999: millis(reading.p999),
            latency_ms_max: millis(reading.max),
        }
    }

    /// Both in one interval: rates add up, and means are weighed by them. Of a percentile the higher
    /// one is kept: it is not that of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let longer =
            |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        let per_s = self.per_s + other.per_s;
        let weighed = |flow: &Self| flow.per_s * flow.latency_ms_mean.unwrap_or(0.0);
        Self {
            per_s,
            bytes_per_s: self.bytes_per_s + other.bytes_per_s,
            latency_ms_mean: (per_s > 0.0).then(|| (weighed(self) + weighed(other)) / per_s),
            latency_ms_p50: longer(self.latency_ms_p50, other.latency_ms_p50),
            latency_ms_p99: longer(self.latency_ms_p99, other.latency_ms_p99),
            latency_ms_p999: longer(self.latency_ms_p999, other.latency_ms_p999),
            latency_ms_max: longer(self.latency_ms_max, other.latency_ms_max),
        }
    }
}

/// The whole server in one interval of the collection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its start, in seconds from the beginning of the collection.
    pub begin_s: f64,
    /// Its length, in seconds.
    pub length_s: f64,
    /// Database reads for operations.
    pub database_reads: Flow,
    /// Database writes.
    pub database_writes: Flow,
    /// Log writes.
    pub log_writes: Flow,
    /// Page-fault stalls per second.
    pub page_fault_stalls_per_s: f64,
    /// Pages in memory, at the end of the sample.
    pub cache_bytes: u64,
}

impl Sample {
    /// What the whole server did in `sample` of a collection that began at `begin`.
    pub fn of(sample: &brunt_run::Sample, begin: Time) -> Self {
        let [reads, writes, logs] = [DATABASE_READ, DATABASE_WRITE, LOG_WRITE];
        Self::of_streams(sample, begin, [reads, writes, logs, PAGE_FAULT_STALLS, CACHE])
    }

    /// What the database or log called `name` did.
    pub fn of_part(sample: &brunt_run::Sample, begin: Time, name: &str) -> Self {
        let streams = ["read", "write", "log-write", PAGE_FAULT_STALLS, CACHE];
        let streams = streams.map(|what| streams::of(name, what));
        Self::of_streams(sample, begin, streams.each_ref().map(String::as_str))
    }

    /// Of database reads, database writes, log writes, page-fault stalls and the cache.
    fn of_streams(sample: &brunt_run::Sample, begin: Time, streams: [&str; 5]) -> Self {
        let [reads, writes, logs, stalls, cache] = streams;
        let value = |stream: &str| {
            let mut rows = sample.rows.iter();
            rows.find(|row| row.stream == stream).map(|row| row.value)
        };
        let flow = |stream: &str| match value(stream) {
            Some(Value::Io(reading)) => Flow::new(&reading, sample.length),
            _ => Flow::default(),
        };
        let number = |stream: &str| match value(stream) {
            Some(Value::Count(number) | Value::Bytes(number)) => number,
            _ => 0,
        };
        Self {
            begin_s: sample.begin.since(begin).as_seconds(),
            length_s: sample.length.as_seconds(),
            database_reads: flow(reads),
            database_writes: flow(writes),
            log_writes: flow(logs),
            page_fault_stalls_per_s: rate(number(stalls), sample.length),
            cache_bytes: number(cache),
        }
    }

    /// Both as one interval: `self`, and `next` after it.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let length_s = self.length_s + next.length_s;
        let flow = |of: fn(&Self) -> &Flow| {
            let part = |sample: &Self| {
                let (flow, share) = (of(sample), sample.length_s / length_s);
                Flow { per_s: flow.per_s * share, bytes_per_s: flow.bytes_per_s * share, ..*flow }
            };
            part(self).and(&part(next))
        };
        let stalls = |sample: &Self| sample.page_fault_stalls_per_s * sample.length_s / length_s;
        Self {
            begin_s: self.begin_s,
            length_s,
            database_reads: flow(|sample| &sample.database_reads),
            database_writes: flow(|sample| &sample.database_writes),
            log_writes: flow(|sample| &sample.log_writes),
            page_fault_stalls_per_s: stalls(self) + stalls(next),
            cache_bytes: next.cache_bytes,
        }
    }
}

/// The latency distribution of one kind of I/O over the collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// `database read`, `database write`, `log write`.
    pub name: String,
    /// The non-empty steps, shortest latency first; each is a tenth of a decade wide.
    pub buckets: Vec<Bucket>,
}

/// One step of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// The longest latency of the step.
    pub latency_ms_max: f64,
    /// Number of I/Os.
    pub count: u64,
}

/// Steps per power of ten.
pub const STEPS_PER_DECADE: f64 = 10.0;

/// The step that a latency belongs to; step 0 begins at one millisecond.
pub fn step_of(millis: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen steps")]
    let step = (millis.max(1e-6).log10() * STEPS_PER_DECADE).floor() as i32;
    step
}

impl Distribution {
    /// The distribution of `latencies`.
    pub fn new(name: &str, latencies: &Latencies) -> Self {
        let mut buckets: Vec<Bucket> = Vec::new();
        for (end, count) in latencies.buckets() {
            let latency_ms_max = end.as_millis();
            match buckets.last_mut() {
                Some(last) if step_of(last.latency_ms_max) == step_of(latency_ms_max) => {
                    last.count += count;
                    last.latency_ms_max = latency_ms_max;
                }
                _ => buckets.push(Bucket { latency_ms_max, count }),
            }
        }
        Self { name: name.to_owned(), buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u64, mean: u64) -> IoNumbers {
        let some = (count > 0).then_some(Span::millis(mean));
        let reading = Reading {
            count,
            bytes: count * 4096,
            mean: some,
            p50: some,
            p99: some,
            p999: some,
            max: some,
        };
        IoNumbers::new(&reading, Span::seconds(10))
    }

    #[test]
    fn a_sum_weighs_its_parts() {
        let all = IoNumbers::together([&numbers(30, 2), &numbers(10, 6), &numbers(0, 0)]);
        assert_eq!((all.count, all.bytes), (40, 40 * 4096));
        assert!((all.per_s - 4.0).abs() < 1e-9);
        assert_eq!(all.latency_ms_mean, Some(3.0));
        assert_eq!(all.latency_ms_max, Some(6.0));
        assert_eq!(all.latency_ms_p99, None);
        assert_eq!(all.bytes_mean(), Some(4096.0));
    }

    fn flow(per_s: f64, mean: f64) -> Flow {
        let at = |times: f64| (per_s > 0.0).then_some(times * mean);
        Flow {
            per_s,
            bytes_per_s: per_s * 4096.0,
            latency_ms_mean: at(1.0),
            latency_ms_p50: at(0.5),
            latency_ms_p99: at(2.0),
            latency_ms_p999: at(2.5),
            latency_ms_max: at(3.0),
        }
    }

    #[test]
    fn rates_add_up_and_means_are_weighed() {
        let sum = flow(30.0, 2.0).and(&flow(10.0, 6.0));
        assert_eq!((sum.per_s, sum.latency_ms_mean), (40.0, Some(3.0)));
        assert_eq!(
            (sum.latency_ms_p99, sum.latency_ms_p999, sum.latency_ms_max),
            (Some(12.0), Some(15.0), Some(18.0))
        );
        let nothing = flow(0.0, 0.0);
        assert_eq!(flow(30.0, 2.0).and(&nothing), flow(30.0, 2.0));
        assert_eq!(nothing.and(&nothing), Flow::default());
    }

    #[test]
    fn intervals_in_a_row_are_weighed_by_their_length() {
        let sample = |begin_s, length_s, per_s, mean| Sample {
            begin_s,
            length_s,
            database_reads: flow(per_s, mean),
            page_fault_stalls_per_s: per_s,
            ..Sample::default()
        };
        let both = sample(10.0, 30.0, 20.0, 1.0).then(&sample(40.0, 10.0, 40.0, 4.0));
        assert_eq!((both.begin_s, both.length_s), (10.0, 40.0));
        assert_eq!(both.page_fault_stalls_per_s, 25.0);
        let reads = both.database_reads;
        assert_eq!((reads.per_s, reads.latency_ms_mean), (25.0, Some(2.2)));
        assert_eq!(reads.latency_ms_max, Some(12.0));
        assert_eq!(both.log_writes, Flow::default());
    }

    #[test]
    fn a_step_holds_its_neighbours() {
        let mut latencies = Latencies::new();
        for micros in [1_000, 1_100, 1_200, 1_300, 20_000] {
            latencies.record(Span::micros(micros));
        }
        let buckets = Distribution::new("x", &latencies).buckets;
        let counts: Vec<_> = buckets.iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [3, 1, 1]);
        assert_eq!(buckets[2].latency_ms_max, 20.0);
        assert_eq!((step_of(1.0), step_of(0.99), step_of(10.0)), (0, -1, 10));
    }

    #[test]
    fn nothing_has_a_rate_and_no_latency() {
        let nothing = numbers(0, 0);
        assert_eq!((nothing.per_s, nothing.latency_ms_mean), (0.0, None));
        assert_eq!(IoNumbers::together([&nothing]).latency_ms_mean, None);
        assert_eq!(nothing.bytes_mean(), None);
    }
}
