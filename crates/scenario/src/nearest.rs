//! The known word that was probably meant.

/// The word of `known` with the fewest letters to insert, remove or replace in `written`; none when even that is more than
/// a third of it.
pub(super) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = written.chars().count().max(3).div_euclid(3);
    known
        .iter()
        .map(|word| (distance(written, word), *word))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, word)| word)
}

/// Levenshtein's distance, by rows of the usual table.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (index, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *candidate);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(row[index] + 1).min(row[index + 1] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (one, other, letters) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("kitten", "sitting", 3),
            ("duratoin", "duration", 2),
        ] {
            assert_eq!(distance(one, other), letters);
            assert_eq!(distance(other, one), letters);
        }
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["duration", "kind", "seed", "sessions"];
        assert_eq!(nearest("duratoin", &known), Some("duration"));
        assert_eq!(nearest("session", &known), Some("sessions"));
        assert_eq!(nearest("sed", &known), Some("seed"));
        assert_eq!(nearest("threads", &known), None);
        assert_eq!(nearest("x", &known), None);
    }
}
