//! Turns a test and its surroundings into the written result.
//!
//! The test knows what the engine did. The machine, the backend and the kernel's counters come from
//! outside as [`Surroundings`], because a virtual world has none of them.

mod again;
mod circumstances;
mod done;
mod evidence;
mod instances;
pub mod lighter;
mod phases;
pub mod qualifies;
mod setup;
mod so_far;

pub use again::{Again, again};
pub(crate) use instances::ReadTotal;
pub use setup::timestamp;

use brunt_ese::meter::Meters;
use brunt_report::host_counters::{DELAY, PAGE_FAULT_STALLS, in_order};
use brunt_report::result::{
    Backend, BusyPart, Details, Durability, HostCounter, InjectedFault, Integrity, Machine, Origin,
    Outcome, PhaseName, RunResult, SCHEMA, Sample, Server, ServerDetails, Storage, Verdict, Volume,
    Watched, World,
};
use brunt_report::streams::HOST;
use brunt_run::{Folded, SoFar};
use brunt_stats::Percentile;
use brunt_units::{ByteSize, Span, Time};

use crate::copies;
use crate::phases::test_run::TestRun;
use crate::plan::Plan;
use crate::rules::tester::Tester;
use crate::rules::{
    Ending, Evidence, RecordsVerified, ReplicaOutcome, RuleId, SystemLog, beyond_mending,
    bottleneck, integrity, judge, sentence, verdict,
};
use crate::sampling::distributions;
use crate::truth::oracle::Findings;
use done::{backups, recoveries, restored};
use qualifies::{Circumstances, obstacles, unproven};

/// How [`Device::made`](brunt_report::result::Device::made) ends for a file whose I/O goes through
/// the page cache.
pub const THROUGH_CACHE: &str = " through the page cache";

/// What a test does not know about itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Real or virtual.
    pub world: World,
    pub machine: Machine,
    /// Counters of the machine during the collection, apart from those of the engine.
    pub host: Vec<HostCounter>,
    /// The same of each phase that has no samples.
    pub phases: Vec<(PhaseName, Vec<HostCounter>)>,
    /// Where volumes of copies and backups are mounted, besides [`Surroundings::volumes`].
    pub mounts: Vec<String>,
    /// The busiest part of the storage during the collection, where it is known.
    pub busiest: Option<BusyPart>,
    /// How I/O was submitted; its volumes are filled from [`Surroundings::volumes`].
    pub backend: Backend,
    /// The file systems, and what is on each.
    pub volumes: Vec<VolumeUse>,
    /// How log writes became durable, one for each instance; latencies are filled in.
    pub durability: Vec<Durability>,
    /// What the kernel said about the devices; `None` in a virtual world.
    pub system_log: Option<SystemLog>,
    /// Limits of control groups on I/O to the tested devices, in words; `None` where there are no
    /// such groups, as in a virtual world.
    pub io_limits: Option<Vec<String>>,
    /// What became of the replicas of its volumes; empty without.
    pub replicas: Vec<ReplicaOutcome>,
    /// Folders whose files are written through the page cache in spite of `O_DIRECT`.
    pub cached_writes: Vec<String>,
    /// What is wrong with how the storage is set up, in words with the way out.
    pub setup: Vec<String>,
    /// How the result came to be.
    pub origin: Origin,
}

/// A file system in use.
#[derive(Clone, Debug)]
pub struct VolumeUse {
    /// The entry in the result; the engine's reads are filled in later.
    pub volume: Volume,
    /// Its size, if it is known.
    pub bytes: Option<ByteSize>,
    /// Bytes that its devices read during the collection, as the kernel counts them; `None` without
    /// devices.
    pub device_read: Option<ByteSize>,
    /// What the devices under it have written, likewise.
    pub device_written: Option<ByteSize>,
    /// Databases on it, by their number in the plan.
    pub databases: Vec<usize>,
    /// Logs on it, by their instance.
    pub logs: Vec<usize>,
    /// What it lies on.
    pub beneath: Beneath,
}

/// What a file system lies on, as far as it can flatter a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Beneath {
    #[default]
    Devices,
    /// Nothing that is known.
    Unknown,
    /// Memory, by the name of the device or file system: `zram0`, `tmpfs`.
    Memory(String),
    /// A program that serves it, which may cache: `nbd0`, `fuse.sshfs`.
    Program(String),
}

/// The result of `run`.
pub fn result(plan: &Plan, run: &TestRun, surroundings: &Surroundings) -> RunResult {
    run.board.with(|meters| Assembly::of(plan, run, meters).result(surroundings))
}

/// The result of a run of `plan` that began at `started` and has not ended: names, but no numbers.
/// It is in the run folder from the beginning, so that there is a report even if the machine dies.
pub fn unfinished(plan: &Plan, started: Time, surroundings: &Surroundings) -> RunResult {
    let run = TestRun::unfinished(plan, started);
    let mut result = result(plan, &run, surroundings);
    result.times.ended = None;
    result.storage.details.sentence = "The run has not ended.".to_owned();
    result.reasons = vec!["the run has not ended".to_owned()];
    result
}

/// The result of a run of `plan` that did not end, by what its journal says, and its samples.
/// `outline` is what [`unfinished`] made of it.
pub fn unfinished_result(
    plan: &Plan,
    folded: &Folded,
    outline: &RunResult,
) -> (RunResult, Vec<Sample>) {
    let run = TestRun::recorded(plan, folded);
    let watched = folded.streams.iter().filter_map(|(stream, found)| {
        let mut watched = Watched::default();
        let values = found.values.iter();
        values.for_each(|(value, length)| watched.add(*value, length.as_seconds()));
        Some(watched.counter(stream.strip_prefix(HOST)?))
    });
    let surroundings = Surroundings {
        host: watched.collect(),
        system_log: (outline.world == World::Real).then(SystemLog::default),
        ..again::surroundings(outline)
    };
    let mut result = result(plan, &run, &surroundings);
    result.times.started = outline.times.started;
    result.times.ended = None;
    result.reasons.extend(folded.cut.map(|cut| cut.to_string()));
    for rule in &mut result.rules {
        let of_surroundings = [RuleId::DeviceAgrees, RuleId::SystemLog, RuleId::HostIoLimits];
        let of_faults = [RuleId::IoErrors, RuleId::HungIo];
        let is = |ids: &[RuleId]| ids.iter().any(|id| id.is(rule));
        if is(&of_surroundings) || (run.collected.is_none() && is(&of_faults)) {
            rule.measured = None;
            rule.outcome = Outcome::NotMeasured;
            rule.remark = "only a run that ends knows it".to_owned();
        }
    }
    (result, run.collected.map(|collected| collected.samples).unwrap_or_default())
}

/// What the rules say of `run`, which is still running.
pub(crate) fn judged_so_far(plan: &Plan, run: &TestRun) -> SoFar {
    run.board.with(|meters| Assembly::of(plan, run, meters).so_far())
}

/// The rule, in words, by which `run`, which is still running, fails whatever follows. A failure
/// that the tester may explain is none.
pub(crate) fn hopeless_so_far(plan: &Plan, run: &TestRun) -> Option<String> {
    let evidence = run.board.with(|meters| Assembly::of(plan, run, meters).measured_so_far());
    let rules = judge(plan.kind, &evidence, &plan.limits);
    if verdict(&Ending::Complete, &rules) != Verdict::Fail {
        return None;
    }
    let samples = match plan.carried {
        // Those of the other part come on top.
        Some(_) => u64::MAX,
        // The last may be a part of one, and so may the one before.
        None => plan.duration.0.div_ceil(plan.sample_interval().0.max(1)).saturating_add(2),
    };
    let rule = beyond_mending(&rules, &evidence, &plan.limits, samples)?;
    Some(rule.against_limit())
}

/// Why a run of `plan` will not qualify, however well it goes: what is known before it starts.
/// Empty when nothing is.
pub fn foreseen(plan: &Plan, surroundings: &Surroundings) -> Vec<String> {
    let run = TestRun {
        last: plan.databases().map(|database| database.size).collect(),
        ..TestRun::unfinished(plan, Time::ZERO)
    };
    run.board.with(|meters| {
        let assembly = Assembly { length: plan.duration, ..Assembly::of(plan, &run, meters) };
        let known = Evidence {
            tester: Tester { io_limits: surroundings.io_limits.clone(), ..Tester::default() },
            ..Evidence::default()
        };
        obstacles(&Circumstances { headroom: true, ..assembly.circumstances(surroundings, &known) })
    })
}

struct Assembly<'a> {
    plan: &'a Plan,
    run: &'a TestRun,
    meters: &'a Meters,
    length: Span,
}

impl<'a> Assembly<'a> {
    fn of(plan: &'a Plan, run: &'a TestRun, meters: &'a Meters) -> Self {
        let length = run.collected.as_ref().map_or(Span::ZERO, |c| c.length);
        Self { plan, run, meters, length }
    }
}

impl Assembly<'_> {
    fn result(&self, surroundings: &Surroundings) -> RunResult {
        let (plan, run) = (self.plan, self.run);
        let evidence = self.evidence(surroundings);
        let rules = judge(plan.kind, &evidence, &plan.limits);
        let verdict = verdict(&run.ending, &rules);
        let bottleneck = match run.ending {
            Ending::Complete => bottleneck(&rules, &evidence),
            _ => None,
        };
        let sentence = sentence(&run.ending, &rules, &evidence, bottleneck.as_ref());
        let sentence = match &run.hopeless {
            None => sentence,
            Some(rule) => format!(
                "{sentence} It was ended after {} of {}, since nothing could mend this: {rule}.",
                self.length, plan.duration
            ),
        };
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
                test: plan.kind.into(),
                achieved_iops: evidence.achieved_io_per_s,
                target_iops: run.target.map(|target| target.io_per_s),
                bottlenecks: bottleneck.into_iter().collect(),
                database_bytes_initial: known(&run.initial),
                database_bytes_final: known(&run.last),
                database_files: plan.databases().count() as u64,
                integrity: integrity(run.records, run.log.findings).map(in_result),
                content: run.content.clone(),
                faults: self.faults(),
                states: Vec::new(),
                precision: None,
                servers: vec![self.server(surroundings)],
                details: Details {
                    sentence,
                    setup: self.setup(),
                    tuning: run.tuning.clone(),
                    distributions: distributions(self.meters, &run.operation_latencies()),
                    found: run.found.lines().to_vec(),
                    model: None,
                },
            },
            rules,
            drill: None,
            mail: None,
            fleet: None,
        }
    }

    fn server(&self, surroundings: &Surroundings) -> Server {
        let files = self.run.files.as_ref();
        Server {
            name: surroundings.machine.name.clone(),
            instances: self.instances(),
            phases: self.phases(surroundings),
            host: self.host(surroundings),
            checksum: files.map_or_else(Vec::new, |files| files.files.clone()),
            backup: backups(self.plan, self.run),
            restore: restored(self.plan, self.run),
            recovery: recoveries(self.plan, self.run),
            copies: copies::in_result(&self.run.copies),
            details: ServerDetails {
                machine: surroundings.machine.clone(),
                backend: self.backend(surroundings),
                durability: self.durability(surroundings),
            },
        }
    }

    /// Counters of the machine and of the engine.
    fn host(&self, surroundings: &Surroundings) -> Vec<HostCounter> {
        let samples = self.run.collected.iter().flat_map(|c| &c.samples);
        let stalls = samples.map(|s| (s.page_fault_stalls_per_s, s.length_s));
        let mut host = surroundings.host.clone();
        host.push(HostCounter::over(PAGE_FAULT_STALLS, stalls));
        host.extend(self.delays());
        in_order(host)
    }

    /// The injected faults, with the number of strikes where it is known.
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

/// The sum of the sizes; `None` when there are none.
fn known(sizes: &[ByteSize]) -> Option<u64> {
    (!sizes.is_empty()).then(|| sum(sizes))
}

fn sum(sizes: &[ByteSize]) -> u64 {
    sizes.iter().map(|size| size.get()).sum()
}
