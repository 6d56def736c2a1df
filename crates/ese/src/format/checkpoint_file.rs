//! The checkpoint file: the log position from which recovery must read.
//!
//! ```text
//!      0    4  checksum, old XOR over 4,096 bytes
//!      4    8  checkpoint of the last full backup, zero
//!     12    8  checkpoint
//!     20   28  signature of the log stream; ours carries the marker
//!    648    8  consistency of the databases
//!    647    1  1 if the list of attached databases is present
//!    667    4  file type 4
//!    679 2048  attached databases, see `attachment`
//!   4096       second copy
//! ```
//!
//! The second copy is written after the first is durable. Losing both costs time, not data:
//! recovery then reads from the oldest log.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/log.hxx (`CHECKPOINT_FIXED`).

use brunt_units::LogPosition;

use super::attachment::{ATTACHMENTS_BYTES, Attachment, TooManyAttachments};
use super::checksum::{header_is_sound, seal_header};
use super::field::{array_at, put, put_u32, u32_at};
use super::header::FILE_TYPE_AT;
use super::stamp::{RunId, Signature};

/// Bytes of one copy.
pub const CHECKPOINT_BYTES: usize = 4096;
pub const CHECKPOINT_FILE_TYPE: u32 = 4;

const POSITION_AT: usize = 12;
/// Offset of the log signature: 28 bytes.
pub const SIGNATURE_AT: usize = 20;
const HAS_ATTACHMENTS_AT: usize = 647;
const CONSISTENCY_AT: usize = 648;
const ATTACHMENTS_AT: usize = 679;

/// Content of a checkpoint file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Recovery reads from here.
    pub position: LogPosition,
    /// From here on the databases may lack changes.
    pub consistency: LogPosition,
    /// The log stream it belongs to.
    pub signature: Signature,
    /// The attached databases.
    pub attachments: Vec<Attachment>,
}

/// Why bytes are not a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Neither copy has the right file type.
    #[error("not an ESE checkpoint file")]
    NotCheckpoint,
    /// The checksum is wrong in both copies.
    #[error("neither copy of the checkpoint has a valid checksum")]
    Checksum,
    /// The checksum is right but the list of databases is malformed.
    #[error("the checkpoint's list of databases is damaged")]
    Attachments,
}

impl Checkpoint {
    /// The run that created the log stream, if it was brunt.
    pub fn run_id(&self) -> Option<RunId> {
        self.signature.run_id()
    }

    /// Encodes and seals one copy.
    ///
    /// # Errors
    /// [`TooManyAttachments`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, TooManyAttachments> {
        let mut bytes = vec![0; CHECKPOINT_BYTES];
        put(&mut bytes, POSITION_AT, &self.position.to_bytes());
        self.signature.write(&mut bytes, SIGNATURE_AT);
        bytes[HAS_ATTACHMENTS_AT] = 1;
        put(&mut bytes, CONSISTENCY_AT, &self.consistency.to_bytes());
        put_u32(&mut bytes, FILE_TYPE_AT, CHECKPOINT_FILE_TYPE);
        let attachments = Attachment::list_to_bytes(&self.attachments)?;
        put(&mut bytes, ATTACHMENTS_AT, &attachments);
        seal_header(&mut bytes);
        Ok(bytes)
    }

    /// Reads a checkpoint file's bytes: the valid copy, or the further one of two. Logs that the
    /// other one needs may be gone.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn find(file: &[u8]) -> Result<Self, CheckpointError> {
        let mut trouble = CheckpointError::NotCheckpoint;
        let mut best: Option<Self> = None;
        for copy in file.chunks_exact(CHECKPOINT_BYTES).take(2) {
            match Self::read(copy) {
                Ok(found) => {
                    let is_better = best.as_ref().is_none_or(|best| {
                        found.signature == best.signature && found.position > best.position
                    });
                    if is_better {
                        best = Some(found);
                    }
                }
                Err(CheckpointError::NotCheckpoint) => {}
                Err(other) => trouble = other,
            }
        }
        best.ok_or(trouble)
    }

    /// Offset of the copy to write first, so that the result of [`Checkpoint::find`] stays until
    /// the write is durable.
    pub fn stale_copy(file: &[u8]) -> u64 {
        let best = Self::find(file).ok();
        let copies = (0..).zip(file.chunks_exact(CHECKPOINT_BYTES).take(2));
        let mut stale = copies.filter(|(_, copy)| Self::read(copy).ok() != best);
        stale.next().map_or(0, |(copy, _)| copy)
    }

    /// Decodes one copy.
    ///
    /// # Errors
    /// [`CheckpointError`].
    ///
    /// # Panics
    /// When `bytes` is not [`CHECKPOINT_BYTES`] long.
    pub fn read(bytes: &[u8]) -> Result<Self, CheckpointError> {
        assert_eq!(bytes.len(), CHECKPOINT_BYTES, "a copy of a checkpoint");
        if u32_at(bytes, FILE_TYPE_AT) != CHECKPOINT_FILE_TYPE {
            return Err(CheckpointError::NotCheckpoint);
        }
        if !header_is_sound(bytes) {
            return Err(CheckpointError::Checksum);
        }
        let list = &bytes[ATTACHMENTS_AT..ATTACHMENTS_AT + ATTACHMENTS_BYTES];
        let attachments = match bytes[HAS_ATTACHMENTS_AT] {
            0 => Vec::new(),
            _ => Attachment::list_from_bytes(list).ok_or(CheckpointError::Attachments)?,
        };
        Ok(Self {
            position: LogPosition::from_bytes(array_at(bytes, POSITION_AT)),
            consistency: LogPosition::from_bytes(array_at(bytes, CONSISTENCY_AT)),
            signature: Signature::read(bytes, SIGNATURE_AT),
            attachments,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::Stamp;
    use super::*;

    #[test]
    fn either_copy_is_enough() {
        let checkpoint = Checkpoint {
            position: LogPosition { generation: 9, segment: 8, byte: 40 },
            consistency: LogPosition::start_of(9),
            signature: Signature::ours(1, Stamp::default(), RunId(2)),
            attachments: Vec::new(),
        };
        let newer = Checkpoint { position: LogPosition::start_of(10), ..checkpoint.clone() };
        let copies = [&checkpoint, &newer].map(|copy| copy.to_bytes().unwrap());
        for file in [copies.concat(), [&copies[1][..], &copies[0]].concat()] {
            assert_eq!(Checkpoint::find(&file).as_ref(), Ok(&newer));
        }
        let mut file = checkpoint.to_bytes().unwrap().repeat(2);
        assert_eq!(Checkpoint::find(&file).as_ref(), Ok(&checkpoint));
        file[50] ^= 1;
        assert_eq!(Checkpoint::find(&file).as_ref(), Ok(&checkpoint));
        file[4096 + 50] ^= 1;
        assert_eq!(Checkpoint::find(&file), Err(CheckpointError::Checksum));
        assert_eq!(Checkpoint::find(&[0; 8192]), Err(CheckpointError::NotCheckpoint));
        assert_eq!(Checkpoint::find(&[]), Err(CheckpointError::NotCheckpoint));
    }
}
