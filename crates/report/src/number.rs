//! Numbers as people read them.

/// An integer with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len().div_ceil(3));
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A measured number with as many decimals as it deserves: `0.07`, `2.10`, `34.2`, `812`, `21,480`.
pub fn decimals(number: f64) -> String {
    // Nothing, whichever side it was rounded from.
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
    fn digits_come_in_threes() {
        let text = [0, 999, 1000, 32_768, 1_234_567].map(grouped);
        assert_eq!(text, ["0", "999", "1,000", "32,768", "1,234,567"]);
    }

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
