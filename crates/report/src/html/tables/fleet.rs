//! Hosts of a fleet: what happened to each.

use crate::decimals;
use crate::result::{FleetAgent, RunResult, Verdict};
use crate::table::{Cell, Column, Row, Table};

/// A row for each host; empty for other runs.
pub(in crate::html) fn fleet(result: &RunResult) -> Table {
    let Some(fleet) = &result.fleet else {
        return Table::new(Column::of(&[], &[]), []);
    };
    let words = ["Server", "Host", "Outcome"];
    let columns = Column::of(&words, &["Clock known to (ms)"]).into_iter();
    let columns = columns.chain([Column::words("What happened")]);
    let began = match (fleet.skew_ms, fleet.skew_bound_ms) {
        (Some(skew), Some(bound)) => format!(
            "Hosts began to collect {} ms apart, known to {} ms.",
            decimals(skew),
            decimals(bound)
        ),
        _ => "Fewer than two hosts began to collect.".to_owned(),
    };
    let slowest = fleet
        .slowest
        .as_ref()
        .map(|name| format!(" Database reads of {name} took longest on average."));
    Table::new(columns, fleet.agents.iter().map(row))
        .titled("Hosts")
        .noted(&format!(
            "{began}{} Rules show the worst server for each; report.html in a server's folder has all of its own.",
            slowest.unwrap_or_default()
        ))
}

fn row(agent: &FleetAgent) -> Row {
    let outcome = agent.outcome.map_or("ended with others", Verdict::word);
    let class = match agent.outcome {
        Some(Verdict::Pass) | None => "",
        Some(_) => "failed",
    };
    Row::classed(
        [
            Cell::from(agent.name.as_str()),
            agent.host.as_deref().unwrap_or("not reached").into(),
            outcome.into(),
            agent.offset_bound_ms.map_or(Cell::Nothing, |bound| decimals(bound).into()),
            agent.reason.as_deref().unwrap_or("").into(),
        ],
        class,
    )
}
