//! Random numbers: named streams of one seed.
//!
//! Each entity draws from its own stream ("session/7", "drive/3/failures"), so adding an entity
//! does not change what the others draw. A stream is xoshiro256++ started from SplitMix64 of the
//! seed and an FNV-1a hash of the name. Both are fixed forever, because reports quote seeds.
//! Distributions use `libm`, never the platform's floating-point library, so that equal seeds give
//! equal bytes everywhere.

use brunt_units::Span;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The streams of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed.
    pub const fn seed(self) -> u64 {
        self.seed
    }

    /// The stream called `name`, from its beginning each time.
    pub fn named(self, name: &str) -> Stream {
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let mut mix = SplitMix64::seed_from_u64(self.seed ^ hash.rotate_left(32));
        Stream(Xoshiro256PlusPlus::from_rng(&mut mix))
    }

    /// The streams of a part: `part("session/7").named("keys")` differs from the streams of every
    /// other name.
    #[must_use]
    pub fn part(self, name: &str) -> Self {
        Self { seed: self.named(name).bits() }
    }
}

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `bound`, all equally likely (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// When `bound` is zero.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of a 128-bit product are what is wanted"
    )]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below zero");
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True `percent` times in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// An exponentially distributed span with the given mean.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::from_seconds(-libm::log(1.0 - self.unit()) * mean.as_seconds())
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_for_ever() {
        let mut stream = Streams::new(1).named("session/0");
        let drawn = [stream.bits(), stream.bits(), stream.bits()];
        // Not from a reference: what this code drew when its seeds were first quoted.
        let fixed = [4688935780412383976, 17518075688879026887, 17966351479247982402];
        assert_eq!(drawn, fixed);
        assert_ne!(Streams::new(1).named("session/1").bits(), drawn[0]);
        assert_ne!(Streams::new(2).named("session/0").bits(), drawn[0]);
    }

    #[test]
    fn draws_have_the_right_mean() {
        let mut stream = Streams::new(7).named("means");
        let count = 200_000;
        let below: u64 = (0..count).map(|_| stream.below(10)).sum();
        assert!((below as f64 / count as f64 - 4.5).abs() < 0.02);
        let spans = (0..count).map(|_| stream.exponential(Span::millis(5)).as_millis());
        assert!((spans.sum::<f64>() / count as f64 - 5.0).abs() < 0.05);
    }
}
