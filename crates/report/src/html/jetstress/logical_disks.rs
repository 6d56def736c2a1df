//! Jetstress 2007 and before: rates and latencies (in seconds) of the disk of each database and each log.

use super::named;
use crate::result::{IoNumbers, RunResult};
use crate::table::{Cell, Column, Row, Table};

pub(super) fn disks(result: &RunResult) -> Table {
    let mut rows = Vec::new();
    for (name, instance) in named(result) {
        let several = result.storage.servers.len() > 1;
        let place = |path: &str| match several {
            true => format!("{name}: {path}"),
            false => path.to_owned(),
        };
        for database in &instance.details.databases {
            let reads = IoNumbers::together([&database.reads, &database.maintenance_reads]);
            let label = format!("Database ({})", place(&database.path));
            rows.push(row(label, &reads, &database.writes, "(n/a)".into()));
        }
        let log = &instance.details.log;
        let reads = IoNumbers::together([&log.reads, &log.replication_reads]);
        let writes = IoNumbers::together([&log.writes, &log.format_writes]);
        let label = format!("Log ({})", place(&log.path));
        rows.push(row(label, &reads, &writes, super::mean_bytes(&writes)));
    }
    let numbers = [
        "Avg. Disk sec/Read",
        "Avg. Disk sec/Write",
        "Disk Reads/sec",
        "Disk Writes/sec",
        "Avg. Disk Bytes/Write",
    ];
    Table::new(Column::of(&["LogicalDisk"], &numbers), rows)
        .titled("Disk Subsystem Performance")
        .noted("Counted by the engine, with background maintenance and with log files formatted before use.")
}

fn row(label: String, reads: &IoNumbers, writes: &IoNumbers, write_bytes: Cell) -> Row {
    let seconds =
        |stream: &IoNumbers| Cell::Fixed(stream.latency_ms_mean.unwrap_or(0.0) / 1000.0, 6);
    Row::new([
        label.into(),
        seconds(reads),
        seconds(writes),
        super::rate(reads),
        super::rate(writes),
        write_bytes,
    ])
}
