//! Who answers for a point: a record, this part, or another one.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use brunt_report::FolderError;

use super::share::is_checked;
use super::{Plan, Record, Share};
use crate::{LabError, Tried};

/// Where records are kept.
pub trait Shelf: Sync {
    /// All whole records of `point`.
    ///
    /// # Errors
    /// When the system refuses.
    fn read(&self, point: &str) -> Result<Vec<Record>, FolderError>;

    /// Keeps what this part found of `point`.
    ///
    /// # Errors
    /// When the system refuses.
    fn keep(&self, point: &str, tried: &Tried) -> Result<(), FolderError>;
}

/// What is done about a point.
#[derive(Clone, Debug)]
pub enum Answer {
    /// There is a record of it.
    Known(Tried),
    /// This part computes it.
    Mine,
    /// Another part computes it.
    Elsewhere,
}

/// Two attempts that came to different results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{point}: attempt {first} on {first_node} and attempt {second} on {second_node} came to different results\n  one of these machines computes wrongly, or the programs differ; remove what the wrong one wrote, and merge again"
)]
pub struct Disagreement {
    point: String,
    first: String,
    first_node: String,
    second: String,
    second_node: String,
}

/// The points of a plan among parts: for one part, or for the merge, which computes nothing.
pub struct Sharing<'a> {
    share: Option<Share>,
    /// Parts of the plan.
    parts: u64,
    /// Whether points follow from the results of others.
    in_rounds: bool,
    shelf: &'a dyn Shelf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: u64,
    lacking: BTreeSet<u64>,
    checks: Checks,
}

/// Points that are computed twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Points that should be, as far as results are known.
    pub due: u64,
    /// Points that were, and agree.
    pub agreed: u64,
    /// Those that two machines computed.
    pub on_two_nodes: u64,
}

impl<'a> Sharing<'a> {
    /// For the part `share` of `plan`, or for the merge.
    pub fn new(plan: &Plan, share: Option<Share>, shelf: &'a dyn Shelf) -> Self {
        let in_rounds = plan.work.is_in_rounds();
        Self { share, parts: plan.parts, in_rounds, shelf, state: Mutex::default() }
    }

    /// Whether points are computed here.
    pub fn is_part(&self) -> bool {
        self.share.is_some()
    }

    /// What is done about `point`, which is asked for now.
    ///
    /// # Errors
    /// [`LabError::Shelf`], or [`LabError::Disagreement`] of its records.
    pub fn ask(&self, point: &str) -> Result<Answer, LabError> {
        let number = {
            let mut state = self.state();
            state.asked += 1;
            state.asked - 1
        };
        let takes = self.share.is_some_and(|share| share.takes(number));
        if self.is_part() && !takes && !self.in_rounds {
            return Ok(Answer::Elsewhere);
        }
        let records = self.shelf.read(point)?;
        let known = agreed(&records).map_err(Box::new)?;
        let by_me = |share: Share| records.iter().any(|record| record.part == share.part());
        let is_mine = self.share.is_some_and(|share| match share.is_checked(number) {
            true => takes && !by_me(share),
            false => takes && known.is_none(),
        });
        let mut state = self.state();
        match known {
            _ if is_mine => Ok(Answer::Mine),
            Some(known) => {
                state.checks.count(is_checked(number, self.parts), &records);
                Ok(Answer::Known(known.tried()))
            }
            None => {
                state.lacking.insert(number);
                Ok(Answer::Elsewhere)
            }
        }
    }

    /// Keeps what came of `point`.
    pub(crate) fn keep(&self, point: &str, tried: &Tried) -> Result<(), LabError> {
        Ok(self.shelf.keep(point, tried)?)
    }

    /// Points that were asked for.
    pub fn asked(&self) -> u64 {
        self.state().asked
    }

    /// Points without a record.
    pub fn lacking(&self) -> u64 {
        self.state().lacking.len() as u64
    }

    /// The parts of `parts` whose points are missing.
    pub fn lacking_parts(&self, parts: u64) -> Vec<u64> {
        let state = self.state();
        let parts: BTreeSet<u64> = state.lacking.iter().map(|number| number % parts).collect();
        parts.into_iter().collect()
    }

    /// Points that were computed twice, of those that were asked for.
    pub fn checks(&self) -> Checks {
        self.state().checks
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panicked")
    }
}

impl Checks {
    fn count(&mut self, is_due: bool, records: &[Record]) {
        self.due += u64::from(is_due);
        let nodes: BTreeSet<&str> = records.iter().map(|record| record.node.as_str()).collect();
        self.agreed += u64::from(records.len() > 1);
        self.on_two_nodes += u64::from(nodes.len() > 1);
    }
}

/// One of `records`, which all say the same; `None` without any.
fn agreed(records: &[Record]) -> Result<Option<&Record>, Disagreement> {
    let Some((first, others)) = records.split_first() else {
        return Ok(None);
    };
    let digest = first.digest();
    match others.iter().find(|other| other.digest() != digest) {
        None => Ok(Some(first)),
        Some(second) => Err(Disagreement {
            point: first.point.clone(),
            first: first.attempt.clone(),
            first_node: first.node.clone(),
            second: second.attempt.clone(),
            second_node: second.node.clone(),
        }),
    }
}
