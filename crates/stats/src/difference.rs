//! Two sides of runs, several figures: how far apart they are, and how well that is known.
//!
//! ```text
//!   pair 1   A1  B1  ->  ln B1/A1     one pair:   what varied within both runs, from blocks
//!   pair 2   B2  A2  ->  ln B2/A2     more pairs: what varied from pair to pair, and at least what varied within
//!   pair 3   A3  B3  ->  ln B3/A3
//! ```
//!
//! Several figures are looked at together, so one of them would differ by chance more often than
//! one alone. The bound is therefore that of the largest of all of them: in replicates whose blocks
//! are common to all figures, the largest deviation stays below it in 95 of 100 (Romano and Wolf,
//! Exact and approximate stepdown methods for multiple hypothesis testing, JASA 100, 2005; its
//! first step). Figures that move together cost less that way than with Bonferroni's or Holm's
//! bounds.
//!
//! More pairs are judged as in a meta-analysis by Hartung and Knapp (Statistics in Medicine 20,
//! 2001), with their interval never narrower than one that knows only the runs themselves (Röver,
//! Knapp and Friede, BMC Medical Research Methodology 15, 2015).

use crate::autocorrelation::Memory;
use crate::moving_blocks::{Track, replicates};
use crate::quantile::{share_beyond, student_bound};

/// Replicates of a bootstrap.
const REPLICATES: usize = 2_000;
/// How often all intervals together hold the true values.
pub const CONFIDENCE: f64 = 0.95;
/// How often a difference is found that is as large as [`Difference::found_from`].
pub const POWER: f64 = 0.8;
/// The deviation that a normal distribution stays below in [`POWER`] of cases.
const POWER_DEVIATIONS: f64 = 0.8416;

/// The figures of two runs that are compared, in equal order; `None` where a run has no such
/// figure.
#[derive(Clone, Debug)]
pub struct Pair {
    /// One side.
    pub a: Vec<Option<Track>>,
    /// The other.
    pub b: Vec<Option<Track>>,
}

/// How far two sides are apart in one figure, as logarithms of the ratio B / A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The logarithm of the ratio.
    pub log: f64,
    /// Its standard error.
    pub error: f64,
    /// Half the width of its interval: all intervals together hold the truth in 95 of 100
    /// comparisons.
    pub half: f64,
    /// The bound that `half` would tend to with ever longer runs or more pairs, in standard errors.
    pub bound: f64,
    /// Samples in a block, the longest of all runs.
    pub block: usize,
}

impl Difference {
    /// The smallest difference that this comparison finds in four of five cases.
    pub fn found_from(&self) -> f64 {
        self.half + POWER_DEVIATIONS * self.error
    }

    /// How many times as long the runs of a single pair must be to find `difference` in four of
    /// five cases.
    pub fn times_as_long(&self, difference: f64) -> f64 {
        ((self.bound + POWER_DEVIATIONS) * self.error / difference).powi(2)
    }

    /// How many pairs it takes to find `difference` in four of five cases, when they are like the
    /// `pairs` that there were; at most `most`.
    pub fn pairs_needed(&self, difference: f64, pairs: usize, most: usize) -> Option<usize> {
        let apart = self.error * (pairs as f64).sqrt();
        let share = share_beyond(self.bound);
        let finds = |count: &usize| {
            let bound = student_bound(share, *count as f64 - 1.0);
            (bound + POWER_DEVIATIONS) * apart / (*count as f64).sqrt() <= difference
        };
        (2..=most).find(finds)
    }
}

/// The differences in each figure; `None` where a run has no such figure. `below` draws a whole
/// number below its argument.
pub fn differences(pairs: &[Pair], below: &mut dyn FnMut(u64) -> u64) -> Vec<Option<Difference>> {
    let figures = pairs.first().map_or(0, |pair| pair.a.len());
    let known: Vec<usize> = (0..figures)
        .filter(|at| pairs.iter().all(|pair| pair.a[*at].is_some() && pair.b[*at].is_some()))
        .collect();
    let share_of_pair = 1.0 / pairs.len() as f64;
    let both = || pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
    let within = |at: &usize| {
        let runs: Vec<Weighted<'_>> = both().map(|run| (run.as_slice(), share_of_pair)).collect();
        Within::of(&runs, *at, below)
    };
    let within: Vec<Within> = known.iter().map(within).collect();
    let a = pairs.iter().map(|pair| (pair.a.as_slice(), -1.0));
    let b = pairs.iter().map(|pair| (pair.b.as_slice(), 1.0));
    let bound = bound_of_all(&a.chain(b).collect::<Vec<_>>(), &known, below);
    let share = share_beyond(bound);
    let mut all = vec![None; figures];
    for (at, within) in known.iter().zip(within) {
        let logs = pairs
            .iter()
            .filter_map(|pair| Some(pair.b[*at].as_ref()?.log - pair.a[*at].as_ref()?.log));
        let logs: Vec<f64> = logs.collect();
        let (error, freedom) = match logs.len() {
            1 => (within.error, within.freedom),
            count => (within.error.max(error_of_mean(&logs)), count as f64 - 1.0),
        };
        all[*at] = Some(Difference {
            log: logs.iter().sum::<f64>() / logs.len() as f64,
            error,
            half: student_bound(share, freedom) * error,
            bound,
            block: within.block,
        });
    }
    all
}

/// A run, and what its figures weigh in a difference.
type Weighted<'t> = (&'t [Option<Track>], f64);

/// How far the run `newest` is from those `before` it, which are two at least, in each figure;
/// `None` where a run has no such figure.
///
/// The error is that of one more run like those before, and at least what varied within all of
/// them.
pub fn departures(
    before: &[Vec<Option<Track>>],
    newest: &[Option<Track>],
    below: &mut dyn FnMut(u64) -> u64,
) -> Vec<Option<Difference>> {
    let has = |at: &usize| newest[*at].is_some() && before.iter().all(|run| run[*at].is_some());
    let known: Vec<usize> = (0..newest.len()).filter(has).collect();
    let share_of_run = -1.0 / before.len() as f64;
    let runs = before.iter().map(|run| (run.as_slice(), share_of_run));
    let runs: Vec<Weighted<'_>> = runs.chain([(newest, 1.0)]).collect();
    let bound = bound_of_all(&runs, &known, below);
    let mut all = vec![None; newest.len()];
    for at in known {
        let within = Within::of(&runs, at, below);
        let log = |run: &[Option<Track>]| run[at].as_ref().map_or(f64::NAN, |track| track.log);
        let logs: Vec<f64> = before.iter().map(|run| log(run)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let error = within.error.max(error_of_next(&logs));
        all[at] = Some(Difference {
            log: log(newest) - mean,
            error,
            half: student_bound(share_beyond(bound), logs.len() as f64 - 1.0) * error,
            bound,
            block: within.block,
        });
    }
    all
}

/// Whether `next` is further from the mean of `values`, two at least, than one more of them would
/// be in this `share` of cases.
pub fn is_apart(values: &[f64], next: f64, share: f64) -> bool {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let bound = student_bound(share, values.len() as f64 - 1.0);
    (next - mean).abs() > bound * error_of_next(values)
}

/// How far one more value is from the mean of `values`.
fn error_of_next(values: &[f64]) -> f64 {
    error_of_mean(values) * (values.len() as f64 + 1.0).sqrt()
}

fn error_of_mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// What varies within all runs, in one figure.
struct Within {
    /// Standard error of the difference.
    error: f64,
    /// Degrees of freedom: blocks of all runs.
    freedom: f64,
    block: usize,
}

impl Within {
    fn of(runs: &[Weighted<'_>], at: usize, below: &mut dyn FnMut(u64) -> u64) -> Self {
        let (mut variance, mut freedom, mut longest) = (0.0, 0.0_f64, 1);
        let tracks = runs.iter().filter_map(|(run, weight)| Some((run[at].as_ref()?, weight)));
        for (track, weight) in tracks {
            let memory = Memory::of(track);
            let (length, block) = (track.influence.len() as f64, memory.block);
            let drawn = replicates(&[track], block, REPLICATES, below);
            let blocks = variance_of(drawn.iter().map(|one| one[0]));
            // Blocks scatter around their own mean, which takes one of them.
            let lost = length / (length - block as f64).max(1.0);
            variance += weight.powi(2) * lost * blocks.max(memory.variance_of_mean);
            freedom += length / block as f64 - 1.0;
            longest = longest.max(block);
        }
        Self { error: variance.sqrt(), freedom: freedom.max(1.0), block: longest }
    }
}

fn variance_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / count
}

/// The bound that the largest deviation of all figures stays below, in standard errors.
fn bound_of_all(runs: &[Weighted<'_>], known: &[usize], below: &mut dyn FnMut(u64) -> u64) -> f64 {
    let mut together = vec![vec![0.0; known.len()]; REPLICATES];
    for (run, weight) in runs {
        let tracks: Vec<&Track> = known.iter().filter_map(|at| run[*at].as_ref()).collect();
        let mut blocks: Vec<usize> = tracks.iter().map(|t| Memory::of(t).block).collect();
        blocks.sort_unstable();
        let middle = blocks.get(blocks.len().div_euclid(2)).copied().unwrap_or(1);
        let drawn = replicates(&tracks, middle, REPLICATES, below);
        for (sum, drawn) in together.iter_mut().zip(drawn) {
            let both = sum.iter_mut().zip(drawn);
            both.for_each(|(sum, one)| *sum += weight * one);
        }
    }
    let column = |at: usize| together.iter().map(move |one| one[at]);
    let scales: Vec<(f64, f64)> = (0..known.len())
        .map(|at| {
            let mean = column(at).sum::<f64>() / REPLICATES as f64;
            (mean, variance_of(column(at)).sqrt())
        })
        .collect();
    let largest = |one: &Vec<f64>| {
        let deviations = one.iter().zip(&scales);
        let deviations = deviations.map(|(value, (mean, scale))| (value - mean).abs() / scale);
        deviations.filter(|size| size.is_finite()).fold(0.0, f64::max)
    };
    let mut largest: Vec<f64> = together.iter().map(largest).collect();
    largest.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position in a list"
    )]
    let at = (CONFIDENCE * REPLICATES as f64).ceil() as usize;
    // A single figure has the normal bound, and no figures together have a lower one.
    largest[at - 1].max(student_bound(1.0 - CONFIDENCE, f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;
    use crate::autocorrelation::tests::{series, track};

    const FIGURES: u64 = 7;

    /// The figures of a run that are half alike, each like its samples before by `like`; the first
    /// is `times` as high.
    fn run(seed: u64, samples: usize, like: f64, times: f64) -> Vec<Option<Track>> {
        let common = series(10_000 + seed, samples, like, 4.0);
        let figure = |at: u64| {
            let own = series(seed * FIGURES + at, samples, like, 4.0);
            let times = if at == 0 { times } else { 1.0 };
            let both = own.iter().zip(&common);
            let both: Vec<f64> = both.map(|(own, common)| times * (own + common)).collect();
            Some(track(&both))
        };
        (0..FIGURES).map(figure).collect()
    }

    fn compared(seeds: &[[u64; 2]], samples: usize, like: f64, times: f64) -> Vec<Difference> {
        let pairs = seeds.iter().map(|[a, b]| Pair {
            a: run(*a, samples, like, 1.0),
            b: run(*b, samples, like, times),
        });
        let mut stream = Streams::new(seeds[0][0]).named("compare");
        let found = differences(&pairs.collect::<Vec<_>>(), &mut |bound| stream.below(bound));
        found.into_iter().flatten().collect()
    }

    fn differs(difference: &Difference) -> bool {
        difference.log.abs() > difference.half
    }

    /// The seeds are fixed, so the counts are, too. docs/compare.md has the large table.
    #[test]
    fn equal_sides_seldom_differ_in_any_figure() {
        for (samples, like, most) in [(40, 0.0, 5), (40, 0.4, 10), (240, 0.6, 8)] {
            let false_ones = (0..100).filter(|turn| {
                let found = compared(&[[2 * turn, 2 * turn + 1]], samples, like, 1.0);
                assert_eq!(found.len(), 7);
                found.iter().any(differs)
            });
            let count = false_ones.count();
            assert!(count <= most, "{samples}, {like}: {count} of 100");
        }
    }

    #[test]
    fn a_difference_is_found_as_often_as_promised() {
        let plain = compared(&[[1, 2]], 240, 0.4, 1.0)[0];
        let times = plain.found_from().exp();
        let found = (0..100).filter(|turn| {
            let found = compared(&[[2 * turn, 2 * turn + 1]], 240, 0.4, times);
            differs(&found[0]) && found[0].log > 0.0
        });
        let count = found.count();
        assert!((70..=92).contains(&count), "{count} of 100");
        let longer = plain.times_as_long(plain.found_from() / 2.0);
        assert!((3.0..4.5).contains(&longer), "{longer}");
    }

    #[test]
    fn pairs_that_disagree_widen_the_interval() {
        let one = compared(&[[1, 2]], 120, 0.2, 1.0)[0];
        let three = compared(&[[1, 2], [3, 4], [5, 6]], 120, 0.2, 1.0)[0];
        assert!(three.half > one.half, "three pairs have two degrees of freedom");
        let many: Vec<[u64; 2]> = (0..12).map(|at| [2 * at, 2 * at + 1]).collect();
        let many = compared(&many, 120, 0.2, 1.0)[0];
        assert!(many.half < one.half, "{} {}", many.half, one.half);
        let mut pairs: Vec<Pair> = (0..3)
            .map(|at| Pair {
                a: run(2 * at, 60, 0.0, 1.0),
                b: run(2 * at + 1, 60, 0.0, 1.0 + at as f64 * 0.2),
            })
            .collect();
        let mut stream = Streams::new(1).named("compare");
        let apart = differences(&pairs, &mut |bound| stream.below(bound));
        let apart = apart[0].unwrap();
        assert!(apart.error > 0.05 && !differs(&apart), "{apart:?}");
        let needed = apart.pairs_needed(0.03, 3, 10_000).unwrap();
        assert!(needed > 20, "{needed}");
        assert_eq!(apart.pairs_needed(0.03, 3, 20), None);
        pairs[1].a[3] = None;
        assert_eq!(differences(&pairs, &mut |_| 0)[3], None);
        assert!(differences(&[], &mut |_| 0).is_empty());
    }

    /// The tracks of eight runs and of a newest one, whose first figure is `times` as high.
    fn newest(seed: u64, times: f64) -> (Vec<Difference>, Vec<f64>) {
        let before: Vec<_> = (0..8).map(|at| run(20 * seed + at, 60, 0.2, 1.0)).collect();
        let newest = run(20 * seed + 9, 60, 0.2, times);
        let logs = before.iter().map(|run| run[0].as_ref().unwrap().log);
        let logs = logs.chain([newest[0].as_ref().unwrap().log]).collect();
        let mut stream = Streams::new(seed).named("compare");
        let found = departures(&before, &newest, &mut |bound| stream.below(bound));
        (found.into_iter().flatten().collect(), logs)
    }

    #[test]
    fn one_more_run_like_those_before_seldom_departs_and_another_does() {
        let false_ones = (0..40).filter(|seed| newest(*seed, 1.0).0.iter().any(differs));
        let count = false_ones.count();
        assert!(count <= 4, "{count} of 40");
        let (found, logs) = newest(1, 3.0);
        assert_eq!(found.len(), 7);
        assert!(differs(&found[0]) && found[0].log > 1.0, "{:?}", found[0]);
        assert!(is_apart(&logs[..8], logs[8], 0.005));
        assert!(!is_apart(&logs[..7], logs[7], 0.005));
    }

    #[test]
    fn equal_figures_do_not_differ() {
        let constant = || vec![Some(track(&[5.0; 30]))];
        let pair = Pair { a: constant(), b: constant() };
        let found = differences(&[pair], &mut |_| 0)[0].unwrap();
        assert_eq!((found.log, found.half), (0.0, 0.0));
    }
}
