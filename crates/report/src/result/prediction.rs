//! What a model predicted, beside what was measured.

use serde::{Deserialize, Serialize};

use super::{Instance, RunResult, Server, Verdict};
use crate::compare::FIGURES;
use crate::decimals;
use crate::table::{Cell, Column, Row, Table};

/// What was predicted for a test, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prediction {
    /// The predicted verdict.
    pub verdict: Verdict,
    /// What is known of its errors, and what it leaves out.
    pub reasons: Vec<String>,
    /// First of all servers together, then of each in the order of the scenario.
    pub figures: Vec<PredictedFigure>,
}

/// A figure of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PredictedFigure {
    /// Its name for programs, as in a comparison: `database-read`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// `/s` for rates, `ms` for mean latencies.
    pub unit: String,
    /// Its server; null for all of them together.
    pub server: Option<String>,
    /// What was predicted; null for a latency without I/O.
    pub predicted: Option<f64>,
    /// What was measured; null where nothing was.
    pub measured: Option<f64>,
    /// How far the prediction is above what was measured, in percent of that; null without both.
    pub error_percent: Option<f64>,
    /// The least and the greatest such error in published tests; null where it is not known.
    pub known_error_percent: Option<[f64; 2]>,
}

impl Prediction {
    /// The figures of the predicted `result`, of which nothing is measured yet. `known` has the
    /// errors of a figure in published tests, by its name.
    pub fn new(
        result: &RunResult,
        reasons: Vec<String>,
        known: impl Fn(&str) -> Option<[f64; 2]>,
    ) -> Self {
        let names = result.storage.servers.iter().map(|server| Some(server.name.clone()));
        let figures = [None].into_iter().chain(names).flat_map(|server| {
            let values = values(result, server.as_deref());
            titles().zip(values).map(move |((id, title, unit), predicted)| PredictedFigure {
                id: id.to_owned(),
                title: title.to_owned(),
                unit: unit.to_owned(),
                server: server.clone(),
                predicted,
                measured: None,
                error_percent: None,
                known_error_percent: None,
            })
        });
        let known = |figure: PredictedFigure| PredictedFigure {
            known_error_percent: known(&figure.id),
            ..figure
        };
        Self { verdict: result.verdict, reasons, figures: figures.map(known).collect() }
    }

    /// The same beside the measured `result`; `is_whole` says whether that is of all servers.
    pub fn beside(mut self, result: &RunResult, is_whole: bool) -> Self {
        for figure in &mut self.figures {
            let measured = match figure.server.is_some() || is_whole {
                true => values(result, figure.server.as_deref()),
                false => [None; 4],
            };
            let mut measured = titles().zip(measured);
            let own = measured.find(|((id, ..), _)| *id == figure.id);
            figure.measured = own.and_then(|(_, value)| value);
            let both = figure.predicted.zip(figure.measured.filter(|measured| *measured > 0.0));
            figure.error_percent = both.map(|(model, real)| (model / real - 1.0) * 100.0);
        }
        self
    }

    /// The verdict for people.
    pub fn headline(&self) -> String {
        self.verdict.shown(true, false).0
    }

    /// A row for each figure: of all servers together, and of each if it should be `complete`.
    pub fn table(&self, complete: bool) -> Table {
        let words: &[&str] = if complete { &["server", "figure"] } else { &["figure"] };
        let columns = Column::of(words, &["predicted", "measured", "error", "published errors"]);
        let figures = self.figures.iter().filter(|figure| complete || figure.server.is_none());
        Table::new(columns, figures.map(|figure| figure.row(complete)))
    }
}

impl PredictedFigure {
    fn row(&self, with_server: bool) -> Row {
        let server = self.server.as_deref().unwrap_or("together");
        let percent = |value: f64| format!("{}{} %", sign(value), decimals(value.abs()));
        let known = self.known_error_percent.map(|[least, most]| {
            format!("{}{:.0} to {}{:.0} %", sign(least), least.abs(), sign(most), most.abs())
        });
        let own = [
            Cell::from(format!("{} {}", self.title, self.unit)),
            self.predicted.into(),
            self.measured.into(),
            self.error_percent.map_or(Cell::Nothing, |error| percent(error).into()),
            known.map_or_else(|| "not known".into(), Cell::from),
        ];
        Row::new(with_server.then(|| server.into()).into_iter().chain(own))
    }
}

fn sign(value: f64) -> char {
    if value < 0.0 { '-' } else { '+' }
}

/// The names and units of `values`: the means that decide a comparison.
fn titles() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let means = FIGURES.iter().filter(|figure| figure.decides && figure.is_mean());
    means.map(|figure| (figure.id, figure.title, figure.unit))
}

/// Database I/Os per second, and the mean latencies of database reads, writes and log writes, of
/// all servers or one.
fn values(result: &RunResult, server: Option<&str>) -> [Option<f64>; 4] {
    let is_meant = |one: &&Server| server.is_none_or(|name| one.name == name);
    let servers = || result.storage.servers.iter().filter(is_meant);
    if result.times.collection_s <= 0.0 || servers().next().is_none() {
        return [None; 4];
    }
    let instances = servers().flat_map(|server| &server.instances);
    let [reads, writes, logs] = Instance::primary_io(instances);
    let [read, write, log] = [&reads, &writes, &logs].map(|numbers| numbers.latency_ms_mean);
    [Some(reads.per_s + writes.per_s), read, write, log]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = include_str!("../../tests/report/result_v2.json");

    fn known(id: &str) -> Option<[f64; 2]> {
        (id == "database-io").then_some([-9.0, 25.0])
    }

    #[test]
    fn names_are_those_of_the_values() {
        let ids: Vec<_> = titles().map(|(id, ..)| id).collect();
        assert_eq!(ids, ["database-io", "database-read", "database-write", "log-write"]);
    }

    #[test]
    fn an_error_is_of_what_was_measured() {
        let measured = RunResult::from_json(RESULT).unwrap();
        let mut predicted = measured.clone();
        for server in &mut predicted.storage.servers {
            for database in server.instances.iter_mut().flat_map(|one| &mut one.details.databases) {
                database.reads.per_s *= 1.5;
                database.writes.per_s *= 1.5;
            }
        }
        let prediction = Prediction::new(&predicted, Vec::new(), known);
        let name = Some(measured.storage.servers[0].name.clone());
        assert_eq!(prediction.figures.len(), 8);
        assert!(prediction.figures.iter().all(|figure| figure.measured.is_none()));
        let beside = prediction.clone().beside(&measured, true);
        for server in [None, name.clone()] {
            let mut figures = beside.figures.iter().filter(|figure| figure.server == server);
            let io = figures.next().unwrap();
            assert!((io.error_percent.unwrap() - 50.0).abs() < 1e-9, "{io:?}");
            let same = figures.next().unwrap();
            assert_eq!((same.id.as_str(), same.error_percent), ("database-read", Some(0.0)));
        }
        let text = beside.table(false).to_text();
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("+50.0 %") && text.contains("-9 to +25 %"), "{text}");
        assert_eq!(beside.table(true).to_text().lines().count(), 9);
        // A part of the servers is not their sum, and one that is not there has no figures.
        let part = prediction.clone().beside(&measured, false);
        let is_there = |server: &Option<String>| {
            part.figures.iter().any(|one| one.server == *server && one.measured.is_some())
        };
        assert_eq!((is_there(&None), is_there(&name)), (false, true));
        let mut other = measured;
        other.storage.servers[0].name = "OTHER".to_owned();
        let none = prediction.beside(&other, false);
        assert!(none.figures.iter().all(|figure| figure.measured.is_none()));
    }
}
