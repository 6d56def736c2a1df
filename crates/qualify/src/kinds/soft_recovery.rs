//! A number of logs written and replayed.

use brunt_report::grouped;
use brunt_units::Span;

use super::{Kind, Opening, Work};

const WORD: &str = "soft-recovery";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening,
    work: Work::Replay,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
};

fn opening(opening: &Opening) -> String {
    format!(
        "{}, {WORD} from {} logs of each instance",
        opening.sessions,
        grouped(opening.logs.into())
    )
}
