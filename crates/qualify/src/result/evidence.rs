//! The input of the rules, from a test.

use brunt_ese::meter::Meters;
use brunt_report::host_counters;
use brunt_report::result::World;
use brunt_run::{SoFar, Standstill};
use brunt_stats::{Meter, Percentile};
use brunt_units::{ByteSize, Span};

use super::done::done;
use super::so_far::so_far;
use super::{Assembly, Surroundings, VolumeUse};
use crate::copies::Followed;
use crate::rules::device::VolumeIo;
use crate::rules::tester::Tester;
use crate::rules::{
    Evidence, RuleId, SessionsUse, StreamLatency, SystemLog, Unjudged, Writes, judge,
};

impl Assembly<'_> {
    pub(super) fn evidence(&self, surroundings: &Surroundings) -> Evidence {
        Evidence {
            busiest: surroundings.busiest.clone(),
            is_predicted: surroundings.world == World::Virtual,
            volumes: self.volumes(surroundings),
            tester: self.tester(surroundings),
            system_log: self.system_log(surroundings),
            replicas: surroundings.replicas.clone(),
            ..self.measured_so_far()
        }
    }

    /// What the kernel said, also to the interrupted run that is carried on.
    fn system_log(&self, surroundings: &Surroundings) -> Option<SystemLog> {
        let log = surroundings.system_log.clone()?;
        Some(match &self.run.carried {
            Some(earlier) => {
                let mut rules = earlier.result.rules.iter();
                log.after(rules.find(|rule| RuleId::SystemLog.is(rule)))
            }
            None => log,
        })
    }

    /// What the test knows without its surroundings.
    pub(super) fn measured_so_far(&self) -> Evidence {
        let (plan, run, meters) = (self.plan, self.run, self.meters);
        let collected = run.collected.as_ref();
        let streams = |names: Vec<&String>, means: Vec<Option<Span>>, samples: Option<&Vec<_>>| {
            let of = |at: usize| samples.map_or_else(Default::default, |s| s[at]);
            let streams = names.into_iter().zip(means).enumerate();
            let stream = |(at, (name, mean)): (usize, (&String, _))| StreamLatency {
                name: name.clone(),
                mean,
                samples: of(at),
            };
            streams.map(stream).collect::<Vec<_>>()
        };
        let mean = |meter: &Meter| collected.and(meter.total().mean);
        let reads = meters.databases.iter().map(|m| mean(&m.reads)).collect();
        let logs = meters.logs.iter().map(|m| mean(&m.writes)).collect();
        let names = plan.databases().map(|database| &database.name).collect();
        let log_names = plan.instances.iter().map(|i| &i.name).collect();
        // A test without a collection has no rates.
        let per_second = |count: u64| {
            let seconds = self.length.as_seconds();
            (seconds > 0.0).then(|| count as f64 / seconds)
        };
        let io = meters.databases.iter().map(|m| m.reads.total().count + m.writes.total().count);
        let databases = meters.databases.iter();
        let writes = databases.map(|m| m.writes.total().count).sum();
        let judged = run.files.as_ref().filter(|files| !files.read_only);
        Evidence {
            reads: streams(names, reads, collected.map(|c| &c.reads)),
            log_writes: streams(log_names, logs, collected.map(|c| &c.log_writes)),
            stalls_per_s: collected.and_then(|_| per_second(meters.page_fault_stalls.total())),
            achieved_io_per_s: collected.and_then(|_| per_second(io.sum())),
            writes: plan.load.writes().then(|| Writes {
                per_s: collected.and_then(|_| per_second(writes)),
                short_of: run.short_of.clone(),
            }),
            target: run.target,
            tuning: run.tuning.clone(),
            shortened: run.is_shortened.then_some((self.length, plan.duration)),
            sessions: self.sessions(),
            samples: collected.map_or_else(Vec::new, |c| c.samples.clone()),
            read_tails: self.tails(plan.databases().map(|d| &d.name), reads_of(meters)),
            log_tails: self.tails(plan.instances.iter().map(|i| &i.name), logs_of(meters)),
            operation_p99: run
                .operation_latencies()
                .from_intended_start
                .percentile(Percentile::P99),
            stop: collected.map(|c| c.stop.clone()),
            mailboxes: plan.mailboxes,
            unjudged: match &run.files {
                Some(files) if files.read_only => Unjudged::WithoutContent,
                None if !plan.read_files => Unjudged::NotAsked,
                _ => Unjudged::EndedBefore,
            },
            pages: judged.map(|files| files.databases),
            logs: judged.map(|files| files.logs),
            records: run.records,
            wrong_files: run.found.files(),
            findings: run.log.findings,
            copies: run.copies.iter().map(Followed::outcome).collect(),
            io_errors: run.errors.count,
            first_error: run.errors.first.clone(),
            hung: run.hung.clone(),
            done: done(plan, run),
            restored: run.restored.map(|restored| restored.took),
            tester: Tester {
                delay_p99: self.run.delays.percentile(Percentile::P99),
                standstill: self.standstill(),
                ..Tester::default()
            },
            ..Evidence::default()
        }
    }

    /// The rules of a test that is still running.
    pub(super) fn so_far(&self) -> SoFar {
        let rules = judge(self.plan.kind, &self.measured_so_far(), &self.plan.limits);
        so_far(&rules)
    }

    /// What sessions did with their time.
    fn sessions(&self) -> Option<SessionsUse> {
        // Of an interrupted run that was carried on, the time in operations is not known.
        if self.run.carried.is_some() {
            return None;
        }
        self.run.collected.as_ref()?;
        let whole = f64::from(self.run.sessions) * self.length.as_seconds();
        let operations = self.run.operation_latencies().from_actual_start;
        // The computing comes after the end of an operation.
        let each = operations.mean()?.as_seconds() + self.plan.load.cost.as_seconds();
        (whole > 0.0).then(|| SessionsUse {
            count: self.run.sessions,
            busy: (each * operations.count() as f64 / whole).min(1.0),
        })
    }

    /// What the program and its machine report about themselves.
    fn tester(&self, surroundings: &Surroundings) -> Tester {
        let mean = |name: &str| {
            let mut counters = surroundings.host.iter();
            counters.find(|counter| counter.counter == name)?.avg
        };
        Tester {
            delay_p99: self.run.delays.percentile(Percentile::P99),
            standstill: self.standstill(),
            io_limits: surroundings.io_limits.clone(),
            busy_percent: mean(host_counters::OWN_PROCESSOR)
                .map(|percent| percent / f64::from(self.plan.shards)),
            host_percent: mean(host_counters::PROCESSOR),
            steal_percent: mean(host_counters::STEAL),
            throttled_percent: mean(host_counters::THROTTLED),
        }
    }

    /// When the program did not run, or how late it was at most; `None` where no clock can tell.
    fn standstill(&self) -> Option<Standstill> {
        let still = self.run.collected.as_ref()?.standstill.clone();
        match still.count {
            0 => Some(Standstill { longest: self.run.delays.max()?, ..still }),
            _ => Some(still),
        }
    }

    /// The p99.9 of each stream.
    fn tails<'s>(
        &self,
        names: impl Iterator<Item = &'s String>,
        meters: impl Iterator<Item = &'s Meter>,
    ) -> Vec<(String, Span)> {
        let collected = self.run.collected.is_some();
        let tails = names.zip(meters).filter(|_| collected);
        tails
            .filter_map(|(name, meter)| {
                let tail = meter.latencies().percentile(Percentile::P99_9)?;
                Some((name.clone(), tail))
            })
            .collect()
    }

    /// What the engine read on each volume, and what the devices report.
    pub(super) fn volumes(&self, surroundings: &Surroundings) -> Vec<VolumeIo> {
        let volumes = surroundings.volumes.iter();
        let databases = &self.meters.databases;
        volumes
            .map(|used| VolumeIo {
                mount: used.volume.mount.clone(),
                engine: self.read_on(used).bytes,
                blank: used.databases.iter().map(|at| databases[*at].blank.total()).sum(),
                copies: self.copies_read_on(&used.volume.mount),
                parity: self.parity_read_on(used),
                device: used.device_read.map(ByteSize::get),
                engine_written: self.written_on(used),
                written_times: written_times(used),
                device_written: used
                    .device_written
                    .filter(|_| self.knows_writes_on(&used.volume.mount))
                    .map(ByteSize::get),
                is_uncounted: used.device_read.is_none()
                    && used.volume.stack.iter().any(|device| device.is_leaf),
            })
            .collect()
    }

    /// Bytes that software RAID may have read to compute parity.
    fn parity_read_on(&self, used: &VolumeUse) -> u64 {
        let reads = used.volume.stack.iter().map(|device| with_parity(&device.made).unwrap_or(0));
        self.written_on(used) * reads.max().unwrap_or(0)
    }

    /// Bytes that the engine wrote on a volume.
    fn written_on(&self, used: &VolumeUse) -> u64 {
        let databases = used.databases.iter().map(|at| &self.meters.databases[*at]);
        let databases = databases.map(|m| m.writes.total().bytes + m.growth.total().bytes);
        let logs = used.logs.iter().map(|at| &self.meters.logs[*at]);
        let logs = logs.map(|m| m.writes.total().bytes + m.format.total().bytes);
        databases.chain(logs).sum()
    }

    /// Whether everything that brunt wrote below `mount` is known: not that of an interrupted run
    /// which was carried on, nor what copies write.
    fn knows_writes_on(&self, mount: &str) -> bool {
        self.run.carried.is_none() && self.copies_on(mount).next().is_none()
    }

    /// Passive copies with databases below `mount`, or on a volume that is mounted below it.
    fn copies_on(&self, mount: &str) -> impl Iterator<Item = &str> {
        let plans = self.plan.passive.iter().filter(move |copy| {
            let mut databases = copy.files.databases.iter();
            databases.any(|database| database.path.starts_with(mount))
        });
        plans.map(|copy| copy.files.name.as_str())
    }

    fn copies_read_on(&self, mount: &str) -> u64 {
        let names: Vec<&str> = self.copies_on(mount).collect();
        let copies = self.run.copies.iter();
        let there = copies.filter(|copy| names.contains(&copy.name.as_str()));
        there.map(|copy| copy.read_bytes).sum()
    }
}

/// I/Os with which md of this kind reads, and then writes, what a small write replaces and each
/// parity; `None` without parity.
fn with_parity(made: &str) -> Option<u64> {
    match made {
        "raid4" | "raid5" => Some(2),
        "raid6" => Some(3),
        _ => None,
    }
}

/// How often RAID under a volume may write each byte, with parity.
fn written_times(used: &VolumeUse) -> u64 {
    let leaves = used.volume.stack.iter().filter(|device| device.is_leaf).count() as u64;
    let of_md = used.volume.stack.iter().map(|device| match device.made.as_str() {
        "raid1" | "raid10" => leaves,
        made => with_parity(made).unwrap_or(1),
    });
    match of_md.max() {
        Some(times) if times > 1 => times,
        // RAID of LVM or btrfs, whose kind is not known here.
        _ if !used.volume.redundancy.is_empty() => leaves,
        _ => 1,
    }
}

fn reads_of(meters: &Meters) -> impl Iterator<Item = &Meter> {
    meters.databases.iter().map(|database| &database.reads)
}

fn logs_of(meters: &Meters) -> impl Iterator<Item = &Meter> {
    meters.logs.iter().map(|log| &log.writes)
}
