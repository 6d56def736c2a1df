//! After the test: is everything on storage that must be there, and nothing else?
//!
//! Two passes, both after a clean shutdown, so that they see what is on storage and not what is in memory:
//!
//! 1. **Records.** The server is opened again with an empty cache. Every record that must live is read under its id and
//!    compared byte by byte; then the records of each table are counted, so that none is there in vain. In large databases
//!    a sample is read, and reading ends when its time is up (ids are drawn evenly, so those up to any id are a sample as
//!    well); then the count is left out, and the share is reported.
//! 2. **Files.** The server is closed once more, and every page of every database and every segment of every log is read
//!    and judged.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_ese::verify::{FileReport, verify};
use brunt_report::result::VerifiedFile;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::keys::{Extent, Population, Record};
use brunt_world::World;

use crate::counting::CountingDisk;
use crate::found::Found;
use crate::plan::Plan;
use crate::progress::{Listener, News, Stop};
use crate::records::{Contents, IdOrder};
use crate::rules::{FilesVerified, RecordsVerified};
use crate::server::Server;
use crate::survey;

/// Databases with at most so many records are compared whole.
const WHOLE_MAX: u64 = 1_000_000;
/// Of larger ones, about so many are compared, evenly spread over the order of their insertion.
const SAMPLE: u64 = 100_000;
/// Readers at once.
const READERS: usize = 32;
/// Records that a reader takes at a time: neighbours in the tree.
const TAKEN_AT_ONCE: usize = 32;
/// Files judged at once.
const FILES_AT_ONCE: usize = 4;

/// What was found in files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    /// Each file.
    pub files: Vec<VerifiedFile>,
    /// All databases together.
    pub databases: FilesVerified,
    /// All logs together.
    pub logs: FilesVerified,
    /// What is wrong, in words.
    pub found: Found,
}

/// Reads the live records of all databases and compares them, until `until` at most.
///
/// # Errors
/// When the engine cannot read on. A page that is bad is not such an error: its records are lost.
pub async fn records(
    world: &World,
    server: &Rc<Server>,
    extents: &[Extent],
    until: Time,
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<RecordsVerified, EngineError> {
    let mut found = RecordsVerified::default();
    let expected = |extent: &Extent| extent.next - extent.low - extent.gone.len() as u64;
    let total: u64 = extents
        .iter()
        .map(|e| expected(e).min(checked(expected(e))))
        .sum();
    for (index, extent) in extents.iter().enumerate() {
        let expected = expected(extent);
        let before = found.checked;
        compare(world, server, index, extent, &mut found, |checked| {
            let done = before + checked;
            listener.tell(world.clock.now(), &News::VerifyingRecords { done, total });
            !stop.is_asked() && world.clock.now() < until
        })
        .await?;
        found.expected += expected;
        if found.checked - before == expected && !stop.is_asked() {
            let there = survey::count(world, server, index).await?;
            let missing = found.lost;
            found.surplus += (there + missing).saturating_sub(expected);
        }
    }
    Ok(found)
}

fn checked(expected: u64) -> u64 {
    if expected <= WHOLE_MAX {
        expected
    } else {
        SAMPLE
    }
}

/// Records that readers take from.
type Queue = RefCell<Box<dyn Iterator<Item = Record>>>;

async fn compare(
    world: &World,
    server: &Rc<Server>,
    index: usize,
    extent: &Extent,
    found: &mut RecordsVerified,
    mut tell: impl FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let contents = *server.tables()[index].contents();
    let queue: Rc<Queue> = Rc::new(RefCell::new(in_order(&contents, extent)));
    let sum = Rc::new(RefCell::new(RecordsVerified::default()));
    let going = Rc::new(std::cell::Cell::new(true));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let reader = read(
                Rc::clone(server),
                index,
                Rc::clone(&queue),
                Rc::clone(&sum),
                Rc::clone(&going),
            );
            world.spawner.spawn(reader)
        })
        .collect();
    while readers.iter().any(|reader| !reader.is_done()) {
        world.sleep(Span::millis(50)).await;
        going.set(tell(sum.borrow().checked));
    }
    for reader in readers {
        reader.await?;
    }
    let sum = sum.borrow();
    found.checked += sum.checked;
    found.lost += sum.lost;
    found.wrong += sum.wrong;
    Ok(())
}

/// The records to compare, in the order of their ids.
fn in_order(contents: &Contents, extent: &Extent) -> Box<dyn Iterator<Item = Record>> {
    let expected = extent.next - extent.low - extent.gone.len() as u64;
    let gone: Rc<[u64]> = extent.gone.clone().into();
    let live = (extent.low..extent.next).filter(move |number| gone.binary_search(number).is_err());
    let step = expected.div_ceil(checked(expected).max(1)).max(1);
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let count = expected.div_ceil(step as u64);
    Box::new(IdOrder::new(contents.mixer(), live.step_by(step), count))
}

async fn read(
    server: Rc<Server>,
    index: usize,
    queue: Rc<Queue>,
    sum: Rc<RefCell<RecordsVerified>>,
    going: Rc<std::cell::Cell<bool>>,
) -> Result<(), EngineError> {
    let table = &server.tables()[index];
    let instance = server.instance_of(table);
    while going.get() {
        let taken: Vec<Record> = queue.borrow_mut().by_ref().take(TAKEN_AT_ONCE).collect();
        if taken.is_empty() {
            return Ok(());
        }
        for record in taken {
            let id = Contents::id(record);
            let message = instance.read_message(table.messages(), id, true).await;
            let (lost, wrong) = match message {
                Ok(Some(message)) => (0, u64::from(table.compare(record, &message).is_err())),
                Ok(None) | Err(EngineError::Page { .. }) => (1, 0),
                Err(EngineError::Damaged { .. }) => (0, 1),
                Err(error) => return Err(error),
            };
            {
                let mut sum = sum.borrow_mut();
                sum.checked += 1;
                sum.lost += lost;
                sum.wrong += wrong;
            }
            server.rest().await;
        }
    }
    Ok(())
}

/// Judges every database and every log of the plan.
pub async fn files(
    world: &World,
    plan: &Plan,
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
            let judge = judge(world.clone(), number, path);
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

/// A file by its place in the list, and what was found in it; `None` in a file that cannot be judged at all.
type Judged = (usize, PathBuf, Result<FileReport, String>);

async fn judge(world: World, number: usize, path: PathBuf) -> Judged {
    let report = verify(&world, &path).await;
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

/// The counts of `report` as a run's result has them.
pub fn verified_file(report: &FileReport) -> VerifiedFile {
    VerifiedFile {
        file: report.file.display().to_string(),
        pages_seen: report.pages_seen,
        pages_bad: report.pages_bad,
        pages_correctable: report.pages_correctable,
        pages_wrong_number: report.pages_wrong_number,
        bytes: report.bytes,
        seconds: report.elapsed.as_seconds(),
    }
}

fn unreadable_file(path: &Path) -> VerifiedFile {
    VerifiedFile {
        file: path.display().to_string(),
        pages_seen: 0,
        pages_bad: 1,
        pages_correctable: 0,
        pages_wrong_number: 0,
        bytes: 0,
        seconds: 0.0,
    }
}

/// A log file that is being formatted ahead: there is nothing in it yet. A clean shutdown removes it.
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
    // It was only asked for its length.
    let _ = world.volume.close(file).await;
    length
}

/// The extents of populations at rest.
pub fn extents(populations: &[Population]) -> Vec<Extent> {
    populations.iter().map(Population::extent).collect()
}
