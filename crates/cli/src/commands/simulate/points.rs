//! Several simulations of one scenario, on all cores.
//!
//! Each point is a world of its own, so their order and the number of cores change nothing but the time it takes.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use brunt_qualify::progress::Stop;

use super::test::{Record, simulate};
use super::{Engine, Headline, SimulateError, Source};
use crate::scenario::Override;

/// One simulation to make: what it replaces in the scenario.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// `key=value`, as after `--set`.
    pub(super) set: Vec<String>,
}

/// Simulates every point. `told` hears how many are done.
///
/// # Errors
/// [`SimulateError`] of the first point that could not be simulated.
pub(super) fn simulate_all(
    source: &Source,
    overrides: &[Override],
    engine: Engine,
    points: &[Point],
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Headline>, SimulateError> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(vec![None; points.len()]);
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..cores.min(points.len()) {
            scope.spawn(|| {
                while let Some(at) = take(&next, points.len(), stop) {
                    match one(source, overrides, engine, &points[at], stop) {
                        Ok(headline) => lock(&results)[at] = Some(headline),
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
    let results = results.into_inner().expect("no thread panicked");
    Ok(results.into_iter().flatten().collect())
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
) -> Result<Headline, SimulateError> {
    let mut all = overrides.to_vec();
    for set in &point.set {
        all.push(Override::of_set(set)?);
    }
    let scenario = source.test(&all)?;
    let result = simulate(
        &scenario,
        engine,
        &Record::Nowhere { checksum: false },
        stop,
    )?
    .into_result()?;
    Ok(Headline::of(&result))
}
