//! Transactional load for a day under lenient limits.

use brunt_units::Span;

use super::{Kind, TestKind, load_opening};

pub(super) const KIND: Kind = Kind {
    opening: |opening| load_opening(TestKind::Stress, opening),
    limits: |profile| profile.lenient.value,
    must_be_stationary: true,
    length_min: Span::seconds(24 * 3600),
};
