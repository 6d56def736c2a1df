//! Jetstress 2007 and before: rates and latencies (in seconds) of the disk of each database and
//! each log.

use super::{Named, named};
use crate::result::{IoNumbers, RunResult};
use crate::table::{Cell, Column, Row, Table};

const NUMBERS: [&str; 5] = [
    "Avg. Disk sec/Read",
    "Avg. Disk sec/Write",
    "Disk Reads/sec",
    "Disk Writes/sec",
    "Avg. Disk Bytes/Write",
];

pub(super) fn disks(result: &RunResult) -> Table {
    let mut rows = Vec::new();
    for Named { name, instance, streams } in named(result) {
        let several = result.storage.servers.len() > 1;
        let place = |path: &str| match several {
            true => format!("{name}: {path}"),
            false => path.to_owned(),
        };
        let Some(streams) = &streams else {
            let databases = instance.details.databases.iter();
            let databases = databases.map(|one| format!("Database ({})", place(&one.path)));
            let log = format!("Log ({})", place(&instance.details.log.path));
            rows.extend(databases.chain([log]).map(|label| {
                let absent = std::iter::repeat_n(Cell::from("not measured"), NUMBERS.len());
                Row::new([Cell::from(label)].into_iter().chain(absent))
            }));
            continue;
        };
        for database in &streams.databases {
            let reads = IoNumbers::together([&database.reads, &database.maintenance_reads]);
            let label = format!("Database ({})", place(&database.path));
            rows.push(row(label, &reads, &database.writes, "(n/a)".into()));
        }
        let log = &streams.log;
        let reads = IoNumbers::together([&log.reads, &log.replication_reads]);
        let writes = IoNumbers::together([&log.writes, &log.format_writes]);
        let label = format!("Log ({})", place(&log.path));
        rows.push(row(label, &reads, &writes, super::mean_bytes(&writes)));
    }
    Table::new(Column::of(&["LogicalDisk"], &NUMBERS), rows)
        .titled("Disk Subsystem Performance")
        .noted("Counted by brunt, with background maintenance and with log files formatted before use.")
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
