//! The test of one host: looked at first, and begun when the coordinator has seen all hosts.

use std::io::{BufReader, stdin, stdout};
use std::path::Path;

use brunt_agents::FromWorker;
use brunt_host::folders::worked_in;
use brunt_host::handles;
use brunt_host::worker::Worker;
use brunt_units::Span;

use super::AgentCommandError;
use crate::commands::run::{How, RunCommandError, once};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::outlook::outlook;
use crate::output::Output;
use crate::records::Lines;
use crate::test_args::{OutputArgs, Printed, SharedArgs, TestArgs};

/// Runs the test of `server` that the file `scenario` describes, in a folder below `out`.
///
/// # Errors
/// [`AgentCommandError`] when it did not come to a test; the keeper passes it on.
pub(super) fn run(
    server: &str,
    scenario: &Path,
    out: &Path,
    replace: bool,
    output: &Output,
) -> Result<Exit, AgentCommandError> {
    let output_args = OutputArgs { out: out.to_owned(), quiet: true, ..OutputArgs::default() };
    let shared = SharedArgs { output: output_args, ..SharedArgs::default() };
    let args = TestArgs { shared, new: replace, ..TestArgs::default() };
    let folder = Path::new("/");
    let scenario = args.runnable(Some(scenario), &[], folder).map_err(RunCommandError::from)?;
    handles::provide(&scenario).map_err(RunCommandError::from)?;
    let outlook = outlook(&scenario, args.consent(), out).map_err(RunCommandError::from)?;
    let interrupt = Interrupt::listen()?;
    let worker = Worker::over(BufReader::new(stdin()), stdout(), interrupt.flag())?;
    worker.say(&FromWorker::Checked {
        folders: worked_in(&scenario).map(Path::to_owned).collect(),
        bytes: brunt_host::preflight::demands(&scenario)
            .iter()
            .fold(0, |sum, demand| sum.saturating_add(demand.needed.get())),
        // Nobody knows how long tuning takes.
        lasts: outlook.takes.unwrap_or(Span(u64::MAX)),
    });
    if !worker.may_prepare() {
        return Ok(Exit::Interrupted);
    }
    let how = How { among: Some((&worker, server)), ..How::default() };
    let lines = Lines::of(&Printed::default(), output);
    let Some(outcome) = once(&args, &scenario, how, &interrupt, &lines, output)? else {
        return Ok(Exit::Interrupted);
    };
    // What the folder lacks, the coordinator does not get.
    outcome.written?;
    let verdict = outcome.result.verdict;
    worker.say(&FromWorker::Ended { verdict, folder: outcome.folder });
    Ok(Exit::from(verdict))
}
