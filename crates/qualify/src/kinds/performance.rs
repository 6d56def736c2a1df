//! Transactional load under strict limits.

use brunt_units::Span;

use super::{Kind, TestKind, load_opening};

pub(super) const KIND: Kind = Kind {
    opening: |opening| load_opening(TestKind::Performance, opening),
    limits: |profile| profile.strict.value,
    // The test may end before a trend means anything.
    must_be_stationary: false,
    length_min: Span::seconds(2 * 3600),
};
