//! The history of a run: all runs that did the same work, where they change, and the newest.

use brunt_report::compare::{CompareError, history as series, work_differs};
use brunt_report::{Listed, Served, escape, served_history_html, served_html, side_by_side};

use super::{PageError, bar};
use crate::http::Site;
use crate::library::Known;

/// A smaller difference does not matter.
const SMALLEST: f64 = 0.03;
/// Runs that are read for one page; the newest.
const RUNS_MAX: usize = 200;

/// The page of the runs that did the same work as the one called `name`.
pub(crate) fn history(name: &str, site: &Site) -> Result<String, PageError> {
    let shelf = site.shelf();
    let own = shelf.runs.get(name).ok_or(PageError::Missing)?;
    let own = brunt_host::runs::read(&own.folder)?.result;
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
            Ok(run) if work_differs(&own, &run.result).is_empty() => {
                runs.push((name.clone(), run));
            }
            Ok(_) => {}
            Err(error) => left_out.push(error.to_string()),
        }
    }
    let served = Served { bar: bar::plain(site), ..Served::default() };
    let listed: Vec<Listed> = runs
        .iter()
        .map(|(name, run)| Listed {
            label: name.clone(),
            report: Some(format!("/runs/{}", bar::in_address(name))),
            run: run.clone(),
        })
        .collect();
    match series(name, runs, left_out, SMALLEST) {
        Ok(found) => Ok(served_history_html(&found, &served)),
        Err(CompareError::NoHistory { found, least, .. }) => {
            let missing = least.saturating_sub(found);
            let body = format!(
                "<h1>History of {}</h1><p class=\"sentence\">{found} runs did the same work to their end; {missing} more are needed to see a change.</p>\
                 <section class=\"tables\">{}</section>",
                escape(name),
                side_by_side(&listed).to_html(),
            );
            Ok(served_html(&format!("History of {name} (brunt)"), &body, &served))
        }
        Err(error) => Err(error.into()),
    }
}
