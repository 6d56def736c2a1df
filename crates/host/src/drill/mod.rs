//! Drills on real storage: two sites as processes of this machine, one of which is really killed, frozen or cut off.
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
//! * [`folders`]: of the sites; [`site`]: what a site does; `said`: what is said between processes; `child`: the processes.
//! * `link`: packets of [`crate::distance`], a `relay`, or a `tunnel` to another host; `shipping`: what asynchronous replication leaves at risk; `conductor`: takes a drill through its timeline; `failover`: its steps; `controls`: on a broken mirror.

mod child;
mod conductor;
mod controls;
mod failover;
pub mod folders;
mod link;
mod relay;
mod said;
mod shipping;
pub mod site;
mod tunnel;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::SystemTime;

use brunt_drill::{DrillListener, Objectives, Rehearsed, Words};
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::progress::Stop;
use brunt_qualify::result::result;
use brunt_report::RunResult;
use brunt_report::result::Origin;
use brunt_scenario::RealDrill;
use brunt_units::Time;
use brunt_world_real::{Options, RealWorld, StartError};

use crate::consent::Consent;
use crate::plan;
use crate::surroundings::{DeviceCounts, places, surroundings};
use conductor::{Conductor, Script, Trouble};
use folders::{SiteFolder, SiteFolderError};
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

/// Why there was no drill.
#[derive(Debug, thiserror::Error)]
pub enum RealDrillError {
    /// The folders of sites cannot be used.
    #[error(transparent)]
    Folder(#[from] SiteFolderError),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A process cannot be started.
    #[error("the process of a site cannot be started: {0}")]
    Process(std::io::Error),
    /// It could not be carried through.
    #[error("{0}")]
    Broken(String),
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
    let program = options.program.clone().map_or_else(child::own_program, Ok);
    let program = program.map_err(RealDrillError::Process)?;
    let link = LinkKind::possible(drill, &program).map_err(RealDrillError::Broken)?;
    let here = match drill.remote {
        Some(_) => vec![&drill.source],
        None => vec![&drill.source, &drill.destination],
    };
    let take = |folder| SiteFolder::take(folder, options.consent);
    let folders: Result<Vec<_>, _> = here.into_iter().map(take).collect();
    let stage = Rc::new(Stage {
        drill: drill.clone(),
        program,
        folders: folders?,
        consent: options.consent,
        link,
    });
    let plan = stage.plan(begun);
    let script = Script {
        timeline: drill.timeline.clone(),
        warm_up: plan.warm_up_min,
        after: drill.drill.after,
        is_synchronous: drill.is_synchronous,
        how: None,
    };
    let mut rehearsed = course(&stage, script, listener, stop)?;
    let backend = world(drill)?.backend();
    let places = places(&plan);
    if options.controls && drill.drill.controls && !stop.is_asked() {
        rehearsed.evidence.controls = controls::all(&stage, listener, stop)?;
    }
    let origin = origin(plan.seed, plan.run.to_string());
    let around = surroundings(&plan, &places, &DeviceCounts::new(), &backend, origin);
    let nothing = TestRun::unfinished(&plan, Time::ZERO);
    let mut result = result(&plan, &nothing, &around);
    let words = Words {
        by: "every changed record was read at the survivor",
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

fn objectives(drill: &RealDrill) -> Objectives {
    let usual = Objectives::usual(drill.is_synchronous);
    Objectives {
        recovery_time: drill.drill.recovery_time,
        recovery_point: drill.drill.recovery_point.or(usual.recovery_point),
    }
}

/// What every course of a drill has.
struct Stage {
    drill: RealDrill,
    program: PathBuf,
    /// Of the source, and of the destination if it is on this host.
    folders: Vec<SiteFolder>,
    consent: Consent,
    link: LinkKind,
}

impl Stage {
    /// The plan of the server at the source.
    fn plan(&self, begun: SystemTime) -> Plan {
        let scenario = self.drill.at(&self.drill.source.value);
        plan::plan(&scenario, Consent::default(), begun)
    }

    /// Bytes in a log segment: the larger ones of the sites on this host. Logs of both sites are the same.
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
    stage: &Rc<Stage>,
    script: Script,
    listener: &Rc<dyn DrillListener>,
    stop: &Stop,
) -> Result<Rehearsed, RealDrillError> {
    for folder in &stage.folders {
        folder.empty()?;
    }
    let mut real = world(&stage.drill)?;
    let conductor = Conductor::new(&real.world, stage, script, listener, stop)?;
    let rehearsed = real.executor.block_on(async move {
        let ended = conductor.run().await;
        conductor.part().await;
        let unfinished = match ended {
            Ok(()) => None,
            Err(Trouble::Stopped) => Some("stopped before its end".to_owned()),
            Err(Trouble::Said(why)) => return Err(why),
        };
        let mut rehearsed = conductor.into_rehearsed();
        rehearsed.evidence.unfinished = unfinished;
        Ok(rehearsed)
    });
    rehearsed.map_err(RealDrillError::Broken)
}
