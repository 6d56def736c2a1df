//! Drills on real storage: two sites as processes of this machine, one of which is really killed,
//! frozen or cut off.
//!
//! ```text
//!   brunt drill: conductor, ledger, judge (crate `drill`)
//!      | stdin, stdout: the pipe survives a kill
//!      +--> brunt site: source
//!      |       link: packets, a relay or a tunnel
//!      '--> brunt site: destination
//! ```
//!
//! Where the user's own storage replicates, there is neither mirror nor relay: `external` says what
//! runs instead.
//!
//! * The sites: [`folders`]; `child`: their processes; [`site`]: what such a process does.
//! * Between them: `link`: packets of [`crate::distance`], a relay, or a `tunnel` to another host.
//! * `setup`: what every course of a drill has; `controls`: courses on a broken mirror.
//! * A pair of the user's own: [`external`]; `exec`: its commands.

mod child;
mod controls;
mod error;
pub(crate) mod exec;
pub mod external;
pub mod folders;
mod link;
mod setup;
pub mod site;
mod tunnel;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_drill::sites::CoursePlan;
use brunt_drill::{Objectives, Rehearsed, Words, outline as drill_outline};
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::result::result;
use brunt_report::result::{Origin, Verdict};
use brunt_report::{RunFolder, RunResult};
use brunt_run::{Head, Listener, Stop};
use brunt_scenario::{RealDrill, SiteReplication};
use brunt_units::Time;
use brunt_world_real::{Backend, ClockZero};

use crate::consent::Consent;
use crate::keeping::Keeping;
use crate::recorder::Heard;
use crate::surroundings::{DeviceCounts, Used, places, surroundings};
use crate::{plan, runs};
pub use error::RealDrillError;
use folders::SiteFolder;
use link::LinkKind;
use setup::{Setup, course, world};

/// What a drill may do, and how it is called.
pub struct RealDrillOptions {
    /// What the user allows.
    pub consent: Consent,
    /// Whether it is repeated on a mirror that is broken on purpose.
    pub controls: bool,
    /// The program that is started for each site; `None` for the one that is running.
    pub program: Option<PathBuf>,
    /// The commit that this program was built from, where that is known.
    pub commit: Option<&'static str>,
}

/// Rehearses `drill` on this machine, for a program called as `origin` says. Its journal is kept in
/// `folder`; it says *interrupted* of a drill that was stopped.
///
/// # Errors
/// [`RealDrillError`] when there was no drill. Nothing of it is left, on any way out.
pub fn rehearse(
    drill: &RealDrill,
    options: &RealDrillOptions,
    origin: impl Fn(u64, String) -> Origin,
    (folder, heard): (&RunFolder, Option<Heard>),
    listener: Rc<dyn Listener>,
    stop: &Stop,
) -> Result<RunResult, RealDrillError> {
    let begun = (SystemTime::now(), ClockZero::now());
    let plan = plan_of(drill, begun.0);
    let backend = world(drill, begun.1)?.backend();
    let origin = origin(plan.seed, plan.run.to_string());
    let outline = drill_outline(written(&plan, &places(&plan), &backend, origin.clone()));
    let (scenario, outline) = (drill.to_toml(), outline.to_json());
    let head = Head { scenario, outline, ..runs::head(&plan) };
    let keeping = Rc::new(Keeping::begin(head, Some(folder), heard, listener)?);
    let listener: Rc<dyn Listener> = Rc::<Keeping<_>>::clone(&keeping);
    let source = Source { plan, backend, origin };
    let result = conducted(drill, options, source, begun, &listener, stop);
    match &result {
        _ if stop.is_asked() => keeping.ended(Verdict::Interrupted)?,
        Ok(result) => keeping.ended(result.verdict)?,
        Err(_) => keeping.end()?,
    }
    result
}

/// The same, told to `listener`.
fn conducted(
    drill: &RealDrill,
    options: &RealDrillOptions,
    source: Source,
    (begun, zero): (SystemTime, ClockZero),
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<RunResult, RealDrillError> {
    let _held = match drill.replication {
        SiteReplication::External => Some(external::hold(drill)?),
        _ => None,
    };
    let steps = external::Steps::new(drill, zero, listener);
    let completed = steps
        .prepare(stop)
        .and_then(|()| run_drill(drill, options, &source.plan, (begun, zero), listener, stop));
    let (mut completed, failed) = match (completed, steps.clean_up()) {
        (Err(RealDrillError::Stopped), Err(clean_up)) => return Err(clean_up.into()),
        (Err(error), Err(clean_up)) => {
            return Err(RealDrillError::DrillAndCleanUp { error: Box::new(error), clean_up });
        }
        (completed, Ok(())) => (completed?, None),
        (Ok(completed), Err(clean_up)) => (completed, Some(clean_up)),
    };
    if let Some(failed) = failed {
        if stop.is_asked() {
            return Err(failed.into());
        }
        completed.0.evidence.unfinished.get_or_insert(failed.to_string());
    }
    let (rehearsed, places) = completed;
    let Source { plan, backend, origin } = source;
    let mut result = written(&plan, &places, &backend, origin);
    let words = Words {
        by: match external::leaves_source_alive(drill) {
            true => {
                "every changed record was read at the survivor; the server of the source was lost, its storage was alive until the failover ended"
            }
            false => "every changed record was read at the survivor",
        },
        remark: match drill.remote {
            Some(_) => {
                "a rehearsal: the processes of a site end, and its host, kernel and caches live on"
            }
            None => {
                "a rehearsal of two processes on one machine, which share its processors, memory and kernel"
            }
        },
    };
    let is_synchronous = drill.replication == SiteReplication::Synchronous;
    rehearsed.put_into(&mut result, &Objectives::of(&drill.drill, is_synchronous), &words);
    Ok(result)
}

/// The plan of the server at the source.
fn plan_of(drill: &RealDrill, begun: SystemTime) -> Plan {
    plan::plan(&drill.at(&drill.source.value), Consent::default(), begun)
}

/// The result of that server, which was not tested.
fn written(plan: &Plan, places: &[Used], backend: &Backend, origin: Origin) -> RunResult {
    let around = surroundings(plan, places, &DeviceCounts::new(), backend, origin);
    result(plan, &TestRun::unfinished(plan, Time::ZERO), &around)
}

/// The server at the source.
struct Source {
    plan: Plan,
    backend: Backend,
    origin: Origin,
}

/// Takes the folders, and lets the drill and its controls take their course. The folders are empty
/// afterwards. Also where the databases of `plan` were.
fn run_drill(
    drill: &RealDrill,
    options: &RealDrillOptions,
    plan: &Plan,
    (begun, zero): (SystemTime, ClockZero),
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<(Rehearsed, Vec<Used>), RealDrillError> {
    let program = options.program.clone().map_or_else(child::own_program, Ok);
    let program = program.map_err(RealDrillError::Process)?;
    let link = LinkKind::possible(drill, &program)?;
    let mut folders = vec![SiteFolder::take(&drill.source, options.consent)?];
    let is_external = drill.replication == SiteReplication::External;
    let run = run_name(begun);
    if is_external {
        folders[0].mark(&run)?;
    } else if drill.remote.is_none() {
        folders.push(SiteFolder::take(&drill.destination, options.consent)?);
    }
    let setup = Rc::new(Setup {
        drill: Rc::new(drill.clone()),
        program,
        commit: options.commit,
        folders,
        consent: options.consent,
        link,
        zero,
        run,
        arrived: RefCell::default(),
    });
    let places = places(plan);
    let course_plan = CoursePlan {
        timeline: drill.timeline.clone(),
        warm_up: plan.warm_up_min,
        after: drill.drill.after,
        replication: drill.replication,
        how: None,
    };
    let mut rehearsed = course(&setup, course_plan, listener, stop)?;
    if options.controls && drill.drill.controls && !stop.is_asked() {
        rehearsed.evidence.controls = match is_external {
            true => external::controls(&setup, listener, stop)?,
            false => controls::all(&setup, listener, stop)?,
        };
    }
    Ok((rehearsed, places))
}

/// The name of a run that began then: no other drill of this machine has it.
fn run_name(begun: SystemTime) -> String {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}\n", since.as_nanos(), std::process::id())
}
