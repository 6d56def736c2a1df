//! Simulates several variants of one scenario, on all cores or in parts.
//!
//! Each point is a world of its own, so order and number of cores affect only the running time. A
//! point that the scenario's checks refuse is also a result: it states the reason, and the others
//! continue.

use brunt_report::result::{Bottleneck, Outcome, Rule, RunResult, Verdict};
use brunt_run::Stop;
use brunt_scenario::{Document, ModelledScenario, Override, Refusal};

use serde::{Deserialize, Serialize};

use crate::{Crew, Headline, LabError, Options, distance, halves, predict};

/// The result of a point.
#[derive(Clone, Debug)]
pub enum Tried {
    /// The point was simulated.
    Simulated(Box<Judged>),
    /// The scenario was refused with these values.
    Refused(Refusal),
}

/// The result of a simulated point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its figures.
    pub headline: Headline,
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub sentence: String,
    pub failed: Vec<Rule>,
    /// Why servers missed their target.
    pub bottlenecks: Vec<Bottleneck>,
}

impl Judged {
    /// What is kept of `result`.
    pub fn of(result: RunResult) -> Self {
        let headline = Headline::of(&result);
        let failed = result.rules.into_iter();
        Self {
            headline,
            verdict: result.verdict,
            sentence: result.storage.details.sentence,
            bottlenecks: result.storage.bottlenecks,
            failed: failed.filter(|rule| rule.outcome == Outcome::Failed).collect(),
        }
    }
}

impl Tried {
    /// Whether it was simulated and passed.
    pub fn passed(&self) -> bool {
        self.judged().is_some_and(|judged| judged.verdict == Verdict::Pass)
    }

    /// The result of the simulation, if there was one.
    pub fn judged(&self) -> Option<&Judged> {
        match self {
            Self::Simulated(judged) => Some(judged),
            Self::Refused(_) => None,
        }
    }
}

/// Receives a value and what came of it, in the order in which points end.
pub type Told<'a> = dyn Fn(&Override, &Tried) + Sync + 'a;

/// A scenario to simulate with different values.
#[derive(Clone, Copy)]
pub struct Points<'a> {
    /// The scenario.
    pub document: &'a Document,
    /// Replacements that apply to every point.
    pub overrides: &'a [Override],
    /// How each point is simulated.
    pub options: &'a Options,
    /// Whether a path of each link with several is lost from the beginning.
    pub path_lost: bool,
    /// Who computes them.
    pub crew: Crew<'a>,
}

impl Points<'_> {
    /// Simulates a point for each of `values`; points that a stop interrupts, or that another part
    /// computes, yield `None`. `told` receives each point that was computed.
    ///
    /// # Errors
    /// [`LabError`] of a point that failed for another reason than its value.
    pub fn simulate(
        &self,
        values: &[Override],
        stop: &Stop,
        told: &Told<'_>,
    ) -> Result<Vec<Option<Tried>>, LabError> {
        let points: Vec<String> = values.iter().map(|value| self.name(value)).collect();
        let one = |at: usize| self.one(&values[at], stop);
        let told = |at: usize, tried: &Tried| told(&values[at], tried);
        self.crew.compute(&points, self.threads(values), &one, stop, &told)
    }

    /// What a point is called in records.
    fn name(&self, value: &Override) -> String {
        let lost = if self.path_lost { ", a path lost" } else { "" };
        value.as_set() + lost
    }

    /// Threads that simulate a point.
    fn threads(&self, values: &[Override]) -> usize {
        let mut overrides = self.overrides.to_vec();
        overrides.extend(values.first().cloned());
        let scenario = self.document.modelled_test(&overrides);
        scenario.map_or(1, |scenario| halves::seeds(&scenario, self.options).len())
    }

    fn one(&self, value: &Override, stop: &Stop) -> Result<Tried, LabError> {
        let mut overrides = self.overrides.to_vec();
        overrides.push(value.clone());
        let mut scenario = match self.document.modelled_test(&overrides) {
            Ok(scenario) => scenario,
            Err(refusal) => return Ok(Tried::Refused(refusal)),
        };
        if self.path_lost {
            distance::lose_path(&mut scenario);
        }
        let result = predict_to_an_answer(scenario, self.options, stop)?;
        Ok(Tried::Simulated(Box::new(Judged::of(result))))
    }
}

/// Predicts the test of `scenario`; all of it, if what stops early leaves open whether it passes.
pub fn predict_to_an_answer(
    mut scenario: ModelledScenario,
    options: &Options,
    stop: &Stop,
) -> Result<RunResult, LabError> {
    let result = predict(&scenario, options.clone(), stop)?;
    let precision = result.storage.precision.as_ref();
    let is_short = precision.is_some_and(|precision| precision.stopped_early);
    if result.verdict != Verdict::Inconclusive || !is_short {
        return Ok(result);
    }
    // An extreme came near to its limit, and only the whole test can tell.
    scenario.scenario.test.precision = Some(None);
    predict(&scenario, options.clone(), stop)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A point with a verdict and no other results.
    pub(crate) fn tried(verdict: Verdict) -> Tried {
        Tried::Simulated(Box::new(Judged {
            headline: Headline::default(),
            verdict,
            sentence: String::new(),
            failed: Vec::new(),
            bottlenecks: Vec::new(),
        }))
    }

    #[test]
    fn only_a_pass_passes() {
        let passed = |verdict| tried(verdict).passed();
        assert!(passed(Verdict::Pass));
        for other in [Verdict::Fail, Verdict::Error, Verdict::Interrupted] {
            assert!(!passed(other), "{other}");
        }
    }
}
