//! The engine of one server: instances over one cache, their tables, and operations of the workload
//! on them.
//!
//! The content of the databases is a type: [`Records`] are compared byte by byte, on real or
//! modelled storage; a [`Twin`] has no bytes and may be of any size. The rest of a test is the same
//! for both.

mod opening;
mod records;
mod twin;

pub use records::Records;
pub use twin::Twin;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use brunt_ese::cache::Cache;
use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::maintenance::Maintenance;
use brunt_ese::meter::MeterBoard;
use brunt_ese::patch::Patch;
use brunt_ese::policy::scan::Throttle;
use brunt_run::Listener;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::Kind;
use brunt_workload::operations::{Operation, Outcome};
use brunt_world::{FileId, World};

use crate::load::sessions::{Performed, Target};
use crate::phases::test_run::Recovered;
use crate::plan::Plan;
use crate::truth::oracle::Finding;
use crate::truth::verification::Unwritten;

/// Cost of reading one record on a modelled core.
const READ_COST: Span = Span::micros(5);

/// One database of a server, as the target of operations.
pub trait Table: Sized + 'static {
    /// What its pages hold.
    type Content: Content;
    /// What the files of a backup do not say about it.
    type BackedUp;

    /// The number of its instance in the server.
    fn instance_number(&self) -> usize;

    /// Its number within its instance.
    fn database(&self) -> u8;

    /// Performs an operation, including its commit.
    ///
    /// # Errors
    /// When a page or the log failed. The operation did not take place, or its outcome is unknown.
    fn carry_out(
        &self,
        server: &Server<Self>,
        operation: &Operation,
    ) -> impl Future<Output = Result<Option<Finding>, EngineError>>;

    /// Opens and recovers the databases of `left`, an abandoned server.
    ///
    /// # Errors
    /// The first error of the engine.
    fn reopen(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        left: &Server<Self>,
    ) -> impl Future<Output = Result<Server<Self>, EngineError>>;

    /// What opening a backup of `server` needs to know. No session is running, and the server is
    /// still open.
    fn backed_up(server: &Server<Self>) -> Self::BackedUp;

    /// Reads the backup of a database and judges every page.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    fn judge_copy(world: &World, path: &Path) -> impl Future<Output = Result<(), EngineError>>;

    /// Opens and recovers databases whose files were replaced by those of a backup.
    ///
    /// # Errors
    /// The first error of the engine.
    fn open_restored(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        backed_up: Self::BackedUp,
    ) -> impl Future<Output = Result<Server<Self>, EngineError>>;

    /// Closes an instance; its databases then need no log.
    ///
    /// # Errors
    /// When a write fails.
    fn close(instance: Instance<Self::Content>) -> impl Future<Output = Result<(), EngineError>>;
}

/// Passive copies at work, with or without content.
pub(crate) trait Following {
    /// Notes the queues and I/Os of all copies; their names and queues, in logs.
    fn sample(&self, now: Time) -> Vec<(String, [u32; 2])>;

    /// What is new: bad pages, and copies that no longer follow.
    fn news(&self) -> Vec<String>;

    /// Bad pages that were found again after their news.
    fn repeated(&self) -> Vec<String>;

    /// The bad pages of actives so far, and what became of them.
    fn patches(&self) -> Vec<Patch>;
}

/// Open databases, ready for operations.
pub struct Server<T: Table = Records> {
    world: World,
    cache: Cache<T::Content>,
    instances: Vec<Instance<T::Content>>,
    databases: Vec<T>,
    broken: Cell<bool>,
    recoveries: Vec<Recovered>,
    /// Whether it is being closed or abandoned: nothing new is begun.
    closing: Cell<bool>,
    /// The first error of log shipping.
    replication_error: RefCell<Option<EngineError>>,
    /// Its passive copies, if there are any.
    followers: RefCell<Option<Rc<dyn Following>>>,
}

impl<T: Table> Server<T> {
    /// A server without instances, over a cache of the plan's size.
    fn empty(world: &World, plan: &Plan) -> Self {
        let databases = plan.databases().count();
        let board = Rc::new(MeterBoard::new(databases, plan.instances.len()));
        Self {
            world: world.clone(),
            cache: Cache::new(world, plan.cache_options(), board),
            instances: Vec::new(),
            databases: Vec::new(),
            broken: Cell::new(false),
            recoveries: Vec::new(),
            closing: Cell::new(false),
            replication_error: RefCell::default(),
            followers: RefCell::default(),
        }
    }

    /// Closes all instances concurrently; the databases then need no log.
    ///
    /// # Errors
    /// The first error; the other instances are closed all the same.
    pub async fn close(&self) -> Result<(), EngineError> {
        self.closing.set(true);
        let instances = self.instances.iter();
        let closing =
            instances.map(|instance| self.world.spawner.spawn(T::close(instance.clone())));
        let closing: Vec<_> = closing.collect();
        let mut result = Ok(());
        for closed in closing {
            result = result.and(closed.await);
        }
        self.cache.close();
        result
    }

    /// Reads of several pages that failed; see [`Cache::failed_runs`].
    pub(crate) fn failed_runs(&self) -> (u64, Option<EngineError>) {
        self.cache.failed_runs()
    }

    /// Pages whose writes failed; see [`Cache::failed_writes`].
    pub(crate) fn unwritten_pages(&self) -> Unwritten {
        self.cache.failed_writes()
    }

    /// What a clean shutdown would still have to write to databases.
    pub fn unwritten(&self) -> ByteSize {
        let pages = u64::from(self.cache.unwritten());
        ByteSize::bytes(pages * self.cache.page_size().bytes_u64())
    }

    /// Abandons all instances as a crash would, but with their logs fully written. No session may
    /// be running.
    ///
    /// # Errors
    /// The first error of an instance.
    pub async fn abandon(&self) -> Result<(), EngineError> {
        self.closing.set(true);
        self.cache.halt();
        let mut result = Ok(());
        for instance in &self.instances {
            let left = instance.clone().abandon().await;
            result = result.and(left);
        }
        self.cache.close();
        result
    }

    /// Whether it is being closed or abandoned.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// The cost of opening each instance, including recovery.
    pub fn recoveries(&self) -> &[Recovered] {
        &self.recoveries
    }

    /// The longest time of those instances that had log to replay.
    pub fn longest_replay(&self) -> Span {
        let replayed = self.recoveries.iter().filter(|one| one.logs > 0);
        replayed.map(|one| one.took).max().unwrap_or_default()
    }

    pub fn instances(&self) -> &[Instance<T::Content>] {
        &self.instances
    }

    /// The newest log generation of each instance.
    pub fn generations(&self) -> Vec<u32> {
        let instances = self.instances.iter();
        instances.map(|instance| instance.log().tail().generation).collect()
    }

    /// Notes that a log could not be read for a copy.
    pub(crate) fn note_replication_error(&self, error: EngineError) {
        self.replication_error.borrow_mut().get_or_insert(error);
    }

    /// Why a log could not be read for a copy.
    pub(crate) fn replication_error(&self) -> Option<EngineError> {
        self.replication_error.borrow().clone()
    }

    /// Notes that `followers` follow it.
    pub(crate) fn follow(&self, followers: Rc<dyn Following>) {
        *self.followers.borrow_mut() = Some(followers);
    }

    /// Its passive copies, if there are any.
    pub(crate) fn followers(&self) -> Option<Rc<dyn Following>> {
        self.followers.borrow().clone()
    }

    /// The counters.
    pub fn board(&self) -> &Rc<MeterBoard> {
        self.cache.meters()
    }

    /// Pages in the cache, and the most it holds while it keeps frames free.
    pub fn resident(&self) -> (u32, u32) {
        self.cache.resident()
    }

    /// Starts background maintenance of all databases. It ends when they are closed.
    pub fn maintain(&self, throttle: Throttle) -> Vec<Maintenance> {
        let tables = self.databases.iter();
        tables
            .map(|table| {
                let instance = self.instance_of(table);
                instance.maintain(table.database(), throttle)
            })
            .collect()
    }

    /// All databases, in the order of their instances.
    pub fn tables(&self) -> &[T] {
        &self.databases
    }

    pub fn instance_of(&self, table: &T) -> &Instance<T::Content> {
        &self.instances[table.instance_number()]
    }

    /// The size of every database file.
    pub fn file_sizes(&self) -> Vec<ByteSize> {
        let page = self.cache.page_size().bytes_u64();
        let databases = self.instances.iter().flat_map(Instance::databases);
        databases
            .map(|database| ByteSize::bytes((u64::from(database.pages.get()) + 2) * page))
            .collect()
    }

    /// Lets other tasks run; for tasks that read many records.
    pub async fn rest(&self) {
        self.world.clock.spend(READ_COST).await;
    }

    /// Passes every database file and its path to `name`.
    pub fn name_files(&self, mut name: impl FnMut(FileId, &Path)) {
        for database in self.instances.iter().flat_map(Instance::databases) {
            name(database.file, &database.path);
        }
    }

    /// Why an instance has stopped; `None` when all are running.
    pub fn failure(&self) -> Option<EngineError> {
        self.instances.iter().find_map(Instance::failure)
    }

    /// The first error of a page that a committed delete needed.
    pub(crate) fn unfinished(&self) -> Option<EngineError> {
        self.instances.iter().find_map(Instance::unfinished)
    }
}

impl<T: Table> Target for Server<T> {
    async fn perform(&self, operation: &Operation) -> Result<Performed, EngineError> {
        let outcome = |outcome, finding| Performed { outcome, finding };
        let table = &self.databases[operation.database as usize];
        match table.carry_out(self, operation).await {
            Ok(None) => Ok(outcome(Outcome::Committed, None)),
            // A lost record is gone and must not be drawn again.
            Ok(Some(Finding::Lost)) if operation.kind == Kind::Delete => {
                Ok(outcome(Outcome::Committed, Some(Finding::Lost)))
            }
            Ok(Some(finding)) => Ok(outcome(Outcome::RolledBack, Some(finding))),
            Err(EngineError::WriteConflict) => Ok(outcome(Outcome::RolledBack, None)),
            Err(error) => {
                self.broken.set(self.failure().is_some());
                Err(error)
            }
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.get()
    }

    fn write_latency(&self, instance: u32) -> Span {
        self.board().with(|meters| {
            let own = self.instances[instance as usize].databases().iter();
            let own = own.map(|database| &meters.databases[usize::from(database.number)]);
            let means = own.filter_map(|meters| meters.writes.running().mean());
            means.max().unwrap_or_default()
        })
    }
}
