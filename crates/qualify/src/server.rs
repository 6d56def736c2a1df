//! The engine of one server: instances over one cache, their tables, and operations of the workload on them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use brunt_ese::cache::Cache;
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::messages::{MessageTable, NewContent, ReadMessage};
use brunt_ese::instance::transaction::Commit as EngineCommit;
use brunt_ese::instance::{Instance, recovery::RecoveryReport};
use brunt_ese::maintenance::Maintenance;
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::scan::Throttle;
use brunt_units::{ByteSize, Span};
use brunt_workload::keys::Record;
use brunt_workload::mix::{Commit, Kind};
use brunt_workload::operations::{Operation, Outcome};
use brunt_world::{FileId, World};

use crate::plan::Plan;
use crate::progress::{Listener, News};
use crate::records::{Compared, Contents, Pads, StoredFields};
use crate::sessions::{Finding, Performed, Target};
use crate::test_run::Recovered;

/// Databases that are open and can be worked on.
pub struct Server {
    world: World,
    cache: Cache<Bytes>,
    instances: Vec<Instance<Bytes>>,
    databases: Vec<Table>,
    broken: Cell<bool>,
    pads: RefCell<Vec<Pads>>,
    recoveries: Vec<Recovered>,
    /// It is being closed, or left: nothing new is begun.
    closing: Cell<bool>,
    /// The first error of reading logs for copies.
    replication_error: RefCell<Option<EngineError>>,
}

/// One database: the table of messages and what must be in it.
pub struct Table {
    instance: usize,
    messages: MessageTable,
    contents: Contents,
    versions: RefCell<Versions>,
}

/// The versions of records that have been replaced.
///
/// Only so many are remembered, so that memory does not grow with the test; of a record that is not, any version counts as
/// the last one when its bytes are right.
#[derive(Clone, Debug)]
pub struct Versions {
    known: BTreeMap<u64, u32>,
    /// What a record that is not listed has; nothing when it is not known.
    usual: Option<u32>,
}

/// What reading one record costs a modelled core.
const READ_COST: Span = Span::micros(5);

/// Versions remembered of each database.
const VERSIONS_MAX: usize = 1 << 20;

impl Versions {
    /// The versions in a database that was just created.
    pub fn fresh() -> Self {
        Self {
            known: BTreeMap::new(),
            usual: Some(0),
        }
    }

    /// The versions in a database that others have worked on.
    pub fn unknown() -> Self {
        Self {
            usual: None,
            ..Self::fresh()
        }
    }

    fn replaced(&mut self, record: Record, version: u32) {
        if self.known.len() >= VERSIONS_MAX && !self.known.contains_key(&record.number) {
            self.usual = None;
            return;
        }
        self.known.insert(record.number, version);
    }

    fn deleted(&mut self, record: Record) {
        self.known.remove(&record.number);
    }

    /// Whether a record may have this version.
    pub fn allow(&self, record: Record, version: u32) -> bool {
        let expected = self.known.get(&record.number).copied().or(self.usual);
        expected.is_none_or(|expected| expected == version)
    }
}

impl Server {
    /// Opens all instances over one cache; those that were not closed are recovered. `versions` are those of all databases,
    /// or nothing where they are not known.
    ///
    /// # Errors
    /// The first that the engine reports. Instances opened until then have been closed again.
    pub async fn open(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        versions: Option<Vec<Versions>>,
    ) -> Result<Self, EngineError> {
        let databases = plan.databases().count();
        let board = Rc::new(MeterBoard::new(databases, plan.instances.len()));
        let cache = Cache::new(world, plan.cache_options(), board);
        let mut server = Self {
            world: world.clone(),
            cache,
            instances: Vec::new(),
            databases: Vec::new(),
            broken: Cell::new(false),
            pads: RefCell::default(),
            recoveries: Vec::new(),
            closing: Cell::new(false),
            replication_error: RefCell::default(),
        };
        let versions = versions.unwrap_or_else(|| vec![Versions::unknown(); databases]);
        let mut versions = versions.into_iter();
        for index in 0..plan.instances.len() {
            let opened = server
                .open_instance(world, plan, listener, index, &mut versions)
                .await;
            if let Err(error) = opened {
                // The first error is the one to report.
                let _ = server.close().await;
                return Err(error);
            }
        }
        Ok(server)
    }

    async fn open_instance(
        &mut self,
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        index: usize,
        versions: &mut impl Iterator<Item = Versions>,
    ) -> Result<(), EngineError> {
        let options = plan.instance_options(index);
        let begun = world.clock.now();
        let (instance, recovery) = Instance::open(world, &self.cache, options).await?;
        self.recoveries.push(Recovered {
            instance: index,
            logs: recovery.generations,
            took: world.clock.now() - begun,
        });
        if recovery.generations > 0 {
            let note = recovered(&plan.instances[index].name, &recovery);
            listener.tell(world.clock.now(), &News::Note(note));
        }
        self.instances.push(instance.clone());
        for (number, database) in (0..).zip(instance.databases()) {
            let signature = database.header.borrow().signature;
            self.databases.push(Table {
                instance: index,
                messages: instance.messages(number).await?,
                contents: Contents::new(&signature, plan.load.shape),
                versions: RefCell::new(versions.next().expect("versions of every database")),
            });
        }
        Ok(())
    }

    /// Closes all instances, and so leaves databases that need no log.
    ///
    /// # Errors
    /// The first that any of them reports; the others are closed all the same.
    pub async fn close(&self) -> Result<(), EngineError> {
        self.closing.set(true);
        let mut result = Ok(());
        for instance in &self.instances {
            let closed = instance.clone().close().await;
            result = result.and(closed);
        }
        self.cache.close();
        result
    }

    /// Leaves all instances as a program that dies does, but with all of their logs written. No session may run.
    ///
    /// # Errors
    /// The first that any of them reports.
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

    /// Whether it is being closed.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// What opening each instance took, recovery included.
    pub fn recoveries(&self) -> &[Recovered] {
        &self.recoveries
    }

    /// The instances.
    pub fn instances(&self) -> &[Instance<Bytes>] {
        &self.instances
    }

    /// The newest log generation of each instance.
    pub fn generations(&self) -> Vec<u32> {
        let instances = self.instances.iter();
        instances
            .map(|instance| instance.log().tail().generation)
            .collect()
    }

    /// A log could not be read for a copy.
    pub(crate) fn note_replication_error(&self, error: EngineError) {
        self.replication_error.borrow_mut().get_or_insert(error);
    }

    /// Why a log could not be read for a copy, if one could not.
    pub(crate) fn replication_error(&self) -> Option<EngineError> {
        self.replication_error.borrow().clone()
    }

    /// The counters.
    pub fn board(&self) -> &Rc<MeterBoard> {
        self.cache.meters()
    }

    /// Pages in the cache, and the most it holds while frames are kept free.
    pub fn resident(&self) -> (u32, u32) {
        self.cache.resident()
    }

    /// Starts background maintenance of all databases. It ends when they are closed.
    pub fn maintain(&self, throttle: Throttle) -> Vec<Maintenance> {
        let tables = self.databases.iter();
        tables
            .map(|table| {
                let instance = self.instance_of(table);
                instance.maintain(table.messages.database, throttle)
            })
            .collect()
    }

    /// All databases, those of the first instance first.
    pub fn tables(&self) -> &[Table] {
        &self.databases
    }

    /// The instance of a table.
    pub fn instance_of(&self, table: &Table) -> &Instance<Bytes> {
        &self.instances[table.instance]
    }

    /// Bytes of every database file.
    pub fn file_sizes(&self) -> Vec<ByteSize> {
        let page = self.cache.page_size().bytes_u64();
        let databases = self.instances.iter().flat_map(Instance::databases);
        databases
            .map(|database| ByteSize::bytes((u64::from(database.pages.get()) + 2) * page))
            .collect()
    }

    /// A point where a task that reads many records lets others run.
    pub async fn rest(&self) {
        self.world.clock.spend(READ_COST).await;
    }

    /// Tells which file has which path.
    pub fn name_files(&self, mut name: impl FnMut(FileId, &Path)) {
        for database in self.instances.iter().flat_map(Instance::databases) {
            name(database.file, &database.path);
        }
    }

    /// Why an instance has stopped, if one has.
    pub fn failure(&self) -> Option<EngineError> {
        self.instances.iter().find_map(Instance::failure)
    }

    /// The versions of all databases' records, for a later opening.
    pub fn versions(&self) -> Vec<Versions> {
        let tables = self.databases.iter();
        tables
            .map(|table| table.versions.borrow().clone())
            .collect()
    }

    async fn carry_out(&self, operation: &Operation) -> Result<Option<Finding>, EngineError> {
        let table = &self.databases[operation.database as usize];
        match operation.kind {
            Kind::Read => self.read(table, operation.record).await,
            _ => self.change(table, operation).await,
        }
    }

    async fn read(&self, table: &Table, record: Record) -> Result<Option<Finding>, EngineError> {
        let instance = self.instance_of(table);
        let id = Contents::id(record);
        let message = instance.read_message(&table.messages, id, false).await?;
        Ok(match message {
            None => Some(Finding::Lost),
            Some(message) => table.compare(record, &message).err(),
        })
    }

    async fn change(
        &self,
        table: &Table,
        operation: &Operation,
    ) -> Result<Option<Finding>, EngineError> {
        let mut pads = self.pads.borrow_mut().pop().unwrap_or_default();
        let instance = self.instance_of(table);
        let transaction = instance.begin();
        let record = operation.record;
        let done = match operation.kind {
            Kind::Insert => {
                let new = table.content(record, 0, &mut pads);
                transaction.insert_message(&table.messages, &new).await
            }
            Kind::Replace => match self.next_version(table, record).await {
                Ok(version) => {
                    let new = table.content(record, version, &mut pads);
                    transaction.replace_message(&table.messages, &new).await
                }
                Err(error) => Err(error),
            },
            Kind::Delete | Kind::Read => {
                let id = Contents::id(record);
                transaction.delete_message(&table.messages, id).await
            }
        };
        let version = match operation.kind {
            Kind::Replace => Some(pads.version),
            _ => None,
        };
        self.pads.borrow_mut().push(pads);
        if let Err(error) = done {
            transaction.take_back().await?;
            return match error {
                EngineError::RecordNotFound => Ok(Some(Finding::Lost)),
                error => Err(error),
            };
        }
        let commit = match operation.commit {
            Commit::Hard => EngineCommit::Hard,
            Commit::Lazy => EngineCommit::Lazy,
        };
        transaction.commit(commit).await?;
        let mut versions = table.versions.borrow_mut();
        match (operation.kind, version) {
            (Kind::Replace, Some(version)) => versions.replaced(record, version),
            (Kind::Delete, _) => versions.deleted(record),
            _ => {}
        }
        Ok(None)
    }

    async fn next_version(&self, table: &Table, record: Record) -> Result<u32, EngineError> {
        let id = Contents::id(record);
        let instance = self.instance_of(table);
        let found = instance.read_message(&table.messages, id, false).await?;
        let found = found.ok_or(EngineError::RecordNotFound)?;
        Ok(found.version.cast_unsigned().wrapping_add(1) & i32::MAX.cast_unsigned())
    }
}

fn recovered(name: &str, report: &RecoveryReport) -> String {
    format!(
        "{name}: recovered from {} log files: {} changes repeated, {} transactions taken back, {} torn pages rebuilt",
        report.generations, report.changes, report.undone, report.torn_pages
    )
}

impl Table {
    /// What must be in it.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Its instance's number.
    pub fn instance_number(&self) -> usize {
        self.instance
    }

    /// The engine's view of it.
    pub fn messages(&self) -> &MessageTable {
        &self.messages
    }

    fn content<'p>(&self, record: Record, version: u32, pads: &'p mut Pads) -> NewContent<'p> {
        self.contents.fill(record, version, pads);
        NewContent {
            id: Contents::id(record),
            folder: Contents::folder(record),
            received: Contents::received(record),
            version: version.cast_signed(),
            subject: &pads.subject,
            body: &pads.body,
        }
    }

    /// Compares a message that was read with what it must be, its body only if it was read.
    ///
    /// # Errors
    /// [`Finding::Wrong`].
    pub fn compare(&self, record: Record, message: &ReadMessage) -> Result<(), Finding> {
        let stored = StoredFields {
            folder: message.folder,
            received: message.received,
            version: message.version,
            subject: &message.subject,
            body: message.body.as_deref(),
        };
        match self.contents.compare(record, &stored) {
            Compared::Version(version) if self.versions.borrow().allow(record, version) => Ok(()),
            Compared::Version(_) | Compared::Wrong => Err(Finding::Wrong),
        }
    }
}

impl Target for Server {
    async fn perform(&self, operation: &Operation) -> Result<Performed, EngineError> {
        let outcome = |outcome, finding| Performed { outcome, finding };
        match self.carry_out(operation).await {
            Ok(None) => Ok(outcome(Outcome::Committed, None)),
            // What is lost is gone: the record must not be drawn again.
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
            let databases = meters.databases.iter().zip(&self.databases);
            let own = databases.filter(|(_, table)| table.instance == instance as usize);
            let means = own.filter_map(|(meters, _)| meters.writes.running().mean());
            means.max().unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_held_to_what_is_known() {
        let record = |number| Record {
            number,
            key: number * 7,
        };
        let mut fresh = Versions::fresh();
        assert!(fresh.allow(record(1), 0));
        assert!(!fresh.allow(record(1), 1), "nobody has replaced it");
        fresh.replaced(record(1), 1);
        assert!(fresh.allow(record(1), 1) && !fresh.allow(record(1), 0));
        fresh.deleted(record(1));
        assert!(fresh.allow(record(1), 0));
        let mut unknown = Versions::unknown();
        assert!(unknown.allow(record(2), 9));
        unknown.replaced(record(2), 10);
        assert!(!unknown.allow(record(2), 9), "a replace was lost");
    }
}
