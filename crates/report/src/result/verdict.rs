//! How a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Outcome, Rule};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No rule failed.
    Pass,
    /// At least one rule failed.
    Fail,
    /// The run was stopped; nothing is judged.
    Interrupted,
    /// The run could not be completed; nothing is judged.
    Error,
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
