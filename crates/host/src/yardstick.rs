//! How fast this machine is at work that never touches storage: checksums of a page that stays in
//! the cache.
//!
//! A comparison of two runs looks at it: when the processor itself became slower, a slower run says
//! nothing about the storage. It takes some 20 us of each sample, on the recorder's thread.

use std::hint::black_box;
use std::time::Instant;

use brunt_ese::format::checksum::{is_sound, seal};
use brunt_units::{PageNumber, PageSize};

const SIZE: PageSize = PageSize::KIB_32;
const NUMBER: PageNumber = PageNumber(1);
/// Checks in one turn; the fastest turn counts, because others were interrupted.
const PAGES: usize = 4;
const TURNS: usize = 9;

/// A page to check again and again.
pub(crate) struct Yardstick(Vec<u8>);

impl Yardstick {
    pub(crate) fn new() -> Self {
        let mut page: Vec<u8> = (0..251).cycle().take(SIZE.bytes()).collect();
        seal(&mut page, SIZE, NUMBER);
        Self(page)
    }

    /// The speed now, in 10⁹ bytes per second.
    pub(crate) fn gb_per_s(&self) -> f64 {
        let turn = |_| {
            let begun = Instant::now();
            for _ in 0..PAGES {
                assert!(is_sound(black_box(&self.0), SIZE, NUMBER));
            }
            (PAGES * self.0.len()) as f64 / begun.elapsed().as_secs_f64() / 1e9
        };
        (0..TURNS).map(turn).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_that_of_a_processor() {
        let speed = Yardstick::new().gb_per_s();
        assert!(speed.is_finite() && speed > 0.001, "{speed}");
    }
}
