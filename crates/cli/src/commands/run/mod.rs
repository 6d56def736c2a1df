//! `brunt run`: does this real storage hold?
//!
//! ```text
//!   scenario -> preflight -> locks -> run folder: outline -> real world: the test -> result -> report, screen
//!                                       ^---- tables, sample by sample -----'
//! ```
//!
//! `brunt_host` has what a test on this machine needs; `watch` shows its progress and hands it to
//! the recorder.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every rule held |
//! | 1 | one did not |
//! | 2 | there is no answer: the test could not be carried out, was invalid, or inconclusive |
//! | 130 | it was stopped (Ctrl-C, SIGTERM); there is a report all the same |
//!
//! A second Ctrl-C ends the program at once; see [`crate::interrupt`]. The databases are then
//! recovered by the next run, and `brunt report` shows what was recorded, and `--resume` carries
//! the test on.

mod all_kinds;
mod args;
mod watch;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use brunt_host::folders::{self, PrepareError, Prepared};
use brunt_host::interrupted::{Interrupted, InterruptedError};
use brunt_host::recorder::{Recorder, RecorderError};
use brunt_host::surroundings::{self, DeviceCounts};
use brunt_host::system_log::Listening;
use brunt_host::worker::Worker;
use brunt_host::{handles, plan, runs, shards, test_log, witness};
use brunt_qualify::error::RunError;
use brunt_qualify::phases::run::run_among;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::result::{Surroundings, foreseen, result, unfinished};
use brunt_qualify::shards::Meeting;
use brunt_report::{
    FolderError, ReadError, Run, RunFolder, RunResult, Timestamp, host_counters, report_html,
};
use brunt_run::{Both, Head, Listener, News, Stop};
use brunt_world_real::{Backend, RealWorld, StartError};

use crate::clock::now;
use crate::closing::closing;
use crate::commands::paper;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::opening::{labelled, opening, qualifies};
use crate::outlook::{Outlook, OutlookError, of_run, outlook};
use crate::output::Output;
use crate::records::Lines;
use crate::setup;
use brunt_scenario::Scenario;

use crate::test_args::TestArgs;
use crate::version;
pub use args::RunArgs;
pub(crate) use watch::Watch;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunCommandError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] Mistakes),
    /// What a run would do cannot be said.
    #[error(transparent)]
    Outlook(#[from] OutlookError),
    /// The run cannot be carried on.
    #[error(transparent)]
    Interrupted(#[from] InterruptedError),
    /// The process may not have enough files open.
    #[error(transparent)]
    Handles(#[from] handles::TooFew),
    /// A folder cannot be made, or is in use.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The run's folder cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Nothing can be recorded in it.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// What was just written to it cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The result would not be a qualification, and that is required.
    #[error("the result will not qualify: {}", .0.join("; "))]
    WillNotQualify(Vec<String>),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It did not come to a test.
    #[error(transparent)]
    Test(#[from] RunError),
    /// The page to sign cannot be written.
    #[error(transparent)]
    Handover(#[from] paper::CommandError),
    /// The working folder or a signal cannot be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Runs the test.
///
/// # Errors
/// [`RunCommandError`] when it did not come to a test; a test that broke has a result.
pub fn run(args: &RunArgs, output: &Output) -> Result<Exit, RunCommandError> {
    if args.all_kinds {
        return all_kinds::run(args, output);
    }
    let interrupted = args.resume.as_deref().map(Interrupted::read).transpose()?;
    let scenario = args.runnable(&env::current_dir()?)?;
    handles::provide(&scenario)?;
    let start = args.start(now());
    let start = start.map_err(Mistakes::from)?;
    let abort_on_fail = args.abort_on_fail;
    let args = &args.test;
    if args.shared.output.check {
        return check(args, &scenario, output);
    }
    // Until here there is nothing to end in order, and a signal ends the program.
    let interrupt = Interrupt::listen()?;
    let lines = Lines::of(&args.shared.output.printed, output);
    let how = How { interrupted: interrupted.as_ref(), start, among: None, abort_on_fail };
    let Some(outcome) = once(args, &scenario, how, &interrupt, &lines, output)? else {
        return Ok(Exit::Interrupted);
    };
    let result = outcome.result;
    let told = (result.verdict.word(), result.to_json());
    lines.tell((told.0, &told.1), output, || {
        output.talk("");
        output.show(&closing(&result, &outcome.folder, output));
    });
    outcome.written?;
    Ok(match Exit::from(result.verdict) {
        Exit::Passed if args.require_qualified && !result.qualifies => Exit::Failed,
        exit => exit,
    })
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) result: RunResult,
    pub(crate) folder: PathBuf,
    /// Whether the folder has it.
    pub(crate) written: Result<(), RunCommandError>,
}

/// What makes a run another one than that of a scenario alone, now.
#[derive(Clone, Copy, Default)]
pub(crate) struct How<'a> {
    /// What it carries on.
    pub(crate) interrupted: Option<&'a Interrupted>,
    /// When sessions begin.
    pub(crate) start: Option<Timestamp>,
    /// The other hosts that it begins with, and its name among them.
    pub(crate) among: Option<(&'a Arc<Worker>, &'a str)>,
    /// Whether it ends once nothing can mend what has failed.
    pub(crate) abort_on_fail: bool,
}

/// Carries out one run; `None` when it was stopped before it began.
pub(crate) fn once(
    args: &TestArgs,
    scenario: &Scenario,
    how: How<'_>,
    interrupt: &Interrupt,
    lines: &Lines,
    output: &Output,
) -> Result<Option<Outcome>, RunCommandError> {
    let stop = Stop::from(interrupt.flag());
    let prepared = folders::prepare(scenario)?;
    let begun = SystemTime::now();
    let folder = RunFolder::of_kind(
        &args.shared.output.out,
        begun.into(),
        &scenario.name,
        scenario.test.kind.word(),
    )?;
    interrupt.set_farewell(farewell(folder.path()));
    let asked = Asked { args, scenario, how, begun, lines };
    let result = match test(&asked, &prepared, &folder, output, &stop) {
        Ok(result) => result,
        Err(error) => {
            // Nothing was tested: as if there had been no run.
            folder.discard();
            stopped(error, output)?;
            return Ok(None);
        }
    };
    Ok(Some(Outcome { written: write(&result, &folder), result, folder: folder.path().to_owned() }))
}

/// Says what a run would do.
fn check(args: &TestArgs, scenario: &Scenario, output: &Output) -> Result<Exit, RunCommandError> {
    tell(args, &outlook(scenario, args.consent(), &args.shared.output.out)?, output)?;
    Ok(Exit::Passed)
}

/// The same, where it is known what that is.
pub(crate) fn tell(
    args: &TestArgs,
    outlook: &Outlook,
    output: &Output,
) -> Result<(), RunCommandError> {
    output.show(&outlook.text);
    match outlook.obstacles.is_empty() || !args.require_qualified {
        true => Ok(()),
        false => Err(RunCommandError::WillNotQualify(outlook.obstacles.clone())),
    }
}

/// What is said when the program is ended at once.
fn farewell(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "\nended at once; what was recorded is shown by: brunt report {folder}\nto carry the test on: brunt run --resume {folder}\n"
    )
}

/// Being stopped before there was a test is no error.
fn stopped(error: RunCommandError, output: &Output) -> Result<(), RunCommandError> {
    match error {
        RunCommandError::Test(RunError::Stopped) => {
            output.talk("stopped before the test began; what was begun has been removed");
            Ok(())
        }
        error => Err(error),
    }
}

/// What is to be tested.
struct Asked<'a> {
    args: &'a TestArgs,
    scenario: &'a Scenario,
    how: How<'a>,
    begun: SystemTime,
    lines: &'a Lines,
}

fn test(
    asked: &Asked<'_>,
    prepared: &Prepared,
    folder: &RunFolder,
    output: &Output,
    stop: &Stop,
) -> Result<RunResult, RunCommandError> {
    let (args, scenario, begun) = (asked.args, asked.scenario, asked.begun);
    let How { interrupted, start, among, abort_on_fail } = asked.how;
    let heard = asked.lines.heard();
    let options = brunt_world_real::Options {
        backend: scenario.backend,
        seed: scenario.test.seed,
        roots: prepared.roots.clone(),
        ..brunt_world_real::Options::default()
    };
    let mut real = RealWorld::new(&options)?;
    among.iter().for_each(|(worker, _)| worker.set_zero(options.zero));
    let plan = Plan {
        start_at: start.map(|start| plan::world_time(begun, start)),
        hearing: witness::hearing()?,
        abort_on_fail,
        ..plan::plan(scenario, args.consent(), begun)
    };
    let plan = match interrupted {
        Some(interrupted) => interrupted.plan(plan),
        None => plan,
    };
    let places = surroundings::places(&plan);
    let backend = real.backend();
    output.talk(&opening(scenario, &backend.kind.to_string()));
    let around = |counted: &DeviceCounts, backend: &Backend| {
        let origin = version::origin(plan.seed, plan.run.to_string());
        named(surroundings::surroundings(&plan, &places, counted, backend, origin), asked.how)
    };
    let origin = version::origin(plan.seed, plan.run.to_string());
    let forecast = named(surroundings::forecast(&plan, &places, &backend, origin), asked.how);
    let before = Surroundings { setup: setup::errors(scenario), ..forecast };
    let obstacles = foreseen(&plan, &before);
    output.talk(&qualifies(&obstacles));
    output.talk(&labelled("time", of_run(&mut real, &plan)).join("\n"));
    if args.require_qualified && !obstacles.is_empty() {
        return Err(RunCommandError::WillNotQualify(obstacles));
    }
    let outline = unfinished(&plan, real.world.clock.now(), &before);
    let head = begin(folder, &plan, scenario, &outline)?;
    let devices = surroundings::devices(&places);
    let mut kernel = Listening::begin(
        surroundings::all_devices(&plan, &places),
        surroundings::unheard(&plan, &places),
    );
    let recorder = match interrupted {
        Some(interrupted) => Recorder::carry_on(folder, head, devices, interrupted, heard)?,
        None => Recorder::begin(folder, head, devices, heard)?,
    };
    let watch = Rc::new(Watch::new(output, &plan, &places, recorder));
    let begun = real.world.clock.now();
    watch.log_all(begun, test_log::beginning(&plan, &version::command()));
    let carried = plan.carried.map(|carried| {
        let done = carried.length.min(plan.duration);
        format!("continues a run that was interrupted after {done} of {}", plan.duration)
    });
    for text in surroundings::shared_with(folder.path(), &plan).into_iter().chain(carried) {
        watch.tell(begun, &News::Note { text });
    }
    let meeting = among.map(|(worker, _)| Arc::clone(worker) as Arc<dyn Meeting>);
    let listener: Rc<dyn Listener> = match among {
        Some((worker, _)) => Rc::new(Both(Rc::clone(&watch) as _, Arc::clone(worker) as _)),
        None => Rc::clone(&watch) as _,
    };
    let (run, backend) = conducted(&mut real, (&plan, &options), listener, stop, meeting)?;
    let hangs = match &run {
        Ok(run) => run.hung.count > 0,
        Err(error) => matches!(error, RunError::Hung(_)),
    };
    let result = run.map(|mut run| {
        let standing = run.standing_at_end();
        if let Some(interrupted) = interrupted {
            interrupted.add_to(&mut run, &plan);
        }
        let machine = watch.machine();
        let host = machine.collection;
        // Those that came since, too.
        let mut io_limits = BTreeSet::from_iter(surroundings::io_limits(&places));
        io_limits.extend(before.io_limits.clone().unwrap_or_default());
        let mut surroundings = Surroundings {
            busiest: host_counters::busiest(&host),
            system_log: Some(kernel.heard()),
            setup: setup::with_end(&before.setup, setup::errors(scenario)),
            host,
            io_limits: Some(io_limits.into_iter().collect()),
            phases: machine.phases,
            ..around(&watch.device_counts(), &backend)
        };
        surroundings::look_again(&mut surroundings, &places);
        let result = result(&plan, &run, &surroundings);
        watch.log_all(run.ended, brunt_report::ending(&result));
        watch.judged(run.ended, standing, result.verdict);
        result
    });
    if hangs {
        // Taking the world apart would wait for what does not come back, perhaps for ever, and
        // there is a report to write.
        std::mem::forget(real);
    }
    if let Err(error) = watch.end() {
        // The verdict does not depend on these tables, but their readers must know.
        output.error(&format!("not everything could be recorded: {error}"));
    }
    Ok(result?)
}

/// Runs `plan` in `real`, or its shards in worlds of their own; how I/O reached the kernel, too.
fn conducted(
    real: &mut RealWorld,
    (plan, options): (&Plan, &brunt_world_real::Options),
    listener: Rc<dyn Listener>,
    stop: &Stop,
    meeting: Option<Arc<dyn Meeting>>,
) -> Result<(Result<TestRun, RunError>, Backend), StartError> {
    if plan.shards > 1 {
        return shards::run(plan, options, &*listener, stop, meeting);
    }
    let (world, plan, stop) = (real.world.clone(), plan.clone(), stop.clone());
    let run = real.executor.block_on(async move {
        run_among(&world, &plan, &*listener, &stop, meeting.as_deref()).await
    });
    Ok((run, real.backend()))
}

/// The machine as its server is called among others.
fn named(mut surroundings: Surroundings, how: How<'_>) -> Surroundings {
    if let Some((_, name)) = how.among {
        name.clone_into(&mut surroundings.machine.name);
    }
    surroundings
}

/// Writes what is known before the test begins.
fn begin(
    folder: &RunFolder,
    plan: &Plan,
    scenario: &Scenario,
    outline: &RunResult,
) -> Result<Head, FolderError> {
    let (scenario, outline) = (scenario.to_toml(), outline.to_json());
    let head = Head { scenario, outline, ..runs::head(plan) };
    folder.write("scenario.toml", head.scenario.as_bytes())?;
    folder.write("result.json", head.outline.as_bytes())?;
    Ok(head)
}

/// The numbers first and the report last, so that a full disk takes the part that can be made
/// again.
fn write(result: &RunResult, folder: &RunFolder) -> Result<(), RunCommandError> {
    folder.write("result.json", result.to_json().as_bytes())?;
    let run = Run::read(folder.path())?;
    folder.write("report.html", report_html(&run).as_bytes())?;
    Ok(())
}
