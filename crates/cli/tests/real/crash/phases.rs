//! Kills that are aimed at each phase of a test by what can be seen from outside: a file that
//! appears or goes, a line of the journal. Every kill has a folder of its own, a copy of one in
//! which databases have been made.
//!
//! ```text
//!    brunt run ... --- seen: one.edb-restoring ---> SIGKILL ---> brunt run reads everything ---> every record compared
//! ```
//!
//! The next start goes through the program's front door, because finishing a restore and removing
//! what creations and restores have left is its business. It must not make a database anew that was
//! there: signatures tell.
//!
//! A phase may be over before its kill arrives. Then the kill hits the next one, and everything
//! must be right all the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brunt_world::random::{Stream, Streams};
use brunt_world_real::{Options, RealWorld};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::brunt;
use super::journal::{State, Tally, commits, compare};
use super::look::{SCENARIO, look};

/// Kills of each phase, in the short form and in the long one.
const KILLS: (u64, u64) = (3, 30);
/// How often is looked whether what is waited for has come.
const LOOK: Duration = Duration::from_micros(100);
/// Commits before a kill, at most.
const LINES_MAX: u64 = 600;

/// New databases are shorter, and longer when they have grown.
const GROWN: u64 = 7 << 20;

const DATABASES: [&str; 2] = ["data/one.edb", "data/two.edb"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Creation,
    Work,
    Extension,
    Backup,
    Restore,
    CleanUp,
    Recovery,
}

/// A program at work, and the journal that it tells.
struct Running {
    child: Child,
    lines: Arc<AtomicU64>,
    told: JoinHandle<String>,
}

impl Running {
    fn start(folder: &Path, scenario: &str, seed: u64) -> Self {
        Self::begin(brunt(folder, scenario, &["--seed", &seed.to_string()]))
    }

    fn begin(mut command: Command) -> Self {
        let mut child =
            command.env("BRUNT_WITNESS", "/dev/stdout").stdout(Stdio::piped()).spawn().unwrap();
        let pipe = BufReader::new(child.stdout.take().unwrap());
        let lines = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lines);
        let told = thread::spawn(move || {
            let mut told = String::new();
            for line in pipe.lines() {
                told += &line.unwrap();
                told.push('\n');
                count.fetch_add(1, Ordering::Relaxed);
            }
            told
        });
        Self { child, lines, told }
    }

    /// Waits until it is so, or the program has ended.
    fn until(&mut self, is_so: impl Fn(u64) -> bool) {
        while !is_so(self.lines.load(Ordering::Relaxed)) && self.child.try_wait().unwrap().is_none()
        {
            thread::sleep(LOOK);
        }
    }

    fn interrupt(&self) {
        let pid = Pid::from_child(&self.child);
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::INT);
    }

    /// What it has told.
    fn kill(mut self) -> String {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        let told = self.told.join().unwrap();
        // What it says at its end is no journal.
        let journal = told.lines().filter(|line| line.starts_with(['?', '!']));
        journal.map(|line| format!("{line}\n")).collect()
    }
}

impl Phase {
    const ALL: [Self; 7] = [
        Self::Creation,
        Self::Work,
        Self::Extension,
        Self::Backup,
        Self::Restore,
        Self::CleanUp,
        Self::Recovery,
    ];

    /// Lets the program come to the phase, and kills it there. What it has told of commits.
    fn kill(self, folder: &Path, draw: &mut Stream) -> String {
        let seed = draw.below(1 << 40);
        let lines = 1 + draw.below(LINES_MAX);
        let there = |name: &str| folder.join(name).exists();
        let one_of = |names: &[&'static str], draw: &mut Stream| {
            names[usize::try_from(draw.below(names.len() as u64)).unwrap()]
        };
        let killed = |scenario: &str, until: &dyn Fn(u64) -> bool| {
            let mut running = Running::start(folder, scenario, seed);
            running.until(until);
            running.kill()
        };
        match self {
            Self::Creation => {
                let name = one_of(&["data/one.edb", "data/two.edb", "data/log2/brunt.lock"], draw);
                killed("crash.toml", &|_| there(name))
            }
            Self::Work => killed("crash.toml", &|told| told >= lines),
            Self::Extension => {
                // Databases grow for the first time soon after they were made.
                let has_grown = |name| {
                    let file = fs::metadata(folder.join(name));
                    file.is_ok_and(|file| file.len() > GROWN)
                };
                killed("crash.toml", &|_| DATABASES.into_iter().any(has_grown))
            }
            Self::Backup => {
                let name = one_of(
                    &[
                        "data/backup/brunt-backup-1-DB1.edb-making",
                        "data/backup/brunt-backup-2-DB2.edb",
                        "data/backup/brunt-backup-2-edb.chk",
                    ],
                    draw,
                );
                killed("backup.toml", &|_| there(name))
            }
            Self::Restore => {
                let name = one_of(
                    &[
                        "data/one.edb-restoring",
                        "data/log1/edb.chk-restoring",
                        "data/two.edb-restoring",
                        "data/log1/brunt-restore.journal",
                        "data/log2/brunt-restore.journal",
                    ],
                    draw,
                );
                killed("backup.toml", &|_| there(name))
            }
            Self::CleanUp => {
                let mut running = Running::start(folder, "crash.toml", seed);
                running.until(|told| told >= lines);
                running.interrupt();
                // The file that is formatted ahead goes when the log is closed; headers come after
                // that.
                let name = one_of(&["data/log1/edbtmp.log", "data/log2/edbtmp.log"], draw);
                let at_once = draw.percent(30);
                running.until(|_| at_once || !there(name));
                running.kill()
            }
            Self::Recovery => {
                let told = killed("crash.toml", &|told| told >= lines);
                let changed = |name| {
                    let file = fs::metadata(folder.join(name)).unwrap();
                    (file.ino(), file.mtime(), file.mtime_nsec())
                };
                // Pages that redo writes, the log that goes on, or the lock: the moment it begins.
                let name = one_of(&["data/one.edb", "data/two.edb", "data/log1/brunt.lock"], draw);
                let before = there(name).then(|| changed(name));
                // It waits when it has recovered, and commits nothing.
                let later = ["--start-at", "2999-01-01T00:00:00Z"];
                let mut running = Running::begin(brunt(folder, "crash.toml", &later));
                running.until(|_| there(name) && Some(changed(name)) != before);
                running.kill();
                told
            }
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The signatures of the databases.
fn signatures(folder: &Path) -> Vec<Vec<u8>> {
    let read = |name| fs::read(folder.join(name)).unwrap()[24..52].to_vec();
    DATABASES.map(read).to_vec()
}

/// Starts the program, which must come to its end; what the databases hold then.
fn start(real: &mut RealWorld, folder: &Path) -> Result<State, String> {
    let mut command = brunt(folder, "reading.toml", &[]);
    let ended = command.stderr(Stdio::piped()).output().unwrap();
    match ended.status.code() {
        Some(0 | 1) => look(real, folder),
        _ => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

fn write_scenarios(folder: &Path) {
    let backup = |to: &str| {
        let kind = format!("kind = \"database-backup\"\n{to}");
        SCENARIO.replace("duration = \"10min\"", &kind)
    };
    let copying = backup("copy_to = \"backup\"");
    for (name, text) in [
        ("crash.toml", &SCENARIO.replace("10min", "60s")),
        ("backup.toml", &copying),
        ("reading.toml", &backup("")),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_kill_in_any_phase_costs_nothing() {
    let kills = match std::env::var_os("BRUNT_LONG") {
        Some(_) => KILLS.1,
        None => KILLS.0,
    };
    let seed = std::env::var("BRUNT_SEED").map_or(1, |text| text.parse().unwrap());
    // Not below /tmp, which may be a file system in memory.
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut real = RealWorld::new(&Options::default()).unwrap();
    let made = home.path().join("made");
    fs::create_dir(&made).unwrap();
    write_scenarios(&made);
    let fresh = start(&mut real, &made).unwrap();
    for phase in Phase::ALL {
        let mut tally = Tally::default();
        for kill in 0..kills {
            let mut draw = Streams::new(seed).named(&format!("{phase:?}/{kill}"));
            let folder: PathBuf = home.path().join("killed");
            match phase {
                Phase::Creation | Phase::Extension => {
                    fs::create_dir(&folder).unwrap();
                    write_scenarios(&folder);
                }
                _ => copy_folder(&made, &folder),
            }
            let told = phase.kill(&folder, &mut draw);
            let what = start(&mut real, &folder)
                .and_then(|after| compare(&fresh, &after, &commits(&told)));
            match what {
                Ok(found) => tally.add(found),
                Err(what) => panic!("{phase:?}, kill {kill} with BRUNT_SEED={seed}: {what}"),
            }
            if !matches!(phase, Phase::Creation | Phase::Extension) {
                assert_eq!(signatures(&folder), signatures(&made), "{phase:?}, kill {kill}");
            }
            fs::remove_dir_all(&folder).unwrap();
        }
        println!("{phase:?}: {kills} kills: {tally}");
    }
}
