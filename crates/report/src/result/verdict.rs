//! The verdict on a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Group, Outcome, Rule};

/// The verdict on a run.
///
/// Only *pass* and *fail* say something about the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No rule failed.
    Pass,
    /// At least one rule about the storage failed.
    Fail,
    /// The run was stopped, so there is no verdict on the storage.
    Interrupted,
    /// The run could not be completed, so there is no verdict on the storage.
    Error,
    /// The run was completed, but something other than the storage was measured.
    Invalid,
    /// The run was completed, but there was nothing to judge.
    Inconclusive,
}

impl Verdict {
    /// The verdict of a complete run by its `rules`: fail as soon as one about the storage failed, invalid if only the test was unfair.
    pub fn of(rules: &[Rule]) -> Self {
        let mut failed = rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
        match failed.clone().next() {
            None => Self::Pass,
            Some(_) if failed.all(|rule| rule.group == Group::FairTest) => Self::Invalid,
            Some(_) => Self::Fail,
        }
    }

    /// Whether the storage was judged.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Pass | Self::Fail)
    }

    /// The verdict as in the middle of a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
            Self::Invalid => "invalid",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    /// The verdict as at the start of a sentence, and in tables of Jetstress.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, rest) = self.word().split_at(1);
        write!(f, "{}{rest}", first.to_uppercase())
    }
}
