//! Backup and recovery: each database, each server, all together.

use brunt_report::result::Server;
use brunt_report::{Cell, Column, ReportTables, Row, Table};

use super::{called, heading, purpose, some, text};
use crate::block::Block;
use crate::numbers::float;
use crate::paper::Kind;

pub(super) fn backup(kind: &Kind) -> Vec<Block> {
    blocks(kind, [backup_servers(kind), backups(kind)])
}

pub(super) fn recovery(kind: &Kind) -> Vec<Block> {
    blocks(kind, [recovery_servers(kind), recoveries(kind)])
}

fn blocks(kind: &Kind, tables: [Table; 2]) -> Vec<Block> {
    let result = &kind.run.result;
    let mut blocks = vec![
        heading(&format!("{} test", called(kind))),
        text(format!("{} {}", purpose(kind.kind), result.storage.details.sentence)),
    ];
    blocks.extend(tables.map(Block::Table));
    let further = ReportTables::of(result).further.into_iter();
    let restores = further.filter(|table| table.title() == "Restore" && !table.is_empty());
    blocks.extend(restores.map(Block::Table));
    blocks
}

/// The servers, and all of them where there are several.
fn groups(kind: &Kind) -> Vec<(String, Vec<&Server>)> {
    let servers = &kind.run.result.storage.servers;
    let mut groups: Vec<(String, Vec<&Server>)> =
        servers.iter().map(|server| (server.name.clone(), vec![server])).collect();
    if servers.len() > 1 {
        groups.push(("Sum".to_owned(), servers.iter().collect()));
    }
    groups
}

/// The name of a database, with its server where there are several.
fn named(kind: &Kind, server: &Server, name: &str) -> String {
    match kind.run.result.storage.servers.len() {
        1 => name.to_owned(),
        _ => format!("{} / {name}", server.name),
    }
}

fn backup_servers(kind: &Kind) -> Table {
    let rows = groups(kind).into_iter().map(|(name, servers)| {
        let all = || servers.iter().flat_map(|server| &server.backup);
        let count = all().count();
        let rate: f64 = all().map(|backup| backup.rate.0).sum();
        let size: f64 = all().map(|backup| backup.size.0).sum();
        Row::new([
            Cell::from(name),
            (count as u64).into(),
            size.into(),
            (rate / float(count as u64)).into(),
            rate.into(),
        ])
    });
    let numbers = ["Databases", "MiB read", "MiB/sec per database", "MiB/sec, all"];
    Table::new(Column::of(&["Server"], &numbers), rows)
        .titled("Database backup, by server")
        .noted("Databases are read at the same time, so their rates add up.")
}

fn backups(kind: &Kind) -> Table {
    let servers = kind.run.result.storage.servers.iter();
    let rows = servers.flat_map(|server| {
        server.backup.iter().map(move |backup| {
            Row::new([
                Cell::from(named(kind, server, &backup.instance)),
                backup.size.0.into(),
                backup.seconds.into(),
                backup.rate.0.into(),
            ])
        })
    });
    let numbers = ["MiB", "Seconds", "MiB/sec"];
    Table::new(Column::of(&["Database"], &numbers), rows).titled("Database backup, by database")
}

fn each(seconds: f64, logs: u64) -> Option<f64> {
    (logs > 0).then(|| seconds / float(logs))
}

fn recovery_servers(kind: &Kind) -> Table {
    let rows = groups(kind).into_iter().map(|(name, servers)| {
        let all = || servers.iter().flat_map(|server| &server.recovery);
        let logs: u64 = all().map(|recovery| recovery.logs).sum();
        let seconds: f64 = all().map(|recovery| recovery.seconds).sum();
        Row::new([Cell::from(name), logs.into(), seconds.into(), some(each(seconds, logs))])
    });
    let numbers = ["Logs replayed", "Seconds, sum", "Seconds per log, mean"];
    Table::new(Column::of(&["Server"], &numbers), rows).titled("Log replay, by server")
}

fn recoveries(kind: &Kind) -> Table {
    let servers = kind.run.result.storage.servers.iter();
    let rows = servers.flat_map(|server| {
        server.recovery.iter().map(move |recovery| {
            Row::new([
                Cell::from(named(kind, server, &recovery.instance)),
                recovery.logs.into(),
                recovery.seconds.into(),
                some(each(recovery.seconds, recovery.logs)),
            ])
        })
    });
    let numbers = ["Logs replayed", "Seconds", "Seconds per log"];
    Table::new(Column::of(&["Log stream"], &numbers), rows).titled("Log replay, by log stream")
}
