//! `brunt compare`: is B better than A?
//!
//! | exit code | without `--gate` | with it |
//! | --- | --- | --- |
//! | 0 | there is a comparison, whatever its verdict | B is not worse |
//! | 1 | | B is worse |
//! | 2 | there is none | nobody can tell, or there is no comparison |
//!
//! `brunt_report::compare` compares; `history` looks at a folder of runs instead.

mod history;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brunt_report::compare::{Answer, CompareError, Comparison, compare};
use brunt_report::{Run, comparison_html, one_line};

use clap::Args;

use crate::commands::report::{ReportError, read, write};
use crate::exit::Exit;
use crate::opening::labelled;
use crate::output::{Output, Tone};
use crate::test_args::DifferenceArgs;

/// Arguments of `compare`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt compare RUN-A RUN-B
  brunt compare before/* --with after/*          several runs a side, paired in order
  brunt compare A B --gate                       for CI: 0 not worse, 1 worse, 2 cannot tell
  brunt compare A B --html compare.html          a page with both in one picture
  brunt compare A B --markdown pr.md --junit brunt.xml    for a pull request, for a CI server
  brunt compare --history runs                   where does a series of runs change?
  brunt compare --history runs --gate            for CI: is the newest worse than the stable ones before?

Differences below --smallest do not matter. docs/compare.md says how to read the answer, and how far to trust it.")]
pub struct CompareArgs {
    /// Run folders: A and B, or all of A before --with
    #[arg(value_name = "RUN", required_unless_present = "history")]
    pub runs: Vec<PathBuf>,

    /// Run folders of B, as many as of A; the first is paired with A's first, and so on
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub with: Vec<PathBuf>,

    /// Look for changes in a series: the runs in this folder, oldest first; the newest against the
    /// stable ones before it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "with", "allow_differences"])]
    pub history: Option<PathBuf>,

    #[command(flatten)]
    pub difference: DifferenceArgs,

    /// File to write the page to; replaces only a report of brunt
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Print the comparison as JSON on stdout
    #[arg(long)]
    pub json: bool,

    /// Print only the comparison and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareCommandError {
    /// A run cannot be read, or the page cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The runs cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Which runs are on which side is not said.
    #[error("{}\n  for example: brunt compare A B, or: brunt compare A1 A2 --with B1 B2\n  for changes in a folder of runs: brunt compare --history runs", unclear(*.0))]
    Sides(usize),
    /// A run is named twice.
    #[error("{}: is given twice; a run does not differ from itself", .0.display())]
    Twice(PathBuf),
    /// The folder of a history cannot be read.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn unclear(runs: usize) -> String {
    match runs {
        1 => "one run is named, and a comparison takes two".to_owned(),
        more => format!("{more} runs are named: which of them are B?"),
    }
}

/// Compares the runs.
///
/// # Errors
/// [`CompareCommandError`] when there is no comparison.
pub fn run(args: &CompareArgs, output: &Output) -> Result<Exit, CompareCommandError> {
    if let Some(folder) = &args.history {
        return history::run(folder, args, output);
    }
    let (a, b) = sides(args)?;
    let mut seen = Vec::new();
    for run in a.iter().chain(&b) {
        // One folder may have several names.
        let place = fs::canonicalize(run).unwrap_or_else(|_| run.clone());
        if seen.contains(&place) {
            return Err(CompareCommandError::Twice(run.clone()));
        }
        seen.push(place);
    }
    let (a, b) = (read_all(&a)?, read_all(&b)?);
    let comparison = compare(&a, &b, &args.difference.options())?;
    if let Some(path) = &args.html {
        write(path, &comparison_html(&comparison, &a, &b), "--html")?;
    }
    args.difference.export(|| comparison.to_markdown(), || comparison.to_junit())?;
    match args.json {
        true => output.data(comparison.to_json().trim_end()),
        false => output.show(&words(&comparison, args.html.as_deref(), output)),
    }
    Ok(match args.difference.gate {
        true => gate(&comparison),
        false => Exit::Passed,
    })
}

/// The runs of A and of B.
fn sides(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CompareCommandError> {
    match (args.runs.as_slice(), args.with.as_slice()) {
        ([a, b], []) => Ok((vec![a.clone()], vec![b.clone()])),
        (runs, []) => Err(CompareCommandError::Sides(runs.len())),
        (a, b) => Ok((a.to_vec(), b.to_vec())),
    }
}

fn read_all(runs: &[PathBuf]) -> Result<Vec<(String, Run)>, CompareCommandError> {
    let named = |path: &PathBuf| Ok((path.display().to_string(), read(path)?));
    runs.iter().map(named).collect()
}

/// What a gate makes of a comparison.
pub(crate) fn gate(comparison: &Comparison) -> Exit {
    match comparison.verdict {
        Answer::Worse => Exit::Failed,
        _ if comparison.not_worse => Exit::Passed,
        _ => Exit::NoAnswer,
    }
}

/// The verdict as the first word of a line.
fn verdict(comparison: &Comparison, output: &Output) -> String {
    let tone = Tone::from(comparison.verdict.colour());
    output.paint(tone, &format!("{:12}", comparison.verdict_in_words()))
}

/// What changed, as the second line.
fn changed(comparison: &Comparison) -> Option<String> {
    let changed = comparison.changed()?;
    Some(format!("{:14}{}", "changed", one_line(&changed)))
}

/// The comparison for the screen.
pub(crate) fn words(comparison: &Comparison, page: Option<&Path>, output: &Output) -> String {
    let word = verdict(comparison, output);
    let mut lines = vec![format!("{word}  {}", one_line(&comparison.sentence))];
    lines.extend(changed(comparison));
    lines.push(format!("\n{}", comparison.table().to_indented_text()));
    for (side, runs) in [("A", &comparison.a), ("B", &comparison.b)] {
        lines.extend(labelled(side, runs.iter().map(|run| one_line(&run.run).into_owned())));
    }
    if comparison.a.len() == 1 {
        let note = "one run a side: what varies from run to run is not in the intervals";
        lines.push(format!("{:14}{note}", "note"));
    }
    lines.extend(page.map(|path| format!("{:14}{}", "page", path.display())));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_two_runs_or_parted() {
        let args = |runs: &[&str], with: &[&str]| CompareArgs {
            runs: runs.iter().map(PathBuf::from).collect(),
            with: with.iter().map(PathBuf::from).collect(),
            history: None,
            difference: DifferenceArgs::default(),
            html: None,
            json: false,
            quiet: false,
        };
        let count = |runs: &[&str], with: &[&str]| {
            let sides = sides(&args(runs, with));
            sides.ok().map(|(a, b)| (a.len(), b.len()))
        };
        assert_eq!(count(&["a", "b"], &[]), Some((1, 1)));
        assert_eq!(count(&["a", "b"], &["c", "d"]), Some((2, 2)));
        assert_eq!(count(&["a", "b"], &["c"]), Some((2, 1)));
        assert_eq!(count(&["a"], &[]), None);
        assert_eq!(count(&["a", "b", "c"], &[]), None);
    }
}
