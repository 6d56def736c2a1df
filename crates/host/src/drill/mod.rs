//! Drills on real storage: two sites as processes of this machine, one of which is really killed,
//! frozen or cut off.
//!
//! ```text
//!   brunt drill: conductor, ledger, judge
//!      | stdin, stdout: commands, answers, a line before and after each commit (the pipe survives a kill)
//!      +--> brunt site: source       engine -> mirror --\
//!      |                                                 link (in the drill: delay, cut)
//!      '--> brunt site: destination  receiver  <--------/     promoted: fences, recovers, serves
//! ```
//!
//! The ledger, the cut and the judge are those of drills in virtual time (crate `drill`).
//!
//! Where the user's own storage replicates, there is neither mirror nor relay: `external` says what
//! runs instead.
//!
//! * The course: `conductor` takes it through its timeline; `opening`: before that; `failover`: its
//!   steps; `controls`: on a broken mirror.
//! * The sites: [`folders`]; `child`: their processes; [`site`]: what such a process does; `messages`:
//!   what both say.
//! * Between them: `link`: packets of [`crate::distance`], a `relay`, or a `tunnel` to another
//!   host; `shipping`: what asynchronous replication leaves at risk.
//! * A pair of the user's own: [`external`]; `exec`: its commands.

mod child;
mod conductor;
mod controls;
mod error;
mod exec;
pub mod external;
mod failover;
pub mod folders;
mod link;
mod messages;
mod opening;
mod relay;
mod shipping;
pub mod site;
mod tunnel;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_drill::{DrillListener, Objectives, Rehearsed, Words};
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::progress::Stop;
use brunt_qualify::result::result;
use brunt_report::RunResult;
use brunt_report::result::Origin;
use brunt_scenario::{RealDrill, SiteReplication};
use brunt_units::Time;
use brunt_world_real::{Backend, Options, RealWorld, StartError};

use crate::consent::Consent;
use crate::plan;
use crate::surroundings::{DeviceCounts, Used, places, surroundings};
use conductor::{Conductor, CoursePlan};
pub use error::{CourseError, RealDrillError};
use folders::SiteFolder;
use link::LinkKind;

/// Memory for I/O of the drill itself, which does none.
const SLAB_BYTES: usize = 1 << 20;

/// What a drill may do, and how it is called.
pub struct RealDrillOptions {
    /// What the user allows.
    pub consent: Consent,
    /// Whether it is repeated on a mirror that is broken on purpose.
    pub controls: bool,
    /// The program that is started for each site; `None` for the one that is running.
    pub program: Option<PathBuf>,
}

/// Rehearses `drill` on this machine, for a program called as `origin` says.
///
/// # Errors
/// [`RealDrillError`] when there was no drill. Nothing of it is left, on any way out.
pub fn rehearse(
    drill: &RealDrill,
    options: &RealDrillOptions,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn DrillListener>,
    stop: &Stop,
) -> Result<RunResult, RealDrillError> {
    let begun = SystemTime::now();
    let _held = match drill.replication {
        SiteReplication::External => Some(external::hold(drill)?),
        _ => None,
    };
    let steps = external::Steps::new(drill, listener);
    let completed =
        steps.prepare(stop).and_then(|()| run_drill(drill, options, begun, listener, stop));
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
        completed.rehearsed.evidence.unfinished.get_or_insert(failed.to_string());
    }
    let Completed { rehearsed, plan, places, backend } = completed;
    let origin = origin(plan.seed, plan.run.to_string());
    let around = surroundings(&plan, &places, &DeviceCounts::new(), &backend, origin);
    let nothing = TestRun::unfinished(&plan, Time::ZERO);
    let mut result = result(&plan, &nothing, &around);
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
    rehearsed.put_into(&mut result, &objectives(drill), &words);
    Ok(result)
}

/// What came of a drill, and where it took place.
struct Completed {
    rehearsed: Rehearsed,
    plan: Plan,
    places: Vec<Used>,
    backend: Backend,
}

/// Takes the folders, and lets the drill and its controls take their course. The folders are empty
/// afterwards.
fn run_drill(
    drill: &RealDrill,
    options: &RealDrillOptions,
    begun: SystemTime,
    listener: &Rc<dyn DrillListener>,
    stop: &Stop,
) -> Result<Completed, RealDrillError> {
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
        drill: drill.clone(),
        program,
        folders,
        consent: options.consent,
        link,
        run,
        arrived: RefCell::default(),
    });
    let plan = setup.plan(begun);
    let places = places(&plan);
    let course_plan = CoursePlan {
        timeline: drill.timeline.clone(),
        warm_up: plan.warm_up_min,
        after: drill.drill.after,
        replication: drill.replication,
        how: None,
    };
    let mut rehearsed = course(&setup, course_plan, listener, stop)?;
    let backend = world(drill)?.backend();
    if options.controls && drill.drill.controls && !stop.is_asked() {
        rehearsed.evidence.controls = match is_external {
            true => external::controls(&setup, listener, stop)?,
            false => controls::all(&setup, listener, stop)?,
        };
    }
    Ok(Completed { rehearsed, plan, places, backend })
}

/// The name of a run that began then: no other drill of this machine has it.
fn run_name(begun: SystemTime) -> String {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}\n", since.as_nanos(), std::process::id())
}

fn objectives(drill: &RealDrill) -> Objectives {
    let usual = Objectives::usual(drill.replication == SiteReplication::Synchronous);
    Objectives {
        recovery_time: drill.drill.recovery_time,
        recovery_point: drill.drill.recovery_point.or(usual.recovery_point),
    }
}

/// What every course of a drill has.
struct Setup {
    drill: RealDrill,
    program: PathBuf,
    /// Of the source, and of the destination where brunt replicates to it on this host.
    folders: Vec<SiteFolder>,
    consent: Consent,
    link: LinkKind,
    /// The name of this run.
    run: String,
    /// The folder to which external replication has brought this run.
    arrived: RefCell<Option<SiteFolder>>,
}

impl Setup {
    /// The plan of the server at the source.
    fn plan(&self, begun: SystemTime) -> Plan {
        let scenario = self.drill.at(&self.drill.source.value);
        plan::plan(&scenario, Consent::default(), begun)
    }

    /// Bytes in a log segment: the larger ones of the sites on this host. Logs of both sites are
    /// the same.
    fn log_segment(&self) -> usize {
        plan::log_segment(self.folders.iter().map(SiteFolder::path))
    }
}

fn world(drill: &RealDrill) -> Result<RealWorld, StartError> {
    RealWorld::new(&Options {
        backend: drill.scenario.backend,
        slab_bytes: SLAB_BYTES,
        ..Options::default()
    })
}

/// One course of the drill, on empty folders.
fn course(
    setup: &Rc<Setup>,
    plan: CoursePlan,
    listener: &Rc<dyn DrillListener>,
    stop: &Stop,
) -> Result<Rehearsed, RealDrillError> {
    for folder in &setup.folders {
        folder.empty()?;
    }
    let mut real = world(&setup.drill)?;
    let conductor = Conductor::new(&real.world, setup, plan, listener, stop)?;
    let rehearsed = real.executor.block_on(async move {
        let ended = conductor.run().await;
        conductor.part().await;
        let unfinished = match ended {
            Ok(()) => None,
            Err(CourseError::Stopped) => Some("stopped before its end".to_owned()),
            Err(error) => return Err(error),
        };
        let mut rehearsed = conductor.into_rehearsed();
        if unfinished.is_some() {
            rehearsed.evidence.unfinished = unfinished;
        }
        Ok(rehearsed)
    });
    rehearsed.map_err(RealDrillError::Course)
}
