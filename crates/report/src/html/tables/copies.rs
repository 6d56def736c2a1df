//! Passive copies: how far they were behind, and what they were worth.

use crate::result::{CopyScan, PassiveCopy, RunResult};
use crate::table::{Cell, Column, Row, Table};

/// A row for each copy.
pub(super) fn copies(result: &RunResult) -> Table {
    let copies = result.storage.servers.iter();
    let copies = copies.flat_map(|server| &server.copies);
    let words = ["Copy", "Of"];
    let numbers = [
        "Lag (s)",
        "Seed (s)",
        "Logs",
        "Database reads per second",
        "Database writes per second",
        "Copy queue, longest",
        "Replay queue, longest",
        "Replay queue, last",
        "Pages scanned",
        "Bad pages",
        "Pages repaired",
        "Pages given",
        "Catching up (s)",
        "Records compared",
        "Pages verified",
    ];
    let columns = Column::of(&words, &numbers);
    let columns = columns.into_iter().chain(["Outcome", "Best copy"].map(Column::words));
    Table::new(columns, copies.map(row))
        .titled("Passive copies")
        .noted("Queues are in logs, at the end of each sample. The replay queue of a lagged copy is wanted. The best copy of an \
             instance is the one to activate if its active is lost after the last sample.")
}

fn row(copy: &PassiveCopy) -> Row {
    let [stored, replayed] = copy.longest();
    let last = copy.replay_queue_logs.last().copied();
    let logs =
        |logs: Option<u32>| logs.map_or(Cell::from("not measured"), |logs| u64::from(logs).into());
    let count = |count: Option<u64>| count.map_or(Cell::from("not measured"), Cell::from);
    let scanned = |scan: fn(&CopyScan) -> Option<u64>| match &copy.scan {
        Some(own) => count(scan(own)),
        None => "no maintenance".into(),
    };
    let figure = |figure: Option<f64>| figure.map_or(Cell::from("not measured"), Cell::from);
    let outcome = match copy.is_wrong {
        Some(false) => "as its active".to_owned(),
        Some(true) => copy.remark.clone(),
        None => format!("not verified: {}", copy.remark),
    };
    Row::new([
        Cell::from(copy.name.as_str()),
        copy.instance.as_str().into(),
        copy.lag_s.into(),
        copy.seed_s.into(),
        copy.logs.into(),
        figure(copy.database_reads_per_s),
        figure(copy.database_writes_per_s),
        logs(stored),
        logs(replayed),
        logs(last),
        scanned(|scan| scan.pages_judged),
        scanned(|scan| scan.pages_bad),
        count(copy.pages_repaired),
        count(copy.pages_given),
        figure(copy.catch_up_s),
        count(copy.records_checked),
        count(copy.pages_seen),
        outcome.into(),
        copy.best.clone().unwrap_or_default().into(),
    ])
}
