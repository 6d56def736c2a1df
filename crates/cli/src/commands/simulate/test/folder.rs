//! What a simulation leaves behind.
//!
//! One server leaves what a real run leaves. Several leave a folder each, within that of the
//! simulation, and the simulation's own files are the sum of theirs. Its result comes before
//! theirs: without it, the simulation did not end.

use std::fs;
use std::path::PathBuf;

use brunt_lab::Simulated;
use brunt_report::parts::Parts;
use brunt_report::result::RunResult;
use brunt_report::{Counters, Run, RunFolder, streams, sum_in, together};
use brunt_run::{Sample, Sum};
use brunt_scenario::ModelledScenario;

use crate::commands::simulate::SimulateError;

/// Makes the folders of all servers, with what is known of them before they run.
///
/// # Errors
/// [`SimulateError`] when a file cannot be written.
pub(super) fn begin(
    folder: &RunFolder,
    scenario: &ModelledScenario,
    outlines: &[RunResult],
) -> Result<(), SimulateError> {
    folder.write("scenario.toml", scenario.to_toml().as_bytes())?;
    let whole = match outlines {
        [only] => only.clone(),
        all => {
            for outline in all {
                let own = folder.within(&outline.storage.servers[0].name)?;
                own.write("result.json", outline.to_json().as_bytes())?;
            }
            let runs = all.iter().map(|outline| Run {
                result: outline.clone(),
                scenario: String::new(),
                events: Vec::new(),
                samples: Vec::new(),
                parts: Parts::default(),
            });
            together(runs.collect(), None)?.result
        }
    };
    folder.write("result.json", whole.to_json().as_bytes())?;
    Ok(())
}

/// The folder of the server called `name`, one of `servers`.
pub(super) fn of_server(folder: &RunFolder, servers: usize, name: &str) -> RunFolder {
    match servers {
        1 => folder.clone(),
        _ => RunFolder::at(&folder.file(name)),
    }
}

/// Writes everything but the report. What is returned is everything together.
///
/// # Errors
/// [`SimulateError`] when a file cannot be written, or read back.
pub(super) fn write(
    folder: &RunFolder,
    scenario: &ModelledScenario,
    simulated: Simulated,
) -> Result<Run, SimulateError> {
    let Simulated { servers, model, states, precision } = simulated;
    let results: Vec<RunResult> = servers.into_iter().map(|server| server.result).collect();
    match <[RunResult; 1]>::try_from(results) {
        Ok([mut only]) => {
            only.storage.states = states;
            only.storage.precision = precision;
            only.storage.details.model = Some(Box::new(model));
            folder.write("result.json", only.to_json().as_bytes())?;
            Ok(Run::read(folder.path())?)
        }
        Err(results) => {
            let mut whole = several(folder, scenario, &results)?;
            whole.result.storage.states = states;
            whole.result.storage.precision = precision;
            whole.result.storage.details.model = Some(Box::new(model));
            folder.write("result.json", whole.result.to_json().as_bytes())?;
            for result in &results {
                let own = folder.file(&result.storage.servers[0].name);
                RunFolder::at(&own).write("result.json", result.to_json().as_bytes())?;
            }
            Ok(whole)
        }
    }
}

fn several(
    folder: &RunFolder,
    scenario: &ModelledScenario,
    results: &[RunResult],
) -> Result<Run, SimulateError> {
    let mut runs = Vec::new();
    for result in results {
        let own = &result.storage.servers[0].name;
        runs.push(Run { result: result.clone(), ..Run::read(&folder.file(own))? });
    }
    let servers: Vec<PathBuf> =
        results.iter().map(|result| folder.file(&result.storage.servers[0].name)).collect();
    let sum = sum_in(&runs, &servers)?;
    let whole = Run { scenario: scenario.to_toml(), ..together(runs, sum.as_ref())? };
    let events: String = whole.events.iter().map(|event| format!("{event}\n")).collect();
    folder.write("events.log", events.as_bytes())?;
    folder.write("counters.csv", counters(sum.iter().flat_map(Sum::samples)).as_bytes())?;
    folder.write("latency.hlog", &latencies(folder, results)?)?;
    Ok(whole)
}

/// The rows of all servers together.
fn counters(samples: impl Iterator<Item = Sample>) -> String {
    let mut rows = Counters::new();
    samples.for_each(|sample| rows.add_sample(&sample));
    format!("{}{}", Counters::HEAD, rows.take())
}

/// The latency logs of all servers in one, each stream called after its server.
fn latencies(folder: &RunFolder, results: &[RunResult]) -> Result<Vec<u8>, SimulateError> {
    const TAG: &str = "Tag=";
    let mut text = String::new();
    for (number, result) in results.iter().enumerate() {
        let server = &result.storage.servers[0].name;
        let own = fs::read_to_string(folder.path().join(server).join("latency.hlog"))?;
        for line in own.lines() {
            match line.strip_prefix(TAG) {
                Some(rest) => {
                    let server = streams::tag(server);
                    text.push_str(&format!("{TAG}{server}.{rest}\n"));
                }
                // Comments and heads stand there once.
                None if number == 0 => text.push_str(&format!("{line}\n")),
                None => {}
            }
        }
    }
    Ok(text.into_bytes())
}
