//! How the program ends, as its caller sees it.

use std::process::ExitCode;

/// The exit code of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: it passed, or found nothing wrong.
    Passed,
    /// 1: it was carried through, and what was tested is not good.
    Failed,
    /// 2: it could not be carried through; nothing is judged.
    CouldNot,
    /// 130: somebody stopped it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::CouldNot => 2,
            Exit::Interrupted => 130,
        })
    }
}
