//! The part of a test that counts: sessions run, samples are taken, and growth, hung I/O and the
//! program itself are watched.

use std::rc::Rc;

use brunt_ese::meter::MeterBoard;
use brunt_run::{News, TELL};
use brunt_units::Time;
use brunt_world::{Class, Op};

use crate::goal::Growth;
use crate::hanging::GIVEN_UP;
use crate::live::Gauge;
use crate::load::punctuality::{EVERY, Punctuality};
use crate::load::{Load, RATE_MIN};
use crate::phases::run::{Director, LOOK, TICK};
use crate::phases::test_run::TestRun;
use crate::result::{hopeless_so_far, judged_so_far};
use crate::sampling::Sampler;
use crate::server::{Server, Table};
use crate::shards::joined::Sampled;

/// What is watched between samples.
struct Watch {
    gauge: Gauge,
    tell_at: Time,
    look_at: Time,
}

impl Director<'_> {
    /// Collects until the duration is over, the user stops the test, or it cannot continue.
    ///
    /// # Errors
    /// Why the test is refused before the collection, in words.
    pub(crate) async fn collect<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Server<T>,
        load: &mut Load<T>,
    ) -> Result<(), String> {
        let (plan, board) = (self.plan, server.board());
        // The warm-up may have ended before there was a rate.
        let by = self.now() + RATE_MIN;
        while load.operations_per_s(self.now()).is_none() && self.now() < by {
            self.world.sleep(TICK).await;
            self.tend(load);
        }
        self.foresee_growth(load)?;
        let Some(now) = self.begin_with_others(load).await else {
            return Ok(());
        };
        let (length, page) = (plan.to_collect(), plan.engine.page.bytes_u64());
        let mut end = now + length;
        let resident = || u64::from(server.resident().0) * page;
        self.tell(News::CollectionStarted);
        let mut sampler = Sampler::start(plan, now, board);
        let mut watch =
            Watch { gauge: Gauge::new(now, length, plan, run.target), tell_at: now, look_at: now };
        self.recorder.begin_collection();
        let punctuality = Punctuality::watch(self.world, self.recorder);
        load.sessions.begin_collection();
        loop {
            // Before anything is judged: the task that beats may not have run yet.
            self.recorder.beat(EVERY);
            let now = self.now();
            if !run.is_shortened && self.listener.has_enough() {
                // Whole samples are comparable.
                run.is_shortened = sampler.due() < end;
                end = end.min(sampler.due());
            }
            let over = now >= end || self.is_over(load) || self.is_stuck(&mut watch.look_at);
            // Before a sample is closed: then it is whole.
            if now >= watch.tell_at {
                watch.tell_at = now + self.listener.wants_news_every();
                let live = watch.gauge.read(now, board, sampler.is_over());
                self.tell(News::Testing(live));
            }
            if now >= sampler.due() || (over && now > sampler.closed_at()) {
                if over {
                    load.sessions.count_unfinished();
                    self.count_unfinished(now, board);
                    sampler.is_last();
                }
                let operations = load.sessions.take_latencies();
                if let Some(shard) = self.parts.shard {
                    shard.sampled(Sampled {
                        begin: sampler.begin(),
                        at: now,
                        is_last: over,
                        meters: board.with(|meters| meters.clone()),
                        operations: operations.clone(),
                        cache_bytes: resident(),
                        log: load.sessions.log(),
                        hung: self.recorder.hung(),
                        delays: punctuality.so_far(),
                        stop: self.recorder.stop(),
                        standstill: self.recorder.standstill(),
                    });
                }
                if let Some(followers) = server.followers() {
                    sampler.note_queues(&followers.sample(now));
                    followers.news().into_iter().for_each(|news| self.note(news));
                }
                let (stop, standstill) = (self.recorder.stop(), self.recorder.standstill());
                sampler.note_still(stop.clone(), standstill.clone());
                let mut so_far = self.so_far(run, load, &punctuality);
                let standing = so_far.standing(stop, standstill);
                let recorded = sampler.close(now, board, &operations, resident(), standing);
                self.listener.recorded(&recorded);
                so_far.collected = Some(sampler.collected());
                watch.gauge.judged(judged_so_far(self.plan, &so_far));
                if plan.abort_on_fail && !over {
                    run.hopeless = hopeless_so_far(plan, &so_far);
                    end = if run.hopeless.is_some() { now } else { end };
                }
            }
            if over {
                break;
            }
            self.tend(load);
            self.world.sleep_until(sampler.due().min(end).min(now + TICK)).await;
        }
        self.tell(News::CollectionEnded);
        run.delays = punctuality.end();
        run.collection_ended = Some(sampler.closed_at());
        run.collected = Some(sampler.collected());
        Ok(())
    }

    /// Counts database reads and log writes in flight that have already taken longer than a sample
    /// may: their latency is at least that. Younger ones say nothing yet.
    fn count_unfinished(&self, now: Time, board: &MeterBoard) {
        let (plan, limits) = (self.plan, &self.plan.limits.latency);
        let number = |at: Option<usize>| at.and_then(|at| u8::try_from(at).ok());
        for io in self.recorder.unfinished(now) {
            let (bytes, age) = (io.bytes, io.age);
            match (io.class, io.op) {
                (Class::Database, Op::Read) if age > limits.read_sample => {
                    let mut databases = plan.databases();
                    let at = databases.position(|database| database.path == io.path);
                    number(at)
                        .iter()
                        .for_each(|at| board.database(*at, |m| &mut m.reads, bytes, age));
                }
                (Class::Log, Op::Write | Op::WriteThrough | Op::Sync)
                    if age > limits.log_sample =>
                {
                    let mut instances = plan.instances.iter();
                    let at = instances.position(|one| io.path.parent() == Some(&one.log));
                    number(at).iter().for_each(|at| board.log(*at, |m| &mut m.writes, bytes, age));
                }
                _ => {}
            }
        }
    }

    /// When the collection begins: now, or when all parts are warm. `None` when the test is over
    /// before.
    async fn begin_with_others<T: Table>(&self, load: &mut Load<T>) -> Option<Time> {
        let Some(meeting) = self.parts.meeting else {
            return Some(self.now());
        };
        meeting.arrive_warm(self.now());
        let mut tell_at = self.now();
        while !self.is_over(load) {
            if self.now() >= tell_at {
                let what = "warm; waits for the others".to_owned();
                self.tell(News::Settling { share: 1.0, what, at_most: None });
                tell_at = self.now() + TELL;
            }
            if let Some(begin) = meeting.begin() {
                self.world.sleep_until(begin).await;
                return Some(begin);
            }
            self.world.sleep(TICK).await;
            self.tend(load);
        }
        None
    }

    /// The test so far, without its samples.
    pub(crate) fn so_far<T: Table>(
        &self,
        run: &TestRun,
        load: &Load<T>,
        punctuality: &Punctuality,
    ) -> TestRun {
        let mut now = TestRun {
            sessions: run.sessions,
            target: run.target,
            tuning: run.tuning.clone(),
            short_of: run.short_of.clone(),
            initial: run.initial.clone(),
            last: run.last.clone(),
            board: Rc::clone(&run.board),
            log: load.sessions.log(),
            hung: self.recorder.hung(),
            delays: punctuality.so_far(),
            ..TestRun::unfinished(self.plan, run.started)
        };
        now.note_errors(None);
        now
    }

    /// Whether an I/O has hung for so long that the test gives up.
    pub(crate) fn is_stuck(&self, look_at: &mut Time) -> bool {
        let now = self.now();
        if now < *look_at {
            return false;
        }
        *look_at = now + LOOK;
        let hanging = self.recorder.look(now);
        hanging.is_some_and(|hanging| hanging >= GIVEN_UP)
    }

    fn foresee_growth<T: Table>(&self, load: &Load<T>) -> Result<(), String> {
        let Some(rate) = load.operations_per_s(self.now()) else {
            return Ok(());
        };
        let duration = self.plan.to_collect();
        let forecast = load.forecast(self.plan, rate);
        if self.plan.growth == Growth::Refuse && forecast.is_within(duration) {
            return Err(forecast.refusal(duration));
        }
        self.note(forecast.note(duration));
        Ok(())
    }
}
