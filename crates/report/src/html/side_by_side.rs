//! The page of runs that are listed but not added up: what they are, a link to the report of each,
//! and which kinds of tests are missing.

use serde::Serialize;

use super::page::rendered;
use crate::side_by_side::{Listed, in_a_sentence, side_by_side};
use crate::table::Table;

const TEMPLATE: &str = include_str!("side_by_side.html");

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    sentence: String,
    reason: &'a str,
    table: Table,
}

/// The page for `runs`; `reason` says why they are not added up.
pub fn side_by_side_html(reason: &str, runs: &[Listed]) -> String {
    let mut names: Vec<&str> = runs.iter().map(|one| one.run.result.scenario.as_str()).collect();
    names.dedup();
    let title = match names.as_slice() {
        [only] => format!("{only}: {} runs", runs.len()),
        _ => format!("{} runs", runs.len()),
    };
    let page = Page {
        sentence: in_a_sentence(runs),
        reason,
        table: side_by_side(runs).titled(&title),
        title: title.clone(),
    };
    let title = format!("{title} (brunt)");
    rendered(TEMPLATE, &title, &title, &page)
}
