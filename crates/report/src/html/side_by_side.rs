//! The page of runs that are listed but not added up.

use serde::Serialize;

use super::page::rendered;
use crate::Run;
use crate::side_by_side::side_by_side;
use crate::table::Table;

const TEMPLATE: &str = include_str!("side_by_side.html");

#[derive(Serialize)]
struct Page<'a> {
    reason: &'a str,
    table: Table,
}

/// The page for `runs`, each with its label; `reason` says why they are not added up.
pub fn side_by_side_html(reason: &str, runs: &[(String, Run)]) -> String {
    let title = format!("{} runs, side by side", runs.len());
    let table = side_by_side(runs).titled(&title);
    let title = format!("{title} (brunt)");
    rendered(TEMPLATE, &title, &title, &Page { reason, table })
}
