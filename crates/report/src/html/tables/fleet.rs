//! Hosts of a fleet: what happened to each, and what was predicted for them.

use crate::result::{FleetAgent, RunResult, Verdict};
use crate::table::{Cell, Column, Row, Table};
use crate::{capitalised, decimals};

/// A row for each host; empty for other runs.
pub(in crate::html) fn fleet(result: &RunResult) -> Table {
    let Some(fleet) = &result.fleet else {
        return Table::new(Column::of(&[], &[]), []);
    };
    let words = ["Server", "Host", "Outcome"];
    let columns = Column::of(&words, &["Clock known to (ms)"]).into_iter();
    let columns = columns.chain([Column::words("What happened")]);
    let began = fleet.apart().unwrap_or_else(|| "fewer than two hosts began to collect".to_owned());
    let began = capitalised(&began);
    let slowest = fleet
        .slowest
        .as_ref()
        .map(|name| format!(" Database reads of {name} took longest on average."));
    Table::new(columns, fleet.agents.iter().map(row))
        .titled("Hosts")
        .noted(&format!(
            "{began}.{} Rules show the worst server for each; report.html in a server's folder has all of its own.",
            slowest.unwrap_or_default()
        ))
}

/// A row for each predicted figure; empty without a prediction.
pub(in crate::html) fn prediction(result: &RunResult) -> Table {
    let Some(prediction) = result.fleet.as_ref().and_then(|fleet| fleet.prediction.as_ref()) else {
        return Table::new(Column::of(&[], &[]), []);
    };
    let reasons: Vec<String> =
        prediction.reasons.iter().map(|reason| format!(" {}.", capitalised(reason))).collect();
    prediction.table(true).titled("Predicted and measured").noted(&format!(
        "A model predicted {}. An error above 0 says that it predicted more than was measured.{}",
        prediction.headline().trim_start_matches("PREDICTED "),
        reasons.concat()
    ))
}

fn row(agent: &FleetAgent) -> Row {
    let [host, outcome] = agent.in_words();
    let class = match agent.outcome {
        Some(Verdict::Pass) | None => "",
        Some(_) => "failed",
    };
    Row::classed(
        [
            Cell::from(agent.name.as_str()),
            host.into(),
            outcome.into(),
            agent.offset_bound_ms.map_or(Cell::Nothing, |bound| decimals(bound).into()),
            agent.reason.as_deref().unwrap_or("").into(),
        ],
        class,
    )
}
