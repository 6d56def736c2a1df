//! A pair that is not brunt's own: consent, the steps around a drill, and what has arrived at the
//! other site.
//!
//! ```text
//!   prepare steps -> the source is taken, and marked with this run -> load, events -> the source is killed
//!     -> cut steps: its storage is gone -> failover steps -> the destination must bear the mark of this run, on storage that is
//!     not the source's -> recovery, comparison
//!     -> folders that are still mounted are emptied -> clean-up steps, whatever happened before
//! ```

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use brunt_drill::Control;
use brunt_drill::sites::CourseError;
use brunt_run::{Listener, News, Stop};
use brunt_scenario::{
    Decision, Exec, PairStep, Placed, RealDrill, Refusal, SiteEvent, SiteIncident, SiteReplication,
    StepTime,
};
use brunt_world_real::ClockZero;

use super::child::remote_command;
use super::error::CleanUpError;
use super::folders::SiteFolder;
use super::setup::{Setup, world};
use super::{RealDrillError, controls, exec};
use crate::consent::{Consent, PairConsent};
use crate::shell::{line, quoted};

/// Where controls mirror, in the folder of the destination.
const CONTROLS: [&str; 2] = ["control-source", "control-destination"];

/// Looks whether the commands of `drill` may be run and its folders and devices used. Nothing is
/// run.
///
/// # Errors
/// [`Refusal`] for the first thing that is not allowed, or not there.
pub fn check(drill: &RealDrill, consent: &PairConsent) -> Result<(), Refusal> {
    let commands = commands(drill);
    if let Some((_, first)) = commands.first()
        && !consent.exec
    {
        let refusal = first.run.place.refuse("runs a command, and nobody has allowed that");
        let refusal = refusal.hint("read what would be run, and add --allow-exec:");
        return Err(commands.iter().fold(refusal, |refusal, (when, one)| {
            refusal.hint(format!("{when}: {}", shown(one)))
        }));
    }
    let named = [&drill.source, &drill.destination].into_iter();
    for named in named.chain(drill.devices.iter().flatten()) {
        if !consent.paths.iter().any(|path| covers(path, &named.value)) {
            let refusal = named.place.refuse("nobody has allowed to write there");
            return Err(refusal.hint(format!("to allow it: --allow {}", named.value.display())));
        }
    }
    let is_missing = |(_, one): &&(&str, &Exec)| {
        let program = one.run.value.first();
        program.is_none_or(|program| crate::exec::found(program).is_none())
    };
    match commands.iter().find(is_missing) {
        Some((_, one)) => Err(one.run.place.refuse("there is no such program").hint(format!(
            "a program with a slash is relative to the scenario; others are looked for in {}",
            crate::exec::PATH
        ))),
        None => Ok(()),
    }
}

/// Every command, with the word for its time, in the order in which they are run.
pub fn commands(drill: &RealDrill) -> Vec<(&'static str, &Exec)> {
    let steps = |when: StepTime| drill.steps_at(when).map(move |step| (when.word(), &step.exec));
    let events = drill.timeline.iter().filter_map(|event| match &event.what {
        SiteIncident::Exec(exec) => Some((event.what.word(), exec)),
        _ => None,
    });
    let before = steps(StepTime::Prepare).chain(events);
    let after = [StepTime::Cut, StepTime::Failover, StepTime::CleanUp];
    before.chain(after.into_iter().flat_map(steps)).collect()
}

/// A command as it is shown, quoted as for a shell.
pub fn shown(exec: &Exec) -> String {
    line(&exec.run.value)
}

/// What is run on the host of the destination, as it is shown; `None` if that is this one.
pub fn shown_remote(drill: &RealDrill) -> Option<String> {
    let remote = drill.remote.as_ref()?;
    let words = format!("ssh {} {}", quoted(&remote.host), remote_command(remote));
    Some(brunt_report::one_line(&words).into_owned())
}

/// Looks whether a program may be run on another host.
///
/// # Errors
/// [`Refusal`] when `drill` names one, and nobody has allowed that.
pub fn check_remote(drill: &RealDrill, exec: bool) -> Result<(), Refusal> {
    match shown_remote(drill).filter(|_| !exec) {
        Some(shown) => {
            let place = &drill.destination.place;
            let refusal =
                place.refuse("is on another host, and nobody has allowed to run a program there");
            Err(refusal.hint(format!("to allow it, add --allow-exec: {shown}")))
        }
        None => Ok(()),
    }
}

/// Holds the pair of `drill` until it is dropped: commands of a second drill would tear down the
/// first one's.
///
/// # Errors
/// [`RealDrillError::Busy`] when another drill holds it.
pub(super) fn hold(drill: &RealDrill) -> Result<UnixListener, RealDrillError> {
    let source = resolved(&drill.source.value).unwrap_or_else(|| drill.source.value.clone());
    let name = format!("brunt-pair:{}", source.display());
    let name = SocketAddr::from_abstract_name(name.as_bytes());
    let held = name.and_then(|name| UnixListener::bind_addr(&name));
    held.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => RealDrillError::Busy(source),
        _ => RealDrillError::NotHeld { folder: source, error },
    })
}

/// Whether `named` lies in `allowed`. Links are followed as far as there is something; what is not
/// there yet is plain.
fn covers(allowed: &Path, named: &Path) -> bool {
    match (resolved(allowed), resolved(named)) {
        (Some(allowed), Some(named)) => named.starts_with(allowed),
        _ => false,
    }
}

fn resolved(path: &Path) -> Option<PathBuf> {
    let is_there = |at: &&Path| at.symlink_metadata().is_ok();
    let there = path.ancestors().find(is_there)?;
    // A link that leads nowhere yet may lead anywhere later.
    let real = there.canonicalize().ok()?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    rest.components().all(is_plain).then(|| real.join(rest))
}

/// The steps around a drill.
pub(super) struct Steps<'a> {
    drill: &'a RealDrill,
    environment: Vec<(&'static str, OsString)>,
    zero: ClockZero,
    listener: &'a Rc<dyn Listener>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        drill: &'a RealDrill,
        zero: ClockZero,
        listener: &'a Rc<dyn Listener>,
    ) -> Self {
        Self { drill, environment: exec::environment(drill), zero, listener }
    }

    /// Runs the steps before the drill.
    ///
    /// # Errors
    /// The first one that fails.
    pub(super) fn prepare(&self, stop: &Stop) -> Result<(), RealDrillError> {
        for step in self.drill.steps_at(StepTime::Prepare) {
            let stop = stop.clone();
            let heed = move || match stop.is_asked() {
                true => Err(CourseError::Stopped),
                false => Ok(()),
            };
            self.run(step, heed)?;
        }
        Ok(())
    }

    /// Runs all steps after the drill, whether or not somebody asks to stop.
    ///
    /// # Errors
    /// All that failed.
    pub(super) fn clean_up(&self) -> Result<(), CleanUpError> {
        let steps = self.drill.steps_at(StepTime::CleanUp);
        let failed: Vec<_> = steps.filter_map(|step| self.run(step, || Ok(())).err()).collect();
        match failed.is_empty() {
            true => Ok(()),
            false => Err(CleanUpError(failed)),
        }
    }

    fn run(
        &self,
        step: &PairStep,
        heed: impl FnMut() -> Result<(), CourseError> + 'static,
    ) -> Result<(), RealDrillError> {
        let (when, name) = (step.when.word().to_owned(), step.exec.name.clone());
        self.listener.tell(self.zero.elapsed(), &News::Step { when, name });
        let mut real = world(self.drill, self.zero)?;
        let (world, exec) = (real.world.clone(), step.exec.clone());
        let environment = self.environment.clone();
        let ran = real
            .executor
            .block_on(async move { exec::run(&world, &exec, &environment, heed).await.map(drop) });
        ran.map_err(|error| match error {
            CourseError::Stopped => RealDrillError::Stopped,
            error => RealDrillError::Step { when: step.when, error },
        })
    }
}

/// Whether the storage of the source lives on while the destination takes over: then its
/// replication, or a command, may still read it.
pub(super) fn leaves_source_alive(drill: &RealDrill) -> bool {
    let is_planned = |one: &SiteEvent| one.what == SiteIncident::FailOver(Decision::Planned);
    drill.replication == SiteReplication::External
        && drill.steps_at(StepTime::Cut).next().is_none()
        && !drill.timeline.iter().any(is_planned)
}

/// Runs all controls on brunt's own mirror, in two folders of the destination; none where nothing
/// has arrived.
pub(super) fn controls(
    setup: &Setup,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Vec<Control>, RealDrillError> {
    let arrived = setup.arrived.borrow();
    let Some(destination) = &*arrived else {
        return Ok(Vec::new());
    };
    destination.empty()?;
    let folder = |name: &str| Placed {
        value: destination.path().join(name),
        place: setup.drill.destination.place.clone(),
    };
    let drill = RealDrill {
        source: folder(CONTROLS[0]),
        destination: folder(CONTROLS[1]),
        devices: [None, None],
        replication: SiteReplication::Synchronous,
        timeline: controls::timeline(),
        steps: Vec::new(),
        ..(*setup.drill).clone()
    };
    let take = |folder: &Placed<PathBuf>| SiteFolder::take(folder, Consent::default());
    let folders = vec![take(&drill.source)?, take(&drill.destination)?];
    let own = Rc::new(Setup {
        drill: Rc::new(drill),
        program: setup.program.clone(),
        commit: setup.commit,
        folders,
        consent: setup.consent,
        link: setup.link.clone(),
        zero: setup.zero,
        run: String::new(),
        arrived: None.into(),
    });
    controls::all(&own, listener, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_covers_what_lies_in_it() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("/", home.path().join("link")).unwrap();
        assert!(covers(&real, &real.join("a/b")));
        assert!(covers(home.path(), &real));
        assert!(!covers(&real, home.path()));
        assert!(!covers(&real, &home.path().join("real2")));
        assert!(!covers(&real, &real.join("no/../../other")));
        // A link is what it leads to.
        assert!(!covers(home.path(), &home.path().join("link/etc")));
        std::os::unix::fs::symlink("/nowhere", home.path().join("dangling")).unwrap();
        assert!(!covers(home.path(), &home.path().join("dangling/a")));
    }
}
