//! A run that was interrupted, to be carried on: what it recorded, and what it had found out by
//! tuning.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_qualify::goal::Target;
use brunt_qualify::phases::test_run::{Earlier, TestRun};
use brunt_qualify::plan::{Carried, Plan};
use brunt_report::NewsLine;
use brunt_report::ReadError;
use brunt_report::result::{TestKind, Tested, Tuning, Verdict};
use brunt_run::News;

use crate::runs;

/// An interrupted run.
pub struct Interrupted {
    folder: PathBuf,
    earlier: Rc<Earlier>,
    /// What tuning has found; `None` without tuning.
    tuned: Option<Tuned>,
}

struct Tuned {
    sessions: u32,
    target: Option<Target>,
    tuning: Tuning,
}

/// Why a run cannot be carried on.
#[derive(Debug, thiserror::Error)]
pub enum InterruptedError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{}: was not interrupted, its verdict is {}\n  to run it again: brunt run {}", .0.display(), .1, .0.join("scenario.toml").display())]
    Ended(PathBuf, Verdict),
    /// It is a drill, which records nothing until it is over.
    #[error("{}: is a drill, which is not carried on\n  to rehearse it again: brunt drill {}", .0.display(), .0.join("scenario.toml").display())]
    Drill(PathBuf),
    /// Messages that were not sent are not part of its ledger.
    #[error("{}: is a test of mail servers, which is not carried on\n  to look at the mailboxes again: brunt load --audit {}", .0.display(), .0.display())]
    Mail(PathBuf),
    /// Nothing that counts was recorded.
    #[error("{}: was interrupted before it had recorded a whole sample, so there is nothing to carry on\n  to run it again: brunt run {}", .0.display(), .0.join("scenario.toml").display())]
    NotBegun(PathBuf),
    /// Only a collection consists of samples that can be added up.
    #[error("{}: is a {} test, and only performance and stress tests can be carried on\n  to run it again: brunt run {}", .0.display(), .1, .0.join("scenario.toml").display())]
    Kind(PathBuf, Tested),
}

impl Interrupted {
    /// Reads the run in `folder`.
    ///
    /// # Errors
    /// [`InterruptedError`] when it cannot be carried on.
    pub fn read(folder: &Path) -> Result<Self, InterruptedError> {
        let result = runs::outline(folder)?;
        if result.drill.is_some() {
            return Err(InterruptedError::Drill(folder.to_owned()));
        }
        if result.mail.is_some() {
            return Err(InterruptedError::Mail(folder.to_owned()));
        }
        if result.is_finished() && result.verdict != Verdict::Interrupted {
            return Err(InterruptedError::Ended(folder.to_owned(), result.verdict));
        }
        let test = result.storage.test;
        if !test.kind().is_some_and(TestKind::has_limits) {
            return Err(InterruptedError::Kind(folder.to_owned(), test));
        }
        let folded = runs::folded(folder)?.filter(|folded| !folded.samples.is_empty());
        let folded = folded.ok_or_else(|| InterruptedError::NotBegun(folder.to_owned()))?;
        let news = folded.news.iter().rev();
        let mut news = news.filter_map(|news| NewsLine::from_json(news));
        let tuned = news.find_map(|line| match line.news {
            News::Tuned { sessions, target, tuning } => Some(Tuned { sessions, target, tuning }),
            _ => None,
        });
        let earlier = Rc::new(Earlier { result, folded });
        Ok(Self { folder: folder.to_owned(), earlier, tuned })
    }

    /// The plan of the run that carries this one on, if `plan` is that of the scenario.
    pub fn plan(&self, mut plan: Plan) -> Plan {
        plan.carried = Some(Carried::of(&self.earlier));
        if let Some(tuned) = &self.tuned {
            plan.tune = None;
            plan.sessions = tuned.sessions;
            plan.target = tuned.target.or(plan.target);
        }
        plan
    }

    /// Adds what this run has measured to what the one has that carried it on.
    pub fn add_to(&self, run: &mut TestRun, plan: &Plan) {
        run.carry(plan, Rc::clone(&self.earlier));
        run.tuning = self.tuned.as_ref().map(|tuned| tuned.tuning.clone());
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Records of its journal up to the last sample that counts.
    pub(crate) fn records(&self) -> u64 {
        self.earlier.folded.records
    }
}
