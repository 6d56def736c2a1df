//! Running hashes, to tell whether two runs were the same.
//!
//! [`Digest`] takes in everything that happened in its order, so it changes with the number of a timer that nobody notices.
//! [`RequestDigest`] takes in what storage was asked for and when it answered, and nothing else: what a user would call a
//! difference. A change of the program that is to change nothing leaves it as it was.

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

/// A hash of requests: of each its file, what was asked, where, and when it began and ended.
///
/// It is the sum over requests. Their times are in it, so their order is, except that of requests that end in the same instant,
/// which is chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDigest(u64);

impl RequestDigest {
    /// Takes in a request whose parts are in `request`.
    pub(crate) fn add(&mut self, request: Digest) {
        // A sum of what `mix` leaves could stay as it is when two requests exchange their last words.
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
        // Exchanged ends would cancel one another in a plain sum for every fourth pair.
        for (a, b) in (0..2_000).map(|a| (a * 4096, (a + 1) * 4096)) {
            assert_ne!(of(&[[a, 7], [b, 8]]), of(&[[a, 8], [b, 7]]), "{a}");
        }
    }
}
