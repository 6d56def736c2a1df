//! After the test: is every page of every database and every segment of every log intact?
//!
//! The server is closed, so this sees the storage and not memory. Whether intact pages hold the
//! right records is checked in [`crate::truth::integrity`].

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::verify::{FileReport, verify};
use brunt_report::result::VerifiedFile;
use brunt_run::{Listener, News, Stop};
use brunt_units::{ByteSize, PageNumber, Span};
use brunt_workload::keys::{Extent, Population};
use brunt_world::World;

use crate::plan::Plan;
use crate::rules::FilesVerified;
use crate::truth::counting::CountingDisk;
use crate::truth::found::Found;

/// Files verified concurrently.
const FILES_AT_ONCE: usize = 4;

/// The results of all files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    pub files: Vec<VerifiedFile>,
    /// All databases combined.
    pub databases: FilesVerified,
    /// All logs combined.
    pub logs: FilesVerified,
    /// The faults, in words.
    pub found: Found,
    /// Whether files were only read, and not judged, because they have no content.
    pub read_only: bool,
}

impl Files {
    /// Adds the results of other databases and logs.
    pub(crate) fn absorb(&mut self, other: Self) {
        // Databases stand before logs.
        let (at, count) = (self.databases.files, other.databases.files);
        let [at, count] = [at, count].map(|files| usize::try_from(files).expect("files in a list"));
        let mut files = other.files;
        let logs = files.split_off(count.min(files.len()));
        self.files.splice(at..at, files);
        self.files.extend(logs);
        self.databases.add(&other.databases);
        self.logs.add(&other.logs);
        self.found.absorb(&other.found);
        self.read_only |= other.read_only;
    }
}

/// Pages whose writes failed, by database: what they hold on disk is unknown.
pub type Unwritten = Vec<(PathBuf, Vec<PageNumber>)>;

/// Verifies every database and every log of the plan, except pages in `unwritten`; `None` when
/// stopped.
pub async fn files(
    world: &World,
    plan: &Plan,
    unwritten: &Unwritten,
    listener: &dyn Listener,
    stop: &Stop,
) -> Option<Files> {
    let databases: Vec<PathBuf> = plan.databases().map(|d| d.path.clone()).collect();
    let logs = log_files(world, plan).await;
    let counting = Rc::new(CountingDisk::over(world));
    let world = counting.world(world);
    let mut total = 0;
    for path in databases.iter().chain(&logs) {
        total += length(&world, path).await;
    }
    let total = ByteSize::bytes(total);
    let mut waiting = (0..).zip(databases.iter().chain(&logs).cloned());
    let mut judging = Vec::new();
    let mut found = Vec::new();
    loop {
        while judging.len() < FILES_AT_ONCE && !stop.is_asked() {
            let Some((number, path)) = waiting.next() else {
                break;
            };
            let left_out = unwritten.iter().filter(|(database, _)| *database == path);
            let left_out = left_out.flat_map(|(_, pages)| pages).copied().collect();
            let judge = judge(world.clone(), number, path, left_out);
            judging.push(world.spawner.spawn(judge));
        }
        if judging.is_empty() {
            break;
        }
        world.sleep(Span::millis(20)).await;
        let done = ByteSize::bytes(counting.bytes()).min(total);
        listener.tell(world.clock.now(), &News::VerifyingFiles { done, total });
        let (ended, going): (Vec<_>, Vec<_>) = judging.into_iter().partition(|task| task.is_done());
        judging = going;
        for task in ended {
            found.push(task.await);
        }
    }
    if stop.is_asked() {
        return None;
    }
    found.sort_by_key(|(number, _, _)| *number);
    Some(sum_up(&found, databases.len()))
}

/// A file, its place in the list, and its report; an error when it cannot be judged at all.
type Judged = (usize, PathBuf, Result<FileReport, String>);

async fn judge(world: World, number: usize, path: PathBuf, left_out: Vec<PageNumber>) -> Judged {
    let mut report = verify(&world, &path).await;
    if let Ok(report) = &mut report {
        report.leave_out(&left_out);
    }
    (number, path, report.map_err(|error| error.to_string()))
}

fn sum_up(found: &[Judged], databases: usize) -> Files {
    let mut all = Files::default();
    for (number, path, report) in found {
        let sum = match *number < databases {
            true => &mut all.databases,
            false => &mut all.logs,
        };
        sum.files += 1;
        let file = match report {
            Ok(report) => {
                sum.seen += report.pages_seen;
                sum.bad += report.pages_bad;
                sum.correctable += report.pages_correctable;
                all.found.note_file(report);
                verified_file(report)
            }
            Err(error) => {
                sum.bad += 1;
                all.found.note_unreadable(path, error);
                unreadable_file(path)
            }
        };
        all.files.push(file);
    }
    all
}

/// The counts of `report` in the form of a run's result.
pub fn verified_file(report: &FileReport) -> VerifiedFile {
    VerifiedFile {
        file: report.file.display().to_string(),
        pages_seen: Some(report.pages_seen),
        pages_bad: Some(report.pages_bad),
        pages_correctable: Some(report.pages_correctable),
        pages_wrong_number: Some(report.pages_wrong_number),
        bytes: report.bytes,
        bytes_read: Some(report.bytes),
        seconds: report.elapsed.as_seconds(),
    }
}

fn unreadable_file(path: &Path) -> VerifiedFile {
    VerifiedFile {
        file: path.display().to_string(),
        pages_seen: Some(0),
        pages_bad: Some(1),
        pages_correctable: Some(0),
        pages_wrong_number: Some(0),
        bytes: 0,
        bytes_read: Some(0),
        seconds: 0.0,
    }
}

/// A log file that is being formatted ahead of use; it is still empty. A clean shutdown removes it.
const FORMATTED_AHEAD: &str = "edbtmp.log";

/// The log files of all instances.
async fn log_files(world: &World, plan: &Plan) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    for instance in &plan.instances {
        let names = world.volume.list(&instance.log).await.unwrap_or_default();
        let names = names.iter();
        let own = names.filter(|name| name.starts_with("edb") && name.ends_with(".log"));
        let own = own.filter(|name| *name != FORMATTED_AHEAD);
        logs.extend(own.map(|name| instance.log.join(name)));
    }
    logs
}

async fn length(world: &World, path: &Path) -> u64 {
    let Ok(file) = world.volume.open(path, brunt_world::OpenMode::Read).await else {
        return 0;
    };
    let length = world.volume.length(file).await.unwrap_or(0);
    // It was only opened for its length.
    let _ = world.volume.close(file).await;
    length
}

/// The extents of populations at rest.
pub fn extents(populations: &[Population]) -> Vec<Extent> {
    populations.iter().map(Population::extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_stand_beside_their_like() {
        let of = |database: &str, log: &str| {
            let sum = FilesVerified { seen: 10, files: 1, ..FilesVerified::default() };
            Files {
                files: [database, log].map(|at| unreadable_file(Path::new(at))).into(),
                databases: sum,
                logs: sum,
                ..Files::default()
            }
        };
        let mut all = of("1.edb", "1.log");
        all.absorb(of("2.edb", "2.log"));
        let names: Vec<&str> = all.files.iter().map(|file| file.file.as_str()).collect();
        assert_eq!(names, ["1.edb", "2.edb", "1.log", "2.log"]);
        assert_eq!((all.databases.seen, all.logs.files), (20, 2));
    }
}
