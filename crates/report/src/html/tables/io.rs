//! I/O in our own tables: by server, by instance with percentiles, and by file.

use super::{Cell, Column, Row, Table};
use crate::result::{Instance, IoNumbers, LatencySummary, RunResult, Work};

/// Each server and their sum; empty when there is only one.
pub(in crate::html) fn servers(result: &RunResult) -> Table {
    let test = result.storage.test;
    let mut all = Some(Vec::new());
    let mut rows = Vec::new();
    for server in result.storage.servers.iter().filter(|_| result.storage.servers.len() > 1) {
        let own = server.instances.iter().map(|instance| {
            let details = server.main_streams(test, instance)?;
            Some(Instance { details, ..instance.clone() })
        });
        let own: Option<Vec<Instance>> = own.collect();
        rows.push(server_row(&server.name, own.as_deref()));
        all = all.zip(own).map(|(all, own)| [all, own].concat());
    }
    if !rows.is_empty() {
        rows.push(server_row("Total", all.as_deref()));
    }
    let numbers = [
        "Database I/Os/sec",
        "Database reads/sec",
        "Database writes/sec",
        "Log writes/sec",
        "Database read (ms)",
        "Database write (ms)",
        "Log write (ms)",
    ];
    Table::new(Column::of(&["Server"], &numbers), rows)
        .titled("Servers")
        .noted("I/O adds up; latencies are means over all I/Os of the row.")
}

fn server_row(name: &str, instances: Option<&[Instance]>) -> Row {
    let Some(instances) = instances else {
        let absent = std::iter::repeat_n(Cell::from("not measured"), 7);
        return Row::new([Cell::from(name)].into_iter().chain(absent));
    };
    let [reads, writes, logs] = Instance::primary_io(instances.iter());
    let rates = [reads.per_s + writes.per_s, reads.per_s, writes.per_s, logs.per_s];
    let latencies = [&reads, &writes, &logs].map(|stream| stream.latency_ms_mean);
    let mut cells = vec![Cell::from(name)];
    cells.extend(rates.map(Cell::from));
    cells.extend(latencies.map(Cell::from));
    Row::new(cells)
}

/// The latency distribution of each instance, at the device and as operations wait for it.
pub(super) fn spread(result: &RunResult) -> Table {
    let several = result.storage.servers.len() > 1;
    let mut rows = Vec::new();
    for server in &result.storage.servers {
        for instance in &server.instances {
            let name = match several {
                true => format!("{} / {}", server.name, instance.name),
                false => instance.name.clone(),
            };
            for (what, summary) in [
                ("database read", &instance.db_read_latency),
                ("database write", &instance.db_write_latency),
                ("log write", &instance.log_write_latency),
                ("operation, from its intended start", &instance.operation_latency),
            ] {
                if summary.count > 0 {
                    rows.push(spread_row(&name, what, summary));
                }
            }
        }
    }
    let numbers = ["Count", "p50 (ms)", "p95 (ms)", "p99 (ms)", "p99.9 (ms)", "Max (ms)"];
    let columns = Column::of(&["Instance", "Latency of"], &numbers);
    let title = match result.storage.test.work() {
        Work::Replay => "Latency by Instance - log generation",
        Work::Load | Work::BackUp => "Latency by Instance",
    };
    Table::new(columns, rows).titled(title).noted(
        "I/O counts from submission to completion. An operation counts from the moment at which it should have begun, so \
         that waiting behind others shows; its count is that of the instance's transactions.",
    )
}

fn spread_row(name: &str, what: &str, summary: &LatencySummary) -> Row {
    Row::new([
        Cell::from(name),
        what.into(),
        summary.count.into(),
        summary.p50_ms.into(),
        summary.p95_ms.into(),
        summary.p99_ms.into(),
        summary.p999_ms.into(),
        summary.max_ms.into(),
    ])
}

/// I/O by file as the engine counted it: of runs that did not end, and of earlier programs.
pub(super) fn by_file(result: &RunResult) -> Table {
    let several = result.storage.servers.len() > 1;
    let mut rows = Vec::new();
    let mut add = |file: &str, stream: &str, numbers: &IoNumbers| {
        if numbers.count > 0 {
            rows.push(stream_row(file, stream, numbers));
        }
    };
    for server in &result.storage.servers {
        let named = |name: &str| match several {
            true => format!("{} / {name}", server.name),
            false => name.to_owned(),
        };
        for instance in &server.instances {
            for database in &instance.details.databases {
                let name = named(&database.name);
                add(&name, "read", &database.reads);
                add(&name, "write", &database.writes);
                add(&name, "maintenance read", &database.maintenance_reads);
            }
            let log = &instance.details.log;
            let name = named(&format!("{} log", instance.name));
            add(&name, "read", &log.reads);
            add(&name, "write", &log.writes);
            add(&name, "format", &log.format_writes);
            add(&name, "replication read", &log.replication_reads);
        }
    }
    let numbers =
        ["Per second", "Count", "Mean bytes", "Mean (ms)", "p50 (ms)", "p99 (ms)", "Max (ms)"];
    let columns = Column::of(&["File", "I/O"], &numbers);
    Table::new(columns, rows).titled("I/O by File").noted(
        "Latency is from submission to completion. The p-th percentile is the smallest latency that p % of the I/Os \
         did not exceed, at most 0.8 % too high.",
    )
}

fn stream_row(file: &str, stream: &str, numbers: &IoNumbers) -> Row {
    Row::new([
        Cell::from(file),
        stream.into(),
        numbers.per_s.into(),
        numbers.count.into(),
        numbers.bytes_mean().into(),
        numbers.latency_ms_mean.into(),
        numbers.latency_ms_p50.into(),
        numbers.latency_ms_p99.into(),
        numbers.latency_ms_max.into(),
    ])
}
