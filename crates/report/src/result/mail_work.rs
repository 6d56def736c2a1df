//! What the users of a test of mail servers did, and how long they waited.

use serde::{Deserialize, Serialize};

use super::MailLatency;

/// Users at work. Figures are of the steady part of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailWork {
    /// What users do, by the name of its profile.
    pub profile: String,
    /// How long a user's day took.
    pub day_s: f64,
    /// How long the steady part of the run took.
    pub steady_s: f64,
    /// The mean of the 95th percentiles of all tasks, weighed by how often each was done; null when
    /// nothing was done.
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
    /// The most tasks that waited for their users at once.
    pub waiting_max: u64,
    /// How many more tasks waited at the end than at the begin; null when it was too short to tell.
    pub queue_growth: Option<f64>,
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
    /// From when it was due until it was done: what users felt. Null when it was never done.
    pub response: Option<MailLatency>,
    /// From its begin until it was done: what servers took. Null when it was never done.
    pub service: Option<MailLatency>,
    /// The share of services between 38 and 50 ms, where the timer of delayed acknowledgements is;
    /// null when it was never done.
    pub delayed_ack_share: Option<f64>,
}

/// From this share on, delayed acknowledgements make a task's times, and not the server.
pub const DELAYED_ACK: f64 = 0.2;

impl MailWork {
    /// What waits for the timer of delayed acknowledgements, and which share of its times.
    pub fn delayed_acks(&self) -> Vec<(&str, f64)> {
        let session =
            self.session_delayed_ack_share.map(|share| ("opening a session that sends", share));
        let tasks = self
            .tasks
            .iter()
            .filter_map(|task| Some((task.task.as_str(), task.delayed_ack_share?)));
        session.into_iter().chain(tasks).filter(|(_, share)| *share >= DELAYED_ACK).collect()
    }
}
