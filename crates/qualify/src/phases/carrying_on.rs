//! Carries an interrupted test on: its collection and that of this run become one, and are judged
//! as one.
//!
//! ```text
//!   interrupted run   warm up | collect ......... x
//!   this run                                          recover | warm up | collect ...... | verify | judge
//!   result                      [.................]                       [............]
//! ```
//!
//! Rates, latencies, stalls and samples are those of both, and so are faults that the interrupted
//! run has reported. What only a program that goes on to its end can know is that of this run: what
//! verification found, counters of the machine, how late the program ran. Such a result never
//! qualifies.

use std::rc::Rc;

use brunt_report::result::{Integrity, Rule, Sample};
use brunt_report::streams::{self, PAGE_FAULT_STALLS};
use brunt_report::{Earlier, Stream};
use brunt_stats::{Latencies, Meter, OperationLatencies};
use brunt_units::{Span, Time};

use crate::hanging::Hung;
use crate::phases::test_run::TestRun;
use crate::plan::{Carried, Plan};
use crate::pulse::Standstill;
use crate::result::{ReadTotal, VolumeUse};
use crate::rules::{RuleId, Samples};
use crate::sampling::{Collected, database_streams, log_streams};
use crate::stops::Stop;
use crate::truth::oracle::Findings;

impl Carried {
    /// What `earlier` has done.
    pub fn of(earlier: &Earlier) -> Self {
        Self {
            started: earlier.result.times.started,
            begin: Time::ZERO + Span::from_seconds(earlier.begin_s),
            length: Span::from_seconds(earlier.length_s),
        }
    }
}

impl TestRun {
    /// Adds what an interrupted run of `plan` has measured.
    pub fn carry(&mut self, plan: &Plan, earlier: Rc<Earlier>) {
        let stream = |name: &str, what: &str| earlier.streams.get(&streams::of(name, what));
        let stalls = |found: Option<&Stream>| found.map_or(0, |found| found.total.count);
        let add = |name: &str, (what, meter): (&str, &mut Meter)| {
            if let Some(found) = stream(name, what) {
                meter.carry(&found.latencies, found.total.bytes);
            }
        };
        self.board.with(|meters| {
            for (meters, database) in meters.databases.iter_mut().zip(plan.databases()) {
                let found = stream(&database.name, PAGE_FAULT_STALLS);
                meters.page_fault_stalls.carry(stalls(found));
                let streams = database_streams(meters).into_iter();
                streams.for_each(|one| add(&database.name, one));
            }
            for (meters, instance) in meters.logs.iter_mut().zip(&plan.instances) {
                let streams = log_streams(meters).into_iter();
                streams.for_each(|one| add(&instance.name, one));
            }
            let found = earlier.streams.get(PAGE_FAULT_STALLS);
            meters.page_fault_stalls.carry(stalls(found));
        });
        let before = collected(plan, &earlier);
        self.collected = Some(match self.collected.take() {
            Some(here) => before.followed_by(here),
            None => before,
        });
        let before = &earlier.result;
        self.carry_faults(&before.rules, before.storage.integrity.as_ref());
        self.found.carry(&before.storage.details.found);
        self.carried = Some(earlier);
    }

    /// Adds the faults that an interrupted run has reported. They are not undone by what came after
    /// them.
    fn carry_faults(&mut self, rules: &[Rule], integrity: Option<&Integrity>) {
        let reported = |id: RuleId| {
            let rule = rules.iter().find(|rule| id.is(rule))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it was a count"
            )]
            let count = rule.measured? as u64;
            (count > 0).then(|| (count, rule.remark.clone()))
        };
        if let Some((count, first)) = reported(RuleId::IoErrors) {
            self.errors = (self.errors.0 + count, first);
        }
        if let Some((count, first)) = reported(RuleId::HungIo) {
            let mut hung = Hung::reported(count, &first);
            hung.absorb(std::mem::take(&mut self.hung));
            self.hung = hung;
        }
        if let Some(integrity) = integrity {
            self.log.findings = self.log.findings.and(Findings {
                lost: integrity.lost,
                stale: integrity.stale,
                phantom: integrity.phantom,
                torn: integrity.torn,
            });
        }
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
        let found = found.filter_map(|name| Some(earlier.streams.get(&name)?.total));
        found.fold(ReadTotal::default(), |sum, total| sum.and(total.count, total.bytes))
    }
}

/// The collection of an interrupted run.
fn collected(plan: &Plan, earlier: &Earlier) -> Collected {
    let limits = &plan.limits.latency;
    let samples = |name: &str, what: &str, limit: Span| {
        let mut samples = Samples::default();
        let stream = earlier.streams.get(&streams::of(name, what));
        for (begin_s, mean_ms) in stream.iter().flat_map(|stream| &stream.means) {
            let mean = Span::from_seconds(mean_ms / 1_000.0);
            samples.note(Span::from_seconds(*begin_s), Some(mean), limit);
        }
        // Those without I/O have no row.
        samples.count = earlier.samples.len() as u64;
        samples
    };
    let operations = |name: &str| OperationLatencies {
        from_intended_start: earlier
            .streams
            .get(&streams::of(name, "operation"))
            .map_or_else(Latencies::new, |stream| stream.latencies.clone()),
        // Recorded only for the whole server.
        from_actual_start: Latencies::new(),
    };
    let carried = Carried::of(earlier);
    let instances = plan.instances.iter();
    Collected {
        begin: carried.begin,
        length: carried.length,
        samples: earlier.samples.clone(),
        reads: plan
            .databases()
            .map(|database| samples(&database.name, "read", limits.read_sample))
            .collect(),
        log_writes: instances
            .clone()
            .map(|instance| samples(&instance.name, "log-write", limits.log_sample))
            .collect(),
        operations: instances.map(|instance| operations(&instance.name)).collect(),
        stop: stopped(&earlier.result.rules),
        standstill: Standstill::default(),
    }
}

/// The longest stop that an interrupted run has reported.
fn stopped(rules: &[Rule]) -> Stop {
    let rule = rules.iter().find(|rule| RuleId::LongestStop.is(rule));
    let reported = rule.and_then(|rule| Some(Stop::reported(rule.measured?, &rule.remark)));
    reported.unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::TestKind;
    use crate::plan::tests::plan;
    use crate::rules::{Evidence, judge};

    #[test]
    fn what_an_interrupted_run_reported_still_counts() {
        let plan = plan();
        let evidence = Evidence {
            io_errors: 3,
            first_error: "db1.edb: read at 32768: -1022".to_owned(),
            hung: Hung {
                count: 1,
                longest: Span::seconds(41),
                first: "a read of db1.edb".to_owned(),
            },
            ..Evidence::default()
        };
        let rules = judge(TestKind::Performance, &evidence, &plan.limits);
        let integrity = Integrity { torn: 2, ..Integrity::default() };
        let mut run = TestRun::unfinished(&plan, Time::ZERO);
        run.errors = (1, "a later one".to_owned());
        run.carry_faults(&rules, Some(&integrity));
        assert_eq!(run.errors, (4, evidence.first_error));
        assert_eq!(run.hung, evidence.hung);
        assert_eq!(run.log.findings.torn, 2);
        let nothing = judge(TestKind::Performance, &Evidence::default(), &plan.limits);
        run.carry_faults(&nothing, None);
        assert_eq!((run.errors.0, run.hung.count), (4, 1));
    }
}
