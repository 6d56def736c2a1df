//! Shares and bounds of the normal and of Student's distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The share of a normal distribution that lies beyond `deviations` on either side: 0.05 for 1.96.
pub fn share_beyond(deviations: f64) -> f64 {
    2.0 * Normal::standard().sf(deviations.abs())
}

/// The bound that Student's distribution with `freedom` degrees (at least one) exceeds on either
/// side in this `share` of cases: 12.7 for 5 % and one degree, 1.96 for many.
///
/// # Panics
/// When `share` is not between 0 and 1.
pub fn student_bound(share: f64, freedom: f64) -> f64 {
    assert!(share > 0.0 && share < 1.0, "a share: {share}");
    let upper = 1.0 - share / 2.0;
    // Beyond, the difference is below 0.003 %.
    const MANY: f64 = 1e5;
    match freedom < MANY {
        true => StudentsT::new(0.0, 1.0, freedom.max(1.0))
            .expect("at least one degree")
            .inverse_cdf(upper),
        false => Normal::standard().inverse_cdf(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_tables() {
        for (share, freedom, bound) in [
            (0.05, 1.0, 12.706),
            (0.05, 4.0, 2.776),
            (0.01, 5.0, 4.032),
            (0.05, 1e9, 1.960),
            (0.2, 30.0, 1.310),
        ] {
            let found = student_bound(share, freedom);
            assert!((found - bound).abs() < 6e-4, "{share}, {freedom}: {found}");
        }
        assert!((share_beyond(1.959_964) - 0.05).abs() < 1e-6);
        assert!((share_beyond(-2.575_829) - 0.01).abs() < 1e-6);
        assert_eq!(share_beyond(0.0), 1.0);
    }
}
