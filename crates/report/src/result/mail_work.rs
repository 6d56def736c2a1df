//! What the users of a test of mail servers did, and how long they waited.

use serde::{Deserialize, Serialize};

use super::{MailLatency, MailSlowest};
use crate::decimals;

/// Users at work. Figures are of the steady part of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailWork {
    /// What users do, by the name of its profile.
    pub profile: String,
    /// How long a user's day took.
    pub day_s: f64,
    /// Messages that were put into mailboxes before the day; zero where they began empty.
    #[serde(default)]
    pub filled: u64,
    /// How long that took.
    #[serde(default)]
    pub filled_s: f64,
    /// Whether users began each task as soon as the one before was done: then nothing says how long
    /// they waited.
    #[serde(default)]
    pub is_stress: bool,
    /// The rule whose failure ended the run before its time; null when nothing did.
    #[serde(default)]
    pub ended_by: Option<String>,
    /// How long the steady part of the run took.
    pub steady_s: f64,
    /// The mean of the 95th percentiles of all tasks, weighed by how often each was done; null when
    /// nothing was done, and when users waited for nothing.
    pub score_ms: Option<f64>,
    /// Messages that servers accepted, for each minute.
    pub submitted_per_min: Option<f64>,
    /// Their recipients, for each minute.
    pub delivered_per_min: Option<f64>,
    /// What users did, by kind.
    pub tasks: Vec<MailTask>,
    /// Opening a session that sends: connection, TLS and login. Every task that sends has one.
    pub session: Option<MailLatency>,
    /// The share of these between 38 and 50 ms.
    pub session_delayed_ack_share: Option<f64>,
    /// Opening one over a connection that acknowledges at once; null when it was not repeated so.
    #[serde(default)]
    pub session_at_once: Option<MailLatency>,
    /// The most tasks that waited for their users at once.
    pub waiting_max: u64,
    /// How many more tasks waited at the end than at the begin; null when it was too short to tell.
    pub queue_growth: Option<f64>,
    /// How late brunt itself looked at the schedule; null when it has none.
    #[serde(default)]
    pub schedule_error: Option<MailLatency>,
    /// The slowest task, and what made it so; null when nothing was done.
    #[serde(default)]
    pub slowest: Option<MailSlowest>,
    /// Tasks that were left out, as the server does not offer what they need.
    pub not_offered: Vec<String>,
}

/// One kind of task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailTask {
    /// Its name in profiles.
    pub task: String,
    /// How often it was due.
    pub planned: u64,
    /// How often of these it was done.
    pub done: u64,
    /// How often of these it was given up.
    pub failed: u64,
    /// From when it was due until it was done: what users felt. Null when it was never done, and when
    /// users waited for nothing.
    pub response: Option<MailLatency>,
    /// From its begin until it was done: what servers took. Null when it was never done.
    pub service: Option<MailLatency>,
    /// The share of services between 38 and 50 ms, where the timer of delayed acknowledgements is;
    /// null when it was never done.
    pub delayed_ack_share: Option<f64>,
    /// From its begin until it was done, over connections that acknowledge at once; null when it was
    /// not repeated so.
    #[serde(default)]
    pub at_once: Option<MailLatency>,
}

/// From this share on, delayed acknowledgements make a task's times, and not the server.
pub const DELAYED_ACK: f64 = 0.2;

/// A task that was done less often says nothing about it.
pub const DELAYED_ACK_TIMES: u64 = 10;

impl MailWork {
    /// Tasks that were done, for each second of the steady part.
    pub fn done_per_s(&self) -> Option<f64> {
        let done: u64 = self.tasks.iter().map(|task| task.done).sum();
        (self.steady_s > 0.0).then(|| done as f64 / self.steady_s)
    }

    /// What may wait for the timer of delayed acknowledgements.
    pub fn delayed_acks(&self) -> Vec<DelayedAck<'_>> {
        let session = DelayedAck {
            what: "opening a session that sends",
            share: self.session_delayed_ack_share.unwrap_or(0.0),
            usual: self.session,
            at_once: self.session_at_once,
        };
        let tasks = self.tasks.iter().map(MailTask::delayed_ack);
        std::iter::once(session).chain(tasks).filter(DelayedAck::is_seen).collect()
    }
}

impl MailTask {
    /// How much of it is the timer of delayed acknowledgements.
    pub fn delayed_ack(&self) -> DelayedAck<'_> {
        DelayedAck {
            what: &self.task,
            share: self.delayed_ack_share.unwrap_or(0.0),
            usual: self.service,
            at_once: self.at_once,
        }
    }
}

/// What may wait for TCP's timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayedAck<'a> {
    /// The task.
    pub what: &'a str,
    /// The share of its times that are where the timer is.
    pub share: f64,
    /// How long it took.
    pub usual: Option<MailLatency>,
    /// How long it took over connections that acknowledge at once.
    pub at_once: Option<MailLatency>,
}

impl DelayedAck<'_> {
    /// Whether enough of its times are where the timer is.
    pub fn is_seen(&self) -> bool {
        let often = self.usual.is_some_and(|usual| usual.count >= DELAYED_ACK_TIMES);
        often && self.share >= DELAYED_ACK
    }

    /// Whether it is the timer: without it, half of the time would be saved. `None` when nobody tried.
    pub fn is_timer(&self) -> Option<bool> {
        Some(2.0 * self.at_once?.p50_ms <= self.usual?.p50_ms)
    }

    /// Both times in words.
    pub fn in_words(&self) -> String {
        let percent = 100.0 * self.share;
        let p50 = |latency: Option<MailLatency>| decimals(latency.map_or(0.0, |one| one.p50_ms));
        let said = format!("{}: {percent:.0} % of the times are from 38 to 50 ms", self.what);
        match self.is_timer() {
            None => format!("{said}, as those of TCP's timer (40 ms) are"),
            Some(is_timer) => {
                let verdict = match is_timer {
                    true => "this is TCP's timer (40 ms), not the server's work",
                    false => "it is not TCP's timer (40 ms)",
                };
                let (usual, own) = (p50(self.usual), p50(self.at_once));
                let count = self.at_once.map_or(0, |one| one.count);
                format!(
                    "{said}; p50 {usual} ms, and {own} ms in {count} times with TCP_QUICKACK: {verdict}"
                )
            }
        }
    }
}
