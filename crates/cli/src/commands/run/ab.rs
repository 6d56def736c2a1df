//! `run --ab A.toml B.toml`: two scenarios on the same storage, in turns, and a comparison at the
//! end.
//!
//! ```text
//!   round 1   A B B A        pairs: A1 with B1, A2 with B2; whatever drifts steadily meets both sides alike
//!   round 2   A B B A
//! ```
//!
//! Each run is a run as any other, with a folder of its own. Both runs of a pair have the same
//! seed, and each pair another one. Consent is that of `run`: databases are kept and opened again,
//! and `--new` replaces them before every run.

use std::env;
use std::path::PathBuf;
use std::time::SystemTime;

use brunt_host::{handles, plan};
use brunt_qualify::result::unfinished;
use brunt_report::compare::{CompareError, Options, compare, work_differs};
use brunt_report::result::Verdict;
use brunt_report::{Run, RunFolder, RunResult, comparison_html, decimals, one_line};
use brunt_scenario::Scenario;
use brunt_units::Time;

use super::{RunCommandError, check, once, timestamp};
use crate::commands::compare::{gate, words};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::outlook::outlook;
use crate::output::Output;
use crate::test_args::{AbArgs, TestArgs};

/// The order of a round.
const ROUND: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// A side: its arguments, its scenario, its runs.
struct Tested {
    args: TestArgs,
    scenario: Scenario,
    runs: Vec<(String, Run)>,
}

/// Runs both scenarios in turns and compares them.
///
/// # Errors
/// [`RunCommandError`] when they cannot be compared, or it did not come to a test.
pub(super) fn run(args: &TestArgs, ab: &AbArgs, output: &Output) -> Result<Exit, RunCommandError> {
    let [mut a, mut b] = sides(args, ab)?;
    let options = Options { smallest: ab.smallest, allow_differences: ab.allow_differences };
    if args.check {
        for side in [&a, &b] {
            check(&side.args, &side.scenario, output)?;
            output.data("");
        }
    }
    // Hours later would be too late.
    let differences = work_differs(&outline(&a)?, &outline(&b)?);
    if !differences.is_empty() && !options.allow_differences {
        let [one, other] = [&a, &b].map(|side| name_of(&side.args));
        return Err(RunCommandError::Compare(CompareError::Differ { one, other, differences }));
    }
    if args.check {
        let runs = ROUND.len() * ab.rounds as usize;
        output.show(&format!("{:14}{runs} runs: A B B A, {} times", "rounds", ab.rounds));
        return Ok(Exit::Passed);
    }
    let interrupt = Interrupt::listen()?;
    let begun = timestamp(SystemTime::now());
    let all = ROUND.len() * ab.rounds as usize;
    let stopped = take_turns(ab.rounds, &mut a, &mut b, all, &interrupt, output)?;
    let pairs = a.runs.len().min(b.runs.len());
    a.runs.truncate(pairs);
    b.runs.truncate(pairs);
    if pairs == 0 {
        output.talk("stopped before there was a pair of runs to compare");
        return Ok(stopped.unwrap_or(Exit::NoAnswer));
    }
    // Databases may have grown since. Nothing is refused for what was only found out by testing; it
    // is named.
    let options = Options { allow_differences: true, ..options };
    let comparison = compare(&a.runs, &b.runs, &options)?;
    let name = format!("{}-vs-{}", a.scenario.name, b.scenario.name);
    let folder = RunFolder::create(&args.out, begun, &name)?;
    folder.write("comparison.json", comparison.to_json().as_bytes())?;
    let page = comparison_html(&comparison, &a.runs, &b.runs);
    folder.write("report.html", page.as_bytes())?;
    match args.json {
        true => output.data(comparison.to_json().trim_end()),
        false => {
            output.talk("");
            output.show(&words(&comparison, Some(&folder.file("report.html")), output));
        }
    }
    Ok(match stopped {
        Some(exit) => exit,
        None if ab.gate => gate(&comparison),
        None => Exit::Passed,
    })
}

/// All rounds, or as many as it comes to; then why it did not come to more.
fn take_turns(
    rounds: u32,
    a: &mut Tested,
    b: &mut Tested,
    all: usize,
    interrupt: &Interrupt,
    output: &Output,
) -> Result<Option<Exit>, RunCommandError> {
    let order = (0..rounds).flat_map(|_| ROUND);
    for (turn, side) in order.enumerate() {
        let tested = match side {
            Side::A => &mut *a,
            Side::B => &mut *b,
        };
        output.talk(&format!("run {} of {all}: {side:?}", turn + 1));
        let mut scenario = tested.scenario.clone();
        // Both runs of a pair do the same operations.
        scenario.test.seed = scenario.test.seed.wrapping_add(tested.runs.len() as u64);
        let outcome = once(&tested.args, &scenario, None, interrupt, None, output)?;
        let Some(outcome) = outcome else {
            return Ok(Some(Exit::Interrupted));
        };
        let (result, folder) = (outcome.result, outcome.folder);
        output.talk(&line(&result, &folder));
        match result.verdict {
            Verdict::Interrupted => return Ok(Some(Exit::Interrupted)),
            verdict if !verdict.is_answer() => return Ok(Some(Exit::NoAnswer)),
            _ => {}
        }
        outcome.written?;
        let run = Run::read(&folder)?;
        tested.runs.push((folder.display().to_string(), run));
    }
    Ok(None)
}

fn line(result: &RunResult, folder: &std::path::Path) -> String {
    let rate = result
        .storage
        .achieved_iops
        .map_or(String::new(), |rate| format!("{} I/Os per second   ", decimals(rate)));
    let verdict = result.headline();
    format!("{:14}{verdict}   {rate}{}\n", "", folder.display())
}

/// Both sides; everything that is wrong with either is said before anything is written.
fn sides(args: &TestArgs, ab: &AbArgs) -> Result<[Tested; 2], RunCommandError> {
    let side = |path: &PathBuf| {
        let args = TestArgs { scenario: Some(path.clone()), ..args.clone() };
        let scenario = args.runnable(&env::current_dir()?)?;
        handles::provide(&scenario)?;
        Ok::<_, RunCommandError>(Tested { args, scenario, runs: Vec::new() })
    };
    Ok([side(&ab.ab[0])?, side(&ab.ab[1])?])
}

fn name_of(args: &TestArgs) -> String {
    let path = args.scenario.as_ref().map(|path| path.display().to_string());
    one_line(&path.unwrap_or_default()).into_owned()
}

/// What is known of a run before it begins.
fn outline(side: &Tested) -> Result<RunResult, RunCommandError> {
    let consent = side.args.consent();
    let around = outlook(&side.scenario, consent, &side.args.out)?.around;
    let plan = plan::plan(&side.scenario, consent, SystemTime::now());
    let mut outline = unfinished(&plan, Time::ZERO, &around);
    outline.times.collection_s = plan.duration.as_seconds();
    let bytes = plan.databases().map(|database| database.size.get()).sum();
    outline.storage.database_bytes_initial = Some(bytes);
    Ok(outline)
}
