//! How far two sets of samples lie apart, whatever their unit and their shape.

/// Cliff's delta: how much more often a sample of `b` is larger than one of `a` than smaller, from
/// -1 to 1. `None` when one is empty.
///
/// Source: Cliff, Dominance statistics: ordinal analyses to answer ordinal questions, Psychological
/// Bulletin 114 (1993).
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    let mut sorted = a.to_vec();
    sorted.sort_by(f64::total_cmp);
    let dominance = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        below as f64 - (sorted.len() - up_to) as f64
    };
    let pairs = a.len() as f64 * b.len() as f64;
    (pairs > 0.0).then(|| b.iter().map(dominance).sum::<f64>() / pairs)
}

/// The usual word for a delta.
///
/// Source: Romano, Kromrey, Coraggio and Skowronek, Appropriate statistics for ordinal level data
/// (2006): 0.147, 0.33, 0.474.
pub fn effect_in_words(delta: f64) -> &'static str {
    match delta.abs() {
        size if size < 0.147 => "negligible",
        size if size < 0.33 => "small",
        size if size < 0.474 => "medium",
        _ => "large",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_is_what_all_pairs_say() {
        let (a, b) = ([1.0, 3.0, 3.0, 7.0, 2.0], [3.0, 8.0, 0.5]);
        let pairs =
            a.iter().flat_map(|a| b.iter().map(move |b| f64::from(b > a) - f64::from(b < a)));
        let slow = pairs.sum::<f64>() / 15.0;
        assert!((cliffs_delta(&a, &b).unwrap() - slow).abs() < 1e-12);
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[1.0], &[1.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
        let words = [0.0, -0.2, 0.4, -0.9].map(effect_in_words);
        assert_eq!(words, ["negligible", "small", "medium", "large"]);
    }
}
