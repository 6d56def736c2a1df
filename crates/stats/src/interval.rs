//! The confidence interval of a mean of a few independent values.

/// A mean and half the width of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean of the values.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval; zero for a single value, where it is unknown.
    pub half: f64,
}

/// Student's t for 95 % and one to thirty degrees of freedom; beyond, the normal distribution is
/// close enough.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
const NORMAL: f64 = 1.96;

impl Interval {
    /// The confidence interval of the mean of independent `values`; `None` if there are none.
    ///
    /// Source: t × s / √n, with the sample standard deviation (n − 1).
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let freedom = count.checked_sub(1)?;
        let Some(last) = freedom.checked_sub(1) else {
            return Some(Self { mean, half: 0.0 });
        };
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (square / freedom as f64).sqrt();
        let student = STUDENT.get(last).copied().unwrap_or(NORMAL);
        Some(Self { mean, half: student * deviation / (count as f64).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_by_hand() {
        // Mean 5, deviation √(2.5), t of four degrees 2.776: 2.776 × √(2.5 / 5).
        let interval = Interval::of(&[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!(interval.mean, 5.0);
        assert!((interval.half - 2.776 * 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Interval::of(&[]), None);
        let one = Interval::of(&[2.0]).unwrap();
        assert_eq!((one.mean, one.half), (2.0, 0.0));
        assert_eq!(Interval::of(&[2.0; 99]).unwrap().half, 0.0);
    }
}
