//! The figures that published tests print and simulations predict.

use serde::Deserialize;

/// The figures of one row; `None` where a paper prints nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Figures {
    /// Database reads and writes per second.
    pub(crate) io_per_s: Option<f64>,
    /// Database reads per second.
    pub(crate) reads_per_s: Option<f64>,
    /// Database writes per second.
    pub(crate) writes_per_s: Option<f64>,
    /// Mean latency of database reads.
    pub(crate) read_ms: Option<f64>,
    /// Mean latency of database writes.
    pub(crate) write_ms: Option<f64>,
    /// Log writes per second.
    pub(crate) log_writes_per_s: Option<f64>,
    /// Mean latency of log writes.
    pub(crate) log_write_ms: Option<f64>,
    /// Mean size of log writes.
    pub(crate) log_write_bytes: Option<f64>,
    /// MiB per second of the checksum after the test, over all databases.
    pub(crate) checksum_mib_per_s: Option<f64>,
    /// Seconds to replay a log file, mean over the instances.
    pub(crate) recovery_s_per_log: Option<f64>,
    /// Database reads per second while logs are replayed.
    pub(crate) recovery_reads_per_s: Option<f64>,
}

/// A figure: its name, the goal for its prediction, and its field.
pub(crate) struct Figure {
    /// Name in tables.
    pub(crate) name: &'static str,
    /// The relative error that a good prediction stays below.
    pub(crate) goal: f64,
    /// An absolute error, in the figure's own unit, that is always good enough.
    pub(crate) goal_absolute: f64,
    pub(crate) of: fn(&Figures) -> Option<f64>,
    /// What it is called among the figures with intervals; empty for one without.
    pub(crate) interval: &'static str,
}

const fn figure(name: &'static str, goal: f64, of: fn(&Figures) -> Option<f64>) -> Figure {
    Figure { name, goal, goal_absolute: 0.0, of, interval: "" }
}

const fn precise(
    name: &'static str,
    interval: &'static str,
    goal: f64,
    of: fn(&Figures) -> Option<f64>,
) -> Figure {
    Figure { interval, ..figure(name, goal, of) }
}

/// Every figure, in table order. Goals are the project's own, for systems used in the fit.
pub(crate) const FIGURES: [Figure; 11] = [
    precise("database I/O per second", "database I/O", 0.05, |f| f.io_per_s),
    precise("database reads per second", "database reads", 0.08, |f| f.reads_per_s),
    precise("database writes per second", "database writes", 0.08, |f| f.writes_per_s),
    precise("database read, ms", "database read", 0.10, |f| f.read_ms),
    precise("database write, ms", "database write", 0.15, |f| f.write_ms),
    precise("log writes per second", "log writes", 0.12, |f| f.log_writes_per_s),
    Figure {
        goal_absolute: 0.3,
        ..precise("log write, ms", "log write", 0.15, |f| f.log_write_ms)
    },
    figure("bytes in a log write", 0.10, |f| f.log_write_bytes),
    figure("checksum, MiB per second", 0.15, |f| f.checksum_mib_per_s),
    figure("recovery, seconds for a log", 0.15, |f| f.recovery_s_per_log),
    figure("recovery, database reads per second", 0.15, |f| f.recovery_reads_per_s),
];

/// This many of the first figures are fitted on.
const FITTED: usize = 8;

impl Figure {
    /// The relative error of `predicted`; `None` if either figure is missing.
    pub(crate) fn error(&self, published: &Figures, predicted: &Figures) -> Option<f64> {
        let (published, predicted) = ((self.of)(published)?, (self.of)(predicted)?);
        Some(predicted / published - 1.0)
    }

    /// The error in units of the goal: below one is good.
    pub(crate) fn badness(&self, published: &Figures, predicted: &Figures) -> Option<f64> {
        let error = self.error(published, predicted)?;
        let least = self.goal_absolute / (self.of)(published)?;
        let badness = error.abs() / self.goal.max(least);
        Some(if badness.is_finite() { badness } else { 100.0 })
    }
}

/// The mean square of all figures' errors in units of their goals, which a fit minimises. A missing
/// prediction counts as ten times its goal.
pub(crate) fn cost(published: &Figures, predicted: &Figures) -> f64 {
    // Checksums are left out of the fit: they take too long.
    let known = FIGURES[..FITTED].iter().filter(|figure| (figure.of)(published).is_some());
    let squares: Vec<f64> =
        known.map(|figure| figure.badness(published, predicted).unwrap_or(10.0).powi(2)).collect();
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(io: f64, log: f64) -> Figures {
        Figures { io_per_s: Some(io), log_write_ms: Some(log), ..Figures::default() }
    }

    #[test]
    fn errors_are_shares_and_goals_may_be_absolute() {
        let (published, predicted) = (figures(200.0, 1.0), figures(210.0, 1.3));
        let [io, log] = [0, 6].map(|at| FIGURES[at].badness(&published, &predicted).unwrap());
        assert!((io - 1.0).abs() < 1e-9, "five per cent is the goal: {io}");
        assert!((log - 1.0).abs() < 1e-9, "and so is 0.3 ms: {log}");
        assert!((cost(&published, &predicted) - 1.0).abs() < 1e-9);
        assert_eq!(FIGURES[1].error(&published, &predicted), None);
        assert!(cost(&published, &Figures::default()) > 99.0);
    }
}
