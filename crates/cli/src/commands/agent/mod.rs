//! `brunt agent --stdio`: one host of a fleet. `brunt fleet` starts it there; nobody else needs to.
//!
//! ```text
//!   brunt fleet run --- ssh host brunt agent --stdio     the door: one for each connection, ends with it
//!                                   |
//!                         brunt agent --keep RUN         the keeper: a session of its own, holds the run id
//!                                   |
//!                         brunt agent --work ...         the worker: the test; ends with its stdin
//! ```

mod work;

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use brunt_agents::{AgentError, Keeping, Place, keep, serve};
use brunt_fleet::Program;
use brunt_units::Span;
use clap::Args;

use super::run::RunCommandError;
use crate::exit::Exit;
use crate::output::Output;
use crate::version;

/// Where the owner of a host says what fleets may do there.
const PERMIT: &str = "/etc/brunt/agent.toml";

/// How long a keeper waits before a coordinator has said how long.
const WAIT: Span = Span::seconds(1_800);

/// Arguments of `agent`.
#[derive(Args, Clone, Debug)]
pub struct AgentArgs {
    /// Serve a coordinator on stdin and stdout
    #[arg(long, required_unless_present_any = ["keep", "work"])]
    pub stdio: bool,

    /// Where runs of fleets are kept [default: brunt/agents in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// Keep the run in this folder
    #[arg(long, hide = true, conflicts_with_all = ["stdio", "work"])]
    pub keep: Option<PathBuf>,

    /// Run a test: its server, its scenario, where its folder belongs
    #[arg(long, hide = true, conflicts_with = "stdio", num_args = 0, requires = "task")]
    pub work: bool,

    /// Whether it may replace databases
    #[arg(long, hide = true, requires = "work")]
    pub replace: bool,

    #[arg(hide = true, num_args = 3)]
    pub task: Vec<PathBuf>,
}

/// Why an agent cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum AgentCommandError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Run(#[from] RunCommandError),
    #[error("{0}")]
    System(#[from] io::Error),
    /// There is no home to keep runs in.
    #[error(
        "neither XDG_STATE_HOME nor HOME is set\n  name a folder: brunt agent --stdio --state DIR"
    )]
    Homeless,
}

/// Serves, keeps or works.
///
/// # Errors
/// [`AgentCommandError`] when it could not begin.
pub fn run(args: &AgentArgs, output: &Output) -> Result<Exit, AgentCommandError> {
    if let Some(folder) = &args.keep {
        let worker = command("--work")?;
        let keeping = Keeping { worker, wait: WAIT, boot: None, permit: PERMIT.into() };
        keep(folder, keeping)?;
    } else if args.work {
        let [server, scenario, out] = &args.task[..] else {
            unreachable!("it has three words");
        };
        return work::run(&server.to_string_lossy(), scenario, out, args.replace, output);
    } else {
        let state = args.state.clone().or_else(state).ok_or(AgentCommandError::Homeless)?;
        let keeper = command("--keep")?;
        let place = Place { state, program: program(), keeper, boot: None };
        serve(&place, io::stdin(), io::stdout())?;
    }
    Ok(Exit::Passed)
}

/// Which brunt this is.
pub(crate) fn program() -> Program {
    Program { version: version::SHORT.to_owned(), commit: version::commit().map(str::to_owned) }
}

/// This program as an agent.
fn command(what: &str) -> io::Result<Vec<OsString>> {
    Ok(vec![env::current_exe()?.into(), "agent".into(), what.into()])
}

fn state() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("brunt/agents"))
}
