//! Several simulations of one scenario, on all cores, and what is shown and kept of them.
//!
//! Each point is a world of its own, so their order and the number of cores change nothing but the time it takes. A point that
//! the scenario's own checks refuse is a result, too: it says why, and the others go on.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use brunt_lab::{Options, predict};
use brunt_qualify::progress::Stop;
use brunt_report::result::{Outcome, Rule};

use super::{Engine, Headline, SimulateError, Source};
use crate::version;
use brunt_scenario::{Override, Refusal};

/// One simulation to make: what it replaces in the scenario.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// `key=value`, as after `--set`.
    pub(super) set: Vec<String>,
}

/// What came of a point.
#[derive(Clone, Debug)]
pub(super) enum Tried {
    /// It was simulated; some rules may have failed.
    Simulated(Headline, Vec<Rule>),
    /// The scenario is refused with these values.
    Refused(Refusal),
}

impl Tried {
    /// Whether it was simulated and every rule held.
    pub(super) fn passed(&self) -> bool {
        self.headline().is_some_and(|headline| headline.passed)
    }

    pub(super) fn headline(&self) -> Option<&Headline> {
        match self {
            Self::Simulated(headline, _) => Some(headline),
            Self::Refused(_) => None,
        }
    }

    /// What became of it, for the cell of a table: `hold`, the rule that failed first, or the refusal.
    pub(super) fn outcome(&self) -> String {
        match self {
            Self::Simulated(headline, _) if headline.passed => "hold".to_owned(),
            Self::Simulated(_, failed) => match failed.as_slice() {
                [] => "no I/O was measured".to_owned(),
                [only] => format!("fail: {}", only.against_limit()),
                [first, more @ ..] => {
                    format!("fail: {}, and {} more", first.against_limit(), more.len())
                }
            },
            Self::Refused(refusal) => format!("refused: {}", refusal.what()),
        }
    }
}

/// Simulates every point; nothing comes of those that were not carried through when somebody asked to stop. `told` hears how
/// many are done.
///
/// # Errors
/// [`SimulateError`] of the first point that could not be simulated for another reason than its values, and the refusal of the
/// first when all are refused.
pub(super) fn simulate_all(
    source: &Source,
    overrides: &[Override],
    engine: Engine,
    points: &[Point],
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Option<Tried>>, SimulateError> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(vec![None; points.len()]);
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..cores.min(points.len()) {
            scope.spawn(|| {
                while let Some(at) = take(&next, points.len(), stop) {
                    match one(source, overrides, engine, &points[at], stop) {
                        // Stopped half way, it shows nothing.
                        Ok(_) if stop.is_asked() => {}
                        Ok(tried) => lock(&results)[at] = Some(tried),
                        Err(error) => *lock(&failure) = Some(error),
                    }
                    told(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().expect("no thread panicked") {
        return Err(error);
    }
    Ok(results.into_inner().expect("no thread panicked"))
}

/// The number of the next point; none when all are taken, or nobody wants more.
fn take(next: &AtomicUsize, count: usize, stop: &Stop) -> Option<usize> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    (at < count && !stop.is_asked()).then_some(at)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}

fn one(
    source: &Source,
    overrides: &[Override],
    engine: Engine,
    point: &Point,
    stop: &Stop,
) -> Result<Tried, SimulateError> {
    let mut all = overrides.to_vec();
    for set in &point.set {
        all.push(Override::of_set(set)?);
    }
    let scenario = match source.test(&all) {
        Ok(scenario) => scenario,
        Err(refusal) => return Ok(Tried::Refused(refusal)),
    };
    let options = Options {
        engine: engine.into(),
        checksum: false,
        program: version::program(),
    };
    let result = predict(&scenario, options, stop)?;
    let failed = result.rules.iter();
    let failed = failed.filter(|rule| rule.outcome == Outcome::Failed);
    Ok(Tried::Simulated(
        Headline::of(&result),
        failed.cloned().collect(),
    ))
}
