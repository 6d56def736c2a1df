//! Runs that are not one test, side by side: a row each, and no totals.

use crate::Run;
use crate::result::IoNumbers;
use crate::table::{Cell, Column, Row, Table};

/// A row for each of `runs`, each with its label.
pub fn side_by_side(runs: &[(String, Run)]) -> Table {
    let words = ["run", "server", "began", "test", "verdict"].map(Column::words);
    let numbers = ["I/O /s", "target", "read ms", "log ms"].map(Column::numbers);
    let rows = runs.iter().map(|(name, run)| row(name, run));
    Table::new(words.into_iter().chain(numbers), rows)
}

fn row(name: &str, run: &Run) -> Row {
    let result = &run.result;
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
    Row::new([
        name.into(),
        servers.join(", ").into(),
        result.times.started.into(),
        result.storage.test.as_str().into(),
        result.verdict.to_string().into(),
        Cell::from(result.storage.achieved_iops),
        result.storage.target_iops.into(),
        reads.latency_ms_mean.into(),
        logs.latency_ms_mean.into(),
    ])
}
