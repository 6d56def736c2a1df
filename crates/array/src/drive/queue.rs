//! Which queued request a hard disk serves next.
//!
//! * `Fcfs`: first come, first served.
//! * `Elevator`: the next request upwards from the last, then from the bottom again.
//! * `Sptf` (shortest positioning time first): the request with the shortest seek plus rotation.
//!
//! The last two can starve a request in an unlucky position, so requests that have waited longer
//! than the bound go first, oldest first. But at most one in [`OVERDUE_TURNS`] requests goes first
//! for that reason. On a drive so loaded that every request waits longer, always serving the oldest
//! would be first come, first served, which is slower still, and the queue would never recover.

use brunt_units::{Span, Time};

use super::geometry::SectorPosition;
use crate::Extent;
use crate::slab::Key;

/// One in this many requests may go first because it is overdue. Assumed; drives' actual behaviour
/// is not published.
pub(super) const OVERDUE_TURNS: u32 = 8;

/// How a hard disk orders its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fcfs,
    /// Ascending, then from the bottom again.
    Elevator,
    /// Shortest positioning time first.
    Sptf,
}

/// A queue order with its waiting time bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub order: Order,
    /// A request that has waited longer than this goes first, at most one time in eight.
    pub wait_max: Span,
}

/// A request in a disk's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) io: Option<Key>,
    pub(crate) extent: Extent,
    pub(crate) write: bool,
    pub(crate) place: SectorPosition,
    pub(crate) arrived: Time,
    /// Ascending in order of arrival.
    pub(crate) number: u64,
}

#[cfg(test)]
impl Waiting {
    /// A read of `extent`, for tests.
    pub(super) fn probe(extent: Extent) -> Self {
        Self {
            io: None,
            extent,
            write: false,
            place: SectorPosition { cylinder: 0, head: 0, angle: 0, zone: 0, left_on_track: 0 },
            arrived: Time::ZERO,
            number: 0,
        }
    }
}

impl Policy {
    /// The index in `waiting` (not empty) of the request to serve at `now`, and whether it was
    /// overdue, which is considered only if `may_be_overdue`. `last` is the sector after the last
    /// request; `positioning` returns the nanoseconds needed to reach a request.
    pub(super) fn choose(
        &self,
        now: Time,
        waiting: &[Waiting],
        last: u64,
        may_be_overdue: bool,
        positioning: impl Fn(&Waiting) -> u64,
    ) -> (usize, bool) {
        // One pass finds both the oldest and the cheapest request. Ranks are plain numbers, to
        // avoid mispredicted branches.
        let (mut first, mut oldest) = (u64::MAX, 0);
        let (mut least, mut best) = (u128::MAX, 0);
        for (at, one) in waiting.iter().enumerate() {
            let cost = match self.order {
                Order::Elevator => one.extent.start.wrapping_sub(last),
                Order::Sptf => positioning(one),
                Order::Fcfs => one.number,
            };
            let rank = u128::from(cost) << 64 | u128::from(one.number);
            (least, best) =
                std::hint::select_unpredictable(rank < least, (rank, at), (least, best));
            (first, oldest) = std::hint::select_unpredictable(
                one.number < first,
                (one.number, at),
                (first, oldest),
            );
        }
        if may_be_overdue && now - waiting[oldest].arrived > self.wait_max {
            (oldest, true)
        } else {
            (best, false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sector: u64, arrived: u64) -> Waiting {
        Waiting {
            arrived: Time(arrived),
            number: arrived,
            ..Waiting::probe(Extent::new(sector, 8))
        }
    }

    #[test]
    fn each_order_chooses_its_own() {
        let waiting = [at(500, 3), at(90, 1), at(110, 2), at(50, 4)];
        let choose = |order, now, may_be_overdue| {
            let policy = Policy { order, wait_max: Span(100) };
            policy.choose(Time(now), &waiting, 100, may_be_overdue, |one| one.extent.start)
        };
        assert_eq!(choose(Order::Fcfs, 10, true), (1, false));
        assert_eq!(choose(Order::Elevator, 10, true), (2, false));
        assert_eq!(choose(Order::Sptf, 10, true), (3, false));
        assert_eq!(choose(Order::Sptf, 1000, true), (1, true), "long enough");
        assert_eq!(choose(Order::Sptf, 1000, false), (3, false));
    }
}
