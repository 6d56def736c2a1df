//! `brunt ab A.toml B.toml`: two scenarios on the same storage, in turns, and a comparison at the
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
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brunt_host::computing::{Computing, head, no_points};
use brunt_host::{handles, plan};
use brunt_qualify::result::{Surroundings, unfinished};
use brunt_report::compare::{CompareError, Options, compare, work_differs};
use brunt_report::result::Verdict;
use brunt_report::{
    FolderError, ReadError, Run, RunFolder, RunResult, comparison_html, decimals, one_line,
};
use brunt_run::Silence;
use brunt_scenario::Scenario;
use brunt_units::{Span, Time};
use clap::Args;
use serde_json::{Value, json};

use crate::clock::now;
use crate::commands::compare::{gate, words};
use crate::commands::report::ReportError;
use crate::commands::run::{How, RunCommandError, once, tell};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::outlook::{Outlook, OutlookError, in_all, in_turn, outlook};
use crate::output::Output;
use crate::records::Lines;
use crate::test_args::{DifferenceArgs, TestArgs};

/// Arguments of `ab`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt ab now.toml new.toml --check             how many runs, and what does each do?
  brunt ab now.toml new.toml --duration 30min    is the second better? In turns, on this storage
  brunt ab now.toml new.toml --gate              for CI: 0 not worse, 1 worse, 2 cannot tell

docs/compare.md says how to read the answer, and how far to trust it.")]
pub struct AbArgs {
    /// Scenario file (TOML) of the first side
    pub a: PathBuf,

    /// Scenario file (TOML) of the second side
    pub b: PathBuf,

    /// How often A B B A; six pairs by default
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,

    #[command(flatten)]
    pub difference: DifferenceArgs,

    #[command(flatten)]
    pub test: TestArgs,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum AbError {
    /// A run was not carried out.
    #[error(transparent)]
    Run(#[from] RunCommandError),
    /// What a run would do cannot be said.
    #[error(transparent)]
    Outlook(#[from] OutlookError),
    /// The scenarios, or the runs, cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The folder of the comparison cannot be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file for CI cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A run that was just written cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The working folder or a signal cannot be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// The order of a round.
const ROUND: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// A side: its file, its scenario, its runs.
struct Tested {
    path: PathBuf,
    scenario: Scenario,
    runs: Vec<(String, Run)>,
}

/// Runs both scenarios in turns and compares them.
///
/// # Errors
/// [`AbError`] when they cannot be compared, or it did not come to a test.
pub fn run(args: &AbArgs, output: &Output) -> Result<Exit, AbError> {
    let [mut a, mut b] = sides(args)?;
    let options = args.difference.options();
    let shared = &args.test.shared;
    let outlook = |side: &Tested| outlook(&side.scenario, args.test.consent(), &shared.output.out);
    let outlooks = [outlook(&a)?, outlook(&b)?];
    if shared.output.check {
        for outlook in &outlooks {
            tell(&args.test, outlook, output)?;
            output.data("");
        }
    }
    // Hours later would be too late.
    let [one, other] = [(&a, &outlooks[0]), (&b, &outlooks[1])]
        .map(|(side, outlook)| outline(args, side, &outlook.around));
    let differences = work_differs(&one, &other);
    if !differences.is_empty() && !options.allow_differences {
        let name = |side: &Tested| one_line(&side.path.display().to_string()).into_owned();
        return Err(CompareError::Differ { one: name(&a), other: name(&b), differences }.into());
    }
    if shared.output.check {
        let runs = ROUND.len() * args.rounds as usize;
        output.show(&format!("{:14}{runs} runs: A B B A, {} times", "rounds", args.rounds));
        output.show(&format!("{:14}{}", "time", in_all(takes(args, &outlooks))));
        return Ok(Exit::Passed);
    }
    let interrupt = Interrupt::listen()?;
    output.talk(&format!("{:14}{}", "time", in_all(takes(args, &outlooks))));
    let begun = now();
    let name = format!("{}-vs-{}", a.scenario.name, b.scenario.name);
    let folder = RunFolder::create(&shared.output.out, begun, &name)?;
    let lines = Lines::of(&shared.output.printed, output);
    let head = head(Some(&folder), begun, &name, String::new(), &no_points(&name, "run"));
    let computing = Computing::begin(head, Some(&folder), lines.heard(), Silence)?;
    let watched = (&interrupt, &lines, &computing);
    let stopped = take_turns(args, [&mut a, &mut b], watched, output);
    let stopped = stopped.inspect_err(|_| folder.clone().discard())?;
    let pairs = a.runs.len().min(b.runs.len());
    a.runs.truncate(pairs);
    b.runs.truncate(pairs);
    if pairs == 0 {
        computing.ended(Verdict::Interrupted)?;
        folder.discard();
        output.talk("stopped before there was a pair of runs to compare");
        return Ok(stopped.unwrap_or(Exit::NoAnswer));
    }
    // Databases may have grown since. Nothing is refused for what was only found out by testing; it
    // is named.
    let options = Options { allow_differences: true, ..options };
    let comparison = compare(&a.runs, &b.runs, &options);
    let comparison = comparison.inspect_err(|_| folder.clone().discard())?;
    computing.ended(match stopped {
        Some(Exit::Interrupted) => Verdict::Interrupted,
        Some(_) => Verdict::Inconclusive,
        None => Verdict::Pass,
    })?;
    folder.write("comparison.json", comparison.to_json().as_bytes())?;
    let page = comparison_html(&comparison, &a.runs, &b.runs);
    folder.write("report.html", page.as_bytes())?;
    args.difference.export(|| comparison.to_markdown(), || comparison.to_junit())?;
    let text = comparison.to_json();
    lines.tell(("compared", &text), output, || {
        output.talk("");
        output.show(&words(&comparison, Some(&folder.file("report.html")), output));
    });
    Ok(match stopped {
        Some(exit) => exit,
        None if args.difference.gate => gate(&comparison),
        None => Exit::Passed,
    })
}

/// All rounds, or as many as it comes to; then why it did not come to more.
fn take_turns(
    args: &AbArgs,
    [a, b]: [&mut Tested; 2],
    (interrupt, lines, computing): (&Interrupt, &Lines, &Computing<Silence>),
    output: &Output,
) -> Result<Option<Exit>, AbError> {
    let all = ROUND.len() * args.rounds as usize;
    let order = (0..args.rounds).flat_map(|_| ROUND);
    for (turn, side) in order.enumerate() {
        let tested = match side {
            Side::A => &mut *a,
            Side::B => &mut *b,
        };
        output.talk(&format!("run {} of {all}: {side:?}", turn + 1));
        let mut scenario = tested.scenario.clone();
        // Both runs of a pair do the same operations.
        scenario.test.seed = scenario.test.seed.wrapping_add(tested.runs.len() as u64);
        let outcome = once(&args.test, &scenario, How::default(), interrupt, lines, output)?;
        let Some(outcome) = outcome else {
            return Ok(Some(Exit::Interrupted));
        };
        let (result, folder) = (outcome.result, outcome.folder);
        output.talk(&line(&result, &folder));
        let name = format!("{side:?}{}", tested.runs.len() + 1);
        computing.done(Some(all as u64), point(&name, &result, &folder));
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

/// A run as an object of `points.json`.
fn point(name: &str, result: &RunResult, folder: &Path) -> Value {
    json!({
        "value": name,
        "passed": result.verdict == Verdict::Pass,
        "verdict": result.verdict,
        "sentence": result.storage.details.sentence,
        "io_per_s": result.storage.achieved_iops,
        "folder": folder.display().to_string(),
    })
}

fn line(result: &RunResult, folder: &Path) -> String {
    let rate = result
        .storage
        .achieved_iops
        .map_or(String::new(), |rate| format!("{} I/Os per second   ", decimals(rate)));
    let verdict = result.headline();
    format!("{:14}{verdict}   {rate}{}\n", "", folder.display())
}

/// Both sides; everything that is wrong with either is said before anything is written.
fn sides(args: &AbArgs) -> Result<[Tested; 2], RunCommandError> {
    let side = |path: &PathBuf| {
        let scenario = args.test.runnable(Some(path), &[], &env::current_dir()?)?;
        handles::provide(&scenario)?;
        Ok::<_, RunCommandError>(Tested { path: path.clone(), scenario, runs: Vec::new() })
    };
    Ok([side(&args.a)?, side(&args.b)?])
}

/// How long all runs take at most; `None` where that cannot be known.
fn takes(args: &AbArgs, outlooks: &[Outlook; 2]) -> Option<Span> {
    let runs_of_a_side = f64::from(args.rounds) * ROUND.len() as f64 / outlooks.len() as f64;
    in_turn(outlooks).map(|each| Span::from_seconds(each.as_seconds() * runs_of_a_side))
}

/// What is known of a run before it begins.
fn outline(args: &AbArgs, side: &Tested, around: &Surroundings) -> RunResult {
    let consent = args.test.consent();
    let plan = plan::plan(&side.scenario, consent, SystemTime::now());
    let mut outline = unfinished(&plan, Time::ZERO, around);
    outline.times.collection_s = plan.duration.as_seconds();
    let bytes = plan.databases().map(|database| database.size.get()).sum();
    outline.storage.database_bytes_initial = Some(bytes);
    outline
}
