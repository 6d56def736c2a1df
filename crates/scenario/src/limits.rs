//! The limits that the storage is held to, where a scenario wants others than its version.

use std::fmt::{self, Write};

use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::Limits;
use brunt_workload::profile::Version;

use super::format::span;
use super::place::Refusal;
use super::section::{self, Section};

pub(super) const KEYS: [&str; 10] = [
    "read_average",
    "read_sample",
    "log_average",
    "log_sample",
    "tail_device",
    "tail_operation",
    "excursions",
    "stalls_per_s",
    "margin_percent",
    "reserve_percent",
];

/// Reads `[limits]`: those of the version for this kind of test, or what is written instead.
pub(super) fn read(top: &mut Section, version: Version, kind: TestKind) -> Result<Limits, Refusal> {
    let section = &mut top.section("limits", &KEYS)?;
    let mut limits = Limits::of(version.profile(), kind);
    for (key, limit) in [
        ("read_average", &mut limits.latency.read_mean),
        ("read_sample", &mut limits.latency.read_sample),
        ("log_average", &mut limits.latency.log_mean),
        ("log_sample", &mut limits.latency.log_sample),
        ("tail_device", &mut limits.tail_device),
        ("tail_operation", &mut limits.tail_operation),
    ] {
        *limit = section.read_or(key, *limit, section::some_time)?.value;
    }
    let stalls = section.read_or("stalls_per_s", limits.stalls_per_s, section::not_negative)?;
    limits.stalls_per_s = stalls.value;
    for (key, most, limit) in [
        ("excursions", u64::from(u32::MAX), &mut limits.excursions),
        ("margin_percent", 100, &mut limits.margin_percent),
        ("reserve_percent", 1_000, &mut limits.reserve_percent),
    ] {
        let usual = u64::from(*limit);
        let read = section.read_or(key, usual, |node| section::integer(node, 0..=most))?;
        *limit = u32::try_from(read.value).expect("in range");
    }
    Ok(limits)
}

/// Writes `[limits]`.
pub(super) fn write(limits: &Limits, out: &mut String) -> fmt::Result {
    writeln!(out, "\n[limits]")?;
    for (key, limit) in [
        ("read_average", limits.latency.read_mean),
        ("read_sample", limits.latency.read_sample),
        ("log_average", limits.latency.log_mean),
        ("log_sample", limits.latency.log_sample),
        ("tail_device", limits.tail_device),
        ("tail_operation", limits.tail_operation),
    ] {
        writeln!(out, "{key} = {}", span(limit))?;
    }
    writeln!(out, "excursions = {}", limits.excursions)?;
    writeln!(out, "stalls_per_s = {:?}", limits.stalls_per_s)?;
    writeln!(out, "margin_percent = {}", limits.margin_percent)?;
    writeln!(out, "reserve_percent = {}", limits.reserve_percent)
}
