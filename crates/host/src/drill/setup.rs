//! What every course of a drill has, and one course.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use brunt_drill::Rehearsed;
use brunt_drill::sites::messages::Speaker;
use brunt_drill::sites::{CourseError, CoursePlan, Doing, Heed, Site, SitePair, Sites, Storage};
use brunt_run::{Listener, Stop};
use brunt_scenario::{Exec, RealDrill};
use brunt_world::World;
use brunt_world_real::{ClockZero, Options, RealWorld, StartError};

use super::child::Child;
use super::folders::SiteFolder;
use super::link::{LinkKind, RealWay};
use super::{RealDrillError, exec};
use crate::consent::Consent;
use crate::plan;

/// Memory for I/O of the drill itself, which does none.
const SLAB_BYTES: usize = 1 << 20;

/// What every course of a drill has.
pub(super) struct Setup {
    pub(super) drill: Rc<RealDrill>,
    pub(super) program: PathBuf,
    /// The commit that this program was built from.
    pub(super) commit: Option<&'static str>,
    /// Of the source, and of the destination where brunt replicates to it on this host.
    pub(super) folders: Vec<SiteFolder>,
    pub(super) consent: Consent,
    pub(super) link: LinkKind,
    /// Where the clock of every course counts from.
    pub(super) zero: ClockZero,
    /// The name of this run.
    pub(super) run: String,
    /// The folder to which external replication has brought this run.
    pub(super) arrived: RefCell<Option<SiteFolder>>,
}

impl Storage for Setup {
    fn is_remote(&self) -> bool {
        self.drill.remote.is_some()
    }

    fn speaker(&self) -> Speaker {
        Speaker::own(self.commit)
    }

    fn may_replace(&self) -> bool {
        self.consent.replace
    }

    fn log_segment(&self) -> usize {
        plan::log_segment(self.folders.iter().map(SiteFolder::path))
    }

    fn release(&self) {
        self.folders.iter().for_each(SiteFolder::release);
    }

    fn is_there(&self) -> bool {
        self.folders.iter().any(SiteFolder::is_there)
    }

    fn arrive(&self) -> Result<(), CourseError> {
        let arrived = SiteFolder::arrived(&self.drill.destination.value, &self.run);
        let arrived = arrived.map_err(CourseError::of)?;
        for source in &self.folders {
            arrived.is_not(source).map_err(CourseError::of)?;
        }
        *self.arrived.borrow_mut() = Some(arrived);
        Ok(())
    }

    fn exec<'a>(&'a self, world: &'a World, exec: &'a Exec, heed: Heed<'a>) -> Doing<'a, ()> {
        Box::pin(async move {
            exec::run(world, exec, &exec::environment(&self.drill), heed).await.map(drop)
        })
    }
}

/// The world of the drill itself.
///
/// # Errors
/// [`StartError`] when there is no way to do I/O.
pub(super) fn world(drill: &RealDrill, zero: ClockZero) -> Result<RealWorld, StartError> {
    RealWorld::new(&Options {
        backend: drill.scenario.backend,
        slab_bytes: SLAB_BYTES,
        zero,
        ..Options::default()
    })
}

/// One course of the drill, on empty folders.
///
/// # Errors
/// [`RealDrillError`] when it did not come to its end.
pub(super) fn course(
    setup: &Rc<Setup>,
    plan: CoursePlan,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Rehearsed, RealDrillError> {
    for folder in &setup.folders {
        folder.empty()?;
    }
    let mut real = world(&setup.drill, setup.zero)?;
    let [here, there] = setup.link.places(&setup.program);
    let start = |name, place| Child::start(name, &place).map_err(RealDrillError::Process);
    let children = [start("source", here)?, start("destination", there)?];
    let seed = setup.drill.scenario.test.seed;
    let way = RealWay::between(&setup.link, children.each_ref(), seed);
    let way = way.map_err(RealDrillError::Process)?;
    let sites = Sites {
        sites: children.map(|child| Rc::new(child) as Rc<dyn Site>),
        link: Rc::new(way),
        storage: Rc::<Setup>::clone(setup),
    };
    let pair = SitePair::new(&real.world, &setup.drill, sites, plan, listener, stop);
    let rehearsed = real.executor.block_on(pair.rehearse());
    rehearsed.map_err(RealDrillError::Course)
}
