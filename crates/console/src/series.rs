//! Runs that did the same work, and what has changed in the newest of them.

use brunt_report::Run;
use brunt_report::compare::{Answer, history, work_differs};

use crate::alarms::Change;
use crate::library::{Known, Shelf};

/// A smaller difference does not matter.
pub(crate) const SMALLEST: f64 = 0.03;
/// Runs that are read; the newest.
const RUNS_MAX: usize = 200;

/// Runs that did the same work, with their names, and why others could not be read.
pub(crate) struct Series {
    pub(crate) runs: Vec<(String, Run)>,
    pub(crate) left_out: Vec<String>,
}

/// The runs of `shelf` that did the work of the one called `name`; `None` when it cannot be read.
pub(crate) fn of_same_work(name: &str, shelf: &Shelf) -> Option<Series> {
    let own = brunt_host::runs::read(&shelf.runs.get(name)?.folder).ok()?.result;
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for (name, book) in shelf.runs.iter().rev() {
        let is_same = match &book.known {
            Known::Ended(Some(result)) => work_differs(&own, result).is_empty(),
            Known::Seen(_) | Known::New => true,
            Known::Ended(None) | Known::Unreadable(_) => false,
        };
        if !is_same || runs.len() >= RUNS_MAX {
            continue;
        }
        match brunt_host::runs::read(&book.folder) {
            Ok(run) if work_differs(&own, &run.result).is_empty() => runs.push((name.clone(), run)),
            Ok(_) => {}
            Err(error) => left_out.push(error.to_string()),
        }
    }
    Some(Series { runs, left_out })
}

/// Figures of the run called `name`, which has ended, that differ from those of the stable runs
/// before it.
pub(crate) fn changes(name: &str, shelf: &Shelf) -> Vec<Change> {
    let Some(Series { mut runs, left_out }) = of_same_work(name, shelf) else {
        return Vec::new();
    };
    let own = runs.iter().find(|(other, _)| other == name).map(|(_, run)| run.result.times.started);
    runs.retain(|(_, run)| Some(run.result.times.started) <= own);
    let Ok(found) = history(name, runs, left_out, SMALLEST) else { return Vec::new() };
    let changed = found.newest.figures.iter().filter_map(|figure| {
        let word = match figure.verdict {
            Answer::Better => "better",
            Answer::Worse => "worse",
            Answer::CannotTell => return None,
        };
        let percent = 100.0 * (figure.ratio - 1.0);
        let words = format!("{} {word} by {percent:+.1} % than the runs before", figure.title);
        Some(Change { figure: figure.id.clone(), words })
    });
    changed.collect()
}
