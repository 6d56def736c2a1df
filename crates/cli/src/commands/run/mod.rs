//! `brunt run`: does this real storage hold?
//!
//! ```text
//!   scenario -> preflight -> locks -> run folder -> real world: the test -> result -> run folder, screen
//! ```
//!
//! * `plan`: from the scenario to what is tested.
//! * `watch`: progress on the screen, the test log, the kernel's counters.
//! * `surroundings`: the machine and the way of I/O to its storage.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every rule held |
//! | 1 | one did not |
//! | 2 | the test could not be carried out |
//! | 130 | somebody stopped it (Ctrl-C, SIGTERM); there is a report all the same |
//!
//! A second Ctrl-C ends the program at once. The databases are then recovered by the next run.

mod folders;
mod plan;
mod surroundings;
mod watch;

use std::env;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_qualify::error::RunError;
use brunt_qualify::progress::Stop;
use brunt_qualify::result::result;
use brunt_qualify::run::TestRun;
use brunt_report::{Counters, FolderError, Run, RunFolder, RunResult, Timestamp};
use brunt_stats::LatencyLog;
use brunt_world_real::{RealWorld, StartError};

use crate::closing::{closing, exit};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::opening::opening;
use crate::output::Output;
use crate::scenario::{Refusal, Scenario, preflight};
use crate::test_args::TestArgs;
use folders::PrepareError;
use watch::Watch;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunCommandError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] Refusal),
    /// A folder cannot be made, or is in use.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The run's folder cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It did not come to a test.
    #[error(transparent)]
    Test(#[from] RunError),
    /// The working folder or a signal cannot be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Runs the test.
///
/// # Errors
/// [`RunCommandError`] when it did not come to a test; a test that broke has a result.
pub fn run(args: &TestArgs, output: &Output) -> Result<Exit, RunCommandError> {
    let stop = Stop::from(Interrupt::listen()?.flag());
    let scenario = args.scenario(&env::current_dir()?)?;
    preflight(&scenario)?;
    let _locks = folders::prepare(&scenario)?;
    let begun = SystemTime::now();
    let started = timestamp(begun);
    let folder = RunFolder::create(&args.out, started, &scenario.name)?;
    let tested = test(args, &scenario, begun, output, &stop);
    let tested = match tested {
        Ok(tested) => tested,
        Err(error) => {
            // Nothing was tested, and the folder is empty: as if there had been no run.
            let _ = std::fs::remove_dir(folder.path());
            return stopped(error, output);
        }
    };
    tested.write(&scenario, &folder)?;
    if args.json {
        output.data(tested.result.to_json().trim_end());
    } else {
        output.talk("");
        output.data(&closing(&tested.result, folder.path(), output));
    }
    Ok(exit(tested.result.verdict))
}

/// Being stopped before there was a test is no error.
fn stopped(error: RunCommandError, output: &Output) -> Result<Exit, RunCommandError> {
    match error {
        RunCommandError::Test(RunError::Stopped) => {
            output.talk("stopped before the test began; what was begun has been removed");
            Ok(Exit::Interrupted)
        }
        error => Err(error),
    }
}

/// A test and everything to be written about it.
struct Tested {
    result: RunResult,
    run: TestRun,
    events: Vec<brunt_report::Event>,
}

fn test(
    args: &TestArgs,
    scenario: &Scenario,
    begun: SystemTime,
    output: &Output,
    stop: &Stop,
) -> Result<Tested, RunCommandError> {
    let options = brunt_world_real::Options {
        backend: scenario.backend,
        seed: scenario.test.seed,
        ..brunt_world_real::Options::default()
    };
    let mut real = RealWorld::new(&options)?;
    let plan = plan::plan(scenario, args.new, begun);
    let places = surroundings::places(&plan);
    let backend = real.backend().kind.to_string();
    output.talk(&format!("{}\n", opening(scenario, &backend)));
    let watch = Rc::new(Watch::new(output, &plan, &places));
    let run = {
        let (world, plan) = (real.world.clone(), plan.clone());
        let (watch, stop) = (Rc::clone(&watch), stop.clone());
        real.executor
            .block_on(async move { brunt_qualify::run::run(&world, &plan, &*watch, &stop).await })
    };
    watch.end();
    let run = run?;
    let devices = watch.device_reads();
    let around = surroundings::surroundings(&plan, &places, &devices, &real.backend(), &command());
    Ok(Tested {
        result: result(&plan, &run, &around),
        events: watch.events(),
        run,
    })
}

impl Tested {
    fn write(&self, scenario: &Scenario, folder: &RunFolder) -> Result<(), FolderError> {
        let run = Run {
            result: self.result.clone(),
            scenario: scenario.to_toml(),
            events: self.events.clone(),
        };
        match &self.run.collected {
            Some(collected) => {
                let log = collected.latency_log.as_bytes();
                folder.write_run(&run, &collected.counters, log)
            }
            None => folder.write_run(&run, &Counters::new(), LatencyLog::new(0).as_bytes()),
        }
    }
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp {
        unix_seconds: since.as_secs(),
    }
}

/// The command line as it was typed, but for the path of the program.
fn command() -> String {
    let mut words = env::args_os();
    let program = words.next().map(PathBuf::from).unwrap_or_default();
    let name = program
        .file_name()
        .unwrap_or(Path::new("brunt").as_os_str());
    let rest = words.map(|word| word.to_string_lossy().into_owned());
    let all = std::iter::once(name.to_string_lossy().into_owned()).chain(rest);
    all.collect::<Vec<_>>().join(" ")
}
