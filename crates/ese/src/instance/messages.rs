//! Messages of an open database: read, insert, delete, replace.

use std::cell::Cell;

use brunt_units::PageNumber;

use super::Instance;
use super::transaction::Transaction;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::table::message::{Body, Message, primary_key};
use crate::table::operations::{self, NewMessage, OperationKind, Stored, TreeOperation};
use crate::table::{CatalogRead, Messages};

/// Bytes allocated up front to read a body, however long its root claims it is.
const BODY_FORESEEN: usize = 1 << 20;

/// The table of one database.
#[derive(Debug)]
pub struct MessageTable {
    /// The database's number within its instance.
    pub database: u8,
    trees: Messages,
    /// The newest body id in use.
    last_body: Cell<u32>,
}

/// A message to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewContent<'a> {
    /// Primary key.
    pub id: i64,
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Version; each replacement increments it.
    pub version: i32,
    /// The short pad, at most 255 bytes.
    pub subject: &'a [u8],
    /// The long pad.
    pub body: &'a [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadMessage {
    /// Primary key.
    pub id: i64,
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Version; each replacement increments it.
    pub version: i32,
    /// The short pad.
    pub subject: Vec<u8>,
    /// The long pad, if requested or part of the record.
    pub body: Option<Vec<u8>>,
}

impl MessageTable {
    /// The table's trees.
    pub fn trees(&self) -> Messages {
        self.trees
    }

    /// The next id; `None` once all ids are used, or if a damaged page claims so.
    fn next_body(&self) -> Option<LongValueId> {
        let next = LongValueId(self.last_body.get() + 1);
        (next <= LongValueId::LAST).then(|| {
            self.last_body.set(next.0);
            next
        })
    }
}

impl Instance<Bytes> {
    /// The table of a database.
    ///
    /// # Errors
    /// When the catalog cannot be read or has no such table.
    pub async fn messages(&self, database: u8) -> Result<MessageTable, EngineError> {
        let damaged =
            |what| EngineError::Damaged { path: self.0.database(database).path.clone(), what };
        let found = self.look(database, |pages| match Messages::find(pages) {
            Ok(trees) => Ok(Some(trees)),
            Err(CatalogRead::Need(need)) => Err(need),
            Err(_) => Ok(None),
        });
        let trees = found.await?.ok_or_else(|| damaged("its catalog has no table of messages"))?;
        let last = self.look(database, |pages| trees.last_body(pages)).await?;
        Ok(MessageTable { database, trees, last_body: Cell::new(last.map_or(0, |id| id.0)) })
    }

    /// Reads a message; `None` when it does not exist. Reads the body from the long values only if
    /// `with_body`.
    ///
    /// # Errors
    /// When a page cannot be read or a record is malformed.
    pub async fn read_message(
        &self,
        table: &MessageTable,
        id: i64,
        with_body: bool,
    ) -> Result<Option<ReadMessage>, EngineError> {
        let key = primary_key(id);
        let read = self.read_at(table.database, table.trees.records, &key);
        let (page, Some(record)) = read.await? else {
            return Ok(None);
        };
        let message = self.decode(table, id, page, &record)?;
        let body = match message.body {
            Body::Inside(body) => Some(body.to_vec()),
            Body::Apart(id) if with_body => Some(self.read_body(table, id).await?),
            Body::Apart(_) => None,
        };
        let Message { id, folder, received, version, subject, .. } = message;
        Ok(Some(ReadMessage { id, folder, received, version, subject: subject.to_vec(), body }))
    }

    /// Decodes message `id` from its page.
    fn decode<'r>(
        &self,
        table: &MessageTable,
        id: i64,
        page: PageNumber,
        record: &'r [u8],
    ) -> Result<Message<'r>, EngineError> {
        let damaged = |what| self.record_error(self.0.database(table.database), page, what);
        let message = Message::decode(record, self.0.options.page_size);
        match message.map_err(|_| damaged("a record makes no sense"))? {
            message if message.id == id => Ok(message),
            _ => Err(damaged("a record has the id of another")),
        }
    }

    async fn read_body(
        &self,
        table: &MessageTable,
        id: LongValueId,
    ) -> Result<Vec<u8>, EngineError> {
        let bytes = self.body_bytes(table, id).await? as usize;
        let mut body = Vec::with_capacity(bytes.min(BODY_FORESEEN));
        while body.len() < bytes {
            let offset = u32::try_from(body.len()).expect("below the length, which has 32 bits");
            let key = id.chunk_key(offset);
            let read = self.read_at(table.database, table.trees.bodies, &key);
            let (page, chunk) = read.await?;
            let expected = (bytes - body.len()).min(chunk_bytes(self.0.options.page_size));
            let chunk = chunk.filter(|chunk| chunk.len() == expected);
            body.extend_from_slice(&chunk.ok_or_else(|| self.torn_body(table, page))?);
        }
        Ok(body)
    }

    /// Length of a body according to its root. It must be shorter than the database file.
    async fn body_bytes(&self, table: &MessageTable, id: LongValueId) -> Result<u32, EngineError> {
        let key = id.root_key();
        let read = self.read_at(table.database, table.trees.bodies, &key);
        let (page, root) = read.await?;
        let root = root.and_then(|data| LongValueRoot::from_bytes(&data));
        let bytes = root.ok_or_else(|| self.torn_body(table, page))?.bytes;
        let database = self.0.database(table.database);
        let file = PageNumber(database.pages.get()).offset(self.0.options.page_size);
        match u64::from(bytes) < file {
            true => Ok(bytes),
            false => Err(self.record_error(database, page, "a long value longer than its file")),
        }
    }

    fn torn_body(&self, table: &MessageTable, page: PageNumber) -> EngineError {
        let database = self.0.database(table.database);
        self.record_error(database, page, "a long value lacks a part")
    }
}

impl Transaction<'_> {
    /// Inserts a message.
    ///
    /// # Errors
    /// [`EngineError::KeyDuplicate`], [`EngineError::WriteConflict`].
    pub async fn insert_message(
        &self,
        table: &MessageTable,
        new: &NewContent<'_>,
    ) -> Result<(), EngineError> {
        self.lock(table.database, table.trees.records, &primary_key(new.id))?;
        let size = self.instance().options().page_size;
        let new = new.with_body(self.next_body(table)?);
        self.run(table, operations::insert(&table.trees, size, &new)).await
    }

    /// Deletes a message.
    ///
    /// # Errors
    /// [`EngineError::RecordNotFound`], [`EngineError::WriteConflict`].
    pub async fn delete_message(&self, table: &MessageTable, id: i64) -> Result<(), EngineError> {
        let (page, record) = self.locked_record(table, id).await?;
        let old = self.stored(table, id, page, &record).await?;
        let size = self.instance().options().page_size;
        self.run(table, operations::delete(&table.trees, size, &old)).await
    }

    /// Replaces a message by one with the same id.
    ///
    /// # Errors
    /// [`EngineError::RecordNotFound`], [`EngineError::WriteConflict`].
    pub async fn replace_message(
        &self,
        table: &MessageTable,
        new: &NewContent<'_>,
    ) -> Result<(), EngineError> {
        let (page, record) = self.locked_record(table, new.id).await?;
        let old = self.stored(table, new.id, page, &record).await?;
        let size = self.instance().options().page_size;
        let new = new.with_body(self.next_body(table)?);
        self.run(table, operations::replace(&table.trees, size, &old, &new)).await
    }

    /// A message's record, and the page it is on.
    async fn locked_record(
        &self,
        table: &MessageTable,
        id: i64,
    ) -> Result<(PageNumber, Vec<u8>), EngineError> {
        let key = primary_key(id);
        self.lock(table.database, table.trees.records, &key)?;
        let (page, record) =
            self.instance().read_at(table.database, table.trees.records, &key).await?;
        Ok((page, record.ok_or(EngineError::RecordNotFound)?))
    }

    fn next_body(&self, table: &MessageTable) -> Result<LongValueId, EngineError> {
        table.next_body().ok_or_else(|| EngineError::Damaged {
            path: self.instance().0.database(table.database).path.clone(),
            what: "its long values have used all ids",
        })
    }

    async fn stored<'r>(
        &self,
        table: &MessageTable,
        id: i64,
        page: PageNumber,
        record: &'r [u8],
    ) -> Result<Stored<'r>, EngineError> {
        let message = self.instance().decode(table, id, page, record)?;
        let body_bytes = match message.body {
            Body::Inside(_) => 0,
            Body::Apart(id) => self.instance().body_bytes(table, id).await?,
        };
        Ok(Stored { message, body_bytes })
    }

    async fn run(
        &self,
        table: &MessageTable,
        operations: Vec<TreeOperation>,
    ) -> Result<(), EngineError> {
        for operation in operations {
            let TreeOperation { tree, kind, key, data } = &operation;
            match kind {
                OperationKind::Insert => self.insert(table.database, *tree, key, data).await?,
                OperationKind::Delete => {
                    self.delete(table.database, *tree, &operation.sort_key()).await?
                }
                OperationKind::Replace => self.replace(table.database, *tree, key, data).await?,
            }
        }
        Ok(())
    }
}

impl<'a> NewContent<'a> {
    fn with_body(&self, body_id: LongValueId) -> NewMessage<'a> {
        let Self { id, folder, received, version, subject, body } = *self;
        NewMessage { id, folder, received, version, subject, body, body_id }
    }
}
