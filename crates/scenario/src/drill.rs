//! `[drill]`: what a failover rehearsal has to reach, and what its operators need.
//!
//! ```toml
//! [drill]
//! recovery_time = "15min"        # the longest time without service
//! recovery_point = "0s"          # the oldest acknowledged commit that may be lost; without it nothing where replication
//!                                # is synchronous, and anything where it is not
//! storage_failover = "3min"      # an operator fails the groups over
//! host_rescan = "2min"           # hosts find their LUNs
//! merge_load_percent = 100       # the load while logs are merged; 0 suspends it
//! sample = "15s"
//! after = "1min"                 # the load goes on after the last event, and after all groups are in step
//! controls = true                # also break the replica on purpose, and see whether that is found
//! ```

use std::fmt::{self, Write};

use brunt_units::Span;

use super::format::span;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::Node;

pub(super) const KEYS: [&str; 8] = [
    "recovery_time",
    "recovery_point",
    "storage_failover",
    "host_rescan",
    "merge_load_percent",
    "sample",
    "after",
    "controls",
];

/// Those of a drill on real storage, where operators and hosts take the time that they take.
const REAL_KEYS: [&str; 5] = ["recovery_time", "recovery_point", "sample", "after", "controls"];

/// The shortest sample: shorter ones have too few I/Os to mean anything.
const SAMPLE_MIN: Span = Span::seconds(1);

/// What a drill has to reach, and what its operators need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drill {
    /// The longest time without service.
    pub recovery_time: Span,
    /// The oldest acknowledged commit that may be lost.
    pub recovery_point: Option<Span>,
    /// How long an operator takes to fail the groups over.
    pub storage_failover: Span,
    /// How long hosts take to find their LUNs.
    pub host_rescan: Span,
    /// The load while logs are merged, in percent; 0 suspends it.
    pub merge_load_percent: u32,
    /// Length of a sample.
    pub sample: Span,
    /// How long the load goes on after the last event and after all groups are in step.
    pub after: Span,
    /// Whether the replica is also broken on purpose.
    pub controls: bool,
}

impl Default for Drill {
    /// Source: HP, Continuous Access EVA5000 (May 2005): 15 minutes, of which an operator needs 1
    /// to 3 for the failover and hosts 1 to 2 to find the disks. The longer times are the default.
    /// Samples are as long as those of Jetstress.
    fn default() -> Self {
        let minutes = |minutes: u64| Span::seconds(60 * minutes);
        Self {
            recovery_time: minutes(15),
            recovery_point: None,
            storage_failover: minutes(3),
            host_rescan: minutes(2),
            merge_load_percent: 100,
            sample: Span::seconds(15),
            after: minutes(1),
            controls: true,
        }
    }
}

/// Reads `[drill]`; `is_paced` says whether the load has a pace to reduce.
pub(super) fn read(node: Node, is_paced: bool) -> Result<Drill, Refusal> {
    let usual = Drill::default();
    let mut section = Section::new(node, "[drill]", &KEYS)?;
    let common = read_common(&mut section)?;
    let share =
        section.read_or("merge_load_percent", 100, |node| section::integer(node, 0..=100))?;
    if !is_paced && !matches!(share.value, 0 | 100) {
        let refusal = share.place.refuse("needs a load with a pace");
        return Err(refusal.hint("test.target_io_per_s, or 0 to suspend the load"));
    }
    let mut span = |key, usual| section.read_or(key, usual, section::span).map(|one| one.value);
    Ok(Drill {
        storage_failover: span("storage_failover", usual.storage_failover)?,
        host_rescan: span("host_rescan", usual.host_rescan)?,
        merge_load_percent: u32::try_from(share.value).expect("in range"),
        ..common
    })
}

/// Reads `[drill]` of a drill on real storage. Its failover takes no time of operators, and its
/// samples are short.
pub(super) fn read_real(node: Option<Node>) -> Result<Drill, Refusal> {
    let usual = Drill { storage_failover: Span::ZERO, host_rescan: Span::ZERO, ..Drill::default() };
    let Some(node) = node else {
        return Ok(usual);
    };
    let mut section = Section::new(node, "[drill]", &REAL_KEYS)?;
    Ok(Drill {
        storage_failover: usual.storage_failover,
        host_rescan: usual.host_rescan,
        ..read_common(&mut section)?
    })
}

/// Writes what [`read_real`] reads.
pub(super) fn write_real(drill: &Drill, out: &mut String) -> fmt::Result {
    writeln!(out, "\n[drill]\nrecovery_time = {}", span(drill.recovery_time))?;
    if let Some(point) = drill.recovery_point {
        writeln!(out, "recovery_point = {}", span(point))?;
    }
    writeln!(out, "sample = {}", span(drill.sample))?;
    writeln!(out, "after = {}", span(drill.after))?;
    writeln!(out, "controls = {}", drill.controls)
}

/// The keys that every drill has.
fn read_common(section: &mut Section) -> Result<Drill, Refusal> {
    let usual = Drill::default();
    let point = section.read("recovery_point", section::span)?;
    let mut span = |key, usual| section.read_or(key, usual, section::span).map(|one| one.value);
    Ok(Drill {
        recovery_time: span("recovery_time", usual.recovery_time)?,
        recovery_point: point.map(|point| point.value),
        after: span("after", usual.after)?,
        sample: section
            .read_or("sample", usual.sample, |node| {
                let sample = section::span(node)?;
                match sample >= SAMPLE_MIN {
                    true => Ok(sample),
                    false => Err(node.place.refuse(format!("is shorter than {SAMPLE_MIN}"))),
                }
            })?
            .value,
        controls: section.read_or("controls", usual.controls, section::switch)?.value,
        ..usual
    })
}
