//! What a simulation leaves behind.
//!
//! One server leaves what a real run leaves. Several leave a folder each, within that of the
//! simulation, and the simulation's own files are the sum of theirs.

use std::fs;

use brunt_lab::Simulated;
use brunt_report::result::{RunResult, Sample};
use brunt_report::{Counters, Run, RunFolder, streams, together};
use brunt_scenario::ModelledScenario;
use brunt_stats::Reading;
use brunt_units::{Span, Time};

use crate::commands::simulate::SimulateError;

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
    folder.write("scenario.toml", scenario.to_toml().as_bytes())?;
    let mut whole = match <[RunResult; 1]>::try_from(results) {
        Ok([mut only]) => {
            only.storage.states = states;
            only.storage.precision = precision;
            only.storage.details.model = Some(Box::new(model));
            folder.write("result.json", only.to_json().as_bytes())?;
            return Ok(Run::read(folder.path())?);
        }
        Err(results) => several(folder, scenario, &results)?,
    };
    whole.result.storage.states = states;
    whole.result.storage.precision = precision;
    whole.result.storage.details.model = Some(Box::new(model));
    folder.write("result.json", whole.result.to_json().as_bytes())?;
    Ok(whole)
}

fn several(
    folder: &RunFolder,
    scenario: &ModelledScenario,
    results: &[RunResult],
) -> Result<Run, SimulateError> {
    let mut runs = Vec::new();
    for result in results {
        let own = &result.storage.servers[0].name;
        folder.write(&format!("{own}/result.json"), result.to_json().as_bytes())?;
        runs.push(Run::read(&folder.file(own))?);
    }
    let whole = Run { scenario: scenario.to_toml(), ..together(runs)? };
    let events: String = whole.events.iter().map(|event| format!("{event}\n")).collect();
    folder.write("events.log", events.as_bytes())?;
    folder.write("counters.csv", counters(&whole.samples).as_bytes())?;
    folder.write("latency.hlog", &latencies(folder, results)?)?;
    Ok(whole)
}

/// The rows of all servers together.
fn counters(samples: &[Sample]) -> String {
    let mut rows = Counters::new();
    for sample in samples {
        let begin = Time::ZERO + Span::from_seconds(sample.begin_s);
        let length = Span::from_seconds(sample.length_s);
        for (stream, flow) in [
            (streams::DATABASE_READ, &sample.database_reads),
            (streams::DATABASE_WRITE, &sample.database_writes),
            (streams::LOG_WRITE, &sample.log_writes),
        ] {
            let span = |ms: Option<f64>| ms.map(|ms| Span::from_seconds(ms / 1e3));
            let reading = Reading {
                count: whole(flow.per_s * sample.length_s),
                bytes: whole(flow.bytes_per_s * sample.length_s),
                mean: span(flow.latency_ms_mean),
                p50: span(flow.latency_ms_p50),
                p99: span(flow.latency_ms_p99),
                p999: span(flow.latency_ms_p999),
                max: span(flow.latency_ms_max),
            };
            rows.add(begin, length, stream, &reading);
        }
        let stalls = whole(sample.page_fault_stalls_per_s * sample.length_s);
        rows.add_count(begin, length, streams::PAGE_FAULT_STALLS, stalls);
        rows.add_bytes(begin, length, streams::CACHE, sample.cache_bytes);
    }
    format!("{}{}", Counters::HEAD, rows.take())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of one sample, which were whole numbers"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
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
