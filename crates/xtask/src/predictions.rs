//! Runs predictions in parallel on all cores, each once. Their results are kept, and one that
//! panics costs only itself.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::{env, fs, panic, thread};

use crate::TaskError;
use crate::kept::{self, Kept, Place};
use crate::prediction::{Prediction, scenario, simulate};
use crate::told::Told;

/// A prediction to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Request {
    /// The scenario, without its file extension.
    pub(crate) scenario: String,
    /// The settings replaced in it.
    pub(crate) set: Vec<String>,
    /// Whether the checksum after the test runs.
    pub(crate) checksum: bool,
    /// Whether it is rehearsed as a drill, with its events.
    pub(crate) is_drill: bool,
}

/// Completed predictions.
pub(crate) struct Predictions {
    completed: BTreeMap<Request, Result<Prediction, TaskError>>,
    kept: KeptPredictions,
    pub(crate) told: Told,
}

impl fmt::Display for Request {
    /// `mail test.duration=30min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scenario)?;
        self.set.iter().try_for_each(|set| write!(f, " {set}"))
    }
}

/// Where results are kept: for the same program and the same scenario with the same settings.
struct KeptPredictions {
    folder: Kept,
    /// `None` where it cannot read its own file, and keeps nothing.
    program: Option<u64>,
}

impl KeptPredictions {
    fn place(&self, request: &Request) -> Option<Place> {
        let text = scenario(&request.scenario, &[]).map(|scenario| scenario.to_toml());
        let origin = (self.program?, request, text.unwrap_or_default());
        Some(self.folder.place(&request.scenario, &origin))
    }
}

impl Predictions {
    /// None so far; `told` tells each.
    pub(crate) fn new(told: Told) -> Self {
        let program = env::current_exe().and_then(fs::read).ok();
        let kept = KeptPredictions {
            folder: Kept::in_target("predictions"),
            program: program.map(|program| kept::hash(&program)),
        };
        Self { completed: BTreeMap::new(), kept, told }
    }

    /// Runs those of `requests` that have not run yet, in order.
    pub(crate) fn make(&mut self, requests: &[Request]) {
        let mut wanted: Vec<&Request> = Vec::new();
        for request in requests {
            if !self.completed.contains_key(request) && !wanted.contains(&request) {
                wanted.push(request);
            }
        }
        wanted.reverse();
        let all = self.completed.len() + wanted.len();
        let told = &self.told;
        let left = Mutex::new(wanted);
        let made = Mutex::new(Vec::new());
        let kept = &self.kept;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    while let Some(request) = pop(&left) {
                        let prediction = made_or_kept(request, kept);
                        told.made(request, all, &prediction);
                        made.lock().expect("nobody panicked").push((request.clone(), prediction));
                    }
                });
            }
        });
        self.completed.extend(made.into_inner().expect("nobody panicked"));
    }

    /// How many have run.
    pub(crate) fn count(&self) -> usize {
        self.completed.len()
    }

    /// A completed prediction, or why it failed; `None` when it was not requested.
    pub(crate) fn get(&self, request: &Request) -> Option<Result<&Prediction, &TaskError>> {
        self.completed.get(request).map(Result::as_ref)
    }
}

fn made_or_kept(request: &Request, kept: &KeptPredictions) -> Result<Prediction, TaskError> {
    let place = kept.place(request);
    if let Some(result) = place.as_ref().and_then(Place::get) {
        return Ok(Prediction { result });
    }
    let simulated = || simulate(request);
    let prediction = panic::catch_unwind(simulated).unwrap_or_else(|_| {
        Err(TaskError::Simulate {
            scenario: request.scenario.clone(),
            why: "the simulation panicked".to_owned(),
        })
    })?;
    if let Some(place) = place {
        // What cannot be kept is simulated again.
        let _ = place.put(&prediction.result);
    }
    Ok(prediction)
}

fn pop<'r>(left: &Mutex<Vec<&'r Request>>) -> Option<&'r Request> {
    left.lock().expect("nobody panicked").pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_again_only_for_the_same_request_and_program() {
        let by = |program| KeptPredictions {
            folder: Kept::in_target("predictions"),
            program: Some(program),
        };
        let request = |set: &[&str]| Request {
            scenario: "emc-cx3-20-performance".to_owned(),
            set: set.iter().map(|word| (*word).to_owned()).collect(),
            checksum: false,
            is_drill: false,
        };
        let place = |program, set: &[&str]| by(program).place(&request(set)).unwrap();
        let paths = [place(1, &[]), place(2, &[]), place(1, &["test.seed=2"])];
        assert_eq!(place(1, &[]), paths[0]);
        assert_ne!(paths[0], paths[1]);
        assert_ne!(paths[0], paths[2]);
    }
}
