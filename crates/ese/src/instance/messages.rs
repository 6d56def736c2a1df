//! Messages of an open database: read, insert, delete, replace.

use std::cell::Cell;

use super::Instance;
use super::transaction::Transaction;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::table::message::{Body, Message, primary_key};
use crate::table::operations::{self, NewMessage, OperationKind, Stored, TreeOperation};
use crate::table::{CatalogRead, Messages};

/// The table of one database.
#[derive(Debug)]
pub struct MessageTable {
    /// The database's number within its instance.
    pub database: u8,
    trees: Messages,
    /// The newest id that a body has had.
    last_body: Cell<u32>,
}

/// A message as a caller gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewContent<'a> {
    /// Primary key.
    pub id: i64,
    /// The folder it is in.
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Counts its replacements.
    pub version: i32,
    /// The short pad, at most 255 bytes.
    pub subject: &'a [u8],
    /// The long pad.
    pub body: &'a [u8],
}

/// A message that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadMessage {
    /// Primary key.
    pub id: i64,
    /// The folder it is in.
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Counts its replacements.
    pub version: i32,
    /// The short pad.
    pub subject: Vec<u8>,
    /// The long pad, if it was asked for or is part of the record.
    pub body: Option<Vec<u8>>,
}

impl MessageTable {
    /// The table's trees.
    pub fn trees(&self) -> Messages {
        self.trees
    }

    fn next_body(&self) -> LongValueId {
        self.last_body.set(self.last_body.get() + 1);
        LongValueId(self.last_body.get())
    }
}

impl Instance<Bytes> {
    /// The table of a database.
    ///
    /// # Errors
    /// When the catalog cannot be read or has no such table.
    pub async fn messages(&self, database: u8) -> Result<MessageTable, EngineError> {
        let damaged = |what| EngineError::Damaged {
            path: self.database(database).path.clone(),
            what,
        };
        let found = self.look(database, |pages| match Messages::find(pages) {
            Ok(trees) => Ok(Some(trees)),
            Err(CatalogRead::Need(need)) => Err(need),
            Err(_) => Ok(None),
        });
        let trees = found
            .await?
            .ok_or_else(|| damaged("its catalog has no table of messages"))?;
        let last = self.look(database, |pages| trees.last_body(pages)).await?;
        Ok(MessageTable {
            database,
            trees,
            last_body: Cell::new(last.map_or(0, |id| id.0)),
        })
    }

    /// Reads a message; `None` when there is none. The body is read from the long values only if `with_body`.
    ///
    /// # Errors
    /// When a page cannot be read or a record makes no sense.
    pub async fn read_message(
        &self,
        table: &MessageTable,
        id: i64,
        with_body: bool,
    ) -> Result<Option<ReadMessage>, EngineError> {
        let Some(record) = self
            .read(table.database, table.trees.records, &primary_key(id))
            .await?
        else {
            return Ok(None);
        };
        let message = self.decode(table, &record)?;
        let body = match message.body {
            Body::Inside(body) => Some(body.to_vec()),
            Body::Apart(id) if with_body => Some(self.read_body(table, id).await?),
            Body::Apart(_) => None,
        };
        let Message {
            id,
            folder,
            received,
            version,
            subject,
            ..
        } = message;
        Ok(Some(ReadMessage {
            id,
            folder,
            received,
            version,
            subject: subject.to_vec(),
            body,
        }))
    }

    fn decode<'r>(
        &self,
        table: &MessageTable,
        record: &'r [u8],
    ) -> Result<Message<'r>, EngineError> {
        Message::decode(record, self.0.options.page_size).map_err(|_| EngineError::Damaged {
            path: self.database(table.database).path.clone(),
            what: "a record makes no sense",
        })
    }

    async fn read_body(
        &self,
        table: &MessageTable,
        id: LongValueId,
    ) -> Result<Vec<u8>, EngineError> {
        let bytes = self.body_bytes(table, id).await? as usize;
        let mut body = Vec::with_capacity(bytes);
        while body.len() < bytes {
            let offset = u32::try_from(body.len()).expect("a body is below 2 GiB");
            let chunk = self
                .read(table.database, table.trees.bodies, &id.chunk_key(offset))
                .await?;
            let expected = (bytes - body.len()).min(chunk_bytes(self.0.options.page_size));
            let chunk = chunk.filter(|chunk| chunk.len() == expected);
            body.extend_from_slice(&chunk.ok_or_else(|| self.torn_body(table))?);
        }
        Ok(body)
    }

    async fn body_bytes(&self, table: &MessageTable, id: LongValueId) -> Result<u32, EngineError> {
        let root = self
            .read(table.database, table.trees.bodies, &id.root_key())
            .await?;
        let root = root.and_then(|data| LongValueRoot::from_bytes(&data));
        root.map(|root| root.bytes)
            .ok_or_else(|| self.torn_body(table))
    }

    fn torn_body(&self, table: &MessageTable) -> EngineError {
        EngineError::Damaged {
            path: self.database(table.database).path.clone(),
            what: "a long value lacks a part",
        }
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
        self.run(
            table,
            operations::insert(&table.trees, size, &new.with_body(table.next_body())),
        )
        .await
    }

    /// Deletes a message.
    ///
    /// # Errors
    /// [`EngineError::RecordNotFound`], [`EngineError::WriteConflict`].
    pub async fn delete_message(&self, table: &MessageTable, id: i64) -> Result<(), EngineError> {
        let record = self.locked_record(table, id).await?;
        let old = self.stored(table, &record).await?;
        let size = self.instance().options().page_size;
        self.run(table, operations::delete(&table.trees, size, &old))
            .await
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
        let record = self.locked_record(table, new.id).await?;
        let old = self.stored(table, &record).await?;
        let size = self.instance().options().page_size;
        let new = new.with_body(table.next_body());
        self.run(table, operations::replace(&table.trees, size, &old, &new))
            .await
    }

    async fn locked_record(&self, table: &MessageTable, id: i64) -> Result<Vec<u8>, EngineError> {
        let key = primary_key(id);
        self.lock(table.database, table.trees.records, &key)?;
        let record = self
            .instance()
            .read(table.database, table.trees.records, &key)
            .await?;
        record.ok_or(EngineError::RecordNotFound)
    }

    async fn stored<'r>(
        &self,
        table: &MessageTable,
        record: &'r [u8],
    ) -> Result<Stored<'r>, EngineError> {
        let message = self.instance().decode(table, record)?;
        let body_bytes = match message.body {
            Body::Inside(_) => 0,
            Body::Apart(id) => self.instance().body_bytes(table, id).await?,
        };
        Ok(Stored {
            message,
            body_bytes,
        })
    }

    async fn run(
        &self,
        table: &MessageTable,
        operations: Vec<TreeOperation>,
    ) -> Result<(), EngineError> {
        for operation in operations {
            let TreeOperation {
                tree,
                kind,
                key,
                data,
            } = &operation;
            match kind {
                OperationKind::Insert => self.insert(table.database, *tree, key, data).await?,
                OperationKind::Delete => {
                    self.delete(table.database, *tree, &operation.sort_key())
                        .await?
                }
                OperationKind::Replace => self.replace(table.database, *tree, key, data).await?,
            }
        }
        Ok(())
    }
}

impl<'a> NewContent<'a> {
    fn with_body(&self, body_id: LongValueId) -> NewMessage<'a> {
        let Self {
            id,
            folder,
            received,
            version,
            subject,
            body,
        } = *self;
        NewMessage {
            id,
            folder,
            received,
            version,
            subject,
            body,
            body_id,
        }
    }
}
