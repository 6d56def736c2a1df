//! Runs predictions in parallel on all cores, each once. Their results are kept, and one that
//! panics costs only itself.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::panic;
use std::sync::Mutex;
use std::thread;

use crate::TaskError;
use crate::kept::{Kept, Place};
use crate::prediction::{Prediction, simulate};
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
    kept: Option<Kept>,
    pub(crate) told: Told,
}

impl fmt::Display for Request {
    /// `mail test.duration=30min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scenario)?;
        self.set.iter().try_for_each(|set| write!(f, " {set}"))
    }
}

impl Predictions {
    /// None so far; `told` tells each.
    pub(crate) fn new(told: Told) -> Self {
        Self { completed: BTreeMap::new(), kept: Kept::here(), told }
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
        let kept = self.kept.as_ref();
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

fn made_or_kept(request: &Request, kept: Option<&Kept>) -> Result<Prediction, TaskError> {
    let place = kept.map(|kept| kept.place(request));
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
        place.put(&prediction.result);
    }
    Ok(prediction)
}

fn pop<'r>(left: &Mutex<Vec<&'r Request>>) -> Option<&'r Request> {
    left.lock().expect("nobody panicked").pop()
}
