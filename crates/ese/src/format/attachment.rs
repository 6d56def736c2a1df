//! Which databases a log stream is attached to: a list in log headers and in the checkpoint file.
//!
//! ```text
//!     0   1  database id, 1 and up; a zero byte ends the list
//!     1   1  flags: 1 = the path is UTF-16
//!     2   2  bytes of the path
//!     4   8  database time
//!    12   4  highest object id
//!    16   4  maximum pages of the database, 0 = no limit
//!    20   8  attached at this log position
//!    28   8  consistent at this log position
//!    36  28  signature of the database
//!    64      path, UTF-16, ended by a zero
//! ```
//!
//! The list has 2,048 bytes, so long paths limit how many databases fit.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/log.hxx (`ATTACHINFO`).

use brunt_units::{DatabaseTime, LogPosition};

use super::field::{array_at, put, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use super::page::ObjectId;
use super::stamp::Signature;

/// Bytes of the list.
pub const ATTACHMENTS_BYTES: usize = 2048;

const FIXED_BYTES: usize = 64;

/// Databases that fit into the list without paths: even an empty path has a terminator.
pub const ATTACHMENTS_MAX: usize = (ATTACHMENTS_BYTES - 1).div_euclid(FIXED_BYTES + 2);

const UNICODE: u8 = 1;

/// One attached database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Number in the log stream, from 1.
    pub database_id: u8,
    /// Database time when this was written.
    pub time: DatabaseTime,
    /// Highest object id in use.
    pub object_max: ObjectId,
    pub attached: LogPosition,
    /// Log position at which it was last consistent.
    pub consistent: LogPosition,
    /// Signature of the database.
    pub signature: Signature,
    pub path: String,
}

/// The databases do not fit into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attachment list needs {bytes} of 2048 bytes (fewer databases, or shorter paths)")]
pub struct TooManyAttachments {
    /// Bytes that they would take.
    pub bytes: usize,
}

impl Attachment {
    /// Encodes the list: [`ATTACHMENTS_BYTES`] bytes.
    ///
    /// # Errors
    /// [`TooManyAttachments`].
    ///
    /// # Panics
    /// When a database id is 0.
    pub fn list_to_bytes(list: &[Self]) -> Result<Vec<u8>, TooManyAttachments> {
        let mut bytes = Vec::new();
        for attachment in list {
            attachment.append_to(&mut bytes)?;
        }
        // One byte must remain for the terminator.
        if bytes.len() >= ATTACHMENTS_BYTES {
            return Err(TooManyAttachments { bytes: bytes.len() + 1 });
        }
        bytes.resize(ATTACHMENTS_BYTES, 0);
        Ok(bytes)
    }

    fn append_to(&self, bytes: &mut Vec<u8>) -> Result<(), TooManyAttachments> {
        assert!(self.database_id > 0, "database id 0 ends the list");
        let mut entry = vec![0; FIXED_BYTES];
        entry.extend(self.path.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        let path_bytes = entry.len() - FIXED_BYTES;
        let path_bytes =
            u16::try_from(path_bytes).map_err(|_| TooManyAttachments { bytes: path_bytes })?;
        entry[0] = self.database_id;
        entry[1] = UNICODE;
        put_u16(&mut entry, 2, path_bytes);
        put_u64(&mut entry, 4, self.time.0);
        put_u32(&mut entry, 12, self.object_max.0);
        put(&mut entry, 20, &self.attached.to_bytes());
        put(&mut entry, 28, &self.consistent.to_bytes());
        self.signature.write(&mut entry, 36);
        bytes.extend(entry);
        Ok(())
    }

    /// Decodes a list. `None` when an entry extends past the end or its path is not UTF-16.
    pub fn list_from_bytes(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut list = Vec::new();
        while bytes.first().is_some_and(|id| *id != 0) {
            let entry = bytes.get(..FIXED_BYTES)?;
            let end = FIXED_BYTES + usize::from(u16_at(entry, 2));
            let path = bytes.get(FIXED_BYTES..end)?;
            list.push(Self {
                database_id: entry[0],
                time: DatabaseTime(u64_at(entry, 4)),
                object_max: ObjectId(u32_at(entry, 12)),
                attached: LogPosition::from_bytes(array_at(entry, 20)),
                consistent: LogPosition::from_bytes(array_at(entry, 28)),
                signature: Signature::read(entry, 36),
                path: path_text(path, entry[1] & UNICODE != 0)?,
            });
            bytes = &bytes[end..];
        }
        Some(list)
    }
}

/// The path up to its terminator. Old engines wrote one byte per character.
fn path_text(path: &[u8], unicode: bool) -> Option<String> {
    if !unicode {
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        return Some(path[..end].iter().map(|byte| char::from(*byte)).collect());
    }
    let (units, _) = path.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(database_id: u8, path: &str) -> Attachment {
        Attachment {
            database_id,
            time: DatabaseTime(7),
            object_max: ObjectId(12),
            attached: LogPosition::start_of(3),
            consistent: LogPosition::start_of(2),
            signature: Signature { random: 99, ..Signature::default() },
            path: path.into(),
        }
    }

    #[test]
    fn lists_come_back() {
        let list = [attachment(1, "/data/Jetstress001001.edb"), attachment(2, "/d/ä.edb")];
        let bytes = Attachment::list_to_bytes(&list).unwrap();
        assert_eq!(bytes.len(), ATTACHMENTS_BYTES);
        assert_eq!(Attachment::list_from_bytes(&bytes).as_deref(), Some(&list[..]));
        assert_eq!(Attachment::list_from_bytes(&[0; 8]), Some(Vec::new()));
    }

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        let long = attachment(1, &"x".repeat(991));
        assert!(Attachment::list_to_bytes(std::slice::from_ref(&long)).is_err());
        let fits = attachment(1, &"x".repeat(990));
        assert!(Attachment::list_to_bytes(&[fits]).is_ok());
    }

    #[test]
    fn any_bytes_are_a_list_or_none() {
        let mut random = brunt_world::random::Streams::new(6).named("lists");
        let mut bytes = [0; ATTACHMENTS_BYTES];
        for _ in 0..200 {
            random.fill(&mut bytes);
            let _ = Attachment::list_from_bytes(&bytes);
        }
    }
}
