//! A replicated array: its groups at the end, and how full their logs were.

use brunt_units::{ByteSize, Span, counted};
use serde::{Deserialize, Serialize};

/// How fast hosts wrote to what is replicated, while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteRate {
    /// Bytes of writes per second.
    pub bytes_per_s_mean: f64,
    /// The same in the busiest sample.
    pub bytes_per_s_busiest: f64,
}

/// The replication of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicationNumbers {
    /// The most that the write history log of one group ever held.
    pub log_peak_bytes: u64,
    /// The longest time from the return of link or destination, or from a resumption, until the
    /// last group was in step; `None` when that never ended, or the destination was never lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption_s: Option<f64>,
    /// Bytes of writes sent over the link.
    pub link_bytes: u64,
    /// Writes to all groups together; `None` in earlier results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<WriteRate>,
    /// The replication groups at the end.
    pub groups: Vec<ReplicationGroup>,
}

/// A replication group at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicationGroup {
    /// Its name in the scenario.
    pub name: String,
    /// Its state: `normal`, `locked`, `logging`, `log overflowed`, `merging`, `full copy` or
    /// `split`.
    pub state: String,
    /// What its write history log holds.
    pub log_bytes: u64,
    /// The most that it ever held.
    pub log_peak_bytes: u64,
    /// Acknowledged writes that the destination does not have; `None` while a full copy has left it
    /// inconsistent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_risk_writes: Option<u64>,
    /// Their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_risk_bytes: Option<u64>,
    /// Bytes that full copies have brought.
    pub copied_bytes: u64,
    /// The site that serves it, unless that is the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<String>,
    /// Acknowledged writes that failovers have lost, where any were not planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_writes: Option<u64>,
    /// Their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_bytes: Option<u64>,
    /// Writes to it; `None` in earlier results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<WriteRate>,
}

impl ReplicationNumbers {
    /// What became of it, in words.
    pub fn told(&self) -> String {
        let peak = ByteSize::bytes(self.log_peak_bytes);
        let log = match self.log_peak_bytes {
            0 => "write history logs were not used".to_owned(),
            _ => format!("largest write history log {peak}"),
        };
        let resumed = self.resumption_s.map(|seconds| {
            let span = Span::from_seconds(seconds);
            format!("in step {span} after the return")
        });
        let apart = self.groups.iter().filter(|one| one.state != "normal");
        let apart = apart.map(|one| match (one.at_risk_writes, one.at_risk_bytes) {
            (Some(writes), Some(bytes)) => {
                let bytes = ByteSize::bytes(bytes);
                format!(
                    "{} ends {}: {} ({bytes}) at risk",
                    one.name,
                    one.state,
                    counted(writes, "write")
                )
            }
            _ if one.state == "split" => format!("{} ends split: both sites serve", one.name),
            _ => format!("{} ends in a full copy: replica inconsistent", one.name),
        });
        let moved = self.groups.iter().filter_map(|one| {
            let serving = one.serving.as_ref()?;
            Some(format!("{} ends at the {serving}", one.name))
        });
        let lost = self.groups.iter().filter_map(|one| {
            let (writes, bytes) = (one.lost_writes?, ByteSize::bytes(one.lost_bytes?));
            Some(match writes {
                0 => format!("{}: failover lost nothing", one.name),
                _ => format!("{}: failover lost {} ({bytes})", one.name, counted(writes, "write")),
            })
        });
        let parts = std::iter::once(log).chain(resumed).chain(apart);
        let parts = parts.chain(moved).chain(lost);
        parts.collect::<Vec<_>>().join("; ")
    }
}
