//! The limits that the storage is held to, where a scenario wants others than its version.

use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::Limits;
use brunt_units::Span;
use brunt_workload::profile::Version;

use super::keys::{NOT_NEGATIVE, PERCENT, SOME_TIME, Whole, keys};
use super::section::Section;

keys! {
    LIMITS of Limits = "[limits]";
    /// Mean latency of database reads.
    read_average: Span = [latency.read_mean], SOME_TIME, "by version and kind";
    /// The same of a single sample.
    read_sample: Span = [latency.read_sample], SOME_TIME, "by version and kind";
    /// Mean latency of log writes.
    log_average: Span = [latency.log_mean], SOME_TIME, "by version and kind";
    /// The same of a single sample.
    log_sample: Span = [latency.log_sample], SOME_TIME, "by version and kind";
    /// p99.9 of database reads and of log writes.
    tail_device: Span = [tail_device], SOME_TIME, "by version and kind";
    /// p99 of operations, from their intended start.
    tail_operation: Span = [tail_operation], SOME_TIME, "by version and kind";
    /// Samples that may exceed the limit of a sample.
    excursions: u32 = [excursions], Whole(0..=4_294_967_295), "by version";
    /// Page-fault stalls per second.
    stalls_per_s: f64 = [stalls_per_s], NOT_NEGATIVE, "1";
    /// How far the achieved rate may stay below a target, in percent.
    margin_percent: u32 = [margin_percent], PERCENT, "by version";
    /// Share by which databases may grow, in percent.
    reserve_percent: u32 = [reserve_percent], Whole(0..=1_000), "by version";
}

/// Reads `[limits]`: those of the version for this kind of test, or what is written instead.
pub(super) fn read(top: &mut Section, version: Version, kind: TestKind) -> Limits {
    let mut limits = Limits::of(version.profile(), kind);
    LIMITS.read(top.table("limits"), &mut limits);
    limits
}
