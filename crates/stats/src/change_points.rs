//! Where a series of runs changes: E-divisive means.
//!
//! ```text
//!   1.02 1.00 0.99 1.01 | 1.09 1.08 1.10 | 1.01 1.00
//!                       ^ energy between the left and the right part is largest here, and larger than in 95 of 100 shuffles
//! ```
//!
//! A part is divided where the energy distance between both sides is largest, then the parts in turn, until shuffling the values of
//! every part gives as large a distance too often.
//!
//! Source: Matteson and James, A nonparametric approach for multiple change point analysis of multivariate data, JASA 109 (2014), with
//! exponent 1. The alternative, PELT, needs a penalty; this needs a level of significance.

/// Runs in the shortest part.
const PART_MIN: usize = 3;
/// Shuffles of a test.
const SHUFFLES: u32 = 999;

/// A place where a series changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first value after the change.
    pub at: usize,
    /// How often chance alone finds such a place: the share of shuffles that did.
    pub chance: f64,
}

/// The change points of `values`, in their order, each with a `chance` of at most `level`. `below` draws a whole number below its
/// argument. A series of fewer than six values has none.
pub fn change_points(
    values: &[f64],
    level: f64,
    below: &mut dyn FnMut(u64) -> u64,
) -> Vec<ChangePoint> {
    let mut parts = vec![0, values.len()];
    let mut found = Vec::new();
    while let Some((at, energy)) = best(values, &parts) {
        let mut reached = 0;
        for _ in 0..SHUFFLES {
            let shuffled = shuffled(values, &parts, below);
            let other = best(&shuffled, &parts).map_or(0.0, |(_, energy)| energy);
            reached += u32::from(other >= energy);
            // It can no longer come below the level.
            if f64::from(reached + 1) > level * f64::from(SHUFFLES + 1) {
                return sorted(found);
            }
        }
        let chance = f64::from(reached + 1) / f64::from(SHUFFLES + 1);
        found.push(ChangePoint { at, chance });
        parts.push(at);
        parts.sort_unstable();
    }
    sorted(found)
}

fn sorted(mut found: Vec<ChangePoint>) -> Vec<ChangePoint> {
    found.sort_by_key(|change| change.at);
    found
}

/// The values, shuffled within each part.
fn shuffled(values: &[f64], parts: &[usize], below: &mut dyn FnMut(u64) -> u64) -> Vec<f64> {
    let mut all = values.to_vec();
    for ends in parts.windows(2) {
        let part = &mut all[ends[0]..ends[1]];
        for last in (1..part.len()).rev() {
            let other = usize::try_from(below(last as u64 + 1)).expect("within the series");
            part.swap(last, other);
        }
    }
    all
}

/// The best place in any part, and its energy.
fn best(values: &[f64], parts: &[usize]) -> Option<(usize, f64)> {
    let divided = parts.windows(2).filter_map(|ends| {
        let (at, energy) = divide(&values[ends[0]..ends[1]])?;
        Some((ends[0] + at, energy))
    });
    divided.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Where `part` is best divided: the values up to a place, against those from there to any later place.
fn divide(part: &[f64]) -> Option<(usize, f64)> {
    let count = part.len();
    if count < 2 * PART_MIN {
        return None;
    }
    // Sums of the distances between all pairs of the first values: sums[i][j] over x < i and y < j.
    let mut sums = vec![vec![0.0; count + 1]; count + 1];
    for (x, one) in part.iter().enumerate() {
        let mut row = 0.0;
        for (y, other) in part.iter().enumerate() {
            row += (one - other).abs();
            sums[x + 1][y + 1] = sums[x][y + 1] + row;
        }
    }
    let mut best = (0, f64::NEG_INFINITY);
    for at in PART_MIN..=count - PART_MIN {
        for end in at + PART_MIN..=count {
            let (left, right) = (at as f64, (end - at) as f64);
            let between = sums[at][end] - sums[at][at];
            let of_left = sums[at][at] / 2.0;
            let of_right = (sums[end][end] - 2.0 * sums[at][end] + sums[at][at]) / 2.0;
            let distance = 2.0 * between / (left * right)
                - 2.0 * of_left / (left * (left - 1.0))
                - 2.0 * of_right / (right * (right - 1.0));
            let energy = left * right / (left + right) * distance;
            if energy > best.1 {
                best = (at, energy);
            }
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    fn steps(seed: u64, levels: &[(usize, f64)], scatter: f64) -> Vec<f64> {
        let mut draw = Streams::new(seed).named("runs");
        let mut normal = move || (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
        let levels = levels
            .iter()
            .flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        levels.map(|level| level + scatter * normal()).collect()
    }

    fn places(values: &[f64], seed: u64) -> Vec<usize> {
        let mut stream = Streams::new(seed).named("shuffles");
        let found = change_points(values, 0.05, &mut |bound| stream.below(bound));
        found.iter().map(|change| change.at).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let values = steps(1, &[(20, 1.0), (15, 1.05), (10, 1.0)], 0.005);
        assert_eq!(places(&values, 1), [20, 35]);
        let values = steps(2, &[(4, 1.0), (4, 2.0)], 0.01);
        assert_eq!(places(&values, 1), [4]);
    }

    #[test]
    fn a_steady_series_seldom_changes() {
        let changed = (0..100).filter(|seed| {
            let values = steps(*seed, &[(24, 1.0)], 0.02);
            !places(&values, *seed).is_empty()
        });
        let count = changed.count();
        assert!(count <= 8, "{count} of 100");
    }

    #[test]
    fn short_and_constant_series_have_no_change() {
        assert!(places(&[1.0, 2.0, 3.0, 4.0, 5.0], 1).is_empty());
        assert!(places(&[1.0; 40], 1).is_empty());
        assert!(places(&[], 1).is_empty());
    }
}
