//! Reads every database from beginning to end, and optionally restores the backup.

use brunt_units::Span;

use super::{Kind, Opening, Work};

const WORD: &str = "database-backup";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening,
    work: Work::BackUp,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
};

fn opening(opening: &Opening) -> String {
    match opening.restores {
        true => format!("{WORD} with restore"),
        false => WORD.to_owned(),
    }
}
