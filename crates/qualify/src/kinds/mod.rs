//! How each kind of test is run and judged, one file for each.
//!
//! | kind | latency limits |
//! | --- | --- |
//! | performance | strict |
//! | stress | lenient; must be stationary |
//! | database-backup | none |
//! | soft-recovery | none |
//!
//! A new kind is a variant of [`TestKind`], a file with its [`Kind`], an arm of `result::done`, and
//! rows in `docs/rules.md`.
//! The compiler and `tests/rules.rs` demand them.

mod database_backup;
mod performance;
mod soft_recovery;
mod stress;

use brunt_units::Span;
use brunt_workload::profile::{LatencyLimits, Profile};

pub use brunt_report::result::{TestKind, Work};

/// How a kind of test is run and judged.
pub struct Kind {
    /// Its description in the first lines of a run.
    opening: fn(&Opening) -> String,
    /// The latency limits of a version.
    limits: fn(&Profile) -> LatencyLimits,
    /// Whether it fails when storage becomes slower towards the end.
    pub(crate) must_be_stationary: bool,
    /// Minimum length of a qualification.
    ///
    /// Source: ESRP-Storage papers, "over two hours" and 24 hours.
    pub length_min: Span,
}

/// Input of [`Kind::opening`].
#[derive(Clone, Debug)]
pub struct Opening {
    /// The sessions in words: `16 sessions`.
    pub sessions: String,
    /// Length of the collection.
    pub duration: Span,
    /// Logs of each instance.
    pub logs: u32,
    /// Whether the backup is restored.
    pub restores: bool,
}

impl Kind {
    /// How tests of `kind` are run and judged.
    pub const fn of(kind: TestKind) -> &'static Self {
        match kind {
            TestKind::Performance => &performance::KIND,
            TestKind::Stress => &stress::KIND,
            TestKind::DatabaseBackup => &database_backup::KIND,
            TestKind::SoftRecovery => &soft_recovery::KIND,
        }
    }

    /// Its description in the first lines of a run: `16 sessions, performance 2 h`.
    pub fn opening(&self, opening: &Opening) -> String {
        (self.opening)(opening)
    }

    pub(crate) fn limits(&self, profile: &Profile) -> LatencyLimits {
        (self.limits)(profile)
    }
}

/// `16 sessions, performance 2 h`.
fn load_opening(kind: TestKind, opening: &Opening) -> String {
    let duration = opening.duration.to_string().replace(".0 ", " ");
    format!("{}, {kind} {duration}", opening.sessions)
}
