//! `brunt.result/1`: rules were known by their titles.

use serde::{Deserialize, Serialize};

use super::{Direction, Group, Outcome, Rule, RuleName};

/// A rule as JSON has it.
#[derive(Serialize, Deserialize)]
pub(super) struct RuleV1 {
    rule: String,
    limit: Option<f64>,
    #[serde(default)]
    bound: Direction,
    value: Option<f64>,
    unit: String,
    outcome: Outcome,
    remark: String,
}

impl From<Rule> for RuleV1 {
    fn from(rule: Rule) -> Self {
        Self {
            rule: rule.heading(),
            limit: rule.limit,
            bound: rule.direction,
            value: rule.measured,
            unit: rule.unit,
            outcome: rule.outcome,
            remark: rule.remark,
        }
    }
}

impl From<RuleV1> for Rule {
    fn from(old: RuleV1) -> Self {
        let known = RULES.iter().find(|name| name.title == old.rule);
        Self {
            id: known.map_or_else(|| slug(&old.rule), |name| name.id.to_owned()),
            group: known.map_or(Group::Limits, |name| name.group),
            server: None,
            subject: None,
            title: old.rule,
            direction: old.bound,
            limit: old.limit,
            measured: old.value,
            unit: old.unit,
            outcome: old.outcome,
            remark: old.remark,
        }
    }
}

/// An id for a title that no released program wrote.
fn slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

/// Every rule that this version had, by its title.
#[rustfmt::skip]
const RULES: [RuleName; 27] = [
    RuleName { id: "database-read-average", group: Group::Limits, title: "database read, average" },
    RuleName { id: "database-read-worst", group: Group::Limits, title: "database read, worst sample" },
    RuleName { id: "log-write-average", group: Group::Limits, title: "log write, average" },
    RuleName { id: "log-write-worst", group: Group::Limits, title: "log write, worst sample" },
    RuleName { id: "page-fault-stalls", group: Group::Limits, title: "page-fault stalls, average" },
    RuleName { id: "achieved-io", group: Group::Limits, title: "achieved database I/O" },
    RuleName { id: "achieved-headroom", group: Group::Limits, title: "achieved with headroom" },
    RuleName { id: "sessions-found", group: Group::Limits, title: "sessions found" },
    RuleName { id: "databases-backed-up", group: Group::Limits, title: "databases backed up" },
    RuleName { id: "databases-restored", group: Group::Limits, title: "databases restored" },
    RuleName { id: "logs-replayed", group: Group::Limits, title: "logs replayed, each instance" },
    RuleName { id: "pages-verified", group: Group::Integrity, title: "pages verified" },
    RuleName { id: "logs-verified", group: Group::Integrity, title: "logs verified" },
    RuleName { id: "records-verified", group: Group::Integrity, title: "records verified" },
    RuleName { id: "io-errors", group: Group::Integrity, title: "I/O errors" },
    RuleName { id: "hung-io", group: Group::Integrity, title: "hung I/O" },
    RuleName { id: "stationary-io-rate", group: Group::Steadiness, title: "stationary, I/O rate" },
    RuleName { id: "stationary-database-read", group: Group::Steadiness, title: "stationary, database read" },
    RuleName { id: "stationary-log-write", group: Group::Steadiness, title: "stationary, log write" },
    RuleName { id: "tail-database-read", group: Group::Tail, title: "tail, database read p99.9" },
    RuleName { id: "tail-log-write", group: Group::Tail, title: "tail, log write p99.9" },
    RuleName { id: "tail-operation", group: Group::Tail, title: "tail, operation p99" },
    RuleName { id: "device-agrees", group: Group::FairTest, title: "device agrees" },
    RuleName { id: "tester-delay", group: Group::FairTest, title: "tester, delay p99" },
    RuleName { id: "tester-processor", group: Group::FairTest, title: "tester, processor" },
    RuleName { id: "host-stolen-time", group: Group::FairTest, title: "host, stolen time" },
    RuleName { id: "host-throttled-time", group: Group::FairTest, title: "host, throttled time" },
];
