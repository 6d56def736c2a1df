//! `brunt report`: makes the report of a run again, or one report of the runs of several hosts.
//!
//! Runs that were not under load together are listed side by side: their sum would be of storage
//! that never did it.
//!
//! The numbers are those of the run folder; nothing is measured or judged again. A run whose host
//! died has a report, too: from what it recorded until then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brunt_report::result::{TestKind, Tested};
use brunt_report::{
    ReadError, Run, RunResult, TogetherError, are_one_test, report_html, side_by_side,
    side_by_side_html, together, write_report,
};
use clap::Args;
use serde_json::json;

use crate::closing::{resume, summary, verdict_again};
use crate::commands::drill;
use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt report runs/2026-11-21-181503-demo        rebuild report.html of a run
  brunt report host-a/ host-b/ --out system.html  add up two hosts, tested at the same time
  brunt report runs/2026-11-21-181503-demo --jetstress-name
  brunt report runs/2026-11-21-181503-demo --json | jq .storage.achieved_iops

The exit code is 0 when the report was written, whatever its verdict, and 2 otherwise.")]
pub struct ReportArgs {
    /// Run folders; servers tested at the same time are added up, other runs are listed side by
    /// side
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// File to write; replaces only a report of brunt [default: report.html in the run's folder, or
    /// here for several runs]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Name the report as Jetstress does: Performance_2026_11_24_9_5_7.html
    #[arg(long, conflicts_with = "out")]
    pub jetstress_name: bool,

    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A folder that runs are in.
    #[error("{}: is not a run, but has runs in it\n  for example: brunt report {}", .0.display(), .1.display())]
    Above(PathBuf, PathBuf),
    /// They do not belong together.
    #[error(transparent)]
    Together(#[from] TogetherError),
    /// Something else stands where the report belongs.
    #[error("{}: {what}, and is left alone\n  name another file with {flag}", path.display())]
    Taken {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: io::Error,
        /// The flag that named it, or can name another.
        flag: &'static str,
    },
    /// The report cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes the report. It is [`Exit::Passed`] whatever the verdict of the run: a report was asked
/// for, and there it is.
///
/// # Errors
/// [`ReportError`] when there is none.
pub fn run(args: &ReportArgs, output: &Output) -> Result<Exit, ReportError> {
    let (mut folders, mut runs) = (Vec::new(), Vec::new());
    for folder in &args.runs {
        match read(folder) {
            // `runs/*` has folders of sweeps and of raw load, too.
            Err(ReportError::Read(other @ ReadError::NotOneRun { .. })) if args.runs.len() > 1 => {
                output.talk(&format!("left out      {other}"));
            }
            run => {
                runs.push(run?);
                folders.push(folder.as_path());
            }
        }
    }
    if runs.is_empty() {
        return Err(TogetherError::None.into());
    }
    let name = match args.jetstress_name {
        true => jetstress_name(&runs[0].result),
        false => "report.html".to_owned(),
    };
    let path = match (&args.out, folders.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [only]) if only.is_dir() => only.join(name),
        (None, [only]) => only.with_file_name(name),
        (None, _) => PathBuf::from(name),
    };
    match are_one_test(&runs) {
        Ok(()) => {}
        Err(error @ (TogetherError::None | TogetherError::Twice(_))) => return Err(error.into()),
        Err(apart) => return list(args, &folders, runs, &apart.to_string(), &path, output),
    }
    let run = together(runs)?;
    write(&path, &report_html(&run), "--out")?;
    if args.json {
        output.data(run.result.to_json().trim_end());
    } else if let ([only], Some(drill)) = (folders.as_slice(), &run.result.drill) {
        let scenario = match only.is_dir() {
            true => only.join("scenario.toml"),
            false => only.with_file_name("scenario.toml"),
        };
        output.show(&drill::closing(&run.result, drill, [&path, &scenario], "", output));
    } else {
        let text = summary(&run.result, &path, output);
        let resume = match folders.as_slice() {
            [only] => resume(&run.result, only),
            _ => String::new(),
        };
        let again = verdict_again(&run.result, output);
        output.show(&format!("{text}{resume}{again}"));
    }
    Ok(Exit::Passed)
}

/// The name that Jetstress gives a report: kind and time without leading zeros (published test
/// logs, EqualLogic PS5000XV, 2008).
fn jetstress_name(result: &RunResult) -> String {
    let kind = match result.storage.test {
        Tested::Kind(TestKind::Stress) => "Stress",
        Tested::Kind(TestKind::DatabaseBackup) => "DatabaseBackup",
        Tested::Kind(TestKind::SoftRecovery) => "SoftRecovery",
        Tested::Kind(TestKind::Performance) | Tested::Drill | Tested::Unknown => "Performance",
    };
    let started = result.times.started.to_string();
    let numbers = started.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("{kind}_{}.html", numbers.join("_"))
}

/// Lists runs that are not one test, because of `reason`.
fn list(
    args: &ReportArgs,
    folders: &[&Path],
    runs: Vec<Run>,
    reason: &str,
    path: &Path,
    output: &Output,
) -> Result<Exit, ReportError> {
    let names = folders.iter().map(|run| run.display().to_string());
    let runs: Vec<(String, Run)> = names.zip(runs).collect();
    write(path, &side_by_side_html(reason, &runs), "--out")?;
    if args.json {
        let results: Vec<_> = runs.iter().map(|(_, run)| &run.result).collect();
        let value = json!({ "schema": "brunt.runs/1", "reason": reason, "runs": results });
        let text = serde_json::to_string_pretty(&value);
        output.data(&text.expect("numbers and texts can be written"));
    } else {
        output.show(&format!(
            "{} runs, listed side by side and not added up: {reason}\n\n{}\n\n{:14}{}",
            runs.len(),
            side_by_side(&runs).to_text(),
            "report",
            path.display()
        ));
    }
    Ok(Exit::Passed)
}

/// The run in a folder.
pub(crate) fn read(run: &Path) -> Result<Run, ReportError> {
    Run::read(run).map_err(|error| match (&error, newest_below(run)) {
        (ReadError::NoRun(_), Some(newest)) => ReportError::Above(run.to_owned(), newest),
        _ => error.into(),
    })
}

/// The newest run in a folder, by its name, which begins with the time.
pub(super) fn newest_below(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let runs = entries.map(|entry| entry.path());
    runs.filter(|run| run.join("result.json").is_file()).max()
}

/// Writes a page of brunt.
pub(crate) fn write(path: &Path, html: &str, flag: &'static str) -> Result<(), ReportError> {
    write_report(path, html).map_err(|error| {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => ReportError::Taken { path, what: error, flag },
            _ => ReportError::Write { path, source: error },
        }
    })
}

#[cfg(test)]
mod tests {
    use brunt_report::Timestamp;

    use super::*;

    #[test]
    fn jetstress_writes_times_without_leading_zeros() {
        let json = include_str!("../../../report/tests/report/result_v2.json");
        let mut result = RunResult::from_json(json).unwrap();
        result.times.started = Timestamp { unix_seconds: 951_782_407 };
        assert_eq!(jetstress_name(&result), "Performance_2000_2_29_0_0_7.html");
        result.storage.test = TestKind::Stress.into();
        assert!(jetstress_name(&result).starts_with("Stress_2000_"));
    }
}
