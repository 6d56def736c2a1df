//! Jetstress 2010 and later: paths and I/O of each instance.

use super::{Named, latency, mean_bytes, named, rate};
use crate::result::{InstanceDetails, IoNumbers, RunResult};
use crate::table::{Cell, Column, Row, Table};

pub(super) fn all(result: &RunResult) -> [Table; 5] {
    [
        configuration(result),
        transactional(result),
        maintenance(result),
        replication(result),
        total(result),
    ]
}

fn configuration(result: &RunResult) -> Table {
    let row = |Named { name, instance, .. }: Named<'_>| {
        let databases = instance.details.databases.iter();
        let paths: Vec<_> = databases.map(|database| database.path.as_str()).collect();
        let log = format!("Log path: {}", instance.details.log.path);
        Row::new(vec![name, log, format!("Database: {}", paths.join(", "))])
    };
    let columns = ["Instance", "Log path", "Database"].map(Column::words);
    Table::new(columns, named(result).map(row)).titled("Database Configuration")
}

const INSTANCES: [&str; 1] = ["MSExchange Database ==> Instances"];

const IO_COLUMNS: [&str; 12] = [
    "I/O Database Reads Average Latency (msec)",
    "I/O Database Writes Average Latency (msec)",
    "I/O Database Reads/sec",
    "I/O Database Writes/sec",
    "I/O Database Reads Average Bytes",
    "I/O Database Writes Average Bytes",
    "I/O Log Reads Average Latency (msec)",
    "I/O Log Writes Average Latency (msec)",
    "I/O Log Reads/sec",
    "I/O Log Writes/sec",
    "I/O Log Reads Average Bytes",
    "I/O Log Writes Average Bytes",
];

/// Reads and writes of the databases and of the log of one instance.
struct Streams {
    database_reads: IoNumbers,
    database_writes: IoNumbers,
    log_reads: IoNumbers,
    log_writes: IoNumbers,
}

impl Streams {
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (reads, writes) in
            [(&self.database_reads, &self.database_writes), (&self.log_reads, &self.log_writes)]
        {
            cells.extend([latency(reads), latency(writes), rate(reads), rate(writes)]);
            cells.extend([mean_bytes(reads), mean_bytes(writes)]);
        }
        cells
    }
}

fn transactional(result: &RunResult) -> Table {
    let cells = |InstanceDetails { log, databases }: &InstanceDetails| {
        let streams = Streams {
            database_reads: IoNumbers::together(databases.iter().map(|d| &d.reads)),
            database_writes: IoNumbers::together(databases.iter().map(|d| &d.writes)),
            log_reads: log.reads,
            log_writes: log.writes,
        };
        streams.cells()
    };
    let row = |one: Named<'_>| one.row(IO_COLUMNS.len(), cells);
    Table::new(Column::of(&INSTANCES, &IO_COLUMNS), named(result).map(row))
        .titled("Transactional I/O Performance")
}

fn maintenance(result: &RunResult) -> Table {
    let cells = |streams: &InstanceDetails| {
        let databases = streams.databases.iter();
        let reads = IoNumbers::together(databases.map(|d| &d.maintenance_reads));
        vec![rate(&reads), mean_bytes(&reads)]
    };
    let row = |one: Named<'_>| one.row(2, cells);
    let numbers =
        ["Database Maintenance IO Reads/sec", "Database Maintenance IO Reads Average Bytes"];
    Table::new(Column::of(&INSTANCES, &numbers), named(result).map(row))
        .titled("Background Database Maintenance I/O Performance")
}

fn replication(result: &RunResult) -> Table {
    let cells = |streams: &InstanceDetails| {
        let reads = &streams.log.replication_reads;
        vec![rate(reads), mean_bytes(reads)]
    };
    let row = |one: Named<'_>| one.row(2, cells);
    let numbers = [IO_COLUMNS[8], IO_COLUMNS[10]];
    Table::new(Column::of(&INSTANCES, &numbers), named(result).map(row))
        .titled("Log Replication I/O Performance")
}

fn total(result: &RunResult) -> Table {
    let cells = |InstanceDetails { log, databases }: &InstanceDetails| {
        let reads = databases.iter().flat_map(|d| [&d.reads, &d.maintenance_reads]);
        let streams = Streams {
            database_reads: IoNumbers::together(reads),
            database_writes: IoNumbers::together(databases.iter().map(|d| &d.writes)),
            log_reads: IoNumbers::together([&log.reads, &log.replication_reads]),
            log_writes: IoNumbers::together([&log.writes, &log.format_writes]),
        };
        streams.cells()
    };
    let row = |one: Named<'_>| one.row(IO_COLUMNS.len(), cells);
    Table::new(Column::of(&INSTANCES, &IO_COLUMNS), named(result).map(row))
        .titled("Total I/O Performance")
        .noted("With background maintenance, log replication, and log files formatted before use.")
}
