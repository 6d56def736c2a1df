//! How long a series remembers: the length of blocks for a bootstrap, and the variance of its mean.
//!
//! ```text
//!   correlation of samples k apart
//!   1 |#
//!     |# #                          m: the first of five lags in a row whose correlation is small
//!     |# # # . . . . . . . . .      weights: 1 up to m, falling to 0 at 2 m
//!       0 1 m       2m
//! ```
//!
//! The block is that of Politis and White for moving blocks, but never shorter than 2 ∛n. Their
//! rule sees only correlations above 2 √(log₁₀ n / n), and misses those that a short series cannot
//! show; docs/compare.md says what this floor costs and gains.

use crate::Track;

/// Blocks are at least this times ∛n long.
const FLOOR: f64 = 2.0;
/// A series has at least this many blocks.
const BLOCKS_MIN: f64 = 2.5;

/// How long a series remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Samples in a block, at least one.
    pub block: usize,
    /// The same by the rule of Politis and White alone.
    pub rule: f64,
    /// Variance of the mean of the series, from its weighted correlations.
    pub variance_of_mean: f64,
}

impl Memory {
    /// That of `track`.
    ///
    /// Source: Politis and White, Automatic block-length selection for the dependent bootstrap,
    /// Econometric Reviews 23 (2004), with the correction of Patton, Politis and White, Econometric
    /// Reviews 28 (2009): b = ∛(2 G² n / D), D = 4/3 g(0)², G = Σ λ(k/2m) |k| R(k), g(0) = Σ
    /// λ(k/2m) R(k), which is also the variance of the mean times n.
    pub fn of(track: &Track) -> Self {
        let values = &track.influence;
        let count = values.len() as f64;
        let lags = lags_looked_at(values.len());
        let covariance = covariances(values, lags.last);
        if covariance[0] <= 0.0 {
            return Self { block: floored(1.0, values.len()), rule: 1.0, variance_of_mean: 0.0 };
        }
        let width = 2 * remembered(&covariance, values.len(), &lags);
        let width = width.min(lags.last);
        let (mut weighted, mut variance) = (0.0, covariance[0]);
        for (lag, covariance) in covariance.iter().enumerate().skip(1).take(width) {
            let share = lag as f64 / width as f64;
            let weight = (2.0 * (1.0 - share)).min(1.0);
            weighted += 2.0 * weight * lag as f64 * covariance;
            variance += 2.0 * weight * covariance;
        }
        // The weights allow for a negative variance; a series that alternates so strictly is not
        // known to.
        let variance = variance.max(0.05 * covariance[0]);
        let squares = 4.0 / 3.0 * variance * variance;
        let rule = (2.0 * weighted * weighted / squares * count).cbrt();
        let longest = (3.0 * count.sqrt()).min(count / 3.0).ceil().max(1.0);
        let rule = rule.clamp(1.0, longest);
        Self { block: floored(rule, values.len()), rule, variance_of_mean: variance / count }
    }
}

/// The block of `count` samples: as the rule says, not shorter than the floor, and not so long that
/// there are hardly any.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number below the length of a series"
)]
fn floored(rule: f64, count: usize) -> usize {
    let floor = FLOOR * (count as f64).cbrt();
    let most = (count as f64 / BLOCKS_MIN).max(1.0);
    rule.max(floor).min(most).ceil() as usize
}

/// Which correlations are looked at.
struct Lags {
    /// So many in a row must be small.
    in_a_row: usize,
    last: usize,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers"
)]
fn lags_looked_at(count: usize) -> Lags {
    let length = count as f64;
    let in_a_row = (length.log10().sqrt().ceil() as usize).max(5);
    let last = length.sqrt().ceil() as usize + in_a_row;
    Lags { in_a_row, last: last.min(count - 1) }
}

/// Covariances of samples 0 to `last` apart. The series has a mean of zero.
fn covariances(values: &[f64], last: usize) -> Vec<f64> {
    let apart = |lag: usize| {
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(one, other)| one * other).sum::<f64>() / values.len() as f64
    };
    (0..=last).map(apart).collect()
}

/// The first of the lags in a row whose correlations are small, at least 1; without such a row, the
/// last that is not.
fn remembered(covariance: &[f64], count: usize, lags: &Lags) -> usize {
    let length = count as f64;
    let small = 2.0 * (length.log10() / length).sqrt() * covariance[0];
    let is_small = |covariance: &f64| covariance.abs() < small;
    let rows = covariance[1..].windows(lags.in_a_row);
    let mut rows = rows.map(|row| row.iter().all(is_small));
    if let Some(first) = rows.position(|all_small| all_small) {
        return first + 1;
    }
    let large = covariance.iter().skip(1).rposition(|one| !is_small(one));
    large.map_or(1, |at| at + 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use brunt_world::random::Streams;

    use super::*;
    use crate::batch_means::Part;

    /// Samples around 100 with a deviation of `scatter`, each like the one before by `like`.
    pub(crate) fn series(seed: u64, count: usize, like: f64, scatter: f64) -> Vec<f64> {
        let mut draw = Streams::new(seed).named("series");
        let mut normal = move || (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
        let mut deviation = normal();
        let values = std::iter::repeat_with(|| {
            deviation = like * deviation + (1.0 - like * like).sqrt() * normal();
            100.0 + scatter * deviation
        });
        values.take(count).collect()
    }

    pub(crate) fn track(values: &[f64]) -> Track {
        let parts = values.iter().map(|sum| Part { sum: *sum, weight: 1.0 });
        Track::ratio(&parts.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_longer_memory_has_longer_blocks_and_a_wider_mean() {
        let memory = |like| Memory::of(&track(&series(3, 480, like, 5.0)));
        let (none, some, much) = (memory(0.0), memory(0.5), memory(0.9));
        assert!(none.rule < some.rule && some.rule < much.rule);
        assert_eq!(none.block, 16, "the floor: 2 x 480^(1/3)");
        assert!(much.block > 20, "{much:?}");
        // In theory (1 + r) / (1 - r) times the variance of independent samples, of 5 % each.
        for (memory, like) in [(none, 0.0), (some, 0.5), (much, 0.9)] {
            let theory = 0.05_f64.powi(2) / 480.0 * (1.0 + like) / (1.0 - like);
            let found = memory.variance_of_mean / theory;
            assert!((0.4..2.0).contains(&found), "{like}: {found}");
        }
    }

    #[test]
    fn short_constant_and_alternating_series_have_blocks() {
        for count in [2, 3, 10, 11, 40] {
            let memory = Memory::of(&track(&series(1, count, 0.5, 5.0)));
            let most = (count as f64 / 2.5).ceil();
            assert!((1.0..=most).contains(&(memory.block as f64)), "{memory:?}");
            assert!(memory.variance_of_mean > 0.0);
        }
        let constant = Memory::of(&track(&[7.0; 50]));
        assert_eq!((constant.rule, constant.variance_of_mean), (1.0, 0.0));
        let alternating: Vec<f64> = (0..60).map(|at| f64::from(90 + 20 * (at % 2))).collect();
        assert!(Memory::of(&track(&alternating)).variance_of_mean > 0.0);
    }
}
