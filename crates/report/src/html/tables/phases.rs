//! Each phase of a test with tables of its own: I/O by file and by volume, and the machine. And
//! what a restore took.

use super::{Cell, Column, Row, Table, io};
use crate::result::{HostCounter, Phase, PhaseIo, PhaseName, RunResult, Server, World};

/// All phases, in the order of the test.
pub(super) fn all(result: &RunResult) -> Vec<Table> {
    let servers = &result.storage.servers;
    if servers.iter().all(|server| server.phases.is_empty()) {
        return vec![io::by_file(result)];
    }
    let mut names: Vec<PhaseName> = Vec::new();
    for phase in servers.iter().flat_map(|server| &server.phases) {
        if !names.contains(&phase.phase) {
            names.push(phase.phase);
        }
    }
    names.into_iter().flat_map(|name| of_phase(result, name)).collect()
}

fn of_phase(result: &RunResult, name: PhaseName) -> Vec<Table> {
    let mut tables = vec![
        io_table(result, name, "File", |phase| &phase.files),
        io_table(result, name, "Volume", |phase| &phase.volumes),
    ];
    // That of the phase which the test is about stands among the tables of Jetstress.
    if result.world == World::Real && name != PhaseName::of_test(result.storage.test) {
        tables.push(host(result, name));
    }
    tables
}

fn servers(result: &RunResult, phase: PhaseName) -> impl Iterator<Item = (&Server, &Phase)> {
    let servers = result.storage.servers.iter();
    servers.filter_map(move |server| Some((server, server.phase(phase)?)))
}

/// `name`, with that of the server where there are several.
fn named(result: &RunResult, server: &Server, name: &str) -> String {
    match result.storage.servers.len() {
        1 => name.to_owned(),
        _ => format!("{} / {name}", server.name),
    }
}

fn io_table(
    result: &RunResult,
    name: PhaseName,
    what: &str,
    of: fn(&Phase) -> &Vec<PhaseIo>,
) -> Table {
    let rows = servers(result, name).flat_map(|(server, phase)| {
        let rows = of(phase).iter();
        rows.map(move |io| {
            let subject = io.name.as_ref().unwrap_or(&io.path);
            row(named(result, server, subject), io)
        })
    });
    let seconds: Vec<f64> = servers(result, name).map(|(_, one)| one.seconds).collect();
    let longest = seconds.into_iter().fold(0.0, f64::max);
    let numbers = [
        "Per second",
        "MiB/sec",
        "Count",
        "Mean bytes",
        "Mean (ms)",
        "p50 (ms)",
        "p99 (ms)",
        "Max (ms)",
    ];
    Table::new(Column::of(&[what, "I/O"], &numbers), rows)
        .titled(&format!("I/O by {what} - {name}"))
        .noted(&format!(
            "Over {} s. Latency is from submission to completion. The p-th percentile is the smallest latency that p % of the \
             I/Os did not exceed, at most 0.8 % too high.",
            crate::decimals(longest)
        ))
}

fn row(name: String, io: &PhaseIo) -> Row {
    let mean = io.numbers().bytes_mean().filter(|mean| *mean > 0.0);
    Row::new([
        Cell::from(name),
        io.io.to_string().into(),
        io.per_s.into(),
        io.rate.0.into(),
        io.count.into(),
        mean.into(),
        io.latency_ms_mean.into(),
        io.latency_ms_p50.into(),
        io.latency_ms_p99.into(),
        io.latency_ms_max.into(),
    ])
}

/// Counters of the machine; those that were not measured are left out, unless none was.
fn host(result: &RunResult, name: PhaseName) -> Table {
    let mut rows = Vec::new();
    for (server, phase) in servers(result, name) {
        let seen = phase.host.iter().filter(|counter| counter.avg.is_some());
        let seen: Vec<&HostCounter> = seen.collect();
        let row = |name: &str, values: [Cell; 3]| {
            let name = Cell::from(named(result, server, name));
            Row::new([name].into_iter().chain(values))
        };
        if seen.is_empty() {
            rows.push(row("all counters", [(); 3].map(|()| "not measured".into())));
        }
        rows.extend(seen.into_iter().map(|counter| {
            let values = [counter.avg, counter.min, counter.max];
            row(&counter.counter, values.map(Cell::from))
        }));
    }
    let columns = Column::of(&["Counter"], &["Average", "Minimum", "Maximum"]);
    Table::new(columns, rows).titled(&format!("Host - {name}"))
}

/// What it took to restore backups; empty without any.
pub(super) fn restores(result: &RunResult) -> Table {
    let servers = result.storage.servers.iter();
    let rows = servers.filter_map(|server| {
        let restore = server.restore.as_ref()?;
        Some(Row::new([
            Cell::from(server.name.as_str()),
            restore.from.as_str().into(),
            restore.size.0.into(),
            restore.copy_seconds.into(),
            restore.seconds.into(),
            restore.rate.0.into(),
        ]))
    });
    let numbers =
        ["MiB restored", "Copied and compared (s)", "Databases usable (s)", "MiB/sec, all"];
    Table::new(Column::of(&["Server", "Backup in"], &numbers), rows)
        .titled("Restore")
        .noted("Every byte is copied beside the databases, read back and compared, then moved into place; the logs are replayed.")
}
