//! Verdict and rules.
//!
//! In JSON a rule is flat: `rule`, `limit`, `value`, `outcome`, and beside them `unit`, which limit and value share, and
//! `remark`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decimals;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every rule held.
    Pass,
    /// At least one rule did not.
    Fail,
    /// Somebody stopped it; nothing is judged.
    Interrupted,
    /// It could not be carried through; nothing is judged.
    Error,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It held.
    Ok,
    /// It did not, and the verdict is [`Verdict::Fail`].
    Failed,
    /// There was nothing to judge it by.
    #[serde(rename = "not measured")]
    NotMeasured,
    /// It did not hold, and is worth a look, but does not decide.
    Advisory,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// What it counts: `ms`, `/s`, `bad pages`; empty for a plain number.
    pub unit: String,
}

/// On which side of its limit a value holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// The limit is the most that is allowed.
    #[default]
    #[serde(rename = "at most")]
    AtMost,
    /// The limit is the least that is wanted.
    #[serde(rename = "at least")]
    AtLeast,
}

/// One thing that must hold for the storage to pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "FlatRule", from = "FlatRule")]
pub struct Rule {
    /// What is judged: `database read, average`.
    pub name: String,
    /// The limit; nothing where a rule only reports.
    pub limit: Option<Quantity>,
    /// Which side of it is good.
    pub bound: Bound,
    /// What was measured; nothing with [`Outcome::NotMeasured`].
    pub measured: Option<Quantity>,
    /// Whether it held.
    pub outcome: Outcome,
    /// Where and when, or why it was not measured; often empty.
    pub remark: String,
}

/// A rule as JSON has it.
#[derive(Serialize, Deserialize)]
struct FlatRule {
    rule: String,
    limit: Option<f64>,
    #[serde(default)]
    bound: Bound,
    value: Option<f64>,
    unit: String,
    outcome: Outcome,
    remark: String,
}

impl From<Rule> for FlatRule {
    fn from(rule: Rule) -> Self {
        let unit = rule.measured.as_ref().or(rule.limit.as_ref());
        Self {
            unit: unit.map_or_else(String::new, |quantity| quantity.unit.clone()),
            rule: rule.name,
            limit: rule.limit.map(|limit| limit.value),
            bound: rule.bound,
            value: rule.measured.map(|measured| measured.value),
            outcome: rule.outcome,
            remark: rule.remark,
        }
    }
}

impl From<FlatRule> for Rule {
    fn from(flat: FlatRule) -> Self {
        let quantity = |value: Option<f64>| value.map(|value| Quantity::new(value, &flat.unit));
        Self {
            limit: quantity(flat.limit),
            measured: quantity(flat.value),
            name: flat.rule,
            bound: flat.bound,
            outcome: flat.outcome,
            remark: flat.remark,
        }
    }
}

impl Quantity {
    /// `value` of `unit`.
    pub fn new(value: f64, unit: &str) -> Self {
        Self {
            value,
            unit: unit.to_owned(),
        }
    }
}

impl fmt::Display for Quantity {
    /// Whole numbers without decimals, others with as many as [`decimals`] gives them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = if self.value.fract() == 0.0 && self.value.abs() < 100.0 {
            format!("{:.0}", self.value)
        } else {
            decimals(self.value)
        };
        f.write_str(format!("{number} {}", self.unit).trim_end())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "Pass",
            Self::Fail => "Fail",
            Self::Interrupted => "Interrupted",
            Self::Error => "Error",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::NotMeasured => "not measured",
            Self::Advisory => "advisory",
        })
    }
}

impl Verdict {
    /// The verdict that carried-out `rules` lead to: fail as soon as one failed.
    pub fn of(rules: &[Rule]) -> Self {
        if rules.iter().any(|rule| rule.outcome == Outcome::Failed) {
            Self::Fail
        } else {
            Self::Pass
        }
    }
}

impl Rule {
    /// A rule that holds while `measured` is not above `limit`, both in `unit`.
    pub fn at_most(name: &str, unit: &str, limit: f64, measured: Option<f64>) -> Self {
        Self::judged(name, unit, limit, Bound::AtMost, measured)
    }

    /// A rule that holds while `measured` is not below `limit`, both in `unit`.
    pub fn at_least(name: &str, unit: &str, limit: f64, measured: Option<f64>) -> Self {
        Self::judged(name, unit, limit, Bound::AtLeast, measured)
    }

    fn judged(name: &str, unit: &str, limit: f64, bound: Bound, measured: Option<f64>) -> Self {
        let holds = |measured: f64| match bound {
            Bound::AtMost => measured <= limit,
            Bound::AtLeast => measured >= limit,
        };
        Self {
            name: name.to_owned(),
            limit: Some(Quantity::new(limit, unit)),
            bound,
            measured: measured.map(|value| Quantity::new(value, unit)),
            outcome: match measured {
                None => Outcome::NotMeasured,
                Some(measured) if holds(measured) => Outcome::Ok,
                Some(_) => Outcome::Failed,
            },
            remark: String::new(),
        }
    }

    /// The limit as a table shows it: `20 ms`, `at least 57,000 /s`, or `-`.
    pub fn limit_in_words(&self) -> String {
        match (&self.limit, self.bound) {
            (None, _) => "-".to_owned(),
            (Some(limit), Bound::AtMost) => limit.to_string(),
            (Some(limit), Bound::AtLeast) => format!("at least {limit}"),
        }
    }

    /// What was measured, beside the limit: `24.4 ms (limit 20 ms)`, `7,215 /s (minimum 57,000 /s)`.
    pub fn measured_in_words(&self) -> String {
        let measured = self.measured.as_ref();
        let measured = measured.map_or("not measured".to_owned(), ToString::to_string);
        match (&self.limit, self.bound) {
            (None, _) => measured,
            (Some(limit), Bound::AtMost) => format!("{measured} (limit {limit})"),
            (Some(limit), Bound::AtLeast) => format!("{measured} (minimum {limit})"),
        }
    }

    /// The rule and what was measured: `database read, average: 24.4 ms (limit 20 ms)`.
    pub fn against_limit(&self) -> String {
        format!("{}: {}", self.name, self.measured_in_words())
    }

    /// The same rule with a remark.
    #[must_use]
    pub fn with_remark(self, remark: impl Into<String>) -> Self {
        Self {
            remark: remark.into(),
            ..self
        }
    }

    /// The same rule, but a failure only advises.
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

    #[test]
    fn the_limit_itself_is_allowed() {
        let outcome = |measured| Rule::at_most("read", "ms", 20.0, measured).outcome;
        assert_eq!(outcome(Some(20.0)), Outcome::Ok);
        assert_eq!(outcome(Some(20.001)), Outcome::Failed);
        assert_eq!(outcome(None), Outcome::NotMeasured);
        assert_eq!(
            Rule::at_least("rate", "/s", 95.0, Some(94.9)).outcome,
            Outcome::Failed
        );
    }

    #[test]
    fn not_a_number_does_not_pass() {
        let rule = Rule::at_most("read", "ms", 20.0, Some(f64::NAN));
        assert_eq!(rule.outcome, Outcome::Failed);
    }

    #[test]
    fn one_failure_decides_and_an_advice_does_not() {
        let good = Rule::at_most("read", "ms", 20.0, Some(1.0));
        let bad = Rule::at_most("write", "ms", 20.0, Some(30.0));
        assert_eq!(Verdict::of(&[good.clone(), bad.clone()]), Verdict::Fail);
        assert_eq!(Verdict::of(&[good, bad.advisory()]), Verdict::Pass);
    }

    #[test]
    fn a_rule_is_flat_in_json() {
        let rule = Rule::at_most("read", "ms", 20.0, None).with_remark("no reads");
        let json = serde_json::to_value(&rule).unwrap();
        let wanted = serde_json::json!({
            "rule": "read", "limit": 20.0, "bound": "at most", "value": null, "unit": "ms",
            "outcome": "not measured", "remark": "no reads"
        });
        assert_eq!(json, wanted);
        let mut before = json.clone();
        before.as_object_mut().unwrap().remove("bound");
        for json in [json, before] {
            assert_eq!(serde_json::from_value::<Rule>(json).unwrap(), rule);
        }
    }

    #[test]
    fn what_must_be_reached_is_a_minimum() {
        let read = Rule::at_most("read", "ms", 20.0, Some(24.4));
        let rate = Rule::at_least("rate", "/s", 57_000.0, Some(7_215.0));
        assert_eq!(read.against_limit(), "read: 24.4 ms (limit 20 ms)");
        assert_eq!(rate.against_limit(), "rate: 7,215 /s (minimum 57,000 /s)");
        assert_eq!(rate.limit_in_words(), "at least 57,000 /s");
        let json = serde_json::to_value(&rate).unwrap();
        assert_eq!(json["bound"], "at least");
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
