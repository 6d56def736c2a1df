//! A number of logs written and replayed.

use brunt_report::grouped;
use brunt_units::Span;

use super::{Kind, Opening, TestKind};

pub(super) const KIND: Kind = Kind {
    opening,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
};

fn opening(opening: &Opening) -> String {
    format!(
        "{}, {} from {} logs of each instance",
        opening.sessions,
        TestKind::SoftRecovery,
        grouped(opening.logs.into())
    )
}
