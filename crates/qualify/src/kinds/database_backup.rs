//! Reads every database from beginning to end, and optionally restores the backup.

use brunt_units::Span;

use super::{Kind, Opening, TestKind};

pub(super) const KIND: Kind = Kind {
    opening,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
};

fn opening(opening: &Opening) -> String {
    let word = TestKind::DatabaseBackup.word();
    match opening.restores {
        true => format!("{word} with restore"),
        false => word.to_owned(),
    }
}
