//! When a write cache is flushed: pure functions.
//!
//! * *Watermark*: with hysteresis, flushing starts at the high mark and stops at the low one;
//!   proportional flushing works harder the fuller the cache is between the two.
//! * *Idle*: no host has sent a request for a while.
//! * *Forced*: a host waits for room, or write-back is disabled.
//!
//! Watermarks and their names: EMC CLARiiON, 80 and 60 % by default; Dell MD3 starts at 80 %.

/// How hard a cache is flushed between its watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushPolicy {
    /// At full rate from the high mark down to the low one.
    Hysteresis,
    /// In proportion to the fill level above the low mark.
    Proportional,
}

/// Watermarks of a write cache, in percent of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Flushing stops here.
    pub low: u32,
    /// Flushing starts here.
    pub high: u32,
    /// How hard to flush in between.
    pub policy: FlushPolicy,
}

/// Why a cache is flushed regardless of its watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// No reason: hosts are active.
    None,
    /// Hosts have been idle.
    Idle,
    /// A request waits for the flush.
    Forced,
}

impl Watermarks {
    /// How many of `most` destages may be in flight when `dirty` of `pages` pages are dirty, and
    /// whether the cache is then flushing; `flushing` says whether it was before.
    pub(crate) fn allowed(
        &self,
        dirty: u64,
        pages: u64,
        flushing: bool,
        pressure: Pressure,
        most: usize,
    ) -> (usize, bool) {
        let share = dirty * 100;
        let (low, high) = (u64::from(self.low) * pages, u64::from(self.high) * pages);
        let flushing = dirty > 0 && (share >= high || flushing && share > low);
        if dirty == 0 {
            return (0, false);
        }
        if pressure != Pressure::None {
            return (most, flushing);
        }
        match self.policy {
            FlushPolicy::Hysteresis => (if flushing { most } else { 0 }, flushing),
            FlushPolicy::Proportional => {
                let above = share.saturating_sub(low);
                let span = (high - low).max(1);
                let part = (above * most as u64).div_ceil(span).min(most as u64);
                (usize::try_from(part).expect("not above most"), flushing)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(policy: FlushPolicy) -> Watermarks {
        Watermarks { low: 60, high: 80, policy }
    }

    #[test]
    fn hysteresis_runs_from_high_to_low() {
        let marks = marks(FlushPolicy::Hysteresis);
        let step = |dirty, flushing| marks.allowed(dirty, 100, flushing, Pressure::None, 10);
        assert_eq!(step(79, false), (0, false));
        assert_eq!(step(80, false), (10, true));
        assert_eq!(step(61, true), (10, true));
        assert_eq!(step(60, true), (0, false));
    }

    #[test]
    fn proportional_works_harder_when_fuller() {
        let marks = marks(FlushPolicy::Proportional);
        let step = |dirty| marks.allowed(dirty, 100, false, Pressure::None, 10).0;
        assert_eq!([step(60), step(62), step(70), step(80), step(99)], [0, 1, 5, 10, 10]);
    }

    #[test]
    fn pressure_empties_it() {
        let marks = marks(FlushPolicy::Hysteresis);
        assert_eq!(marks.allowed(1, 100, false, Pressure::Idle, 10), (10, false));
        assert_eq!(marks.allowed(1, 100, false, Pressure::Forced, 10), (10, false));
        assert_eq!(marks.allowed(0, 100, true, Pressure::Forced, 10), (0, false));
    }
}
