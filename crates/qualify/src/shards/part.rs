//! What a shard's test leaves behind, without anything that belongs to its world.

use std::cmp::Reverse;

use brunt_report::result::ContentNumbers;
use brunt_stats::{Latencies, Percentile};
use brunt_units::{ByteSize, Time};
use brunt_workload::mix::Kind;

use crate::hanging::Hung;
use crate::injection::Injected;
use crate::load::sessions::Log;
use crate::phase_io::{self, PhaseMeters};
use crate::phases::test_run::TestRun;
use crate::rules::{Ending, RecordsVerified};
use crate::truth::content;
use crate::truth::found::Found;
use crate::truth::verification::Files;

/// The test of one shard, apart from its samples.
#[derive(Debug)]
pub struct Part {
    ending: Ending,
    short_of: Option<String>,
    started: Time,
    initial: Vec<ByteSize>,
    last: Vec<ByteSize>,
    batches: Vec<u64>,
    operations: [u64; Kind::ALL.len()],
    log: Log,
    errors: (u64, String),
    found: Found,
    injected: Vec<Injected>,
    hung: Hung,
    delays: Latencies,
    files: Option<Files>,
    records: Option<RecordsVerified>,
    content: Vec<ContentNumbers>,
    phases: Vec<PhaseMeters>,
    ended: Time,
}

impl From<TestRun> for Part {
    fn from(run: TestRun) -> Self {
        Self {
            ending: run.ending,
            short_of: run.short_of,
            started: run.started,
            initial: run.initial,
            last: run.last,
            batches: run.batches,
            operations: run.operations,
            log: run.log,
            errors: run.errors,
            found: run.found,
            injected: run.injected,
            hung: run.hung,
            delays: run.delays,
            files: run.files,
            records: run.records,
            content: run.content,
            phases: run.phases,
            ended: run.ended,
        }
    }
}

impl Part {
    /// Whether an I/O hangs, so that taking its world apart would wait for it.
    pub fn hangs(&self) -> bool {
        self.hung.count > 0
    }
}

impl TestRun {
    /// Adds what the tests of all shards leave behind, in the order of the plan.
    pub(super) fn take_parts(&mut self, parts: Vec<Part>) {
        self.ending = worst(parts.iter().map(|part| &part.ending)).clone();
        let begun = parts.iter().map(|part| part.started).min();
        self.started = begun.unwrap_or(self.started);
        self.records = sum_of_records(&parts);
        self.delays = latest(parts.iter().map(|part| &part.delays));
        for mut part in parts {
            if let (None, Some(records)) = (&self.records, &part.records) {
                // Sessions usually met some of them.
                part.log.findings = part.log.findings.at_least(records.findings);
            }
            self.short_of = self.short_of.take().or(part.short_of);
            self.initial.extend(part.initial);
            self.last.extend(part.last);
            self.batches.extend(part.batches);
            for (own, other) in self.operations.iter_mut().zip(part.operations) {
                *own += other;
            }
            self.log.absorb(part.log);
            self.errors.0 += part.errors.0;
            if self.errors.1.is_empty() {
                self.errors.1 = part.errors.1;
            }
            self.found.absorb(&part.found);
            strike(&mut self.injected, part.injected);
            self.hung.absorb(part.hung);
            match (&mut self.files, part.files) {
                (Some(all), Some(files)) => all.absorb(files),
                (all, files) => *all = all.take().or(files),
            }
            content::absorb(&mut self.content, part.content);
            phase_io::absorb(&mut self.phases, part.phases);
            self.ended = self.ended.max(part.ended);
        }
    }
}

/// How the test ended: as that of the shard that came least far.
fn worst<'a>(endings: impl Iterator<Item = &'a Ending>) -> &'a Ending {
    let gravity = |ending: &&Ending| match ending {
        Ending::Broken(_) => 3,
        Ending::Unanswered(_) => 2,
        Ending::Stopped => 1,
        Ending::Complete => 0,
    };
    // Of equals the first.
    endings.min_by_key(|ending| Reverse(gravity(ending))).expect("at least one shard")
}

/// `None` unless the records of all shards were verified; what was found wrong counts all the same.
fn sum_of_records(parts: &[Part]) -> Option<RecordsVerified> {
    let mut sum = RecordsVerified::default();
    for part in parts {
        sum.add(part.records.as_ref()?);
    }
    Some(sum)
}

/// How late the program was: as late as the shard with the highest p99.
pub(super) fn latest<'a>(delays: impl Iterator<Item = &'a Latencies>) -> Latencies {
    let latest = delays.max_by_key(|delays| delays.percentile(Percentile::P99));
    latest.cloned().unwrap_or_default()
}

/// Every shard has all faults of the plan, and each strikes the files of one.
fn strike(all: &mut Vec<Injected>, part: Vec<Injected>) {
    if all.is_empty() {
        *all = part;
        return;
    }
    for (own, other) in all.iter_mut().zip(part) {
        own.struck += other.struck;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;
    use crate::truth::oracle::Findings;

    #[test]
    fn wrong_records_count_even_if_another_shard_breaks() {
        let plan = plan();
        let shard = |ending| TestRun { ending, ..TestRun::unfinished(&plan, Time::ZERO) };
        let findings = Findings { lost: 40, ..Findings::default() };
        let verified = TestRun {
            records: Some(RecordsVerified { findings, ..RecordsVerified::default() }),
            log: Log { findings, ..Log::default() },
            ..shard(Ending::Complete)
        };
        let broken = shard(Ending::Broken("the volume is full".to_owned()));
        let mut run = TestRun::unfinished(&plan, Time::ZERO);
        run.take_parts([verified, broken].map(Part::from).into());
        assert_eq!((run.records, run.log.findings), (None, findings));
    }
}
