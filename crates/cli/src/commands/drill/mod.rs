//! `brunt drill`: what is lost when a site is lost, and how long do users wait?
//!
//! A scenario of replicated arrays is rehearsed in virtual time (`modelled`), one of two folders on
//! this machine, with processes that are really killed (`real`). The lab and the host do the work;
//! here is what is said and kept.

mod modelled;
mod real;

use std::env;
use std::path::{Path, PathBuf};

use brunt_host::drill::RealDrillError;
use brunt_host::runs;
use brunt_host::shell::quoted;
use brunt_lab::DrillError;
use brunt_report::parts::Parts;
use brunt_report::result::{Drill, DrillEvent, Outcome, RunResult, given_and_measured};
use brunt_report::{
    Cell, Column, Event, FolderError, ReadError, Row, Run, RunFolder, Table, Timestamp, counted,
    decimals, one_line, report_html,
};
use brunt_scenario::{DEMO_DRILL, Document, Override, Refusal, Subject};
use brunt_units::{ByteSize, Span};
use clap::Args;

use crate::closing::{failure, rules, verdict_again, verdict_line};
use crate::commands::simulate::{Engine, SimulateError};
use crate::exit::Exit;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::records::Lines;
use crate::source::Source;
use crate::test_args::SharedArgs;

/// Arguments of `drill`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt drill                                  two folders on this machine, a process that is killed
  brunt drill examples/two-folders.toml --set event.0.what='source frozen'
  brunt drill examples/two-sites.toml          modelled arrays, in virtual time
  brunt drill examples/two-sites.toml --asynchronous
  brunt drill my-pair.toml --set link.rtt=5ms --json | jq .drill.rpo
  brunt drill examples/loop-pair.toml --check  a pair that is not brunt's, driven by commands of yours")]
pub struct DrillArgs {
    /// Scenario file (TOML), or - for stdin: a mail server and two folders, or mail servers on a
    /// replicated array, and a timeline of events [default: a small drill in two folders of the
    /// working folder, which are removed again]
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,

    /// Replicate asynchronously, whatever the scenario says: writes do not wait for the other site
    #[arg(long)]
    pub asynchronous: bool,

    /// Replace what a drill that did not end has left in the folders of its sites
    #[arg(long)]
    pub new: bool,

    /// Run the commands of the scenario, which drive storage that replicates by itself: read them
    /// first (--check shows them)
    #[arg(long)]
    pub allow_exec: bool,

    /// A folder or device in which such a drill may write; may be repeated, and has to cover every
    /// one that it names
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,

    /// What drives modelled storage; by default every byte where databases are small, else the twin
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,

    /// Leave out the drills on a replica that is broken on purpose
    #[arg(long)]
    pub no_controls: bool,

    #[command(flatten)]
    pub shared: SharedArgs,
}

/// Why there was no drill.
#[derive(Debug, thiserror::Error)]
pub enum DrillCommandError {
    /// Modelled arrays were not rehearsed, or the scenario cannot be read.
    #[error(transparent)]
    Modelled(#[from] SimulateError),
    /// Two folders were not rehearsed.
    #[error(transparent)]
    Real(#[from] RealDrillError),
    /// The scenario is wrong.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// A value on the command line is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A flag is for drills of the other kind.
    #[error("{flag} is for drills {on}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What they are on.
        on: &'static str,
    },
    /// The drill's folder cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What its journal has cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The working folder or a signal cannot be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Rehearses, and says what came of it.
///
/// # Errors
/// [`DrillCommandError`] when nothing was rehearsed.
pub fn run(args: &DrillArgs, output: &Output) -> Result<Exit, DrillCommandError> {
    let document = match &args.scenario {
        Some(path) => {
            // Starts the program again, so before stdin is read.
            brunt_world_real::huge_pages::ask();
            let otherwise =
                "without a file, two folders on this machine are rehearsed: brunt drill";
            Source::of(path, &[otherwise])?.document()?
        }
        None => Document::new("two-folders.toml (built in)", DEMO_DRILL, &env::current_dir()?)?,
    };
    let overrides = overrides(args)?;
    match document.subject() {
        Subject::RealDrill => {
            if args.engine.is_some() {
                let (flag, on) = ("--engine", "on modelled arrays");
                return Err(DrillCommandError::Flag { flag, on });
            }
            real::run(args, &document, &overrides, output)
        }
        _ if args.new => {
            let (flag, on) = ("--new", "on folders of this machine");
            Err(DrillCommandError::Flag { flag, on })
        }
        _ if args.allow_exec || !args.allow.is_empty() => Err(real::not_external(args)),
        _ => Ok(modelled::run(args, &document, &overrides, output)?),
    }
}

fn overrides(args: &DrillArgs) -> Result<Vec<Override>, Refusal> {
    let (flag, is_there) = ("--asynchronous", args.asynchronous);
    let mode = Override::of_switch(flag, is_there, "replication.mode", "asynchronous");
    args.shared.overrides("test", mode)
}

/// The last lines, or the result as JSON.
fn tell(args: &DrillArgs, result: &RunResult, folder: &RunFolder, lines: Lines, output: &Output) {
    let text = result.to_json();
    lines.tell((result.verdict.word(), &text), output, || {
        output.talk("");
        let paths = ["report.html", "scenario.toml"].map(|name| folder.file(name));
        let paths = paths.each_ref().map(PathBuf::as_path);
        let drill = result.drill.iter();
        let text = drill.map(|drill| closing(result, drill, paths, &consent(args), output));
        output.show(&text.collect::<String>());
    });
}

/// What was allowed, as flags.
fn consent(args: &DrillArgs) -> String {
    let exec = if args.allow_exec { " --allow-exec" } else { "" };
    let paths = args.allow.iter();
    let paths = paths.map(|path| format!(" --allow {}", quoted(&path.display().to_string())));
    std::iter::once(exec.to_owned()).chain(paths).collect()
}

/// Writes what follows from the drill beside its journal. `result.json` is the last, so where it is,
/// all is.
fn keep(folder: &RunFolder, run: &Run) -> Result<(), FolderError> {
    folder.write("report.html", report_html(run).as_bytes())?;
    folder.write("result.json", run.result.to_json().as_bytes())
}

/// What is known of a drill that was stopped: what its journal has.
fn stopped(folder: &RunFolder) -> Result<Run, ReadError> {
    let mut run = runs::read(folder.path())?;
    let times = &mut run.result.times;
    times.ended = Some(after(times.started, times.collection_s));
    Ok(run)
}

fn after(begun: Timestamp, seconds: f64) -> Timestamp {
    begun.after(Span::from_seconds(seconds).0.div_euclid(1_000_000_000))
}

/// What its folder says of a drill.
fn run_of(scenario: String, result: RunResult) -> Run {
    let events = result.drill.iter().flat_map(|drill| &drill.events);
    let begun = result.times.started;
    let event =
        |event: &DrillEvent| Event { at: after(begun, event.at_s), text: event.what.clone() };
    let events = events.map(event).collect();
    Run { result, scenario, events, samples: Vec::new(), parts: Parts::default() }
}

/// The last lines: verdict, what was lost, the steps, the controls, and where everything is.
pub(super) fn closing(
    result: &RunResult,
    drill: &Drill,
    [report, scenario]: [&Path; 2],
    consent: &str,
    output: &Output,
) -> String {
    let parts = [
        format!("{}{}{}", verdict_line(result, output), failed(result), reasons(result)),
        lost(drill),
        steps(drill),
        phases(drill),
        controls(drill),
        rules(&result.rules, output, output.width()),
        format!(
            "{:14}{}\n{:14}brunt drill {}{consent}{}",
            "report",
            report.display(),
            "again",
            scenario.display(),
            verdict_again(result, output)
        ),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The rules that failed, a line each.
fn failed(result: &RunResult) -> String {
    let failed = result.rules.iter();
    let failed = failed.filter(|rule| rule.outcome == Outcome::Failed);
    failed.map(failure).collect()
}

/// What the result is worth, and why there is no answer; rules that failed have been printed.
fn reasons(result: &RunResult) -> String {
    let is_told = |reason: &str| {
        let mut rules = result.rules.iter();
        rules.any(|rule| {
            rule.outcome == Outcome::Failed && reason.starts_with(&rule.against_limit())
        })
    };
    let reasons = result.reasons.iter().filter(|reason| !is_told(reason));
    let lines = reasons.map(|reason| format!("\n{:14}{}", "", one_line(reason)));
    lines.collect()
}

fn lost(drill: &Drill) -> String {
    let Some(rpo) = &drill.rpo else {
        return String::new();
    };
    let lost = match rpo.transactions {
        0 => "0: nothing that was acknowledged is lost".to_owned(),
        _ => format!(
            "{}, {}; the first {} before the failure",
            counted(rpo.transactions, "commit"),
            counted(rpo.records, "record"),
            Span::from_seconds(rpo.seconds)
        ),
    };
    let at_risk = match rpo.bytes {
        0 => String::new(),
        bytes => {
            format!("\n{:14}{} of writes were not at the other site", "", ByteSize::bytes(bytes))
        }
    };
    let rto = drill.rto_s.map_or(String::new(), |seconds| {
        let span = |seconds| Span::from_seconds(seconds).to_string();
        let parts = match given_and_measured(&drill.steps) {
            (given, measured) if given > 0.0 => {
                format!(": {} given, {} measured", span(given), span(measured))
            }
            _ => String::new(),
        };
        format!("\n{:14}{}{parts}", "RTO", span(seconds))
    });
    format!("{:14}{lost}{at_risk}{rto}", "RPO")
}

fn steps(drill: &Drill) -> String {
    let rows = drill.steps.iter().map(|step| {
        Row::new([
            Cell::from(step.name.as_str()),
            Cell::from(Span::from_seconds(step.seconds).to_string().as_str()),
            Cell::from(if step.given { "given" } else { "measured" }),
        ])
    });
    let columns = [Column::words("step"), Column::numbers("time"), Column::words("")];
    match drill.steps.is_empty() {
        true => String::new(),
        false => Table::new(columns, rows).to_text(),
    }
}

fn phases(drill: &Drill) -> String {
    let columns = ["I/O /s", "read ms", "write ms", "log ms", "log worst ms"];
    // Folders have no write history logs.
    let has_history = drill.phases.iter().any(|phase| phase.log_bytes > 0);
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), decimals);
    let rows = drill.phases.iter().map(|phase| {
        let from = Span::from_seconds(phase.from_s).to_string();
        let cells = [
            phase.name.clone(),
            from,
            decimals(phase.io_per_s),
            figure(phase.read_ms),
            figure(phase.write_ms),
            figure(phase.log_ms),
            figure(phase.log_worst_ms),
        ];
        let history = ByteSize::bytes(phase.log_bytes).to_string();
        Row::new(cells.into_iter().chain(has_history.then_some(history)))
    });
    let columns = columns.into_iter().map(Column::numbers);
    let all = [Column::words("load"), Column::numbers("from")]
        .into_iter()
        .chain(columns)
        .chain(has_history.then(|| Column::numbers("history log")));
    Table::new(all, rows).to_text()
}

fn controls(drill: &Drill) -> String {
    let rows = drill.controls.iter().map(|control| {
        let red = if control.red { "red" } else { "NOT FOUND" };
        Row::new([control.name.as_str(), red, control.found.as_str()])
    });
    match drill.controls.is_empty() {
        true => String::new(),
        false => Table::new(["control", "", "found"].map(Column::words), rows).to_text(),
    }
}

impl From<DrillError> for SimulateError {
    fn from(error: DrillError) -> Self {
        Self::Drill(error)
    }
}
