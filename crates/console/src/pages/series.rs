//! The history of a run: all runs that did the same work, where they change, and the newest.

use brunt_report::compare::{CompareError, history as series};
use brunt_report::{
    Listed, Served, escape, in_address, served_history_html, served_html, side_by_side,
};

use super::{PageError, bar};
use crate::http::Site;
use crate::series::{SMALLEST, Series, of_same_work};

/// The page of the runs that did the same work as the one called `name`.
pub(crate) fn history(name: &str, site: &Site) -> Result<String, PageError> {
    let found = of_same_work(name, &site.shelf()).ok_or(PageError::Missing)?;
    let Series { runs, left_out } = found;
    let served = Served { bar: bar::plain(site), ..Served::default() };
    let listed: Vec<Listed> = runs
        .iter()
        .map(|(name, run)| Listed {
            label: name.clone(),
            report: Some(format!("/runs/{}", in_address(name))),
            run: run.clone(),
        })
        .collect();
    match series(name, runs, left_out, SMALLEST) {
        Ok(found) => Ok(served_history_html(&found, &served)),
        Err(CompareError::NoHistory { found, least, .. }) => {
            let done = brunt_report::counted(found as u64, "run");
            let missing = least.saturating_sub(found);
            let body = format!(
                "<h1>History of {}</h1><p class=\"sentence\">{done} did the same work to the end; {missing} more are needed to see a change.</p>\
                 <section class=\"tables\">{}</section>",
                escape(name),
                side_by_side(&listed).to_html(),
            );
            Ok(served_html(&format!("History of {name} (brunt)"), &body, &served))
        }
        Err(error) => Err(error.into()),
    }
}
