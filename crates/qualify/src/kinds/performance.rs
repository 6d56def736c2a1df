//! Transactional load under strict limits.

use brunt_units::Span;

use super::{Kind, Work, load_opening};

const WORD: &str = "performance";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening: |opening| load_opening(WORD, opening),
    work: Work::Load,
    limits: |profile| profile.strict.value,
    // The test may end before a trend means anything.
    must_be_stationary: false,
    length_min: Span::seconds(2 * 3600),
};
