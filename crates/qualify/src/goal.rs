//! What a test is to reach.
//!
//! A **target** is said in database reads and writes per second. It is offered with *headroom*: sessions are paced so that
//! target × (1 + headroom) is asked for, and the storage has to show the target. Without a target the sessions run in a
//! closed loop, as fast as the storage lets them.
//!
//! How many sessions that takes may be left to be found out before the test: [`Tune`].

/// A rate of database reads and writes that storage has to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Database reads and writes per second, above zero.
    pub io_per_s: f64,
    /// How much more than that is asked for, in percent.
    pub headroom_percent: u32,
}

/// What the sessions are to be found for, before the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tune {
    /// The fewest that keep the pace of the target.
    Target,
    /// The most I/O that passes; the test then asks for this share of it.
    Maximum {
        /// In percent, 1 to 100. Below 100 the test is paced.
        percent: u32,
    },
}

/// What to do when databases would grow past their reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// At the reserve, delete as much as is inserted.
    Balance,
    /// Refuse the test when it is foreseen.
    Refuse,
}

/// Headroom where a scenario says nothing. Source: ESRP-Storage papers, whose profiles include 20 %.
pub const HEADROOM_PERCENT: u32 = 20;

impl Target {
    /// What sessions are paced to ask for, in I/Os per second.
    pub fn offered(&self) -> f64 {
        self.io_per_s * (100.0 + f64::from(self.headroom_percent)) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_asked_for_on_top() {
        let target = Target {
            io_per_s: 3_000.0,
            headroom_percent: HEADROOM_PERCENT,
        };
        assert_eq!(target.offered(), 3_600.0);
        let bare = Target {
            headroom_percent: 0,
            ..target
        };
        assert_eq!(bare.offered(), 3_000.0);
    }
}
