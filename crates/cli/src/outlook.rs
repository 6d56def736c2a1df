//! What a run of a scenario would do: databases, room, time, and whether it can qualify. Nothing is
//! left behind.

use std::path::Path;
use std::time::SystemTime;

use brunt_host::consent::Consent;
use brunt_host::preflight::demands;
use brunt_host::surroundings;
use brunt_host::{advice, folders, plan};
use brunt_qualify::copies;
use brunt_qualify::error::RunError;
use brunt_qualify::kinds::Work;
use brunt_qualify::phases::places::{self, Decision};
use brunt_qualify::phases::warm_up_max;
use brunt_qualify::plan::{CopyPlan, InstancePlan, Plan};
use brunt_qualify::result::{Surroundings, foreseen};
use brunt_report::{counted, one_line};
use brunt_scenario::Scenario;
use brunt_units::{ByteSize, Span};
use brunt_world_real::RealWorld;

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

/// How fast databases are assumed to be written and read from end to end. Our choice: one hard disk
/// does as much, arrays and flash do more.
const ASSUMED_MB_PER_S: u64 = 200;

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
    let mut advice = advice::advice(&plan, &places);
    advice.extend(surroundings::shared_with(&absolute(out), &plan));
    let mut lines = vec![opening(scenario, &backend.kind.to_string())];
    lines.extend(labelled("databases", databases(&plan, &decisions)));
    lines.extend(labelled("copies", seeds(&plan)));
    lines.extend(labelled("room", room(scenario)));
    lines.extend(labelled("time", time(&plan, &decisions)));
    lines.push(qualifies(&obstacles));
    lines.extend(labelled("advice", advice));
    Ok(Outlook { obstacles, text: lines.join("\n"), around })
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

/// What is done one after the other, and how long it takes.
fn time(plan: &Plan, decisions: &[Decision]) -> Vec<String> {
    let mut lines = Vec::new();
    let all = sum(plan.databases().map(|database| database.size));
    let instances = plan.instances.iter().zip(decisions);
    let created = sum(instances.flat_map(|(instance, decision)| {
        let databases = decision.create.iter();
        databases.map(|index| instance.databases[*index].size)
    }));
    if created.get() > 0 {
        lines.push(format!(
            "create {created}: {} at {ASSUMED_MB_PER_S} MB/s (assumed)",
            about(moved(created))
        ));
    }
    let copied = plan.passive.iter().flat_map(|copy| &copy.files.databases);
    let copied = sum(copied.map(|database| database.size));
    if copied.get() > 0 {
        lines.push(format!(
            "seed copies of {copied}: {} at {ASSUMED_MB_PER_S} MB/s (assumed)",
            about(moved(copied))
        ));
    }
    let all = sum([all, copied].into_iter());
    lines.extend(phases(plan));
    lines.push(format!("verify {all}: {} at {ASSUMED_MB_PER_S} MB/s (assumed)", about(moved(all))));
    lines
}

/// What is done with databases once they are there, but for the verification.
pub fn phases(plan: &Plan) -> Vec<String> {
    let all = sum(plan.databases().map(|database| database.size));
    let short = |span: Span| {
        span.to_string().replace(".0 ", " ").replace(" 00 s", "").replace(" 00 min", "")
    };
    let cache = plan.engine.cache_max;
    let warm_up = || {
        let at_most = short(warm_up_max(plan));
        let depth = match plan.load.writes() {
            true => format!(
                ", for each log to go through the checkpoint depth ({})",
                plan.engine.checkpoint_depth
            ),
            false => String::new(),
        };
        format!("warm up: at most {at_most} once the cache ({cache}) is full{depth}")
    };
    let mut lines = Vec::new();
    if plan.precondition > 0.0 && plan.kind.work() == Work::Load {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        let written = ByteSize::bytes((all.get() as f64 * plan.precondition) as u64);
        lines.push(format!(
            "precondition: {written} are written during the warm-up, {} at {ASSUMED_MB_PER_S} MB/s (assumed)",
            about(moved(written))
        ));
    }
    match plan.kind.work() {
        Work::Load => {
            lines.push(warm_up());
            if plan.tune.is_some() {
                lines.push("tune: short trials until the sessions are found".to_owned());
            }
            lines.push(format!("test: {}", short(plan.duration)));
        }
        Work::BackUp => {
            let restore = match plan.copy_to {
                Some(_) if plan.restores => ", write a backup and restore it",
                Some(_) => ", write a backup",
                None => "",
            };
            lines.push(format!("test: read every database{restore}"));
        }
        Work::Replay => {
            let files = counted(plan.logs.into(), "log file");
            lines.push(format!(
                "test: write {files} for each instance in at most {}, and replay them",
                short(plan.duration)
            ));
        }
    }
    lines
}

fn sum(sizes: impl Iterator<Item = ByteSize>) -> ByteSize {
    ByteSize::bytes(sizes.map(ByteSize::get).fold(0, u64::saturating_add))
}

/// How long that takes from end to end.
fn moved(size: ByteSize) -> Span {
    Span::seconds(size.get().div_ceil(ASSUMED_MB_PER_S * 1_000_000))
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
        assert_eq!(moved(ByteSize::bytes(400_000_000_000)), Span::seconds(2_000));
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
