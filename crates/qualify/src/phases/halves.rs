//! Two halves of one test, each in a world of its own, possibly on different threads: their
//! measurements become one, and are judged as one.
//!
//! ```text
//!   first     warm up | collect ....... |
//!   second    warm up | collect ....... |
//!   result            [.................][.................]
//! ```

use brunt_ese::meter::Meters;
use brunt_stats::Latencies;
use brunt_workload::mix::Kind;

use crate::copies::Followed;
use crate::hanging::Hung;
use crate::load::sessions::Log;
use crate::phases::test_run::TestRun;
use crate::rules::{Ending, RecordsVerified};
use crate::sampling::Collected;
use crate::truth::found::Found;

/// What a test of load has measured, without anything that belongs to its world.
#[derive(Debug)]
pub struct Half {
    ending: Ending,
    is_shortened: bool,
    short_of: Option<String>,
    meters: Meters,
    collected: Option<Collected>,
    batches: Vec<u64>,
    operations: [u64; Kind::ALL.len()],
    log: Log,
    errors: (u64, String),
    found: Found,
    hung: Hung,
    delays: Latencies,
    records: Option<RecordsVerified>,
    copies: Vec<Followed>,
}

impl From<TestRun> for Half {
    fn from(run: TestRun) -> Self {
        Self {
            ending: run.ending,
            is_shortened: run.is_shortened,
            short_of: run.short_of,
            meters: run.board.with(std::mem::take),
            collected: run.collected,
            batches: run.batches,
            operations: run.operations,
            log: run.log,
            errors: run.errors,
            found: run.found,
            hung: run.hung,
            delays: run.delays,
            records: run.records,
            copies: run.copies,
        }
    }
}

impl TestRun {
    /// Adds what the second half has measured, as if its collection had followed. Sizes, times and
    /// files stay those of this one.
    pub fn join(&mut self, mut half: Half) {
        match (&mut self.records, &half.records) {
            (Some(first), Some(second)) => first.add(second),
            (None, Some(second)) => {
                half.log.findings = half.log.findings.at_least(second.findings);
            }
            (_, None) => {}
        }
        self.board.with(|meters| meters.absorb(&half.meters));
        self.collected = match (self.collected.take(), half.collected) {
            (Some(first), Some(second)) => Some(first.followed_by(second)),
            (first, second) => first.or(second),
        };
        if self.ending == Ending::Complete {
            self.ending = half.ending;
        }
        self.is_shortened |= half.is_shortened;
        self.short_of = self.short_of.take().or(half.short_of);
        add(&mut self.batches, &half.batches);
        add(&mut self.operations, &half.operations);
        self.log.absorb(half.log);
        self.errors.0 += half.errors.0;
        if self.errors.1.is_empty() {
            self.errors.1 = half.errors.1;
        }
        self.found.absorb(&half.found);
        self.hung.absorb(half.hung);
        self.delays.merge(&half.delays);
        for (first, second) in self.copies.iter_mut().zip(half.copies) {
            first.absorb(second);
        }
    }
}

fn add(own: &mut [u64], other: &[u64]) {
    for (own, other) in own.iter_mut().zip(other) {
        *own += other;
    }
}

#[cfg(test)]
mod tests {
    use brunt_stats::OperationLatencies;
    use brunt_units::{Span, Time};

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
            sampler.close(due, &run.board, &operations, 0);
        }
        run.collected = Some(sampler.collected());
        run
    }

    fn crosses_threads<T: Send>(value: T) -> T {
        value
    }

    #[test]
    fn two_halves_are_the_whole() {
        let whole = half(&[1, 9, 300, 4]);
        let mut joined = half(&[1, 9]);
        joined.join(crosses_threads(half(&[300, 4]).into()));
        let reads = |run: &TestRun| run.board.with(|m| m.databases[0].reads.total());
        assert_eq!(reads(&joined), reads(&whole));
        let (one, other) = (joined.collected.unwrap(), whole.collected.unwrap());
        assert_eq!(one.length, other.length);
        assert_eq!(one.samples, other.samples);
        assert_eq!(one.reads, other.reads);
        assert_eq!(joined.batches, [2, 4]);
        assert_eq!(joined.log.committed, 14);
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
        second.errors = (2, "a page".to_owned());
        joined.join(second.into());
        assert_eq!(joined.ending, Ending::Broken("the log failed".to_owned()));
        assert_eq!(joined.errors, (2, "a page".to_owned()));
    }
}
