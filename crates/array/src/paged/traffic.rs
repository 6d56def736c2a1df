//! Coordinates writes to the grains of a page, so that no write touches what another is replacing.
//!
//! Writes in place share a page. A write to a new node, or a copy, has its grains exclusively: it
//! first reads what surrounds its data and writes that along with it. Waiting parts are served in
//! order of arrival.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use smallvec::SmallVec;

use crate::slab::Key;

/// A page of a LUN.
pub(super) type PageAt = (u32, u32);

struct Active {
    part: Key,
    grains: Range<usize>,
    is_alone: bool,
}

#[derive(Default)]
struct Page {
    active: SmallVec<[Active; 2]>,
    waiting: VecDeque<Key>,
}

/// The writes in progress and waiting, by page.
#[derive(Default)]
pub(super) struct Traffic(BTreeMap<PageAt, Page>);

impl Traffic {
    /// Starts `part` if no conflicting part is active and, unless it `has_waited`, none is queued;
    /// otherwise queues it.
    pub(super) fn enter(
        &mut self,
        at: PageAt,
        part: Key,
        grains: &Range<usize>,
        is_alone: bool,
        has_waited: bool,
    ) -> bool {
        let page = self.0.entry(at).or_default();
        let meets = |one: &Active| {
            (one.is_alone || is_alone)
                && one.grains.start < grains.end
                && grains.start < one.grains.end
        };
        let may = (has_waited || page.waiting.is_empty()) && !page.active.iter().any(meets);
        match (may, has_waited) {
            (true, _) => page.active.push(Active { part, grains: grains.clone(), is_alone }),
            (false, true) => page.waiting.push_front(part),
            (false, false) => page.waiting.push_back(part),
        }
        may
    }

    /// Ends `part`.
    pub(super) fn leave(&mut self, at: PageAt, part: Key) {
        let page = self.0.get_mut(&at).expect("it was at work there");
        let place = page.active.iter().position(|one| one.part == part);
        page.active.swap_remove(place.expect("it was let in"));
        if page.active.is_empty() && page.waiting.is_empty() {
            self.0.remove(&at);
        }
    }

    /// Takes the first waiting part, to retry it.
    pub(super) fn next(&mut self, at: PageAt) -> Option<Key> {
        self.0.get_mut(&at)?.waiting.pop_front()
    }

    /// Whether no part is active or waiting.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Slab;

    #[test]
    fn only_those_in_each_others_way_wait() {
        let mut keys = Slab::default();
        let [a, b, c, d] = [(); 4].map(|()| keys.insert(()));
        let mut traffic = Traffic::default();
        let at = (0, 7);
        assert!(traffic.enter(at, a, &(0..4), false, false));
        assert!(traffic.enter(at, b, &(2..6), false, false), "in place both");
        assert!(!traffic.enter(at, c, &(3..4), true, false));
        assert!(!traffic.enter(at, d, &(9..10), true, false), "c was first");
        traffic.leave(at, a);
        assert_eq!(traffic.next(at), Some(c));
        assert!(!traffic.enter(at, c, &(3..4), true, true), "b is there");
        traffic.leave(at, b);
        assert_eq!(traffic.next(at), Some(c));
        assert!(traffic.enter(at, c, &(3..4), true, true));
        assert_eq!(traffic.next(at), Some(d));
        assert!(traffic.enter(at, d, &(9..10), true, true));
        traffic.leave(at, c);
        traffic.leave(at, d);
        assert!(traffic.is_idle());
    }
}
