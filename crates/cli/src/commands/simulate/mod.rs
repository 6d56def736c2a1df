//! `brunt simulate`: would that array hold? Load on a modelled array, in virtual time.
//!
//! Nothing on this machine is read but the scenario and what it names, and nothing is written. Equal scenarios and seeds
//! give equal results, on every machine.

mod json;
mod words;

use std::fs;
use std::io;
use std::path::PathBuf;

use brunt_array::DesignError;
use brunt_array::load::simulate;
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use crate::scenario::{ArrayScenario, Override, Place, Refusal};

/// What `simulate` is told.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt simulate examples/arrays/raid5-rebuilding.toml
  brunt simulate my-array.toml --duration 10min --seed 7
  brunt simulate my-array.toml --set load.0.outstanding=64 --json | jq .reads.latency_ms_mean")]
pub struct SimulateArgs {
    /// Scenario file (TOML) that describes an array and its load
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,

    /// How long to measure, such as 90s or 2h of virtual time
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,

    /// Seed of all randomness
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,

    /// Replace a value of the scenario, such as array.cache.write=1GiB; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,

    /// Say nothing but the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The scenario is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The array cannot be built.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The folder that we are in is gone.
    #[error("the working folder: {0}")]
    Folder(#[from] io::Error),
}

/// Simulates and says what came of it: [`Exit::Failed`] when data was lost.
///
/// # Errors
/// [`SimulateError`] when nothing was simulated.
pub fn run(args: &SimulateArgs, output: &Output) -> Result<Exit, SimulateError> {
    let scenario = read(args)?;
    output.talk(&words::opening(&scenario));
    let mut progress = output.progress("simulate");
    let outcome = simulate(&scenario.simulation, |at| {
        let share = at.now.0 as f64 / at.end.0 as f64;
        progress.show(share, || format!("{:.0} s", (at.now.0 as f64 / 1e9)));
        true
    })?;
    progress.vanish();
    if args.json {
        output.data(&json::result(&scenario, &outcome));
    } else {
        output.data(&words::result(&scenario, &outcome, output));
    }
    Ok(match outcome.loss() {
        Some(_) => Exit::Failed,
        None => Exit::Passed,
    })
}

fn read(args: &SimulateArgs) -> Result<ArrayScenario, SimulateError> {
    let flags = [
        ("--duration", "simulate.duration", &args.duration),
        ("--seed", "simulate.seed", &args.seed),
    ];
    let overrides = Override::all(&args.set, &flags)?;
    let name = args.scenario.display().to_string();
    let text = fs::read_to_string(&args.scenario)
        .map_err(|error| Place::file(&name).refuse(format!("cannot be read: {error}")))?;
    let file = std::env::current_dir()?.join(&args.scenario);
    let folder = file.parent().unwrap_or(&file);
    Ok(ArrayScenario::parse(&name, &text, folder, &overrides)?)
}
