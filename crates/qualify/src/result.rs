//! From a test and its surroundings to the result that is written down.
//!
//! The test knows what the engine did; what machine it ran on, how I/O reached the storage and what the kernel counted
//! comes from outside as [`Surroundings`], because in a virtual world there is none of it.

use brunt_ese::meter::Meters;
use brunt_report::Timestamp;
use brunt_report::result::{
    Backend, DatabaseNumbers, Durability, Host, Instance, IoNumbers, Limits, LogNumbers, Origin,
    RunResult, SCHEMA_VERSION, Setup, Sizing, Times, Volume,
};
use brunt_stats::Meter;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::Kind;
use brunt_workload::session::Scheduling;

use crate::plan::Plan;
use crate::qualifies::{Circumstances, obstacles};
use crate::rules::{Evidence, StreamLatency, judge, sentence, verdict};
use crate::run::TestRun;
use crate::sampling::distributions;

/// What a test does not know of itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The machine.
    pub host: Host,
    /// How I/O was submitted; its volumes are filled from [`Surroundings::volumes`].
    pub backend: Backend,
    /// The file systems, and what lies on each.
    pub volumes: Vec<VolumeUse>,
    /// How log writes became durable, one for each instance; latencies are filled in.
    pub durability: Vec<Durability>,
    /// How the result came to be.
    pub origin: Origin,
}

/// A file system in use.
#[derive(Clone, Debug)]
pub struct VolumeUse {
    /// What is written down of it; the engine's reads are filled in.
    pub volume: Volume,
    /// Its size, if it is known.
    pub bytes: Option<ByteSize>,
    /// Databases on it, by their number in the plan.
    pub databases: Vec<usize>,
    /// Logs on it, by their instance.
    pub logs: Vec<usize>,
}

/// The result of `run`.
pub fn result(plan: &Plan, run: &TestRun, surroundings: &Surroundings) -> RunResult {
    run.board.with(|meters| {
        let assembly = Assembly {
            plan,
            run,
            meters,
            length: run.collected.as_ref().map_or(Span::ZERO, |c| c.length),
        };
        assembly.result(surroundings)
    })
}

struct Assembly<'a> {
    plan: &'a Plan,
    run: &'a TestRun,
    meters: &'a Meters,
    length: Span,
}

impl Assembly<'_> {
    fn result(&self, surroundings: &Surroundings) -> RunResult {
        let (plan, run) = (self.plan, self.run);
        let evidence = self.evidence();
        let rules = judge(&evidence, &plan.limits);
        let reasons = obstacles(&self.circumstances(surroundings));
        let collected = run.collected.as_ref();
        RunResult {
            schema_version: SCHEMA_VERSION,
            name: plan.name.clone(),
            verdict: verdict(&run.ending, &rules),
            sentence: sentence(&run.ending, &rules, evidence.achieved_io_per_s),
            qualifies: reasons.is_empty(),
            reasons,
            rules,
            times: self.times(),
            setup: self.setup(),
            sizing: Sizing {
                achieved_io_per_s: evidence.achieved_io_per_s,
                target_io_per_s: plan.target_io_per_s,
                db_bytes_initial: sum(&run.initial),
                db_bytes_final: sum(&run.last),
            },
            instances: self.instances(),
            page_fault_stalls_per_s: evidence.stalls_per_s,
            samples: collected.map_or_else(Vec::new, |c| c.samples.clone()),
            distributions: distributions(self.meters, &run.operation_latencies()),
            verification: run
                .files
                .as_ref()
                .map_or_else(Vec::new, |f| f.files.clone()),
            host: surroundings.host.clone(),
            backend: self.backend(surroundings),
            durability: self.durability(surroundings),
            origin: surroundings.origin.clone(),
        }
    }

    fn evidence(&self) -> Evidence {
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
        let per_second = |count: u64| count as f64 / self.length.as_seconds();
        let io = meters
            .databases
            .iter()
            .map(|m| m.reads.total().count + m.writes.total().count);
        Evidence {
            reads: streams(names, reads, collected.map(|c| &c.reads)),
            log_writes: streams(log_names, logs, collected.map(|c| &c.log_writes)),
            stalls_per_s: collected.map(|_| per_second(meters.page_fault_stalls.total())),
            achieved_io_per_s: collected.map(|_| per_second(io.sum())),
            target_io_per_s: plan.target_io_per_s,
            pages: run.files.as_ref().map(|files| files.databases),
            logs: run.files.as_ref().map(|files| files.logs),
            records: run.records,
            findings: run.log.findings,
            io_errors: run.errors.0,
            first_error: run.errors.1.clone(),
        }
    }

    fn times(&self) -> Times {
        let run = self.run;
        let at = |time| timestamp(self.plan, time);
        let collected = run.collected.as_ref();
        Times {
            started: at(run.started),
            collection_started: collected.map(|c| at(c.begin)),
            collection_ended: collected.map(|c| at(c.begin + c.length)),
            ended: at(run.ended),
            collection_s: self.length.as_seconds(),
        }
    }

    fn setup(&self) -> Setup {
        let plan = self.plan;
        let (engine, mix, latency) = (&plan.engine, plan.load.mix, plan.limits.latency);
        Setup {
            kind: "performance".to_owned(),
            description: plan.description.clone(),
            profile: format!("exchange-{}", plan.version.name()),
            sessions: plan.sessions,
            page_bytes: engine.page.bytes_u64(),
            log_file_bytes: engine.log_file.get(),
            log_buffer_bytes: engine.log_buffer.get(),
            cache_bytes_min: engine.cache_min.get(),
            cache_bytes_max: engine.cache_max.get(),
            checkpoint_depth_bytes: engine.checkpoint_depth.get(),
            insert_percent: mix.percent(Kind::Insert),
            delete_percent: mix.percent(Kind::Delete),
            replace_percent: mix.percent(Kind::Replace),
            read_percent: mix.percent(Kind::Read),
            lazy_commit_percent: mix.lazy_percent(),
            background_maintenance: engine.maintenance.is_some(),
            copies: 1,
            circular_logging: engine.circular,
            limits: Limits {
                database_read_ms_mean: latency.read_mean.as_millis(),
                database_read_ms_max: latency.read_sample.as_millis(),
                log_write_ms_mean: latency.log_mean.as_millis(),
                log_write_ms_max: latency.log_sample.as_millis(),
            },
        }
    }

    fn instances(&self) -> Vec<Instance> {
        let numbers = |meter: &Meter| IoNumbers::new(&meter.total(), self.length);
        let mut meters = self.meters.databases.iter();
        let instances = self.plan.instances.iter().zip(&self.meters.logs);
        instances
            .map(|(instance, log)| Instance {
                name: instance.name.clone(),
                log: LogNumbers {
                    path: instance.log.display().to_string(),
                    reads: numbers(&log.reads),
                    writes: numbers(&log.writes),
                    format_writes: numbers(&log.format),
                    replication_reads: IoNumbers::default(),
                },
                databases: instance
                    .databases
                    .iter()
                    .zip(&mut meters)
                    .map(|(database, meters)| DatabaseNumbers {
                        name: database.name.clone(),
                        path: database.path.display().to_string(),
                        reads: numbers(&meters.reads),
                        writes: numbers(&meters.writes),
                        maintenance_reads: numbers(&meters.maintenance),
                    })
                    .collect(),
            })
            .collect()
    }

    fn backend(&self, surroundings: &Surroundings) -> Backend {
        let volumes = surroundings.volumes.iter().map(|used| Volume {
            engine_reads: self.reads_on(used),
            ..used.volume.clone()
        });
        Backend {
            volumes: volumes.collect(),
            ..surroundings.backend.clone()
        }
    }

    /// Reads of the collection that the engine asked of a volume.
    fn reads_on(&self, used: &VolumeUse) -> u64 {
        let databases = used.databases.iter().map(|at| &self.meters.databases[*at]);
        let databases = databases.map(|meters| {
            let of = [&meters.reads, &meters.maintenance, &meters.backup];
            of.map(|meter| meter.total().count).iter().sum::<u64>()
        });
        let logs = used.logs.iter().map(|at| &self.meters.logs[*at]);
        databases.sum::<u64>() + logs.map(|meters| meters.reads.total().count).sum::<u64>()
    }

    fn durability(&self, surroundings: &Surroundings) -> Vec<Durability> {
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

    fn circumstances(&self, surroundings: &Surroundings) -> Circumstances {
        let data = ByteSize::bytes(sum(&self.run.last));
        let memory = surroundings.host.memory_bytes;
        let shares = surroundings.volumes.iter().filter_map(|used| {
            let on_it = used.databases.iter().map(|at| self.run.last[*at].get());
            let whole = used.bytes.filter(|bytes| bytes.get() > 0)?;
            let share = on_it.sum::<u64>() as f64 / whole.get() as f64;
            (!used.databases.is_empty()).then_some(share)
        });
        Circumstances {
            measured: self.length,
            data,
            memory: (memory > 0).then(|| ByteSize::bytes(memory)),
            direct: surroundings.backend.direct,
            volume_share: shares.min_by(f64::total_cmp),
            scheduling: held_back(self.plan.load.scheduling),
        }
    }
}

fn held_back(scheduling: Scheduling) -> Option<String> {
    match scheduling {
        Scheduling::None | Scheduling::Paced { .. } => None,
        Scheduling::Pause { .. } | Scheduling::Station { .. } => {
            Some("sessions were held back by a model".to_owned())
        }
    }
}

fn sum(sizes: &[ByteSize]) -> u64 {
    sizes.iter().map(|size| size.get()).sum()
}

/// A time of the world's clock as one of the calendar.
pub fn timestamp(plan: &Plan, time: Time) -> Timestamp {
    let millis = plan.epoch_ms + time.0.div_euclid(1_000_000);
    Timestamp {
        unix_seconds: millis.div_euclid(1_000),
    }
}
