//! `brunt clean`: removes what the tests of a scenario have left on the storage, and nothing else.
//!
//! ```text
//!   scenario -> paths checked -> folders locked -> every file looked at -> list -> asked -> removed, folders synced
//!                                                        | foreign
//!                                                        v
//!                                                  error, nothing removed
//! ```
//!
//! Of a run folder of `brunt load`, the servers that were started for it go, with their mail; so do
//! those whose run folder is gone (`--orphans`).
//!
//! The same rules as of `brunt run --new` say what belongs to brunt. Run folders are results, and
//! stay. After the answer every file is looked at again: what another program put in a file's place
//! meanwhile is not what was listed, and nothing is removed then.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brunt_host::consent::Consent;
use brunt_host::folders::{self, PrepareError};
use brunt_host::load::{LoadError, Orphan, left_servers, orphans};
use brunt_host::plan;
use brunt_host::preflight::check_places;
use brunt_qualify::error::RunError;
use brunt_qualify::phases::places;
use brunt_scenario::{Refusal, Scenario};
use brunt_units::ByteSize;
use brunt_world_real::{Options, RealWorld, StartError};
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use crate::set::SetKeys;
use crate::test_args::{SharedArgs, TestArgs};

/// Arguments of `clean`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt clean                          what the demo has left in ./brunt-demo
  brunt clean my-storage.toml          list it, and ask
  brunt clean my-storage.toml --yes    for scripts
  brunt clean runs/2026-11-27-041500-load          the mail servers that this run had started
  brunt clean --orphans                those of runs whose folder is gone

Databases, logs, checkpoints and backup copies go. Run folders stay. A file that brunt did not make is never removed: it ends
the command before anything is.")]
pub struct CleanArgs {
    /// Scenario file (TOML), - for stdin, or a run folder of brunt load [default: the demo in ./brunt-demo]
    pub scenario: Option<PathBuf>,

    /// Remove the mail servers in /var/tmp whose run has no folder any more
    #[arg(long, conflicts_with_all = ["scenario", "set"])]
    pub orphans: bool,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Override a value of the scenario, as for the run; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = SetKeys, hide_possible_values = true)]
    pub set: Vec<String>,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why nothing, or not everything, was removed.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The scenario cannot be read, or names paths that no test may use.
    #[error(transparent)]
    Scenario(#[from] Refusal),
    /// A folder cannot be opened, or a test is running in it.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The servers of a run are not there, or run.
    #[error(transparent)]
    Servers(#[from] LoadError),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A file is not ours, or cannot be removed.
    #[error(transparent)]
    Files(#[from] RunError),
    /// The answer, or the working folder, cannot be read.
    #[error("{0}")]
    System(#[from] io::Error),
    /// Another file is there now.
    #[error("{}: is not the file that was listed; nothing was removed\n  look who writes there, and start again", .0.display())]
    Changed(PathBuf),
    /// Removal has to be confirmed.
    #[error("nothing was removed\n  to remove the files without being asked: --yes")]
    Unconfirmed,
}

/// Removes the files.
///
/// # Errors
/// [`CleanError`] when something is in the way.
pub fn run(args: &CleanArgs, output: &Output) -> Result<Exit, CleanError> {
    if args.orphans {
        return those_without_run(args, output);
    }
    if let Some(run) = args.scenario.as_deref().filter(|path| path.is_dir()) {
        return servers(args, run, output);
    }
    let shared = SharedArgs { set: args.set.clone(), ..SharedArgs::default() };
    let test = TestArgs { shared, ..TestArgs::default() };
    let scenario = test.scenario(args.scenario.as_deref(), &env::current_dir()?)?;
    check_places(&scenario)?;
    let never_run = |scratch: &Path| !scratch.exists();
    if scenario.scratch.as_ref().is_some_and(|s| never_run(&s.value)) {
        output.talk("nothing to remove");
        return Ok(Exit::Passed);
    }
    let removed = remove(args, &scenario, output);
    folders::remove_empty(&scenario);
    removed
}

fn remove(args: &CleanArgs, scenario: &Scenario, output: &Output) -> Result<Exit, CleanError> {
    let prepared = folders::prepare(scenario)?;
    let mut real = RealWorld::new(&Options {
        backend: scenario.backend,
        roots: prepared.roots.clone(),
        ..Options::default()
    })?;
    let plan = plan::plan(scenario, Consent::default(), std::time::UNIX_EPOCH);
    let mut look = || {
        let (world, plan) = (real.world.clone(), plan.clone());
        let found = real.executor.block_on(async move { places::leftovers(&world, &plan).await });
        found.map(|found| found.into_iter().map(Listed::at).collect::<Vec<_>>())
    };
    let listed = look()?;
    let found: Vec<PathBuf> = listed.iter().map(|one| one.path.clone()).collect();
    if found.is_empty() {
        output.talk("nothing to remove");
        return Ok(Exit::Passed);
    }
    output.talk(&in_words(&found));
    if !args.yes && !is_confirmed(output)? {
        return Err(CleanError::Unconfirmed);
    }
    if let Some(path) = changed(&listed, &look()?) {
        return Err(CleanError::Changed(path));
    }
    let world = real.world.clone();
    real.executor.block_on(async move { places::remove_all(&world, &found).await })?;
    output.talk("removed");
    Ok(Exit::Passed)
}

/// Removes the servers that the run in `folder` had started.
fn servers(args: &CleanArgs, folder: &Path, output: &Output) -> Result<Exit, CleanError> {
    let Some(servers) = left_servers(folder)? else {
        output.talk("nothing to remove");
        return Ok(Exit::Passed);
    };
    let remark = "the servers of that run, with all mail: it cannot be audited again";
    output.talk(&format!("{}   {}\n\n{remark}", servers.display(), room_below(&servers)));
    remove_folders(args, &[servers], output)
}

/// Removes servers whose run has no folder any more.
fn those_without_run(args: &CleanArgs, output: &Output) -> Result<Exit, CleanError> {
    let orphans = orphans();
    if orphans.is_empty() {
        output.talk("nothing to remove");
        return Ok(Exit::Passed);
    }
    let line = |orphan: &Orphan| {
        let (servers, run) = (orphan.servers.display(), orphan.run.display());
        format!("{servers}   {}   of {run}, which is gone", room_below(&orphan.servers))
    };
    output.talk(&orphans.iter().map(line).collect::<Vec<_>>().join("\n"));
    let servers: Vec<PathBuf> = orphans.into_iter().map(|orphan| orphan.servers).collect();
    remove_folders(args, &servers, output)
}

fn remove_folders(
    args: &CleanArgs,
    folders: &[PathBuf],
    output: &Output,
) -> Result<Exit, CleanError> {
    if !args.yes && !is_confirmed(output)? {
        return Err(CleanError::Unconfirmed);
    }
    for folder in folders {
        fs::remove_dir_all(folder)?;
    }
    output.talk("removed");
    Ok(Exit::Passed)
}

fn room_below(folder: &Path) -> ByteSize {
    let mut left = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(status) if status.is_dir() => left.push(entry.path()),
                // A file system for a power cut is mostly holes.
                Ok(status) => bytes += 512 * status.blocks(),
                Err(_) => {}
            }
        }
    }
    ByteSize::bytes(bytes)
}

/// A file that is to be removed, and which one it is: device, inode and last change of what has its
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    path: PathBuf,
    file: Option<[u64; 4]>,
}

impl Listed {
    fn at(path: PathBuf) -> Self {
        let status = fs::symlink_metadata(&path).ok();
        // A new file may have the number of one that was removed.
        let file = status.map(|status| {
            [
                status.dev(),
                status.ino(),
                status.ctime().cast_unsigned(),
                status.ctime_nsec().cast_unsigned(),
            ]
        });
        Self { path, file }
    }
}

/// The first file that is not the one that was listed, or that was not listed at all.
fn changed(listed: &[Listed], now: &[Listed]) -> Option<PathBuf> {
    let known = now.iter().find(|one| !listed.contains(one));
    let gone = || listed.iter().find(|one| !now.contains(one));
    known.or_else(gone).map(|one| one.path.clone())
}

/// The files by folder, with the room they take.
fn in_words(files: &[PathBuf]) -> String {
    /// More files of a folder are only counted.
    const NAMED_MAX: usize = 8;
    let mut lines = Vec::new();
    for together in files.chunk_by(|one, other| one.parent() == other.parent()) {
        let named = match together.len() > NAMED_MAX {
            true => &together[..NAMED_MAX - 1],
            false => together,
        };
        for file in named {
            lines.push(format!("{}   {}", file.display(), room(std::slice::from_ref(file))));
        }
        let rest = &together[named.len()..];
        if let Some(folder) = rest.first().and_then(|file| file.parent()) {
            let number = rest.len();
            lines.push(format!("{}/   {number} more   {}", folder.display(), room(rest)));
        }
    }
    let number = files.len();
    let noun = if number == 1 { "file" } else { "files" };
    format!("{}\n\n{number} {noun}, {}", lines.join("\n"), room(files))
}

fn room(files: &[PathBuf]) -> ByteSize {
    let sizes = files.iter().filter_map(|file| fs::symlink_metadata(file).ok());
    ByteSize::bytes(sizes.map(|status| status.len()).sum())
}

fn is_confirmed(output: &Output) -> io::Result<bool> {
    let answer = output.ask("Remove them? [y/N]")?;
    Ok(answer.is_some_and(|answer| matches!(answer.as_str(), "y" | "Y" | "yes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_took_the_place_of_another_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, other] = ["one", "two", "other"].map(|name| folder.path().join(name));
        for path in [&one, &two, &other] {
            fs::write(path, "").unwrap();
        }
        let look = || [&one, &two].map(|path| Listed::at(path.clone()));
        let listed = look();
        assert_eq!(changed(&listed, &look()), None);
        fs::rename(&other, &two).unwrap();
        assert_eq!(changed(&listed, &look()), Some(two.clone()));
        fs::remove_file(&two).unwrap();
        std::os::unix::fs::symlink(&one, &two).unwrap();
        assert_eq!(changed(&listed, &look()), Some(two.clone()));
        assert_eq!(changed(&listed, &listed[..1]), Some(two));
    }
}
