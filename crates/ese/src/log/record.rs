//! Log records: their content and encoding.
//!
//! ```text
//!  type u8 | length u24 | body
//!
//!  1 start      position at which the previous generation ended (8 bytes)
//!  2 attach     database u8 | time u64 | signature (28 bytes)
//!  3 detach     database u8 | time u64
//!  4 change     database u8 | time u64 | transaction u32 | role u8 | role's bytes | image of the pages' changes
//!  5 commit     transaction u32
//!  6 rolled back  transaction u32
//!  7 grow       database u8 | time u64 | pages u32
//! ```
//!
//! Type 0 is not a record: it is the zero filling after the last record of a flush. The payloads
//! are brunt's own, not ESE's; the file's version says so, and a genuine engine refuses it.
//!
//! A transaction's change carries in its *role* what undoing it takes. This is logical (tree, key,
//! former data), because by the time of the undo other changes may have moved the record to another
//! page.

use brunt_units::{DatabaseTime, LogPosition, PageNumber};

use crate::format::page::ObjectId;
use crate::tree::TreeId;

/// Bytes of a record before its body: its type and its length.
pub const RECORD_HEAD: usize = 4;
/// Bytes of a database signature.
pub const SIGNATURE: usize = 28;

/// Content of a log record, borrowed from the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRecord<'a> {
    /// The first record of every generation. Names the end of the previous one.
    Start {
        /// One past the last record of the previous generation.
        previous_end: LogPosition,
    },
    /// A database is attached from here on.
    Attach {
        /// Its number within the instance.
        database: u8,
        /// Time of its latest change.
        time: DatabaseTime,
        signature: &'a [u8; SIGNATURE],
    },
    /// A database is clean and detached.
    Detach {
        /// Its number within the instance.
        database: u8,
        /// Time of its latest change.
        time: DatabaseTime,
    },
    /// A change of pages.
    Change {
        /// The database's number within the instance.
        database: u8,
        /// Time of the pages after the change.
        time: DatabaseTime,
        /// The transaction it belongs to; 0 for a system change, which is never undone.
        transaction: u32,
        /// Role in its transaction.
        role: Role<'a>,
        /// See [`crate::page::PageChanges`].
        image: &'a [u8],
    },
    /// A transaction has committed.
    Commit {
        /// Its number.
        transaction: u32,
    },
    /// All changes of a transaction have been undone.
    RolledBack {
        /// Its number.
        transaction: u32,
    },
    /// A database file has grown.
    Grow {
        /// The database's number within the instance.
        database: u8,
        /// The time of the growth.
        time: DatabaseTime,
        /// Its new size in pages, without headers.
        pages: u32,
    },
}

/// The role of a change in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// Nothing to undo: splits, merges, space.
    System,
    /// A node was inserted; undoing removes it.
    Insert(NodeAt<'a>),
    /// A node was marked deleted; undoing clears the mark, and after the commit the node may be
    /// removed.
    Delete(NodeAt<'a>),
    /// A node's data was replaced; undoing restores this data.
    Replace(NodeAt<'a>, &'a [u8]),
    /// A node's deletion mark, set by the same transaction, was cleared; undoing sets it again.
    Unmark(NodeAt<'a>),
    /// Undoes the transaction's newest remaining step.
    Undo,
    /// Removes a node that a committed transaction had marked deleted.
    Cleanup(NodeAt<'a>),
}

/// A node, identified so that it can be found after it has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAt<'a> {
    pub tree: TreeId,
    /// The key within the tree.
    pub key: &'a [u8],
}

/// Appends the encoding of `record` to `out`, head included.
///
/// # Panics
/// When it is longer than 2²⁴ − 1 bytes.
pub fn encode(record: &LogRecord<'_>, out: &mut Vec<u8>) {
    let head = out.len();
    out.extend_from_slice(&[0; RECORD_HEAD]);
    let kind = match *record {
        LogRecord::Start { previous_end } => {
            out.extend_from_slice(&previous_end.to_bytes());
            1
        }
        LogRecord::Attach { database, time, signature } => {
            put_database(out, database, time);
            out.extend_from_slice(signature);
            2
        }
        LogRecord::Detach { database, time } => {
            put_database(out, database, time);
            3
        }
        LogRecord::Change { database, time, transaction, role, image } => {
            put_database(out, database, time);
            out.extend_from_slice(&transaction.to_le_bytes());
            put_role(out, role);
            out.extend_from_slice(image);
            4
        }
        LogRecord::Commit { transaction } => {
            out.extend_from_slice(&transaction.to_le_bytes());
            5
        }
        LogRecord::RolledBack { transaction } => {
            out.extend_from_slice(&transaction.to_le_bytes());
            6
        }
        LogRecord::Grow { database, time, pages } => {
            put_database(out, database, time);
            out.extend_from_slice(&pages.to_le_bytes());
            7
        }
    };
    let length =
        u32::try_from(out.len() - head - RECORD_HEAD).expect("log records are below 2^24 bytes");
    assert!(length < 1 << 24, "log record of {length} bytes");
    out[head..head + RECORD_HEAD].copy_from_slice(&(length << 8 | kind).to_le_bytes());
}

/// The type and body length in a record's head; `None` for the filling at the end of a flush.
pub fn head(bytes: [u8; RECORD_HEAD]) -> Option<(u8, usize)> {
    let [kind, length @ ..] = bytes;
    let length = u32::from_le_bytes([length[0], length[1], length[2], 0]);
    (kind != 0).then_some((kind, length as usize))
}

/// Decodes the body of a record of type `kind`; `None` when it is malformed.
pub fn decode(kind: u8, body: &[u8]) -> Option<LogRecord<'_>> {
    let mut rest = Reader(body);
    let record = match kind {
        1 => LogRecord::Start { previous_end: LogPosition::from_bytes(*rest.array()?) },
        2 => LogRecord::Attach {
            database: rest.byte()?,
            time: DatabaseTime(u64::from_le_bytes(*rest.array()?)),
            signature: rest.array()?,
        },
        3 => LogRecord::Detach {
            database: rest.byte()?,
            time: DatabaseTime(u64::from_le_bytes(*rest.array()?)),
        },
        4 => LogRecord::Change {
            database: rest.byte()?,
            time: DatabaseTime(u64::from_le_bytes(*rest.array()?)),
            transaction: rest.u32()?,
            role: rest.role()?,
            image: std::mem::take(&mut rest.0),
        },
        5 => LogRecord::Commit { transaction: rest.u32()? },
        6 => LogRecord::RolledBack { transaction: rest.u32()? },
        7 => LogRecord::Grow {
            database: rest.byte()?,
            time: DatabaseTime(u64::from_le_bytes(*rest.array()?)),
            pages: rest.u32()?,
        },
        _ => return None,
    };
    rest.0.is_empty().then_some(record)
}

fn put_database(out: &mut Vec<u8>, database: u8, time: DatabaseTime) {
    out.push(database);
    out.extend_from_slice(&time.0.to_le_bytes());
}

fn put_role(out: &mut Vec<u8>, role: Role<'_>) {
    match role {
        Role::System => out.push(0),
        Role::Insert(node) => put_node(out, 1, node),
        Role::Delete(node) => put_node(out, 2, node),
        Role::Replace(node, former) => {
            put_node(out, 3, node);
            put_bytes(out, former);
        }
        Role::Undo => out.push(4),
        Role::Cleanup(node) => put_node(out, 5, node),
        Role::Unmark(node) => put_node(out, 6, node),
    }
}

fn put_node(out: &mut Vec<u8>, kind: u8, node: NodeAt<'_>) {
    out.push(kind);
    out.extend_from_slice(&node.tree.root.0.to_le_bytes());
    out.extend_from_slice(&node.tree.object.0.to_le_bytes());
    put_bytes(out, node.key);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("nodes are below 2^16 bytes");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(array)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| *byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(u16::from_le_bytes(*self.array()?));
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn node(&mut self) -> Option<NodeAt<'a>> {
        let root = PageNumber(self.u32()?);
        let object = ObjectId(self.u32()?);
        Some(NodeAt { tree: TreeId { root, object }, key: self.bytes()? })
    }

    fn role(&mut self) -> Option<Role<'a>> {
        Some(match self.byte()? {
            0 => Role::System,
            1 => Role::Insert(self.node()?),
            2 => Role::Delete(self.node()?),
            3 => Role::Replace(self.node()?, self.bytes()?),
            4 => Role::Undo,
            5 => Role::Cleanup(self.node()?),
            6 => Role::Unmark(self.node()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<LogRecord<'static>> {
        let node =
            NodeAt { tree: TreeId { root: PageNumber(31), object: ObjectId(8) }, key: b"key" };
        let change = |role| LogRecord::Change {
            database: 2,
            time: DatabaseTime(77),
            transaction: 9,
            role,
            image: &[1, 2, 3],
        };
        vec![
            LogRecord::Start { previous_end: LogPosition { generation: 4, segment: 5, byte: 6 } },
            LogRecord::Attach { database: 1, time: DatabaseTime(5), signature: &[7; SIGNATURE] },
            LogRecord::Detach { database: 1, time: DatabaseTime(6) },
            change(Role::System),
            change(Role::Insert(node)),
            change(Role::Delete(node)),
            change(Role::Replace(node, b"former")),
            change(Role::Undo),
            change(Role::Cleanup(node)),
            change(Role::Unmark(node)),
            LogRecord::Commit { transaction: 9 },
            LogRecord::RolledBack { transaction: 9 },
            LogRecord::Grow { database: 0, time: DatabaseTime(8), pages: 512 },
        ]
    }

    #[test]
    fn records_round_trip_and_truncations_are_refused() {
        for record in samples() {
            let mut bytes = Vec::new();
            encode(&record, &mut bytes);
            let (kind, length) = head(*bytes.first_chunk().unwrap()).unwrap();
            let body = &bytes[RECORD_HEAD..];
            assert_eq!(length, body.len());
            assert_eq!(decode(kind, body), Some(record));
            let image = matches!(record, LogRecord::Change { .. });
            for short in 0..body.len() - if image { 3 } else { 0 } {
                assert_eq!(decode(kind, &body[..short]), None, "{record:?} cut to {short}");
            }
        }
        assert_eq!(head([0; 4]), None);
    }
}
