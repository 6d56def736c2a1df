//! What a run of a scenario would do: databases, room, time, and whether it can qualify. Nothing is
//! left behind.

use std::path::Path;
use std::time::SystemTime;

use brunt_host::consent::Consent;
use brunt_host::preflight::demands;
use brunt_host::schedule::{self, ASSUMED_MB_PER_S, Step, moved};
use brunt_host::surroundings;
use brunt_host::{advice, folders, plan};
use brunt_qualify::copies;
use brunt_qualify::error::RunError;
use brunt_qualify::phases::places::{self, Decision};
use brunt_qualify::plan::{CopyPlan, InstancePlan, Plan};
use brunt_qualify::result::{Surroundings, foreseen};
use brunt_report::{counted, one_line};
use brunt_scenario::Scenario;
use brunt_units::Span;
use brunt_world_real::RealWorld;

use crate::clock::{now, time_of_day};
use crate::mistakes::Mistakes;
use crate::opening::{labelled, opening, qualifies};
use crate::setup;
use crate::version;

/// What a run would do.
pub struct Outlook {
    /// Why it will not qualify, each with its cure; empty when it can.
    pub obstacles: Vec<String>,
    /// All of it, in lines for the screen.
    pub text: String,
    /// How long it takes at most; `None` where that cannot be known.
    pub takes: Option<Span>,
    /// The machine, and the volumes.
    pub around: Surroundings,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum OutlookError {
    /// Files are in the way.
    #[error(transparent)]
    Files(#[from] Mistakes),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] brunt_world_real::StartError),
    /// A folder cannot be opened.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Looks at the machine and at the files of `scenario`, whose run folder would lie in `out`.
///
/// # Errors
/// [`OutlookError`] when files are in the way, or cannot be looked at.
pub fn outlook(scenario: &Scenario, consent: Consent, out: &Path) -> Result<Outlook, OutlookError> {
    let mut real = RealWorld::new(&brunt_world_real::Options {
        backend: scenario.backend,
        seed: scenario.test.seed,
        roots: folders::there(scenario)?,
        ..brunt_world_real::Options::default()
    })?;
    let plan = plan::plan(scenario, consent, SystemTime::now());
    let decisions = decisions(&mut real, &plan)?;
    let places = surroundings::places(&plan);
    let origin = version::origin(plan.seed, plan.run.to_string());
    let backend = real.backend();
    let around = Surroundings {
        setup: setup::errors(scenario),
        ..surroundings::forecast(&plan, &places, &backend, origin)
    };
    let obstacles = foreseen(&plan, &around);
    let steps = schedule::steps(&plan, &decisions);
    let mut advice = advice::advice(&plan, &places);
    advice.extend(surroundings::shared_with(&absolute(out), &plan));
    let mut lines = vec![opening(scenario, &backend.kind.to_string())];
    lines.extend(labelled("databases", databases(&plan, &decisions)));
    lines.extend(labelled("copies", seeds(&plan)));
    lines.extend(labelled("room", room(scenario)));
    lines.extend(labelled("time", time(&plan, &steps)));
    lines.push(qualifies(&obstacles));
    lines.extend(labelled("advice", advice));
    Ok(Outlook { obstacles, text: lines.join("\n"), takes: schedule::in_all(&steps), around })
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What would be done with the files of each instance.
fn decisions(real: &mut RealWorld, plan: &Plan) -> Result<Vec<Decision>, Mistakes> {
    let mut in_the_way = Vec::new();
    let mut decisions = Vec::new();
    for instance in &plan.instances {
        match decide(real, plan, instance) {
            Ok(decision) => decisions.push(decision),
            Err(error) => in_the_way.push(error.to_string()),
        }
    }
    let world = real.world.clone();
    // The run makes a missing folder, so nothing is in it.
    let is_there = |copy: &CopyPlan| copy.files.log.exists();
    let passive = plan.passive.iter().filter(|copy| is_there(copy));
    let there = Plan { passive: passive.cloned().collect(), ..plan.clone() };
    let there = real.executor.block_on(async move { copies::there(&world, &there).await });
    in_the_way.extend(there.err().map(|error| error.to_string()));
    match in_the_way.is_empty() {
        true => Ok(decisions),
        false => Err(Mistakes::of(in_the_way)),
    }
}

fn decide(
    real: &mut RealWorld,
    plan: &Plan,
    instance: &InstancePlan,
) -> Result<Decision, RunError> {
    // The run makes a missing folder, so nothing is in it.
    if !instance.log.exists() {
        let mut decision = Decision::default();
        decision.create.extend(0..instance.databases.len());
        return Ok(decision);
    }
    let world = real.world.clone();
    let plan = Plan { instances: vec![instance.clone()], ..plan.clone() };
    let decided = real.executor.block_on(async move { places::decide(&world, &plan).await });
    decided.map(|mut decisions| decisions.swap_remove(0))
}

/// One line for each database.
fn databases(plan: &Plan, decisions: &[Decision]) -> Vec<String> {
    let mut lines = Vec::new();
    for (instance, decision) in plan.instances.iter().zip(decisions) {
        let mut kept = decision.keep.iter();
        for (index, database) in instance.databases.iter().enumerate() {
            let what = match decision.create.contains(&index) {
                true => format!("create {}, {}", database.name, database.size),
                false => match kept.next() {
                    // To the minute.
                    Some(kept) => format!(
                        "open {}, {} from {}",
                        database.name,
                        kept.size,
                        kept.made.chars().take(16).collect::<String>()
                    ),
                    None => format!("restore and open {}", database.name),
                },
            };
            let path = database.path.display().to_string();
            lines.push(format!("{what}   {}", one_line(&path)));
        }
    }
    lines
}

/// One line for each database of a passive copy.
fn seeds(plan: &Plan) -> Vec<String> {
    let databases = plan.passive.iter().flat_map(|copy| {
        let own = copy.files.databases.iter();
        own.map(|database| (&copy.files.name, database))
    });
    let line = databases.map(|(name, database)| {
        let path = database.path.display().to_string();
        let (name, path) = (one_line(name), one_line(&path));
        format!("seed {name}, {} of {}   {path}", database.size, database.name)
    });
    line.collect()
}

/// One line for each file system.
fn room(scenario: &Scenario) -> Vec<String> {
    let demands = demands(scenario).into_iter();
    let line = demands.map(|demand| {
        let mount = demand.mount.display().to_string();
        format!("{}   {} needed, {} free", one_line(&mount), demand.needed, demand.free)
    });
    line.collect()
}

/// What is done one after the other, how long it takes in all, and when it ends.
fn time(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let lines = steps.iter().map(|step| words(plan, *step));
    lines.chain([in_all(schedule::in_all(steps))]).collect()
}

/// How long runs take at most, one after the other; `None` where that cannot be known.
pub fn in_turn(outlooks: &[Outlook]) -> Option<Span> {
    outlooks.iter().try_fold(Span::ZERO, |all, own| Some(all + own.takes?))
}

/// How long a run that begins now takes in all, and when it ends.
pub fn in_all(takes: Option<Span>) -> String {
    let Some(takes) = takes else {
        return "in all: not known, tuning takes as many trials as it needs".to_owned();
    };
    let end = time_of_day(now(), takes);
    format!("in all: at most {}; begun now, it ends by {end}", rounded(takes))
}

/// The same for a run whose files lie in `real`; `None` where they cannot be looked at.
pub fn of_run(real: &mut RealWorld, plan: &Plan) -> Option<String> {
    let decisions = decisions(real, plan).ok()?;
    Some(in_all(schedule::in_all(&schedule::steps(plan, &decisions))))
}

/// What is done with databases once they are there, but for the verification.
pub fn phases(plan: &Plan) -> Vec<String> {
    schedule::phases(plan).into_iter().map(|step| words(plan, step)).collect()
}

fn words(plan: &Plan, step: Step) -> String {
    let assumed = |size| format!("{} at {ASSUMED_MB_PER_S} MB/s (assumed)", about(moved(size)));
    match step {
        Step::Create(size) => format!("create {size}: {}", assumed(size)),
        Step::Seed(size) => format!("seed copies of {size}: {}", assumed(size)),
        Step::Precondition(size) => {
            format!("precondition: {size} are written during the warm-up, {}", assumed(size))
        }
        Step::WarmUp(at_most) => {
            let depth = match plan.load.writes() {
                true => format!(
                    ", for each log to go through the checkpoint depth ({})",
                    plan.engine.checkpoint_depth
                ),
                false => String::new(),
            };
            let cache = plan.engine.cache_max;
            format!("warm up: at most {} once the cache ({cache}) is full{depth}", short(at_most))
        }
        Step::Tune => "tune: short trials until the sessions are found".to_owned(),
        Step::Load(time) => format!("test: {}", short(time)),
        Step::BackUp { writes, restores, .. } => {
            let restore = match (writes, restores) {
                (true, true) => ", write a backup and restore it",
                (true, false) => ", write a backup",
                (false, _) => "",
            };
            format!("test: read every database{restore}")
        }
        Step::Replay(time) => format!(
            "test: write {} for each instance in at most {}, and replay them",
            counted(plan.logs.into(), "log file"),
            short(time)
        ),
        Step::Verify(size) => format!("verify {size}: {}", assumed(size)),
    }
}

/// Without what is zero.
fn short(span: Span) -> String {
    span.to_string().replace(".0 ", " ").replace(" 00 s", "").replace(" 00 min", "")
}

/// To the minute, if it is longer than that.
fn rounded(span: Span) -> String {
    match span.as_seconds() {
        seconds if seconds < 90.0 => format!("{} s", seconds.ceil()),
        seconds => short(Span::from_seconds(60.0 * (seconds / 60.0).ceil())),
    }
}

/// A length of time that is only estimated.
fn about(span: Span) -> String {
    let seconds = span.0.div_euclid(1_000_000_000);
    let rounded = |unit: u64| (seconds + unit.div_euclid(2)).div_euclid(unit);
    match seconds {
        0..60 => "less than a minute".to_owned(),
        60..5_400 => format!("about {} min", rounded(60)),
        5_400..172_800 => format!("about {} h", rounded(3_600)),
        _ => format!("about {} days", rounded(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_scenario::Document;

    #[test]
    fn estimates_are_rounded() {
        let said = [1, 100, 5_000, 40_000, 400_000].map(|s| about(Span::seconds(s)));
        let wanted =
            ["less than a minute", "about 2 min", "about 83 min", "about 11 h", "about 5 days"];
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_run_says_how_long_it_takes_in_all() {
        assert_eq!([61, 8_390].map(|s| rounded(Span::seconds(s))), ["61 s", "2 h 20 min"]);
        assert!(
            in_all(Some(Span::seconds(8_390))).starts_with("in all: at most 2 h 20 min; begun")
        );
    }

    #[test]
    fn phases_say_how_long_they_take() {
        let said = |more: &str| {
            let text = format!(
                "[test]\nsessions = 1\n{more}\n[[instance]]\nlog = \"log\"\ndatabases = [\"1.edb\"]\ndatabase_size = \"8 MiB\"\n"
            );
            let document = Document::new("t.toml", &text, Path::new("/")).unwrap();
            phases(&document.test(&[]).unwrap().plan())
        };
        let warm_up = "warm up: at most 65 min once the cache (256 MiB) is full, for each log to go through the checkpoint depth (20 MiB)";
        assert_eq!(said("duration = \"2h\""), [warm_up, "test: 2 h"]);
        assert_eq!(
            said(
                "duration = \"2h\"\ntarget_io_per_s = 5\nmin_warmup = \"0s\"\ntune = true\nprecondition = 2"
            ),
            [
                "precondition: 16 MiB are written during the warm-up, less than a minute at 200 MB/s (assumed)",
                "warm up: at most 64 min once the cache (256 MiB) is full, for each log to go through the checkpoint depth (20 MiB)",
                "tune: short trials until the sessions are found",
                "test: 2 h"
            ]
        );
        assert_eq!(said("kind = \"database-backup\""), ["test: read every database"]);
        assert_eq!(
            said("kind = \"soft-recovery\"\nlogs = 1"),
            ["test: write 1 log file for each instance in at most 2 h, and replay them"]
        );
    }
}
