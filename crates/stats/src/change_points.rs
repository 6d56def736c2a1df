//! Where a series of runs changes: E-divisive means.
//!
//! ```text
//!   1.02 1.00 0.99 1.01 | 1.09 1.08 1.10 | 1.01 1.00
//!                       ^ energy between the left and the right part is largest here, and larger than in 95 of 100 shuffles
//! ```
//!
//! A part is divided where the energy distance between both sides is largest, then the parts in
//! turn, until shuffling the values of every part gives as large a distance too often. Several
//! figures of the same runs are looked at together: a place counts by the figure that changes most
//! there, in units of its own scatter, and a shuffle moves whole runs. So a change that shows in
//! one of them is found as if there were no others, and figures that move together cost nothing.
//!
//! Source: Matteson and James, A nonparametric approach for multiple change point analysis of
//! multivariate data, JASA 109 (2014), with exponent 1. The alternative, PELT, needs a penalty;
//! this needs a level of significance.

/// Runs in the shortest part.
const PART_MIN: usize = 3;
/// Energies of the same two parts, added up in another order, are this close.
const ALIKE: f64 = 1.0 - 1e-9;
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

/// The change points of runs, in their order, each with a `chance` of at most `level`. `figures`
/// has a series for each figure, all of them as long. `below` draws a whole number below its
/// argument. Fewer than [`fewest`] runs have none.
pub fn change_points(
    figures: &[Vec<f64>],
    level: f64,
    below: &mut dyn FnMut(u64) -> u64,
) -> Vec<ChangePoint> {
    let count = figures.first().map_or(0, Vec::len);
    let scaled: Vec<Vec<f64>> = figures.iter().map(|values| scaled(values)).collect();
    let order: Vec<usize> = (0..count).collect();
    let mut parts = vec![0, count];
    let mut found = Vec::new();
    while let Some((at, energy)) = best(&scaled, &order, &parts) {
        let mut reached = 0;
        for _ in 0..SHUFFLES {
            let shuffled = shuffled(&order, &parts, below);
            let other = best(&scaled, &shuffled, &parts).map_or(0.0, |(_, energy)| energy);
            reached += u32::from(other >= energy * ALIKE);
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

/// The fewest runs in which a change can be found at `level`: in fewer, even the clearest change is
/// what chance makes of equal runs more often than that, because there are too few ways to divide
/// them.
pub fn fewest(level: f64) -> usize {
    // Two of all ways to choose half of the runs divide them as they are, or the other way round.
    let chance = |count: &usize| {
        let half = count.div_euclid(2);
        let ways = (0..half).map(|at| (count - at) as f64 / (half - at) as f64);
        2.0 / ways.product::<f64>()
    };
    (2 * PART_MIN..).find(|count| chance(count) <= level).unwrap_or(usize::MAX)
}

fn sorted(mut found: Vec<ChangePoint>) -> Vec<ChangePoint> {
    found.sort_by_key(|change| change.at);
    found
}

/// A scatter below this is none: a tenth of a percent of a logarithm.
const SCATTER_MIN: f64 = 1e-3;

/// The values in units of their scatter: the lower quartile of the distances of all pairs, most of
/// which are on one side of a change. The order of the values plays no part in it.
fn scaled(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate();
    let pairs =
        pairs.flat_map(|(at, one)| values[..at].iter().map(move |other| (one - other).abs()));
    let mut distances: Vec<f64> = pairs.collect();
    distances.sort_by(f64::total_cmp);
    let quartile = distances.get(distances.len().div_euclid(4));
    let scatter = quartile.map_or(SCATTER_MIN, |quartile| quartile.max(SCATTER_MIN));
    values.iter().map(|value| value / scatter).collect()
}

/// The runs, shuffled within each part.
fn shuffled(order: &[usize], parts: &[usize], below: &mut dyn FnMut(u64) -> u64) -> Vec<usize> {
    let mut all = order.to_vec();
    for ends in parts.windows(2) {
        let part = &mut all[ends[0]..ends[1]];
        for last in (1..part.len()).rev() {
            let other = usize::try_from(below(last as u64 + 1)).expect("within the series");
            part.swap(last, other);
        }
    }
    all
}

/// The best place of any figure in any part, and its energy.
fn best(figures: &[Vec<f64>], order: &[usize], parts: &[usize]) -> Option<(usize, f64)> {
    let divided = parts.windows(2).flat_map(|ends| {
        figures.iter().filter_map(|values| {
            let part = order[ends[0]..ends[1]].iter().map(|run| values[*run]);
            let (at, energy) = divide(&part.collect::<Vec<_>>())?;
            Some((ends[0] + at, energy))
        })
    });
    divided.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Where `part` is best divided: the values up to a place, against those from there to any later
/// place.
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
        let levels = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        levels.map(|level| level + scatter * normal()).collect()
    }

    fn places(values: &[f64], seed: u64) -> Vec<usize> {
        let mut stream = Streams::new(seed).named("shuffles");
        let found = change_points(&[values.to_vec()], 0.05, &mut |bound| stream.below(bound));
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
    fn one_figure_of_many_is_enough_and_many_do_not_find_more_by_chance() {
        let figures = |seed: u64, changes: bool| -> Vec<Vec<f64>> {
            let figure = |at: u64| match changes && at == 3 {
                true => steps(seed, &[(5, 1.0), (3, 1.5)], 0.01),
                false => steps(100 * seed + at, &[(8, 1.0)], 0.05),
            };
            (0..10).map(figure).collect()
        };
        let found = |seed: u64, changes| {
            let mut stream = Streams::new(seed).named("shuffles");
            let found =
                change_points(&figures(seed, changes), 0.05, &mut |bound| stream.below(bound));
            found.iter().map(|change| change.at).collect::<Vec<_>>()
        };
        assert_eq!(found(1, true), [5]);
        let changed = (0..100).filter(|seed| !found(*seed, false).is_empty());
        let count = changed.count();
        assert!(count <= 8, "{count} of 100");
    }

    #[test]
    fn six_runs_never_tell_and_eight_can() {
        assert_eq!([0.2, 0.1, 0.05, 0.005].map(fewest), [6, 6, 8, 11]);
        let clear = |before, after| {
            let values = steps(3, &[(before, 1.0), (after, 9.0)], 0.001);
            places(&values, 1)
        };
        assert!(clear(3, 3).is_empty() && clear(4, 3).is_empty());
        assert_eq!((clear(4, 4), clear(5, 3), clear(3, 5)), (vec![4], vec![5], vec![3]));
    }

    #[test]
    fn short_and_constant_series_have_no_change() {
        assert!(places(&[1.0, 2.0, 3.0, 4.0, 5.0], 1).is_empty());
        assert!(places(&[1.0; 40], 1).is_empty());
        assert!(places(&[], 1).is_empty());
    }
}
