//! Replicas of volumes in a pool at another site.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use super::pages::bytes;

/// LUNs that are replicated together, at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicaNumbers {
    /// Its name in the scenario.
    pub name: String,
    /// Replications that were completed.
    pub complete: u64,
    /// Starts that were left out, because the replication before was not complete.
    pub skipped: u64,
    /// Replications that were given up.
    pub given_up: u64,
    /// Replicas that are kept at the partner.
    pub kept: u64,
    /// Age of the newest complete replica: what would be lost with the source. `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<f64>,
    /// The oldest that it has been since there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_age_s: Option<f64>,
    /// Bytes that have changed since, in whole grains.
    pub at_risk_bytes: u64,
    /// Bytes that the replication under way has still to bring; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_bytes: Option<u64>,
    /// How long the last complete one took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_took_s: Option<f64>,
    /// Bytes brought over the link.
    pub sent_bytes: u64,
}

impl ReplicaNumbers {
    /// What became of it, in words.
    pub fn told(&self) -> String {
        let span = |seconds: f64| Span::from_seconds(seconds).to_string();
        let mut parts = vec![format!("{}: {} complete", self.name, self.complete)];
        for (count, what) in [(self.skipped, "skipped"), (self.given_up, "given up")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.push(match (self.age_s, self.worst_age_s) {
            (Some(age), Some(worst)) => format!(
                "{} kept, the newest {} old, at worst {}",
                self.kept,
                span(age),
                span(worst)
            ),
            _ => "no replica yet: all would be lost with the source".to_owned(),
        });
        parts.push(format!("{} at risk", bytes(self.at_risk_bytes)));
        if let Some(left) = self.left_bytes {
            parts.push(format!("{} left to bring", bytes(left)));
        }
        if let Some(took) = self.last_took_s {
            parts.push(format!("the last took {}", span(took)));
        }
        parts.push(format!("{} over the link", bytes(self.sent_bytes)));
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_risk_is_told() {
        let mut numbers = ReplicaNumbers {
            name: "mail".into(),
            complete: 3,
            skipped: 1,
            given_up: 0,
            kept: 2,
            age_s: Some(90.0),
            worst_age_s: Some(3700.0),
            at_risk_bytes: 3 << 20,
            left_bytes: None,
            last_took_s: Some(20.0),
            sent_bytes: 1 << 30,
        };
        assert_eq!(
            numbers.told(),
            "mail: 3 complete; 1 skipped; 2 kept, the newest 90.0 s old, at worst 61 min 40 s; 3.00 MiB at risk; \
             the last took 20.0 s; 1.00 GiB over the link"
        );
        numbers.age_s = None;
        assert!(numbers.told().contains("no replica yet"));
    }
}
