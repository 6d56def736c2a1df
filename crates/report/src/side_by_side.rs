//! Runs that are not one test, beside one another: a row each, and nothing added up.

use crate::Run;
use crate::decimals;
use crate::result::IoNumbers;

/// What the columns of [`side_by_side`] are.
pub const SIDE_BY_SIDE: [&str; 9] = [
    "run", "server", "began", "test", "verdict", "I/O /s", "target", "read ms", "log ms",
];

/// A row for `run`, which is called `name`.
pub fn side_by_side(name: &str, run: &Run) -> Vec<String> {
    let result = &run.result;
    let number = |number: Option<f64>| number.map_or("-".to_owned(), decimals);
    let servers: Vec<&str> = result
        .storage
        .servers
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    let databases = result.instances().flat_map(|i| &i.details.databases);
    let reads = IoNumbers::together(databases.map(|database| &database.reads));
    let logs = result.instances().map(|instance| &instance.details.log);
    let logs = IoNumbers::together(logs.map(|log| &log.writes));
    vec![
        name.to_owned(),
        servers.join(", "),
        result.times.started.to_string(),
        result.storage.test.clone(),
        result.verdict.to_string(),
        number(result.storage.achieved_iops),
        number(result.storage.target_iops),
        number(reads.latency_ms_mean),
        number(logs.latency_ms_mean),
    ]
}
