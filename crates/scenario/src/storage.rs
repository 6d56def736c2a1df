//! `[storage]`: what is known of the storage under test.

use brunt_units::ByteSize;

use super::keys::{Maybe, SIZE, keys};
use super::section::Section;

keys! {
    STORAGE of Option<ByteSize> = "[storage]";
    /// How much the storage itself caches.
    cache: Option<ByteSize> = [|cache| *cache, |cache, size| *cache = size], Maybe(SIZE), "not known" is neutral;
}

/// Reads `[storage]`.
pub(super) fn read(top: &mut Section) -> Option<ByteSize> {
    let mut cache = None;
    STORAGE.read(top.table("storage"), &mut cache);
    cache
}
