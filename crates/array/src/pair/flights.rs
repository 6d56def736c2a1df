//! Extents that are in use and share no sector, so that overlapping writes are never under way at
//! once.

use std::collections::BTreeMap;

use super::order::GroupExtent;

/// Extents in use.
#[derive(Default)]
pub(super) struct Flights(BTreeMap<(u16, u64), u64>);

impl Flights {
    /// Whether one of them shares a sector with `place`.
    pub(super) fn meets(&self, place: GroupExtent) -> bool {
        let before = (place.lun, place.extent.end());
        let last = self.0.range(..before).next_back();
        last.is_some_and(|((lun, _), end)| *lun == place.lun && *end > place.extent.start)
    }

    /// Adds one that shares no sector with another.
    pub(super) fn begin(&mut self, place: GroupExtent) {
        debug_assert!(!self.meets(place), "writes that overlap");
        if place.extent.length > 0 {
            self.0.insert((place.lun, place.extent.start), place.extent.end());
        }
    }

    pub(super) fn end(&mut self, place: GroupExtent) {
        self.0.remove(&(place.lun, place.extent.start));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extent;

    #[test]
    fn only_what_shares_a_sector_meets() {
        let place = |lun, start, length| GroupExtent { lun, extent: Extent::new(start, length) };
        let mut flights = Flights::default();
        flights.begin(place(1, 10, 10));
        flights.begin(place(1, 30, 1));
        let meets = [(1, 5, 6), (1, 19, 1), (1, 12, 2), (1, 0, 40), (1, 20, 11)];
        let free = [(1, 5, 5), (1, 20, 10), (1, 31, 9), (0, 10, 10), (2, 0, 99)];
        for (lun, start, length) in meets {
            assert!(flights.meets(place(lun, start, length)), "{start}");
        }
        for (lun, start, length) in free {
            assert!(!flights.meets(place(lun, start, length)), "{start}");
        }
        flights.end(place(1, 10, 10));
        assert!(!flights.meets(place(1, 0, 30)));
    }
}
