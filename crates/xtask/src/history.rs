//! `cargo xtask history`: how `./test` went over time, on this machine.
//!
//! Each run of `./test` appends a line of JSON to `target/test/history.jsonl`. A line that cannot
//! be read, such as one of another version, is counted and left out.

use std::fs;
use std::path::PathBuf;

use brunt_report::{Cell, Column, Table, table};
use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{TaskError, root, say};

/// Arguments of `history`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HistoryArgs {
    /// How many runs to print, the last ones
    #[arg(long, default_value_t = 20)]
    last: usize,
}

/// A run of `./test`.
#[derive(Deserialize)]
struct Run {
    at: String,
    commit: String,
    rust_lines: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    /// Of each step, in order; `all` is the last.
    seconds: Map<String, Value>,
}

/// Prints the last runs, newest last.
///
/// # Errors
/// [`TaskError`] when there is no history.
pub(crate) fn run(args: &HistoryArgs) -> Result<(), TaskError> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    let path = target.join("test/history.jsonl");
    let text = fs::read_to_string(&path).map_err(|error| TaskError::File { path, error })?;
    say(&printed(&text, args.last));
    Ok(())
}

fn printed(text: &str, last: usize) -> String {
    let read: Vec<Option<Run>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let strange = read.iter().filter(|run| run.is_none()).count();
    let runs: Vec<Run> = read.into_iter().flatten().collect();
    let runs = &runs[runs.len().saturating_sub(last)..];
    let mut steps: Vec<&String> = Vec::new();
    for step in runs.iter().flat_map(|run| run.seconds.keys()) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let named = ["at", "commit"].map(Column::words).into_iter();
    let counted = ["lines", "passed", "failed", "skipped"].map(Column::numbers);
    let timed = steps.iter().map(|step| Column::numbers(format!("{step}, s")));
    let rows = runs.iter().map(|run| {
        let counts = [run.rust_lines, run.passed, run.failed, run.skipped].map(Cell::from);
        let seconds =
            steps.iter().map(|step| Cell::from(run.seconds.get(*step).and_then(Value::as_u64)));
        let words = [run.at.as_str(), run.commit.as_str()].map(Cell::from);
        table::Row::new(words.into_iter().chain(counts).chain(seconds))
    });
    let table = Table::new(named.chain(counted).chain(timed), rows).to_markdown();
    match strange {
        0 => table,
        _ => format!("{table}\n{strange} lines cannot be read\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_runs_are_printed_with_their_steps() {
        let run = |commit: &str, seconds: &str| {
            format!(
                r#"{{"at":"2026-11-26T17:00:00Z","commit":"{commit}","rust_lines":220000,"passed":2100,"failed":1,"skipped":3,"seconds":{{{seconds}}}}}"#
            )
        };
        let runs = [
            run("a1", r#""build":300,"all":900"#),
            "odd".to_owned(),
            run("b2", r#""build":12,"tests":150,"all":170"#),
        ];
        let text = printed(&runs.join("\n"), 20);
        assert!(text.contains("| a1 | 220,000 | 2,100 | 1 | 3 | 300 | 900 | - |"), "{text}");
        assert!(text.contains("| b2 | 220,000 | 2,100 | 1 | 3 | 12 | 170 | 150 |"), "{text}");
        assert!(text.ends_with("\n1 lines cannot be read\n"), "{text}");
        let one = printed(&runs.join("\n"), 1);
        assert!(
            !one.contains("a1")
                && one.contains("| b2 | 220,000 | 2,100 | 1 | 3 | 12 | 150 | 170 |")
        );
    }
}
