//! A running hash of what happened, to tell whether two runs were the same.

/// A hash of a sequence of numbers. Not cryptographic; fixed for ever, because runs quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Digest {
    /// Takes in one number.
    ///
    /// FNV-1a's step over 64-bit words instead of bytes, and a rotation, because a multiplication alone never moves
    /// high bits down.
    pub fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29);
    }

    /// Takes in bytes and their number.
    pub fn mix_bytes(&mut self, bytes: &[u8]) {
        self.mix(bytes.len() as u64);
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.mix(u64::from_le_bytes(word));
        }
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> u64 {
        let mut digest = Digest::default();
        words.iter().for_each(|word| digest.mix(*word));
        digest.value()
    }

    #[test]
    fn order_and_every_bit_matter() {
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        for bit in 0..64 {
            assert_ne!(of(&[0, 7, 7]), of(&[1 << bit, 7, 7]));
        }
        let mut one = Digest::default();
        one.mix_bytes(&[1, 2, 3]);
        let mut other = Digest::default();
        other.mix_bytes(&[1, 2, 3, 0]);
        assert_ne!(one, other);
    }
}
