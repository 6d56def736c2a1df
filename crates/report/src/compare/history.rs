//! The history of a storage: one series of runs, and where it changes.
//!
//! A figure of a run is one value. Change points are looked for in the logarithms, so a change is a ratio
//! ([`brunt_stats::change_points`]). Ten figures would find ten times as many by chance, so each is held to a tenth of 5 %.

use brunt_stats::{Interval as Spread, change_points};
use brunt_world::random::Streams;
use serde::Serialize;

use super::figure::{FIGURES, Figure};
use super::sameness::{CompareError, is_whole, runs_differ};
use super::words::{from_to, percent};
use crate::result::Interval;
use crate::table::{Cell, Column, Row, Table};
use crate::{Run, Timestamp, counted, decimals};

/// Name and version of the format of a history.
pub const HISTORY_SCHEMA: &str = "brunt.history/1";

/// A history in which nothing changed has a change point at most this often.
const LEVEL: f64 = 0.05;
/// Fewer have no two parts of three runs.
const RUNS_MIN: usize = 6;
const SEED: u64 = 1;

/// A series of runs and its change points. Fields are only added.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = HISTORY_SCHEMA))]
pub struct History {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = HISTORY_SCHEMA)))]
    pub schema: String,
    /// What was found, in a sentence.
    pub sentence: String,
    /// The runs, oldest first.
    pub runs: Vec<HistoryRun>,
    /// Runs that were left out, and why.
    pub left_out: Vec<String>,
    /// Each figure that all runs have.
    pub figures: Vec<HistoryFigure>,
}

/// A run of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryRun {
    /// Its folder.
    pub run: String,
    /// When it began, in UTC.
    pub started: Timestamp,
}

/// A figure over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryFigure {
    /// Its name for programs.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// `/s` or `ms`.
    pub unit: String,
    /// Its value in each run.
    pub values: Vec<f64>,
    /// Where it changes, oldest first.
    pub changes: Vec<Change>,
}

/// A place where a figure changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change {
    /// The first run after the change: its place in `runs`, from 0.
    pub at: u64,
    /// Its folder.
    pub run: String,
    /// The geometric mean of the runs since the change before.
    pub before: f64,
    /// The geometric mean of the runs until the next change.
    pub after: f64,
    /// After / before.
    pub ratio: f64,
    /// Where the true ratio lies.
    pub interval: Interval,
    /// How often chance alone finds such a place, as a share.
    pub chance: f64,
}

/// The history of `runs`, each with its name; those that are not whole, or did other work than the newest, are left out. `folder` is
/// where they were found.
///
/// # Errors
/// [`CompareError::NoHistory`] with fewer than six that remain.
pub fn history(
    folder: &str,
    mut runs: Vec<(String, Run)>,
    mut left_out: Vec<String>,
) -> Result<History, CompareError> {
    runs.sort_by(|one, other| {
        let key = |run: &(String, Run)| (run.1.result.times.started, run.0.clone());
        key(one).cmp(&key(other))
    });
    runs.retain(|(name, run)| match is_whole(name, run) {
        Ok(()) => true,
        Err(why) => {
            left_out.push(
                why.to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
            false
        }
    });
    if let Some((_, newest)) = runs.last().cloned() {
        runs.retain(|(name, run)| {
            let differences = runs_differ(&newest, run);
            if let Some(first) = differences.first() {
                let (own, other) = (&first.b, &first.a);
                left_out.push(format!(
                    "{name}: {} {own}, and the newest has {other}",
                    first.what
                ));
            }
            differences.is_empty()
        });
    }
    if runs.len() < RUNS_MIN {
        return Err(CompareError::NoHistory {
            folder: folder.to_owned(),
            found: runs.len(),
            least: RUNS_MIN,
            skipped: left_out,
        });
    }
    let named: Vec<HistoryRun> = runs
        .iter()
        .map(|(name, run)| HistoryRun {
            run: name.clone(),
            started: run.result.times.started,
        })
        .collect();
    let series = FIGURES.iter().filter_map(|figure| {
        let logs = runs
            .iter()
            .map(|(_, run)| Some(figure.track(&run.samples)?.log));
        Some((figure, logs.collect::<Option<Vec<f64>>>()?))
    });
    let series: Vec<(&Figure, Vec<f64>)> = series.collect();
    let level = LEVEL / series.len().max(1) as f64;
    let figures = series.iter().map(|(figure, logs)| {
        let mut stream = Streams::new(SEED).named(figure.id);
        let found = change_points(logs, level, &mut |bound| stream.below(bound));
        let ends = found.iter().map(|change| change.at).chain([logs.len()]);
        let ends: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let changes = ends.windows(3).zip(&found).map(|(ends, change)| {
            let (before, after) = (&logs[ends[0]..ends[1]], &logs[ends[1]..ends[2]]);
            changed(
                before,
                after,
                change.at,
                change.chance,
                &named[change.at].run,
            )
        });
        HistoryFigure {
            id: figure.id.to_owned(),
            title: figure.title.to_owned(),
            unit: figure.unit.to_owned(),
            values: logs.iter().map(|log| log.exp()).collect(),
            changes: changes.collect(),
        }
    });
    let figures: Vec<HistoryFigure> = figures.collect();
    Ok(History {
        schema: HISTORY_SCHEMA.to_owned(),
        sentence: sentence(&named, &figures),
        runs: named,
        left_out,
        figures,
    })
}

fn changed(before: &[f64], after: &[f64], at: usize, chance: f64, run: &str) -> Change {
    let spread = |part: &[f64]| Spread::of(part).expect("three runs at least");
    let (one, other) = (spread(before), spread(after));
    let (log, half) = (other.mean - one.mean, one.half.hypot(other.half));
    Change {
        at: at as u64,
        run: run.to_owned(),
        before: one.mean.exp(),
        after: other.mean.exp(),
        ratio: log.exp(),
        interval: Interval {
            low: (log - half).exp(),
            high: (log + half).exp(),
            confidence: brunt_stats::CONFIDENCE,
        },
        chance,
    }
}

fn sentence(runs: &[HistoryRun], figures: &[HistoryFigure]) -> String {
    let places: std::collections::BTreeSet<u64> = figures
        .iter()
        .flat_map(|figure| figure.changes.iter().map(|change| change.at))
        .collect();
    let count = counted(runs.len() as u64, "run");
    match places.len() {
        0 => format!("{count}, and no figure changes."),
        1 => format!("{count}, and a change at one of them."),
        more => format!("{count}, and changes at {more} of them."),
    }
}

impl History {
    /// The text of the history for programs.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(self).expect("numbers and texts can be written");
        text.push('\n');
        text
    }

    /// The changes, oldest first.
    pub fn table(&self) -> Table {
        let columns = Column::of(
            &["from run", "figure"],
            &["before", "after", "change", "95 %"],
        );
        let mut rows: Vec<(u64, Row)> = Vec::new();
        for figure in &self.figures {
            for change in &figure.changes {
                let cells = [
                    short(&change.run).to_owned(),
                    format!("{}, {}", figure.title, figure.unit),
                    decimals(change.before),
                    decimals(change.after),
                    percent(change.ratio),
                    from_to(&change.interval),
                ];
                rows.push((change.at, Row::new(cells)));
            }
        }
        rows.sort_by_key(|(at, _)| *at);
        let rows = rows.into_iter().map(|(_, row)| row);
        Table::new(columns, rows).titled("Changes")
    }

    /// Every run with its figures.
    pub(crate) fn runs_table(&self) -> Table {
        let names: Vec<String> = self
            .figures
            .iter()
            .map(|figure| format!("{}, {}", figure.title, figure.unit))
            .collect();
        let words = ["run", "began"].map(Column::words).into_iter();
        let columns = words.chain(names.iter().map(Column::numbers));
        let rows = self.runs.iter().enumerate().map(|(at, run)| {
            let words = [Cell::from(short(&run.run)), run.started.into()];
            let numbers = self
                .figures
                .iter()
                .map(|figure| Cell::from(figure.values[at]));
            Row::new(words.into_iter().chain(numbers))
        });
        Table::new(columns, rows).titled("Runs")
    }
}

/// The folder's own name.
pub(crate) fn short(run: &str) -> &str {
    run.trim_end_matches('/').rsplit('/').next().unwrap_or(run)
}
