//! The verdict on a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Group, Outcome, Rule};

/// How the sentence of a result begins whose data is not what was written.
pub const WRONG_DATA: &str = "The storage returned wrong data";

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
    /// Something was lost, and no limit says how much may be.
    NoLimitSet,
}

/// The colour of a verdict on the screen, in reports and in papers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Everything that was asked for holds.
    Green,
    /// It holds, and proves less than was asked for.
    Amber,
    /// It does not hold.
    Red,
    /// There is no answer.
    #[default]
    Grey,
}

impl Colour {
    /// The class of what has this colour on a page.
    pub fn class(self) -> &'static str {
        match self {
            Self::Green => "pass",
            Self::Amber => "doubt",
            Self::Red => "fail",
            Self::Grey => "open",
        }
    }
}

/// The words of a check of files and papers that came to no answer, and their colour.
pub const NOT_JUDGED: (&str, Colour) = ("NOT JUDGED", Colour::Grey);

impl Verdict {
    /// The verdict of a complete run by its `rules`: fail as soon as one about the storage failed,
    /// invalid if only the test was unfair.
    pub fn of(rules: &[Rule]) -> Self {
        let mut failed = rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
        match failed.clone().next() {
            None => Self::Pass,
            Some(_) if failed.all(|rule| rule.group == Group::FairTest) => Self::Invalid,
            Some(_) => Self::Fail,
        }
    }

    /// The words of a verdict and their colour: the one table of all commands, reports and papers.
    pub fn shown(self, is_predicted: bool, qualifies: bool) -> (String, Colour) {
        let word = self.word().to_uppercase();
        match self {
            Self::Pass if is_predicted => (format!("PREDICTED {word}"), Colour::Amber),
            Self::Fail if is_predicted => (format!("PREDICTED {word}"), Colour::Red),
            Self::Pass if qualifies => (word, Colour::Green),
            Self::Pass => (format!("{word}, not a qualification"), Colour::Amber),
            Self::Fail => (word, Colour::Red),
            Self::Interrupted
            | Self::Error
            | Self::Invalid
            | Self::Inconclusive
            | Self::NoLimitSet => (word, Colour::Grey),
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
            Self::NoLimitSet => "no limit set",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_green() {
        use Verdict::*;
        let shown = |verdict: Verdict, is_predicted, qualifies| {
            let (word, colour) = verdict.shown(is_predicted, qualifies);
            (word, colour.class())
        };
        let as_words = |shown: (String, &'static str)| format!("{} {}", shown.1, shown.0);
        assert_eq!(as_words(shown(Pass, false, true)), "pass PASS");
        assert_eq!(as_words(shown(Pass, false, false)), "doubt PASS, not a qualification");
        assert_eq!(as_words(shown(Pass, true, false)), "doubt PREDICTED PASS");
        assert_eq!(as_words(shown(Fail, true, false)), "fail PREDICTED FAIL");
        assert_eq!(as_words(shown(Fail, false, false)), "fail FAIL");
        for verdict in [Interrupted, Error, Invalid, Inconclusive, NoLimitSet] {
            for is_predicted in [false, true] {
                let (word, class) = shown(verdict, is_predicted, false);
                assert_eq!(class, "open", "{word}");
                assert_eq!(word, verdict.word().to_uppercase());
            }
        }
    }
}
