//! Histograms over time, in the text format of HdrHistogram's tools.
//!
//! One line per stream and interval: tag, start, length, maximum, and the histogram itself (V2,
//! deflated, base64). All values are in nanoseconds. Any percentile of any part of a run can be
//! recomputed from it.

mod read;

pub use read::{LatencyLine, LatencyLines, read_latency_log, read_line};

use std::time::{Duration, UNIX_EPOCH};

use brunt_units::{Span, Time};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::Latencies;

/// Builds a latency log incrementally: the caller takes what was added and appends it to a file.
#[derive(Clone, Debug)]
pub struct LatencyLog {
    text: Vec<u8>,
}

impl LatencyLog {
    /// An empty log of a run whose world began at `unix_seconds`; 0 for a virtual world.
    pub fn new(unix_seconds: u64) -> Self {
        let begin = UNIX_EPOCH + Duration::from_secs(unix_seconds);
        let mut text = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("latencies in nanoseconds")
            .with_start_time(begin)
            .with_base_time(begin)
            .begin_log_with(&mut text, &mut V2DeflateSerializer::new())
            .expect("memory takes every write");
        Self { text }
    }

    /// A log that carries on another one, whose header it shares.
    pub fn carried_on() -> Self {
        Self { text: Vec::new() }
    }

    /// Adds the latencies of `stream` from `begin` for `length`. An empty histogram adds nothing.
    ///
    /// # Panics
    /// When `stream` contains a comma, white space or a line break, any of which would end the tag.
    pub fn add(&mut self, stream: &str, begin: Time, length: Span, latencies: &Latencies) {
        if latencies.count() == 0 {
            return;
        }
        let tag = Tag::new(stream).expect("a stream's name has no comma and no space");
        IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.text, &mut V2DeflateSerializer::new())
            .expect("memory takes every write")
            .write_histogram(
                &latencies.to_hdr(),
                Duration::from_nanos(begin.0),
                Duration::from_nanos(length.0),
                Some(tag),
            )
            .expect("memory takes every write");
    }

    /// Takes the text added since the last call; the first call includes the log's header.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn the_log_can_be_read_back() {
        let mut latencies = Latencies::new();
        (1..=100).for_each(|at| latencies.record(Span::micros(at)));
        let mut log = LatencyLog::new(1_700_000_000);
        let at = Time::ZERO + Span::seconds(15);
        log.add("db1.read", at, Span::seconds(15), &latencies);
        log.add("db1.write", at, Span::seconds(15), &Latencies::new());

        let text = log.take();
        let intervals: Vec<_> = IntervalLogIterator::new(&text)
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(log.take(), [0; 0]);
        let [interval] = intervals.as_slice() else {
            panic!("one stream had something to say");
        };
        assert_eq!(interval.tag().unwrap().as_str(), "db1.read");
        assert_eq!(interval.start_timestamp(), Duration::from_secs(15));
    }
}
