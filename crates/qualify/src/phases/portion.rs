//! What a test has measured, without anything that belongs to its world: it crosses threads, and
//! several become one test that is judged as one.
//!
//! ```text
//!   halves of a prediction    [......... first ........][........ second ........]     one after the other
//!
//!   shards of a server        [......... first ......................]                 side by side
//!                             [......... second .....................]
//! ```
//!
//! Halves are the same server with other seeds, so their counts are added. Shards have databases
//! and logs of their own, so their lists are joined; their samples come by another way
//! ([`joined`](crate::shards::joined)).

use std::cmp::Reverse;

use brunt_ese::meter::Meters;
use brunt_report::result::ContentNumbers;
use brunt_run::{Errors, Hung};
use brunt_stats::{Latencies, Percentile};
use brunt_units::{ByteSize, Time};
use brunt_workload::mix::Kind;

use crate::copies::Followed;
use crate::injection::Injected;
use crate::load::sessions::Log;
use crate::phase_io::{self, PhaseMeters};
use crate::phases::test_run::TestRun;
use crate::rules::{Ending, RecordsVerified};
use crate::sampling::Collected;
use crate::truth::content;
use crate::truth::found::Found;
use crate::truth::verification::Files;

/// The measurements of a half, or of a shard.
#[derive(Debug)]
pub struct Portion {
    ending: Ending,
    is_shortened: bool,
    hopeless: Option<String>,
    short_of: Option<String>,
    started: Time,
    initial: Vec<ByteSize>,
    last: Vec<ByteSize>,
    meters: Meters,
    collected: Option<Collected>,
    batches: Vec<u64>,
    operations: [u64; Kind::ALL.len()],
    log: Log,
    errors: Errors,
    found: Found,
    injected: Vec<Injected>,
    hung: Hung,
    delays: Latencies,
    files: Option<Files>,
    records: Option<RecordsVerified>,
    content: Vec<ContentNumbers>,
    copies: Vec<Followed>,
    phases: Vec<PhaseMeters>,
    ended: Time,
}

impl From<TestRun> for Portion {
    fn from(run: TestRun) -> Self {
        Self {
            ending: run.ending,
            is_shortened: run.is_shortened,
            hopeless: run.hopeless,
            short_of: run.short_of,
            started: run.started,
            initial: run.initial,
            last: run.last,
            meters: run.board.with(std::mem::take),
            collected: run.collected,
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
            copies: run.copies,
            phases: run.phases,
            ended: run.ended,
        }
    }
}

impl Portion {
    /// Whether an I/O hangs, so that taking its world apart would wait for it.
    pub fn hangs(&self) -> bool {
        self.hung.count > 0
    }
}

impl TestRun {
    /// Adds what the second half has measured, as if its collection had followed. Sizes, times and
    /// files stay those of this one.
    pub fn join(&mut self, mut half: Portion) {
        match (&mut self.records, &half.records) {
            (Some(first), Some(second)) => first.add(second),
            (None, Some(_)) => half.count_records(),
            (_, None) => {}
        }
        self.board.with(|meters| meters.absorb(&half.meters));
        self.collected = match (self.collected.take(), half.collected.take()) {
            (Some(first), Some(second)) => Some(first.followed_by(second)),
            (first, second) => first.or(second),
        };
        if self.ending == Ending::Complete {
            self.ending = half.ending.clone();
        }
        self.is_shortened |= half.is_shortened;
        add(&mut self.batches, &half.batches);
        self.delays.merge(&half.delays);
        let copies = std::mem::take(&mut half.copies);
        for (first, second) in self.copies.iter_mut().zip(copies) {
            first.absorb(second);
        }
        self.absorb(half);
    }

    /// Adds what the tests of all shards leave behind, in the order of the plan.
    pub(crate) fn take_shards(&mut self, shards: Vec<Portion>) {
        self.ending = worst(shards.iter().map(|shard| &shard.ending)).clone();
        let begun = shards.iter().map(|shard| shard.started).min();
        self.started = begun.unwrap_or(self.started);
        self.records = sum_of_records(&shards);
        self.delays = latest(shards.iter().map(|shard| &shard.delays));
        for mut shard in shards {
            if self.records.is_none() {
                shard.count_records();
            }
            self.initial.append(&mut shard.initial);
            self.last.append(&mut shard.last);
            self.batches.append(&mut shard.batches);
            strike(&mut self.injected, std::mem::take(&mut shard.injected));
            match (&mut self.files, shard.files.take()) {
                (Some(all), Some(files)) => all.absorb(files),
                (all, files) => *all = all.take().or(files),
            }
            content::absorb(&mut self.content, std::mem::take(&mut shard.content));
            phase_io::absorb(&mut self.phases, std::mem::take(&mut shard.phases));
            self.ended = self.ended.max(shard.ended);
            self.absorb(shard);
        }
    }

    /// Adds counts and faults, which add up in every case.
    fn absorb(&mut self, portion: Portion) {
        self.hopeless = self.hopeless.take().or(portion.hopeless);
        self.short_of = self.short_of.take().or(portion.short_of);
        add(&mut self.operations, &portion.operations);
        self.log.absorb(portion.log);
        self.errors = std::mem::take(&mut self.errors).and(portion.errors);
        self.found.absorb(&portion.found);
        self.hung.absorb(portion.hung);
    }
}

impl Portion {
    /// Wrong records that only verification found count among those that sessions met, which
    /// usually met some of them.
    fn count_records(&mut self) {
        if let Some(records) = &self.records {
            self.log.findings = self.log.findings.at_least(records.findings);
        }
    }
}

fn add(own: &mut [u64], other: &[u64]) {
    for (own, other) in own.iter_mut().zip(other) {
        *own += other;
    }
}

/// How the test ended: as that of the shard that came least far.
fn worst<'a>(endings: impl Iterator<Item = &'a Ending>) -> &'a Ending {
    let gravity = |ending: &&Ending| match ending {
        Ending::Broken(_) => 3,
        Ending::Unanswered(_) => 2,
        Ending::Stopped | Ending::Unfinished => 1,
        Ending::Complete => 0,
    };
    // Of equals the first.
    endings.min_by_key(|ending| Reverse(gravity(ending))).expect("at least one shard")
}

/// `None` unless the records of all shards were verified; what was found wrong counts all the same.
fn sum_of_records(shards: &[Portion]) -> Option<RecordsVerified> {
    let mut sum = RecordsVerified::default();
    for shard in shards {
        sum.add(shard.records.as_ref()?);
    }
    Some(sum)
}

/// How late the program was: as late as the shard with the highest p99.
pub(crate) fn latest<'a>(delays: impl Iterator<Item = &'a Latencies>) -> Latencies {
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
    use brunt_run::Standing;
    use brunt_stats::OperationLatencies;
    use brunt_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::tests::plan;
    use crate::sampling::Sampler;
    use crate::truth::oracle::Findings;

    const MS: Span = Span::millis(1);

    /// A test in which every sample has one read, of these lengths.
    fn half(reads: &[u64]) -> TestRun {
        let plan = plan();
        let mut run = TestRun::unfinished(&plan, Time::ZERO);
        run.ending = Ending::Complete;
        run.batches = vec![1, 2];
        run.log.committed = 7;
        let mut sampler = Sampler::start(&plan, Time::ZERO, &run.board);
        for read in reads {
            run.board.database(0, |m| &mut m.reads, 32_768, MS * *read);
            let operations = vec![OperationLatencies::default(); 2];
            let due = sampler.due();
            sampler.close(due, &run.board, &operations, 0, Standing::default());
        }
        run.collected = Some(sampler.collected());
        run
    }

    fn crosses_threads<T: Send>(value: T) -> T {
        value
    }

    proptest! {
        /// Split anywhere, and joined from either end: what was measured is the same.
        #[test]
        fn parts_one_after_the_other_are_the_whole(
            reads in prop::collection::vec(1_u64..400, 2..12),
            cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let first = 1 + cuts.0.index(reads.len() - 1);
            let second = first + cuts.1.index(reads.len() - first + 1);
            let part = |part: &[u64]| (!part.is_empty()).then(|| half(part));
            let parts = || [&reads[..first], &reads[first..second], &reads[second..]];
            let join = |mut one: TestRun, other: TestRun| {
                one.join(crosses_threads(other.into()));
                one
            };
            let whole = half(&reads);
            let count = parts().into_iter().filter_map(part).count() as u64;
            let from_the_left = parts().into_iter().filter_map(part).reduce(join).unwrap();
            let from_the_right = parts().into_iter().filter_map(part);
            let from_the_right =
                from_the_right.rev().reduce(|last, before| join(before, last)).unwrap();
            for joined in [from_the_left, from_the_right] {
                let reads = |run: &TestRun| run.board.with(|m| m.databases[0].reads.total());
                prop_assert_eq!(reads(&joined), reads(&whole));
                let (one, other) = (&joined.collected.unwrap(), whole.collected.as_ref().unwrap());
                prop_assert_eq!(one.length, other.length);
                prop_assert_eq!(&one.samples, &other.samples);
                prop_assert_eq!(&one.reads, &other.reads);
                prop_assert_eq!(joined.batches, [count, 2 * count]);
                prop_assert_eq!(joined.log.committed, 7 * count);
            }
        }
    }

    #[test]
    fn wrong_records_of_the_second_half_count() {
        let verified = |lost| RecordsVerified {
            checked: 50,
            findings: Findings { lost, ..Findings::default() },
            ..RecordsVerified::default()
        };
        let [mut first, mut second] = [half(&[1]), half(&[2])];
        first.records = Some(verified(0));
        second.records = Some(verified(3));
        first.join(second.into());
        let records = first.records.unwrap();
        assert_eq!((records.checked, records.findings.lost), (100, 3));
    }

    #[test]
    fn a_second_half_that_broke_breaks_the_test() {
        let mut joined = half(&[1]);
        let mut second = half(&[1]);
        second.ending = Ending::Broken("the log failed".to_owned());
        second.errors.add(2, || "a page".to_owned());
        joined.join(second.into());
        assert_eq!(joined.ending, Ending::Broken("the log failed".to_owned()));
        assert_eq!(joined.errors, Errors { count: 2, first: "a page".to_owned() });
    }

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
        run.take_shards([verified, broken].map(Portion::from).into());
        assert_eq!((run.records, run.log.findings), (None, findings));
    }
}
