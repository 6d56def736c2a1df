//! Long values stored outside their record, in the table's long-value tree.
//!
//! ```text
//!    root node    key id (u32 big-endian)              data u32 references, u32 bytes
//!    chunk node   key id, byte offset (big-endian)     data the bytes from there, a chunk's worth or the rest
//!    in the record                                     id (u32 little-endian)
//! ```
//!
//! A chunk is as large as the page allows with room for its key. A chunk whose stored length
//! differs from the expected one is compressed; we never write one.
//!
//! These trees do not use prefix compression: it would save eight bytes per chunk, and makes
//! libesedb lose values.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/lv.hxx.

use brunt_units::PageSize;

use super::field::{put_u32, u32_at};
use super::node::Key;

/// Maximum length of a value inside its record, unless the column allows more.
pub const INTRINSIC_BYTES_MAX: usize = 1023;

/// Identifies a long value within its table, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LongValueId(pub u32);

/// Bytes per chunk.
pub const fn chunk_bytes(size: PageSize) -> usize {
    size.bytes() - if size.is_large() { 122 } else { 82 }
}

impl LongValueId {
    /// The last id: up to here chunks have keys of eight bytes, beyond it longer ones.
    pub const LAST: Self = Self(u32::MAX >> 1);

    /// The key of the value's root node.
    pub fn root_key(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// The key of the chunk that starts at byte `offset` of the value.
    pub fn chunk_key(self, offset: u32) -> [u8; 8] {
        (u64::from(self.0) << 32 | u64::from(offset)).to_be_bytes()
    }

    /// The bytes in the record.
    pub fn to_bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

/// The data of a value's root node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongValueRoot {
    /// Records that refer to the value; `0xFFFF_FFFF` while it is being deleted.
    pub references: u32,
    /// Length of the value in bytes.
    pub bytes: u32,
}

impl LongValueRoot {
    /// The data on disk.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        put_u32(&mut bytes, 0, self.references);
        put_u32(&mut bytes, 4, self.bytes);
        bytes
    }

    /// Decodes a root node's data; `None` when it is too short. Newer engines may add a byte of
    /// flags.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        (data.len() >= 8).then(|| Self { references: u32_at(data, 0), bytes: u32_at(data, 4) })
    }
}

/// A node of a long-value tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongValueKey {
    Root(LongValueId),
    /// The chunk of a value that starts at this byte.
    Chunk(LongValueId, u32),
}

impl LongValueKey {
    /// Decodes a key of 4 or 8 bytes. `None` for others, such as the 64-bit ids of newer engines.
    pub fn from_key(key: Key<'_>) -> Option<Self> {
        let key = key.to_vec();
        let (id, rest) = key.split_first_chunk::<4>()?;
        let id = LongValueId(u32::from_be_bytes(*id));
        match rest.len() {
            0 => Some(Self::Root(id)),
            4 if id.0 >> 31 == 0 => {
                let offset = rest.try_into().ok()?;
                Some(Self::Chunk(id, u32::from_be_bytes(offset)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::page::{TAG_BYTES, node_bytes_max};

    #[test]
    fn chunks_are_the_published_sizes_and_fit_a_page() {
        let sizes = PageSize::ALL.map(chunk_bytes);
        assert_eq!(sizes, [4014, 8110, 16262, 32646]);
        for size in PageSize::ALL {
            assert!(2 + 8 + chunk_bytes(size) + TAG_BYTES <= node_bytes_max(size));
        }
    }

    #[test]
    fn keys_come_back_and_the_root_stands_before_its_chunks() {
        let id = LongValueId(0x2A);
        let keys = [
            (id.root_key().to_vec(), LongValueKey::Root(id)),
            (id.chunk_key(0).to_vec(), LongValueKey::Chunk(id, 0)),
            (id.chunk_key(4014).to_vec(), LongValueKey::Chunk(id, 4014)),
            (LongValueId(0x2B).root_key().to_vec(), LongValueKey::Root(LongValueId(0x2B))),
        ];
        assert!(keys.is_sorted_by(|a, b| a.0 < b.0));
        for (bytes, key) in keys {
            assert_eq!(LongValueKey::from_key(Key::whole(&bytes)), Some(key));
        }
        assert_eq!(LongValueKey::from_key(Key::whole(&[0x80, 0, 0, 0, 0, 0, 0, 1])), None);
        assert_eq!(LongValueKey::from_key(Key::whole(&[1, 2, 3])), None);
    }

    #[test]
    fn roots_come_back() {
        let root = LongValueRoot { references: 1, bytes: 100_000 };
        assert_eq!(LongValueRoot::from_bytes(&root.to_bytes()), Some(root));
        assert_eq!(LongValueRoot::from_bytes(&[0; 7]), None);
    }
}
