//! The state of a running test.

use brunt_report::result::{Group, Outcome, Rule};
use brunt_units::Span;
use serde::{Deserialize, Serialize};

use super::in_json;
use crate::rules::RuleId;

/// The state of a running test; unless stated otherwise, rates and latencies are those of the
/// running sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Time since the collection began.
    #[serde(rename = "elapsed_s", with = "in_json::seconds")]
    pub elapsed: Span,
    /// Length of the collection.
    #[serde(rename = "duration_s", with = "in_json::seconds")]
    pub duration: Span,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// The same since the collection began.
    #[serde(default)]
    pub io_per_s_mean: f64,
    /// What that must reach; `None` without a target.
    #[serde(default)]
    pub io_per_s_min: Option<f64>,
    /// Mean latency of database reads.
    #[serde(rename = "read_ms", with = "in_json::maybe_millis")]
    pub read: Option<Span>,
    /// p99 of database reads.
    #[serde(rename = "read_ms_p99", with = "in_json::maybe_millis")]
    pub read_p99: Option<Span>,
    /// Mean latency of database writes.
    #[serde(rename = "write_ms", with = "in_json::maybe_millis")]
    pub write: Option<Span>,
    /// Mean latency of log writes.
    #[serde(rename = "log_write_ms", with = "in_json::maybe_millis")]
    pub log_write: Option<Span>,
    /// Page-fault stalls since the collection began.
    pub stalls: u64,
    /// Whether a limit has been exceeded so far.
    pub over: bool,
    /// The rules so far, judged after each sample.
    #[serde(default)]
    pub so_far: SoFar,
    /// Each database; only for the screen.
    #[serde(skip)]
    pub databases: Vec<LiveDatabase>,
}

/// The rules so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoFar {
    /// `None` while too little was measured.
    pub passes: Option<bool>,
    /// The title of the first rule that does not hold.
    pub failed: Option<String>,
    /// The worst outcome of each group; *not measured* as long as none of its rules has a
    /// measurement.
    pub groups: Vec<(Group, Outcome)>,
}

/// One database, and the log of its instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveDatabase {
    pub name: String,
    /// Mean latency of its reads.
    pub read: Option<Span>,
    /// Mean latency of its instance's log writes.
    pub log_write: Option<Span>,
}

impl SoFar {
    /// What `rules` say. They decide nothing before a database was read.
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let mut groups: Vec<(Group, Outcome)> = Vec::new();
        for rule in rules {
            match groups.iter_mut().find(|(group, _)| *group == rule.group) {
                Some((_, worst)) if gravity(rule.outcome) > gravity(*worst) => {
                    *worst = rule.outcome;
                }
                Some(_) => {}
                None => groups.push((rule.group, rule.outcome)),
            }
        }
        let failed = rules.iter().find(|rule| rule.outcome == Outcome::Failed);
        let is_read = |rule: &Rule| RuleId::DatabaseReadAverage.is(rule) && rule.measured.is_some();
        Self {
            passes: match failed {
                Some(_) => Some(false),
                None => rules.iter().any(is_read).then_some(true),
            },
            failed: failed.map(|rule| rule.title.clone()),
            groups,
        }
    }
}

fn gravity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotMeasured | Outcome::NotJudged => 0,
        Outcome::Ok => 1,
        Outcome::Advisory => 2,
        Outcome::Failed => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_the_target_does_not_pass_so_far() {
        let read = |measured| Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, measured);
        let rate = |measured| Rule::at_least(RuleId::AchievedIo, "/s", 950.0, Some(measured));
        let pages = Rule::not_measured(RuleId::PagesVerified);
        assert_eq!(SoFar::of(&[read(None), pages.clone()]).passes, None);
        let good = SoFar::of(&[rate(960.0), read(Some(1.0)), pages.clone()]);
        assert_eq!((good.passes, good.failed), (Some(true), None));
        let groups = [(Group::Limits, Outcome::Ok), (Group::Integrity, Outcome::NotMeasured)];
        assert_eq!(good.groups, groups);
        let bad = SoFar::of(&[rate(940.0), read(Some(1.0)), pages]);
        assert_eq!(bad.passes, Some(false));
        assert_eq!(bad.failed.as_deref(), Some("achieved database I/O"));
        assert_eq!(bad.groups[0], (Group::Limits, Outcome::Failed));
    }
}
