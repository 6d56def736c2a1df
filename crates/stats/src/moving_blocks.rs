//! A moving-block bootstrap: how far a figure of a series may be off, when neighbouring samples are
//! alike.
//!
//! ```text
//!   samples     1 2 3 4 5 6 7 8 9        blocks of three that begin anywhere keep neighbours together
//!   replicate   4 5 6  2 3 4  7 8 9
//! ```
//!
//! Several figures of one run are resampled together, with the same blocks: figures that move
//! together do so in the replicates.
//!
//! Source: Künsch, The jackknife and the bootstrap for general stationary observations, Annals of
//! Statistics 17 (1989).

use crate::batch_means::Part;

/// A figure of a run over its samples: its logarithm, and what each sample adds to it. Ratios of
/// figures are differences of these.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The logarithm of the figure.
    pub log: f64,
    /// By how much each sample moves that logarithm, times the number of samples; the mean is zero.
    pub influence: Vec<f64>,
}

impl Track {
    /// A rate or a mean: the sum over all samples by their weight. `None` unless it is above zero
    /// and there are two samples.
    ///
    /// Source: the linear term of ln(Σ x / Σ w); Cochran, Sampling Techniques, section 2.11.
    pub fn ratio(samples: &[Part]) -> Option<Self> {
        let all = Part::of(samples);
        let ratio = all.ratio().filter(|ratio| *ratio > 0.0)?;
        let scale = samples.len() as f64 / all.sum;
        let influence = samples.iter().map(|one| (one.sum - ratio * one.weight) * scale);
        (samples.len() > 1).then(|| Self { log: ratio.ln(), influence: influence.collect() })
    }

    /// The geometric mean of the samples that have a value above zero. It suits percentiles: a
    /// single bad sample does not decide. `None` with fewer than two of them.
    pub fn geometric(samples: &[Option<f64>]) -> Option<Self> {
        let log = |value: &Option<f64>| value.filter(|value| *value > 0.0).map(f64::ln);
        let known: Vec<f64> = samples.iter().filter_map(log).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let scale = samples.len() as f64 / known.len() as f64;
        let influence = |value| log(value).map_or(0.0, |log| (log - mean) * scale);
        (known.len() > 1)
            .then(|| Self { log: mean, influence: samples.iter().map(influence).collect() })
    }
}

/// How far each of `tracks` is off in each replicate; `tracks` have equally many samples, and a
/// replicate as many. `below` draws a whole number below its argument.
///
/// # Panics
/// When tracks differ in length, or `block` is zero or longer than they are.
pub fn replicates(
    tracks: &[&Track],
    block: usize,
    count: usize,
    below: &mut dyn FnMut(u64) -> u64,
) -> Vec<Vec<f64>> {
    let Some(first) = tracks.first() else {
        return vec![Vec::new(); count];
    };
    let length = first.influence.len();
    assert!(tracks.iter().all(|track| track.influence.len() == length));
    assert!((1..=length).contains(&block), "a block of {block}");
    let sums: Vec<Vec<f64>> = tracks.iter().map(|track| sums(&track.influence)).collect();
    let places = (length - block + 1) as u64;
    let mut starts = Vec::new();
    let replicate = |_| {
        starts.clear();
        starts.extend((0..length.div_ceil(block)).map(|_| index(below(places))));
        let mean = |sums: &Vec<f64>| {
            let blocks = starts.iter().enumerate().map(|(at, start)| {
                // The last block is cut, so that a replicate is as long as the series.
                let taken = block.min(length - at * block);
                sums[start + taken] - sums[*start]
            });
            blocks.sum::<f64>() / length as f64
        };
        sums.iter().map(mean).collect()
    };
    (0..count).map(replicate).collect()
}

fn sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

fn index(drawn: u64) -> usize {
    usize::try_from(drawn).expect("below the length of a series")
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;
    use crate::autocorrelation::tests::{series, track};

    fn deviation(values: impl Iterator<Item = f64>) -> f64 {
        let values: Vec<f64> = values.collect();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        (squares / values.len() as f64).sqrt()
    }

    #[test]
    fn a_track_by_hand() {
        let part = |sum, weight| Part { sum, weight };
        // Ratio 10 / 4; the influence of the first: (4 - 2.5) x 2 / 10.
        let track = Track::ratio(&[part(4.0, 1.0), part(6.0, 3.0)]).unwrap();
        assert!((track.log - 2.5_f64.ln()).abs() < 1e-12);
        assert!((track.influence[0] - 0.3).abs() < 1e-12);
        assert!((track.influence[1] + 0.3).abs() < 1e-12);
        assert_eq!(Track::ratio(&[part(1.0, 1.0)]), None);
        assert_eq!(Track::ratio(&[part(0.0, 1.0); 3]), None);
        let track = Track::geometric(&[Some(1.0), None, Some(4.0), Some(0.0)]).unwrap();
        assert!((track.log - 2.0_f64.ln()).abs() < 1e-12);
        let wanted = [-2.0, 0.0, 2.0, 0.0].map(|two| two * 2.0_f64.ln());
        assert!(track.influence.iter().zip(wanted).all(|(one, other)| (one - other).abs() < 1e-12));
        assert_eq!(Track::geometric(&[Some(1.0), None]), None);
    }

    #[test]
    fn replicates_scatter_as_overlapping_blocks_do() {
        let values = track(&series(5, 240, 0.6, 5.0));
        let block = 12;
        let mut stream = Streams::new(1).named("blocks");
        let drawn = replicates(&[&values], block, 20_000, &mut |bound| stream.below(bound));
        // In the limit: the variance of the means of all blocks around their own mean, by the
        // number of blocks.
        let means = values.influence.windows(block);
        let means: Vec<f64> = means.map(|b| b.iter().sum::<f64>() / block as f64).collect();
        let middle = means.iter().sum::<f64>() / means.len() as f64;
        let theory = deviation(means.iter().map(|mean| mean - middle)) / 20.0_f64.sqrt();
        let found = deviation(drawn.iter().map(|one| one[0] - middle));
        assert!((found / theory - 1.0).abs() < 0.02, "{found} for {theory}");
    }

    #[test]
    fn figures_that_move_together_do_so_in_replicates() {
        let one = track(&series(5, 61, 0.3, 5.0));
        let twice =
            Track { influence: one.influence.iter().map(|value| 2.0 * value).collect(), ..one };
        let mut stream = Streams::new(1).named("blocks");
        for drawn in replicates(&[&one, &twice], 7, 50, &mut |bound| stream.below(bound)) {
            assert!((2.0 * drawn[0] - drawn[1]).abs() < 1e-12);
        }
        assert_eq!(replicates(&[], 1, 3, &mut |_| 0), vec![Vec::<f64>::new(); 3]);
    }
}
