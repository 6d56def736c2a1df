//! Many predictions at once: on all cores, each made once.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use crate::TaskError;
use crate::prediction::{Prediction, simulate};

/// A scenario and what is replaced in it.
pub(crate) type Request = (String, Vec<String>);

/// Predictions that were made.
#[derive(Default)]
pub(crate) struct Predictions(BTreeMap<Request, Prediction>);

impl Predictions {
    /// Makes those of `requests` that were not made yet, the first ones first.
    ///
    /// # Errors
    /// [`TaskError`] of one that could not be made.
    pub(crate) fn make(&mut self, requests: &[Request]) -> Result<(), TaskError> {
        let mut wanted: Vec<&Request> = Vec::new();
        for request in requests {
            if !self.0.contains_key(request) && !wanted.contains(&request) {
                wanted.push(request);
            }
        }
        wanted.reverse();
        let left = Mutex::new(wanted);
        let made = Mutex::new(Vec::new());
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    while let Some((scenario, set)) = pop(&left) {
                        let prediction = simulate(scenario, set);
                        let request = (scenario.clone(), set.clone());
                        made.lock()
                            .expect("nobody panicked")
                            .push((request, prediction));
                    }
                });
            }
        });
        for (request, prediction) in made.into_inner().expect("nobody panicked") {
            self.0.insert(request, prediction?);
        }
        Ok(())
    }

    /// One that was made.
    ///
    /// # Panics
    /// When it was not.
    pub(crate) fn get(&self, request: &Request) -> &Prediction {
        self.0.get(request).expect("it was made before")
    }
}

fn pop<'r>(left: &Mutex<Vec<&'r Request>>) -> Option<&'r Request> {
    left.lock().expect("nobody panicked").pop()
}
