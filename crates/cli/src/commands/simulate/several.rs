//! Several simulations instead of one: `--sweep`, `--until-fail`, `--seeds`.

use std::sync::Mutex;

use brunt_qualify::progress::Stop;
use brunt_report::decimals;
use brunt_stats::Interval;

use super::points::{Point, simulate_all};
use super::sweep::Sweep;
use super::{Headline, SimulateArgs, SimulateError, Source, until_fail};
use crate::columns::columns;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::scenario::Place;

/// More seeds say nothing more.
const SEEDS_MAX: u64 = 1000;

/// Carries out what `args` ask for; `None` when they ask for one simulation only.
///
/// # Errors
/// [`SimulateError`] when flags contradict each other, or a point cannot be simulated.
pub(super) fn run(
    args: &SimulateArgs,
    source: &Source,
    output: &Output,
) -> Result<Option<Exit>, SimulateError> {
    let asked = [
        ("--sweep", args.sweep.is_some()),
        ("--until-fail", args.until_fail),
        ("--seeds", args.seeds.is_some()),
    ];
    let asked: Vec<&str> = asked
        .iter()
        .filter_map(|(flag, is_asked)| is_asked.then_some(*flag))
        .collect();
    match asked.as_slice() {
        [] => return Ok(None),
        [_] => {}
        [first, second, ..] => {
            let what = format!("cannot be combined with {second}");
            return Err(Place::flag(first).refuse(what).into());
        }
    }
    if args.json {
        let refusal = Place::flag("--json").refuse(format!("is not for {}", asked[0]));
        return Err(refusal.into());
    }
    let stop = Stop::from(Interrupt::listen()?.flag());
    let progress = Mutex::new(output.progress("simulate"));
    let told = |done: usize| {
        let mut progress = progress.lock().expect("nobody panicked");
        progress.show(0.0, || format!("{done} done"));
    };
    let text = match (&args.sweep, args.seeds) {
        (Some(sweep), _) => sweep_text(args, source, &Sweep::read(sweep)?, &stop, &told),
        (None, Some(seeds)) => seeds_text(args, source, seeds, &stop, &told),
        (None, None) => {
            let overrides = source.overrides(args)?;
            until_fail::search(source, &overrides, args.engine, &stop, &told)
                .map(|found| found.tell())
        }
    };
    progress.into_inner().expect("nobody panicked").vanish();
    output.show(text?.trim_end());
    Ok(Some(match stop.is_asked() {
        true => Exit::Interrupted,
        false => Exit::Passed,
    }))
}

fn sweep_text(
    args: &SimulateArgs,
    source: &Source,
    sweep: &Sweep,
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<String, SimulateError> {
    let overrides = source.overrides(args)?;
    let scenario = source.test(&overrides)?.scenario;
    let points = sweep.points();
    let headlines = simulate_all(source, &overrides, args.engine, &points, stop, told)?;
    let limit = scenario.limits.latency.read_mean.as_millis();
    sweep.tell(&scenario.name, &headlines, limit, &args.out)
}

fn seeds_text(
    args: &SimulateArgs,
    source: &Source,
    seeds: u64,
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<String, SimulateError> {
    if !(2..=SEEDS_MAX).contains(&seeds) {
        let refusal = Place::flag(&format!("--seeds {seeds}"));
        let what = format!("is not between 2 and {SEEDS_MAX}");
        return Err(refusal.refuse(what).into());
    }
    let overrides = source.overrides(args)?;
    let first = source.test(&overrides)?.scenario.test.seed;
    let points: Vec<Point> = (0..seeds)
        .map(|more| first.wrapping_add(more))
        .map(|seed| Point {
            set: vec![format!("test.seed={seed}")],
        })
        .collect();
    let headlines = simulate_all(source, &overrides, args.engine, &points, stop, told)?;
    Ok(intervals(&headlines))
}

/// Means over seeds, with what is known of them.
fn intervals(headlines: &[Headline]) -> String {
    type Figure = (&'static str, fn(&Headline) -> f64);
    const FIGURES: [Figure; 7] = [
        ("database I/O per second", |h| h.io_per_s),
        ("database read ms", |h| h.read_ms),
        ("database write ms", |h| h.write_ms),
        ("log writes per second", |h| h.log.per_s),
        ("log write ms", |h| h.log.ms),
        ("bytes in a log write", |h| h.log.bytes),
        ("busiest group of drives, %", |h| h.utilisation * 100.0),
    ];
    let rows = FIGURES.iter().filter_map(|(name, of)| {
        let values: Vec<f64> = headlines.iter().map(of).collect();
        let interval = Interval::of(&values)?;
        Some(vec![
            (*name).to_owned(),
            decimals(interval.mean),
            format!("+- {}", decimals(interval.half)),
            format!("{:.2} %", 100.0 * interval.half / interval.mean),
        ])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let passed = headlines.iter().filter(|headline| headline.passed).count();
    let table = columns(&["", "mean", "95 %", ""], &[1, 2, 3], &rows);
    format!(
        "{} seeds, every rule holds with {passed} of them\n\n{table}",
        headlines.len()
    )
}
