//! The tables that are our own: rules, I/O by file with percentiles, verification, durability, volumes, origin.

use super::table::{Row, Table};
use crate::result::{
    Backend, Instance, IoNumbers, LatencySummary, Machine, Outcome, RunResult, WriteCache,
};
use crate::{decimals, grouped};

/// The rules and what became of them.
pub(super) fn rules(result: &RunResult) -> Table {
    let text = |quantity: &Option<crate::result::Quantity>| {
        quantity
            .as_ref()
            .map_or("-".to_owned(), ToString::to_string)
    };
    let rows = result.rules.iter().map(|rule| {
        let cells = vec![
            rule.name.clone(),
            text(&rule.limit),
            text(&rule.measured),
            rule.outcome.to_string(),
            rule.remark.clone(),
        ];
        let class = match rule.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Advisory => "advisory",
            Outcome::NotMeasured => "unmeasured",
        };
        Row::classed(cells, class)
    });
    Table::grid(
        "Rules",
        &["Rule", "Limit", "Measured", "Outcome", "Remark"],
        rows.collect(),
    )
}

/// What Jetstress reports do not have.
pub(super) fn further(result: &RunResult) -> Vec<Table> {
    vec![
        verification(result),
        spread(result),
        by_file(result),
        durability(result),
        volumes(result),
    ]
}

/// Each server and all of them together; empty when there is only one.
pub(super) fn servers(result: &RunResult) -> Table {
    let mut all: Vec<&Instance> = Vec::new();
    let mut rows = Vec::new();
    for server in result.servers.iter().filter(|_| result.servers.len() > 1) {
        let own: Vec<&Instance> = server.instances.iter().collect();
        rows.push(server_row(&server.name, &own));
        all.extend(own);
    }
    if !rows.is_empty() {
        rows.push(server_row("Total", &all));
    }
    let head = [
        "Server",
        "Database I/Os/sec",
        "Database reads/sec",
        "Database writes/sec",
        "Log writes/sec",
        "Database read (ms)",
        "Database write (ms)",
        "Log write (ms)",
    ];
    Table::grid("Servers", &head, rows)
        .noted("I/O adds up; latencies are means over all I/Os of the row.")
}

fn server_row(name: &str, instances: &[&Instance]) -> Row {
    let databases = || instances.iter().flat_map(|i| &i.details.databases);
    let reads = IoNumbers::together(databases().map(|d| &d.reads));
    let writes = IoNumbers::together(databases().map(|d| &d.writes));
    let logs = IoNumbers::together(instances.iter().map(|i| &i.details.log.writes));
    let rates = [
        reads.per_s + writes.per_s,
        reads.per_s,
        writes.per_s,
        logs.per_s,
    ];
    let latencies = [&reads, &writes, &logs].map(|stream| {
        let mean = stream.latency_ms_mean;
        mean.map_or("-".to_owned(), decimals)
    });
    let mut cells = vec![name.to_owned()];
    cells.extend(rates.map(decimals));
    cells.extend(latencies);
    Row::new(cells)
}

/// How the latencies of each instance were spread, at the device and as an operation waits for it.
fn spread(result: &RunResult) -> Table {
    let several = result.servers.len() > 1;
    let mut rows = Vec::new();
    for server in &result.servers {
        for instance in &server.instances {
            let name = match several {
                true => format!("{} / {}", server.name, instance.name),
                false => instance.name.clone(),
            };
            for (what, summary) in [
                ("database read", &instance.db_read_latency),
                ("database write", &instance.db_write_latency),
                ("log write", &instance.log_write_latency),
                (
                    "operation, from its intended start",
                    &instance.operation_latency,
                ),
            ] {
                if summary.count > 0 {
                    rows.push(spread_row(&name, what, summary));
                }
            }
        }
    }
    let head = [
        "Instance",
        "Latency of",
        "Count",
        "p50 (ms)",
        "p95 (ms)",
        "p99 (ms)",
        "p99.9 (ms)",
        "Max (ms)",
    ];
    Table::grid("Latency by Instance", &head, rows).noted(
        "I/O counts from submission to completion. An operation counts from the moment at which it should have begun, so \
         that waiting behind others shows; its count is that of the instance's transactions.",
    )
}

fn spread_row(name: &str, what: &str, summary: &LatencySummary) -> Row {
    let millis = |millis: Option<f64>| millis.map_or("-".to_owned(), decimals);
    Row::new(vec![
        name.to_owned(),
        what.to_owned(),
        grouped(summary.count),
        millis(summary.p50_ms),
        millis(summary.p95_ms),
        millis(summary.p99_ms),
        millis(summary.p999_ms),
        millis(summary.max_ms),
    ])
}

fn by_file(result: &RunResult) -> Table {
    let several = result.servers.len() > 1;
    let mut rows = Vec::new();
    let mut add = |file: &str, stream: &str, numbers: &IoNumbers| {
        if numbers.count > 0 {
            rows.push(stream_row(file, stream, numbers));
        }
    };
    for server in &result.servers {
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
    let head = [
        "File",
        "I/O",
        "Per second",
        "Count",
        "Mean bytes",
        "Mean (ms)",
        "p50 (ms)",
        "p99 (ms)",
        "Max (ms)",
    ];
    Table::grid("I/O by File", &head, rows).noted(
        "Latency is from submission to completion. The p-th percentile is the smallest latency that p % of the I/Os \
         did not exceed, at most 0.8 % too high.",
    )
}

fn stream_row(file: &str, stream: &str, numbers: &IoNumbers) -> Row {
    let millis = |millis: Option<f64>| millis.map_or("-".to_owned(), decimals);
    Row::new(vec![
        file.to_owned(),
        stream.to_owned(),
        decimals(numbers.per_s),
        grouped(numbers.count),
        numbers.bytes_mean().map_or("-".to_owned(), decimals),
        millis(numbers.latency_ms_mean),
        millis(numbers.latency_ms_p50),
        millis(numbers.latency_ms_p99),
        millis(numbers.latency_ms_max),
    ])
}

fn verification(result: &RunResult) -> Table {
    let files = result.servers.iter().flat_map(|server| &server.checksum);
    let rows = files.map(|file| {
        let damaged = file.pages_bad + file.pages_wrong_number > 0;
        let cells = vec![
            file.file.clone(),
            grouped(file.pages_seen),
            grouped(file.pages_bad),
            grouped(file.pages_correctable),
            grouped(file.pages_wrong_number),
            grouped(file.bytes),
            decimals(file.seconds),
        ];
        Row::classed(cells, if damaged { "failed" } else { "" })
    });
    let head = [
        "Database",
        "Seen pages",
        "Bad pages",
        "Correctable pages",
        "Wrong page-number pages",
        "File length (bytes)",
        "Seconds taken",
    ];
    Table::grid("Checksum Statistics - All", &head, rows.collect())
}

fn durability(result: &RunResult) -> Table {
    let logs = result.servers.iter();
    let logs = logs.flat_map(|server| &server.details.durability);
    let rows = logs.map(|log| {
        let cache = match log.write_cache {
            WriteCache::WriteBack => "write back",
            WriteCache::WriteThrough => "write through",
            WriteCache::Unknown => "not reported",
        };
        let fua = match log.fua {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not reported",
        };
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        Row::new(vec![
            log.path.clone(),
            log.method.clone(),
            cache.to_owned(),
            fua.to_owned(),
            log.log_latency_ms_mean.map_or("-".to_owned(), decimals),
            log.flush_share.map_or("not measured".to_owned(), percent),
        ])
    });
    let head = [
        "Log",
        "A durable write is",
        "Device write cache",
        "FUA",
        "Mean latency (ms)",
        "Flush share",
    ];
    Table::grid("Durability", &head, rows.collect())
}

fn volumes(result: &RunResult) -> Table {
    let volumes = result.servers.iter();
    let volumes = volumes.flat_map(|server| &server.details.backend.volumes);
    let rows = volumes.map(|volume| {
        Row::new(vec![
            volume.mount.clone(),
            volume.file_system.clone(),
            volume.device.clone(),
            grouped(volume.engine_reads),
            volume
                .device_reads
                .map_or("not measured".to_owned(), grouped),
        ])
    });
    let head = [
        "Mounted at",
        "File system",
        "Device",
        "Reads by the engine",
        "Reads at the device",
    ];
    Table::grid("Volumes", &head, rows.collect())
        .noted("Reads at the device are the kernel's own count over the collection.")
}

/// How the run was made.
pub(super) fn origin(result: &RunResult) -> Table {
    let origin = &result.details.origin;
    let mut rows = vec![
        ("Command", origin.command.clone()),
        ("Seed", origin.seed.to_string()),
        ("Run", origin.run_id.clone()),
        ("Program", format!("brunt {}", origin.version)),
    ];
    for server in &result.servers {
        rows.extend([
            ("Host", machine(&server.details.machine)),
            ("Backend", backend(&server.details.backend)),
        ]);
    }
    Table::pairs("How it was made", rows)
}

fn machine(machine: &Machine) -> String {
    let gibibytes = machine.memory_bytes as f64 / f64::from(1 << 30);
    format!(
        "{}: {} x {}, {} GiB; {}, Linux {}",
        machine.name,
        machine.processors,
        machine.processor,
        decimals(gibibytes),
        machine.operating_system,
        machine.kernel
    )
}

fn backend(backend: &Backend) -> String {
    let direct = match backend.direct {
        true => ", O_DIRECT",
        false => ", through the page cache",
    };
    let remark = match backend.remark.as_str() {
        "" => String::new(),
        remark => format!(" ({remark})"),
    };
    format!("{}{direct}{remark}", backend.name)
}
