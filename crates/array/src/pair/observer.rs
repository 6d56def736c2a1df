//! Observation of a pair: every write from its acceptance to both systems, without its content.
//!
//! As with arrays, `()` observes nothing and the calls compile away; tests use the ledger.

use brunt_units::Time;

use super::listener::PairMove;

/// Observes what a pair does with writes.
pub(crate) trait Observer: Default {
    /// Called when `moved` happens in group `group`.
    fn see(&mut self, at: Time, group: usize, moved: PairMove);
}

impl Observer for () {
    #[inline(always)]
    fn see(&mut self, _: Time, _: usize, _: PairMove) {}
}
