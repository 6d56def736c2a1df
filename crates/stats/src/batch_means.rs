//! How well a ratio is known from samples over time: a rate is events over seconds, a mean latency
//! is time over I/Os.
//!
//! Neighbouring samples are alike, so they do not count as independent. The means of long batches
//! of them nearly do, and Student's interval of ten to thirty such batches holds (Schmeiser, Batch
//! size effects in the analysis of simulation output, Operations Research 30, 1982).

use crate::Interval;

/// What a sample adds to a ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// To the numerator.
    pub sum: f64,
    /// To the denominator.
    pub weight: f64,
}

impl Part {
    /// All `parts` as one.
    pub fn of(parts: &[Self]) -> Self {
        Self {
            sum: parts.iter().map(|part| part.sum).sum(),
            weight: parts.iter().map(|part| part.weight).sum(),
        }
    }

    /// The ratio; `None` without a denominator.
    pub fn ratio(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// `count` batches of `samples`, of equal size; the first few samples that fill no batch are left
/// out. Nothing when a batch would be empty.
pub fn batches(samples: &[Part], count: usize) -> Vec<Part> {
    let size = samples.len().checked_div(count).unwrap_or(0);
    if size == 0 {
        return Vec::new();
    }
    let kept = &samples[samples.len() - count * size..];
    kept.chunks_exact(size).map(Part::of).collect()
}

/// The ratio of the sums over several `series` of parts, with its 95 % confidence interval; `None`
/// with fewer than two parts, or without a denominator.
///
/// Parts count as independent, except that neighbours that are alike (r > 0) widen the interval.
///
/// Source: Cochran, Sampling Techniques, section 2.11: t × √(Σ(x − ratio × w)² / (n (n − 1))) /
/// mean of w; the variance of a mean of a moving average of order one has the factor 1 + 2 r.
pub fn ratio(series: &[Vec<Part>]) -> Option<Interval> {
    let all = Part::of(&series.concat());
    let ratio = all.ratio()?;
    let count = series.iter().map(Vec::len).sum::<usize>();
    let rest = |part: &Part| (part.sum - ratio * part.weight) / all.weight * count as f64;
    let rests = series.iter().map(|one| one.iter().map(rest).collect());
    let rests: Vec<Vec<f64>> = rests.collect();
    let squares: f64 = rests.iter().flatten().map(|rest| rest * rest).sum();
    let neighbours = rests.iter().flat_map(|one| one.windows(2));
    let alike: f64 = neighbours.map(|two| two[0] * two[1]).sum();
    let alike = if squares > 0.0 { alike / squares } else { 0.0 };
    let interval = Interval::of(&rests.concat()).filter(|_| count > 1)?;
    Some(Interval { mean: ratio, half: interval.half * (1.0 + 2.0 * alike.max(0.0)).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sum: f64, weight: f64) -> Part {
        Part { sum, weight }
    }

    #[test]
    fn with_equal_weights_it_is_the_interval_of_a_mean() {
        let values = [3.0, 7.0, 4.0, 6.0, 5.0];
        let parts = values.map(|value| part(value * 15.0, 15.0));
        let (one, other) = (ratio(&[parts.to_vec()]).unwrap(), Interval::of(&values).unwrap());
        assert!((one.mean - other.mean).abs() < 1e-12);
        assert!((one.half - other.half).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_by_hand() {
        // Ratio 6 / 6 = 1; rests 1, -1, 0; mean weight 2: 4.303 × √(2 / (3 × 2)) / 2.
        let known = ratio(&[vec![part(3.0, 2.0), part(0.0, 1.0), part(3.0, 3.0)]]).unwrap();
        assert_eq!(known.mean, 1.0);
        assert!((known.half - 4.303 * (1.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
        assert_eq!(ratio(&[vec![part(1.0, 1.0)]]), None);
        assert_eq!(ratio(&[vec![part(0.0, 0.0); 2]]), None);
    }

    #[test]
    fn neighbours_that_are_alike_count_for_less() {
        // Rests -1, -1, 1, 1: r = (1 - 1 + 1) / 4.
        let alike = [4.0, 4.0, 6.0, 6.0].map(|sum| part(sum, 1.0)).to_vec();
        let apart = [4.0, 6.0, 4.0, 6.0].map(|sum| part(sum, 1.0)).to_vec();
        let (alike, apart) = (ratio(&[alike]).unwrap(), ratio(&[apart]).unwrap());
        assert!((alike.half - apart.half * 1.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn batches_are_equal_and_end_with_the_last_sample() {
        let samples: Vec<Part> = (0..11).map(|at| part(f64::from(at), 1.0)).collect();
        let sums: Vec<f64> = batches(&samples, 5).iter().map(|part| part.sum).collect();
        assert_eq!(sums, [3.0, 7.0, 11.0, 15.0, 19.0]);
        assert_eq!(batches(&samples, 12), []);
        assert_eq!(batches(&[], 3), []);
    }
}
