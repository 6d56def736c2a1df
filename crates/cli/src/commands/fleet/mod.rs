//! `brunt fleet`: one test on several hosts, which begin at one instant and get one verdict.
//!
//! ```text
//!   run      scenario -> (predict) -> a scenario for each host -> conduct: check all, begin, collect, fetch -> result
//!   attach   the run's folder ---------------------> conduct: from where the hosts are ---^
//!   stop     the same, and all end in order
//! ```
//!
//! What is decided is in `brunt_fleet`, processes are in `brunt_agents`. Here is what is asked, shown
//! and kept.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | all hosts held every rule, together |
//! | 1 | one did not |
//! | 2 | there is no answer: a host could not begin, was lost, or did not bear the load |
//! | 130 | it was stopped |

mod kept;
mod outcome;
mod predict;
mod rows;

use std::env;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use brunt_agents::{AgentError, conduct};
use brunt_host::computing::head;
use brunt_host::keeping::Keeping;
use brunt_host::plan::run_id;
use brunt_host::recorder::Heard;
use brunt_lab::LabError;
use brunt_report::result::RunResult;
use brunt_report::{FolderError, ReadError, RunFolder, report_html};
use brunt_run::Silence;
use brunt_scenario::{Document, FleetScenario, Override, Refusal, Subject};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::clock::now;
use crate::closing::{summary, verdict_again};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::records::Lines;
use crate::source::Source;
use crate::test_args::{Printed, SharedArgs};
pub(crate) use kept::is_fleet;
use kept::{Kept, KeptError};
use rows::Screen;

/// The fleet that is tested when no scenario is named.
const DEMO: &str = include_str!("../../../../../examples/fleet.toml");

/// Arguments of `fleet`.
#[derive(Args, Clone, Debug)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub what: What,
}

/// What is done with a fleet.
#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// Test several hosts at one instant; without a scenario, three servers on this machine
    Run(FleetRunArgs),
    /// Go on with a run whose coordinator ended: show it, fetch its folders, judge it
    #[command(visible_alias = "collect")]
    Attach(FleetAttachArgs),
    /// End a run in order on all hosts, and judge what there is
    Stop(FleetAttachArgs),
}

/// Arguments of `fleet run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt fleet run                        three small servers on this machine, in two minutes
  brunt fleet run mail.toml --check      which hosts, how they are reached, what each would do
  brunt fleet run mail.toml --duration 2h
  brunt fleet run mail.toml --predict    with arrays in the scenario: predicted beside measured
  brunt fleet attach runs/2026-11-27-181503-mail-fleet

Each host needs brunt of the same commit; docs/fleet.md has more. Ctrl-C ends all hosts in order, with a
report; a second Ctrl-C lets them go.")]
pub struct FleetRunArgs {
    /// Scenario file (TOML) with `servers`, or - for stdin [default: three servers on this machine]
    pub scenario: Option<PathBuf>,

    /// Create the databases again, replacing those of an earlier run
    #[arg(long)]
    pub new: bool,

    /// Run the command of `reach`, where it is not ssh: read it first (--check shows it)
    #[arg(long)]
    pub allow_exec: bool,

    /// Simulate the test first, on the arrays of the scenario, and show what was predicted beside what
    /// is measured
    #[arg(long)]
    pub predict: bool,

    #[command(flatten)]
    pub shared: SharedArgs,
}

/// Arguments of `fleet attach` and `fleet stop`.
#[derive(Args, Clone, Debug)]
pub struct FleetAttachArgs {
    /// Folder of a run of `fleet run`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    #[command(flatten)]
    pub printed: Printed,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Scenario(#[from] Mistakes),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scenario says which program to start.
    #[error(
        "the scenario reaches hosts by a command of its own: {0}\n  read it, then repeat this with --allow-exec"
    )]
    Consent(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Kept(#[from] KeptError),
    #[error(transparent)]
    Agents(#[from] AgentError),
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing was predicted, so no host was asked.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// No host has begun.
    #[error("no host has begun\n  {}", .0.join("\n  "))]
    Nobody(Vec<String>),
    /// Hosts may be at work, and cannot be asked.
    #[error("nothing came back yet\n  {}\n  to go on with it: brunt fleet attach {}", .0.join("\n  "), .1.display())]
    NothingYet(Vec<String>, PathBuf),
    #[error("{0}")]
    System(#[from] io::Error),
}

impl FleetArgs {
    pub(crate) fn is_quiet(&self) -> bool {
        match &self.what {
            What::Run(args) => args.shared.output.quiet,
            What::Attach(args) | What::Stop(args) => args.quiet,
        }
    }
}

/// Conducts a fleet.
///
/// # Errors
/// [`FleetError`] when there is no result.
pub fn run(args: &FleetArgs, output: &Output) -> Result<Exit, FleetError> {
    match &args.what {
        What::Run(args) => begin(args, output),
        What::Attach(args) => attach(args, How::GoesOn, output),
        What::Stop(args) => attach(args, How::Stops, output),
    }
}

fn begin(args: &FleetRunArgs, output: &Output) -> Result<Exit, FleetError> {
    let document = match &args.scenario {
        Some(path) => {
            let otherwise = "without a file, three servers on this machine are tested";
            Source::of(path, &[otherwise])?.document()?
        }
        None => Document::new("fleet.toml (built in)", DEMO, &env::current_dir()?)?,
    };
    let overrides: Vec<Override> = args.shared.overrides("test", None)?;
    let scenario = Mistakes::none_or(document.check_fleet(&overrides)?)?;
    let modelled = match args.predict {
        true => Some(predict::modelled(&document, &overrides)?),
        false => None,
    };
    if args.shared.output.check {
        let is_modelled = document.subject() == Subject::ModelledTest;
        output.show(&outlook(&scenario, is_modelled, args.predict));
        return Ok(Exit::Passed);
    }
    let own = scenario.servers.iter().find_map(|server| scenario.reach(server));
    if let Some(command) = own.filter(|words| !is_plain_ssh(words) && !args.allow_exec) {
        return Err(FleetError::Consent(command.join(" ")));
    }
    let interrupt = Interrupt::listen()?;
    output.talk(&opening(&scenario));
    let prediction = match modelled {
        Some(modelled) => match predict::predict(modelled, &scenario, &interrupt, output)? {
            Some(prediction) => Some(prediction),
            None => return Ok(stopped(output)),
        },
        None => None,
    };
    let started = now();
    let folder = RunFolder::of_kind(&args.shared.output.out, started, &scenario.name, "fleet")?;
    let mut kept = Kept::new(&scenario, args.new, started, run_id(SystemTime::now()));
    kept.prediction = prediction;
    kept.write(&folder)?;
    let work = Work { kept: &kept, folder: &folder, interrupt: &interrupt, how: How::Begins };
    match work.conduct(&args.shared.output.printed, output) {
        Err(FleetError::Nobody(why)) => {
            // Nothing was tested: as if there had been no run.
            folder.discard();
            if interrupt.is_asked() {
                return Ok(stopped(output));
            }
            Err(FleetError::Nobody(why))
        }
        came => came,
    }
}

/// Nothing is left of a run that no host has begun.
fn stopped(output: &Output) -> Exit {
    output.talk("stopped before a host had begun");
    Exit::Interrupted
}

fn attach(args: &FleetAttachArgs, how: How, output: &Output) -> Result<Exit, FleetError> {
    let kept = Kept::read(&args.run)?;
    let interrupt = Interrupt::listen()?;
    let folder = RunFolder::at(&args.run);
    let work = Work { kept: &kept, folder: &folder, interrupt: &interrupt, how };
    match outcome::settled(&args.run) {
        // Nothing that hosts could say would change it.
        Some(result) => Ok(work.told(&result, Lines::of(&args.printed, output), output)),
        None => work.conduct(&args.printed, output),
    }
}

/// What is done with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Begins,
    GoesOn,
    /// It ends, in order.
    Stops,
}

/// A run to be conducted.
struct Work<'a> {
    kept: &'a Kept,
    folder: &'a RunFolder,
    interrupt: &'a Interrupt,
    how: How,
}

impl Work<'_> {
    fn conduct(&self, printed: &Printed, output: &Output) -> Result<Exit, FleetError> {
        self.interrupt.set_farewell(self.farewell());
        let lines = Lines::of(printed, output);
        let keeping = self.keeping(lines.heard())?;
        let stops = self.how == How::Stops;
        let mut screen = Screen::new(self.kept, (self.interrupt, stops), &keeping, output);
        let (plan, ways) = (self.kept.plan(run_id(SystemTime::now()).0), self.kept.ways()?);
        let report = conduct(plan, &ways, self.folder.path(), &mut screen);
        screen.clear();
        let report = report?;
        let result = match outcome::run(self.kept, self.folder, &report)? {
            Some(run) => {
                let result = run.result.clone();
                self.folder.write("scenario.toml", run.scenario.as_bytes())?;
                self.folder.write("result.json", result.to_json().as_bytes())?;
                self.folder.write("report.html", report_html(&run).as_bytes())?;
                result
            }
            None if outcome::is_open(&report) => {
                let folder = self.folder.path().to_owned();
                return Err(FleetError::NothingYet(report.reasons, folder));
            }
            None => return Err(FleetError::Nobody(report.reasons)),
        };
        keeping.ended(result.verdict)?;
        Ok(self.told(&result, lines, output))
    }

    fn told(&self, result: &RunResult, lines: Lines, output: &Output) -> Exit {
        lines.tell((result.verdict.word(), &result.to_json()), output, || {
            output.talk("");
            output.show(&self.closing(result, output));
        });
        Exit::from(result.verdict)
    }

    /// The journal of what happened to hosts, begun with the run; `heard` hears its records.
    fn keeping(&self, heard: Option<Heard>) -> Result<Keeping<Silence>, FolderError> {
        let outline = json!({ "schema": kept::SCHEMA, "name": self.kept.name });
        let began = match self.how {
            How::Begins => self.kept.started,
            How::GoesOn | How::Stops => now(),
        };
        let head = head(Some(self.folder), began, &self.kept.name, String::new(), &outline);
        let folder = (self.how == How::Begins).then_some(self.folder);
        Keeping::begin(head, folder, heard, Silence)
    }

    /// What is said when the program is ended at once.
    fn farewell(&self) -> String {
        let names: Vec<&str> = self.kept.hosts.iter().map(|host| host.name.as_str()).collect();
        let (names, folder) = (names.join(", "), self.folder.path().display());
        format!(
            "\nended at once; these hosts were let go: {names}\nto go on with them: brunt fleet attach {folder}\n"
        )
    }

    fn closing(&self, result: &RunResult, output: &Output) -> String {
        let report = self.folder.file("report.html");
        let shown = RunResult { rules: result.shown_rules(), ..result.clone() };
        let text = summary(&shown, &report, output);
        let hosts = outcome::hosts(result) + &outcome::predicted(result);
        let again = match result.fleet.as_ref().is_some_and(outcome::is_unsettled) {
            true => {
                format!("\n{:14}brunt fleet attach {}", "fetch again", self.folder.path().display())
            }
            false => String::new(),
        };
        format!("{text}{hosts}{again}{}", verdict_again(result, output))
    }
}

fn is_plain_ssh(words: &[String]) -> bool {
    matches!(words, [ssh, _] if ssh == "ssh")
}

/// What the run is, in a line.
fn opening(scenario: &FleetScenario) -> String {
    let first = &scenario.servers[0].scenario;
    let servers = brunt_report::counted(scenario.servers.len() as u64, "server");
    format!(
        "brunt {}   {}   {servers}, {} test of {}",
        crate::version::SHORT,
        scenario.name,
        first.test.kind,
        first.test.duration
    )
}

/// What a run would do.
fn outlook(scenario: &FleetScenario, is_modelled: bool, predicts: bool) -> String {
    let mut lines = vec![opening(scenario)];
    for server in &scenario.servers {
        let way = match scenario.reach(server) {
            Some(words) => format!("{}: {}", server.host, words.join(" ")),
            None => "this machine".to_owned(),
        };
        let files = server.scenario.database_files();
        let files: Vec<String> =
            files.map(|(one, _)| format!("{} ({})", one.path.display(), one.size)).collect();
        lines.push(format!("{:14}{way}", server.name));
        lines.push(format!("{:14}{}", "", files.join(", ")));
    }
    lines.push(format!(
        "{:14}the first host that is ready waits {} for the last; they may begin {} apart",
        "together", scenario.wait, scenario.max_skew
    ));
    lines.push(format!(
        "{:14}hosts are looked at when the run begins, before one of them writes",
        "check"
    ));
    let predict = match (is_modelled, predicts) {
        (_, true) => "the test is simulated before hosts begin, on the arrays of the scenario",
        (true, false) => "--predict, or brunt simulate with the same file",
        (false, false) => return lines.join("\n"),
    };
    lines.push(format!("{:14}{predict}", "predict"));
    lines.join("\n")
}
