//! A failover rehearsal: what was lost, how long users waited, and whether the checks can see.

use serde::{Deserialize, Serialize};

use super::Verdict;

/// The results of a drill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drill {
    /// Pass, fail or inconclusive, as the verdict.
    pub outcome: Verdict,
    /// The most that a failover lost, read after the survivor has recovered; null without a
    /// failover.
    pub rpo: Option<DrillLoss>,
    /// From the failure to the first operation that was served, in the failover that took longest;
    /// null without a failover.
    pub rto_s: Option<f64>,
    /// How long users had had no service when the drill ended; null when they had it.
    #[serde(default)]
    pub out_of_service_s: Option<f64>,
    /// The steps of that failover, in order; they add up to `rto_s`.
    pub steps: Vec<DrillStep>,
    /// Faults that were injected into a replica to see whether the checks find them.
    pub controls: Vec<DrillControl>,
    /// The replication.
    pub replication: DrillReplication,
    /// Every failover, the last one included.
    pub failovers: Vec<DrillFailover>,
    /// What happened, in order.
    pub events: Vec<DrillEvent>,
    /// The load while something was as it was.
    pub phases: Vec<DrillPhase>,
    /// Samples over time.
    pub samples: Vec<DrillSample>,
}

/// What a failover lost of that which was acknowledged as durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillLoss {
    /// Records whose newest acknowledged change is lost.
    pub records: u64,
    /// Acknowledged durable commits that are lost.
    pub transactions: u64,
    /// Bytes of acknowledged writes that the survivor did not have.
    pub bytes: u64,
    /// From the acknowledgement of the first lost commit to the failure.
    pub seconds: f64,
    /// Lost commits that were acknowledged before they were durable: no promise.
    pub lazy: u64,
    /// Acknowledged durable commits that are there.
    pub kept: u64,
}

/// A step of a failover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillStep {
    /// Its name: `decision`, `storage failover`, `role change`, `host rescan`, `log replay`,
    /// `mount`, `first operation`.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// Whether the scenario gives that time; otherwise it was measured.
    #[serde(default)]
    pub given: bool,
}

/// How long steps took in all, in seconds: as the scenario gives them, and as measured.
pub fn given_and_measured(steps: &[DrillStep]) -> (f64, f64) {
    let of = |given: bool| {
        let own = steps.iter().filter(|step| step.given == given);
        own.map(|step| step.seconds).sum()
    };
    (of(true), of(false))
}

/// A fault that was injected into a replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillControl {
    /// Its name: `drop one acknowledged write`, `swap two writes`, `promote the stale side`, `lose
    /// the tail of the log`.
    pub name: String,
    /// Whether the checks found it.
    pub red: bool,
    /// What they found, or why nothing.
    pub found: String,
}

/// The replication over a drill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillReplication {
    /// The most that the write history log of one group ever held.
    pub whl_peak_bytes: u64,
    /// From the return of link or destination until the last group was in step; null when that
    /// never ended, or nothing was lost.
    pub merge_s: Option<f64>,
    /// Bytes of writes sent over the link.
    pub link_bytes: u64,
}

/// One failover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillFailover {
    /// `planned failover`, `unplanned failover`, `failback`.
    pub kind: String,
    /// When users lost service.
    pub at_s: f64,
    /// What was lost.
    pub rpo: DrillLoss,
    /// How long users waited.
    pub rto_s: f64,
    /// The steps.
    pub steps: Vec<DrillStep>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillEvent {
    /// When.
    pub at_s: f64,
    /// What.
    pub what: String,
}

/// The load between two events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillPhase {
    /// What the time is called: `before`, `link lost`, `merging`, `after the failover`...
    pub name: String,
    /// When it began.
    pub from_s: f64,
    /// When it ended.
    pub to_s: f64,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean latency of database reads.
    pub read_ms: Option<f64>,
    /// Mean latency of database writes.
    pub write_ms: Option<f64>,
    /// Mean latency of log writes.
    pub log_ms: Option<f64>,
    /// The longest mean of a sample of log writes.
    pub log_worst_ms: Option<f64>,
    /// The most that all write history logs held.
    pub log_bytes: u64,
}

/// A sample over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrillSample {
    /// When it ended.
    pub at_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Database reads.
    pub reads: u64,
    /// Their mean latency.
    pub read_ms: Option<f64>,
    /// Database writes.
    pub writes: u64,
    /// Their mean latency.
    pub write_ms: Option<f64>,
    /// Log writes.
    pub log_writes: u64,
    /// Their mean latency.
    pub log_ms: Option<f64>,
    /// What all write history logs hold at its end.
    pub log_bytes: u64,
    /// Acknowledged writes that the other site does not have, at its end; null while a full copy
    /// has left it inconsistent.
    pub at_risk_writes: Option<u64>,
    /// When the first write history log is full at the pace so far, in seconds from then; null
    /// while none grows.
    pub full_in_s: Option<f64>,
}
