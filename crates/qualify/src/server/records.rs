//! Databases of records: every operation reads or writes bytes that can be told right or wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::messages::{MessageTable, NewContent, ReadMessage};
use brunt_ese::instance::transaction::Commit as EngineCommit;
use brunt_ese::instance::{Instance, recovery::RecoveryReport};
use brunt_workload::keys::Record;
use brunt_workload::mix::{Commit, Kind};
use brunt_workload::operations::Operation;
use brunt_world::World;

use super::{Server, Table};
use crate::plan::Plan;
use crate::progress::{Listener, News};
use crate::records::{Compared, Contents, Pads, StoredFields};
use crate::sessions::Finding;
use crate::test_run::Recovered;

/// One database: the table of messages and what must be in it.
pub struct Records {
    instance: usize,
    messages: MessageTable,
    contents: Contents,
    versions: RefCell<Versions>,
    pads: RefCell<Vec<Pads>>,
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
        let mut server = Self::empty(world, plan);
        let databases = plan.databases().count();
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
            self.databases.push(Records {
                instance: index,
                messages: instance.messages(number).await?,
                contents: Contents::new(&signature, plan.load.shape),
                versions: RefCell::new(versions.next().expect("versions of every database")),
                pads: RefCell::default(),
            });
        }
        Ok(())
    }

    /// The versions of all databases' records, for a later opening.
    pub fn versions(&self) -> Vec<Versions> {
        let tables = self.databases.iter();
        tables
            .map(|table| table.versions.borrow().clone())
            .collect()
    }
}

impl Table for Records {
    type Content = Bytes;

    fn instance_number(&self) -> usize {
        self.instance
    }

    fn database(&self) -> u8 {
        self.messages.database
    }

    async fn carry_out(
        &self,
        server: &Server,
        operation: &Operation,
    ) -> Result<Option<Finding>, EngineError> {
        let instance = server.instance_of(self);
        match operation.kind {
            Kind::Read => self.read(instance, operation.record).await,
            _ => self.change(instance, operation).await,
        }
    }

    async fn close(instance: Instance<Bytes>) -> Result<(), EngineError> {
        instance.close().await
    }
}

impl Records {
    async fn read(
        &self,
        instance: &Instance<Bytes>,
        record: Record,
    ) -> Result<Option<Finding>, EngineError> {
        let id = Contents::id(record);
        let message = instance.read_message(&self.messages, id, false).await?;
        Ok(match message {
            None => Some(Finding::Lost),
            Some(message) => self.compare(record, &message).err(),
        })
    }

    async fn change(
        &self,
        instance: &Instance<Bytes>,
        operation: &Operation,
    ) -> Result<Option<Finding>, EngineError> {
        let mut pads = self.pads.borrow_mut().pop().unwrap_or_default();
        let transaction = instance.begin();
        let record = operation.record;
        let done = match operation.kind {
            Kind::Insert => {
                let new = self.content(record, 0, &mut pads);
                transaction.insert_message(&self.messages, &new).await
            }
            Kind::Replace => match self.next_version(instance, record).await {
                Ok(version) => {
                    let new = self.content(record, version, &mut pads);
                    transaction.replace_message(&self.messages, &new).await
                }
                Err(error) => Err(error),
            },
            Kind::Delete | Kind::Read => {
                let id = Contents::id(record);
                transaction.delete_message(&self.messages, id).await
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
        let mut versions = self.versions.borrow_mut();
        match (operation.kind, version) {
            (Kind::Replace, Some(version)) => versions.replaced(record, version),
            (Kind::Delete, _) => versions.deleted(record),
            _ => {}
        }
        Ok(None)
    }

    async fn next_version(
        &self,
        instance: &Instance<Bytes>,
        record: Record,
    ) -> Result<u32, EngineError> {
        let id = Contents::id(record);
        let found = instance.read_message(&self.messages, id, false).await?;
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

impl Records {
    /// What must be in it.
    pub fn contents(&self) -> &Contents {
        &self.contents
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
