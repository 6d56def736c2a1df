//! Runs in their folders, read back whatever became of them.
//!
//! ```text
//!   result.json says how it ended    it is taken as it is
//!   it has not ended                 what its journal has is judged
//!   there is none, or a torn one     the same: the journal begins with what result.json said first
//!   it is of several servers         each has a folder with a journal in it, and they are added up
//! ```

use std::path::{Path, PathBuf};

use brunt_qualify::plan::Plan;
use brunt_qualify::result::unfinished_result;
use brunt_report::parts::Parts;
use brunt_report::points::Points;
use brunt_report::result::{Fleet, ResultError, World};
use brunt_report::{
    Event, JOURNAL, ReadError, Run, RunFolder, RunResult, Timestamp, TogetherError, are_one_test,
    journal_in, of_fleet, result_in, sum_in, together,
};
use brunt_run::{Folded, Head, fold};
use brunt_scenario::Document;

use crate::unfinished;

/// Reads the run in `folder`. One that did not end is judged by what it recorded.
///
/// # Errors
/// [`ReadError`] when there is no run, or one of its files cannot be read.
pub fn read(folder: &Path) -> Result<Run, ReadError> {
    let is_lost = match result_in(folder) {
        Ok(result) => !result.is_finished(),
        Err(ReadError::NotBegun(_)) => true,
        Err(ReadError::Result { source: ResultError::Json(_), .. }) => true,
        Err(_) => false,
    };
    let recorded = match is_lost {
        true => match folded(folder)? {
            Some(folded) => of_journal(&folded),
            None => of_servers(folder)?,
        },
        false => None,
    };
    let run = recorded.map_or_else(|| Run::read(folder), Ok)?;
    let Some(fleet) = &run.result.fleet else { return Ok(run) };
    // What was added up is made again; what was said of the whole stands.
    let names: Vec<&str> = fleet.agents.iter().map(|agent| agent.name.as_str()).collect();
    Ok(match of_hosts(folder, &names, Some(fleet.clone())) {
        Ok(sum) => Run { result: run.result, ..sum },
        Err(_) => run,
    })
}

/// Why the runs of hosts are not one.
#[derive(Debug)]
pub enum HostsError {
    Read(ReadError),
    /// No host has one.
    None,
    /// They are not one test; here is the first.
    Apart(Box<Run>, TogetherError),
}

/// The runs of the hosts called `names`, each in a folder of its name in `folder`, added up. Hosts
/// without a run are left out.
///
/// # Errors
/// [`HostsError`] says why there is no sum.
pub fn of_hosts(folder: &Path, names: &[&str], fleet: Option<Fleet>) -> Result<Run, HostsError> {
    let is_run = |own: &PathBuf| own.join("result.json").exists() || own.join(JOURNAL).exists();
    let folders = names.iter().filter_map(|name| within(folder, name)).filter(is_run);
    let folders: Vec<PathBuf> = folders.collect();
    let runs = folders.iter().map(|own| read(own)).collect::<Result<Vec<Run>, _>>();
    let mut runs = runs.map_err(HostsError::Read)?;
    match are_one_test(&runs) {
        Ok(()) => {}
        Err(TogetherError::None) => return Err(HostsError::None),
        Err(why) => return Err(HostsError::Apart(Box::new(runs.swap_remove(0)), why)),
    }
    let sum = sum_in(&runs, &folders).map_err(HostsError::Read)?;
    of_fleet(runs, sum.as_ref(), fleet).map_err(|_| HostsError::None)
}

/// What the sweep, search or turns in `folder` had computed; `None` of those that ended, and of a
/// run.
///
/// # Errors
/// [`ReadError`] when the journal cannot be read.
pub fn points(folder: &Path) -> Result<Option<Points>, ReadError> {
    match result_in(folder) {
        Err(ReadError::NotBegun(_) | ReadError::NoRun(_)) => {
            Ok(folded(folder)?.and_then(|folded| Points::of(&folded)))
        }
        _ => Ok(None),
    }
}

/// What `result.json` in `folder` says, or the journal if it is lost.
pub(crate) fn outline(folder: &Path) -> Result<RunResult, ReadError> {
    let lost = match result_in(folder) {
        Ok(result) => return Ok(result),
        Err(error) => error,
    };
    let head = folded(folder)?.and_then(|folded| folded.heads.into_iter().next());
    head.and_then(|head| RunResult::from_json(&head.outline).ok()).ok_or(lost)
}

/// What the journal in `folder` says; `None` when there is no journal.
pub(crate) fn folded(folder: &Path) -> Result<Option<Folded>, ReadError> {
    let Some(mut journal) = journal_in(folder)? else {
        return Ok(None);
    };
    fold(&mut journal).map(Some).map_err(refused(folder))
}

/// What is said of a journal in `folder` that cannot be read.
pub fn refused(folder: &Path) -> impl Fn(std::io::Error) -> ReadError {
    let path = folder.join(JOURNAL);
    move |source| ReadError::File { path: path.clone(), source }
}

/// The head of a run of `plan`, without its scenario and outline.
pub fn head(plan: &Plan) -> Head {
    Head {
        run_id: plan.run.to_string(),
        began_unix_s: plan.epoch_ms.div_euclid(1_000),
        ..Head::default()
    }
}

/// The plan of the run with this head; `None` unless it is a single test of storage.
pub fn plan(head: &Head) -> Option<Plan> {
    RunResult::from_json(&head.outline).ok()?;
    let scenario = Document::new("scenario.toml", &head.scenario, Path::new("/"));
    let scenario = scenario.and_then(|document| document.server()).ok()?;
    Some(Plan { epoch_ms: head.began_unix_s * 1_000, ..scenario.plan() })
}

/// The run that a journal tells of; `None` when it says too little.
pub fn of_journal(folded: &Folded) -> Option<Run> {
    let head = folded.heads.first()?;
    let outline = RunResult::from_json(&head.outline).ok()?;
    let is_storage = outline.drill.is_none() && outline.mail.is_none();
    let (result, samples) = match (is_storage, outline.world) {
        (false, _) => (unfinished::interrupted(&outline, folded), Vec::new()),
        (true, World::Real) => unfinished_result(&plan(head)?, folded, &outline),
        (true, World::Virtual) => brunt_lab::unfinished_result(&head.scenario, folded, &outline)?,
    };
    let events = folded.events.iter().map(|event| Event {
        at: Timestamp { unix_seconds: event.unix_s },
        text: event.text.clone(),
    });
    Some(Run {
        result,
        scenario: head.scenario.clone(),
        events: events.collect(),
        samples,
        parts: Parts::of(&folded.samples),
    })
}

/// The simulation of several servers in `folder`, each of which has a folder in it; `None` when it
/// is none, or nothing is missing.
fn of_servers(folder: &Path) -> Result<Option<Run>, ReadError> {
    let Ok(outline) = Run::read(folder) else {
        return Ok(None);
    };
    let names = outline.result.storage.servers.iter().map(|server| &server.name);
    let folders: Option<Vec<PathBuf>> = names.map(|name| within(folder, name)).collect();
    let Some(folders) = folders.filter(|folders| folders.len() > 1) else {
        return Ok(None);
    };
    let runs: Vec<Run> = folders.iter().map(|own| read(own)).collect::<Result<_, _>>()?;
    if runs.iter().all(|run| run.result.is_finished()) || are_one_test(&runs).is_err() {
        return Ok(None);
    }
    let sum = sum_in(&runs, &folders)?;
    let together = together(runs, sum.as_ref()).ok();
    Ok(together.map(|run| Run { scenario: outline.scenario, ..run }))
}

/// The folder called `name` in `folder`; `None` for a link, and for a name that leads elsewhere.
fn within(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    (RunFolder::is_name(name) && path.symlink_metadata().is_ok_and(|found| found.is_dir()))
        .then_some(path)
}
