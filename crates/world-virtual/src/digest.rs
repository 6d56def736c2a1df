//! Running hashes, to compare two runs.
//!
//! [`Digest`] covers everything that happened, in order, so it changes even with the number of a
//! timer that has no effect. [`RequestDigest`] covers only the requests to storage and their
//! completion times: a difference that a user would notice. A refactoring must leave it unchanged.

/// A hash of a sequence of numbers. Not cryptographic; fixed forever, because runs quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Digest {
    /// Adds one number.
    ///
    /// The step of FNV-1a on 64-bit words instead of bytes, plus a rotation, because a
    /// multiplication alone never moves high bits down.
    pub fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    /// Adds bytes and their number.
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

/// A hash of requests: for each its file, operation, range, begin and end.
///
/// It is a sum over requests. Their times are included and so is their order, except for requests
/// that end at the same instant, whose order is arbitrary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDigest(u64);

impl RequestDigest {
    /// Adds a request whose parts are in `request`.
    pub(crate) fn add(&mut self, request: Digest) {
        // A plain sum of `mix` results could stay the same when two requests exchange their last
        // words.
        let high = request.0 ^ (request.0 >> 32);
        let spread = high.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        self.0 = self.0.wrapping_add(spread ^ (spread >> 32));
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

    #[test]
    fn requests_may_change_places_but_not_their_times() {
        let of = |requests: &[[u64; 2]]| {
            let mut digest = RequestDigest::default();
            for [offset, end] in requests {
                let mut request = Digest::default();
                request.mix(*offset);
                request.mix(*end);
                digest.add(request);
            }
            digest
        };
        let one = of(&[[4096, 7], [8192, 9]]);
        assert_eq!(one, of(&[[8192, 9], [4096, 7]]));
        assert_ne!(one, of(&[[4096, 9], [8192, 7]]));
        assert_ne!(one, of(&[[4096, 7], [8192, 10]]));
        // In a plain sum, exchanged ends would cancel out for every fourth pair.
        for (a, b) in (0..2_000).map(|a| (a * 4096, (a + 1) * 4096)) {
            assert_ne!(of(&[[a, 7], [b, 8]]), of(&[[a, 8], [b, 7]]), "{a}");
        }
    }
}
