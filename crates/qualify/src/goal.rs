//! The goal of a test.
//!
//! A **target** is a rate of database reads and writes per second. It is offered with *headroom*:
//! sessions are paced to ask for target × (1 + headroom), and the storage must achieve the target.
//! Without a target the sessions run in a closed loop, as fast as the storage allows.
//!
//! The number of sessions for this may be found before the test: [`Tune`].

pub use brunt_run::Target;

/// What tuning looks for before the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tune {
    /// The fewest sessions that keep the pace of the target.
    Target,
    /// The highest passing rate; the test then asks for a share of it.
    Maximum {
        /// The share in percent, 1 to 100. Below 100 the test is paced.
        percent: u32,
    },
}

/// What to do when databases would grow past their reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Delete as much as is inserted once the reserve is used up.
    Balance,
    /// Refuse the test if that is foreseeable.
    Refuse,
}

/// Default headroom. Source: ESRP-Storage papers, whose profiles include 20 %.
pub const HEADROOM_PERCENT: u32 = 20;

/// Latencies scatter more than rates: near saturation, 1 % of rate is 3 % of latency.
const LATENCIES: f64 = 3.0;

/// How well a prediction must know its figures, as shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half-width of the interval of a rate.
    pub rates: f64,
    /// The same of a latency.
    pub latencies: f64,
}

impl Default for Precision {
    fn default() -> Self {
        Self::of_rates(0.01)
    }
}

impl Precision {
    /// Rates known to `share`, latencies to three times that.
    pub fn of_rates(share: f64) -> Self {
        Self { rates: share, latencies: LATENCIES * share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_asked_for_on_top() {
        let target = Target { io_per_s: 3_000.0, headroom_percent: HEADROOM_PERCENT };
        assert_eq!(target.offered(), 3_600.0);
        let bare = Target { headroom_percent: 0, ..target };
        assert_eq!(bare.offered(), 3_000.0);
    }
}
