//! The numbers of a result, made from the tables of its run.
//!
//! Counts, bytes, means and maxima come from `counters.csv` and are exact. Percentiles come from
//! the latency log.

use std::collections::BTreeMap;

use brunt_stats::Latencies;

use crate::host_counters;
use crate::recorded::{Recorded, Total};
use crate::result::{
    Distribution, HostCounter, Instance, InstanceDetails, IoNumbers, LatencySummary, RunResult,
};
use crate::streams::{
    self, DATABASE_READ, DATABASE_WRITE, LOG_WRITE, OPERATION, PAGE_FAULT_STALLS,
};

/// Replaces the numbers of `result`, whose names stay.
pub(crate) fn fill(
    result: &mut RunResult,
    recorded: &Recorded,
    latencies: &BTreeMap<String, Latencies>,
) {
    let found = Found { recorded, latencies };
    let collected = !recorded.samples.is_empty();
    for server in &mut result.storage.servers {
        for instance in &mut server.instances {
            found.fill_instance(instance, collected);
        }
        server.host = found.host();
    }
    result.storage.achieved_iops = collected.then(|| found.achieved_iops());
    result.storage.details.distributions = found.distributions();
}

/// The tables of a run folder.
struct Found<'a> {
    recorded: &'a Recorded,
    latencies: &'a BTreeMap<String, Latencies>,
}

impl Found<'_> {
    fn fill_instance(&self, instance: &mut Instance, collected: bool) {
        let numbers = |name: &str, what: &str| self.numbers(&streams::of(name, what));
        let InstanceDetails { log, databases } = &mut instance.details;
        log.reads = numbers(&instance.name, "log-read");
        log.writes = numbers(&instance.name, "log-write");
        log.format_writes = numbers(&instance.name, "log-format");
        let [mut reads, mut writes] = [const { Vec::new() }; 2];
        for database in databases {
            database.reads = numbers(&database.name, "read");
            database.writes = numbers(&database.name, "write");
            database.maintenance_reads = numbers(&database.name, "maintenance");
            reads.push(streams::of(&database.name, "read"));
            writes.push(streams::of(&database.name, "write"));
        }
        let stalls = instance.details.databases.iter();
        let stalls = stalls.map(|d| self.total(&streams::of(&d.name, PAGE_FAULT_STALLS)).count);
        let stalls = stalls.sum::<u64>() as f64 / self.recorded.length_s();
        instance.page_fault_stalls_per_s = collected.then_some(stalls);
        let operation = streams::of(&instance.name, "operation");
        let log_write = streams::of(&instance.name, "log-write");
        instance.db_read_latency = self.spread(&reads);
        instance.db_write_latency = self.spread(&writes);
        instance.log_write_latency = self.spread(&[log_write]);
        instance.transactions = collected.then(|| self.total(&operation).count);
        instance.operation_latency = self.spread(&[operation]);
        instance.add_up(collected);
    }

    fn total(&self, stream: &str) -> Total {
        let totals = &self.recorded.totals;
        totals.get(stream).copied().unwrap_or_default()
    }

    fn numbers(&self, stream: &str) -> IoNumbers {
        let (total, length) = (self.total(stream), self.recorded.length_s());
        let spread = self.spread(&[stream.to_owned()]);
        IoNumbers {
            count: total.count,
            per_s: match length > 0.0 {
                true => total.count as f64 / length,
                false => 0.0,
            },
            bytes: total.bytes,
            latency_ms_mean: total.latency_ms_mean(),
            latency_ms_p50: spread.p50_ms,
            latency_ms_p99: spread.p99_ms,
            latency_ms_max: total.latency_ms_max,
        }
    }

    /// The latencies of several streams combined. Count and maximum come from the counters.
    fn spread(&self, streams: &[String]) -> LatencySummary {
        let mut all = Latencies::new();
        let (mut count, mut longest) = (0, None);
        for stream in streams {
            if let Some(latencies) = self.latencies.get(stream) {
                all.merge(latencies);
            }
            let total = self.total(stream);
            count += total.count;
            longest = longest.into_iter().chain(total.latency_ms_max).reduce(f64::max);
        }
        LatencySummary { max_ms: longest, count, ..LatencySummary::new(&all) }
    }

    fn achieved_iops(&self) -> f64 {
        let count = self.total(DATABASE_READ).count + self.total(DATABASE_WRITE).count;
        count as f64 / self.recorded.length_s()
    }

    fn distributions(&self) -> Vec<Distribution> {
        let named = [
            ("database read", DATABASE_READ),
            ("database write", DATABASE_WRITE),
            ("log write", LOG_WRITE),
            ("operation, from its intended start", OPERATION),
        ];
        let found = named.into_iter().filter_map(|(name, stream)| {
            let latencies = self.latencies.get(stream)?;
            Some(Distribution::new(name, latencies))
        });
        found.collect()
    }

    /// The machine's counters, in the order of the report.
    fn host(&self) -> Vec<HostCounter> {
        let totals = self.recorded.totals.iter();
        let watched = totals.filter_map(|(stream, total)| {
            let name = stream.strip_prefix(streams::HOST)?;
            Some(total.values.counter(name))
        });
        let samples = self.recorded.samples.iter();
        let stalls = samples.map(|s| (s.page_fault_stalls_per_s, s.length_s));
        let stalls = HostCounter::over(host_counters::PAGE_FAULT_STALLS, stalls);
        host_counters::in_order(watched.chain([stalls]).collect())
    }
}
