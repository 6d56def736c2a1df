//! I/O of each log stream and its databases, and how it reached the storage.

use brunt_ese::meter::DatabaseMeters;
use brunt_report::result::{
    Backend, Counts, DatabaseNumbers, Durability, Instance, InstanceDetails, IoNumbers, LogNumbers,
    Measured, Volume,
};
use brunt_stats::{Latencies, Meter};
use brunt_units::Span;

use super::{Assembly, Surroundings, VolumeUse};
use crate::plan::DatabasePlan;

/// A number of reads and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadTotal {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl ReadTotal {
    /// Adds `count` reads of `bytes` bytes.
    pub(crate) fn and(self, count: u64, bytes: u64) -> Self {
        Self { count: self.count + count, bytes: self.bytes + bytes }
    }
}

impl Assembly<'_> {
    pub(super) fn instances(&self) -> Vec<Instance> {
        let mut databases = 0..;
        let mut instance = |at: usize| {
            let plan = &self.plan.instances[at];
            let databases: Vec<usize> = (&mut databases).take(plan.databases.len()).collect();
            let counts = Counts {
                transactions: self.transactions(at),
                batches: self.run.batches.get(at).copied(),
                page_fault_stalls_per_s: self.stalls(&databases),
            };
            let collected = self.run.collected.is_some();
            let (details, measured) = (self.streams(at, &databases), self.measured(at, &databases));
            Instance::new(&plan.name, details, collected, counts, &measured)
        };
        (0..self.plan.instances.len()).map(&mut instance).collect()
    }

    /// Page-fault stalls on these databases, per second of the collection.
    fn stalls(&self, databases: &[usize]) -> Option<f64> {
        self.run.collected.as_ref()?;
        let databases = databases.iter().map(|at| &self.meters.databases[*at]);
        let stalls: u64 = databases.map(|m| m.page_fault_stalls.total()).sum();
        Some(stalls as f64 / self.length.as_seconds())
    }

    /// Operations committed on an instance.
    fn transactions(&self, instance: usize) -> Option<u64> {
        let collected = self.run.collected.as_ref()?;
        let operations = collected.operations.get(instance)?;
        Some(operations.from_intended_start.count())
    }

    /// Latencies of the operations on an instance.
    fn operations(&self, instance: usize) -> Option<&Latencies> {
        let collected = self.run.collected.as_ref()?;
        let operations = collected.operations.get(instance)?;
        Some(&operations.from_intended_start)
    }

    fn streams(&self, at: usize, databases: &[usize]) -> InstanceDetails {
        let numbers = |meter: &Meter| IoNumbers::new(&meter.total(), self.length);
        let (plan, log) = (&self.plan.instances[at], &self.meters.logs[at]);
        let database = |(plan, at): (&DatabasePlan, &usize)| {
            let meters = &self.meters.databases[*at];
            DatabaseNumbers {
                name: plan.name.clone(),
                path: plan.path.display().to_string(),
                reads: numbers(&meters.reads),
                writes: numbers(&meters.writes),
                maintenance_reads: numbers(&meters.maintenance),
            }
        };
        InstanceDetails {
            log: LogNumbers {
                path: plan.log.display().to_string(),
                reads: numbers(&log.reads),
                writes: numbers(&log.writes),
                format_writes: numbers(&log.format),
                replication_reads: numbers(&log.replication),
            },
            databases: plan.databases.iter().zip(databases).map(database).collect(),
        }
    }

    fn measured(&self, at: usize, databases: &[usize]) -> Measured {
        let sum = |pick: fn(&DatabaseMeters) -> &Meter| {
            let mut all = Latencies::new();
            for at in databases {
                all.merge(pick(&self.meters.databases[*at]).latencies());
            }
            all
        };
        Measured {
            db_reads: sum(|meters| &meters.reads),
            db_writes: sum(|meters| &meters.writes),
            log_writes: self.meters.logs[at].writes.latencies().clone(),
            operations: self.operations(at).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn backend(&self, surroundings: &Surroundings) -> Backend {
        let volumes = surroundings
            .volumes
            .iter()
            .map(|used| Volume { engine_reads: self.read_on(used).count, ..used.volume.clone() });
        Backend { volumes: volumes.collect(), ..surroundings.backend.clone() }
    }

    /// Reads that the engine of this run submitted on a volume during the collection.
    pub(super) fn read_on(&self, used: &VolumeUse) -> ReadTotal {
        let databases = used.databases.iter().map(|at| &self.meters.databases[*at]);
        let databases =
            databases.flat_map(|meters| [&meters.reads, &meters.maintenance, &meters.backup]);
        let logs = used.logs.iter().flat_map(|at| {
            let log = &self.meters.logs[*at];
            [&log.reads, &log.replication]
        });
        let totals = databases.chain(logs).map(Meter::total);
        let all = totals.fold(ReadTotal::default(), |sum, total| sum.and(total.count, total.bytes));
        let carried = self.run.carried_reads(self.plan, used);
        ReadTotal {
            count: all.count.saturating_sub(carried.count),
            bytes: all.bytes.saturating_sub(carried.bytes),
        }
    }

    pub(super) fn durability(&self, surroundings: &Surroundings) -> Vec<Durability> {
        let logs = surroundings.durability.iter().zip(&self.meters.logs);
        logs.map(|(durability, meters)| {
            let mean = |meter: &Meter| meter.total().mean.map(Span::as_millis);
            let (write, sync) = (mean(&meters.writes), mean(&meters.syncs));
            Durability {
                log_latency_ms_mean: write,
                flush_share: sync.zip(write).map(|(sync, write)| sync / write),
                ..durability.clone()
            }
        })
        .collect()
    }
}
