//! `[drill]`: what a failover rehearsal has to reach, and what its operators need.

use brunt_units::Span;

use super::keys::{Maybe, PERCENT, SWITCH, TIME, keys, time};
use super::place::Refusal;
use super::section;
use super::tree::Node;

keys! {
    /// What a drill has to reach: a field for each key of [`DRILL`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Drill; DRILL = "[drill]";
    /// The longest time without service.
    recovery_time: Span = MINUTE * 15, TIME, "`\"15min\"`";
    /// The oldest acknowledged commit that may be lost.
    recovery_point: Option<Span> = None, Maybe(TIME), "nothing where replication is synchronous, and anything where it is not";
    /// How long an operator takes to fail the groups over.
    storage_failover: Span = MINUTE * 3, TIME, "`\"3min\"`";
    /// How long hosts take to find their LUNs.
    host_rescan: Span = MINUTE * 2, TIME, "`\"2min\"`";
    /// The load while logs are merged, in percent; 0 suspends it.
    merge_load_percent: u32 = 100, PERCENT, "100";
    /// Length of a sample, a second at least.
    sample: Span = Span::seconds(15), time(read_sample, "time"), "`\"15s\"`";
    /// How long the load goes on after the last event and after all groups are in step.
    after: Span = MINUTE, TIME, "`\"1min\"`";
    /// Whether the replica is also broken on purpose, to see whether that is found.
    controls: bool = true, SWITCH, "`true`";
}

/// Keys of modelled arrays alone: on real storage, operators and hosts take the time that they take.
const MODELLED: [&str; 3] = ["storage_failover", "host_rescan", "merge_load_percent"];

/// Source of the times: HP, Continuous Access EVA5000 (May 2005): 15 minutes, of which an operator
/// needs 1 to 3 for the failover and hosts 1 to 2 to find the disks. The longer times are the
/// default. Samples are as long as those of Jetstress.
const MINUTE: Span = Span::seconds(60);
/// The shortest sample: shorter ones have too few I/Os to mean anything.
const SAMPLE_MIN: Span = Span::seconds(1);

/// Reads `[drill]`; `is_paced` says whether the load has a pace to reduce.
pub(super) fn read(node: Node, is_paced: bool) -> Drill {
    let mut drill = Drill::default();
    let section = DRILL.read(node, &mut drill);
    if !is_paced && !matches!(drill.merge_load_percent, 0 | 100) {
        let place = section.place_of("merge_load_percent");
        let refusal = place.refuse("needs a load with a pace");
        section.refuse(refusal.hint("test.target_io_per_s, or 0 to suspend the load"));
    }
    drill
}

/// Reads `[drill]` of a drill on real storage. Its failover takes no time of operators, and its
/// samples are short.
pub(super) fn read_real(node: Option<Node>) -> Drill {
    let usual = Drill::default();
    let mut drill = Drill { storage_failover: Span::ZERO, host_rescan: Span::ZERO, ..usual };
    if let Some(node) = node {
        DRILL.without(&MODELLED).read(node, &mut drill);
    }
    drill
}

/// Writes what [`read_real`] reads.
pub(super) fn write_real(drill: &Drill, out: &mut String) {
    DRILL.without(&MODELLED).write(drill, out);
}

fn read_sample(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        sample if sample >= SAMPLE_MIN => Ok(sample),
        _ => Err(node.place.refuse(format!("is shorter than {SAMPLE_MIN}"))),
    }
}
