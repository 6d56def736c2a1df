//! Samples: the engine's counters in each interval of the collection, and the totals.
//!
//! The engine counts; a [`Sampler`] closes the intervals on a grid. It keeps one line of each
//! interval for the whole server. Of each stream it keeps only what rules need: the worst sample,
//! and how many were over the limit. So memory does not grow with the number of instances times the
//! length of the test. Everything else goes to the journal of the run, and leaves memory with every
//! sample: [`Recorded`].
//!
//! In long tests of many files, histograms of single files are held over several samples, so that
//! the journal has at most about [`HISTOGRAMS_MAX`] of them. Those of the whole server are
//! written in every sample.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_ese::meter::{DatabaseMeters, LogMeters, MeterBoard, Meters};
use brunt_report::result::{Distribution, Flow, Sample};
use brunt_report::streams::{
    CACHE, COPY_QUEUE, DATABASE_READ, DATABASE_WRITE, LOG_WRITE, OPERATION, OPERATION_SERVICE,
    PAGE_FAULT_STALLS, REPLAY_QUEUE, tag,
};
use brunt_run::{
    Histogram, LongestStop, Recorded, Row, Standing, Standstill, Value, WholeLatencies,
};
use brunt_stats::{Latencies, Meter, OperationLatencies, Reading, Series};
use brunt_units::{Span, Time};

use crate::plan::Plan;
use crate::rules::Samples;

/// The whole server in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Whole {
    pub(crate) reads: Reading,
    pub(crate) writes: Reading,
    pub(crate) log_writes: Reading,
    pub(crate) stalls: u64,
    pub(crate) cache_bytes: u64,
}

impl Whole {
    /// As a sample of `length` that began `after` the beginning of the collection.
    pub(crate) fn in_result(&self, after: Span, length: Span) -> Sample {
        Sample {
            begin_s: after.as_seconds(),
            length_s: length.as_seconds(),
            database_reads: Flow::new(&self.reads, length),
            database_writes: Flow::new(&self.writes, length),
            log_writes: Flow::new(&self.log_writes, length),
            page_fault_stalls_per_s: self.stalls as f64 / length.as_seconds(),
            cache_bytes: self.cache_bytes,
        }
    }
}

/// Closes intervals; see the [module](self).
pub struct Sampler {
    begin: Time,
    /// When the tables say that it began: earlier, if it carries an interrupted run on.
    recorded_begin: Time,
    closed_at: Time,
    series: Series<Whole>,
    databases: Vec<Watched>,
    logs: Vec<Watched>,
    /// By instance.
    operations: Vec<OperationLatencies>,
    rows: Vec<Row>,
    histograms: Vec<Histogram>,
    held: Held,
    stop: LongestStop,
    standstill: Standstill,
}

/// Approximate limit of histograms of single files in the journal.
pub const HISTOGRAMS_MAX: u64 = 50_000;

/// Histograms that are not written yet.
struct Held {
    /// The number of samples between two writes.
    every: u64,
    samples: u64,
    /// When the first of them began.
    since: Option<Time>,
    streams: BTreeMap<String, Latencies>,
}

/// A stream with a limit on its samples.
struct Watched {
    /// Its name in tables.
    stream: String,
    limit: Span,
    samples: Samples,
}

/// The results of a collection, apart from the engine's own counters.
#[derive(Debug)]
pub struct Collected {
    /// When it began.
    pub begin: Time,
    pub length: Span,
    /// The whole server over time.
    pub samples: Vec<Sample>,
    /// Samples of database reads, by database.
    pub reads: Vec<Samples>,
    /// Samples of log writes, by log stream.
    pub log_writes: Vec<Samples>,
    /// Operations, by instance.
    pub operations: Vec<OperationLatencies>,
    /// The longest time in which I/O was in flight and none completed.
    pub stop: LongestStop,
    /// When the program did not run.
    pub standstill: Standstill,
}

impl Sampler {
    /// A sampler whose collection begins at `now`; earlier counts of the engine are discarded.
    pub fn start(plan: &Plan, now: Time, board: &MeterBoard) -> Self {
        board.with(discard);
        let limits = &plan.limits.latency;
        let watched =
            |name: &str, limit| Watched { stream: tag(name), limit, samples: Samples::default() };
        let databases = plan.databases();
        let carried = plan.carried;
        Self {
            begin: now,
            recorded_begin: carried.map_or(now, |carried| carried.begin + carried.length),
            closed_at: now,
            series: Series::new(now, plan.sample_interval(), plan.to_collect()),
            databases: databases.map(|d| watched(&d.name, limits.read_sample)).collect(),
            logs: plan.instances.iter().map(|i| watched(&i.name, limits.log_sample)).collect(),
            operations: vec![OperationLatencies::default(); plan.instances.len()],
            held: Held::new(plan),
            stop: LongestStop::default(),
            standstill: Standstill::default(),
            rows: Vec::new(),
            histograms: Vec::new(),
        }
    }

    /// When the collection began.
    pub(crate) fn begin(&self) -> Time {
        self.begin
    }

    /// When the running interval must be closed.
    pub fn due(&self) -> Time {
        self.series.due()
    }

    /// When the last interval was closed, or the collection began.
    pub fn closed_at(&self) -> Time {
        self.closed_at
    }

    /// Whether any sample has exceeded its limit.
    pub fn is_over(&self) -> bool {
        let mut streams = self.databases.iter().chain(&self.logs);
        streams.any(|stream| stream.samples.over > 0)
    }

    /// Closes the running interval at `now`, which must be later than its begin. `operations` ended
    /// in it, by instance; `cache_bytes` are resident.
    pub fn close(
        &mut self,
        now: Time,
        board: &MeterBoard,
        operations: &[OperationLatencies],
        cache_bytes: u64,
        standing: Standing,
    ) -> Recorded {
        let (begin, length) = self.interval(now);
        let (whole, latencies) = board.with(|meters| self.close_meters(now, meters, cache_bytes));
        self.add_operations(now, operations);
        self.rows.push(Row::new(PAGE_FAULT_STALLS, Value::Count(whole.stalls)));
        self.rows.push(Row::new(CACHE, Value::Bytes(cache_bytes)));
        self.series.close_interval(now, whole);
        let is_whole = self.held.sample_ended((begin, length), &mut self.histograms);
        self.closed_at = now;
        let rows = std::mem::take(&mut self.rows);
        let histograms = std::mem::take(&mut self.histograms);
        Recorded {
            sample: Arc::new(brunt_run::Sample { begin, length, rows, histograms, is_whole }),
            standing: Arc::new(standing),
            whole: Arc::new(latencies),
        }
    }

    /// The running interval is the last: when it is closed, no histogram is held back any more.
    pub fn is_last(&mut self) {
        self.held.every = 1;
    }

    /// Sets the longest stop so far, and when the program did not run.
    pub(crate) fn note_still(&mut self, stop: LongestStop, standstill: Standstill) {
        (self.stop, self.standstill) = (stop, standstill);
    }

    /// Adds the queues of passive copies, by name, at the end of the running interval.
    pub fn note_queues(&mut self, queues: &[(String, [u32; 2])]) {
        for (name, logs) in queues {
            for (what, logs) in [COPY_QUEUE, REPLAY_QUEUE].into_iter().zip(logs) {
                let stream = format!("{}.{what}", tag(name));
                self.rows.push(Row::new(&stream, Value::Other(f64::from(*logs))));
            }
        }
    }

    /// The running interval as the tables name it, if it is closed at `now`.
    fn interval(&self, now: Time) -> (Time, Span) {
        let begin = self.recorded_begin + (self.closed_at - self.begin);
        (begin, now - self.closed_at)
    }

    fn close_meters(
        &mut self,
        now: Time,
        meters: &mut Meters,
        cache_bytes: u64,
    ) -> (Whole, WholeLatencies) {
        let since_begin = self.closed_at - self.begin;
        let at = self.interval(now);
        let mut tables = Tables {
            at,
            rows: &mut self.rows,
            histograms: &mut self.histograms,
            held: &mut self.held,
        };
        let [mut reads, mut writes, mut log_writes] = [(); 3].map(|()| Sum::default());
        for (meters, watched) in meters.databases.iter_mut().zip(&mut self.databases) {
            let name = &watched.stream;
            reads.add(&meters.reads);
            writes.add(&meters.writes);
            let streams = database_streams(meters);
            let [read, write, ..] = streams.map(|(what, meter)| tables.close(name, what, meter));
            reads.bytes += read.bytes;
            writes.bytes += write.bytes;
            tables.count(name, "growth", &mut meters.growth);
            tables.count(name, "sync", &mut meters.syncs);
            meters.growth_stalls.close_interval();
            meters.blank.close_interval();
            let stalls = meters.page_fault_stalls.close_interval();
            tables.count_events(name, PAGE_FAULT_STALLS, stalls);
            watched.samples.note(since_begin, read.mean, watched.limit);
        }
        for (meters, watched) in meters.logs.iter_mut().zip(&mut self.logs) {
            let name = &watched.stream;
            log_writes.add(&meters.writes);
            let streams = log_streams(meters);
            let [write, ..] = streams.map(|(what, meter)| tables.close(name, what, meter));
            log_writes.bytes += write.bytes;
            tables.count(name, "log-sync", &mut meters.syncs);
            tables.count(name, "log-roll", &mut meters.rolls);
            tables.count(name, "log-roll-wait", &mut meters.roll_waits);
            watched.samples.note(since_begin, write.mean, watched.limit);
        }
        for counter in [&mut meters.page_requests, &mut meters.page_hits] {
            counter.close_interval();
        }
        meters.corrected.close_interval();
        let whole = Whole {
            reads: tables.server(DATABASE_READ, &reads),
            writes: tables.server(DATABASE_WRITE, &writes),
            log_writes: tables.server(LOG_WRITE, &log_writes),
            stalls: meters.page_fault_stalls.close_interval(),
            cache_bytes,
        };
        let latencies = WholeLatencies {
            written: writes.bytes + log_writes.bytes,
            reads: reads.latencies,
            writes: writes.latencies,
            log_writes: log_writes.latencies,
        };
        (whole, latencies)
    }

    fn add_operations(&mut self, now: Time, operations: &[OperationLatencies]) {
        let (begin, length) = self.interval(now);
        let mut all = OperationLatencies::default();
        let totals = self.operations.iter_mut().zip(&self.logs);
        for ((total, log), operations) in totals.zip(operations) {
            total.merge(operations);
            all.merge(operations);
            let latencies = &operations.from_intended_start;
            let stream = format!("{}.operation", log.stream);
            if latencies.count() > 0 {
                self.rows.push(Row::io(&stream, Reading::of(latencies, 0)));
            }
            self.held.add(&stream, latencies);
        }
        for (stream, latencies) in
            [(OPERATION, &all.from_intended_start), (OPERATION_SERVICE, &all.from_actual_start)]
        {
            self.rows.push(Row::io(stream, Reading::of(latencies, 0)));
            add_histogram(&mut self.histograms, stream, (begin, length), latencies);
        }
    }

    /// What was collected until the last interval that was closed.
    pub fn collected(&self) -> Collected {
        let begin = self.begin;
        let sample = |sample: &brunt_stats::Sample<Whole>| {
            sample.value.in_result(sample.begin - begin, sample.length)
        };
        let taken = |streams: &[Watched]| streams.iter().map(|s| s.samples).collect();
        Collected {
            begin,
            length: self.closed_at - begin,
            samples: self.series.samples().iter().map(sample).collect(),
            reads: taken(&self.databases),
            log_writes: taken(&self.logs),
            operations: self.operations.clone(),
            stop: self.stop.clone(),
            standstill: self.standstill.clone(),
        }
    }
}

impl Held {
    fn new(plan: &Plan) -> Self {
        // Logs are read only for replication.
        let streams = 3 * plan.databases().count() + 3 * plan.instances.len();
        let samples = plan.duration.0.div_ceil(plan.sample_interval().0);
        Self {
            every: samples.saturating_mul(streams as u64).div_ceil(HISTOGRAMS_MAX).max(1),
            samples: 0,
            since: None,
            streams: BTreeMap::new(),
        }
    }

    fn add(&mut self, stream: &str, latencies: &Latencies) {
        match self.streams.get_mut(stream) {
            Some(held) => held.merge(latencies),
            None => {
                self.streams.insert(stream.to_owned(), latencies.clone());
            }
        }
    }

    /// Whether all that was held is in `histograms` now.
    fn sample_ended(
        &mut self,
        (begin, length): (Time, Span),
        histograms: &mut Vec<Histogram>,
    ) -> bool {
        let since = *self.since.get_or_insert(begin);
        self.samples += 1;
        if self.samples < self.every {
            return false;
        }
        for (stream, latencies) in &mut self.streams {
            add_histogram(histograms, stream, (since, begin + length - since), latencies);
            latencies.clear();
        }
        (self.samples, self.since) = (0, None);
        true
    }
}

/// Adds the latencies of a stream, unless there are none.
fn add_histogram(
    histograms: &mut Vec<Histogram>,
    stream: &str,
    (begin, length): (Time, Span),
    latencies: &Latencies,
) {
    if latencies.count() > 0 {
        let (stream, latencies) = (stream.to_owned(), latencies.clone());
        histograms.push(Histogram { stream, begin, length, latencies });
    }
}

/// What receives every stream of every interval.
struct Tables<'a> {
    at: (Time, Span),
    rows: &'a mut Vec<Row>,
    histograms: &'a mut Vec<Histogram>,
    held: &'a mut Held,
}

impl Tables<'_> {
    /// Closes a meter and keeps its histogram.
    fn close(&mut self, of: &str, what: &str, meter: &mut Meter) -> Reading {
        if meter.running().count() > 0 {
            self.held.add(&format!("{of}.{what}"), meter.running());
        }
        self.count(of, what, meter)
    }

    /// Closes a meter and keeps only its numbers.
    fn count(&mut self, of: &str, what: &str, meter: &mut Meter) -> Reading {
        let reading = meter.close_interval();
        if reading.count > 0 {
            self.rows.push(Row::io(&format!("{of}.{what}"), reading));
        }
        reading
    }

    /// Adds a count of events that have neither bytes nor latency.
    fn count_events(&mut self, of: &str, what: &str, count: u64) {
        if count > 0 {
            self.rows.push(Row::new(&format!("{of}.{what}"), Value::Count(count)));
        }
    }

    /// Adds a stream of the whole server.
    fn server(&mut self, stream: &str, sum: &Sum) -> Reading {
        let reading = sum.reading();
        self.rows.push(Row::io(stream, reading));
        add_histogram(self.histograms, stream, self.at, &sum.latencies);
        reading
    }
}

/// The streams of a database that have histograms in the journal.
pub(crate) fn database_streams(meters: &mut DatabaseMeters) -> [(&'static str, &mut Meter); 3] {
    [
        ("read", &mut meters.reads),
        ("write", &mut meters.writes),
        ("maintenance", &mut meters.maintenance),
    ]
}

/// The streams of a log that have histograms in the journal.
pub(crate) fn log_streams(meters: &mut LogMeters) -> [(&'static str, &mut Meter); 4] {
    [
        ("log-write", &mut meters.writes),
        ("log-format", &mut meters.format),
        ("log-read", &mut meters.reads),
        ("log-replication", &mut meters.replication),
    ]
}

/// Several streams combined, with percentiles.
#[derive(Default)]
struct Sum {
    latencies: Latencies,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, meter: &Meter) {
        self.latencies.merge(meter.running());
    }

    fn reading(&self) -> Reading {
        Reading::of(&self.latencies, self.bytes)
    }
}

/// Closes the running interval of the counters of a backup.
pub(crate) fn close_all(meters: &mut Meters) {
    for database in &mut meters.databases {
        database.backup.close_interval();
        database.blank.close_interval();
    }
}

/// Discards all counts so far.
pub(crate) fn discard(meters: &mut Meters) {
    for database in &mut meters.databases {
        for meter in [
            &mut database.reads,
            &mut database.writes,
            &mut database.maintenance,
            &mut database.backup,
            &mut database.growth,
            &mut database.syncs,
        ] {
            meter.discard();
        }
        database.page_fault_stalls.discard();
        database.growth_stalls.discard();
        database.blank.discard();
    }
    for log in &mut meters.logs {
        for meter in [
            &mut log.writes,
            &mut log.syncs,
            &mut log.format,
            &mut log.rolls,
            &mut log.roll_waits,
            &mut log.reads,
            &mut log.replication,
        ] {
            meter.discard();
        }
        for counter in &mut log.flushes {
            counter.discard();
        }
    }
    for counter in [
        &mut meters.page_fault_stalls,
        &mut meters.page_requests,
        &mut meters.page_hits,
        &mut meters.corrected,
    ] {
        counter.discard();
    }
}

/// The latency distributions of the whole collection.
pub fn distributions(meters: &Meters, operations: &OperationLatencies) -> Vec<Distribution> {
    let sum = |pick: fn(&Meters) -> Vec<&Meter>| {
        let mut all = Latencies::new();
        for meter in pick(meters) {
            all.merge(meter.latencies());
        }
        all
    };
    let reads = sum(|meters| meters.databases.iter().map(|d| &d.reads).collect());
    let writes = sum(|meters| meters.databases.iter().map(|d| &d.writes).collect());
    let log_writes = sum(|meters| meters.logs.iter().map(|l| &l.writes).collect());
    vec![
        Distribution::new("database read", &reads),
        Distribution::new("database write", &writes),
        Distribution::new("log write", &log_writes),
        Distribution::new("operation, from its intended start", &operations.from_intended_start),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    const MS: Span = Span::millis(1);

    #[test]
    fn what_was_before_the_collection_does_not_count() {
        let (board, plan) = (MeterBoard::new(2, 2), plan());
        board.database(0, |m| &mut m.reads, 32_768, MS * 900);
        board.with(|meters| meters.page_fault_stalls.tick());
        let begin = Time::ZERO + Span::seconds(30);
        let mut sampler = Sampler::start(&plan, begin, &board);
        board.database(0, |m| &mut m.reads, 32_768, MS * 2);
        board.database(1, |m| &mut m.reads, 65_536, MS * 4);
        let end = sampler.due();
        sampler.close(end, &board, &[], 5, Standing::default());
        let collected = sampler.collected();
        assert_eq!(collected.samples.len(), 1);
        let sample = &collected.samples[0];
        assert_eq!(sample.begin_s, 0.0);
        assert_eq!(sample.database_reads.latency_ms_mean, Some(3.0));
        assert_eq!(sample.database_reads.latency_ms_max, Some(4.0));
        let bytes = sample.database_reads.bytes_per_s * sample.length_s;
        assert!((bytes - 98_304.0).abs() < 0.01);
        assert_eq!(sample.page_fault_stalls_per_s, 0.0);
        assert_eq!(board.with(|m| m.databases[0].reads.total().count), 1);
    }

    #[test]
    fn nothing_is_held_back_at_the_end() {
        let (board, plan) = (MeterBoard::new(2, 2), plan());
        let begin = Time::ZERO + Span::seconds(30);
        let mut sampler = Sampler::start(&plan, begin, &board);
        sampler.held.every = 3;
        let mut close = |is_last: bool| {
            board.database(1, |m| &mut m.reads, 32_768, MS * 7);
            if is_last {
                sampler.is_last();
            }
            let due = sampler.due();
            let sample = sampler.close(due, &board, &[], 0, Standing::default()).sample;
            let written = sample.histograms.iter().any(|one| one.stream == "DB2.read");
            assert_eq!(sample.is_whole, written);
            written
        };
        assert_eq!(
            [false, false, false, false, true].map(&mut close),
            [false, false, true, false, true]
        );
    }

    #[test]
    fn samples_over_the_limit_are_counted_stream_by_stream() {
        let (board, plan) = (MeterBoard::new(2, 2), plan());
        let begin = Time::ZERO + Span::seconds(30);
        let mut sampler = Sampler::start(&plan, begin, &board);
        let mut rows = Vec::new();
        for latency in [99, 101, 300, 100] {
            board.database(1, |m| &mut m.reads, 32_768, MS * latency);
            board.log(0, |m| &mut m.writes, 4_096, MS);
            assert_eq!(sampler.is_over(), latency == 300 || latency == 100);
            let due = sampler.due();
            rows.extend(
                sampler.close(due, &board, &[], 0, Standing::default()).sample.rows.clone(),
            );
        }
        let collected = sampler.collected();
        assert_eq!(collected.length, plan.sample_interval() * 4);
        let db2 = collected.reads[1];
        assert_eq!((db2.count, db2.over), (4, 2));
        let interval = plan.sample_interval();
        assert_eq!(db2.worst, Some((MS * 300, interval * 2)));
        assert_eq!(db2.first_over, Some(interval));
        assert_eq!((collected.reads[0].worst, collected.reads[0].over), (None, 0));
        assert_eq!(collected.log_writes[0].worst, Some((MS, Span::ZERO)));
        let has = |stream: &str, bytes, latency| {
            let mut latencies = Latencies::new();
            latencies.record(latency);
            rows.contains(&Row::io(stream, Reading::of(&latencies, bytes)))
        };
        assert!(has("DB2.read", 32_768, MS * 300), "{rows:?}");
        assert!(has("Instance-1.log-write", 4_096, MS), "{rows:?}");
        assert!(has("database-read", 32_768, MS * 300), "{rows:?}");
        assert!(!rows.iter().any(|row| row.stream == "DB1.read"), "{rows:?}");
    }

    #[test]
    fn samples_of_two_collections_are_those_of_one() {
        let limit = MS * 100;
        let means = [99, 101, 300, 100, 301, 20, 102].map(|ms| Some(MS * ms));
        let note = |means: &[Option<Span>]| {
            let mut samples = Samples::default();
            for (at, mean) in (0..).zip(means) {
                samples.note(Span::seconds(at), *mean, limit);
            }
            samples
        };
        for cut in 0..=means.len() {
            let (before, after) = means.split_at(cut);
            let length = Span::seconds(cut as u64);
            assert_eq!(note(before).followed_by(note(after), length), note(&means));
        }
    }
}
