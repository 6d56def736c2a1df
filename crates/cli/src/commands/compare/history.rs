//! `--history`: where a series of runs changes, and whether the newest is worse.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_report::compare::{History, history};
use brunt_report::{history_html, one_line};

use super::{CompareArgs, CompareCommandError, changed, gate, verdict};
use crate::commands::report::write;
use crate::exit::Exit;
use crate::output::Output;

/// Looks at the runs in `folder`.
///
/// # Errors
/// [`CompareCommandError`] when there are too few.
pub(super) fn run(
    folder: &Path,
    args: &CompareArgs,
    output: &Output,
) -> Result<Exit, CompareCommandError> {
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for path in inside(folder)? {
        match brunt_host::runs::read(&path) {
            Ok(run) => runs.push((path.display().to_string(), run)),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    let history = history(&folder.display().to_string(), runs, left_out, args.difference.smallest)?;
    if let Some(path) = &args.html {
        write(path, &history_html(&history), "--html")?;
    }
    args.difference.export(|| history.to_markdown(), || history.to_junit())?;
    match args.json {
        true => output.data(history.to_json().trim_end()),
        false => output.show(&words(&history, args.html.as_deref(), output)),
    }
    Ok(match args.difference.gate {
        true => gate(&history.newest),
        false => Exit::Passed,
    })
}

/// The run folders in `folder`, by name.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, CompareCommandError> {
    let refused = |source| CompareCommandError::Folder { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(refused)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|e| e.map(|e| e.path())).collect();
    let mut paths = paths.map_err(refused)?;
    paths.retain(|path| path.join("result.json").is_file());
    paths.sort();
    Ok(paths)
}

fn words(history: &History, page: Option<&Path>, output: &Output) -> String {
    let mut text = String::new();
    for why in &history.left_out {
        text.push_str(&format!("{:14}{}\n", "left out", one_line(why)));
    }
    let word = verdict(&history.newest, output);
    let sentence = one_line(&history.sentence);
    text.push_str(&format!("{word}  {sentence}\n"));
    text.extend(changed(&history.newest).map(|line| line + "\n"));
    text.push_str(&format!("\n{}", history.newest_table().to_indented_text()));
    let table = history.table();
    if !table.is_empty() {
        text.push_str(&format!("\n\n{}", table.to_indented_text()));
    }
    if let Some(path) = page {
        text.push_str(&format!("\n{:14}{}", "page", path.display()));
    }
    text.trim_end().to_owned()
}
