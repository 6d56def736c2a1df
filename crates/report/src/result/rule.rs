//! Rules: their limits, measurements and outcomes.
//!
//! A rule is identified by its `id`, which never changes; its `title` is for people. `subject` is
//! the database, log stream or volume that the rule judged. `server` is set in a result of several
//! servers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Interval;
use brunt_units::{apart, places};

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The rule held.
    Ok,
    /// The rule did not hold; the verdict is *fail*, or *invalid* if the rule is about the test.
    Failed,
    /// There was nothing to judge.
    #[serde(rename = "not measured")]
    NotMeasured,
    /// A prediction stopped early, and the measured value grows with the length of a test: it is
    /// what was seen until then. Or the target was missed because less was asked for than intended.
    /// Or a drill lost something, and no limit says how much it may.
    #[serde(rename = "not judged")]
    NotJudged,
    /// The rule did not hold, but does not affect the verdict.
    Advisory,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// How well it is known, where it is an estimate.
    pub interval: Option<Interval>,
    /// A number that it must not look like when it differs: its limit.
    pub limit: Option<f64>,
    /// The unit: `ms`, `/s`, `bad pages`; empty for a plain number.
    pub unit: String,
}

/// Which side of its limit a value must be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum Direction {
    /// The limit is a maximum.
    #[serde(rename = "at most")]
    AtMost,
    /// The limit is a minimum.
    #[serde(rename = "at least")]
    AtLeast,
}

/// The subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Latencies, rates, and work that had to be done.
    Limits,
    /// Whether every page, log and record is as written, and every I/O completed.
    Integrity,
    /// Whether the storage performed at the end of the test as at its beginning.
    Steadiness,
    /// The slowest few operations.
    Tail,
    /// Whether the test measured the storage and nothing else.
    #[serde(rename = "fair test")]
    FairTest,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limits => "limits",
            Self::Integrity => "integrity",
            Self::Steadiness => "steadiness",
            Self::Tail => "tail",
            Self::FairTest => "fair test",
        })
    }
}

/// Id, group and title of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleName {
    /// For scripts: `database-read-average`.
    pub id: &'static str,
    /// Its group.
    pub group: Group,
    /// For people: `database read, average`.
    pub title: &'static str,
}

/// A condition that the storage must meet to pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rule {
    /// The rule's id; it never changes. docs/rules.md lists them.
    pub id: String,
    /// The group of the rule.
    pub group: Group,
    /// The server that was judged, in a result of several servers; else null.
    pub server: Option<String>,
    /// The database, log stream or volume that was judged; null when it was the whole test, or is
    /// unknown.
    pub subject: Option<String>,
    /// The rule in words: database read, average.
    pub title: String,
    /// The good side of the limit.
    pub direction: Direction,
    /// The limit; null when the rule only reports.
    pub limit: Option<f64>,
    /// The measured value; null when it was not measured.
    pub measured: Option<f64>,
    /// How well that is known, where it is an estimate; else null.
    pub interval: Option<Interval>,
    /// Unit of limit and measured value; empty for a plain number.
    pub unit: String,
    /// Whether the rule held.
    pub outcome: Outcome,
    /// Where and when, or why it was not measured; often empty.
    pub remark: String,
}

impl Quantity {
    /// A `value` in `unit`.
    pub fn new(value: f64, unit: &str) -> Self {
        Self { value, interval: None, limit: None, unit: unit.to_owned() }
    }
}

impl fmt::Display for Quantity {
    /// Whole numbers without decimals, others with the decimals of [`crate::decimals`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = if self.value.fract() == 0.0 && self.value.abs() < 100.0 {
            format!("{:.0}", self.value)
        } else {
            apart(self.value, self.limit.unwrap_or(self.value), places(self.value))
        };
        let known =
            self.interval.map_or_else(String::new, |known| format!(" {}", known.about(self.value)));
        f.write_str(format!("{number}{known} {}", self.unit).trim_end())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::NotMeasured => "not measured",
            Self::NotJudged => "not judged",
            Self::Advisory => "advisory",
        })
    }
}

impl Rule {
    /// A rule without a measurement.
    pub fn not_measured(name: impl Into<RuleName>) -> Self {
        let name = name.into();
        Self {
            id: name.id.to_owned(),
            group: name.group,
            server: None,
            subject: None,
            title: name.title.to_owned(),
            direction: Direction::AtMost,
            limit: None,
            measured: None,
            interval: None,
            unit: String::new(),
            outcome: Outcome::NotMeasured,
            remark: String::new(),
        }
    }

    /// A rule that holds while `measured` is not above `limit`, both in `unit`.
    pub fn at_most(
        name: impl Into<RuleName>,
        unit: &str,
        limit: f64,
        measured: Option<f64>,
    ) -> Self {
        Self::judged(name, unit, limit, Direction::AtMost, measured)
    }

    /// A rule that holds while `measured` is not below `limit`, both in `unit`.
    pub fn at_least(
        name: impl Into<RuleName>,
        unit: &str,
        limit: f64,
        measured: Option<f64>,
    ) -> Self {
        Self::judged(name, unit, limit, Direction::AtLeast, measured)
    }

    fn judged(
        name: impl Into<RuleName>,
        unit: &str,
        limit: f64,
        direction: Direction,
        measured: Option<f64>,
    ) -> Self {
        let holds = |measured: f64| match direction {
            Direction::AtMost => measured <= limit,
            Direction::AtLeast => measured >= limit,
        };
        Self {
            direction,
            limit: Some(limit),
            measured,
            unit: unit.to_owned(),
            outcome: match measured {
                None => Outcome::NotMeasured,
                Some(measured) if holds(measured) => Outcome::Ok,
                Some(_) => Outcome::Failed,
            },
            ..Self::not_measured(name)
        }
    }

    /// The title; in a result of several servers with the server in front: `B: log write, average`.
    pub fn heading(&self) -> String {
        match &self.server {
            Some(server) => format!("{server}: {}", self.title),
            None => self.title.clone(),
        }
    }

    fn quantity(&self, value: Option<f64>) -> Option<Quantity> {
        Some(Quantity::new(value?, &self.unit))
    }

    /// The limit for a table: `20 ms`, `at least 57,000 /s`, or `-`.
    pub fn limit_in_words(&self) -> String {
        match (self.quantity(self.limit), self.direction) {
            (None, _) => "-".to_owned(),
            (Some(limit), Direction::AtMost) => limit.to_string(),
            (Some(limit), Direction::AtLeast) => format!("at least {limit}"),
        }
    }

    /// The measured value for a table: `24.4 ms`, or `-`.
    pub fn measured_in_words(&self) -> String {
        let measured = self.quantity(self.measured);
        measured.map_or("-".to_owned(), |measured| {
            let interval = self.interval;
            Quantity { interval, limit: self.limit, ..measured }.to_string()
        })
    }

    /// The share of the limit that was used, in percent: 100 is at the limit; above it the rule
    /// does not hold. `None` when the limit is zero.
    pub fn used_percent(&self) -> Option<f64> {
        let (measured, limit) = (self.measured?, self.limit?);
        let share = match self.direction {
            Direction::AtMost => measured / limit,
            Direction::AtLeast => limit / measured,
        };
        share.is_finite().then_some(100.0 * share)
    }

    /// That share for a table: `84 %`, or `-`.
    pub fn used_in_words(&self) -> String {
        let used = self.used_percent();
        used.map_or("-".to_owned(), |percent| format!("{} %", apart(percent, 100.0, 0)))
    }

    /// The measured value with the limit: `24.4 ms (limit 20 ms)`, `7,215 /s (minimum 57,000 /s)`.
    pub fn measured_and_limit(&self) -> String {
        let measured = match self.measured {
            Some(_) => self.measured_in_words(),
            None => "not measured".to_owned(),
        };
        match (self.quantity(self.limit), self.direction) {
            (None, _) => measured,
            (Some(limit), Direction::AtMost) => format!("{measured} (limit {limit})"),
            (Some(limit), Direction::AtLeast) => format!("{measured} (minimum {limit})"),
        }
    }

    /// The rule with its measured value: `database read, average: 24.4 ms (limit 20 ms)`.
    pub fn against_limit(&self) -> String {
        format!("{}: {}", self.heading(), self.measured_and_limit())
    }

    /// Sets the remark.
    #[must_use]
    pub fn with_remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// Sets how well the measured value is known.
    #[must_use]
    pub fn known(self, estimate: Option<brunt_stats::Interval>) -> Self {
        let known = self.measured.zip(estimate);
        Self {
            interval: known.map(|(measured, estimate)| Interval::around(measured, estimate)),
            ..self
        }
    }

    /// Sets the subject: a database, log stream or volume.
    #[must_use]
    pub fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    /// Turns a failure of the rule into an advisory.
    #[must_use]
    pub fn advisory(mut self) -> Self {
        if self.outcome == Outcome::Failed {
            self.outcome = Outcome::Advisory;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Verdict;

    const READ: RuleName = RuleName {
        id: "database-read-average",
        group: Group::Limits,
        title: "database read, average",
    };

    #[test]
    fn the_limit_itself_is_allowed() {
        let outcome = |measured| Rule::at_most(READ, "ms", 20.0, measured).outcome;
        assert_eq!(outcome(Some(20.0)), Outcome::Ok);
        assert_eq!(outcome(Some(20.001)), Outcome::Failed);
        assert_eq!(outcome(None), Outcome::NotMeasured);
        assert_eq!(Rule::at_least(READ, "/s", 95.0, Some(94.9)).outcome, Outcome::Failed);
    }

    #[test]
    fn what_fails_does_not_look_like_its_limit() {
        let said = |measured| Rule::at_most(READ, "ms", 20.0, Some(measured)).measured_and_limit();
        assert_eq!(said(20.0), "20 ms (limit 20 ms)");
        assert_eq!(said(20.004), "20.004 ms (limit 20 ms)");
        assert_eq!(said(24.4), "24.4 ms (limit 20 ms)");
    }

    #[test]
    fn what_is_used_of_a_limit_grows_towards_it_from_either_side() {
        let most = |measured| Rule::at_most(READ, "ms", 20.0, measured).used_in_words();
        assert_eq!([most(Some(5.0)), most(Some(24.0)), most(None)], ["25 %", "120 %", "-"]);
        assert_eq!(most(Some(20.004)), "100.02 %");
        let least = |measured| Rule::at_least(READ, "/s", 95.0, Some(measured)).used_in_words();
        assert_eq!([least(100.0), least(76.0), least(0.0)], ["95 %", "125 %", "-"]);
        assert_eq!(Rule::at_most(READ, "", 0.0, Some(0.0)).used_in_words(), "-");
    }

    #[test]
    fn not_a_number_does_not_pass() {
        let rule = Rule::at_most(READ, "ms", 20.0, Some(f64::NAN));
        assert_eq!(rule.outcome, Outcome::Failed);
    }

    #[test]
    fn one_failure_decides_and_an_advice_does_not() {
        let good = Rule::at_most(READ, "ms", 20.0, Some(1.0));
        let bad = Rule::at_most(READ, "ms", 20.0, Some(30.0));
        assert_eq!(Verdict::of(&[good.clone(), bad.clone()]), Verdict::Fail);
        assert_eq!(Verdict::of(&[good, bad.advisory()]), Verdict::Pass);
    }

    #[test]
    fn an_unfair_test_is_invalid_unless_the_storage_failed_as_well() {
        const AGREES: RuleName =
            RuleName { id: "device-agrees", group: Group::FairTest, title: "device agrees" };
        let unfair = Rule::at_least(AGREES, "%", 90.0, Some(50.0));
        let bad = Rule::at_most(READ, "ms", 20.0, Some(30.0));
        assert_eq!(Verdict::of(std::slice::from_ref(&unfair)), Verdict::Invalid);
        assert_eq!(Verdict::of(&[unfair, bad]), Verdict::Fail);
    }

    #[test]
    fn a_rule_is_flat_in_json() {
        let rule = Rule::at_most(READ, "ms", 20.0, None).about("DB2").with_remark("no reads");
        let json = serde_json::to_value(&rule).unwrap();
        let wanted = serde_json::json!({
            "id": "database-read-average", "group": "limits", "server": null, "subject": "DB2",
            "title": "database read, average", "direction": "at most", "limit": 20.0, "measured": null, "interval": null, "unit": "ms",
            "outcome": "not measured", "remark": "no reads"
        });
        assert_eq!(json, wanted);
        assert_eq!(serde_json::from_value::<Rule>(json).unwrap(), rule);
        assert_eq!(serde_json::to_value(Group::FairTest).unwrap(), "fair test");
    }

    #[test]
    fn what_must_be_reached_is_a_minimum() {
        let read = Rule::at_most(READ, "ms", 20.0, Some(24.4));
        let rate = Rule::at_least(READ, "/s", 57_000.0, Some(7_215.0));
        assert_eq!(read.against_limit(), "database read, average: 24.4 ms (limit 20 ms)");
        assert_eq!(rate.measured_and_limit(), "7,215 /s (minimum 57,000 /s)");
        let read = Rule { server: Some("B".to_owned()), ..read };
        assert_eq!(read.heading(), "B: database read, average");
        assert_eq!(rate.limit_in_words(), "at least 57,000 /s");
        assert_eq!(rate.direction, Direction::AtLeast);
    }

    #[test]
    fn an_estimate_says_how_well_it_is_known() {
        let estimate = brunt_stats::Interval { mean: 7_214.0, half: 31.2 };
        let rate = Rule::at_least(READ, "/s", 7_000.0, Some(7_215.0)).known(Some(estimate));
        assert_eq!(rate.measured_in_words(), "7,215 ± 31.2 /s");
        assert_eq!(rate.measured_and_limit(), "7,215 ± 31.2 /s (minimum 7,000 /s)");
        let json = serde_json::to_value(&rate).unwrap();
        let wanted = serde_json::json!({ "low": 7_183.8, "high": 7_246.2, "confidence": 0.95 });
        assert_eq!(json["interval"], wanted);
        assert_eq!(serde_json::from_value::<Rule>(json).unwrap(), rate);
        let unknown = Rule::not_measured(READ).known(Some(estimate));
        assert_eq!(unknown.interval, None);
    }

    #[test]
    fn quantities_read_well() {
        let text = |value, unit| Quantity::new(value, unit).to_string();
        assert_eq!(text(20.0, "ms"), "20 ms");
        assert_eq!(text(0.312, "ms"), "0.31 ms");
        assert_eq!(text(0.0, "bad pages"), "0 bad pages");
        assert_eq!(text(21480.0, ""), "21,480");
    }
}
