//! Coordinate search: one parameter at a time, up and down, with decreasing steps.
//!
//! Minimises the sum over tests of [`cost`]. A few parameters, each with a separate effect, need
//! nothing better. Each point is simulated once, all points of a step at the same time; of a group
//! of servers, a part stands for the whole ([`super::part`]).

use crate::TaskError;
use crate::calibrate::parameters::PARAMETERS;
use crate::calibrate::part;
use crate::figures::cost;
use crate::papers::{Lengths, closed};
use crate::predictions::{Predictions, Request};
use crate::published::Published;

/// A value for each of [`PARAMETERS`].
pub(super) type Values = [f64; PARAMETERS.len()];

/// Step factors of each round; with fewer rounds, the last ones are used.
pub(super) const STEPS: [f64; 4] = [1.6, 1.3, 1.15, 1.07];

/// The initial values of a fit.
pub(super) fn starts() -> Values {
    PARAMETERS.map(|parameter| parameter.fitted)
}

/// Fits parameters to `tests`.
pub(super) struct Search<'a> {
    pub(super) tests: Vec<&'a Published>,
    pub(super) lengths: Lengths,
    pub(super) rounds: usize,
}

impl Search<'_> {
    /// The best values found, starting from `values`. Parameters that affect none of the tests stay
    /// unchanged.
    ///
    /// # Errors
    /// [`TaskError`] when a test cannot be simulated.
    pub(super) fn fit(
        &self,
        mut values: Values,
        predictions: &mut Predictions,
    ) -> Result<Values, TaskError> {
        self.make(&[values], predictions);
        let first = STEPS.len().saturating_sub(self.rounds);
        for (round, step) in STEPS.into_iter().enumerate().skip(first) {
            let is_last = round + 1 == STEPS.len();
            for at in 0..PARAMETERS.len() {
                let parameter = &PARAMETERS[at];
                let matters = |test: &&Published| parameter.matters(&test.system, &test.generation);
                if !self.tests.iter().any(matters) {
                    continue;
                }
                let candidates = parameter.candidates(values[at], step, is_last);
                let moved = candidates.into_iter().map(|value| {
                    let mut moved = values;
                    moved[at] = value;
                    moved
                });
                let moved: Vec<Values> = moved.collect();
                self.make(&moved, predictions);
                for candidate in moved {
                    if self.cost(&candidate, predictions)? < self.cost(&values, predictions)? {
                        values = candidate;
                    }
                }
            }
            self.tell(round + 1 - first, self.cost(&values, predictions)?, predictions);
        }
        Ok(values)
    }

    fn tell(&self, round: usize, cost: f64, predictions: &Predictions) {
        let names: Vec<&str> = self.tests.iter().map(|test| &*test.system).collect();
        let (names, made) = (names.join(", "), predictions.count());
        predictions.told.say(&format!(
            "round {round} of {} on {names}: cost {cost:.2}, {made} predictions so far",
            self.rounds
        ));
    }

    fn make(&self, all: &[Values], predictions: &mut Predictions) {
        let requests = all.iter().flat_map(|values| {
            let tests = self.tests.iter();
            tests.map(|test| searched(test, values, self.lengths))
        });
        predictions.make(&requests.collect::<Vec<_>>());
    }

    fn cost(&self, values: &Values, predictions: &Predictions) -> Result<f64, TaskError> {
        let costs = self.tests.iter().map(|test| {
            let prediction = predictions.get(&searched(test, values, self.lengths));
            let prediction = prediction.expect("it was just made").map_err(TaskError::again)?;
            let mut predicted = prediction.of(test, &test.rows[0]);
            if let Some(part) = part::of(&test.scenario) {
                predicted = part.whole(predicted);
            }
            Ok(cost(test.whole(), &predicted))
        });
        costs.sum()
    }
}

/// The request for `test`, or the part that stands for it, with these values.
pub(super) fn searched(test: &Published, values: &Values, lengths: Lengths) -> Request {
    let mut request = request(test, values, lengths);
    if let Some(part) = part::of(&test.scenario) {
        request.set.extend(part.set.iter().map(ToString::to_string));
    }
    request
}

/// The request for `test` with these values.
pub(super) fn request(test: &Published, values: &Values, lengths: Lengths) -> Request {
    let mut request = closed(&test.scenario, test.outline(), lengths);
    for (parameter, value) in PARAMETERS.iter().zip(values) {
        if parameter.matters(&test.system, &test.generation) {
            request.set.extend(parameter.set(*value));
        }
    }
    request
}
