//! The known word that was probably meant.

use strsim::levenshtein;

/// The word of `known` with the fewest letters to insert, remove or replace in `written`; none when
/// even that is more than a third of it.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = written.chars().count().max(3).div_euclid(3);
    known
        .iter()
        .map(|word| (levenshtein(written, word), *word))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

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
