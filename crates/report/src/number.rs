//! Numbers for people.

pub use brunt_units::{counted, grouped};

/// A measured number with two decimals, fewer when it is large: `0.07`, `2.10`, `34.2`, `812`, `21,480`.
pub fn decimals(number: f64) -> String {
    // No "-0.00" for small negative numbers.
    let number = if number.abs() < 0.005 { 0.0 } else { number };
    match number.abs() {
        size if !size.is_finite() => "-".to_owned(),
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        size => format!(
            "{}{}",
            if number < 0.0 { "-" } else { "" },
            grouped(size.round() as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_shows_three_digits_or_its_integer_part() {
        let text = [
            0.0, 0.074, 2.1, 9.994, 9.996, 34.2, 99.96, 812.4, 21480.2, -0.5, -0.0,
        ]
        .map(decimals);
        assert_eq!(
            text,
            [
                "0.00", "0.07", "2.10", "9.99", "10.0", "34.2", "100", "812", "21,480", "-0.50",
                "0.00"
            ]
        );
    }
}
