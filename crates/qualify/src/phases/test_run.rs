//! The raw output of a test, before it is judged.
//!
//! A test that ends early keeps its measurements until then; [`Ending`] states how far it came.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::error::{EngineError, PageFault};
use brunt_ese::maintenance::Maintenance;
use brunt_ese::meter::MeterBoard;
use brunt_ese::patch::Patch;
use brunt_report::result::{ContentNumbers, Tuning};
use brunt_run::{Errors, Hung};
use brunt_stats::{Latencies, OperationLatencies};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::Kind;

pub use crate::copies::Followed;
use crate::goal::Target;
use crate::injection::Injected;
use crate::load::sessions::{Log, Sessions};
use crate::phase_io::PhaseMeters;
pub use crate::phases::carrying_on::Earlier;
use crate::plan::Plan;
use crate::rules::{Ending, RecordsVerified};
use crate::sampling::Collected;
use crate::server::{Server, Table};
use crate::truth::found::Found;
use crate::truth::verification::Files;

/// One database that was read for a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// Its number in the plan.
    pub database: usize,
    /// Bytes of its file.
    pub bytes: ByteSize,
    /// Duration of the read.
    pub took: Span,
}

/// The cost of restoring all databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Bytes copied, logs included.
    pub bytes: u64,
    /// Duration of copying.
    pub copied: Span,
    /// Duration including recovery.
    pub took: Span,
}

/// One instance that was recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its number in the plan.
    pub instance: usize,
    /// Log files replayed.
    pub logs: u32,
    /// Duration until its databases could be used.
    pub took: Span,
}

/// The complete output of a test, before it is judged.
pub struct TestRun {
    pub ending: Ending,
    /// When it began.
    pub started: Time,
    /// Sessions in the pool: those of the plan, or those found by tuning.
    pub sessions: u32,
    /// The rate to reach: that of the plan, or a share of the maximum that tuning found.
    pub target: Option<Target>,
    /// The trials of tuning, if there was any.
    pub tuning: Option<Tuning>,
    /// The collection; `None` when it never began.
    pub collected: Option<Collected>,
    /// When the collection ended.
    pub collection_ended: Option<Time>,
    /// Whether the collection ended early because its figures were known well enough.
    pub is_shortened: bool,
    /// The rule, in words, for which the collection ended early: it had failed, whatever followed.
    pub hopeless: Option<String>,
    /// Which log had not gone through the checkpoint depth when the collection began, in words.
    pub short_of: Option<String>,
    /// The interrupted run that this one carries on; its measurements are in the others.
    pub carried: Option<Rc<Earlier>>,
    /// The engine's counters.
    pub board: Rc<MeterBoard>,
    /// Sizes of all databases when sessions began.
    pub initial: Vec<ByteSize>,
    /// Sizes of all databases when they had ended.
    pub last: Vec<ByteSize>,
    /// Batches on each instance.
    pub batches: Vec<u64>,
    /// Committed operations, in the order of [`Kind::ALL`].
    pub operations: [u64; Kind::ALL.len()],
    /// Counts and findings of the sessions.
    pub log: Log,
    pub errors: Errors,
    /// Faults of the storage, from all sources.
    pub found: Found,
    /// The injected faults, and how often they struck.
    pub injected: Vec<Injected>,
    /// Databases read for a backup.
    pub backups: Vec<BackedUp>,
    /// The cost of restoring the databases.
    pub restored: Option<Restored>,
    /// I/O of the phases that the engine does not count, each once it has ended.
    pub phases: Vec<PhaseMeters>,
    /// Whether a test of recovery or restoring got to that part.
    pub attempted: bool,
    /// Recovered instances, in tests of recovery.
    pub recoveries: Vec<Recovered>,
    /// I/Os that hung.
    pub hung: Hung,
    /// How late the program's tasks ran during the collection.
    pub delays: Latencies,
    /// Results of verifying files.
    pub files: Option<Files>,
    /// What storage that reduces data sees of the databases.
    pub content: Vec<ContentNumbers>,
    /// Results of verifying records.
    pub records: Option<RecordsVerified>,
    /// The passive copies that followed it.
    pub copies: Vec<Followed>,
    /// When it ended.
    pub ended: Time,
}

impl TestRun {
    /// A test of `plan` that has begun, without any results.
    pub fn unfinished(plan: &Plan, started: Time) -> Self {
        let board = MeterBoard::new(plan.databases().count(), plan.instances.len());
        Self {
            ending: Ending::Stopped,
            started,
            sessions: plan.sessions,
            target: plan.target,
            tuning: None,
            collected: None,
            collection_ended: None,
            is_shortened: false,
            hopeless: None,
            short_of: None,
            carried: None,
            board: Rc::new(board),
            initial: Vec::new(),
            last: Vec::new(),
            batches: Vec::new(),
            operations: [0; Kind::ALL.len()],
            log: Log::default(),
            errors: Errors::default(),
            found: Found::default(),
            injected: Vec::new(),
            backups: Vec::new(),
            restored: None,
            phases: Vec::new(),
            attempted: false,
            recoveries: Vec::new(),
            hung: Hung::default(),
            delays: Latencies::new(),
            files: None,
            content: Vec::new(),
            records: None,
            copies: Vec::new(),
            ended: started,
        }
    }

    pub(crate) fn new<T: Table>(plan: &Plan, started: Time, server: &Server<T>) -> Self {
        let sizes = server.file_sizes();
        Self {
            ending: Ending::Complete,
            board: Rc::clone(server.board()),
            last: sizes.clone(),
            initial: sizes,
            ..Self::unfinished(plan, started)
        }
    }

    pub(crate) fn note_sessions<T: Table>(&mut self, sessions: &Sessions<Rc<Server<T>>>) {
        self.log = sessions.log();
        (self.batches, self.operations) = sessions.with_workload(|workload| {
            let counts = Kind::ALL.map(|kind| workload.count(kind));
            (workload.batches().to_vec(), counts)
        });
    }

    /// Whether the search for sessions contradicts itself.
    pub(crate) fn is_undecided(&self) -> bool {
        self.tuning.as_ref().is_some_and(|t| t.is_contradictory)
    }

    /// Whether the collection ran for its full length, or for as long as was needed.
    pub(crate) fn is_collected(&self, plan: &Plan) -> bool {
        let collected = self.collected.as_ref();
        let is_long = collected.is_some_and(|collected| collected.length >= plan.to_collect());
        is_long || self.is_shortened || self.hopeless.is_some()
    }

    /// The ending of a test with errors: complete if it ran for its full length, and the errors are
    /// the storage's.
    pub(crate) fn broken_by_errors(&self, plan: &Plan) -> Ending {
        match &self.log.first_error {
            Some(error) if !self.is_collected(plan) || error.environment().is_some() => {
                broken_by(error)
            }
            _ => Ending::Complete,
        }
    }

    /// Counts faults of the storage; a full volume is not one.
    pub(crate) fn note_errors(&mut self, failure: Option<EngineError>) {
        self.found.absorb(&self.log.found);
        failure.iter().for_each(|error| self.found.note(error));
        let first = self.log.first_error.clone();
        let faults = [first, failure];
        let mut faults = faults.into_iter().flatten().filter(is_storage_fault);
        if let Some(fault) = faults.next() {
            self.errors = Errors { count: self.log.errors.max(1), first: fault.to_string() };
        }
    }

    /// Adds reads of several pages that failed, though each page may have been readable alone.
    pub(crate) fn note_failed_runs(&mut self, (count, first): (u64, Option<EngineError>)) {
        self.errors.add(count, || first.map(|first| first.to_string()).unwrap_or_default());
    }

    /// Counts what recovery says of files that this program wrote a moment before: whatever is
    /// missing of a log, the storage has lost.
    pub(crate) fn note_lost_log(&mut self, error: &EngineError) {
        self.note_errors(Some(error.clone()));
        if self.errors.count == 0 && is_lost_log(error) {
            self.errors.add(1, || error.to_string());
        }
    }

    /// Adds bad pages that background maintenance has found.
    pub(crate) fn note_maintenance(&mut self, scans: &[Maintenance]) {
        let bad = scans.iter().map(|scan| scan.findings().bad);
        for error in bad.flat_map(BTreeMap::into_values) {
            self.found.note(&error);
            self.errors.add(1, || error.to_string());
        }
    }

    /// Adds bad pages that copies have replaced, and that maintenance has not found: the storage
    /// returned them all the same.
    pub(crate) fn note_patches(&mut self, patches: &[Patch], scans: &[Maintenance]) {
        let found = scans.iter().flat_map(|scan| scan.findings().bad);
        let found: Vec<EngineError> = found.map(|(_, error)| error).collect();
        for patch in patches.iter().filter(|patch| patch.is_done()) {
            let error = patch.error();
            if found.contains(&error) {
                continue;
            }
            self.found.note(&error);
            self.errors.add(1, || patch.to_string());
        }
    }

    /// Latencies of operations over the collection.
    pub fn operation_latencies(&self) -> OperationLatencies {
        let mut all = OperationLatencies::default();
        let collected = self.collected.iter();
        for operations in collected.flat_map(|collected| &collected.operations) {
            all.merge(operations);
        }
        all
    }
}

fn is_lost_log(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::LogCorrupt { .. }
            | EngineError::LogHeader { .. }
            | EngineError::LogEmpty(_)
            | EngineError::LogMissing(_)
            | EngineError::LogRequired { .. }
            | EngineError::LogEndMissing { .. }
            | EngineError::LogShort { .. }
    )
}

/// The ending of a test that `error` broke off.
pub(crate) fn broken_by(error: &EngineError) -> Ending {
    Ending::Broken(match error.environment() {
        Some(why) => format!("{error}; {}", why.way_out()),
        None => error.to_string(),
    })
}

fn is_storage_fault(error: &EngineError) -> bool {
    use brunt_world::IoError::{Device, Medium, Other, PastEnd};
    use brunt_world::VolumeError;
    match error {
        EngineError::Page { fault, .. } => !matches!(fault, PageFault::Structure),
        EngineError::LogFailed { error, .. }
        | EngineError::Write { error, .. }
        | EngineError::File { error, .. } => {
            matches!(error, Device | Medium | PastEnd | Other(_))
        }
        EngineError::Volume { error, .. } => *error == VolumeError::Device,
        _ => false,
    }
}
