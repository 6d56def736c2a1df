//! How often the intervals of predictions hold the true value: `coverage [FROM TO]`, the seeds, 1
//! to 400 by default.
//!
//! Simulates `small-system.toml` with each seed under the stopping rule. The truth is the mean of a
//! hundred complete runs with other seeds, each in one piece. One run of the same length would not
//! do: a database of five days is not one of two hours. Prints a table for
//! docs/models/precision.md, and on stderr each run as it ends.

use std::error::Error;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use brunt_lab::{Engine, Options, Program, predict};
use brunt_report::result::Precision;
use brunt_run::Stop;
use brunt_scenario::{Document, Override};

const SYSTEM: &str = include_str!("small-system.toml");
/// Seeds of the runs whose mean is the truth.
const TRUTH: RangeInclusive<u64> = 1_000_001..=1_000_100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut seeds = std::env::args().skip(1).map(|number| number.parse::<u64>());
    let from = seeds.next().transpose()?.unwrap_or(1);
    let to = seeds.next().transpose()?.unwrap_or(400);
    let document = Document::new("small-system.toml", SYSTEM, Path::new("/"))?;
    let mut runs = Vec::new();
    for seed in from..=to {
        let run = known(&document, &[format!("test.seed={seed}")], false)?;
        eprintln!("{}", line(seed, &run));
        runs.push(run);
    }
    let count = runs.len() as f64;
    let mean = runs.iter().map(|run| run.collected_s).sum::<f64>() / count;
    let mut truths = Vec::new();
    for seed in TRUTH {
        let sets = [format!("test.seed={seed}"), "test.precision=none".to_owned()];
        let run = known(&document, &sets, true)?;
        eprintln!("{}", line(seed, &run));
        truths.push(run);
    }
    let early = runs.iter().filter(|run| run.stopped_early).count();
    let mut out = io::stdout().lock();
    writeln!(out, "{count} runs, {early} stopped early, {:.1} min on average\n", mean / 60.0)?;
    writeln!(out, "| figure | true value | held | mean half-width |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for (at, figure) in truths[0].figures.iter().enumerate() {
        let truth = truths.iter().map(|run| run.figures[at].predicted);
        let truth = truth.sum::<f64>() / truths.len() as f64;
        let own = || runs.iter().map(|run| &run.figures[at]);
        let holds = |value: f64| {
            let held = own().filter(|own| (own.interval.low..=own.interval.high).contains(&value));
            held.count()
        };
        let widths: f64 =
            own().map(|own| (own.interval.high - own.predicted) / own.predicted).sum();
        writeln!(
            out,
            "| {}, {} | {:.3} | {} | {:.2} % |",
            figure.figure,
            figure.unit,
            truth,
            holds(truth),
            100.0 * widths / count,
        )?;
    }
    Ok(())
}

/// Seed, seconds, and each figure with the half-width of its interval.
fn line(seed: u64, run: &Precision) -> String {
    let figures = run.figures.iter().map(|figure| {
        let half = figure.interval.high - figure.predicted;
        format!(" {:.5}+-{half:.5}", figure.predicted)
    });
    format!("{seed} {:.0}{}", run.collected_s, figures.collect::<String>())
}

fn known(
    document: &Document,
    sets: &[String],
    in_one_piece: bool,
) -> Result<Precision, Box<dyn Error>> {
    let sets = sets.iter().map(|set| Override::of_set(set));
    let scenario = document.modelled_test(&sets.collect::<Result<Vec<_>, _>>()?)?;
    let options = Options {
        engine: Engine::Twin,
        read_files: false,
        in_one_piece,
        program: Program::default(),
    };
    let result = predict(&scenario, options, &Stop::default())?;
    Ok(result.storage.precision.ok_or("it was too short")?)
}
