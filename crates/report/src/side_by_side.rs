//! Runs that are not one test, side by side: a row each, and no totals. Drills have what they lost
//! and how long users waited.

use brunt_units::Span;

use crate::result::{Drill, TestKind};
use crate::table::{Cell, Column, Row, Table};
use crate::{Run, RunResult, counted};

/// A run with its label, and where its report is, for a page that leads there.
#[derive(Clone, Debug)]
pub struct Listed {
    pub label: String,
    pub report: Option<String>,
    pub run: Run,
}

impl Listed {
    fn name(&self) -> Cell {
        match &self.report {
            Some(report) => Cell::Link(self.label.clone(), report.clone()),
            None => Cell::from(self.label.as_str()),
        }
    }
}

/// What `runs` are, how they ended, and which kinds of tests are missing for a sign-off.
pub fn in_a_sentence(runs: &[Listed]) -> String {
    let results = || runs.iter().map(|one| &one.run.result);
    let count = |of: &dyn Fn(&RunResult) -> bool| results().filter(|one| of(one)).count();
    let kinds = TestKind::ALL.map(|kind| {
        let found = count(&|result| result.storage.test.kind() == Some(kind));
        (kind.word(), found)
    });
    let others = count(&|result| result.storage.test.kind().is_none());
    let found = kinds.iter().copied().chain([("other", others)]);
    let found = found.filter(|(_, count)| *count > 0);
    let found: Vec<String> = found.map(|(word, count)| format!("{count} {word}")).collect();
    let mut headlines: Vec<String> = results().map(RunResult::headline).collect();
    headlines.sort();
    headlines.dedup();
    let headlines = headlines
        .iter()
        .map(|headline| format!("{} {headline}", count(&|result| result.headline() == *headline)));
    let headlines: Vec<String> = headlines.collect();
    let missing = missing(runs);
    let missing = match missing.as_slice() {
        _ if others == runs.len() => String::new(),
        [] => " Every kind is there.".to_owned(),
        missing => format!(" Missing: {}.", missing.join(", ")),
    };
    format!(
        "{}: {}; {}.{missing}",
        counted(runs.len() as u64, "run"),
        found.join(", "),
        headlines.join(", ")
    )
}

/// The kinds of tests that none of `runs` is.
pub fn missing(runs: &[Listed]) -> Vec<&'static str> {
    let is_there =
        |kind: &TestKind| runs.iter().any(|one| one.run.result.storage.test.kind() == Some(*kind));
    let missing = TestKind::ALL.into_iter().filter(|kind| !is_there(kind));
    missing.map(TestKind::word).collect()
}

/// A row for each of `runs`.
pub fn side_by_side(runs: &[Listed]) -> Table {
    if runs.iter().all(|one| one.run.result.drill.is_some()) {
        return drills(runs);
    }
    if runs.iter().all(|one| one.run.result.mail.is_some()) {
        return mails(runs);
    }
    let words = ["run", "server", "began", "test", "verdict"].map(Column::words);
    let numbers = ["I/O /s", "target", "read ms", "log ms"].map(Column::numbers);
    let rows = runs.iter().map(row);
    Table::new(words.into_iter().chain(numbers), rows)
}

fn row(one: &Listed) -> Row {
    let result = &one.run.result;
    let servers: Vec<&str> = result.storage.servers.iter().map(|s| s.name.as_str()).collect();
    let [reads, _, logs] = result.primary_io();
    Row::new([
        one.name(),
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

fn mails(runs: &[Listed]) -> Table {
    let words = ["run", "began", "servers", "verdict"].map(Column::words);
    let numbers = ["users", "accepted", "accepted /min", "found", "lost", "doubled", "changed"];
    let row = |one: &Listed| {
        let mail = one.run.result.mail.as_ref()?;
        let servers: Vec<&str> = mail.servers.iter().map(|one| one.name.as_str()).collect();
        Some(Row::new([
            one.name(),
            one.run.result.times.started.into(),
            servers.join(", ").into(),
            one.run.result.headline().into(),
            mail.users.into(),
            mail.ledger.accepted.into(),
            mail.accepted_per_min.into(),
            mail.ledger.found.into(),
            mail.ledger.lost.into(),
            mail.ledger.doubled.into(),
            mail.ledger.changed.into(),
        ]))
    };
    let columns = words.into_iter().chain(numbers.map(Column::numbers));
    Table::new(columns, runs.iter().filter_map(row))
}

fn drills(runs: &[Listed]) -> Table {
    let words = ["run", "scenario", "verdict", "failover"].map(Column::words);
    let numbers =
        ["commits lost", "records", "first lost", "users waited", "controls red", "history log"];
    let rows = runs.iter().filter_map(|one| Some(of_drill(one, one.run.result.drill.as_ref()?)));
    Table::new(words.into_iter().chain(numbers.map(Column::numbers)), rows)
}

/// The last failover of a drill, as in its report.
fn of_drill(one: &Listed, drill: &Drill) -> Row {
    let run = &one.run;
    let span = |seconds| Cell::from(Span::from_seconds(seconds).to_string());
    let red = drill.controls.iter().filter(|control| control.red).count();
    let lost = drill.rpo.filter(|rpo| rpo.transactions > 0);
    Row::new([
        one.name(),
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
    use crate::result::{Tested, Verdict, World};

    const RESULT: &str = include_str!("../tests/report/result_v2.json");

    fn listed_as(label: &str, run: Run) -> Listed {
        let report = Some(format!("runs/{label}/report.html"));
        Listed { label: label.to_owned(), report, run }
    }

    #[test]
    fn a_sentence_says_what_is_there_and_what_is_missing() {
        let of_kind = |kind, verdict| {
            let mut result = RunResult::from_json(RESULT).unwrap();
            (result.storage.test, result.verdict) = (Tested::Kind(kind), verdict);
            result.qualifies = true;
            let run = Run::of_result(result);
            listed_as("a<b", run)
        };
        let runs = [
            of_kind(TestKind::Performance, Verdict::Pass),
            of_kind(TestKind::Performance, Verdict::Fail),
            of_kind(TestKind::SoftRecovery, Verdict::Pass),
        ];
        assert_eq!(
            in_a_sentence(&runs),
            "3 runs: 2 performance, 1 soft-recovery; 1 FAIL, 2 PASS. Missing: stress, database-backup."
        );
        let html = side_by_side(&runs).to_html();
        assert!(html.contains("<a href=\"runs/a&lt;b/report.html\">a&lt;b</a>"), "{html}");
    }

    #[test]
    fn a_pass_shows_what_it_is_worth() {
        let shown = |world, qualifies| {
            let result = RunResult {
                world,
                qualifies,
                verdict: Verdict::Pass,
                drill: None,
                ..RunResult::from_json(RESULT).unwrap()
            };
            let run = Run::of_result(result);
            side_by_side(&[listed_as("a", run)]).to_text()
        };
        for (world, qualifies, wanted) in [
            (World::Real, true, "PASS "),
            (World::Real, false, "PASS, not a qualification "),
            (World::Virtual, false, "PREDICTED PASS "),
        ] {
            let text = shown(world, qualifies);
            assert!(text.contains(&format!("  {wanted}")), "{text}");
        }
    }
}
