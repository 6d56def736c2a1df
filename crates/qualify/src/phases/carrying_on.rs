//! What the journal of a run says, as measurements of a test: of a run that did not end, to be
//! judged, and of one that another carries on. Then both collections become one, and are judged as
//! one.
//!
//! ```text
//!   interrupted run   warm up | collect ......... x
//!   this run                                          recover | warm up | collect ...... | verify | judge
//!   result                      [.................]                       [............]
//! ```
//!
//! Rates, latencies, stalls and samples are those of both, and so are faults that the interrupted
//! run had met. What only a program that goes on to its end can know is that of this run: what
//! verification found, counters of the machine, how late the program ran. Such a result never
//! qualifies.

use std::rc::Rc;

use brunt_ese::meter::Meters;
use brunt_report::RunResult;
use brunt_report::result::Sample;
use brunt_report::streams::{self, OPERATION_SERVICE, PAGE_FAULT_STALLS};
use brunt_run::{Folded, LongestStop, Standing, Standstill};
use brunt_stats::{Latencies, Meter, OperationLatencies};
use brunt_units::{ByteSize, Span, Time};

use crate::phases::test_run::TestRun;
use crate::plan::{Carried, Plan};
use crate::result::{ReadTotal, VolumeUse};
use crate::rules::{Ending, Samples};
use crate::sampling::{Collected, database_streams, log_streams};

/// An interrupted run that another carries on.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its result: an outline, or that of a run which was stopped.
    pub result: RunResult,
    /// What its journal says.
    pub folded: Folded,
}

impl Carried {
    /// What `earlier` has done.
    pub fn of(earlier: &Earlier) -> Self {
        Self {
            started: earlier.result.times.started,
            begin: earlier.folded.begin.unwrap_or(Time::ZERO),
            length: earlier.folded.length,
        }
    }
}

impl TestRun {
    /// A test of `plan` that did not end, as far as its journal says.
    pub fn recorded(plan: &Plan, folded: &Folded) -> Self {
        let standing = &folded.standing;
        let sizes = |bytes: &[u64]| bytes.iter().map(|bytes| ByteSize::bytes(*bytes)).collect();
        let mut run = Self {
            ending: Ending::Unfinished,
            sessions: standing.sessions.max(plan.sessions),
            short_of: standing.short_of.clone(),
            initial: sizes(&standing.initial_bytes),
            last: sizes(&standing.last_bytes),
            delays: standing.delays.clone(),
            ..Self::unfinished(plan, Time::ZERO)
        };
        run.add(plan, folded);
        let end = |of: &Collected| Time(of.begin.0.saturating_add(of.length.0));
        let ended = run.collected.as_ref().map(end);
        (run.collection_ended, run.ended) = (ended, ended.unwrap_or(Time::ZERO));
        run
    }

    /// Adds what an interrupted run of `plan` has measured.
    pub fn carry(&mut self, plan: &Plan, earlier: Rc<Earlier>) {
        self.add(plan, &earlier.folded);
        self.found.carry(&earlier.result.storage.details.found);
        self.carried = Some(earlier);
    }

    /// Adds a run whose collection came before.
    fn add(&mut self, plan: &Plan, before: &Folded) {
        self.board.with(|meters| add_streams(meters, plan, before));
        if before.begin.is_some() {
            let collected = collected(plan, before);
            self.collected = Some(match self.collected.take() {
                Some(here) => collected.followed_by(here),
                None => collected,
            });
        }
        let Standing { errors, findings, hung, found, .. } = &before.standing;
        self.errors = errors.clone().and(std::mem::take(&mut self.errors));
        let mut hung = hung.clone();
        hung.absorb(std::mem::take(&mut self.hung));
        self.hung = hung;
        self.log.findings = self.log.findings.and(*findings);
        self.found.carry(found);
    }

    /// What is known of this test apart from its samples.
    pub fn standing(&self, stop: LongestStop, standstill: Standstill) -> Standing {
        let bytes = |sizes: &[ByteSize]| sizes.iter().map(|size| size.get()).collect();
        Standing {
            sessions: self.sessions,
            initial_bytes: bytes(&self.initial),
            last_bytes: bytes(&self.last),
            short_of: self.short_of.clone(),
            findings: self.log.findings,
            errors: self.errors.clone(),
            found: self.found.lines().to_vec(),
            hung: self.hung.clone(),
            delays: self.delays.clone(),
            stop,
            standstill,
        }
    }

    /// The same of a test that has ended.
    pub fn standing_at_end(&self) -> Standing {
        let collected = self.collected.as_ref();
        let (stop, standstill) = collected.map_or_else(Default::default, |collected| {
            (collected.stop.clone(), collected.standstill.clone())
        });
        self.standing(stop, standstill)
    }

    /// Reads by the interrupted run on these databases and logs, for operations, maintenance and
    /// copies.
    pub(crate) fn carried_reads(&self, plan: &Plan, used: &VolumeUse) -> ReadTotal {
        let Some(earlier) = &self.carried else {
            return ReadTotal::default();
        };
        let databases = plan.databases().enumerate();
        let databases = databases.filter(|(at, _)| used.databases.contains(at));
        let databases = databases
            .flat_map(|(_, one)| ["read", "maintenance"].map(|what| streams::of(&one.name, what)));
        let logs = used.logs.iter().flat_map(|at| {
            let name = &plan.instances[*at].name;
            ["log-read", "log-replication"].map(|what| streams::of(name, what))
        });
        let found = databases.chain(logs);
        let found = found.filter_map(|name| earlier.folded.streams.get(&name));
        found.fold(ReadTotal::default(), |sum, found| sum.and(found.count, found.bytes))
    }
}

fn add_streams(meters: &mut Meters, plan: &Plan, before: &Folded) {
    let stream = |name: &str, what: &str| before.streams.get(&streams::of(name, what));
    let stalls = |found: Option<&brunt_run::Stream>| found.map_or(0, |found| found.count);
    let add = |name: &str, (what, meter): (&str, &mut Meter)| {
        if let Some(found) = stream(name, what) {
            meter.carry(&found.latencies, found.bytes);
        }
    };
    for (meters, database) in meters.databases.iter_mut().zip(plan.databases()) {
        meters.page_fault_stalls.carry(stalls(stream(&database.name, PAGE_FAULT_STALLS)));
        let streams = database_streams(meters).into_iter();
        streams.for_each(|one| add(&database.name, one));
    }
    for (meters, instance) in meters.logs.iter_mut().zip(&plan.instances) {
        let streams = log_streams(meters).into_iter();
        streams.for_each(|one| add(&instance.name, one));
    }
    meters.page_fault_stalls.carry(stalls(before.streams.get(PAGE_FAULT_STALLS)));
}

/// The collection that a journal tells of.
fn collected(plan: &Plan, before: &Folded) -> Collected {
    let limits = &plan.limits.latency;
    let begin = before.begin.unwrap_or(Time::ZERO);
    let samples = |name: &str, what: &str, limit: Span| {
        let mut samples = Samples::default();
        let stream = before.streams.get(&streams::of(name, what));
        for (at, mean) in stream.iter().flat_map(|stream| &stream.means) {
            samples.note(at.since(begin), Some(*mean), limit);
        }
        // Those without I/O have no row.
        samples.count = before.samples.len() as u64;
        samples
    };
    let latencies = |stream: &str| {
        let found = before.streams.get(stream);
        found.map_or_else(Latencies::new, |found| found.latencies.clone())
    };
    let instances = plan.instances.iter();
    let mut operations: Vec<OperationLatencies> = instances
        .clone()
        .map(|instance| OperationLatencies {
            from_intended_start: latencies(&streams::of(&instance.name, "operation")),
            from_actual_start: Latencies::new(),
        })
        .collect();
    // It is recorded only for the whole server.
    if let Some(first) = operations.first_mut() {
        first.from_actual_start = latencies(OPERATION_SERVICE);
    }
    Collected {
        begin,
        length: before.length,
        samples: before.samples.iter().map(|sample| Sample::of(sample, begin)).collect(),
        reads: plan
            .databases()
            .map(|database| samples(&database.name, "read", limits.read_sample))
            .collect(),
        log_writes: instances
            .map(|instance| samples(&instance.name, "log-write", limits.log_sample))
            .collect(),
        operations,
        stop: before.standing.stop.clone(),
        standstill: before.standing.standstill.clone(),
    }
}

impl Collected {
    /// Both collections as one, in which `next` begins where this one ends.
    pub(crate) fn followed_by(mut self, next: Self) -> Self {
        let length_s = self.length.as_seconds();
        self.samples.extend(
            next.samples
                .into_iter()
                .map(|sample| Sample { begin_s: sample.begin_s + length_s, ..sample }),
        );
        for (all, next) in [(&mut self.reads, next.reads), (&mut self.log_writes, next.log_writes)]
        {
            for (samples, next) in all.iter_mut().zip(next) {
                *samples = samples.followed_by(next, self.length);
            }
        }
        for (operations, next) in self.operations.iter_mut().zip(&next.operations) {
            operations.merge(next);
        }
        self.stop = self.stop.or(next.stop.later_by(self.length));
        self.standstill = self.standstill.and(next.standstill, self.length);
        self.length += next.length;
        self
    }
}
