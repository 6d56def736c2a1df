//! Runs that are not one test, side by side: a row each, and no totals. Drills have what they lost
//! and how long users waited.

use brunt_units::Span;

use crate::Run;
use crate::result::Drill;
use crate::table::{Cell, Column, Row, Table};

/// A row for each of `runs`, each with its label.
pub fn side_by_side(runs: &[(String, Run)]) -> Table {
    if runs.iter().all(|(_, run)| run.result.drill.is_some()) {
        return drills(runs);
    }
    let words = ["run", "server", "began", "test", "verdict"].map(Column::words);
    let numbers = ["I/O /s", "target", "read ms", "log ms"].map(Column::numbers);
    let rows = runs.iter().map(|(name, run)| row(name, run));
    Table::new(words.into_iter().chain(numbers), rows)
}

fn row(name: &str, run: &Run) -> Row {
    let result = &run.result;
    let servers: Vec<&str> = result.storage.servers.iter().map(|s| s.name.as_str()).collect();
    let [reads, _, logs] = result.primary_io();
    Row::new([
        name.into(),
        servers.join(", ").into(),
        result.times.started.into(),
        result.storage.test.word().into(),
        result.headline().into(),
        Cell::from(result.storage.achieved_iops),
        result.storage.target_iops.into(),
        reads.latency_ms_mean.into(),
        logs.latency_ms_mean.into(),
    ])
}

fn drills(runs: &[(String, Run)]) -> Table {
    let words = ["run", "scenario", "verdict", "failover"].map(Column::words);
    let numbers =
        ["commits lost", "records", "first lost", "users waited", "controls red", "history log"];
    let rows =
        runs.iter().filter_map(|(name, run)| Some(of_drill(name, run, run.result.drill.as_ref()?)));
    Table::new(words.into_iter().chain(numbers.map(Column::numbers)), rows)
}

/// The last failover of a drill, as in its report.
fn of_drill(name: &str, run: &Run, drill: &Drill) -> Row {
    let span = |seconds| Cell::from(Span::from_seconds(seconds).to_string());
    let red = drill.controls.iter().filter(|control| control.red).count();
    let lost = drill.rpo.filter(|rpo| rpo.transactions > 0);
    Row::new([
        name.into(),
        run.result.scenario.as_str().into(),
        run.result.headline().into(),
        drill.failovers.last().map(|one| one.kind.as_str()).into(),
        drill.rpo.map(|rpo| rpo.transactions).into(),
        drill.rpo.map(|rpo| rpo.records).into(),
        lost.map_or(Cell::Nothing, |rpo| span(rpo.seconds)),
        drill.rto_s.map_or(Cell::Nothing, span),
        format!("{red} of {}", drill.controls.len()).into(),
        Cell::Bytes(drill.replication.whl_peak_bytes),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunResult;
    use crate::result::{Verdict, World};

    const RESULT: &str = include_str!("../tests/report/result_v2.json");

    #[test]
    fn a_pass_shows_what_it_is_worth() {
        let listed = |world, qualifies| {
            let result = RunResult {
                world,
                qualifies,
                verdict: Verdict::Pass,
                drill: None,
                ..RunResult::from_json(RESULT).unwrap()
            };
            let run =
                Run { result, scenario: String::new(), events: Vec::new(), samples: Vec::new() };
            side_by_side(&[("a".to_owned(), run)]).to_text()
        };
        for (world, qualifies, wanted) in [
            (World::Real, true, "PASS "),
            (World::Real, false, "PASS, not a qualification "),
            (World::Virtual, false, "PREDICTED PASS "),
        ] {
            let text = listed(world, qualifies);
            assert!(text.contains(&format!("  {wanted}")), "{text}");
        }
    }
}
