//! One fault at one place: the engine works on faulty storage, then the files are checked.
//!
//! ```text
//!   prepared files (three levels of pages, closed)
//!     | work: every record replaced, as many inserted, hard commits; ends with a close, or with a crash if the fault is in the log
//!     | verify: every file, as `brunt verify` does          (not after a crash: recovery comes first)
//!     v look: opened, every record read and compared with the oracle
//! ```
//!
//! Faults are active from the opening on. The log and the checkpoint are read only by recovery, so
//! faults there stay active while the files are checked; otherwise the storage is then healthy.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_ese::format::flush_map::{MAP_PAGE_BYTES, map_page_offset, path_beside};
use brunt_ese::instance::InstanceOptions;
use brunt_ese::log::Durability;
use brunt_ese::verify::verify;
use brunt_testkit::records::{
    FRAMES, RECORDS, content, key, no_versions, prepared, work, world_of,
};
use brunt_testkit::tiny::{SIZE, TABLE, database_path, open, options};
use brunt_units::{PageNumber, Span};
use brunt_world::World;
use brunt_world::fault::{Fault, FaultKind, faulty};
use brunt_world_virtual::Store;
use brunt_world_virtual::crash::{CrashImages, Sample};

use super::backup::try_copy;

/// Work takes a few seconds; longer than this is a hang.
const PATIENCE: Span = Span::seconds(600);

/// The place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Leaf,
    Branch,
    Root,
    Header,
    FlushMap,
    LogSegment,
    Checkpoint,
    Copy,
}

impl Place {
    pub(crate) const ALL: [(Self, &str); 8] = [
        (Self::Leaf, "data page"),
        (Self::Branch, "branch page"),
        (Self::Root, "root"),
        (Self::Header, "header"),
        (Self::FlushMap, "flush map"),
        (Self::LogSegment, "log segment"),
        (Self::Checkpoint, "checkpoint"),
        (Self::Copy, "backup copy"),
    ];

    /// Whether only recovery reads it.
    fn is_of_the_log(self) -> bool {
        matches!(self, Self::LogSegment | Self::Checkpoint)
    }
}

/// A database that was worked on and then closed.
pub(crate) struct Prepared {
    pub(crate) store: Store,
    leaf: PageNumber,
    branch: PageNumber,
}

pub(crate) fn instance_options() -> InstanceOptions {
    InstanceOptions { durability: Durability::WriteThenSync, ..options(1, 4096) }
}

impl Prepared {
    pub(crate) fn new() -> Self {
        let (store, [leaf, branch]) = prepared(instance_options());
        Self { store, leaf, branch }
    }

    /// The data page's byte range in its file.
    pub(crate) fn leaf_bytes(&self) -> Range<u64> {
        let start = self.leaf.offset(SIZE);
        start..start + SIZE.bytes_u64()
    }

    fn fault(&self, kind: FaultKind, place: Place) -> Fault {
        let page = |number: PageNumber| {
            let start = number.offset(SIZE);
            (database_path(0), start..start + SIZE.bytes_u64())
        };
        let (file, bytes): (PathBuf, _) = match place {
            Place::Leaf | Place::Copy => page(self.leaf),
            Place::Branch => page(self.branch),
            Place::Root => page(TABLE.root),
            Place::Header => (database_path(0), 0..SIZE.bytes_u64()),
            Place::FlushMap => {
                let start = map_page_offset(0);
                (path_beside(&database_path(0)), start..start + MAP_PAGE_BYTES as u64)
            }
            Place::LogSegment => ("edb.log".into(), 5 * 4096..6 * 4096),
            Place::Checkpoint => ("edb.chk".into(), 0..4096),
        };
        Fault::new(kind, file, bytes)
    }
}

/// What detected the fault, and where. Empty if nothing did.
pub(crate) struct Outcome {
    pub(crate) noticed: Option<String>,
    /// Records that differ from what was committed; zero when they could not be read.
    pub(crate) wrong: usize,
    pub(crate) struck: u64,
}

impl Outcome {
    /// The fault struck this many times and was not detected.
    pub(crate) fn struck(struck: u64) -> Self {
        Self { noticed: None, wrong: 0, struck }
    }
}

/// Applies fault `kind` at `place`.
pub(crate) fn try_fault(prepared: &Prepared, kind: FaultKind, place: Place) -> Outcome {
    let fault = prepared.fault(kind, place);
    let tried = catch_unwind(AssertUnwindSafe(|| match place {
        Place::Copy => try_copy(prepared, kind),
        _ => run(prepared, &fault, place),
    }));
    tried.unwrap_or_else(|_| panic!("{kind:?} at {place:?} made the engine panic"))
}

fn run(prepared: &Prepared, fault: &Fault, place: Place) -> Outcome {
    let is_read_late = place.is_of_the_log();
    let pause = match place {
        Place::Checkpoint => Span::millis(5),
        _ => Span::ZERO,
    };
    let mut outcome = Outcome::struck(0);
    let versions = no_versions();
    let mut made = world_of(&prepared.store);
    made.machine.start_recording();
    let (world, struck) = faulty(&made.world, vec![fault.clone()]);
    let honest = made.world.clone();
    let kept = Rc::clone(&versions);
    let ended = made.executor.block_on(patiently(honest, async move {
        let (instance, _) = open(&world, FRAMES, instance_options()).await?;
        work(&world, pause, &instance, &kept).await?;
        if !is_read_late {
            instance.close().await?;
        }
        Ok(())
    }));
    outcome.struck = struck.counts()[0];
    match ended {
        None => return noticed(outcome, "work hangs (rule: hung I/O)".to_owned()),
        Some(Err(error)) => return noticed(outcome, format!("at work: {}", code(&error))),
        Some(Ok(())) => {}
    }
    let store = match fault.kind {
        // A power failure loses what the sync did not make durable.
        FaultKind::DroppedSync => {
            let journal = made.machine.stop_recording().expect("it was started");
            let mut images = CrashImages::new(&journal);
            let end = *images.cuts().last().expect("there is an end");
            images.image(end, Sample::Nothing)
        }
        // The engine did not read the page while it worked, so the stale page is read at the next
        // open.
        FaultKind::Stale if outcome.struck == 0 => {
            let mut store = made.machine.store();
            for (path, former) in struck.former(0) {
                let file = store.find(&path).expect("it has a name");
                store.write(file, fault.bytes.start, &former);
                outcome.struck += 1;
            }
            store
        }
        _ => made.machine.store(),
    };
    drop(made);
    let versions = versions.borrow().clone();
    look(&store, fault, place, &versions, outcome)
}

pub(crate) fn noticed(outcome: Outcome, what: String) -> Outcome {
    Outcome { noticed: Some(what), ..outcome }
}

/// Runs `work`; `None` when it does not end.
pub(crate) async fn patiently<T: 'static>(
    world: World,
    work: impl Future<Output = Result<T, EngineError>> + 'static,
) -> Option<Result<T, EngineError>> {
    let ended = Rc::new(Cell::new(None));
    let telling = Rc::clone(&ended);
    drop(world.spawner.spawn(async move {
        telling.set(Some(work.await));
    }));
    let end = world.clock.now() + PATIENCE;
    while world.clock.now() < end {
        if let Some(result) = ended.take() {
            return Some(result);
        }
        world.sleep(Span::millis(100)).await;
    }
    None
}

/// Checks the files and reads the records.
fn look(
    store: &Store,
    fault: &Fault,
    place: Place,
    versions: &BTreeMap<u32, u8>,
    mut outcome: Outcome,
) -> Outcome {
    let mut made = world_of(store);
    let plan = match place.is_of_the_log() {
        true => vec![fault.clone()],
        false => Vec::new(),
    };
    let (world, struck) = faulty(&made.world, plan);
    let is_closed = !place.is_of_the_log() && fault.kind != FaultKind::DroppedSync;
    if is_closed {
        let files = [database_path(0), path_beside(&database_path(0))];
        for file in files {
            let world = world.clone();
            let judged = made.executor.block_on(async move { verify(&world, &file).await });
            let finding = match judged {
                Ok(report) => report.findings.first().map(|one| one.fault.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(finding) = finding {
                return noticed(outcome, format!("by verify: {finding}"));
            }
        }
    }
    let found = made.executor.block_on(patiently_read(world));
    outcome.struck += struck.counts().iter().sum::<u64>();
    let when = if is_closed { "when read again" } else { "at recovery" };
    judge(found, versions, outcome, when)
}

/// Recovers the files on healthy storage and reads the records.
pub(crate) fn compare(
    store: &Store,
    versions: &BTreeMap<u32, u8>,
    outcome: Outcome,
    when: &str,
) -> Outcome {
    let mut made = world_of(store);
    let world = made.world.clone();
    let found = made.executor.block_on(patiently_read(world));
    judge(found, versions, outcome, when)
}

/// The outcome of reading the records.
fn judge(
    found: Option<Result<Found, EngineError>>,
    versions: &BTreeMap<u32, u8>,
    mut outcome: Outcome,
    when: &str,
) -> Outcome {
    match found {
        None => noticed(outcome, "recovery hangs (rule: hung I/O)".to_owned()),
        Some(Err(error)) => noticed(outcome, format!("{when}: {}", code(&error))),
        Some(Ok(found)) => {
            let wrong = versions.iter().filter(|(number, version)| {
                found.get(&key(**number)) != Some(&content(**number, **version))
            });
            outcome.wrong = wrong.count();
            outcome
        }
    }
}

type Found = BTreeMap<Vec<u8>, Vec<u8>>;

async fn patiently_read(world: World) -> Option<Result<Found, EngineError>> {
    let found = Rc::new(RefCell::new(Found::new()));
    let kept = Rc::clone(&found);
    let clock = world.clone();
    let ended = patiently(clock, async move {
        let (instance, _) = open(&world, FRAMES, instance_options()).await?;
        // Reads by key from the root down: leaves are linked, so a scan would not notice a stale
        // branch.
        for number in 0..2 * RECORDS {
            let key = key(number);
            if let Some(data) = instance.read(0, TABLE, &key).await? {
                kept.borrow_mut().insert(key, data);
            }
        }
        instance.close().await
    });
    Some(ended.await?.map(|()| found.take()))
}

/// ESE's error number and its name.
pub(crate) fn code(error: &EngineError) -> String {
    match error {
        EngineError::Page { fault, .. } => format!("{fault} ({})", fault.code()),
        EngineError::LogFailed { .. } => "the log cannot be written (-510)".to_owned(),
        EngineError::LogCorrupt { what, .. } => format!("log damaged, {what} (-501)"),
        other => {
            let text = other.to_string();
            // The path is the same in all of them.
            text.rsplit_once(": ").map_or(text.clone(), |(_, what)| what.to_owned())
        }
    }
}
