//! The score of a run, and what it is held against.

use brunt_units::Span;

use crate::{Dispatch, Profile, Tally, TaskKind};

/// LoadSim's limit of tasks that wait.
const QUEUE_MAX: u64 = 100;
/// The rule about it.
const TASKS_WAITING: &str = "users-tasks-waiting";

/// The weighted 95th percentile of response times.
///
/// LoadSim's score is the mean of the 95th percentiles of all tasks, each with a weight. Microsoft
/// has not published the weights; here a task weighs as much as it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub millis: f64,
    pub tasks: Vec<Weighed>,
}

/// One task of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    pub kind: TaskKind,
    pub weight: f64,
    pub p95: Span,
}

impl Score {
    /// The score of `tally`; `None` when no task was done.
    pub fn of(tally: &Tally) -> Option<Self> {
        let done: u64 = tally.tasks().map(|(_, task)| task.done).sum();
        let tasks: Vec<_> = tally
            .tasks()
            .filter_map(|(kind, task)| {
                Some(Weighed { kind, weight: task.done as f64 / done as f64, p95: task.p95()? })
            })
            .collect();
        let millis = tasks.iter().map(|one| one.weight * one.p95.as_millis()).sum();
        (!tasks.is_empty()).then_some(Self { millis, tasks })
    }
}

/// What a run is held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// For scripts; it never changes.
    pub id: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    pub limit: f64,
    /// Whether it must reach the limit; otherwise it must stay at or below it.
    pub at_least: bool,
    pub measured: Option<f64>,
    /// Where the limit is from.
    pub why: String,
}

impl Check {
    /// Whether it holds; `None` when it was not measured.
    pub fn holds(&self) -> Option<bool> {
        self.measured.map(|measured| match self.at_least {
            true => measured >= self.limit,
            false => measured <= self.limit,
        })
    }
}

/// A rule that can fail for good while users still work: nothing that comes later mends it.
///
/// Other rules are means, percentiles and rates, which a better second half mends, or are known when
/// the mailboxes have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// More tasks waited at once than LoadSim allows.
    TasksWaiting,
    /// A server refused a message for good, for an account that exists.
    RefusedForGood,
}

impl Until {
    /// The rule's id.
    pub fn id(self) -> &'static str {
        match self {
            Self::TasksWaiting => TASKS_WAITING,
            Self::RefusedForGood => "mail-refused",
        }
    }

    /// Whether it has failed.
    pub fn has_failed(self, tally: &Tally) -> bool {
        match self {
            Self::TasksWaiting => tally.waiting().1 > QUEUE_MAX,
            Self::RefusedForGood => tally.refused_for_good() > 0,
        }
    }
}

/// All checks of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checks(pub Vec<Check>);

impl Checks {
    /// What `users` users of `profile` were to do, a day of which took `day`, and what they did.
    /// Users who never wait are held against no plan and no time.
    pub fn of(
        profile: &Profile,
        users: u32,
        (day, dispatch): (Span, Dispatch),
        tally: &Tally,
    ) -> Self {
        let done = done(tally);
        Self(match dispatch {
            Dispatch::AtOnce => vec![done],
            Dispatch::WhenDue => {
                let mut all = rates(profile, users, day, tally);
                all.push(done);
                all.extend(times(profile, users, tally));
                all
            }
        })
    }
}

/// Messages a minute against the published rates.
fn rates(profile: &Profile, users: u32, day: Span, tally: &Tally) -> Vec<Check> {
    let per_min = |per_day: f64| per_day * f64::from(users) / (day.as_seconds() / 60.0);
    let chance = chance(profile, per_min, tally);
    let submitted = (profile.submitted_per_day, tally.submitted_per_min());
    let delivered = (profile.delivered_per_day, tally.delivered_per_min());
    let rates = [
        ("users-submitted", "submitted a minute", submitted),
        ("users-delivered", "delivered a minute", delivered),
    ];
    let checks = rates.into_iter().filter_map(|(id, name, (published, measured))| {
        let (published, chance) = published.zip(chance)?;
        Some(Check {
            id,
            name,
            unit: "messages/min",
            limit: per_min(published) * (1.0 - 2.0 * chance).max(0.0),
            at_least: true,
            measured,
            why: format!(
                "{published} a day for each of {users} users, less twice the {:.0} % by which chance moves it",
                100.0 * chance
            ),
        })
    });
    checks.collect()
}

fn done(tally: &Tally) -> Check {
    let (planned, done) = tally
        .tasks()
        .fold((0, 0), |(planned, done), (_, task)| (planned + task.planned, done + task.done));
    Check {
        id: "users-tasks-done",
        name: "tasks done",
        unit: "% of planned",
        limit: 99.0,
        at_least: true,
        measured: (planned > 0).then(|| 100.0 * done as f64 / planned as f64),
        why: "a task that is not done is one that a user gave up".to_owned(),
    }
}

/// How long users waited.
fn times(profile: &Profile, users: u32, tally: &Tally) -> Vec<Check> {
    let at_most = |id, name, unit, limit, measured, why: &str| Check {
        id,
        name,
        unit,
        limit,
        at_least: false,
        measured,
        why: why.to_owned(),
    };
    let score = profile.score_limit.map(|limit| {
        let measured = Score::of(tally).map(|score| score.millis);
        let why = "the weighted 95th percentile of response times";
        at_most("users-score", "score", "ms", limit.as_millis(), measured, why)
    });
    let most = tally.waiting().1;
    let waiting = (most > 0 || tally.tasks().next().is_some()).then_some(most as f64);
    let queues = [
        at_most(
            TASKS_WAITING,
            "tasks waiting",
            "tasks",
            QUEUE_MAX as f64,
            waiting,
            "LoadSim's task queue: below 100, and not growing",
        ),
        at_most(
            "users-queue-growth",
            "growth of the queue",
            "tasks",
            (f64::from(users) * 0.01).max(1.0),
            tally.queue_growth(),
            "LoadSim's task queue does not grow; one in a hundred users may wait",
        ),
    ];
    score.into_iter().chain(queues).collect()
}

/// The standard deviation of the number of messages in the steady part, as a share of it.
///
/// Each message that a task sends leads to a tree of answers. Where a message has ρ of them on
/// average, the size of such a tree has the mean 1/(1 - ρ) and the variance ρ/(1 - ρ)³ (total progeny
/// of a branching process with a Poisson offspring), so S messages in all have the variance
/// S/(1 - ρ)².
fn chance(profile: &Profile, per_min: impl Fn(f64) -> f64, tally: &Tally) -> Option<f64> {
    let submitted = profile.submissions_per_day()?;
    let expected = per_min(submitted) * tally.length().as_seconds() / 60.0;
    let answers = profile.reactions.iter().filter(|reaction| reaction.kind.submits());
    let answers: f64 = answers.map(|reaction| reaction.percent / 100.0).sum();
    let left = 1.0 - answers * profile.recipients.mean;
    (expected > 0.0).then(|| 1.0 / (left * libm::sqrt(expected)))
}
