//! What runs leave behind, and how it goes: messages in mailboxes (`brunt load --clean RUN`), and the
//! servers that were started for a run (`brunt clean RUN`).
//!
//! A message goes only if its mark names that run and each of its bytes is what was sent. A folder
//! goes only if brunt made servers in it, and none of them runs. Servers that live elsewhere know their
//! run, so they are found when its folder is gone (`brunt clean --orphans`).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_load::{Patience, Reading};
use brunt_servers::MailSystem;
use rustix::process::geteuid;

use super::kept::{self, Load};
use super::target::Foreign;
use super::{LoadError, LoadListener, Subject, choice, demand, judge};

/// What was removed, and what stayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanedRun {
    /// Messages that are gone.
    pub removed: u64,
    /// Messages of the run that differ from what was sent, which stay.
    pub changed: u64,
    /// Messages that are not of the run, which stay.
    pub others: u64,
    /// Users whose mailboxes may still hold something.
    pub unfinished: Vec<String>,
    /// What went wrong, by kind, with the first line that showed it.
    pub errors: Vec<(String, String)>,
}

/// Removes the messages of the run in `folder`: from its own servers, which are started for it, or
/// from those of the user.
///
/// # Errors
/// [`LoadError`] when no mailbox was looked into.
pub fn clean(
    folder: &Path,
    foreign: Option<&Foreign>,
    listener: &Rc<dyn LoadListener>,
) -> Result<CleanedRun, LoadError> {
    let (mailing, ..) = kept::ledger(folder)?;
    let mut system = None;
    let subject = match foreign {
        Some(foreign) => foreign.subject_of(&mailing)?,
        None => {
            let load = Load::read(folder)?;
            let own = system.insert(MailSystem::open(&load.servers)?);
            listener.step(&format!("starting the servers in {}", load.servers.display()));
            own.start()?;
            Subject::of(own, demand::unix_now().as_secs())?
        }
    };
    let mut real = demand::world(0, demand::beginning().1)?;
    let (world, own) = (real.world.clone(), Rc::clone(&mailing));
    let reading = Reading::new(subject.mailboxes.clone());
    let (cleaned, errors, _) = real.executor.block_on(async move {
        let whom = (subject.trust.as_ref(), Patience::default());
        brunt_load::clean(&world, &own, &subject.accounts, &reading, whom).await
    });
    if let Some(mut system) = system {
        system.stop()?;
    }
    let unfinished = cleaned.unfinished.iter().map(|account| judge::user(&mailing, *account));
    let said = errors.iter().map(|(kind, noted)| (kind.to_string(), noted.first_line.clone()));
    Ok(CleanedRun {
        removed: cleaned.removed,
        changed: cleaned.changed,
        others: cleaned.others,
        unfinished: unfinished.collect(),
        errors: said.collect(),
    })
}

/// The folder of the servers that the run in `folder` has left, or `folder` if it is one; `None`
/// where the run left none.
///
/// # Errors
/// [`LoadError`] when it is no such run, the folder is not brunt's, or a server runs there.
pub fn left_servers(folder: &Path) -> Result<Option<PathBuf>, LoadError> {
    let servers = match MailSystem::plan_of(folder) {
        Ok(_) => fs::canonicalize(folder).map_err(LoadError::at(folder))?,
        Err(_) => Load::read(folder)?.servers,
    };
    if !servers.exists() {
        return Ok(None);
    }
    MailSystem::plan_of(&servers)?;
    match is_in_use(&servers) {
        true => Err(LoadError::Kept { path: servers, why: "a server runs there".to_owned() }),
        false => Ok(Some(servers)),
    }
}

/// Servers of the caller that no run folder names any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Their folder.
    pub servers: PathBuf,
    /// Where their run was.
    pub run: PathBuf,
}

/// The orphans among the servers that could not live in the folder of their run.
pub fn orphans() -> Vec<Orphan> {
    let own = geteuid().as_raw();
    let is_own = |folder: &Path| folder.symlink_metadata().is_ok_and(|it| it.uid() == own);
    let orphan = |servers: PathBuf| {
        let run = kept::run_of(&servers)?;
        let is_named = Load::read(&run).is_ok_and(|load| load.servers == servers);
        let is_left = !is_named && MailSystem::plan_of(&servers).is_ok() && !is_in_use(&servers);
        is_left.then_some(Orphan { servers, run })
    };
    let mut found: Vec<Orphan> = choice::elsewhere()
        .into_iter()
        .filter(|folder| is_own(folder))
        .filter_map(orphan)
        .collect();
    found.sort_by(|one, other| one.servers.cmp(&other.servers));
    found
}

/// Whether a process was started for these servers, or works below their folder.
fn is_in_use(servers: &Path) -> bool {
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.any(|process| {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let works = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        // Arguments of servers are files of theirs; that of `brunt clean` may be the folder.
        let arguments = command.split(|byte| *byte == 0);
        let mut files = arguments.map(|one| Path::new(OsStr::from_bytes(one)));
        works.starts_with(servers) || files.any(|file| file.starts_with(servers) && file != servers)
    })
}
