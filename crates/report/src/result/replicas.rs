//! Replicas of volumes in a pool at another site.

use brunt_units::{Span, counted, grouped};
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
    /// Age of the newest complete replica: what would be lost with the source. `None` while there
    /// is none.
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
    /// The newest complete replica as the engine recovered it; `None` under raw load, and without
    /// databases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<ReplicaRecovered>,
}

/// The newest complete replica at the end of the load, recovered at the other site. Without an
/// instant there was none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicaRecovered {
    /// Its instant, in seconds from the beginning of the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    /// How much older than the end of the load it is: what would be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_s: Option<f64>,
    /// Log files that were replayed, or that would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<u64>,
    /// How long the engine needed until all databases could be used; `None` where they have no
    /// content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// Pages that were verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// Bad ones among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_bad: Option<u64>,
    /// Acknowledged hard commits that it has. Those that an older replica has, too, are not counted
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Hard commits acknowledged between its instant and the end of the load: what would be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_lost: Option<u64>,
    /// Why nobody could go on from it; `None` when all is well, or nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// Why it was not measured; `None` when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl ReplicaRecovered {
    /// In words: of when it is, and what it lacks.
    pub fn told(&self) -> String {
        let span = |seconds: f64| Span::from_seconds(seconds).to_string();
        let mut parts = Vec::new();
        if let Some(wrong) = &self.wrong {
            parts.push(format!("cannot be used: {wrong}"));
        }
        parts.extend(self.at_s.map(|at| format!("as of {}", span(at))));
        parts.extend(self.logs.map(|logs| {
            let logs = counted(logs, "log");
            match self.took_s {
                Some(took) => format!("{logs} replayed in {}", span(took)),
                None => format!("{logs} to replay"),
            }
        }));
        if let (Some(pages), Some(bad)) = (self.pages, self.pages_bad) {
            let pages = grouped(pages);
            parts.push(match bad {
                0 => format!("{pages} pages verified"),
                _ => format!("{} of {pages} pages bad", grouped(bad)),
            });
        }
        parts.extend(self.behind_s.map(|behind| {
            let lost = self.commits_lost.map(|lost| counted(lost, "hard commit"));
            let lost = lost.map_or_else(String::new, |lost| format!(" with {lost}"));
            format!("lacks the last {}{lost}", span(behind))
        }));
        if let Some(why) = &self.unmeasured {
            parts.push(format!("not measured: {why}"));
        }
        parts.join("; ")
    }
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
            recovered: None,
        };
        assert_eq!(
            numbers.told(),
            "mail: 3 complete; 1 skipped; 2 kept, the newest 90.0 s old, at worst 61 min 40 s; 3.00 MiB at risk; \
             the last took 20.0 s; 1.00 GiB over the link"
        );
        numbers.age_s = None;
        assert!(numbers.told().contains("no replica yet"));
    }
    #[test]
    fn a_recovered_replica_is_told() {
        let mut recovered = ReplicaRecovered {
            at_s: Some(95.0),
            behind_s: Some(25.0),
            logs: Some(3),
            took_s: Some(1.5),
            pages: Some(2_048),
            pages_bad: Some(0),
            commits: Some(7),
            commits_lost: Some(1),
            ..ReplicaRecovered::default()
        };
        assert_eq!(
            recovered.told(),
            "as of 95.0 s; 3 logs replayed in 1.5 s; 2,048 pages verified; lacks the last 25.0 s with 1 hard commit"
        );
        recovered.wrong = Some("the log has a gap".to_owned());
        assert!(recovered.told().starts_with("cannot be used: the log has a gap; as of"));
        let none = ReplicaRecovered {
            unmeasured: Some("no replica was complete".to_owned()),
            ..ReplicaRecovered::default()
        };
        assert_eq!(none.told(), "not measured: no replica was complete");
    }
}
