//! What happens to a message, as single changes to trees.
//!
//! Pure: from what there is and what there shall be to a list of [`TreeOperation`]s in the order in which they are to be
//! carried out, each with undo information. Bodies come before the record that points to them, and go after it; so whoever
//! reads in between, under no lock, never follows an id into nothing.

use brunt_units::PageSize;

use super::Messages;
use super::message::{Body, Message, received_key, stays_inside};
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::tree::TreeId;

/// A single change to a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeOperation {
    /// The tree.
    pub tree: TreeId,
    /// What is done.
    pub kind: OperationKind,
    /// The entry's key.
    pub key: Vec<u8>,
    /// The data: new for an insert or a replacement; for a delete the data that orders the entry, where keys are not
    /// unique, and otherwise nothing.
    pub data: Vec<u8>,
}

/// What is done to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// It is put in.
    Insert,
    /// It is marked deleted.
    Delete,
    /// It gets other data.
    Replace,
}

impl TreeOperation {
    /// What the entry is found by: its key, and behind it the data of a delete.
    pub fn sort_key(&self) -> Vec<u8> {
        match self.kind {
            OperationKind::Delete => [self.key.as_slice(), &self.data].concat(),
            OperationKind::Insert | OperationKind::Replace => self.key.clone(),
        }
    }
}

/// A message as a user gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMessage<'a> {
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
    /// The long pad, of any length below 2 GiB.
    pub body: &'a [u8],
    /// The id its body gets if it does not stay in the record; one that no body has had.
    pub body_id: LongValueId,
}

/// A message as it is in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its record.
    pub message: Message<'a>,
    /// Bytes in its body, from the root node of the long value; only looked at when the body is apart.
    pub body_bytes: u32,
}

/// A list in the making.
struct List {
    trees: Messages,
    size: PageSize,
    operations: Vec<TreeOperation>,
}

/// A new message.
pub fn insert(trees: &Messages, size: PageSize, new: &NewMessage<'_>) -> Vec<TreeOperation> {
    let mut list = List::new(trees, size);
    let body = list.insert_body(new);
    let message = new.stored(body);
    list.record(OperationKind::Insert, &message);
    list.index(OperationKind::Insert, &message);
    list.operations
}

/// A message goes.
pub fn delete(trees: &Messages, size: PageSize, old: &Stored<'_>) -> Vec<TreeOperation> {
    let mut list = List::new(trees, size);
    list.index(OperationKind::Delete, &old.message);
    list.delete_record(&old.message);
    if let Body::Apart(id) = old.message.body {
        list.delete_body(id, old.body_bytes);
    }
    list.operations
}

/// A message becomes another one with the same id. A body that was apart and stays apart keeps its id, and only chunks
/// that are there on one side only are inserted or deleted.
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
        Self {
            trees: *trees,
            size,
            operations: Vec::new(),
        }
    }

    fn push(&mut self, tree: TreeId, kind: OperationKind, key: Vec<u8>, data: Vec<u8>) {
        self.operations.push(TreeOperation {
            tree,
            kind,
            key,
            data,
        });
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

    /// Puts a body where it belongs.
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
            // The root says no more than the length.
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
        std::iter::once(id.root_key().to_vec())
            .chain(chunks)
            .collect()
    }
}
