//! A run that was interrupted, to be carried on: what it recorded, and what it had found out by
//! tuning.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_qualify::goal::Target;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::{Carried, Plan};
use brunt_qualify::progress::{News, NewsLine};
use brunt_report::result::{TestKind, Tested, Tuning};
use brunt_report::{Earlier, EarlierError};

/// An interrupted run.
pub struct Interrupted {
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
    /// It was not interrupted, has recorded too little, or cannot be read.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
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
        let earlier = Earlier::read(folder)?;
        let test = earlier.result.storage.test;
        if !test.kind().is_some_and(TestKind::has_limits) {
            return Err(InterruptedError::Kind(folder.to_owned(), test));
        }
        let news = earlier.news.lines().rev();
        let mut news = news.filter_map(|line| serde_json::from_str::<NewsLine>(line).ok());
        let tuned = news.find_map(|line| match line.news {
            News::Tuned { sessions, target, tuning } => Some(Tuned { sessions, target, tuning }),
            _ => None,
        });
        Ok(Self { earlier: Rc::new(earlier), tuned })
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

    pub fn recorded(&self) -> &Earlier {
        &self.earlier
    }
}
