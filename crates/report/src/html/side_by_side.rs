//! The page of runs that are listed but not added up.

use super::escape::escape;
use super::{GENERATOR, STYLE};
use crate::Run;
use crate::side_by_side::side_by_side;

/// The page for `runs`, each with its label; `reason` says why they are not added up.
pub fn side_by_side_html(reason: &str, runs: &[(String, Run)]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{GENERATOR}<title>{count} runs</title>\n<style>{STYLE}</style></head>\n<body><main><h1>{count} runs, side by side</h1>\n<p>Nothing is added up: {}.</p>\n{}</main></body></html>\n",
        escape(reason),
        side_by_side(runs).to_html(),
        count = runs.len(),
    )
}
