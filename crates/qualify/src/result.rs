//! From a test and its surroundings to the result that is written down.
//!
//! The test knows what the engine did; what machine it ran on, how I/O reached the storage and what the kernel counted
//! comes from outside as [`Surroundings`], because in a virtual world there is none of it.

use brunt_ese::instance::Circular;
use brunt_ese::meter::{DatabaseMeters, Meters};
use brunt_report::host_counters::{self, DELAY, PAGE_FAULT_STALLS, in_order};
use brunt_report::result::{
    Backend, Backup, Counts, DatabaseNumbers, Details, Durability, HostCounter, InjectedFault,
    Instance, InstanceDetails, Integrity, IoNumbers, Limits, LogNumbers, Machine, Measured, Origin,
    Recovery, RunResult, SCHEMA, Server, ServerDetails, Setup, Storage, Times, Volume, World,
};
use brunt_report::{Timestamp, decimals};
use brunt_stats::{Latencies, Meter, Percentile};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::Kind;
use brunt_workload::profile::SessionScope;
use brunt_workload::session::Scheduling;

use crate::goal::TestKind;
use crate::oracle::Findings;
use crate::plan::{DatabasePlan, Plan};
use crate::qualifies::{Circumstances, obstacles, unproven};
use crate::rules::device::{self, VolumeReads};
use crate::rules::tester::{self, Tester};
use crate::rules::{
    Done, Evidence, RecordsVerified, RuleId, StreamLatency, integrity, judge, sentence,
    shows_headroom, verdict,
};
use crate::sampling::distributions;
use crate::test_run::TestRun;

/// What a test does not know of itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Real or virtual.
    pub world: World,
    /// The machine.
    pub machine: Machine,
    /// What was watched of it during the collection, apart from what the engine counts itself.
    pub host: Vec<HostCounter>,
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
    /// Bytes that the devices beneath read during the collection, as the kernel counts; nothing where there are none.
    pub device_read: Option<ByteSize>,
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

/// The result of a run of `plan` that began at `started` and has not ended: what it is of, and no number. It lies in the run
/// folder from the beginning, so that there is a report when the machine dies.
pub fn unfinished(plan: &Plan, started: Time, surroundings: &Surroundings) -> RunResult {
    let run = TestRun::unfinished(plan, started);
    let mut result = result(plan, &run, surroundings);
    result.times.ended = None;
    result.storage.details.sentence = "The run has not ended.".to_owned();
    result.reasons = vec!["the run has not ended".to_owned()];
    result
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
        let evidence = self.evidence(surroundings);
        let rules = judge(plan.kind, &evidence, &plan.limits);
        let verdict = verdict(&run.ending, &rules);
        let mut reasons = obstacles(&self.circumstances(surroundings, &evidence));
        reasons.extend(unproven(verdict, &rules));
        RunResult {
            schema: SCHEMA.to_owned(),
            scenario: plan.name.clone(),
            world: surroundings.world,
            verdict,
            qualifies: reasons.is_empty(),
            reasons,
            times: self.times(),
            origin: surroundings.origin.clone(),
            storage: Storage {
                test: plan.kind.word().to_owned(),
                achieved_iops: evidence.achieved_io_per_s,
                target_iops: run.target.map(|target| target.io_per_s),
                database_bytes_initial: known(&run.initial),
                database_bytes_final: known(&run.last),
                database_files: plan.databases().count() as u64,
                integrity: integrity(run.records, run.log.findings).map(in_result),
                faults: self.faults(),
                servers: vec![self.server(surroundings)],
                details: Details {
                    sentence: sentence(&run.ending, &rules, &evidence),
                    setup: self.setup(),
                    tuning: run.tuning.clone(),
                    distributions: distributions(self.meters, &run.operation_latencies()),
                    found: run.found.lines().to_vec(),
                    model: None,
                },
            },
            rules,
        }
    }

    fn server(&self, surroundings: &Surroundings) -> Server {
        let files = self.run.files.as_ref();
        Server {
            name: surroundings.machine.name.clone(),
            instances: self.instances(),
            host: self.host(surroundings),
            checksum: files.map_or_else(Vec::new, |files| files.files.clone()),
            backup: self.backups(),
            recovery: self.recoveries(),
            details: ServerDetails {
                machine: surroundings.machine.clone(),
                backend: self.backend(surroundings),
                durability: self.durability(surroundings),
            },
        }
    }

    /// What was watched, and what the engine counted of itself.
    fn host(&self, surroundings: &Surroundings) -> Vec<HostCounter> {
        let samples = self.run.collected.iter().flat_map(|c| &c.samples);
        let stalls = samples.map(|s| (s.page_fault_stalls_per_s, s.length_s));
        let mut host = surroundings.host.clone();
        host.push(HostCounter::over(PAGE_FAULT_STALLS, stalls));
        host.extend(self.delays());
        in_order(host)
    }

    /// What was to go wrong on purpose; while it is not known how often it did, the plan.
    fn faults(&self) -> Vec<InjectedFault> {
        let struck = |at: usize| self.run.injected.get(at).map(|injected| injected.struck);
        let faults = self.plan.faults.iter().enumerate();
        faults
            .map(|(at, fault)| InjectedFault {
                fault: fault.kind.to_string(),
                file: fault.file.display().to_string(),
                struck: struck(at),
            })
            .collect()
    }

    /// How fast databases were read.
    fn backups(&self) -> Vec<Backup> {
        let databases: Vec<&DatabasePlan> = self.plan.databases().collect();
        let backups = self.run.backups.iter();
        backups
            .map(|done| {
                let megabytes = done.bytes.get() as f64 / f64::from(1 << 20);
                let seconds = done.took.as_seconds();
                Backup {
                    instance: databases[done.database].name.clone(),
                    megabytes,
                    seconds,
                    mb_per_s: megabytes / seconds.max(f64::MIN_POSITIVE),
                }
            })
            .collect()
    }

    /// How fast logs were replayed.
    fn recoveries(&self) -> Vec<Recovery> {
        let recoveries = self.run.recoveries.iter();
        recoveries
            .map(|done| Recovery {
                instance: self.plan.instances[done.instance].name.clone(),
                logs: done.logs.into(),
                seconds: done.took.as_seconds(),
            })
            .collect()
    }

    /// What a test of another kind than load had to do.
    fn done(&self) -> Vec<Done> {
        match self.plan.kind {
            TestKind::Performance | TestKind::Stress => Vec::new(),
            TestKind::DatabaseBackup => self.backups_done(),
            TestKind::SoftRecovery => vec![self.recoveries_done()],
        }
    }

    fn backups_done(&self) -> Vec<Done> {
        let backups = self.backups();
        let databases = self.plan.databases().count() as u64;
        let rate: f64 = backups.iter().map(|backup| backup.mb_per_s).sum();
        let read = Done {
            what: RuleId::DatabasesBackedUp,
            wanted: databases,
            done: Some(backups.len() as u64),
            remark: format!("{} MiB/s over all of them", decimals(rate)),
        };
        let restored = self.plan.copy_to.as_ref().map(|_| Done {
            what: RuleId::DatabasesRestored,
            wanted: databases,
            done: match (self.run.restored, self.run.attempted) {
                (Some(_), _) => Some(databases),
                (None, true) => Some(0),
                (None, false) => None,
            },
            remark: self.run.restored.map_or_else(String::new, |restored| {
                let mebibytes = restored.bytes as f64 / f64::from(1 << 20);
                let seconds = restored.took.as_seconds();
                format!(
                    "in {} s with recovery, {} MiB/s",
                    decimals(seconds),
                    decimals(mebibytes / seconds.max(f64::MIN_POSITIVE))
                )
            }),
        });
        std::iter::once(read).chain(restored).collect()
    }

    fn recoveries_done(&self) -> Done {
        let logs = self.run.recoveries.iter().map(|done| u64::from(done.logs));
        let per_log = self.run.recoveries.iter().map(|done| {
            let logs = f64::from(done.logs.max(1));
            done.took.as_seconds() / logs
        });
        Done {
            what: RuleId::LogsReplayed,
            wanted: self.plan.logs.into(),
            done: logs.min().or(self.run.attempted.then_some(0)),
            remark: per_log
                .max_by(f64::total_cmp)
                .map_or_else(String::new, |slowest| {
                    format!("{} ms for each log file at most", decimals(slowest * 1e3))
                }),
        }
    }

    /// How late the engine's thread was woken.
    fn delays(&self) -> Option<HostCounter> {
        let delays = &self.run.delays;
        let millis = |span: Option<Span>| span.map(Span::as_millis);
        Some(HostCounter {
            avg: Some(delays.mean()?.as_millis()),
            min: millis(delays.percentile(Percentile::per_mille(1))),
            max: millis(delays.max()),
            ..HostCounter::absent(DELAY)
        })
    }

    fn evidence(&self, surroundings: &Surroundings) -> Evidence {
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
        // Nothing was measured by a test that ended as it began.
        let per_second = |count: u64| {
            let seconds = self.length.as_seconds();
            (seconds > 0.0).then(|| count as f64 / seconds)
        };
        let io = meters
            .databases
            .iter()
            .map(|m| m.reads.total().count + m.writes.total().count);
        let judged = run.files.as_ref().filter(|files| !files.read_only);
        Evidence {
            reads: streams(names, reads, collected.map(|c| &c.reads)),
            log_writes: streams(log_names, logs, collected.map(|c| &c.log_writes)),
            stalls_per_s: collected.and_then(|_| per_second(meters.page_fault_stalls.total())),
            achieved_io_per_s: collected.and_then(|_| per_second(io.sum())),
            target: run.target,
            tuning: run.tuning.clone(),
            samples: collected.map_or_else(Vec::new, |c| c.samples.clone()),
            read_tails: self.tails(plan.databases().map(|d| &d.name), reads_of(meters)),
            log_tails: self.tails(plan.instances.iter().map(|i| &i.name), logs_of(meters)),
            operation_p99: run
                .operation_latencies()
                .from_intended_start
                .percentile(Percentile::P99),
            mailboxes: plan.mailboxes,
            without_content: run.files.as_ref().is_some_and(|files| files.read_only),
            pages: judged.map(|files| files.databases),
            logs: judged.map(|files| files.logs),
            records: run.records,
            findings: run.log.findings,
            io_errors: run.errors.0,
            first_error: run.errors.1.clone(),
            hung: run.hung.clone(),
            done: self.done(),
            volumes: self.volumes(surroundings),
            tester: self.tester(surroundings),
        }
    }

    /// What the program and its machine say of themselves.
    fn tester(&self, surroundings: &Surroundings) -> Tester {
        let mean = |name: &str| {
            let mut counters = surroundings.host.iter();
            counters.find(|counter| counter.counter == name)?.avg
        };
        Tester {
            delay_p99: self.run.delays.percentile(Percentile::P99),
            busy_percent: mean(host_counters::OWN_PROCESSOR),
            steal_percent: mean(host_counters::STEAL),
            throttled_percent: mean(host_counters::THROTTLED),
        }
    }

    /// The slowest thousandth of each stream.
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

    /// What the engine read on each volume, and what the devices say.
    fn volumes(&self, surroundings: &Surroundings) -> Vec<VolumeReads> {
        let volumes = surroundings.volumes.iter();
        let databases = &self.meters.databases;
        volumes
            .map(|used| VolumeReads {
                mount: used.volume.mount.clone(),
                engine: self.read_on(used).bytes,
                blank: used
                    .databases
                    .iter()
                    .map(|at| databases[*at].blank.total())
                    .sum(),
                device: used.device_read.map(ByteSize::get),
            })
            .collect()
    }

    fn times(&self) -> Times {
        let run = self.run;
        let at = |time| timestamp(self.plan, time);
        let collected = run.collected.as_ref();
        Times {
            started: at(run.started),
            collection_started: collected.map(|c| at(c.begin)),
            collection_ended: collected.map(|c| at(c.begin + c.length)),
            ended: Some(at(run.ended)),
            collection_s: self.length.as_seconds(),
        }
    }

    fn setup(&self) -> Setup {
        let plan = self.plan;
        let (engine, mix, latency) = (&plan.engine, plan.load.mix, plan.limits.latency);
        Setup {
            description: plan.description.clone(),
            profile: format!("exchange-{}", plan.version.name()),
            sessions: self.run.sessions,
            session_scope: match plan.session_scope {
                SessionScope::Server => "server",
                SessionScope::Instance => "instance",
                SessionScope::Database => "database",
            }
            .to_owned(),
            sessions_each: self.run.sessions.div_euclid(plan.session_unit()),
            capacity_percent: plan.capacity_percent,
            mailboxes: plan.mailboxes,
            throughput_percent: plan.throughput_percent,
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
            copies: plan.copies,
            circular_logging: engine.circular != Circular::Off,
            limits: Limits {
                database_read_ms_mean: latency.read_mean.as_millis(),
                database_read_ms_max: latency.read_sample.as_millis(),
                log_write_ms_mean: latency.log_mean.as_millis(),
                log_write_ms_max: latency.log_sample.as_millis(),
            },
        }
    }

    fn instances(&self) -> Vec<Instance> {
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

    /// Page-fault stalls on these databases, per second of collection.
    fn stalls(&self, databases: &[usize]) -> Option<f64> {
        self.run.collected.as_ref()?;
        let databases = databases.iter().map(|at| &self.meters.databases[*at]);
        let stalls: u64 = databases.map(|m| m.page_fault_stalls.total()).sum();
        Some(stalls as f64 / self.length.as_seconds())
    }

    /// Operations that took place on an instance.
    fn transactions(&self, instance: usize) -> Option<u64> {
        let collected = self.run.collected.as_ref()?;
        let operations = collected.operations.get(instance)?;
        Some(operations.from_actual_start.count())
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

    fn backend(&self, surroundings: &Surroundings) -> Backend {
        let volumes = surroundings.volumes.iter().map(|used| Volume {
            engine_reads: self.read_on(used).count,
            ..used.volume.clone()
        });
        Backend {
            volumes: volumes.collect(),
            ..surroundings.backend.clone()
        }
    }

    /// Reads of the collection that the engine asked of a volume.
    fn read_on(&self, used: &VolumeUse) -> ReadTotal {
        let databases = used.databases.iter().map(|at| &self.meters.databases[*at]);
        let databases =
            databases.flat_map(|meters| [&meters.reads, &meters.maintenance, &meters.backup]);
        let logs = used.logs.iter().flat_map(|at| {
            let log = &self.meters.logs[*at];
            [&log.reads, &log.replication]
        });
        databases
            .chain(logs)
            .fold(ReadTotal::default(), |sum, meter| {
                let total = meter.total();
                ReadTotal {
                    count: sum.count + total.count,
                    bytes: sum.bytes + total.bytes,
                }
            })
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

    fn circumstances(&self, surroundings: &Surroundings, evidence: &Evidence) -> Circumstances {
        let data = ByteSize::bytes(sum(&self.run.last));
        let memory = surroundings.machine.memory_bytes;
        let shares = surroundings.volumes.iter().filter_map(|used| {
            let on_it = used
                .databases
                .iter()
                .map(|at| self.run.last.get(*at).map_or(0, |size| size.get()));
            let whole = used.bytes.filter(|bytes| bytes.get() > 0)?;
            let share = on_it.sum::<u64>() as f64 / whole.get() as f64;
            (!used.databases.is_empty()).then_some(share)
        });
        let achieved = evidence.achieved_io_per_s;
        let target = self.run.target;
        Circumstances {
            kind: self.plan.kind,
            measured: self.length,
            data,
            memory: (memory > 0).then(|| ByteSize::bytes(memory)),
            array_cache: self.plan.array_cache,
            direct: surroundings.backend.direct,
            reached_devices: device::agrees(&evidence.volumes),
            headroom: !self.plan.kind.has_limits()
                || target.is_none_or(|target| shows_headroom(target, achieved, &self.plan.limits)),
            host: tester::obstacle(&evidence.tester),
            volume_share: shares.min_by(f64::total_cmp),
            scheduling: held_back(self.plan.load.scheduling),
            faults: self.plan.faults.len(),
        }
    }
}

/// A number of reads and what they brought.
#[derive(Clone, Copy, Debug, Default)]
struct ReadTotal {
    count: u64,
    bytes: u64,
}

fn in_result((found, findings): (RecordsVerified, Findings)) -> Integrity {
    Integrity {
        records: found.expected,
        records_checked: found.checked,
        versions_known: found.known,
        lost: findings.lost,
        stale: findings.stale,
        phantom: findings.phantom,
        torn: findings.torn,
    }
}

fn reads_of(meters: &Meters) -> impl Iterator<Item = &Meter> {
    meters.databases.iter().map(|database| &database.reads)
}

fn logs_of(meters: &Meters) -> impl Iterator<Item = &Meter> {
    meters.logs.iter().map(|log| &log.writes)
}

fn held_back(scheduling: Scheduling) -> Option<String> {
    match scheduling {
        Scheduling::None | Scheduling::Paced { .. } => None,
        Scheduling::Pause { .. } | Scheduling::Station { .. } => {
            Some("sessions were held back by a model".to_owned())
        }
    }
}

/// The sum of what is known.
fn known(sizes: &[ByteSize]) -> Option<u64> {
    (!sizes.is_empty()).then(|| sum(sizes))
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
