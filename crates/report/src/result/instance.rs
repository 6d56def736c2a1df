//! One log stream with its databases, as scripts read it.
//!
//! The promised numbers follow from the streams in `details`: several databases of an instance are
//! added up, their latencies weighted by their counts. Percentiles cannot be computed from
//! percentiles and come from histograms.

use brunt_stats::{Latencies, Percentile};
use brunt_units::Span;
use serde::{Deserialize, Serialize};

use super::{DatabaseNumbers, IoNumbers, LogNumbers};

/// One log stream with its databases. Rates are per second of the collection, latencies are means,
/// bytes are means per I/O. All are null without a collection; latencies and bytes are also null
/// without I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Operations committed during the collection.
    pub transactions: Option<u64>,
    /// Batches of operations begun.
    pub batches: Option<u64>,
    /// Database reads for operations.
    pub db_reads_per_s: Option<f64>,
    /// Database writes.
    pub db_writes_per_s: Option<f64>,
    /// Mean, from submission to completion.
    pub db_read_latency_ms: Option<f64>,
    /// Mean, from submission to completion.
    pub db_write_latency_ms: Option<f64>,
    /// Mean of one read.
    pub db_read_bytes: Option<f64>,
    /// Mean of one write.
    pub db_write_bytes: Option<f64>,
    /// Log writes, without formatting.
    pub log_writes_per_s: Option<f64>,
    /// Mean, until the write is durable.
    pub log_write_latency_ms: Option<f64>,
    /// Mean of one write.
    pub log_write_bytes: Option<f64>,
    /// Log reads, including those for copies.
    pub log_reads_per_s: Option<f64>,
    /// Reads of background maintenance.
    pub maintenance_reads_per_s: Option<f64>,
    /// Operations that waited for a free frame of the cache, per second.
    pub page_fault_stalls_per_s: Option<f64>,
    /// Latency distribution of database reads, from submission to completion.
    pub db_read_latency: LatencySummary,
    /// Latency distribution of database writes.
    pub db_write_latency: LatencySummary,
    /// Latency distribution of log writes.
    pub log_write_latency: LatencySummary,
    /// Latency distribution of operations, from their intended start to their end.
    pub operation_latency: LatencySummary,
    /// Everything else that report.html shows. No promise: it may change without a new version.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub details: InstanceDetails,
}

/// Every stream of an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceDetails {
    /// Its log.
    pub log: LogNumbers,
    /// Its databases.
    pub databases: Vec<DatabaseNumbers>,
}

/// Nearest-rank percentiles, at most 0.8 % too high; the maximum is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Median.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p999_ms: Option<f64>,
    /// Maximum.
    pub max_ms: Option<f64>,
    /// Number of latencies.
    pub count: u64,
}

/// Numbers of an instance that are not I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// See [`Instance::transactions`].
    pub transactions: Option<u64>,
    /// See [`Instance::batches`].
    pub batches: Option<u64>,
    /// See [`Instance::page_fault_stalls_per_s`].
    pub page_fault_stalls_per_s: Option<f64>,
}

/// Histograms of an instance.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Database reads for operations.
    pub db_reads: Latencies,
    /// Database writes.
    pub db_writes: Latencies,
    /// Log writes.
    pub log_writes: Latencies,
    /// Operations, from their intended start.
    pub operations: Latencies,
}

impl LatencySummary {
    /// The summary of `latencies`.
    pub fn new(latencies: &Latencies) -> Self {
        let at = |per_mille| {
            let percentile = latencies.percentile(Percentile::per_mille(per_mille));
            percentile.map(Span::as_millis)
        };
        Self {
            p50_ms: at(500),
            p95_ms: at(950),
            p99_ms: at(990),
            p999_ms: at(999),
            max_ms: latencies.max().map(Span::as_millis),
            count: latencies.count(),
        }
    }
}

impl Instance {
    /// The instance whose streams are in `details`. Without a collection there are no rates, only
    /// names.
    pub fn new(
        name: &str,
        details: InstanceDetails,
        collected: bool,
        counts: Counts,
        measured: &Measured,
    ) -> Self {
        let mut instance = Self {
            name: name.to_owned(),
            transactions: counts.transactions,
            batches: counts.batches,
            db_reads_per_s: None,
            db_writes_per_s: None,
            db_read_latency_ms: None,
            db_write_latency_ms: None,
            db_read_bytes: None,
            db_write_bytes: None,
            log_writes_per_s: None,
            log_write_latency_ms: None,
            log_write_bytes: None,
            log_reads_per_s: None,
            maintenance_reads_per_s: None,
            page_fault_stalls_per_s: counts.page_fault_stalls_per_s,
            db_read_latency: LatencySummary::new(&measured.db_reads),
            db_write_latency: LatencySummary::new(&measured.db_writes),
            log_write_latency: LatencySummary::new(&measured.log_writes),
            operation_latency: LatencySummary::new(&measured.operations),
            details,
        };
        instance.add_up(collected);
        instance
    }

    /// Reads and writes of all databases of `instances`, and their log writes: without maintenance,
    /// log shipping and formatting.
    pub fn primary_io<'a>(instances: impl Iterator<Item = &'a Self> + Clone) -> [IoNumbers; 3] {
        let databases = || instances.clone().flat_map(|one| &one.details.databases);
        [
            IoNumbers::together(databases().map(|database| &database.reads)),
            IoNumbers::together(databases().map(|database| &database.writes)),
            IoNumbers::together(instances.clone().map(|one| &one.details.log.writes)),
        ]
    }

    /// Computes the numbers of the instance from those of its streams.
    pub(crate) fn add_up(&mut self, collected: bool) {
        let InstanceDetails { log, databases } = &self.details;
        let sum = |pick: fn(&DatabaseNumbers) -> &IoNumbers| {
            IoNumbers::together(databases.iter().map(pick))
        };
        let (reads, writes) = (sum(|d| &d.reads), sum(|d| &d.writes));
        let maintenance = sum(|d| &d.maintenance_reads);
        let log_reads = IoNumbers::together([&log.reads, &log.replication_reads]);
        let rate = |numbers: &IoNumbers| collected.then_some(numbers.per_s);
        self.db_reads_per_s = rate(&reads);
        self.db_writes_per_s = rate(&writes);
        self.db_read_latency_ms = reads.latency_ms_mean;
        self.db_write_latency_ms = writes.latency_ms_mean;
        self.db_read_bytes = reads.bytes_mean();
        self.db_write_bytes = writes.bytes_mean();
        self.log_writes_per_s = rate(&log.writes);
        self.log_write_latency_ms = log.writes.latency_ms_mean;
        self.log_write_bytes = log.writes.bytes_mean();
        self.log_reads_per_s = rate(&log_reads);
        self.maintenance_reads_per_s = rate(&maintenance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_what_was_recorded() {
        let mut latencies = Latencies::new();
        (1..=1000).for_each(|at| latencies.record(Span::micros(at)));
        let summary = LatencySummary::new(&latencies);
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.unwrap();
            found >= wanted && found <= wanted * 1.008
        };
        assert!(near(summary.p50_ms, 0.5) && near(summary.p95_ms, 0.95));
        assert!(near(summary.p99_ms, 0.99) && near(summary.p999_ms, 0.999));
        assert_eq!((summary.max_ms, summary.count), (Some(1.0), 1000));
        assert_eq!(LatencySummary::new(&Latencies::new()), LatencySummary::default());
    }

    #[test]
    fn without_a_collection_there_are_no_rates() {
        let details = InstanceDetails {
            log: LogNumbers::none("/log"),
            databases: vec![DatabaseNumbers::none("DB1", "/one.edb")],
        };
        let measured = Measured::default();
        let instance = |collected| {
            Instance::new("I", details.clone(), collected, Counts::default(), &measured)
        };
        assert_eq!(instance(false).db_reads_per_s, None);
        assert_eq!(instance(true).db_reads_per_s, Some(0.0));
        assert_eq!(instance(true).db_read_latency_ms, None);
    }
}
