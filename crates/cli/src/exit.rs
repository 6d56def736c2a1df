//! How the program ends, as its caller sees it. 64 and 75 are those of `sysexits.h`.

use std::process::ExitCode;

use brunt_report::result::{Colour, NOT_JUDGED, Verdict};

/// The exit code of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: it passed, or found nothing wrong.
    Passed,
    /// 1: it was carried through, and what was tested is not good.
    Failed,
    /// 2: there is no answer: it could not be carried through, was invalid, or inconclusive.
    NoAnswer,
    /// 64: a part of a plan that will never be computed, however often it is tried.
    Never,
    /// 75: a part of a plan that may be computed next time.
    Again,
    /// 130: it was stopped.
    Interrupted,
}

impl Exit {
    /// The first words of a check that is no test, and their colour.
    pub fn shown(self) -> (String, Colour) {
        match self {
            Self::Passed => Verdict::Pass.shown(false, true),
            Self::Failed => Verdict::Fail.shown(false, true),
            Self::NoAnswer | Self::Never | Self::Again => (NOT_JUDGED.0.to_owned(), NOT_JUDGED.1),
            Self::Interrupted => Verdict::Interrupted.shown(false, true),
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Passed,
            Verdict::Fail => Self::Failed,
            Verdict::Interrupted => Self::Interrupted,
            Verdict::Error | Verdict::Invalid | Verdict::Inconclusive | Verdict::NoLimitSet => {
                Self::NoAnswer
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::NoAnswer => 2,
            Exit::Never => 64,
            Exit::Again => 75,
            Exit::Interrupted => 130,
        })
    }
}
