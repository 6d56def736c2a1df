//! Maps by plain numbers: stripes, pages, files.

use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are plain numbers. The order of its entries means nothing.
pub(crate) type NumberMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// One multiplication mixes numbers well enough, and identically on every platform.
#[derive(Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
