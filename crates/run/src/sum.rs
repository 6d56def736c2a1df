//! Samples of several servers as those of one.
//!
//! ```text
//!   server A     |-----|-----|-----|
//!   server B        |-----|-----|-----|        each has a grid of its own
//!   sum          |-----|-----|-----|-----|     a sample is of the interval that has its middle
//! ```
//!
//! What adds up is I/Os, not figures of them: counts, bytes and histograms. So percentiles of a sum
//! are those of all its I/Os, and it does not matter in which order, or in how many parts, samples
//! come. Where a part has no histogram, the percentiles of the sum are not known, and there are
//! none.
//!
//! Streams of single files and of machines stay with their servers. Those of arrays do not add up,
//! either: all servers of a simulation share its arrays, and one of them tells of these. If several
//! do, their arrays are not the same, and the sum has none.

use std::collections::BTreeMap;

use brunt_stats::{Latencies, PackedLatencies, Reading};
use brunt_units::{Span, Time};

use crate::record::{Row, Sample, Value, is_of_array, is_of_server};

/// Adds up samples; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    every: Span,
    intervals: BTreeMap<u64, Interval>,
}

/// What all servers did in one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Interval {
    streams: BTreeMap<String, Requests>,
    counts: BTreeMap<String, u64>,
    servers: BTreeMap<usize, OfServer>,
}

/// What does not add up over time: lengths of samples side by side, and amounts at their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfServer {
    length: Span,
    /// When each was taken, and how much it was.
    amounts: BTreeMap<String, (Span, u64)>,
    arrays: BTreeMap<String, Weighed>,
}

/// A value of an array's part, weighed by the lengths of its samples: in whole numbers, so that it
/// does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weighed {
    nanos: u128,
    sum: i128,
}

/// I/Os of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Requests {
    count: u64,
    bytes: u64,
    nanos: u128,
    max: Span,
    /// As far as there are histograms.
    latencies: PackedLatencies,
}

impl Sum {
    /// Nothing, to be added up in intervals of this length.
    ///
    /// # Panics
    /// When it is zero.
    pub fn every(length: Span) -> Self {
        assert!(length > Span::ZERO, "an interval has a length");
        Self { every: length, intervals: BTreeMap::new() }
    }

    /// Adds a sample of the server with this number, which began `after` the beginning of the sum.
    pub fn add(&mut self, server: usize, after: Span, sample: &Sample) {
        let middle = after.0.saturating_add(sample.length.0.div_euclid(2));
        let interval = self.intervals.entry(middle.div_euclid(self.every.0)).or_default();
        let of_server = interval.servers.entry(server).or_default();
        of_server.length = Span(of_server.length.0.saturating_add(sample.length.0));
        for Row { stream, value } in &sample.rows {
            match *value {
                Value::Other(value) if is_of_array(stream) => {
                    let own = of_server.arrays.entry(stream.clone()).or_default();
                    own.and(Weighed::of(value, sample.length));
                }
                _ => {}
            }
        }
        for Row { stream, value } in sample.rows.iter().filter(|row| is_of_server(&row.stream)) {
            match *value {
                Value::Io(reading) => {
                    let histograms = sample.histograms.iter();
                    let mut own = histograms.filter(|one| one.stream == *stream);
                    let requests = interval.streams.entry(stream.clone()).or_default();
                    requests.add(&reading, own.next().map(|one| &one.latencies));
                }
                Value::Count(count) => {
                    let all = interval.counts.entry(stream.clone()).or_default();
                    *all = all.saturating_add(count);
                }
                Value::Bytes(bytes) => of_server.note(stream, (after, bytes)),
                Value::Other(_) => {}
            }
        }
    }

    /// Adds what was added to `other`.
    ///
    /// # Panics
    /// When its intervals have another length.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.every, other.every, "sums of one grid");
        for (at, interval) in &other.intervals {
            self.intervals.entry(*at).or_default().merge(interval);
        }
    }

    /// The sum as samples without histograms, which begin as long after zero as after the beginning
    /// of the sum.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        let teller = self.teller();
        self.intervals.iter().map(move |(at, interval)| {
            interval.sample(Time(at.saturating_mul(self.every.0)), teller)
        })
    }

    /// The only server that tells of arrays; `None` when there are several, or none.
    fn teller(&self) -> Option<usize> {
        let servers = self.intervals.values().flat_map(|interval| &interval.servers);
        let mut tellers = servers.filter(|(_, server)| !server.arrays.is_empty());
        let (first, _) = tellers.next()?;
        tellers.all(|(other, _)| other == first).then_some(*first)
    }
}

impl Interval {
    fn merge(&mut self, other: &Self) {
        for (stream, requests) in &other.streams {
            self.streams.entry(stream.clone()).or_default().merge(requests);
        }
        for (stream, count) in &other.counts {
            let all = self.counts.entry(stream.clone()).or_default();
            *all = all.saturating_add(*count);
        }
        for (server, other) in &other.servers {
            let own = self.servers.entry(*server).or_default();
            own.length = Span(own.length.0.saturating_add(other.length.0));
            let amounts = other.amounts.iter();
            amounts.for_each(|(stream, amount)| own.note(stream, *amount));
            for (stream, value) in &other.arrays {
                own.arrays.entry(stream.clone()).or_default().and(*value);
            }
        }
    }

    fn sample(&self, begin: Time, teller: Option<usize>) -> Sample {
        let length = self.servers.values().map(|server| server.length).max().unwrap_or_default();
        let mut amounts = BTreeMap::<&String, u64>::new();
        for (stream, (_, bytes)) in self.servers.values().flat_map(|server| &server.amounts) {
            let all = amounts.entry(stream).or_default();
            *all = all.saturating_add(*bytes);
        }
        let streams = self.streams.iter();
        let mut rows: Vec<Row> =
            streams.map(|(stream, requests)| Row::io(stream, requests.reading())).collect();
        let counts = self.counts.iter();
        rows.extend(counts.map(|(stream, count)| Row::new(stream, Value::Count(*count))));
        let amounts = amounts.into_iter();
        rows.extend(amounts.map(|(stream, bytes)| Row::new(stream, Value::Bytes(bytes))));
        let arrays = teller.and_then(|teller| self.servers.get(&teller));
        let arrays = arrays.into_iter().flat_map(|server| &server.arrays);
        rows.extend(arrays.map(|(stream, value)| Row::new(stream, Value::Other(value.mean()))));
        Sample { begin, length, rows, histograms: Vec::new(), is_whole: true }
    }
}

impl OfServer {
    /// The later amount stays.
    fn note(&mut self, stream: &str, amount: (Span, u64)) {
        let own = self.amounts.entry(stream.to_owned()).or_insert(amount);
        *own = amount.max(*own);
    }
}

impl Weighed {
    /// Values are kept to the millionth, as tables have them.
    const UNIT: f64 = 1e6;

    fn of(value: f64, length: Span) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "what is too large stays at the end")]
        let whole = (value * Self::UNIT).round() as i64;
        Self { nanos: length.0.into(), sum: i128::from(whole) * i128::from(length.0) }
    }

    fn and(&mut self, other: Self) {
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.sum = self.sum.saturating_add(other.sum);
    }

    fn mean(self) -> f64 {
        self.sum as f64 / (self.nanos as f64).max(1.0) / Self::UNIT
    }
}

impl Requests {
    fn add(&mut self, reading: &Reading, latencies: Option<&Latencies>) {
        let mean = reading.mean.unwrap_or_default();
        let nanos = match latencies {
            Some(latencies) => latencies.sum_nanos(),
            None => u128::from(mean.0) * u128::from(reading.count),
        };
        self.absorb(reading.count, reading.bytes, nanos, reading.max.unwrap_or_default());
        if let Some(latencies) = latencies {
            self.latencies.merge(latencies);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.absorb(other.count, other.bytes, other.nanos, other.max);
        self.latencies.merge(&other.latencies.unpacked());
    }

    fn absorb(&mut self, count: u64, bytes: u64, nanos: u128, max: Span) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
        self.nanos = self.nanos.saturating_add(nanos);
        self.max = self.max.max(max);
    }

    /// Without percentiles if the latencies of some I/Os are not known.
    fn reading(&self) -> Reading {
        let latencies = self.latencies.unpacked();
        if latencies.count() == self.count {
            return Reading::of(&latencies, self.bytes);
        }
        let count = u128::from(self.count);
        let mean = (self.nanos.saturating_mul(2).saturating_add(count)).checked_div(count * 2);
        Reading {
            count: self.count,
            bytes: self.bytes,
            mean: mean.map(|mean| Span(u64::try_from(mean).unwrap_or(u64::MAX))),
            max: (self.count > 0).then_some(self.max),
            ..Reading::default()
        }
    }
}
