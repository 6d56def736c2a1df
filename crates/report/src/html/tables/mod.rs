//! Tables that Jetstress does not have: rules, passive copies, I/O by file with percentiles,
//! verification, durability, volumes, devices, origin.

mod checksum;
mod copies;
mod devices;
mod fleet;
mod io;
mod model;
mod phases;

pub(super) use fleet::{fleet, prediction};
pub(super) use io::servers;

use serde::Serialize;

use crate::decimals;
use crate::result::{
    Backend, Machine, Outcome, Rule, RuleGroup, RunResult, Tuning, World, WriteCache,
};
use crate::table::{Cell, Column, Row, Table};
use brunt_units::ByteSize;

/// A group of rules.
#[derive(Serialize)]
pub(super) struct Rules {
    summary: String,
    is_open: bool,
    table: Table,
}

/// The rules and their outcomes, group by group.
pub(super) fn rules(result: &RunResult) -> Vec<Rules> {
    let shown = result.shown_rules();
    let groups = RuleGroup::all(&shown);
    let rules = groups.iter().map(|group| Rules {
        summary: group.summary(),
        is_open: !group.is_folded(),
        table: of_group(group),
    });
    rules.collect()
}

/// The same without what is open.
pub(super) fn rule_groups(result: &RunResult) -> Vec<(String, Table)> {
    let groups = RuleGroup::all(&result.rules);
    let groups = groups.iter().map(|group| (group.summary(), of_group(group)));
    groups.collect()
}

fn of_group(group: &RuleGroup<'_>) -> Table {
    let table = match group.rules[0].server {
        Some(_) => by_server(group),
        None => of_one(group),
    };
    table.titled(&group.group.to_string())
}

fn of_one(group: &RuleGroup<'_>) -> Table {
    let rows = group.rules.iter().map(|rule| {
        let cells = vec![
            rule.title.clone(),
            rule.limit_in_words(),
            rule.measured_in_words(),
            rule.used_in_words(),
            rule.outcome.to_string(),
            rule.remark.clone(),
        ];
        Row::classed(cells, class(rule.outcome))
    });
    let columns = Column::of(&["Rule"], &["Limit", "Measured", "Used"]);
    let columns = columns.into_iter().chain(judged());
    Table::new(columns, rows)
}

fn judged() -> [Column; 2] {
    ["Outcome", "Remark"].map(Column::words)
}

/// A row for each rule, a column for each server. The outcome is the worst, and the remark that of
/// its server.
fn by_server(group: &RuleGroup<'_>) -> Table {
    let mut servers: Vec<&str> = group.rules.iter().map(|rule| server(rule)).collect();
    servers.sort_unstable();
    servers.dedup();
    let mut worst: Vec<&Rule> = Vec::new();
    // The first of each id is the worst: groups are sorted so.
    for rule in &group.rules {
        if worst.iter().all(|known| known.id != rule.id) {
            worst.push(rule);
        }
    }
    let rows = worst.into_iter().map(|worst| {
        let alike = group.rules.iter().filter(|rule| rule.id == worst.id);
        let is_one_limit = alike.clone().all(|rule| rule.limit == worst.limit);
        let of = |name: &&str| {
            let own = alike.clone().find(|rule| server(rule) == *name);
            own.map_or("-".to_owned(), |rule| match is_one_limit {
                true => rule.measured_in_words(),
                false => rule.measured_and_limit(),
            })
        };
        let limit = match is_one_limit {
            true => worst.limit_in_words(),
            false => "each its own".to_owned(),
        };
        let mut cells = vec![worst.title.clone(), limit];
        cells.extend(servers.iter().map(of));
        cells.push(worst.outcome.to_string());
        cells.push(match worst.outcome {
            Outcome::Ok => String::new(),
            _ => format!("{}: {}", server(worst), worst.remark),
        });
        Row::classed(cells, class(worst.outcome))
    });
    let numbers = [&["Limit"], servers.as_slice()].concat();
    let columns = Column::of(&["Rule"], &numbers);
    Table::new(columns.into_iter().chain(judged()), rows)
}

fn server(rule: &Rule) -> &str {
    rule.server.as_deref().unwrap_or_default()
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Advisory => "advisory",
        Outcome::NotMeasured | Outcome::NotJudged => "unmeasured",
    }
}

/// Tables that Jetstress reports do not have.
pub(super) fn further(result: &RunResult) -> Vec<Table> {
    let mut tables = model::model(result);
    tables.extend(result.storage.details.tuning.as_ref().map(tuning));
    tables.extend([
        copies::copies(result),
        checksum::checksum(result),
        phases::restores(result),
        content(result),
        io::spread(result),
    ]);
    tables.extend(phases::all(result));
    tables.extend([durability(result), volumes(result), devices::devices(result)]);
    tables
}

/// What storage that reduces data sees.
fn content(result: &RunResult) -> Table {
    let rows = result.storage.content.iter().map(|content| {
        Row::new([
            Cell::from(ByteSize::bytes(content.block_bytes).to_string()),
            content.blocks.into(),
            content.compressible_percent.into(),
            content.duplicate_percent.into(),
            content.inside_percent.into(),
        ])
    });
    let numbers = ["Blocks", "Saved by compression (%)", "Copies (%)", "Inside a record (%)"];
    Table::new(Column::of(&["Blocks of"], &numbers), rows)
        .titled("Content of databases, as storage sees it")
        .noted("A sample of used pages after the test. Each block is compressed by itself, as LZ4 does; copies are equal blocks in the sample, and only blocks inside one record can be.")
}

/// The trials of tuning.
fn tuning(tuning: &Tuning) -> Table {
    let rows = tuning.trials.iter().map(|trial| {
        Row::new([
            match trial.is_paced {
                true => Cell::from("paced"),
                false => "closed loop".into(),
            },
            u64::from(trial.sessions).into(),
            trial.io_per_s.into(),
            trial.db_read_ms.into(),
            trial.log_write_ms.into(),
            trial.page_fault_stalls_per_s.into(),
            trial.outcome.as_str().into(),
        ])
    });
    let numbers =
        ["Sessions", "I/O per second", "Database read (ms)", "Log write (ms)", "Stalls per second"];
    let columns = Column::of(&["Load"], &numbers);
    Table::new(columns.into_iter().chain([Column::words("Outcome")]), rows)
        .titled("Tuning")
        .noted(&tuning.outcome)
}

fn durability(result: &RunResult) -> Table {
    let logs = result.storage.servers.iter();
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
        Row::new([
            Cell::from(log.path.as_str()),
            log.method.as_str().into(),
            cache.into(),
            fua.into(),
            log.log_latency_ms_mean.into(),
            measured(log.flush_share.map(Cell::Share)),
        ])
    });
    let words = ["Log", "Durable write method", "Device write cache", "FUA"];
    let columns = Column::of(&words, &["Mean latency (ms)", "Flush share"]);
    Table::new(columns, rows).titled("Durability")
}

fn volumes(result: &RunResult) -> Table {
    let volumes = result.storage.servers.iter();
    let volumes = volumes.flat_map(|server| &server.details.backend.volumes);
    let rows = volumes.map(|volume| {
        Row::new([
            Cell::from(volume.mount.as_str()),
            volume.file_system.as_str().into(),
            volume.device.as_str().into(),
            volume.engine_reads.into(),
            measured(volume.device_reads.map(Cell::Count)),
        ])
    });
    let words = ["Mounted at", "File system", "Device"];
    let numbers = ["Reads by the engine", "Reads at the device"];
    Table::new(Column::of(&words, &numbers), rows)
        .titled("Volumes")
        .noted("Reads at the device are those that the kernel counted while the test measured.")
}

fn measured(cell: Option<Cell>) -> Cell {
    cell.unwrap_or("not measured".into())
}

/// How the run was made.
pub(super) fn origin(result: &RunResult) -> Table {
    let origin = &result.origin;
    let mut rows = vec![
        ("Command", origin.command.clone()),
        ("Seed", origin.seed.to_string()),
        ("Run", origin.run_id.clone()),
        ("Program", origin.program()),
    ];
    for server in &result.storage.servers {
        rows.extend([
            ("Host", machine(&server.details.machine)),
            ("Backend", backend(result.world, &server.details.backend)),
        ]);
    }
    Table::pairs("How it was made", rows)
}

fn machine(machine: &Machine) -> String {
    if machine.processors == 0 {
        return format!("{}: in virtual time", machine.name);
    }
    let gibibytes = machine.memory_bytes as f64 / f64::from(1 << 30);
    let clock = match machine.clock {
        None => String::new(),
        Some(clock) if clock.synchronised => {
            format!("; clock within {} ms", decimals(clock.max_error_ms))
        }
        Some(_) => "; clock not synchronised".to_owned(),
    };
    format!(
        "{}: {} x {}, {} GiB; {}, Linux {}{clock}",
        machine.name,
        machine.processors,
        machine.processor,
        decimals(gibibytes),
        machine.operating_system,
        machine.kernel
    )
}

fn backend(world: World, backend: &Backend) -> String {
    let direct = match (world, backend.direct) {
        (World::Virtual, _) => "",
        (World::Real, true) => ", O_DIRECT",
        (World::Real, false) => ", through the page cache",
    };
    let remark = match backend.remark.as_str() {
        "" => String::new(),
        remark => format!(" ({remark})"),
    };
    format!("{}{direct}{remark}", backend.name)
}
