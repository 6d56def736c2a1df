//! Several simulations instead of one: `--sweep`, `--until-fail`, `--seeds`.

use std::sync::Mutex;

use brunt_lab::search::search;
use brunt_lab::{Options, Points, Tried, distance};
use brunt_report::result::Verdict;
use brunt_report::{RunFolder, grouped};
use brunt_run::Stop;
use brunt_scenario::{Document, ModelledScenario, Override, Place, Refusal};

use super::kept::Curve;
use super::planner::RoundTrips;
use super::seeds::Seeds;
use super::sweep::Sweep;
use super::{SimulateArgs, SimulateError, overrides, until_fail};
use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::version;

/// More seeds say nothing more.
const SEEDS_MAX: u64 = 1000;

/// Carries out what `args` ask for; `None` when they ask for one simulation only.
///
/// # Errors
/// [`SimulateError`] when flags contradict each other, or a point cannot be simulated.
pub(super) fn run(
    args: &SimulateArgs,
    document: &Document,
    output: &Output,
) -> Result<Option<Exit>, SimulateError> {
    let asked = [
        ("--sweep", args.sweep.is_some()),
        ("--until-fail", args.until_fail),
        ("--seeds", args.seeds.is_some()),
    ];
    let asked: Vec<&str> =
        asked.iter().filter_map(|(flag, is_asked)| is_asked.then_some(*flag)).collect();
    match asked.as_slice() {
        [] => return Ok(None),
        [_] => {}
        [first, second, ..] => {
            let what = format!("cannot be combined with {second}");
            return Err(Place::flag(first).refuse(what).into());
        }
    }
    let stop = Stop::from(Interrupt::listen()?.flag());
    let progress = Mutex::new(output.progress("simulate"));
    let told = |done: usize, all: Option<usize>| {
        let mut progress = progress.lock().expect("nobody panicked");
        match all {
            Some(all) => {
                progress.show(done as f64 / all as f64, || format!("{done} of {all} done"))
            }
            None => progress.show(0.0, || format!("{done} done")),
        }
    };
    let came = match args.seeds {
        Some(seeds) => of_seeds(args, document, seeds, &stop, &told),
        None => curve(args, document, &stop, &told),
    };
    progress.into_inner().expect("nobody panicked").vanish();
    let (text, verdict) = came?;
    if let Some(Ok(sweep)) = args.sweep.as_deref().map(Sweep::read)
        && let Some(all) = sweep.thinned_from
    {
        let (key, taken) = (&sweep.key, sweep.texts().count());
        let all = grouped(all);
        output.talk(&format!("{key}: {taken} of {all} values; /N after the range takes N"));
    }
    match args.shared.json {
        true => output.data(text.trim_end()),
        false => output.show(text.trim_end()),
    }
    Ok(Some(match stop.is_asked() {
        true => Exit::Interrupted,
        false => verdict.into(),
    }))
}

/// A sweep, or a search: what is said of it, and its verdict. The folder is made first, because
/// nothing can be kept where none can be made.
fn curve(
    args: &SimulateArgs,
    document: &Document,
    stop: &Stop,
    told: &(dyn Fn(usize, Option<usize>) + Sync),
) -> Result<(String, Verdict), SimulateError> {
    let overrides = overrides(args)?;
    let scenario = document.modelled_test(&overrides)?;
    let sweep = args.sweep.as_deref().map(Sweep::read).transpose()?;
    let what = match sweep {
        Some(_) => "sweep",
        None => "until-fail",
    };
    if let Some(sweep) = &sweep {
        let first = sweep.overrides()?.into_iter().take(1);
        let set: Vec<Override> = overrides.iter().cloned().chain(first).collect();
        // Another mistake may be of this value alone.
        match document.modelled_test(&set) {
            Err(refusal) if refusal.is_unknown_key() => return Err(refusal.into()),
            _ => {}
        }
    }
    let name = &scenario.scenario.name;
    let begun = now();
    let folder = RunFolder::create(&args.shared.out, begun, &format!("{name}-{what}"))?;
    let options = options(args);
    let points = points(document, &overrides, &options);
    let came = match sweep {
        Some(sweep) => swept(sweep, &scenario, &points, stop, told),
        None => searched(&scenario, &points, stop, told),
    };
    let kept = came.and_then(|(curve, verdict)| {
        curve.keep(&folder, &scenario)?;
        Ok((curve, verdict))
    });
    let (curve, verdict) = match kept {
        Ok(kept) => kept,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let text = match args.shared.json {
        true => curve.json(name),
        false => {
            format!("{}\n\n{:14}{}", curve.words(), "report", folder.file("report.html").display())
        }
    };
    Ok((text, verdict))
}

fn swept(
    sweep: Sweep,
    scenario: &ModelledScenario,
    points: &Points<'_>,
    stop: &Stop,
    told: &(dyn Fn(usize, Option<usize>) + Sync),
) -> Result<(Curve, Verdict), SimulateError> {
    let round_trips = match distance::is_replicated(scenario) {
        true => RoundTrips::of(&sweep)?,
        false => None,
    };
    let values = sweep.overrides()?;
    let loses_path = round_trips.is_some() && distance::has_path_to_lose(scenario);
    let all = values.len() * (1 + usize::from(loses_path));
    let tried = points.simulate(&values, stop, &|done| told(done, Some(all)))?;
    let with_path_lost = Points { path_lost: true, ..*points };
    let path_lost = match loses_path {
        true => {
            let told = |done: usize| told(values.len() + done, Some(all));
            Some(with_path_lost.simulate(&values, stop, &told)?)
        }
        false => None,
    };
    let planned = round_trips.map(|all| all.plan(&tried, path_lost.as_deref()));
    let has_curve =
        tried.iter().flatten().filter_map(Tried::judged).any(|judged| judged.verdict.is_answer());
    let verdict = match has_curve {
        true => Verdict::Pass,
        false => Verdict::Inconclusive,
    };
    Ok((sweep.into_curve(tried, path_lost, planned), verdict))
}

/// Begins with what the scenario says.
fn searched(
    scenario: &ModelledScenario,
    points: &Points<'_>,
    stop: &Stop,
    told: &(dyn Fn(usize, Option<usize>) + Sync),
) -> Result<(Curve, Verdict), SimulateError> {
    let Some(mailboxes) = &scenario.scenario.mailboxes else {
        let refusal = Place::flag("--until-fail").refuse("needs a table [mailboxes]");
        return Err(refusal.hint("with `count`, `quota` and `io_per_s`").into());
    };
    let found = search(points, mailboxes.count, stop, &|done| told(done, None))?;
    let verdict = found.verdict();
    let servers = scenario.servers.len() as u64;
    Ok((until_fail::curve(found, servers), verdict))
}

/// How each point is simulated: what files look like after the test is not asked.
fn options(args: &SimulateArgs) -> Options {
    Options {
        engine: args.engine.into(),
        read_files: false,
        in_one_piece: false,
        program: version::program(),
    }
}

fn points<'a>(
    document: &'a Document,
    overrides: &'a [Override],
    options: &'a Options,
) -> Points<'a> {
    Points { document, overrides, options, path_lost: false }
}

/// What is said of several seeds, and their verdict.
fn of_seeds(
    args: &SimulateArgs,
    document: &Document,
    seeds: u64,
    stop: &Stop,
    told: &(dyn Fn(usize, Option<usize>) + Sync),
) -> Result<(String, Verdict), SimulateError> {
    if !(2..=SEEDS_MAX).contains(&seeds) {
        let refusal = Place::flag(&format!("--seeds {seeds}"));
        let what = format!("is not between 2 and {SEEDS_MAX}");
        return Err(refusal.refuse(what).into());
    }
    let overrides = overrides(args)?;
    let scenario = document.modelled_test(&overrides)?.scenario;
    let first = scenario.test.seed;
    let values: Result<Vec<Override>, Refusal> = (0..seeds)
        .map(|more| first.wrapping_add(more))
        .map(|seed| Override::of_set(&format!("test.seed={seed}")))
        .collect();
    let options = options(args);
    let values = values?;
    let told = |done: usize| told(done, Some(values.len()));
    let tried = points(document, &overrides, &options).simulate(&values, stop, &told)?;
    let seeds = Seeds::new(tried.iter().flatten().filter_map(Tried::judged));
    let text = match args.shared.json {
        true => seeds.json(&scenario.name),
        false => seeds.words(),
    };
    Ok((text, seeds.verdict()))
}
