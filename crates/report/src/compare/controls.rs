//! What the storage cannot change: how fast the machine and the tester were.
//!
//! | control | moved when both sides differ by |
//! | --- | --- |
//! | checksum speed, clock rate | 5 % |
//! | stolen time, throttled time | 1 % of the time |
//! | tester, delay p99 | 0.5 ms, half of its limit |
//!
//! The limits are our choice. Older runs have no checksum speed, and runs in virtual time no
//! controls at all.

use serde::Serialize;

use crate::Run;
use crate::host_counters::{CHECKSUM_SPEED, FREQUENCY, STEAL, THROTTLED};

/// A control, and whether it moved between the sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Control {
    /// Its name, with its unit.
    pub control: String,
    /// Mean over the runs of A; null when it was not recorded.
    pub a: Option<f64>,
    /// Mean over the runs of B.
    pub b: Option<f64>,
    /// The largest difference that counts as none: a share of A's for speeds, the difference itself
    /// for the others.
    pub limit: f64,
    /// Whether they differ by more; then there is no verdict.
    pub moved: bool,
}

struct Watched {
    name: &'static str,
    of: fn(&Run) -> Option<f64>,
    limit: f64,
    is_speed: bool,
}

const WATCHED: [Watched; 5] = [
    Watched {
        name: CHECKSUM_SPEED,
        of: |run| counter(run, CHECKSUM_SPEED),
        limit: 0.05,
        is_speed: true,
    },
    Watched { name: FREQUENCY, of: |run| counter(run, FREQUENCY), limit: 0.05, is_speed: true },
    Watched { name: STEAL, of: |run| counter(run, STEAL), limit: 1.0, is_speed: false },
    Watched { name: THROTTLED, of: |run| counter(run, THROTTLED), limit: 1.0, is_speed: false },
    Watched {
        name: "tester delay p99 (ms)",
        of: |run| rule(run, "tester-delay"),
        limit: 0.5,
        is_speed: false,
    },
];

/// All controls that either side has.
pub(super) fn controls(a: &[&Run], b: &[&Run]) -> Vec<Control> {
    let control = |watched: &Watched| {
        let side = |runs: &[&Run]| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| (watched.of)(run)).collect();
            mean(&values?)
        };
        let (a, b) = (side(a), side(b));
        a.or(b)?;
        let moved = a.zip(b).is_some_and(|(a, b)| {
            let scale = if watched.is_speed { a } else { 1.0 };
            (b - a).abs() > watched.limit * scale
        });
        Some(Control { control: watched.name.to_owned(), a, b, limit: watched.limit, moved })
    };
    WATCHED.iter().filter_map(control).collect()
}

fn counter(run: &Run, name: &str) -> Option<f64> {
    let servers = run.result.storage.servers.iter();
    let found = servers.filter_map(|server| server.host_counter(name)?.avg);
    mean(&found.collect::<Vec<_>>())
}

fn rule(run: &Run, id: &str) -> Option<f64> {
    // Nobody is late in a virtual world.
    let rules = run.result.rules.iter().filter(|rule| rule.id == id);
    let real = run.result.world == crate::result::World::Real;
    rules.filter_map(|rule| rule.measured).reduce(f64::max).filter(|_| real)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Control {
    /// In words: `stolen time 0.10 and 4.20`.
    pub fn in_words(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), crate::decimals);
        format!("{}: {} and {}", self.control, shown(self.a), shown(self.b))
    }
}
