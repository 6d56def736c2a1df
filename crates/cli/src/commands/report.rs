//! `brunt report`: makes the report of a run again, or one report of the runs of several hosts.
//!
//! Runs that were not under load together are listed side by side: their sum would be of storage
//! that never did it.
//!
//! The numbers are those of the run folder; nothing is measured again. A run whose host died has a
//! report, too: its rules are judged on what it recorded until then.

mod follow;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brunt_host::runs;
use brunt_report::points::Points;
use brunt_report::result::{TestKind, Tested};
use brunt_report::{
    Listed, ReadError, Run, RunResult, TogetherError, are_one_test, in_a_sentence, in_address,
    missing, report_html, side_by_side, side_by_side_html, sum_in, together, write_report,
};
use clap::Args;
use serde_json::json;

use crate::closing::{resume, summary, verdict_again};
use crate::commands::{drill, fleet, load};
use crate::exit::Exit;
use crate::output::{Output, Tone};
use crate::version;

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt report RUN                                rebuild report.html of a run
  brunt report                                    the newest run in ./runs
  brunt report runs/*                             what there is, what is missing, and links
  brunt report RUN --follow                       watch a running test from another terminal
  brunt report host-a/ host-b/ --out system.html  add up two hosts, tested at the same time
  brunt report RUN --jetstress-name
  brunt report RUN --json | jq .storage.achieved_iops

The exit code is 0 when the report was written, whatever its verdict, and 2 otherwise.")]
pub struct ReportArgs {
    /// Run folders; servers tested at the same time are added up, other runs are listed with links
    /// to their reports [default: the newest in ./runs]
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// File to write; replaces only a report of brunt [default: report.html in the run's folder, or
    /// here for several runs]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Watch work that still goes on, then print its result; writes nothing
    #[arg(long, conflicts_with_all = ["out", "jetstress_name"])]
    pub follow: bool,

    /// Name the report as Jetstress does: Performance_2026_11_24_9_5_7.html
    #[arg(long, conflicts_with = "out")]
    pub jetstress_name: bool,

    /// Print the result as JSON on stdout; with --follow every record, the result last
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
    /// The coordinator of a fleet ended before its hosts.
    #[error("{}: is a fleet without a result: its hosts may still be at work\n  to go on with it: brunt fleet attach {}", .0.display(), .0.display())]
    Fleet(PathBuf),
    /// There is nothing.
    #[error("{}: there is no such folder", .0.display())]
    Missing(PathBuf),
    /// No run was named, and there is none.
    #[error(
        "no run is named, and there is none in ./runs\n  for example: brunt report runs/2026-11-21-181503-demo-performance"
    )]
    NoneNamed,
    /// No run was named, and two are the newest.
    #[error("no run is named, and two are the newest\n  name one: brunt report {}\n  or: brunt report {}", .0[0].display(), .0[1].display())]
    Ambiguous([PathBuf; 2]),
    /// There is nothing to follow.
    #[error("{}: there is no such journal, so there is nothing to follow", .0.display())]
    NoJournal(PathBuf),
    /// One run is followed at a time.
    #[error("--follow takes one run\n  for example: brunt report {} --follow", .0.display())]
    FollowOne(PathBuf),
    /// A signal cannot be had.
    #[error("{0}")]
    System(#[from] io::Error),
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
    let named = match args.runs.as_slice() {
        [] => vec![newest(Path::new("runs"))?],
        named => named.to_vec(),
    };
    if args.follow {
        let [folder] = named.as_slice() else {
            return Err(ReportError::FollowOne(named[0].clone()));
        };
        return watch(args, folder, output);
    }
    if let [folder] = named.as_slice()
        && let Some(points) = runs::points(folder)?
    {
        return unfinished(args, folder, &points, output);
    }
    for folder in &named {
        match read(folder) {
            // `runs/*` has folders of sweeps and of raw load, too.
            Err(ReportError::Read(other @ ReadError::NotOneRun { .. })) if named.len() > 1 => {
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
    let sum = sum_in(&runs, &folders)?;
    let run = together(runs, sum.as_ref())?;
    write(&path, &report_html(&run), "--out")?;
    if args.json {
        output.data(run.result.to_json().trim_end());
    } else if let ([only], Some(drill)) = (folders.as_slice(), &run.result.drill) {
        let scenario = match only.is_dir() {
            true => only.join("scenario.toml"),
            false => only.with_file_name("scenario.toml"),
        };
        output.show(&drill::closing(&run.result, drill, [&path, &scenario], "", output));
    } else if let ([only], Some(_)) = (folders.as_slice(), &run.result.mail) {
        output.show(&load::closing(&run.result, only, &path, output));
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

/// What a sweep, a search or runs in turns had computed until they were killed.
fn unfinished(
    args: &ReportArgs,
    folder: &Path,
    points: &Points,
    output: &Output,
) -> Result<Exit, ReportError> {
    let path = args.out.clone().unwrap_or_else(|| folder.join("report.html"));
    write(&path, &points.page(version::command()), "--out")?;
    match args.json {
        true => output.data(&points.to_json()),
        false => {
            let word = output.paint(Tone::Doubt, "INTERRUPTED");
            let (sentence, table) = (points.sentence(), points.table());
            let table = match table.is_empty() {
                true => String::new(),
                false => format!("{}\n\n", table.to_text().trim_end()),
            };
            let report = path.display();
            output.show(&format!("{word}   {sentence}\n\n{table}{:14}{report}", "report"));
        }
    }
    Ok(Exit::Passed)
}

/// Shows a running test until it ends, and then its result.
fn watch(args: &ReportArgs, folder: &Path, output: &Output) -> Result<Exit, ReportError> {
    if !follow::follow(folder, args.json, output)? {
        return Ok(Exit::Interrupted);
    }
    if args.json {
        return Ok(Exit::Passed);
    }
    let report = folder.join("report.html");
    match read(folder) {
        Ok(run) => {
            let text = summary(&run.result, &report, output);
            output.show(&format!("\n{text}{}", verdict_again(&run.result, output)));
        }
        Err(ReportError::Read(ReadError::NotOneRun { .. })) => {
            output.show(&format!("\n{:14}{}", "report", report.display()));
        }
        Err(error) => return Err(error),
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
        Tested::Mail => "Mail",
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
    let runs = folders.iter().zip(runs).map(|(folder, run)| Listed {
        label: folder.display().to_string(),
        report: link(path, folder),
        run,
    });
    let runs: Vec<Listed> = runs.collect();
    write(path, &side_by_side_html(reason, &runs), "--out")?;
    if args.json {
        let results: Vec<_> = runs.iter().map(|one| &one.run.result).collect();
        let value = json!({
            "schema": "brunt.runs/1",
            "reason": reason,
            "missing": missing(&runs),
            "runs": results,
        });
        let text = serde_json::to_string_pretty(&value);
        output.data(&text.expect("numbers and texts can be written"));
    } else {
        output.show(&format!(
            "{}\nNot added up: {reason}\n\n{}\n\n{:14}{}",
            in_a_sentence(&runs),
            side_by_side(&runs).to_text(),
            "report",
            path.display()
        ));
    }
    Ok(Exit::Passed)
}

/// The report in `folder`, as the page at `page` leads to it; `None` where there is none.
fn link(page: &Path, folder: &Path) -> Option<String> {
    let report = folder.join("report.html");
    let (from, to) = (std::path::absolute(page).ok()?, std::path::absolute(&report).ok()?);
    let shared = from.parent()?.components().zip(to.components());
    let shared = shared.take_while(|(one, other)| one == other).count();
    let up = from.parent()?.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared);
    let down = down.map(|part| in_address(&part.as_os_str().to_string_lossy()));
    report.is_file().then(|| up.chain(down).collect::<Vec<_>>().join("/"))
}

/// The newest run in `folder`.
fn newest(folder: &Path) -> Result<PathBuf, ReportError> {
    let mut runs: Vec<PathBuf> = runs_below(folder).collect();
    runs.sort();
    let time = |run: &PathBuf| {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.chars().take(TIME).collect::<String>()
    };
    match runs.as_slice() {
        [] => Err(ReportError::NoneNamed),
        [.., one, other] if time(one) == time(other) => {
            Err(ReportError::Ambiguous([one.clone(), other.clone()]))
        }
        [.., newest] => Ok(newest.clone()),
    }
}

/// Characters of the time that the name of a run's folder begins with.
const TIME: usize = "2026-11-21-181503".len();

/// The run in a folder.
pub(crate) fn read(run: &Path) -> Result<Run, ReportError> {
    runs::read(run).map_err(|error| match (&error, newest_below(run)) {
        (ReadError::NoRun(_) | ReadError::NotBegun(_), _) if fleet::is_fleet(run) => {
            ReportError::Fleet(run.to_owned())
        }
        (ReadError::NoRun(_), None) if !run.exists() => ReportError::Missing(run.to_owned()),
        (ReadError::NoRun(_), Some(newest)) => ReportError::Above(run.to_owned(), newest),
        _ => error.into(),
    })
}

/// The newest run in a folder, by its name, which begins with the time.
pub(super) fn newest_below(folder: &Path) -> Option<PathBuf> {
    runs_below(folder).max()
}

/// The runs in a folder; none in one that cannot be read.
pub(super) fn runs_below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries.map(|entry| entry.path());
    runs.filter(|run| run.join("result.json").is_file())
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
    fn a_page_leads_to_reports_from_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("runs/a b");
        fs::create_dir_all(&run).unwrap();
        let page = home.path().join("out/page.html");
        assert_eq!(link(&page, &run), None);
        fs::write(run.join("report.html"), "").unwrap();
        assert_eq!(link(&page, &run).unwrap(), "../runs/a%20b/report.html");
        assert_eq!(link(&home.path().join("page.html"), &run).unwrap(), "runs/a%20b/report.html");
    }

    #[test]
    fn the_newest_run_is_taken_unless_there_are_two() {
        let home = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            fs::create_dir_all(home.path().join(name)).unwrap();
            fs::write(home.path().join(name).join("result.json"), "").unwrap();
        };
        assert!(matches!(newest(home.path()), Err(ReportError::NoneNamed)));
        made("2026-11-21-181503-b-stress");
        made("2026-11-22-090112-a-performance");
        let found = newest(home.path()).unwrap();
        assert!(found.ends_with("2026-11-22-090112-a-performance"));
        made("2026-11-22-090112-b-performance");
        assert!(matches!(newest(home.path()), Err(ReportError::Ambiguous(_))));
    }

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
