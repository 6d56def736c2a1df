//! Transactional load for a day under lenient limits.

use brunt_units::Span;

use super::{Kind, Work, load_opening};

const WORD: &str = "stress";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening: |opening| load_opening(WORD, opening),
    work: Work::Load,
    limits: |profile| profile.lenient.value,
    must_be_stationary: true,
    length_min: Span::seconds(24 * 3600),
};
