//! The tables that readers of Jetstress reports look for, in the order and with the names of Jetstress 2013.
//!
//! Source of sections, columns and their order: published reports of Jetstress 15.00.0995 (Dell PowerVault MD3820f, ESRP
//! 4.0, 2015) and the scripts named in [`super`]. Where several databases share a log stream their I/O is added up,
//! because an instance was the unit of that program's counters.

use super::table::{Row, Table};
use crate::result::{Instance, IoNumbers, RunResult};
use crate::{Timestamp, decimals, grouped};

/// All of them.
pub(super) fn all(result: &RunResult) -> Vec<Table> {
    vec![
        summary(result),
        sizing(result),
        parameters(result),
        configuration(result),
        transactional(result),
        maintenance(result),
        replication(result),
        total(result),
        host(result),
    ]
}

fn summary(result: &RunResult) -> Table {
    let (times, host) = (&result.times, &result.host);
    let when = |time: Option<Timestamp>| time.map_or("-".to_owned(), |time| time.to_string());
    let mut table = Table::pairs(
        "Test Summary",
        vec![
            ("Overall Test Result", result.verdict.to_string()),
            ("Machine Name", host.name.clone()),
            ("Test Description", result.setup.description.clone()),
            ("Test Start Time", times.started.to_string()),
            ("Test End Time", times.ended.to_string()),
            ("Collection Start Time", when(times.collection_started)),
            ("Collection End Time", when(times.collection_ended)),
            ("brunt Version", result.origin.version.clone()),
            (
                "Operating System",
                format!("{}, Linux {}", host.operating_system, host.kernel),
            ),
            ("Performance Log", "counters.csv, latency.hlog".to_owned()),
        ],
    );
    table.rows[0].class = match result.verdict {
        crate::result::Verdict::Pass => "success",
        _ => "failure",
    };
    table
}

fn sizing(result: &RunResult) -> Table {
    let sizing = &result.sizing;
    let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.3}"));
    let files: usize = result.instances.iter().map(|i| i.databases.len()).sum();
    Table::pairs(
        "Database Sizing and Throughput",
        vec![
            (
                "Achieved Transactional I/O per Second",
                rate(sizing.achieved_io_per_s).unwrap_or("-".to_owned()),
            ),
            (
                "Target Transactional I/O per Second",
                rate(sizing.target_io_per_s).unwrap_or("none set".to_owned()),
            ),
            (
                "Initial Database Size (bytes)",
                sizing.db_bytes_initial.to_string(),
            ),
            (
                "Final Database Size (bytes)",
                sizing.db_bytes_final.to_string(),
            ),
            ("Database Files (Count)", files.to_string()),
        ],
    )
}

fn parameters(result: &RunResult) -> Table {
    let setup = &result.setup;
    let percent = |share: u32| format!("{share} %");
    let mebibytes = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    Table::pairs(
        "Jetstress System Parameters",
        vec![
            ("Thread Count (sessions)", setup.sessions.to_string()),
            (
                "Minimum Database Cache (MiB)",
                mebibytes(setup.cache_bytes_min),
            ),
            (
                "Maximum Database Cache (MiB)",
                mebibytes(setup.cache_bytes_max),
            ),
            ("Insert Operations", percent(setup.insert_percent)),
            ("Delete Operations", percent(setup.delete_percent)),
            ("Replace Operations", percent(setup.replace_percent)),
            ("Read Operations", percent(setup.read_percent)),
            ("Lazy Commits", percent(setup.lazy_commit_percent)),
            (
                "Run Background Database Maintenance",
                if setup.background_maintenance {
                    "True"
                } else {
                    "False"
                }
                .to_owned(),
            ),
            ("Number of Copies per Database", setup.copies.to_string()),
        ],
    )
}

fn configuration(result: &RunResult) -> Table {
    let row = |instance: &Instance| {
        let paths: Vec<_> = instance.databases.iter().map(|d| d.path.as_str()).collect();
        Row::new(vec![
            instance.name.clone(),
            instance.log.path.clone(),
            paths.join(", "),
        ])
    };
    Table::grid(
        "Database Configuration",
        &["Instance", "Log path", "Database"],
        result.instances.iter().map(row).collect(),
    )
}

const IO_COLUMNS: [&str; 13] = [
    "MSExchange Database ==> Instances",
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
    fn row(&self, name: &str) -> Row {
        let mut cells = vec![name.to_owned()];
        for (reads, writes) in [
            (&self.database_reads, &self.database_writes),
            (&self.log_reads, &self.log_writes),
        ] {
            cells.extend([latency(reads), latency(writes), rate(reads), rate(writes)]);
            cells.extend([mean_bytes(reads), mean_bytes(writes)]);
        }
        Row::new(cells)
    }
}

// A stream without I/O reads 0.000, as it did there.
fn latency(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.latency_ms_mean.unwrap_or(0.0))
}

fn rate(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.per_s)
}

fn mean_bytes(stream: &IoNumbers) -> String {
    format!("{:.3}", stream.bytes_mean().unwrap_or(0.0))
}

fn transactional(result: &RunResult) -> Table {
    let row = |instance: &Instance| {
        let streams = Streams {
            database_reads: IoNumbers::together(instance.databases.iter().map(|d| &d.reads)),
            database_writes: IoNumbers::together(instance.databases.iter().map(|d| &d.writes)),
            log_reads: instance.log.reads,
            log_writes: instance.log.writes,
        };
        streams.row(&instance.name)
    };
    Table::grid(
        "Transactional I/O Performance",
        &IO_COLUMNS,
        result.instances.iter().map(row).collect(),
    )
}

fn maintenance(result: &RunResult) -> Table {
    let row = |instance: &Instance| {
        let databases = instance.databases.iter();
        let reads = IoNumbers::together(databases.map(|d| &d.maintenance_reads));
        Row::new(vec![
            instance.name.clone(),
            rate(&reads),
            mean_bytes(&reads),
        ])
    };
    Table::grid(
        "Background Database Maintenance I/O Performance",
        &[
            IO_COLUMNS[0],
            "Database Maintenance IO Reads/sec",
            "Database Maintenance IO Reads Average Bytes",
        ],
        result.instances.iter().map(row).collect(),
    )
}

fn replication(result: &RunResult) -> Table {
    let row = |instance: &Instance| {
        let reads = &instance.log.replication_reads;
        Row::new(vec![instance.name.clone(), rate(reads), mean_bytes(reads)])
    };
    Table::grid(
        "Log Replication I/O Performance",
        &[IO_COLUMNS[0], IO_COLUMNS[9], IO_COLUMNS[11]],
        result.instances.iter().map(row).collect(),
    )
}

fn total(result: &RunResult) -> Table {
    let row = |instance: &Instance| {
        let databases = &instance.databases;
        let reads = databases
            .iter()
            .flat_map(|d| [&d.reads, &d.maintenance_reads]);
        let log = &instance.log;
        let streams = Streams {
            database_reads: IoNumbers::together(reads),
            database_writes: IoNumbers::together(databases.iter().map(|d| &d.writes)),
            log_reads: IoNumbers::together([&log.reads, &log.replication_reads]),
            log_writes: IoNumbers::together([&log.writes, &log.format_writes]),
        };
        streams.row(&instance.name)
    };
    Table::grid(
        "Total I/O Performance",
        &IO_COLUMNS,
        result.instances.iter().map(row).collect(),
    )
    .noted("With background maintenance, log replication, and log files formatted before use.")
}

fn host(result: &RunResult) -> Table {
    let number = |number: f64| match number {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        whole if whole.fract() == 0.0 && whole >= 0.0 => grouped(whole as u64),
        other => decimals(other),
    };
    let rows = result.host.counters.iter().map(|counter| {
        let numbers = [counter.mean, counter.min, counter.max].map(number);
        Row::new([vec![counter.name.clone()], numbers.to_vec()].concat())
    });
    Table::grid(
        "Host System Performance",
        &["Counter", "Average", "Minimum", "Maximum"],
        rows.collect(),
    )
}
