//! Numbers for people.

use crate::grouped;

/// A measured number with two decimals, fewer when it is large: `0.07`, `2.10`, `34.2`, `812`,
/// `21,480`.
pub fn decimals(number: f64) -> String {
    fixed(number, places(number))
}

/// The decimals of [`decimals`].
pub fn places(number: f64) -> usize {
    match number.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    }
}

/// A number with at least this many decimals, and as many more as it takes not to look like a
/// different `other`: 20.004 beside 20.
pub fn apart(number: f64, other: f64, places: usize) -> String {
    const MOST: usize = 6;
    let is_clear =
        |places: &usize| number == other || fixed(number, *places) != fixed(other, *places);
    fixed(number, (places..MOST).find(is_clear).unwrap_or(MOST))
}

/// A number with this many decimals: `21,480.20`.
pub fn fixed(number: f64, places: usize) -> String {
    if !number.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{:.places$}", number.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    // No "-0.00" for small negative numbers.
    let sign = match number < 0.0 && text.contains(|c| ('1'..='9').contains(&c)) {
        true => "-",
        false => "",
    };
    format!("{sign}{}{rest}", grouped(whole.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_shows_three_digits_or_its_integer_part() {
        let text = [
            0.0, 0.074, 2.1, 9.994, 9.996, 34.2, 99.96, 812.4, 21480.2, -0.5, -0.0, -0.004,
            -21480.2,
        ]
        .map(decimals);
        assert_eq!(
            text,
            [
                "0.00", "0.07", "2.10", "9.99", "10.0", "34.2", "100", "812", "21,480", "-0.50",
                "0.00", "0.00", "-21,480"
            ]
        );
        assert_eq!([f64::NAN, f64::INFINITY].map(decimals), ["-", "-"]);
    }

    #[test]
    fn numbers_that_differ_look_different() {
        let beside_20 = [20.0, 20.04, 20.004, 19.99, 24.2].map(|number| apart(number, 20.0, 1));
        assert_eq!(beside_20, ["20.0", "20.04", "20.004", "19.99", "24.2"]);
        assert_eq!(apart(20.0 + 1e-9, 20.0, 1), "20.000000");
        assert_eq!(apart(f64::NAN, 20.0, 1), "-");
    }

    #[test]
    fn a_number_shows_the_decimals_it_is_given() {
        let text = [0.0, 34.24, -999.996, 21480.2].map(|number| fixed(number, 2));
        assert_eq!(text, ["0.00", "34.24", "-1,000.00", "21,480.20"]);
        assert_eq!(fixed(1e30, 0), grouped(u64::MAX));
    }
}
