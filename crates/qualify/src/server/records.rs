//! Databases of records: the bytes of every operation can be checked.

use std::cell::{Ref, RefCell};
use std::path::Path;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::Instance;
use brunt_ese::instance::messages::{MessageTable, NewContent, ReadMessage};
use brunt_ese::instance::transaction::Commit as EngineCommit;
use brunt_ese::verify::verify;
use brunt_run::Listener;
use brunt_workload::keys::Record;
use brunt_workload::mix::{Commit, Kind};
use brunt_workload::operations::Operation;
use brunt_world::World;

use super::{Server, Table};
use crate::plan::Plan;
use crate::truth::oracle::{Finding, Oracle};
use crate::truth::records::{Compared, Contents, Pads, StoredFields};
use crate::truth::witness::{Change, Hearing};

/// One database: its table of messages and what that must hold.
pub struct Records {
    instance: usize,
    messages: MessageTable,
    contents: Contents,
    oracle: RefCell<Oracle>,
    pads: RefCell<Vec<Pads>>,
    hearing: Hearing,
}

impl Server {
    /// The oracles of all databases, for a later opening.
    pub fn oracles(&self) -> Vec<Oracle> {
        let tables = self.databases.iter();
        tables.map(|table| table.oracle.borrow().clone()).collect()
    }
}

impl Table for Records {
    type Content = Bytes;
    type BackedUp = ();

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
            _ => self.change(server, instance, operation).await,
        }
    }

    async fn reopen(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        left: &Server,
    ) -> Result<Server, EngineError> {
        Server::open(world, plan, listener, Some(left.oracles())).await
    }

    fn backed_up(_: &Server) {}

    async fn judge_copy(world: &World, path: &Path) -> Result<(), EngineError> {
        let what = match verify(world, path).await {
            Ok(report) if report.pages_bad == 0 => return Ok(()),
            Ok(_) => "the copy has bad pages; nothing was restored",
            Err(_) => "the copy cannot be judged; nothing was restored",
        };
        let path = path.to_owned();
        Err(EngineError::Damaged { path, what })
    }

    async fn open_restored(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        (): (),
    ) -> Result<Server, EngineError> {
        Server::open(world, plan, listener, None).await
    }

    async fn close(instance: Instance<Bytes>) -> Result<(), EngineError> {
        instance.close().await
    }
}

impl Records {
    /// A database of instance number `instance` of the plan, whose file has this signature.
    pub(super) fn new(
        plan: &Plan,
        instance: usize,
        messages: MessageTable,
        signature: &Signature,
        oracle: Oracle,
    ) -> Self {
        Self {
            instance,
            messages,
            contents: Contents::new(signature, plan.load.shape),
            oracle: RefCell::new(oracle),
            pads: RefCell::default(),
            hearing: plan.hearing.clone(),
        }
    }

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
        server: &Server,
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
                Ok(Ok(version)) => {
                    let new = self.content(record, version, &mut pads);
                    transaction.replace_message(&self.messages, &new).await
                }
                Ok(Err(finding)) => {
                    // Replacing the record would hide the finding.
                    self.pads.borrow_mut().push(pads);
                    transaction.take_back().await?;
                    return Ok(Some(finding));
                }
                Err(error) => Err(error),
            },
            Kind::Delete | Kind::Read => {
                let id = Contents::id(record);
                transaction.delete_message(&self.messages, id).await
            }
        };
        let version = pads.version;
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
        let change = Change {
            instance: self.instance,
            database: self.messages.database,
            kind: operation.kind,
            number: record.number,
            version,
            commit: operation.commit,
            end: None,
        };
        let now = || server.world.clock.now();
        self.hearing.asked(now(), &change);
        transaction.commit(commit).await?;
        self.hearing.acknowledged(now(), &change);
        let mut oracle = self.oracle.borrow_mut();
        match operation.kind {
            Kind::Insert => oracle.inserted(record),
            Kind::Replace => oracle.replaced(record, version),
            Kind::Delete => oracle.deleted(record),
            Kind::Read => {}
        }
        Ok(None)
    }

    /// The version that the next replace gives a record: its version plus one, if that is the one
    /// it must have.
    async fn next_version(
        &self,
        instance: &Instance<Bytes>,
        record: Record,
    ) -> Result<Result<u32, Finding>, EngineError> {
        let id = Contents::id(record);
        let found = instance.read_message(&self.messages, id, false).await?;
        let Some(found) = found else {
            return Ok(Err(Finding::Lost));
        };
        let next = found.version.cast_unsigned().wrapping_add(1) & i32::MAX.cast_unsigned();
        Ok(self.compare(record, &found).map(|()| next))
    }
}

impl Records {
    /// What it must hold.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The engine's table.
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

    /// The oracle of this database.
    pub fn oracle(&self) -> Ref<'_, Oracle> {
        self.oracle.borrow()
    }

    /// Compares a message with what it must be; its body only if it was read.
    ///
    /// # Errors
    /// [`Finding::Stale`], [`Finding::Phantom`], [`Finding::Torn`].
    pub fn compare(&self, record: Record, message: &ReadMessage) -> Result<(), Finding> {
        let stored = StoredFields::from(message);
        match self.contents.compare(record, &stored) {
            Compared::Version(version) => self.oracle.borrow().judge(record, version),
            Compared::Wrong => Err(Finding::Torn),
        }
    }
}
