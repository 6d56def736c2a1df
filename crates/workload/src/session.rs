//! Sessions: one pool that visits the instances batch by batch, and its scheduling.
//!
//! A session is not bound to a database. It takes a batch of about fifty operations, runs it on one
//! instance, and moves to the next: drawn at random by the tools up to 2010, in strict rotation
//! over all sessions in 2013. So a slow volume gets as many batches as a fast one, and slows the
//! whole pool. (Batch counts in published reports are either scattered as in a uniform draw, or
//! equal.)
//!
//! Between operations a [`Scheduling`] determines when the next one is *intended* to begin. Latency
//! counts from there, even when the session is late.
//!
//! ```text
//!   none      done -> at once                      physical: limited by the storage alone
//!   think     done -> + a fixed time               what a session does between operations
//!   pause     done -> + p x active time            think time in proportion
//!   station   done -> wait for one server          a serial resource in each instance
//!                      of k x write latency
//!   paced     first, + 1/rate, + 1/rate, ...       a fixed schedule, kept or missed
//! ```
//!
//! A paced pool has one schedule: each free session takes its next time. So a session that waits
//! for a slow volume delays only its own operation, and any lateness is that of the whole pool.
//! Nothing is left out: a time that has passed is still assigned, and its delay counts.

use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};

pub use crate::profile::InstanceChoice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShape {
    /// Sessions in the pool, at least one.
    pub sessions: u32,
    /// Instances they visit, at least one.
    pub instances: u32,
    /// Operations in a batch, at least one.
    pub batch: u32,
    /// How the next instance is chosen.
    pub choice: InstanceChoice,
}

#[derive(Clone, Debug)]
struct Session {
    random: Stream,
    instance: u32,
    /// Operations left in the batch.
    left: u32,
}

/// The pool; see the [module](self).
#[derive(Clone, Debug)]
pub struct Pool {
    shape: PoolShape,
    sessions: Vec<Session>,
    /// Batches begun on each instance.
    batches: Vec<u64>,
    begun: u64,
}

impl Pool {
    /// A pool at rest. Session `n` draws from the stream `session/n` of `streams`.
    ///
    /// # Panics
    /// When there are no sessions, no instances, or no operations in a batch.
    pub fn new(shape: PoolShape, streams: Streams) -> Self {
        assert!(shape.sessions > 0 && shape.instances > 0 && shape.batch > 0);
        let session = |number| Session {
            random: streams.named(&format!("session/{number}")),
            instance: 0,
            left: 0,
        };
        Self {
            shape,
            sessions: (0..shape.sessions).map(session).collect(),
            batches: vec![0; shape.instances as usize],
            begun: 0,
        }
    }

    /// The pool's shape.
    pub fn shape(&self) -> PoolShape {
        self.shape
    }

    /// The instance for the session's next operation; begins a new batch when the last one is used
    /// up.
    pub fn next(&mut self, session: u32) -> u32 {
        let state = &mut self.sessions[session as usize];
        if state.left == 0 {
            let instances = u64::from(self.shape.instances);
            let instance = match self.shape.choice {
                InstanceChoice::Uniform => state.random.below(instances),
                InstanceChoice::Rotation => self.begun.rem_euclid(instances),
            };
            self.begun += 1;
            state.left = self.shape.batch;
            state.instance = u32::try_from(instance).expect("below the number of instances");
            self.batches[state.instance as usize] += 1;
        }
        state.left -= 1;
        state.instance
    }

    /// The session's random number stream.
    pub fn random(&mut self, session: u32) -> &mut Stream {
        &mut self.sessions[session as usize].random
    }

    /// Batches begun on each instance: printed by Jetstress as batch transaction statistics.
    pub fn batches(&self) -> &[u64] {
        &self.batches
    }
}

/// How a closed loop of sessions is held back. Reports name it beside every closed-loop figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduling {
    /// Not held back: the default on real storage.
    None,
    /// After each operation, thinks for a fixed time.
    Think {
        /// How long.
        time: Span,
    },
    /// After each operation, pauses for a multiple of its duration.
    Pause {
        /// The factor, zero or more.
        factor: f64,
    },
    /// After each operation, waits for a server, one per instance, that takes a multiple of the
    /// current database write latency.
    Station {
        /// The factor, zero or more; 0.43 and 0.72 fit the two published tests that were examined.
        factor: f64,
    },
    /// Operations of the whole pool begin at fixed intervals, regardless of the storage.
    Paced {
        /// Operations per second over all sessions, above zero.
        rate: f64,
    },
}

impl std::fmt::Display for Scheduling {
    /// As written in scenarios, except for a pace.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Think { time } => write!(f, "think {}ms", time.0 as f64 / 1e6),
            Self::Pause { factor } => write!(f, "pause {factor}"),
            Self::Station { factor } => write!(f, "station {factor}"),
            Self::Paced { rate } => write!(f, "paced {rate}"),
        }
    }
}

/// What the scheduler needs to know about an operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The instance it ran on.
    pub instance: u32,
    /// When it actually began.
    pub began: Time,
    /// Recent mean latency of that instance's database writes.
    pub write_latency: Span,
}

/// A running [`Scheduling`].
#[derive(Clone, Debug)]
pub struct Scheduler {
    scheduling: Scheduling,
    /// When the schedule began, or its rate last changed.
    start: Time,
    /// Times of the schedule assigned since then.
    given: u64,
    /// When each instance's station is next free.
    station_free: Vec<Time>,
}

impl Scheduler {
    /// A scheduler for `instances` instances whose sessions begin at `start`.
    ///
    /// # Panics
    /// When a factor is negative or a rate not above zero.
    pub fn new(scheduling: Scheduling, instances: u32, start: Time) -> Self {
        match scheduling {
            Scheduling::None | Scheduling::Think { .. } => {}
            Scheduling::Pause { factor } | Scheduling::Station { factor } => {
                assert!(factor >= 0.0, "a factor of {factor}");
            }
            Scheduling::Paced { rate } => assert!(rate > 0.0, "a rate of {rate} a second"),
        }
        Self { scheduling, start, given: 0, station_free: vec![start; instances as usize] }
    }

    /// How sessions are held back.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// When a session's first operation is intended to begin.
    pub fn first(&mut self) -> Time {
        match self.scheduling {
            Scheduling::Paced { rate } => self.slot(rate),
            _ => self.start,
        }
    }

    /// Changes the scheduling. A schedule continues from the next time it would have assigned.
    ///
    /// # Panics
    /// When a rate is not above zero.
    pub fn set_scheduling(&mut self, scheduling: Scheduling, now: Time) {
        self.start = match self.scheduling {
            Scheduling::Paced { rate } => self.time_of(self.given, rate),
            _ => now,
        };
        self.given = 0;
        if let Scheduling::Paced { rate } = scheduling {
            assert!(rate > 0.0, "a rate of {rate} a second");
        }
        self.scheduling = scheduling;
    }

    /// Times of the schedule before `now` that have not been assigned.
    pub fn overdue(&self, now: Time) -> impl Iterator<Item = Time> + '_ {
        let rate = match self.scheduling {
            Scheduling::Paced { rate } => Some(rate),
            _ => None,
        };
        let slots = rate.into_iter().flat_map(|rate| (self.given..).map(move |slot| (slot, rate)));
        slots.map(|(slot, rate)| self.time_of(slot, rate)).take_while(move |time| *time < now)
    }

    /// Skips lateness: times of the schedule before `now` are no longer assigned. Future times that
    /// sessions already wait for are unaffected.
    pub fn catch_up(&mut self, now: Time) {
        if let Scheduling::Paced { rate } = self.scheduling {
            self.start = self.time_of(self.given, rate).max(now);
            self.given = 0;
        }
    }

    /// The intended start of a session's next operation after one has ended.
    ///
    /// In a closed loop that is `now` or later; for a late paced session it is before `now`.
    pub fn next(&mut self, now: Time, ended: Ended) -> Time {
        match self.scheduling {
            Scheduling::None => now,
            Scheduling::Think { time } => now + time,
            Scheduling::Pause { factor } => now + scaled(now - ended.began, factor),
            Scheduling::Station { factor } => {
                let free = &mut self.station_free[ended.instance as usize];
                *free = now.max(*free) + scaled(ended.write_latency, factor);
                *free
            }
            Scheduling::Paced { rate } => self.slot(rate),
        }
    }

    /// Takes the next time of the schedule.
    fn slot(&mut self, rate: f64) -> Time {
        self.given += 1;
        self.time_of(self.given - 1, rate)
    }

    fn time_of(&self, slot: u64, rate: f64) -> Time {
        self.start + Span::from_seconds(slot as f64 / rate)
    }
}

fn scaled(span: Span, factor: f64) -> Span {
    Span::from_seconds(span.as_seconds() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(choice: InstanceChoice, sessions: u32, instances: u32) -> Pool {
        let shape = PoolShape { sessions, instances, batch: 5, choice };
        Pool::new(shape, Streams::new(3))
    }

    #[test]
    fn a_batch_stays_on_one_instance() {
        let mut pool = pool(InstanceChoice::Uniform, 3, 50);
        for _ in 0..100 {
            for session in 0..3 {
                let batch: Vec<_> = (0..5).map(|_| pool.next(session)).collect();
                assert!(batch.iter().all(|instance| *instance == batch[0]));
            }
        }
        assert_eq!(pool.batches().iter().sum::<u64>(), 300);
    }

    #[test]
    fn random_batches_scatter_as_a_uniform_draw_does() {
        let (sessions, instances, rounds) = (16, 8, 2_000);
        let mut pool = pool(InstanceChoice::Uniform, sessions, instances);
        for _ in 0..rounds * 5 {
            (0..sessions).for_each(|session| _ = pool.next(session));
        }
        let expected = f64::from(rounds * sessions) / f64::from(instances);
        let square = |count: &u64| (*count as f64 - expected).powi(2) / expected;
        let chi: f64 = pool.batches().iter().map(square).sum();
        let per_degree = chi / f64::from(instances - 1);
        assert!((0.2..2.6).contains(&per_degree), "chi2/df = {per_degree}");
    }

    #[test]
    fn rotation_keeps_batch_counts_equal_whatever_the_sessions_do() {
        let mut pool = pool(InstanceChoice::Rotation, 7, 4);
        let mut random = Streams::new(9).named("order");
        for _ in 0..3_000 {
            let session = u32::try_from(random.below(7)).unwrap();
            pool.next(session);
            let (least, most) = (pool.batches().iter().min(), pool.batches().iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1);
        }
    }

    #[test]
    fn a_session_does_the_same_in_a_larger_pool() {
        let choice = InstanceChoice::Uniform;
        let (mut small, mut large) = (pool(choice, 2, 9), pool(choice, 20, 9));
        for _ in 0..200 {
            assert_eq!(small.next(1), large.next(1));
            large.next(11);
        }
    }

    const MS: Span = Span::millis(1);

    fn ended(began: Time) -> Ended {
        Ended { instance: 0, began, write_latency: MS * 10 }
    }

    #[test]
    fn without_scheduling_nobody_waits() {
        let mut scheduler = Scheduler::new(Scheduling::None, 1, Time(5));
        assert_eq!(scheduler.first(), Time(5));
        assert_eq!(scheduler.next(Time(70), ended(Time(5))), Time(70));
    }

    #[test]
    fn a_session_thinks_as_long_after_a_slow_operation_as_after_a_fast_one() {
        let mut scheduler = Scheduler::new(Scheduling::Think { time: MS * 8 }, 1, Time::ZERO);
        for millis in [1, 90] {
            let done = Time::ZERO + MS * millis;
            assert_eq!(scheduler.next(done, ended(Time::ZERO)), done + MS * 8);
        }
    }

    #[test]
    fn a_pause_of_one_leaves_a_session_idle_half_the_time() {
        let mut scheduler = Scheduler::new(Scheduling::Pause { factor: 1.0 }, 1, Time::ZERO);
        let (mut now, mut active) = (scheduler.first(), Span::ZERO);
        for millis in [3, 20, 1, 7] {
            let began = now;
            active += MS * millis;
            now = scheduler.next(began + MS * millis, ended(began));
        }
        assert_eq!(now - Time::ZERO, active * 2);
    }

    #[test]
    fn a_station_serves_one_at_a_time_and_idles_for_nothing() {
        let mut scheduler = Scheduler::new(Scheduling::Station { factor: 0.5 }, 1, Time::ZERO);
        let at = Time::ZERO + MS;
        assert_eq!(scheduler.next(at, ended(Time::ZERO)), at + MS * 5);
        assert_eq!(scheduler.next(at, ended(Time::ZERO)), at + MS * 10);
        let fast = Ended { write_latency: Span::ZERO, ..ended(Time::ZERO) };
        let later = at + MS * 40;
        assert_eq!(scheduler.next(later, fast), later);
    }

    #[test]
    fn a_pace_is_kept_however_late_the_sessions_are() {
        let mut scheduler = Scheduler::new(Scheduling::Paced { rate: 1_000.0 }, 1, Time::ZERO);
        let mut intended: Vec<_> = (0..4).map(|_| scheduler.first()).collect();
        let late = Time::ZERO + Span::seconds(9);
        intended.extend((0..40).map(|_| scheduler.next(late, ended(Time::ZERO))));
        for (number, time) in (0..).zip(&intended) {
            assert_eq!(*time, Time::ZERO + MS * number);
        }
    }

    #[test]
    fn a_new_rate_goes_on_where_the_old_one_was_and_catching_up_forgets_the_delay() {
        let mut scheduler = Scheduler::new(Scheduling::Paced { rate: 1_000.0 }, 1, Time::ZERO);
        let at = |millis: u64| Time::ZERO + MS * millis;
        let late = at(500);
        assert_eq!([scheduler.first(), scheduler.first()], [at(0), at(1)]);
        scheduler.set_scheduling(Scheduling::Paced { rate: 100.0 }, late);
        let next = [(); 3].map(|()| scheduler.next(late, ended(Time::ZERO)));
        assert_eq!(next, [at(2), at(12), at(22)]);
        assert!(scheduler.overdue(at(60)).eq([at(32), at(42), at(52)]));
        scheduler.catch_up(late);
        assert_eq!(scheduler.next(late, ended(Time::ZERO)), late);
        scheduler.catch_up(late);
        assert_eq!(scheduler.next(late, ended(Time::ZERO)), at(510), "not twice");
        scheduler.set_scheduling(Scheduling::None, late);
        assert_eq!(scheduler.next(late, ended(Time::ZERO)), late);
        assert_eq!(scheduler.overdue(at(9_000)).count(), 0);
        scheduler.set_scheduling(Scheduling::Paced { rate: 10.0 }, at(600));
        assert_eq!(scheduler.next(at(601), ended(Time::ZERO)), at(600));
    }
}
