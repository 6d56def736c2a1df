//! How well an estimated figure is known.

use serde::{Deserialize, Serialize};

use crate::decimals;

/// Where the true value of an estimated figure lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often such an interval holds the true value, as a share: 0.95.
    pub confidence: f64,
}

impl Interval {
    /// The interval around `figure` that is as wide as that of `estimate`; no figure is below zero.
    pub fn around(figure: f64, estimate: brunt_stats::Interval) -> Self {
        Self {
            low: (figure - estimate.half).max(0.0),
            high: figure + estimate.half,
            confidence: 0.95,
        }
    }

    /// What stands behind `figure`: `± 3.10`.
    pub fn about(self, figure: f64) -> String {
        format!("± {}", decimals(self.high - figure))
    }
}

impl From<brunt_stats::Interval> for Interval {
    fn from(estimate: brunt_stats::Interval) -> Self {
        Self::around(estimate.mean, estimate)
    }
}
