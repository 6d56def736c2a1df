//! A result for a run whose `result.json` is missing or damaged.
//!
//! The tables name every stream, and so every database and log; the folder's name gives the name of
//! the run. Everything else is *unknown*. No table says which database belongs to which log. But
//! every instance has the same number of databases (other scenarios are refused), and names are
//! numbered in order.

use std::collections::BTreeSet;
use std::path::Path;

use crate::recorded::Recorded;
use crate::result::{
    Counts, DatabaseNumbers, Instance, InstanceDetails, LogNumbers, Measured, RunResult, TestKind,
};
use crate::{Event, Timestamp};

/// What the report says about such a run.
pub(crate) const LOST: &str = "Its result.json is missing or damaged, so how it ended is not known";

/// A result without numbers.
const UNKNOWN: &str = include_str!("unknown.json");

/// What is known of the run in `folder`: names, and when it began.
pub(crate) fn outline(folder: &Path, events: &[Event], recorded: &Recorded) -> RunResult {
    let mut result = RunResult::from_json(UNKNOWN).expect("it is part of the program");
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let named = Timestamp::of_folder(&name);
    if let Some((_, run)) = named {
        let kinds = TestKind::ALL.iter();
        let mut named = kinds.filter_map(|kind| run.strip_suffix(&format!("-{kind}")));
        result.scenario = named.next().unwrap_or(run).to_owned();
    }
    let began = named.map(|(began, _)| began);
    let logged = events.first().map(|event| event.at);
    result.times.started = began.or(logged).unwrap_or_default();
    let databases = names(recorded, &["read", "write", "maintenance"]);
    let logs = names(recorded, &["log-write"]);
    result.storage.database_files = databases.len() as u64;
    let each = databases.len().div_ceil(logs.len().max(1)).max(1);
    let mut databases = databases.chunks(each);
    let instance = |name: &String| {
        let own = databases.next().unwrap_or_default().iter();
        let details = InstanceDetails {
            log: LogNumbers::none("unknown"),
            databases: own.map(|name| DatabaseNumbers::none(name, "unknown")).collect(),
        };
        Instance::new(name, details, false, Counts::default(), &Measured::default())
    };
    result.storage.servers[0].instances = logs.iter().map(instance).collect();
    result
}

/// Names that have streams of these kinds, in numeric order: `DB2` before `DB10`.
fn names(recorded: &Recorded, kinds: &[&str]) -> Vec<String> {
    let streams = recorded.totals.keys();
    let parts = streams.filter_map(|stream| stream.rsplit_once('.'));
    let found = parts.filter(|(_, kind)| kinds.contains(kind));
    let found: BTreeSet<_> = found.map(|(name, _)| (name.len(), name)).collect();
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}
