//! Performance and stress: each server, all together, the rules, and pictures.

use brunt_report::result::{Group, RuleGroup, Server, World};
use brunt_report::{Cell, Column, Pictures, ReportTables, Row, Table};

use super::appendices::{measurable, possible};
use super::{below, called, heading, io_of, length, purpose, text};
use crate::block::Block;
use crate::paper::Kind;

pub(super) fn blocks(kind: &Kind) -> Vec<Block> {
    let result = &kind.run.result;
    let mut blocks = vec![heading(&format!("{} test", called(kind)))];
    let length = length(result.times.collection_s);
    let measured = match result.world {
        World::Virtual => format!("Simulated: {length} of virtual time."),
        World::Real => format!("Measured for {length}."),
    };
    blocks.push(text(format!(
        "{} {measured} {}",
        purpose(kind.kind),
        result.storage.details.sentence
    )));
    blocks.push(Block::Table(each_server(kind)));
    blocks.push(Block::Table(limits(kind)));
    let pictures = Pictures::of(&kind.run);
    if !pictures.drawn.is_empty() {
        blocks.push(below(&format!("{} over time", called(kind))));
    }
    blocks.extend(pictures.drawn.into_iter().map(Block::Picture));
    if !pictures.events.is_empty() {
        let events = pictures.events.into_iter().enumerate();
        let events = events.map(|(at, (time, event))| format!("{}: {time}, {event}", at + 1));
        blocks.push(text("What happened, by the numbers in the pictures:"));
        blocks.push(Block::List(events.collect()));
    }
    if !pictures.note.is_empty() {
        blocks.push(text(pictures.note));
    }
    blocks
}

/// A row for each server, and their sum.
fn each_server(kind: &Kind) -> Table {
    let servers = &kind.run.result.storage.servers;
    let mut rows: Vec<Row> = servers.iter().map(|server| row(&server.name, &[server])).collect();
    if servers.len() > 1 {
        let all: Vec<&Server> = servers.iter().collect();
        rows.push(row("Sum", &all));
    }
    let numbers = [
        "Database I/Os/sec",
        "Database reads/sec",
        "Database writes/sec",
        "Read latency (ms)",
        "Write latency (ms)",
        "Log writes/sec",
        "Log write latency (ms)",
    ];
    Table::new(Column::of(&["Server"], &numbers), rows)
        .titled(&format!("Primary storage, {} test", kind.kind))
        .noted("Rates add up; a latency is the mean over all I/Os of its row. Without maintenance and log shipping.")
}

fn row(name: &str, servers: &[&Server]) -> Row {
    let [reads, writes, logs] = io_of(servers);
    Row::new([
        Cell::from(name),
        (reads.per_s + writes.per_s).into(),
        reads.per_s.into(),
        writes.per_s.into(),
        reads.latency_ms_mean.into(),
        writes.latency_ms_mean.into(),
        logs.per_s.into(),
        logs.latency_ms_mean.into(),
    ])
}

/// The rules that everybody asks for; the others are in the appendix.
fn limits(kind: &Kind) -> Table {
    let groups = RuleGroup::all(&kind.run.result.rules);
    let tables = ReportTables::of(&kind.run.result).rules;
    let limits = groups.iter().position(|group| group.group == Group::Limits);
    let others: Vec<String> = groups
        .iter()
        .filter(|group| group.group != Group::Limits && measurable(kind, group))
        .map(|group| match kind.run.result.world {
            World::Real => group.summary(),
            World::Virtual => group.group.to_string(),
        })
        .collect();
    let table = limits.map_or_else(Table::default, |at| tables[at].1.clone());
    let table = possible(kind, table.titled("Limits"));
    match others.is_empty() {
        true => table,
        false => table.noted(&format!(
            "Other groups of rules: {}. The appendix has them all.",
            others.join("; ")
        )),
    }
}
