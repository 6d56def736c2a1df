//! A message as a record, and its keys.
//!
//! ```text
//!     0  1   4, the last fixed column           1  1   128, the last variable one
//!     2  2   29, where variable offsets begin
//!     4  8   Id                                12  4   Folder
//!    16  8   Received                          24  4   Version
//!    28  1   0xF0: none of the four is NULL
//!    29  2   bytes of Subject                  31  n   Subject
//!        2   256, the column Body                   2   4, where its bytes begin; 0x4000 on small pages
//!        1   flags: long, and separated if so       m   the body, or its id in the long-value tree
//! ```
//!
//! Encoding goes straight into a buffer, because a bulk load writes millions of records. A test
//! compares it with the general encoder of [`crate::format::record`], which also does the decoding.

use brunt_units::PageSize;

use crate::format::column::{ColumnId, FixedLayout};
use crate::format::long_value::{INTRINSIC_BYTES_MAX, LongValueId};
use crate::format::record::{Record, RecordError, TaggedFlags};

/// The column `Id`.
pub const ID: ColumnId = ColumnId(1);
/// The column `Folder`.
pub const FOLDER: ColumnId = ColumnId(2);
/// The column `Received`.
pub const RECEIVED: ColumnId = ColumnId(3);
/// The column `Version`.
pub const VERSION: ColumnId = ColumnId(4);
/// The column `Subject`.
pub const SUBJECT: ColumnId = ColumnId(128);
/// The column `Body`.
pub const BODY: ColumnId = ColumnId(256);

/// Maximum length of a subject.
pub const SUBJECT_BYTES_MAX: usize = 255;
/// Maximum length of a body that stays in its record.
pub const BODY_BYTES_INSIDE: usize = INTRINSIC_BYTES_MAX;

/// The same, for pages of 32 KiB.
pub const BODY_BYTES_INSIDE_LARGE: usize = 2 << 10;

/// Length of a key of the primary index.
pub const PRIMARY_KEY_BYTES: usize = 9;
/// Length of a key of the index `FolderReceived`.
pub const RECEIVED_KEY_BYTES: usize = 14;

const FIXED_BYTES: [usize; 4] = [8, 4, 8, 4];
const OFFSETS_AT: u16 = 29;
const NOT_NULL: u8 = 0xF0;
const SMALL_HAS_FLAGS: u16 = 0x4000;
const ENTRY_BYTES: u16 = 4;
const SEGMENT: u8 = 0x7F;

/// Location of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// In the record.
    Inside(&'a [u8]),
    /// In the long-value tree.
    Apart(LongValueId),
}

/// A record of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Primary key.
    pub id: i64,
    pub folder: i32,
    /// When it was received.
    pub received: i64,
    /// Version; each replacement increments it.
    pub version: i32,
    /// The short pad, at most [`SUBJECT_BYTES_MAX`] bytes.
    pub subject: &'a [u8],
    /// The long pad.
    pub body: Body<'a>,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// They are not a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A column has no value, or one that does not match its type.
    #[error("column {0} has no value that makes sense")]
    Column(u16),
}

/// Layout of the fixed columns.
pub fn layout() -> FixedLayout {
    FixedLayout::new(FIXED_BYTES)
}

/// Whether a body of `body_bytes` stays in its record, on pages of `size`.
///
/// Records of 32 KiB pages keep bodies of up to 2 KiB: the application may request that
/// (`JET_bitSetIntrinsicLV`), and published tests of Exchange 2013, whose records have 2,200 bytes,
/// read only one page per operation.
pub fn stays_inside(size: PageSize, body_bytes: usize) -> bool {
    let most = match size {
        PageSize::KIB_32 => BODY_BYTES_INSIDE_LARGE,
        _ => BODY_BYTES_INSIDE,
    };
    body_bytes <= most
}

impl<'a> Message<'a> {
    /// Encodes the record for pages of `size`, replacing the content of `record`.
    ///
    /// # Panics
    /// When the subject exceeds [`SUBJECT_BYTES_MAX`], or a body inside exceeds [`stays_inside`].
    pub fn encode(&self, size: PageSize, record: &mut Vec<u8>) {
        assert!(self.subject.len() <= SUBJECT_BYTES_MAX, "a subject");
        record.clear();
        record.extend_from_slice(&[4, 128]);
        record.extend_from_slice(&OFFSETS_AT.to_le_bytes());
        record.extend_from_slice(&self.id.to_le_bytes());
        record.extend_from_slice(&self.folder.to_le_bytes());
        record.extend_from_slice(&self.received.to_le_bytes());
        record.extend_from_slice(&self.version.to_le_bytes());
        record.push(NOT_NULL);
        let subject = u16::try_from(self.subject.len()).expect("at most 255");
        record.extend_from_slice(&subject.to_le_bytes());
        record.extend_from_slice(self.subject);
        record.extend_from_slice(&BODY.0.to_le_bytes());
        let has_flags = if size.is_large() { 0 } else { SMALL_HAS_FLAGS };
        record.extend_from_slice(&(ENTRY_BYTES | has_flags).to_le_bytes());
        match self.body {
            Body::Inside(bytes) => {
                assert!(stays_inside(size, bytes.len()), "a body inside its record");
                record.push(TaggedFlags::LONG.0);
                record.extend_from_slice(bytes);
            }
            Body::Apart(id) => {
                record.push(TaggedFlags::LONG.0 | TaggedFlags::SEPARATED.0);
                record.extend_from_slice(&id.to_bytes());
            }
        }
    }

    /// Decodes a record from a page of `size`.
    ///
    /// # Errors
    /// [`MessageError`] when a column is missing or malformed.
    pub fn decode(record: &'a [u8], size: PageSize) -> Result<Self, MessageError> {
        let record = Record::new(record, size)?;
        let layout = layout();
        let missing = |column: ColumnId| MessageError::Column(column.0);
        let long = |column| -> Result<i64, MessageError> {
            let bytes = record.fixed(&layout, column)?;
            let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
            bytes.map(i64::from_le_bytes).ok_or(missing(column))
        };
        let short = |column| -> Result<i32, MessageError> {
            let bytes = record.fixed(&layout, column)?;
            let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
            bytes.map(i32::from_le_bytes).ok_or(missing(column))
        };
        let body = record.tagged_column(BODY)?.ok_or(missing(BODY))?;
        let body = match body.separated() {
            Some(id) => Body::Apart(id),
            None => Body::Inside(body.bytes),
        };
        Ok(Self {
            id: long(ID)?,
            folder: short(FOLDER)?,
            received: long(RECEIVED)?,
            version: short(VERSION)?,
            subject: record.variable(SUBJECT)?.ok_or(missing(SUBJECT))?,
            body,
        })
    }

    /// The key in the primary index.
    pub fn primary_key(&self) -> [u8; PRIMARY_KEY_BYTES] {
        primary_key(self.id)
    }

    /// The key in the index `FolderReceived`.
    pub fn received_key(&self) -> [u8; RECEIVED_KEY_BYTES] {
        received_key(self.folder, self.received)
    }
}

/// The key of message `id` in the primary index.
pub fn primary_key(id: i64) -> [u8; PRIMARY_KEY_BYTES] {
    let mut key = [SEGMENT; PRIMARY_KEY_BYTES];
    key[1..].copy_from_slice(&sign_flipped_64(id));
    key
}

/// The key in the index `FolderReceived`.
pub fn received_key(folder: i32, received: i64) -> [u8; RECEIVED_KEY_BYTES] {
    let mut key = [SEGMENT; RECEIVED_KEY_BYTES];
    let folder = folder.cast_unsigned() ^ 1 << 31;
    key[1..5].copy_from_slice(&folder.to_be_bytes());
    key[6..].copy_from_slice(&sign_flipped_64(received));
    key
}

fn sign_flipped_64(value: i64) -> [u8; 8] {
    (value.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::key::{KEY_BYTES_MAX, KeyBuilder};
    use crate::format::record::{Value, encode};

    #[test]
    fn a_message_is_the_record_that_the_format_says() {
        for size in PageSize::ALL {
            for body in [Body::Inside(&[5; 1000]), Body::Inside(&[]), Body::Apart(LongValueId(77))]
            {
                let message = Message {
                    id: -3,
                    folder: 12,
                    received: 1 << 40,
                    version: 1,
                    subject: &[9; 200],
                    body,
                };
                let mut record = vec![1; 3];
                message.encode(size, &mut record);
                let expected = encode(
                    &layout(),
                    size,
                    &[
                        (ID, Value::Bytes(&message.id.to_le_bytes())),
                        (FOLDER, Value::Bytes(&message.folder.to_le_bytes())),
                        (RECEIVED, Value::Bytes(&message.received.to_le_bytes())),
                        (VERSION, Value::Bytes(&message.version.to_le_bytes())),
                        (SUBJECT, Value::Bytes(message.subject)),
                        (
                            BODY,
                            match body {
                                Body::Inside(bytes) => Value::Intrinsic(bytes),
                                Body::Apart(id) => Value::Separated(id),
                            },
                        ),
                    ],
                );
                assert_eq!(record, expected);
                assert_eq!(Message::decode(&record, size), Ok(message));
            }
        }
    }

    #[test]
    fn keys_are_the_normalised_ones() {
        for (id, folder, received) in [(0, 0, 0), (-1, -7, i64::MIN), (i64::MAX, i32::MAX, 99)] {
            let primary = KeyBuilder::new().signed_64(id).build(KEY_BYTES_MAX);
            assert_eq!(primary_key(id).to_vec(), primary);
            let index = KeyBuilder::new().signed_32(folder).signed_64(received);
            assert_eq!(received_key(folder, received).to_vec(), index.build(KEY_BYTES_MAX));
        }
    }
}
