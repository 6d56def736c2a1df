//! Operations on messages as lists of changes to trees.
//!
//! Pure: from the old and new state of a message to a list of [`TreeOperation`]s in execution
//! order, each with undo information. A body is inserted before the record that points to it and
//! deleted after it, so an unlocked reader never finds an id without a body.

use brunt_units::PageSize;

use super::Messages;
use super::message::{Body, Message, received_key, stays_inside};
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::tree::TreeId;

/// A change of one entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeOperation {
    pub tree: TreeId,
    /// Kind of change.
    pub kind: OperationKind,
    /// The entry's key.
    pub key: Vec<u8>,
    /// Data: the new data for an insert or a replacement; for a delete in a tree with non-unique
    /// keys the data that orders the entry, otherwise empty.
    pub data: Vec<u8>,
}

/// Kind of change to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    Insert,
    /// Mark it deleted.
    Delete,
    /// Replace its data.
    Replace,
}

impl TreeOperation {
    /// The key to find the entry by: its key, followed by the data of a delete.
    pub fn sort_key(&self) -> Vec<u8> {
        match self.kind {
            OperationKind::Delete => [self.key.as_slice(), &self.data].concat(),
            OperationKind::Insert | OperationKind::Replace => self.key.clone(),
        }
    }
}

/// A message to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMessage<'a> {
    /// Primary key.
    pub id: i64,
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Version; each replacement increments it.
    pub version: i32,
    /// The short pad, at most 255 bytes.
    pub subject: &'a [u8],
    /// The long pad, of any length below 2 GiB.
    pub body: &'a [u8],
    /// Id of the body if it does not stay in the record; never used before.
    pub body_id: LongValueId,
}

/// A message in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its record.
    pub message: Message<'a>,
    /// Length of its body from the root node of the long value; only read when the body is
    /// separate.
    pub body_bytes: u32,
}

/// A list under construction.
struct List {
    trees: Messages,
    size: PageSize,
    operations: Vec<TreeOperation>,
}

pub fn insert(trees: &Messages, size: PageSize, new: &NewMessage<'_>) -> Vec<TreeOperation> {
    let mut list = List::new(trees, size);
    let body = list.insert_body(new);
    let message = new.stored(body);
    list.record(OperationKind::Insert, &message);
    list.index(OperationKind::Insert, &message);
    list.operations
}

pub fn delete(trees: &Messages, size: PageSize, old: &Stored<'_>) -> Vec<TreeOperation> {
    let mut list = List::new(trees, size);
    list.index(OperationKind::Delete, &old.message);
    list.delete_record(&old.message);
    if let Body::Apart(id) = old.message.body {
        list.delete_body(id, old.body_bytes);
    }
    list.operations
}

/// Replaces a message by another with the same id. A body that was separate and stays so keeps its
/// id; only chunks that exist on one side are inserted or deleted.
///
/// # Panics
/// When the ids differ.
pub fn replace(
    trees: &Messages,
    size: PageSize,
    old: &Stored<'_>,
    new: &NewMessage<'_>,
) -> Vec<TreeOperation> {
    assert_eq!(old.message.id, new.id, "a message keeps its id");
    let mut list = List::new(trees, size);
    let body = match old.message.body {
        Body::Apart(id) if !stays_inside(size, new.body.len()) => {
            list.replace_body(id, old.body_bytes, new.body);
            Body::Apart(id)
        }
        _ => list.insert_body(new),
    };
    let message = new.stored(body);
    list.record(OperationKind::Replace, &message);
    if message.received_key() != old.message.received_key() {
        list.index(OperationKind::Delete, &old.message);
        list.index(OperationKind::Insert, &message);
    }
    if let (Body::Apart(id), Body::Inside(_)) = (old.message.body, body) {
        list.delete_body(id, old.body_bytes);
    }
    list.operations
}

/// The nodes of a body in the long-value tree, in key order: its root, then its chunks.
pub fn body_nodes(
    size: PageSize,
    id: LongValueId,
    body: &[u8],
) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let root = LongValueRoot {
        references: 1,
        bytes: u32::try_from(body.len()).expect("a body is below 2 GiB"),
    };
    let chunks = (0_u32..)
        .step_by(chunk_bytes(size))
        .zip(body.chunks(chunk_bytes(size)))
        .map(move |(offset, chunk)| (id.chunk_key(offset).to_vec(), chunk.to_vec()));
    std::iter::once((id.root_key().to_vec(), root.to_bytes().to_vec())).chain(chunks)
}

impl<'a> NewMessage<'a> {
    fn stored(&self, body: Body<'a>) -> Message<'a> {
        Message {
            id: self.id,
            folder: self.folder,
            received: self.received,
            version: self.version,
            subject: self.subject,
            body,
        }
    }
}

impl List {
    fn new(trees: &Messages, size: PageSize) -> Self {
        Self { trees: *trees, size, operations: Vec::new() }
    }

    fn push(&mut self, tree: TreeId, kind: OperationKind, key: Vec<u8>, data: Vec<u8>) {
        self.operations.push(TreeOperation { tree, kind, key, data });
    }

    fn record(&mut self, kind: OperationKind, message: &Message<'_>) {
        let mut record = Vec::new();
        message.encode(self.size, &mut record);
        let key = message.primary_key().to_vec();
        self.push(self.trees.records, kind, key, record);
    }

    fn delete_record(&mut self, message: &Message<'_>) {
        let key = message.primary_key().to_vec();
        self.push(self.trees.records, OperationKind::Delete, key, Vec::new());
    }

    fn index(&mut self, kind: OperationKind, message: &Message<'_>) {
        let key = received_key(message.folder, message.received).to_vec();
        let bookmark = message.primary_key().to_vec();
        self.push(self.trees.by_received, kind, key, bookmark);
    }

    /// Stores a body in the record or the long-value tree.
    fn insert_body<'b>(&mut self, new: &NewMessage<'b>) -> Body<'b> {
        if stays_inside(self.size, new.body.len()) {
            return Body::Inside(new.body);
        }
        for (key, data) in body_nodes(self.size, new.body_id, new.body) {
            self.push(self.trees.bodies, OperationKind::Insert, key, data);
        }
        Body::Apart(new.body_id)
    }

    fn delete_body(&mut self, id: LongValueId, bytes: u32) {
        for key in self.body_keys(id, bytes) {
            self.push(self.trees.bodies, OperationKind::Delete, key, Vec::new());
        }
    }

    fn replace_body(&mut self, id: LongValueId, bytes: u32, body: &[u8]) {
        let mut old = self.body_keys(id, bytes).into_iter();
        let same_length = usize::try_from(bytes).is_ok_and(|bytes| bytes == body.len());
        let nodes: Vec<_> = body_nodes(self.size, id, body).collect();
        for (index, (key, data)) in nodes.into_iter().enumerate() {
            let kind = match old.next() {
                Some(_) => OperationKind::Replace,
                None => OperationKind::Insert,
            };
            // The root stores only the length.
            if index > 0 || !same_length {
                self.push(self.trees.bodies, kind, key, data);
            }
        }
        for key in old {
            self.push(self.trees.bodies, OperationKind::Delete, key, Vec::new());
        }
    }

    /// The keys of a body's nodes.
    fn body_keys(&self, id: LongValueId, bytes: u32) -> Vec<Vec<u8>> {
        let chunks = (0..bytes).step_by(chunk_bytes(self.size));
        let chunks = chunks.map(|offset| id.chunk_key(offset).to_vec());
        std::iter::once(id.root_key().to_vec()).chain(chunks).collect()
    }
}
