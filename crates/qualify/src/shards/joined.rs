//! Joins shards: their news becomes that of one test, and their samples become those of the
//! whole server.
//!
//! A shard closes its samples on the same grid as every other. When all have handed in a sample,
//! the counters of their databases and logs stand side by side on one board, and a [`Sampler`] for
//! the whole plan closes it. So tables, rules and result come from the same code as those of a test
//! without shards.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use brunt_ese::meter::{MeterBoard, Meters};
use brunt_run::{Hung, Listener, Live, LongestStop, News, SoFar, Standstill};
use brunt_stats::{Latencies, OperationLatencies};
use brunt_units::Time;

use crate::load::sessions::Log;
use crate::phases::portion::{Portion, latest};
use crate::phases::test_run::TestRun;
use crate::plan::Plan;
use crate::result::judged_so_far;
use crate::sampling::Sampler;
use crate::shards::news::Steps;

/// Something that a shard has to say.
#[derive(Debug)]
pub enum Piece {
    /// News, and when.
    Told(Time, Box<News>),
    /// A sample has ended.
    Sampled(Box<Sampled>),
    /// Nothing more will come.
    Ended,
}

/// What a shard knows at the end of a sample.
#[derive(Debug)]
pub struct Sampled {
    /// When the collection began.
    pub(crate) begin: Time,
    /// When the sample ended.
    pub(crate) at: Time,
    /// Whether it is the shard's last.
    pub(crate) is_last: bool,
    /// Its counters; the sample is their running interval.
    pub(crate) meters: Meters,
    /// Operations that ended in the sample, by instance.
    pub(crate) operations: Vec<OperationLatencies>,
    pub(crate) cache_bytes: u64,
    /// Counts and findings of its sessions so far.
    pub(crate) log: Log,
    /// I/Os that hung so far.
    pub(crate) hung: Hung,
    /// How late its tasks ran so far.
    pub(crate) delays: Latencies,
    /// Its longest stop so far.
    pub(crate) stop: LongestStop,
    /// When it did not run, so far.
    pub(crate) standstill: Standstill,
}

/// What is kept of a shard.
struct State {
    /// Its databases in the plan.
    databases: Range<usize>,
    /// Its log streams in the plan.
    logs: Range<usize>,
    /// Samples that wait for those of other shards.
    waiting: VecDeque<Sampled>,
    /// Whether more samples may come.
    goes_on: bool,
    cache_bytes: u64,
    log: Log,
    hung: Hung,
    delays: Latencies,
    stop: LongestStop,
    standstill: Standstill,
}

/// The shards of one test, joined; see the [module](self).
pub struct Joined<'a> {
    plan: &'a Plan,
    listener: &'a dyn Listener,
    board: Rc<MeterBoard>,
    sampler: Option<Sampler>,
    shards: Vec<State>,
    steps: Steps,
    so_far: SoFar,
}

impl<'a> Joined<'a> {
    /// Joins the shards of `plan`, and tells `listener`.
    pub fn new(plan: &'a Plan, listener: &'a dyn Listener) -> Self {
        let shards = plan.shards as usize;
        let each = plan.instances.len().div_euclid(shards);
        let mut databases = 0;
        let mut state = |number: usize| {
            let logs = number * each..(number + 1) * each;
            let own = plan.instances[logs.clone()].iter();
            let first = databases;
            databases += own.map(|instance| instance.databases.len()).sum::<usize>();
            State {
                databases: first..databases,
                logs,
                waiting: VecDeque::new(),
                goes_on: true,
                cache_bytes: 0,
                log: Log::default(),
                hung: Hung::default(),
                delays: Latencies::new(),
                stop: LongestStop::default(),
                standstill: Standstill::default(),
            }
        };
        let states = (0..shards).map(&mut state).collect();
        Self {
            plan,
            listener,
            board: Rc::new(MeterBoard::new(databases, plan.instances.len())),
            sampler: None,
            shards: states,
            steps: Steps::of(shards),
            so_far: SoFar::default(),
        }
    }

    /// Takes what `shard` has to say at `now`.
    pub fn take(&mut self, shard: usize, piece: Piece, now: Time) {
        match piece {
            Piece::Told(at, news) => {
                let news = self.steps.take(shard, &news);
                self.tell(at, news);
            }
            Piece::Sampled(sampled) => {
                let state = &mut self.shards[shard];
                state.goes_on = !sampled.is_last;
                state.waiting.push_back(*sampled);
                self.close_samples();
            }
            Piece::Ended => {
                self.shards[shard].goes_on = false;
                self.close_samples();
                let news = self.steps.ended(shard);
                self.tell(now, news);
            }
        }
    }

    fn tell(&self, at: Time, news: Vec<News>) {
        for news in news {
            let news = match news {
                News::Testing(live) => News::Testing(self.judged(live)),
                news => news,
            };
            self.listener.tell(at, &news);
        }
    }

    /// `live` with what the rules say of the whole server.
    fn judged(&self, live: Live) -> Live {
        let stalls_per_s = live.stalls as f64 / live.elapsed.as_seconds().max(1.0);
        let mut so_far = self.so_far.clone();
        if live.so_far.passes.is_none() {
            so_far.passes = so_far.passes.filter(|passes| !passes);
        }
        Live { over: live.over || stalls_per_s > self.plan.limits.stalls_per_s, so_far, ..live }
    }

    /// Closes the samples that all shards have handed in.
    fn close_samples(&mut self) {
        let is_there = |state: &State| !state.goes_on || !state.waiting.is_empty();
        while self.shards.iter().all(is_there) {
            let next = self.shards.iter_mut();
            let next: Vec<_> = next.map(|state| state.waiting.pop_front()).collect();
            let Some(at) = next.iter().flatten().map(|sampled| sampled.at).max() else {
                return;
            };
            self.close(at, next);
        }
    }

    /// Closes a sample at `at`, with what each shard has handed in.
    fn close(&mut self, at: Time, sampled: Vec<Option<Sampled>>) {
        let begin = sampled.iter().flatten().map(|sampled| sampled.begin).min();
        let mut shards = self.shards.iter();
        let is_last = shards.all(|state| !state.goes_on && state.waiting.is_empty());
        let (plan, board) = (self.plan, &self.board);
        let begin = begin.expect("one of them has a sample");
        let sampler = self.sampler.get_or_insert_with(|| Sampler::start(plan, begin, board));
        let mut operations = vec![OperationLatencies::default(); plan.instances.len()];
        for (state, sampled) in self.shards.iter_mut().zip(sampled) {
            // A shard that gave up has counted everything before.
            let Some(sampled) = sampled else { continue };
            let of_shard = sampled.operations.into_iter();
            let own = operations[state.logs.clone()].iter_mut();
            own.zip(of_shard).for_each(|(own, of_shard)| *own = of_shard);
            state.cache_bytes = sampled.cache_bytes;
            (state.log, state.hung) = (sampled.log, sampled.hung);
            state.delays = sampled.delays;
            (state.stop, state.standstill) = (sampled.stop, sampled.standstill);
            board.with(|whole| state.put(sampled.meters, whole));
        }
        if at > sampler.closed_at() {
            let cache_bytes = self.shards.iter().map(|state| state.cache_bytes).sum();
            if is_last {
                sampler.is_last();
            }
            let shards = || self.shards.iter();
            let stops = shards().map(|state| state.stop.clone());
            let stills = shards().map(|state| state.standstill.clone());
            let stop = stops.fold(LongestStop::default(), LongestStop::or);
            let still = stills.fold(Standstill::default(), Standstill::beside);
            sampler.note_still(stop.clone(), still.clone());
            let standing = so_far(plan, board, &self.shards).standing(stop, still);
            let recorded = sampler.close(at, board, &operations, cache_bytes, standing);
            self.listener.recorded(&recorded);
        }
        let so_far = TestRun {
            collected: self.sampler.as_ref().map(Sampler::collected),
            ..so_far(plan, board, &self.shards)
        };
        self.so_far = judged_so_far(plan, &so_far);
    }

    /// The whole test, once every shard has ended; `shards` are in the order of the shards.
    pub fn finish(self, shards: Vec<Portion>) -> TestRun {
        let sampler = self.sampler.as_ref();
        let begun = Time(u64::MAX);
        let mut run = TestRun {
            collection_ended: sampler.map(Sampler::closed_at),
            collected: sampler.map(Sampler::collected),
            board: Rc::clone(&self.board),
            ..TestRun::unfinished(self.plan, begun)
        };
        run.ended = Time::ZERO;
        run.take_shards(shards);
        run
    }
}

/// The test as far as it has come, without its samples.
fn so_far(plan: &Plan, board: &Rc<MeterBoard>, shards: &[State]) -> TestRun {
    let mut run = TestRun {
        board: Rc::clone(board),
        delays: latest(shards.iter().map(|state| &state.delays)),
        ..TestRun::unfinished(plan, Time::ZERO)
    };
    for state in shards {
        run.log.absorb(state.log.clone());
        run.hung.absorb(state.hung.clone());
    }
    run.note_errors(None);
    run
}

impl State {
    /// Puts the shard's counters in their place.
    fn put(&self, part: Meters, whole: &mut Meters) {
        let Meters { databases, logs, page_fault_stalls, page_requests, page_hits, corrected } =
            part;
        let own = whole.databases[self.databases.clone()].iter_mut();
        own.zip(databases).for_each(|(own, part)| *own = part);
        let own = whole.logs[self.logs.clone()].iter_mut();
        own.zip(logs).for_each(|(own, part)| *own = part);
        for (sum, mut part) in [
            (&mut whole.page_fault_stalls, page_fault_stalls),
            (&mut whole.page_requests, page_requests),
            (&mut whole.page_hits, page_hits),
            (&mut whole.corrected, corrected),
        ] {
            sum.add(part.close_interval());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use brunt_run::{Recorded, Sample, Standing};
    use brunt_stats::Reading;
    use brunt_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::tests::plan;
    use crate::rules::Ending;

    const MS: Span = Span::millis(1);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    #[derive(Default)]
    struct Heard(RefCell<Vec<Recorded>>);

    impl Listener for Heard {
        fn tell(&self, _: Time, _: &News) {}

        fn recorded(&self, recorded: &Recorded) {
            self.0.borrow_mut().push(recorded.clone());
        }
    }

    /// One shard with one database and one log.
    struct Own {
        board: MeterBoard,
        begin: Time,
    }

    impl Own {
        fn new() -> Self {
            Self { board: MeterBoard::new(1, 1), begin: at(100) }
        }

        fn read(&self, milliseconds: u64) {
            let latency = MS * milliseconds;
            self.board.database(0, |m| &mut m.reads, 32_768, latency);
            self.board.with(|meters| meters.page_fault_stalls.add(3));
        }

        /// Closes a sample, as a director does.
        fn sample(&self, at: Time, is_last: bool) -> Piece {
            let meters = self.board.with(|meters| {
                let sampled = meters.clone();
                meters.databases[0].reads.close_interval();
                meters.page_fault_stalls.close_interval();
                sampled
            });
            Piece::Sampled(Box::new(Sampled {
                begin: self.begin,
                at,
                is_last,
                meters,
                operations: vec![OperationLatencies::default()],
                cache_bytes: 1_000,
                log: Log::default(),
                hung: Hung::default(),
                delays: Latencies::new(),
                stop: LongestStop::default(),
                standstill: Standstill::default(),
            }))
        }
    }

    fn whole() -> Plan {
        Plan { shards: 2, ..plan() }
    }

    fn parts(endings: [Ending; 2]) -> Vec<Portion> {
        let parts = endings.into_iter().enumerate();
        let part = |(number, ending): (usize, Ending)| TestRun {
            ending,
            batches: vec![number as u64 + 1],
            ..TestRun::unfinished(&whole(), at(90 + number as u64))
        };
        parts.map(|one| part(one).into()).collect()
    }

    #[test]
    fn samples_of_shards_are_those_of_a_server_without_shards() {
        let plan = whole();
        let (heard, alone) = (Heard::default(), MeterBoard::new(2, 2));
        let mut joined = Joined::new(&plan, &heard);
        let shards = [Own::new(), Own::new()];
        let mut sampler = Sampler::start(&plan, at(100), &alone);
        for (number, reads) in [[1, 5], [2, 30], [4, 4]].into_iter().enumerate() {
            let (end, is_last) = (at(106 + 6 * number as u64), number == 2);
            for (database, (shard, read)) in (0..).zip(shards.iter().zip(reads)) {
                shard.read(read);
                alone.database(database, |m| &mut m.reads, 32_768, MS * read);
                alone.with(|meters| meters.page_fault_stalls.add(3));
            }
            joined.take(0, shards[0].sample(end, is_last), end);
            assert_eq!(heard.0.borrow().len(), number, "the other one is missing");
            joined.take(1, shards[1].sample(end, is_last), end);
            let operations = vec![OperationLatencies::default(); 2];
            if is_last {
                sampler.is_last();
            }
            let wanted = sampler.close(end, &alone, &operations, 2_000, Standing::default());
            let heard = heard.0.borrow();
            assert_eq!(heard[number].sample, wanted.sample);
        }
        let run = joined.finish(parts([Ending::Complete, Ending::Complete]));
        let (collected, wanted) = (run.collected.unwrap(), sampler.collected());
        assert_eq!(collected.samples, wanted.samples);
        assert_eq!(collected.reads, wanted.reads);
        assert_eq!(collected.length, Span::seconds(18));
        let reads = |board: &MeterBoard| board.with(|m| m.databases[1].reads.total());
        assert_eq!(reads(&run.board), reads(&alone));
        assert_eq!((run.started, run.batches), (at(90), vec![1, 2]));
    }

    /// What came of samples with these reads of both shards, when `order` says which of them hands in
    /// its next sample; and all reads.
    fn joined(reads: &[[Vec<u64>; 2]], order: &[bool]) -> (Vec<Sample>, Vec<Reading>) {
        let plan = whole();
        let heard = Heard::default();
        let mut joined = Joined::new(&plan, &heard);
        let shards = [Own::new(), Own::new()];
        let mut next = [0, 0];
        // What `order` leaves out comes at the end.
        let rest = [0, 1].into_iter().cycle().take(2 * reads.len());
        for shard in order.iter().map(|second| usize::from(*second)).chain(rest) {
            let number = next[shard];
            let Some(of_sample) = reads.get(number) else { continue };
            of_sample[shard].iter().for_each(|read| shards[shard].read(*read));
            next[shard] += 1;
            let (end, is_last) = (at(106 + 6 * number as u64), next[shard] == reads.len());
            joined.take(shard, shards[shard].sample(end, is_last), end);
        }
        assert_eq!(next, [reads.len(); 2]);
        let run = joined.finish(parts([Ending::Complete, Ending::Complete]));
        let totals = run.board.with(|meters| {
            let databases = meters.databases.iter();
            databases.map(|meters| meters.reads.total()).collect()
        });
        let samples = heard.0.borrow().iter().map(|one| (*one.sample).clone()).collect();
        (samples, totals)
    }

    proptest! {
        /// Threads are as fast as they are: what came of them does not depend on it.
        #[test]
        fn shards_are_the_server_in_any_order(
            reads in prop::collection::vec(
                [prop::collection::vec(1_u64..400, 0..4), prop::collection::vec(1_u64..400, 0..4)],
                1..8,
            ),
            order in prop::collection::vec(any::<bool>(), 0..16),
        ) {
            let (samples, totals) = joined(&reads, &order);
            prop_assert_eq!(samples.len(), reads.len());
            let (other_samples, other_totals) = joined(&reads, &[]);
            prop_assert_eq!(samples, other_samples);
            prop_assert_eq!(&totals, &other_totals);
            for (shard, total) in totals.iter().enumerate() {
                let count: u64 = reads.iter().map(|of_sample| of_sample[shard].len() as u64).sum();
                prop_assert_eq!(total.count, count);
            }
        }
    }

    #[test]
    fn a_shard_that_gave_up_keeps_no_sample_of_the_others_waiting() {
        let plan = whole();
        let heard = Heard::default();
        let mut joined = Joined::new(&plan, &heard);
        let [broken, other] = [Own::new(), Own::new()];
        broken.read(1);
        joined.take(0, broken.sample(at(103), true), at(103));
        other.read(1);
        joined.take(1, other.sample(at(106), false), at(106));
        other.read(2);
        joined.take(1, other.sample(at(107), true), at(107));
        for shard in [0, 1] {
            joined.take(shard, Piece::Ended, at(200));
        }
        assert_eq!(heard.0.borrow().len(), 2);
        let broken = Ending::Broken("the log failed".to_owned());
        let run = joined.finish(parts([broken.clone(), Ending::Complete]));
        assert_eq!(run.ending, broken);
        let counts = run.board.with(|meters| {
            let databases = meters.databases.iter();
            databases.map(|m| m.reads.total().count).collect::<Vec<_>>()
        });
        assert_eq!(counts, [1, 2]);
        assert_eq!(run.board.with(|meters| meters.page_fault_stalls.total()), 9);
    }
}
