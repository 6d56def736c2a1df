//! What was planned, what was done, and how long it took.
//!
//! ```text
//!   intended            begun             done
//!      |---- waiting ----|---- service ----|
//!      |---------- response -------------- |      what a user felt
//! ```

use std::collections::{BTreeMap, BTreeSet};

use brunt_stats::{Latencies, Percentile};
use brunt_units::{Span, Time};

use crate::TaskKind;

/// The 95th percentile.
const P95: Percentile = Percentile::per_mille(950);

/// Tasks in the steady part of a run, and the queues in all of it.
#[derive(Clone, Debug)]
pub struct Tally {
    from: Time,
    to: Time,
    tasks: BTreeMap<TaskKind, TaskTally>,
    waiting: u64,
    waiting_max: u64,
    /// How many waited, time after time.
    queues: Vec<(Time, u64)>,
    submitted: u64,
    delivered: u64,
    /// From the begin of a connection that sends until it may.
    opened: Latencies,
    /// The same, over connections that acknowledge at once.
    opened_at_once: Option<Latencies>,
    /// How late the schedule itself was looked at.
    late: Latencies,
    refused_for_good: u64,
    not_offered: BTreeSet<TaskKind>,
}

/// One kind of task.
#[derive(Clone, Debug, Default)]
pub struct TaskTally {
    /// Due in the steady part.
    pub planned: u64,
    /// Of these, done.
    pub done: u64,
    /// Of these, failed.
    pub failed: u64,
    /// From when it was due until it was done.
    pub response: Latencies,
    /// From its begin until it was done.
    pub service: Latencies,
    /// From when it was due until its begin.
    pub waiting: Latencies,
    /// The same as `service`, over connections that acknowledge at once, after the day.
    pub at_once: Option<Latencies>,
}

impl Tally {
    /// Counts the tasks that are due from `from` to `to`.
    pub fn new(from: Time, to: Time) -> Self {
        Self {
            from,
            to,
            tasks: BTreeMap::new(),
            waiting: 0,
            waiting_max: 0,
            queues: Vec::new(),
            submitted: 0,
            delivered: 0,
            opened: Latencies::new(),
            opened_at_once: None,
            late: Latencies::new(),
            refused_for_good: 0,
            not_offered: BTreeSet::new(),
        }
    }

    fn is_steady(&self, at: Time) -> bool {
        (self.from..self.to).contains(&at)
    }

    /// A task is due at `intended`, and waits for its user.
    pub fn due(&mut self, kind: TaskKind, intended: Time) {
        self.waiting += 1;
        self.waiting_max = self.waiting_max.max(self.waiting);
        if self.is_steady(intended) && !self.not_offered.contains(&kind) {
            self.tasks.entry(kind).or_default().planned += 1;
        }
    }

    /// Its user begins it.
    pub fn begun(&mut self, kind: TaskKind, intended: Time, now: Time) {
        self.waiting -= 1;
        if self.is_steady(intended) && !self.not_offered.contains(&kind) {
            let waiting = &mut self.tasks.entry(kind).or_default().waiting;
            waiting.record(now.since(intended));
        }
    }

    /// It was done, or it failed.
    pub fn ended(&mut self, kind: TaskKind, intended: Time, begun: Time, now: Time, is_done: bool) {
        if !self.is_steady(intended) || self.not_offered.contains(&kind) {
            return;
        }
        let task = self.tasks.entry(kind).or_default();
        if !is_done {
            task.failed += 1;
            return;
        }
        task.done += 1;
        task.response.record(now.since(intended));
        task.service.record(now.since(begun));
    }

    /// A server does not offer what this task needs: it is not planned any more.
    pub fn is_not_offered(&mut self, kind: TaskKind) {
        self.not_offered.insert(kind);
        self.tasks.remove(&kind);
    }

    /// Tasks that a server does not offer.
    pub fn not_offered(&self) -> impl Iterator<Item = TaskKind> {
        self.not_offered.iter().copied()
    }

    /// A server accepted a message at `now`, for this many recipients.
    pub fn accepted(&mut self, now: Time, recipients: u64) {
        if self.is_steady(now) {
            self.submitted += 1;
            self.delivered += recipients;
        }
    }

    /// The schedule was to be looked at when a task was due at `intended`, and was at `now`.
    pub fn woke(&mut self, intended: Time, now: Time) {
        if self.is_steady(intended) {
            self.late.record(now.since(intended));
        }
    }

    /// How late the schedule was looked at: the error of its own that this program adds to times.
    pub fn late(&self) -> &Latencies {
        &self.late
    }

    /// A server refused a message for good, for an account that exists.
    pub fn refuses_for_good(&mut self) {
        self.refused_for_good += 1;
    }

    /// How often it did, in all of the run.
    pub fn refused_for_good(&self) -> u64 {
        self.refused_for_good
    }

    /// The run ends at `now`: the steady part does not last beyond it.
    pub fn end(&mut self, now: Time) {
        self.to = self.to.min(now).max(self.from);
    }

    /// A session that sends was opened at `now`, after so long: connection, TLS and login.
    pub fn opened(&mut self, now: Time, took: Span) {
        if self.is_steady(now) {
            self.opened.record(took);
        }
    }

    /// How long sessions that send took to open. They are a part of the tasks that send.
    pub fn sessions(&self) -> &Latencies {
        &self.opened
    }

    /// How long they took over connections that acknowledge at once, after the day.
    pub fn sessions_at_once(&self) -> Option<&Latencies> {
        self.opened_at_once.as_ref()
    }

    /// A task was done again over connections that acknowledge at once.
    pub fn at_once(&mut self, kind: TaskKind, times: Latencies) {
        if let Some(task) = self.tasks.get_mut(&kind) {
            task.at_once = Some(times);
        }
    }

    /// Sessions that send were opened again over connections that acknowledge at once.
    pub fn opened_at_once(&mut self, times: Latencies) {
        self.opened_at_once = Some(times);
    }

    /// Notes how many tasks wait now.
    pub fn sample(&mut self, now: Time) {
        self.queues.push((now, self.waiting));
    }

    /// Every kind of task that was due.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskKind, &TaskTally)> {
        self.tasks.iter().map(|(kind, task)| (*kind, task))
    }

    /// The steady part.
    pub fn steady(&self) -> (Time, Time) {
        (self.from, self.to)
    }

    /// How long the steady part is.
    pub fn length(&self) -> Span {
        self.to.since(self.from)
    }

    /// Messages that were accepted in the steady part, for each minute.
    pub fn submitted_per_min(&self) -> Option<f64> {
        self.per_min(self.submitted)
    }

    /// Recipients of these, for each minute.
    pub fn delivered_per_min(&self) -> Option<f64> {
        self.per_min(self.delivered)
    }

    fn per_min(&self, count: u64) -> Option<f64> {
        let minutes = self.length().as_seconds() / 60.0;
        (minutes > 0.0).then(|| count as f64 / minutes)
    }

    /// Tasks that wait now, and the most that ever waited.
    pub fn waiting(&self) -> (u64, u64) {
        (self.waiting, self.waiting_max)
    }

    /// How many more tasks waited at the end of the steady part than at its begin, by the mean of
    /// the samples of its first and its last quarter. `None` with fewer than two samples in each.
    pub fn queue_growth(&self) -> Option<f64> {
        let quarter = Span(self.length().0.div_euclid(4));
        let mean = |from: Time, to: Time| {
            let own = self.queues.iter().filter(|(at, _)| (from..to).contains(at));
            let (count, sum) =
                own.fold((0_u64, 0_u64), |(count, sum), (_, waiting)| (count + 1, sum + waiting));
            (count >= 2).then(|| sum as f64 / count as f64)
        };
        let first = mean(self.from, self.from + quarter)?;
        let last = mean(self.from + quarter * 3, self.to)?;
        Some(last - first)
    }
}

impl TaskTally {
    /// The 95th percentile of responses.
    pub fn p95(&self) -> Option<Span> {
        self.response.percentile(P95)
    }
}

/// From this share on, the timer of delayed acknowledgements makes a task's times.
pub const DELAYED_ACK: f64 = 0.2;

/// A task that was done less often says nothing about it.
pub const DELAYED_ACK_TIMES: u64 = 10;

/// The share of times between 38 and 50 ms. A fifth or more of them there is the timer of delayed
/// acknowledgements (40 ms on Linux) and not the server: the client waits for the rest of an answer
/// that the server holds back until its first part is acknowledged.
pub fn delayed_ack_share(times: &Latencies) -> Option<f64> {
    let window = Span::millis(38)..=Span::millis(50);
    let all = times.count();
    let within = times.buckets().filter(|(latency, _)| window.contains(latency));
    let within: u64 = within.map(|(_, count)| count).sum();
    (all > 0).then(|| within as f64 / all as f64)
}
