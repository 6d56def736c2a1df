//! Reads `brunt.result/1` and converts it to the current version.
//!
//! | then | now |
//! | --- | --- |
//! | `test`, `achieved_iops` ... `servers`, `details` | the same under `storage` |
//! | `times`, `origin` | `times`, `origin` |
//! | `rules[].rule` | `title`; in a result of several servers the server preceded it |
//! | `rules[].value`, `bound` | `measured`, `direction` |
//!
//! Rules were identified by their titles, which map to today's ids.

use serde::Deserialize;

use super::{
    Direction, Group, Origin, Outcome, Rule, RuleName, RunResult, Storage, Times, Verdict, World,
};

/// Name of this version.
pub(super) const SCHEMA: &str = "brunt.result/1";

/// Fields that moved. Everything else is a [`Storage`].
#[derive(Deserialize)]
struct ResultV1 {
    scenario: String,
    world: World,
    verdict: Verdict,
    qualifies: bool,
    reasons: Vec<String>,
    rules: Vec<RuleV1>,
    details: DetailsV1,
}

#[derive(Deserialize)]
struct DetailsV1 {
    times: Times,
    origin: Origin,
}

#[derive(Deserialize)]
struct RuleV1 {
    rule: String,
    limit: Option<f64>,
    #[serde(default)]
    bound: Direction,
    value: Option<f64>,
    unit: String,
    outcome: Outcome,
    remark: String,
}

/// Reads a result of this version.
///
/// # Errors
/// The error of the JSON parser.
pub(super) fn read(text: &str) -> Result<RunResult, serde_json::Error> {
    let old: ResultV1 = serde_json::from_str(text)?;
    let mut storage: Storage = serde_json::from_str(text)?;
    // Every byte that it counted was read.
    let servers = storage.servers.iter_mut();
    for file in servers.flat_map(|server| &mut server.checksum) {
        file.bytes_read = Some(file.bytes);
    }
    let rules = old.rules.into_iter();
    Ok(RunResult {
        schema: super::SCHEMA.to_owned(),
        scenario: old.scenario,
        world: old.world,
        verdict: old.verdict,
        qualifies: old.qualifies,
        reasons: old.reasons,
        rules: rules.map(|old| rule(old, &storage)).collect(),
        times: old.details.times,
        origin: old.details.origin,
        storage,
        drill: None,
    })
}

fn rule(old: RuleV1, storage: &Storage) -> Rule {
    let (server, title) = split(&old.rule, storage);
    let known = RULES.iter().find(|name| name.title == title);
    Rule {
        id: known.map_or_else(|| slug(title), |name| name.id.to_owned()),
        group: known.map_or(Group::Limits, |name| name.group),
        server,
        subject: None,
        title: title.to_owned(),
        direction: old.bound,
        limit: old.limit,
        measured: old.value,
        interval: None,
        unit: old.unit,
        outcome: old.outcome,
        remark: old.remark,
    }
}

/// Splits the server from the title: `B: log write, average`.
fn split<'a>(rule: &'a str, storage: &Storage) -> (Option<String>, &'a str) {
    let names = storage.servers.iter().map(|server| &server.name);
    let mut found = names.filter_map(|name| {
        let title = rule.strip_prefix(name.as_str())?.strip_prefix(": ")?;
        Some((Some(name.clone()), title))
    });
    found.next().unwrap_or((None, rule))
}

/// An id for a title that no released program wrote.
fn slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

/// Every rule of this version, by its title.
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
