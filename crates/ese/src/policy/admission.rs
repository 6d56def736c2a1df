//! Whose I/O goes to the device next: limits on what one file may have outstanding.
//!
//! A file has two lanes. *Foreground* is everything somebody waits for; *background* is maintenance, of which few are
//! outstanding and which yields to the foreground when the file is at its limit. A background request that has waited
//! for the starvation time goes first, or a busy file would never be scanned.
//!
//! ```text
//!                              file full -> nobody
//!   background starved, lane not full     -> background
//!   foreground waiting                    -> foreground
//!   background waiting, lane not full     -> background
//! ```
//!
//! Source of the numbers: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx
//! (JET_paramOutstandingIOMax 1,024, at least 16; JET_paramFlight_*: two concurrent metered operations, starved after
//! 3,000 ms) and jetapi.cxx (16 outstanding for solid-state disks).

use brunt_units::{Span, Time};
use brunt_world::Class;

/// The two lanes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Somebody waits for it.
    Foreground,
    /// Nobody does.
    Background,
}

impl Lane {
    /// The lane of an I/O class.
    pub fn of(class: Class) -> Self {
        match class {
            Class::Maintenance => Self::Background,
            _ => Self::Foreground,
        }
    }
}

/// The limits of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Most I/Os outstanding, of both lanes together.
    pub most: u32,
    /// Most of them in the background.
    pub background: u32,
    /// After waiting this long, a background I/O goes before the foreground.
    pub starvation: Span,
}

impl Admission {
    /// ESE's defaults.
    pub const ESE: Self = Self {
        most: 1_024,
        background: 2,
        starvation: Span::millis(3_000),
    };
}

/// What one file has outstanding and waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Foreground I/Os outstanding.
    pub foreground_in_flight: u32,
    /// Background I/Os outstanding.
    pub background_in_flight: u32,
    /// Whether a foreground I/O waits.
    pub foreground_waiting: bool,
    /// Since when the oldest background I/O waits.
    pub background_since: Option<Time>,
}

impl Admission {
    /// From which lane to submit one I/O now, if any.
    pub fn next(self, now: Time, lanes: Lanes) -> Option<Lane> {
        if lanes.foreground_in_flight + lanes.background_in_flight >= self.most {
            return None;
        }
        let lane_free = lanes.background_in_flight < self.background;
        let background = lanes.background_since.filter(|_| lane_free);
        let starved = background.is_some_and(|since| now - since >= self.starvation);
        if starved {
            Some(Lane::Background)
        } else if lanes.foreground_waiting {
            Some(Lane::Foreground)
        } else {
            background.map(|_| Lane::Background)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use brunt_world::random::Streams;

    use super::*;

    /// A file whose foreground is always waiting: what does the background get?
    #[test]
    fn a_starved_scan_moves_and_limits_hold() {
        let mut random = Streams::new(13).named("admission");
        let limits = Admission {
            most: 4,
            background: 2,
            starvation: Span::millis(60),
        };
        let mut lanes = Lanes::default();
        let mut background = VecDeque::new();
        let mut longest = Span::ZERO;
        for step in 0..50_000 {
            let now = Time::ZERO + Span::millis(step);
            lanes.foreground_waiting = random.percent(95);
            if background.len() < 3 {
                background.push_back(now);
            }
            lanes.background_since = background.front().copied();
            match limits.next(now, lanes) {
                Some(Lane::Foreground) => {
                    assert!(lanes.foreground_waiting);
                    lanes.foreground_in_flight += 1;
                }
                Some(Lane::Background) => {
                    let since = background.pop_front().unwrap();
                    longest = longest.max(now - since);
                    lanes.background_in_flight += 1;
                }
                None => {
                    let full = lanes.foreground_in_flight + lanes.background_in_flight == 4;
                    let idle = !lanes.foreground_waiting && lanes.background_in_flight == 2;
                    assert!(
                        full || idle,
                        "an I/O waits although there is room: {lanes:?}"
                    );
                }
            }
            assert!(lanes.background_in_flight <= 2);
            assert!(lanes.foreground_in_flight + lanes.background_in_flight <= 4);
            // About one completion a step, from either lane.
            if lanes.background_in_flight > 0 && random.percent(30) {
                lanes.background_in_flight -= 1;
            } else if lanes.foreground_in_flight > 0 && random.percent(90) {
                lanes.foreground_in_flight -= 1;
            }
        }
        assert!(
            longest >= limits.starvation && longest < Span::millis(100),
            "{longest}"
        );
    }

    #[test]
    fn only_maintenance_is_background() {
        let background = Class::ALL
            .into_iter()
            .filter(|class| Lane::of(*class) == Lane::Background);
        assert!(background.eq([Class::Maintenance]));
    }
}
