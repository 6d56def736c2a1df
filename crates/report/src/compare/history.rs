//! The history of a storage: one series of runs, where it changes, and whether the newest run is
//! worse.
//!
//! ```text
//!   o o o   o o o o | x x x   x          change points: several runs on each side, so last night's change shows nights later
//!                     ----stable   ^     the newest run, against the runs since the last change that do not depart from one another
//! ```
//!
//! A figure of a run is one value. Change points are looked for in the logarithms, so a change is a
//! ratio, and in all figures together ([`brunt_stats::change_points`]). A figure changes there if
//! the interval of its ratio excludes 1. Few runs cannot show a change at any size, and the history
//! says how many are missing. The newest run is judged by the interval of a comparison.

use brunt_stats::{Interval as Spread, change_points, fewest, is_apart};
use brunt_world::random::Streams;
use serde::Serialize;

use super::comparison::{Answer, Comparison, Options, against};
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
/// Runs whose scatter says what is stable.
const STABLE_MIN: usize = 3;
/// They, and the newest.
const RUNS_MIN: usize = STABLE_MIN + 1;
const SEED: u64 = 1;

/// A series of runs and its change points. Fields are only added.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = HISTORY_SCHEMA))]
pub struct History {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = HISTORY_SCHEMA)))]
    pub schema: String,
    /// What was found, in a few sentences.
    pub sentence: String,
    /// How many more runs it takes to find any change; 0 when there are enough.
    pub runs_missing: u64,
    /// The newest run (B) against the stable ones before it (A).
    pub newest: Comparison,
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

/// The history of `runs`, each with its name; those that are not whole, or did other work than the
/// newest, are left out. `folder` is where they were found, and `smallest` the smallest difference
/// that matters, as a share.
///
/// # Errors
/// [`CompareError::NoHistory`] with fewer than four that remain.
pub fn history(
    folder: &str,
    mut runs: Vec<(String, Run)>,
    mut left_out: Vec<String>,
    smallest: f64,
) -> Result<History, CompareError> {
    runs.sort_by(|one, other| {
        let key = |run: &(String, Run)| (run.1.result.times.started, run.0.clone());
        key(one).cmp(&key(other))
    });
    runs.retain(|(name, run)| match is_whole(name, run) {
        Ok(()) => true,
        Err(why) => {
            left_out.push(why.to_string().lines().next().unwrap_or_default().to_owned());
            false
        }
    });
    if let Some((_, newest)) = runs.last().cloned() {
        runs.retain(|(name, run)| {
            let differences = runs_differ(&newest, run);
            if let Some(first) = differences.first() {
                let (own, other) = (&first.b, &first.a);
                left_out.push(format!("{name}: {} {own}, and the newest has {other}", first.what));
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
        .map(|(name, run)| HistoryRun { run: name.clone(), started: run.result.times.started })
        .collect();
    let series = FIGURES.iter().filter_map(|figure| {
        let logs = runs.iter().map(|(_, run)| Some(figure.track(&run.samples)?.log));
        Some((figure, logs.collect::<Option<Vec<f64>>>()?))
    });
    let series: Vec<(&Figure, Vec<f64>)> = series.collect();
    let mut stream = Streams::new(SEED).named("history");
    let all: Vec<Vec<f64>> = series.iter().map(|(_, logs)| logs.clone()).collect();
    let found = change_points(&all, LEVEL, &mut |bound| stream.below(bound));
    let ends = found.iter().map(|change| change.at).chain([runs.len()]);
    let ends: Vec<usize> = std::iter::once(0).chain(ends).collect();
    let stable = stable(&series, found.last().map_or(0, |change| change.at), smallest);
    let stable: Vec<(String, Run)> = stable.into_iter().map(|at| runs[at].clone()).collect();
    let options = Options { smallest, ..Options::default() };
    let newest = against(&stable, &runs[runs.len() - 1], &options);
    let figures = series.iter().map(|(figure, logs)| {
        let changes = ends.windows(3).zip(&found).filter_map(|(ends, change)| {
            let (before, after) = (&logs[ends[0]..ends[1]], &logs[ends[1]..ends[2]]);
            let run = &named[change.at].run;
            changed(before, after, change.at, change.chance, run)
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
    let runs_missing = fewest(LEVEL).saturating_sub(runs.len()) as u64;
    let places = sentence(runs.len(), runs_missing, found.len());
    Ok(History {
        schema: HISTORY_SCHEMA.to_owned(),
        sentence: format!("{places} {}", newest_in_words(&newest)),
        runs_missing,
        newest,
        runs: named,
        left_out,
        figures,
    })
}

/// The runs since the change at `first`, but for the newest, that do not depart from those before
/// them. The first few say what is stable.
fn stable(series: &[(&Figure, Vec<f64>)], first: usize, smallest: f64) -> Vec<usize> {
    let deciding: Vec<&Vec<f64>> =
        series.iter().filter(|(figure, _)| figure.decides).map(|(_, logs)| logs).collect();
    let newest = deciding.first().map_or(0, |logs| logs.len().saturating_sub(1));
    let share = LEVEL / deciding.len().max(1) as f64;
    let mut stable: Vec<usize> = Vec::new();
    for at in first..newest {
        let departs = |logs: &&Vec<f64>| {
            let values: Vec<f64> = stable.iter().map(|run| logs[*run]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let matters = (logs[at] - mean).abs() > smallest.ln_1p();
            matters && is_apart(&values, logs[at], share)
        };
        if stable.len() < STABLE_MIN || !deciding.iter().any(departs) {
            stable.push(at);
        }
    }
    stable
}

/// The change at `at`, if it is one of this figure.
fn changed(before: &[f64], after: &[f64], at: usize, chance: f64, run: &str) -> Option<Change> {
    let spread = |part: &[f64]| Spread::of(part).expect("three runs at least");
    let (one, other) = (spread(before), spread(after));
    let (log, half) = (other.mean - one.mean, one.half.hypot(other.half));
    (log.abs() > half).then(|| Change {
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
    })
}

fn sentence(runs: usize, missing: u64, changes: usize) -> String {
    let count = counted(runs as u64, "run");
    match (missing, changes) {
        (0, 0) => format!("{count}; no change is shown."),
        (0, 1) => format!("{count}; performance changed at one of them."),
        (0, more) => format!("{count}; performance changed at {more} of them."),
        (missing, _) => {
            let more = counted(missing, "more run");
            format!("{count}: cannot tell where figures change; that takes {more}.")
        }
    }
}

/// Whether the newest run is worse than the stable ones before it.
fn newest_in_words(newest: &Comparison) -> String {
    let before = format!("the {} before it", counted(newest.a.len() as u64, "stable run"));
    if let Some(moved) = newest.moved() {
        return format!(
            "The host behaved differently in the newest run and in {before}, so the storage cannot be compared ({moved})."
        );
    }
    let (better, worse) = (newest.of(Answer::Better), newest.of(Answer::Worse));
    match (better.as_str(), worse.as_str()) {
        ("", "") => format!("The newest run beside {before}: {}", newest.without_an_answer()),
        (better, "") => format!("The newest run is better than {before}: {better}."),
        ("", worse) => format!("The newest run is worse than {before}: {worse}."),
        (better, worse) => {
            format!("The newest run beside {before} is better in {better}, and worse in {worse}.")
        }
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

    /// The newest run beside the stable ones, for 80 columns.
    pub fn newest_table(&self) -> Table {
        let table = self.newest.table_of(["stable", "newest", "newest is"]);
        table.titled("The newest run")
    }

    /// The changes, oldest first.
    pub fn table(&self) -> Table {
        let columns = Column::of(&["from run", "figure"], &["before", "after", "change", "95 %"]);
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
            let numbers = self.figures.iter().map(|figure| Cell::from(figure.values[at]));
            Row::new(words.into_iter().chain(numbers))
        });
        Table::new(columns, rows).titled("Runs")
    }
}

/// The folder's own name.
pub(crate) fn short(run: &str) -> &str {
    run.trim_end_matches('/').rsplit('/').next().unwrap_or(run)
}
