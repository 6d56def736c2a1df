//! When each task of each user is due.
//!
//! ```text
//!   user 0   log on |--- day ---|--- day ---|
//!   user 1     log on |--- day ---|--- day ---|       logons are spread over the ramp
//!
//!   within a day: as many of each task as the profile says, at random instants of the day
//! ```
//!
//! A day of the profile takes as long as [`Day::length`] says: eight hours, or two minutes for a
//! day that is compressed. Each user draws from a stream of its own, so that more users leave the
//! tasks of the others as they are. A number per day that is not whole is rounded by chance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};

use crate::{Profile, TaskKind, TaskRate};

/// How long days take, and how long the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The length of a user's day in this run.
    pub length: Span,
    /// The first logon is at once, the last one after this.
    pub ramp: Span,
    /// Nothing is due later.
    pub run: Span,
}

impl Day {
    /// The steady part, from which figures are taken: the middle half of the run, and not before the
    /// last user has logged on. LoadSim's benchmark takes the middle four of eight hours.
    pub fn steady(&self) -> (Span, Span) {
        let quarter = Span(self.run.0.div_euclid(4));
        (quarter.max(self.ramp).min(self.run), self.run - quarter)
    }
}

/// When a user begins a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// When it is due: an open schedule.
    #[default]
    WhenDue,
    /// As soon as the one before is done, in the proportions of the profile: a closed loop, which
    /// shows how much servers can do, and not how long users wait.
    AtOnce,
}

/// A task that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// From the beginning of the run.
    pub at: Time,
    pub user: u32,
    pub kind: TaskKind,
    /// Recipients of its message, where they are not those of the profile.
    pub recipients: Option<u32>,
}

/// The tasks of all users, in the order in which they are due. Reactions to mail are not among
/// them: they are due when mail was seen.
#[derive(Clone, Debug)]
pub struct Schedule {
    day: Day,
    rates: Vec<TaskRate>,
    users: Vec<User>,
    next: BinaryHeap<Reverse<(Time, u32, u16)>>,
}

#[derive(Clone, Debug)]
struct User {
    logon: Time,
    draw: Stream,
    tasks: Vec<Clock>,
}

/// The instants of one task of one user.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    day: u64,
    /// How many are left of this day.
    left: u32,
    /// The last one, as a share of the day.
    at: f64,
}

impl Schedule {
    /// The tasks of `users` users with this profile.
    ///
    /// # Panics
    /// When a day takes no time.
    pub fn new(profile: &Profile, users: u32, day: Day, seed: u64) -> Self {
        assert!(day.length > Span::ZERO, "a day takes time");
        let rates = profile.tasks.clone();
        let streams = Streams::new(seed).part("users");
        let step = match users {
            0 | 1 => Span::ZERO,
            many => Span(day.ramp.0.div_euclid(u64::from(many - 1))),
        };
        let mut schedule = Self { day, rates, users: Vec::new(), next: BinaryHeap::new() };
        for number in 0..users {
            let mut draw = streams.named(&number.to_string());
            let tasks = schedule.rates.iter();
            let tasks = tasks
                .map(|task| Clock { left: drawn(task.per_day, &mut draw), ..Clock::default() });
            let tasks = tasks.collect();
            let logon = Time::ZERO + Span(step.0 * u64::from(number));
            schedule.users.push(User { logon, draw, tasks });
            for task in 0..schedule.rates.len() {
                schedule.advance(number, task);
            }
        }
        schedule
    }

    /// When a user logs on for the first time.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn logon(&self, user: u32) -> Time {
        self.users[user as usize].logon
    }

    /// Draws the next instant of a task.
    fn advance(&mut self, number: u32, task: usize) {
        let rate = self.rates[task].per_day;
        if rate <= 0.0 {
            return;
        }
        let user = &mut self.users[number as usize];
        let clock = &mut user.tasks[task];
        let end = Time::ZERO + self.day.run;
        while clock.left == 0 {
            *clock = Clock { day: clock.day + 1, left: drawn(rate, &mut user.draw), at: 0.0 };
            if user.logon + self.day.length * clock.day > end {
                return;
            }
        }
        // The smallest of as many instants as are left, all equally likely.
        let share = 1.0 - libm::pow(1.0 - user.draw.unit(), 1.0 / f64::from(clock.left));
        clock.at += (1.0 - clock.at) * share;
        clock.left -= 1;
        let at = user.logon
            + self.day.length * clock.day
            + Span::from_seconds(clock.at * self.day.length.as_seconds());
        if at <= end {
            let task = u16::try_from(task).expect("a few dozen kinds of tasks");
            self.next.push(Reverse((at, number, task)));
        }
    }
}

/// A number of tasks whose mean is `rate`.
fn drawn(rate: f64, draw: &mut Stream) -> u32 {
    let whole = libm::floor(rate);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "profiles have rates from 0 to 100,000 a day"
    )]
    let whole_number = whole as u32;
    whole_number + u32::from(draw.unit() < rate - whole)
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        let Reverse((at, user, task)) = self.next.pop()?;
        self.advance(user, usize::from(task));
        let TaskRate { kind, recipients, .. } = self.rates[usize::from(task)];
        Some(Due { at, user, kind, recipients })
    }
}
