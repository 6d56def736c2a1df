//! Sessions at work: a closed or paced loop of operations over any target.
//!
//! ```text
//!   intended ---- wait ----> began ---- perform ----> done ---- spend ----> next intended
//!      |<------------- latency from the intended start ----->|
//!                             |<-- from the actual start --->|
//! ```
//!
//! Operations that were scheduled but not finished when the collection ends count with their wait
//! until then. Otherwise storage that stalls to the end would look idle.
//!
//! A session draws its operation when it begins it, so what it asks for does not depend on how long
//! it waited. A session ends after an operation, when asked to stop or when the target is broken;
//! operations are never interrupted.
//!
//! The target is a trait so that the loop can be tested against one with known times.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_stats::OperationLatencies;
use brunt_units::{Span, Time};
use brunt_workload::operations::{Operation, Outcome, Workload};
use brunt_workload::session::{Ended, Scheduler, Scheduling};
use brunt_world::World;
use brunt_world::sync::Event;

use crate::truth::found::Found;
use crate::truth::oracle::{Finding, Findings};

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Performed {
    /// Whether it committed.
    pub outcome: Outcome,
    /// A wrong record that it met.
    pub finding: Option<Finding>,
}

/// The target of sessions.
pub trait Target {
    /// Performs an operation, its commit included.
    ///
    /// # Errors
    /// When a page or the log failed. The operation did not take place, or its outcome is unknown.
    fn perform(
        &self,
        operation: &Operation,
    ) -> impl Future<Output = Result<Performed, EngineError>>;

    /// Whether no operation can succeed any more.
    fn is_broken(&self) -> bool;

    /// Recent mean latency of an instance's database writes.
    fn write_latency(&self, instance: u32) -> Span;
}

impl<T: Target> Target for Rc<T> {
    async fn perform(&self, operation: &Operation) -> Result<Performed, EngineError> {
        T::perform(self, operation).await
    }

    fn is_broken(&self) -> bool {
        T::is_broken(self)
    }

    fn write_latency(&self, instance: u32) -> Span {
        T::write_latency(self, instance)
    }
}

/// Operations that may fail before a test ends: one bad spot is a finding, a hundred mean a broken
/// device.
const ERRORS_MAX: u64 = 100;

/// How often a waiting session checks whether to stop.
const NAP: Span = Span::millis(250);

/// Upper bound of unfinished operations that are counted: a schedule may be hours behind.
const UNFINISHED_MAX: usize = 1_000_000;

/// Counts and findings of sessions.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Operations that committed.
    pub committed: u64,
    /// Operations that were rolled back because of a conflict.
    pub rolled_back: u64,
    /// Wrong records.
    pub findings: Findings,
    /// Operations that ended with an error.
    pub errors: u64,
    pub first_error: Option<EngineError>,
    /// Faults of the storage, each listed once.
    pub found: Found,
}

impl Log {
    /// Adds the counts and findings of other sessions.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.findings = self.findings.and(other.findings);
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
        self.found.absorb(&other.found);
    }
}

/// When a session's operation is intended to begin, and the instance of its last one.
#[derive(Clone, Copy, Debug, Default)]
struct Intended {
    at: Time,
    instance: u32,
}

/// A pool of sessions.
pub struct Sessions<T> {
    world: World,
    target: T,
    cost: Span,
    count: u32,
    workload: RefCell<Workload>,
    scheduler: RefCell<Scheduler>,
    /// By instance.
    latencies: RefCell<Vec<OperationLatencies>>,
    /// Operations intended before this time do not count.
    count_from: Cell<Time>,
    /// By session.
    intended: RefCell<Vec<Intended>>,
    log: RefCell<Log>,
    stopping: Cell<bool>,
    running: Cell<u32>,
    ended: Event,
}

impl<T: Target + 'static> Sessions<T> {
    /// Starts `count` sessions; `cost` is the computing time of an operation in a virtual world.
    pub fn start(
        world: &World,
        target: T,
        workload: Workload,
        scheduler: Scheduler,
        count: u32,
        cost: Span,
    ) -> Rc<Self> {
        let pool = Rc::new(Self {
            world: world.clone(),
            target,
            cost,
            count,
            workload: RefCell::new(workload),
            scheduler: RefCell::new(scheduler),
            latencies: RefCell::default(),
            count_from: Cell::new(Time::ZERO),
            intended: RefCell::new(vec![Intended::default(); count as usize]),
            log: RefCell::default(),
            stopping: Cell::new(false),
            running: Cell::new(count),
            ended: Event::new(world.spawner.tasks()),
        });
        for number in 0..count {
            let session = Rc::clone(&pool).run(number);
            drop(world.spawner.spawn(session));
        }
        pool
    }

    /// Takes over the log of an earlier pool.
    pub fn inherit(&self, former: &Self) {
        let mut log = self.log.borrow_mut();
        assert!(log.committed == 0, "they have begun to work");
        *log = former.log();
    }

    pub fn target(&self) -> &T {
        &self.target
    }

    /// The number of sessions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Counts and findings so far.
    pub fn log(&self) -> Log {
        self.log.borrow().clone()
    }

    /// Whether no session runs, or they have been asked to stop.
    pub fn is_over(&self) -> bool {
        self.stopping.get() || self.running.get() == 0
    }

    /// Takes the latencies of operations since the last call, by instance. Trailing instances
    /// without operations are left out.
    pub fn take_latencies(&self) -> Vec<OperationLatencies> {
        self.latencies.take()
    }

    /// Operations count from now on; a schedule that is behind drops its backlog.
    pub fn begin_collection(&self) {
        let now = self.world.clock.now();
        self.count_from.set(now);
        self.scheduler.borrow_mut().catch_up(now);
        self.latencies.take();
    }

    /// Counts scheduled operations that are not finished, with their wait until now.
    pub fn count_unfinished(&self) {
        let now = self.world.clock.now();
        let scheduler = self.scheduler.borrow();
        if !matches!(scheduler.scheduling(), Scheduling::Paced { .. }) {
            return;
        }
        let begun = self.intended.borrow();
        let begun = begun.iter().filter(|intended| intended.at < now);
        let begun = begun.map(|intended| (intended.at, intended.instance));
        // An operation that has not begun has no instance yet: it counts with the first.
        let overdue = scheduler.overdue(now).map(|at| (at, 0));
        for (intended, instance) in begun.chain(overdue).take(UNFINISHED_MAX) {
            if intended >= self.count_from.get() {
                self.with_latencies(instance, |own| own.from_intended_start.record(now - intended));
            }
        }
    }

    /// Changes how sessions are held back.
    pub fn set_scheduling(&self, scheduling: Scheduling) {
        let now = self.world.clock.now();
        self.scheduler.borrow_mut().set_scheduling(scheduling, now);
    }

    /// Reads or changes the workload.
    pub fn with_workload<R>(&self, look: impl FnOnce(&mut Workload) -> R) -> R {
        look(&mut self.workload.borrow_mut())
    }

    /// Asks all sessions to end after their operation, and waits until they have.
    pub async fn stop(&self) {
        self.stopping.set(true);
        let running = || (self.running.get() == 0).then_some(());
        self.ended.wait(running).await;
    }

    async fn run(self: Rc<Self>, number: u32) {
        let mut intended = self.scheduler.borrow_mut().first();
        loop {
            self.intended.borrow_mut()[number as usize].at = intended;
            self.wait_until(intended).await;
            if self.stopping.get() || self.target.is_broken() {
                break;
            }
            let (began, instance) = self.operate(number, intended).await;
            self.world.clock.spend(self.cost).await;
            let ended =
                Ended { instance, began, write_latency: self.target.write_latency(instance) };
            let now = self.world.clock.now();
            intended = self.scheduler.borrow_mut().next(now, ended);
        }
        self.running.set(self.running.get() - 1);
        self.ended.notify();
    }

    /// Waits until `intended`, or until the pool is stopping.
    async fn wait_until(&self, intended: Time) {
        while !self.stopping.get() && self.world.clock.now() < intended {
            let nap = self.world.clock.now() + NAP;
            self.world.sleep_until(intended.min(nap)).await;
        }
    }

    /// Performs one operation; returns its start and its instance.
    async fn operate(&self, number: u32, intended: Time) -> (Time, u32) {
        let operation = self.workload.borrow_mut().next(number);
        self.intended.borrow_mut()[number as usize].instance = operation.instance;
        let began = self.world.clock.now();
        let performed = self.target.perform(&operation).await;
        let done = self.world.clock.now();
        let outcome = self.note(performed);
        self.workload.borrow_mut().ended(operation, outcome);
        if outcome == Outcome::Committed && intended >= self.count_from.get() {
            self.with_latencies(operation.instance, |own| own.record(intended, began, done));
        }
        (began, operation.instance)
    }

    fn with_latencies(&self, instance: u32, record: impl FnOnce(&mut OperationLatencies)) {
        let mut latencies = self.latencies.borrow_mut();
        let at = instance as usize;
        if latencies.len() <= at {
            latencies.resize_with(at + 1, OperationLatencies::default);
        }
        record(&mut latencies[at]);
    }

    fn note(&self, performed: Result<Performed, EngineError>) -> Outcome {
        let mut log = self.log.borrow_mut();
        match performed {
            Ok(Performed { outcome, finding }) => {
                finding.into_iter().for_each(|finding| log.findings.add(finding));
                match outcome {
                    Outcome::Committed => log.committed += 1,
                    Outcome::RolledBack | Outcome::Failed => log.rolled_back += 1,
                }
                outcome
            }
            Err(error) => {
                log.errors += 1;
                log.found.note(&error);
                log.first_error.get_or_insert(error);
                if log.errors >= ERRORS_MAX {
                    self.stopping.set(true);
                }
                Outcome::Failed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::PageNumber;
    use brunt_workload::keys::Population;
    use brunt_workload::mix::Mix;
    use brunt_workload::profile::InstanceChoice;
    use brunt_workload::session::PoolShape;
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;

    /// A server that serves one operation at a time, each for the same time, and fails after the
    /// first `fails_from`.
    struct Slow {
        world: World,
        service: Span,
        free: Cell<Time>,
        asked: Cell<u64>,
        fails_from: u64,
    }

    impl Target for Slow {
        async fn perform(&self, _: &Operation) -> Result<Performed, EngineError> {
            let number = self.asked.get() + 1;
            self.asked.set(number);
            let end = self.free.get().max(self.world.clock.now()) + self.service;
            self.free.set(end);
            self.world.sleep_until(end).await;
            if number > self.fails_from {
                return Err(EngineError::Page {
                    database: "a.edb".into(),
                    page: PageNumber(1),
                    offset: 8192,
                    fault: brunt_ese::error::PageFault::Checksum,
                });
            }
            Ok(Performed { outcome: Outcome::Committed, finding: None })
        }

        fn is_broken(&self) -> bool {
            false
        }

        fn write_latency(&self, _: u32) -> Span {
            Span::ZERO
        }
    }

    fn pool(
        world: &World,
        count: u32,
        scheduling: Scheduling,
        fails_from: u64,
    ) -> Rc<Sessions<Slow>> {
        let shape = PoolShape {
            sessions: count,
            instances: 1,
            batch: 50,
            choice: InstanceChoice::Rotation,
        };
        let mixer = Workload::mixer(world.random, 0);
        let populations = vec![Population::new(mixer, 1_000)];
        let mix = Mix::new(40, 20, 5, 70).unwrap();
        let workload = Workload::new(shape, mix, populations, 10, world.random);
        let target = Slow {
            world: world.clone(),
            service: Span::millis(2),
            free: Cell::new(Time::ZERO),
            asked: Cell::new(0),
            fails_from,
        };
        let scheduler = Scheduler::new(scheduling, 1, world.clock.now());
        Sessions::start(world, target, workload, scheduler, count, Span::ZERO)
    }

    fn run(
        count: u32,
        scheduling: Scheduling,
        fails_from: u64,
        length: Span,
    ) -> (Log, OperationLatencies, Time) {
        let mut machine = VirtualWorld::new(VirtualOptions::new(5));
        let world = machine.world.clone();
        machine.executor.block_on(async move {
            let pool = pool(&world, count, scheduling, fails_from);
            world.sleep(length).await;
            pool.stop().await;
            let latencies = pool.take_latencies().swap_remove(0);
            (pool.log(), latencies, world.clock.now())
        })
    }

    #[test]
    fn a_closed_loop_waits_for_everyone_before_it() {
        let (log, latencies, end) = run(4, Scheduling::None, u64::MAX, Span::seconds(2));
        // 2 ms each, one at a time; the last of each session ends after the stop.
        assert!((1_000..=1_004).contains(&log.committed), "{}", log.committed);
        assert!(end - Time::ZERO <= Span::millis(2_008));
        let mean = latencies.from_intended_start.mean().unwrap().as_millis();
        assert!((mean - 8.0).abs() < 0.05, "{mean} ms for a queue of four");
    }

    #[test]
    fn a_paced_pool_counts_from_the_intended_start() {
        // 1,000 per second are intended and 500 are done: the delay grows by one second every two.
        let paced = Scheduling::Paced { rate: 1_000.0 };
        let (_, latencies, _) = run(16, paced, u64::MAX, Span::seconds(4));
        let worst = latencies.from_intended_start.max().unwrap().as_seconds();
        assert!((1.9..2.1).contains(&worst), "{worst} s");
        let service = latencies.from_actual_start.max().unwrap().as_millis();
        assert!(service <= 32.1, "{service} ms for a queue of sixteen");
    }

    #[test]
    fn what_is_not_done_by_the_end_counts_with_its_delay() {
        let paced = Scheduling::Paced { rate: 1_000.0 };
        let mut machine = VirtualWorld::new(VirtualOptions::new(5));
        let world = machine.world.clone();
        let latencies = machine.executor.block_on(async move {
            let pool = pool(&world, 4, paced, u64::MAX);
            world.sleep(Span::seconds(1)).await;
            pool.begin_collection();
            world.sleep(Span::seconds(2)).await;
            let before = pool.latencies.borrow()[0].from_intended_start.count();
            pool.count_unfinished();
            let latencies = pool.take_latencies().swap_remove(0);
            pool.stop().await;
            assert!((985..1_001).contains(&before), "{before} done in two seconds");
            latencies
        });
        // 2,000 were scheduled in two seconds, and each has a latency.
        let intended = latencies.from_intended_start;
        assert!((1_995..=2_004).contains(&intended.count()), "{}", intended.count());
        let worst = intended.max().unwrap().as_seconds();
        assert!((0.95..1.05).contains(&worst), "{worst} s");
    }

    #[test]
    fn many_errors_end_the_test_and_the_first_is_kept() {
        let (log, _, _) = run(2, Scheduling::None, 10, Span::seconds(60));
        assert_eq!(log.committed, 10);
        assert!((ERRORS_MAX..ERRORS_MAX + 2).contains(&log.errors));
        assert!(matches!(log.first_error, Some(EngineError::Page { .. })));
    }
}
