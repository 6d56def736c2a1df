//! `brunt simulate`: would that array hold? A test, or raw load, on a modelled array, in virtual
//! time.
//!
//! Nothing on this machine is read but the scenario and what it names. Equal scenarios and seeds
//! give equal results, on every machine.
//!
//! * `test`: a scenario with a mail server, such as `brunt run` takes, on an array: a run folder as
//!   after a real test.
//! * `check`: what would be simulated, or everything that is wrong with the scenario.
//! * `several`: many of them at once: `sweep`, `until_fail`, or many seeds; `kept` is what they
//!   leave.
//! * A scenario with raw load is run here; `brunt_lab::load` has its words and its page.

mod check;
mod kept;
mod planner;
mod seeds;
pub(super) mod several;
pub(super) mod test;
mod told;
mod until_fail;

use std::io;
use std::path::{Path, PathBuf};

use brunt_array::SystemError;
use brunt_array::load::{Outcome, simulate};
use brunt_lab::LabError;
use brunt_lab::batch::{Plan, Text};
use brunt_lab::load::{
    json, measured, opening, page, per_second, unreplicated, verdict as verdict_of,
};
use brunt_report::result::Verdict;
use brunt_report::{
    FolderError, ReadError, RunFolder, TogetherError, decimals, one_line, storage_html,
};
use brunt_units::Span;
use clap::{Args, ValueEnum};

use crate::clock::now;
use crate::exit::Exit;
use crate::output::{Output, Tone};
use crate::records::Lines;
use brunt_scenario::{Document, Override, Place, Refusal, Subject};

use super::batch::{self, BatchError};
use crate::mistakes::Mistakes;
use crate::source::Source;
use crate::test_args::{SharedArgs, one_or_more, whole};
use crate::version;
use several::Several;
use told::Told;

/// Arguments of `simulate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt simulate examples/arrays/raid5-rebuilding.toml
  brunt simulate my-array.toml --duration 10min --seed 7
  brunt simulate my-array.toml --set load.0.outstanding=64 --json | jq .reads.latency_ms_mean
  brunt simulate examples/mail-on-array.toml --set array.cache.write=64MiB
  brunt simulate examples/mail-on-array.toml --sweep test.sessions=1..16 --duration 60s
  brunt simulate examples/distance.toml --sweep link.rtt=0ms..10ms")]
pub struct SimulateArgs {
    /// Scenario file (TOML), or - for stdin: an array, and a mail test or raw load on it
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,

    #[command(flatten)]
    pub shared: SharedArgs,

    /// What drives the storage (tests)
    #[arg(long, value_enum, default_value_t)]
    pub engine: Engine,

    /// Simulate several values of one key, on all cores: test.sessions=1..16,
    /// array.cache.write=64MiB,1GiB, link.rtt=0ms..10ms (tests)
    #[arg(long, value_name = "KEY=VALUES", conflicts_with = "check")]
    pub sweep: Option<String>,

    /// Find the largest number of mailboxes that passes (tests sized in mailboxes)
    #[arg(long, conflicts_with = "check")]
    pub until_fail: bool,

    /// Simulate N seeds and give the precision of the means (tests)
    #[arg(long, value_name = "N", conflicts_with = "check", value_parser = whole)]
    pub seeds: Option<u64>,

    /// Simulate nothing now: write to DIR what is to be computed by `brunt part` on several machines
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "json", "out"])]
    pub plan: Option<PathBuf>,

    /// Parts of the plan [default: one for each point]
    #[arg(long, value_name = "N", requires = "plan", value_parser = one_or_more)]
    pub parts: Option<u64>,

    /// Simulate the whole duration, however well the figures are known before (tests)
    #[arg(long)]
    pub complete: bool,
}

/// What stands for the mail server's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A twin of the engine, without content: for databases of any size
    #[default]
    Twin,
    /// The engine itself, with every byte: for small databases
    Bytes,
}

impl From<Engine> for brunt_lab::Engine {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Twin => Self::Twin,
            Engine::Bytes => Self::Bytes,
        }
    }
}

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The scenario is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scenario is wrong, in everything that is said.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// The array cannot be built.
    #[error(transparent)]
    Arrays(#[from] SystemError),
    /// A folder, a file or a signal cannot be had.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The run's folder cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What was just written to it cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The servers did not do the same.
    #[error(transparent)]
    Together(#[from] TogetherError),
    /// It did not come to a test.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A plan cannot be made or read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// There was no drill.
    #[error(transparent)]
    Drill(brunt_lab::DrillError),
}

/// Simulates and says what came of it: [`Exit::Failed`] when data was lost.
///
/// # Errors
/// [`SimulateError`] when nothing was simulated.
pub fn run(args: &SimulateArgs, output: &Output) -> Result<Exit, SimulateError> {
    let source = source(&args.scenario)?;
    let document = source.document()?;
    if args.shared.output.check {
        return check::run(args, &document, output);
    }
    if document.subject() == Subject::Load {
        return load(args, &document, &source.text, output);
    }
    if let Some(work) = several::work(args)? {
        let (overrides, engine) = (overrides(args)?, args.engine.into());
        let several = Several::new(&work, &document, overrides.clone(), engine)?;
        let Some(folder) = &args.plan else {
            return several::run(&several, args, output);
        };
        let Source { name, text, folder: home } = source;
        let text = Text { name, text };
        let plan = Plan::new(&version::program(), work, engine, &overrides, text, &home);
        return batch::plan::make(folder, plan, args.parts, &document, &several, output);
    }
    if args.plan.is_some() {
        let refusal = Place::flag("--plan").refuse("is for several simulations");
        return Err(refusal.hint("add --sweep, --seeds or --until-fail").into());
    }
    test::run(args, &document.modelled_test(&overrides(args)?)?, output)
}

/// Raw load.
fn load(
    args: &SimulateArgs,
    document: &Document,
    text: &str,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let scenario = &document.load(&load_overrides(args)?)?;
    output.talk(&opening(scenario, version::SHORT));
    let folder = RunFolder::of_kind(&args.shared.output.out, now(), &scenario.name, "load")?;
    let lines = Lines::of(&args.shared.output.printed, output);
    let told = Told::begin(&scenario.name, text.to_owned(), &folder, &lines, output)?;
    let outcome = simulate(&scenario.simulation, |at| {
        told.interval(at.interval, at.end);
        true
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            folder.discard();
            return Err(error.into());
        }
    };
    let result = match (outcome.loss(), outcome.unreplicated()) {
        (Some(_), _) => Verdict::Fail,
        (None, Some(_)) => Verdict::Inconclusive,
        (None, None) => Verdict::Pass,
    };
    told.end(result)?;
    let figures = json(scenario, &outcome);
    lines.tell((result.word(), &figures), output, || {
        let verdict = verdict(&outcome, output);
        output.show(&format!("{verdict}\n\n{}", measured(scenario, &outcome)));
    });
    let page = page(scenario, text, &outcome, version::command());
    folder.write("report.html", storage_html(&page).as_bytes())?;
    folder.write("simulation.json", figures.as_bytes())?;
    let page = folder.file("report.html");
    output.talk(&format!("\n{:14}{}", "report", page.display()));
    Ok(result.into())
}

/// Whether data was lost, and how fast it was.
fn verdict(outcome: &Outcome, output: &Output) -> String {
    let count = outcome.reads.latencies.count() + outcome.writes.latencies.count();
    let rate = decimals(per_second(count, outcome.elapsed()));
    let (word, colour) = verdict_of(outcome);
    match (outcome.loss(), outcome.unreplicated()) {
        (None, _) if count == 0 => {
            let word = output.paint(Tone::Doubt, "DONE");
            format!(
                "{word}          no host I/O came back in {}: the array's latencies or links are slower than that, or the load is; measure longer",
                outcome.elapsed()
            )
        }
        (None, Some(none)) => {
            let word = output.paint(colour.into(), word);
            let none = one_line(&unreplicated(none)).into_owned();
            format!("{word}  {none} {rate} host I/Os per second, no data lost")
        }
        (None, None) => {
            let word = output.paint(colour.into(), word);
            format!("{word}          {rate} host I/Os per second, no data lost")
        }
        (Some(note), _) => {
            let word = output.paint(colour.into(), word);
            let at = Span(note.at.0);
            format!("{word}          {} at {at}; {rate} host I/Os per second", note.what)
        }
    }
}

/// Reads the scenario at `path`.
pub(super) fn source(path: &Path) -> Result<Source, SimulateError> {
    let otherwise = format!("to have one written: brunt init --array {}", path.display());
    Ok(Source::of(path, &[&otherwise])?)
}

/// What the command line replaces in a test.
fn overrides(args: &SimulateArgs) -> Result<Vec<Override>, Refusal> {
    let complete = Override::of_switch("--complete", args.complete, "test.precision", "none");
    args.shared.overrides("test", complete)
}

/// What it replaces in raw load.
fn load_overrides(args: &SimulateArgs) -> Result<Vec<Override>, Refusal> {
    for (flag, is_there) in [
        ("--sessions", args.shared.sessions.is_some()),
        ("--sweep", args.sweep.is_some()),
        ("--until-fail", args.until_fail),
        ("--seeds", args.seeds.is_some()),
        ("--plan", args.plan.is_some()),
        ("--complete", args.complete),
    ] {
        if is_there {
            let what = "is for tests; this scenario has raw load";
            return Err(Place::flag(flag).refuse(what));
        }
    }
    args.shared.overrides("simulate", None)
}
