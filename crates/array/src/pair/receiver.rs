//! The destination's side of a group: writes arrive in any order and are done in that of the group.
//!
//! Writes that share no sector are under way together. One that is done before an earlier one
//! counts only when that one is done, as in a destination that takes writes into its memory in
//! order.

use std::collections::{BTreeMap, VecDeque};

use super::flights::Flights;
use super::order::GroupExtent;
use crate::slab::Key;

struct InProgress {
    number: u64,
    place: GroupExtent,
    is_done: bool,
}

/// What the destination knows of a group's writes.
#[derive(Default)]
pub(super) struct Receiver {
    /// The next write to begin.
    next: u64,
    /// After the last write that was done; given-up ones are not.
    has: u64,
    /// Writes that came before `next` did.
    received: BTreeMap<u64, (GroupExtent, bool)>,
    in_progress: VecDeque<InProgress>,
    flights: Flights,
    /// Exchanges that wait for their write, by its number.
    waiting: BTreeMap<u64, Key>,
    /// Changes when the destination forgets what is in progress.
    turn: u32,
}

impl Receiver {
    /// The next write to come, which nothing knows here yet.
    pub(super) fn expects(&self) -> u64 {
        self.next
    }

    /// It has done every write before this one, of those that were not given up.
    pub(super) fn has(&self) -> u64 {
        self.has
    }

    /// It waits for no write before this one.
    pub(super) fn done(&self) -> u64 {
        self.in_progress.front().map_or(self.next, |one| one.number)
    }

    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    /// An order begins at `base`, of another source.
    pub(super) fn restart(&mut self, base: u64) {
        self.stop();
        (self.next, self.has) = (base, base);
    }

    /// The source goes on from `base`; what it gave up before never comes.
    pub(super) fn go_on_from(&mut self, base: u64) {
        self.received.clear();
        self.waiting.clear();
        self.next = self.next.max(base);
    }

    /// A write arrives, which `exchange` brought.
    pub(super) fn receive(
        &mut self,
        number: u64,
        place: GroupExtent,
        is_copy: bool,
        exchange: Key,
    ) {
        if number >= self.next {
            self.received.insert(number, (place, is_copy));
        }
        self.waiting.insert(number, exchange);
    }

    /// The next write that may begin.
    pub(super) fn begin(&mut self) -> Option<(u64, GroupExtent, bool)> {
        let (place, is_copy) = *self.received.get(&self.next)?;
        if self.flights.meets(place) {
            return None;
        }
        self.received.remove(&self.next);
        self.flights.begin(place);
        let number = self.next;
        self.next += 1;
        self.in_progress.push_back(InProgress { number, place, is_done: false });
        Some((number, place, is_copy))
    }

    /// A write is done.
    pub(super) fn end(&mut self, number: u64) {
        let mut all = self.in_progress.iter_mut();
        let one = all.find(|one| one.number == number);
        let one = one.expect("it was begun");
        one.is_done = true;
        self.flights.end(one.place);
    }

    /// Takes the writes that are done, and before which all are.
    pub(super) fn counted(&mut self) -> Option<(u64, GroupExtent)> {
        self.in_progress.front().filter(|one| one.is_done)?;
        let first = self.in_progress.pop_front()?;
        self.has = first.number + 1;
        Some((first.number, first.place))
    }

    /// The exchanges whose writes it has.
    pub(super) fn answer(&mut self) -> Option<Key> {
        let first = self.waiting.first_entry()?;
        let done = self.in_progress.front().map_or(self.next, |one| one.number);
        (*first.key() < done).then(|| first.remove())
    }

    /// It stops: what it was doing is not done, what it had received is forgotten.
    pub(super) fn stop(&mut self) {
        self.next = self.done();
        self.received.clear();
        self.in_progress.clear();
        self.flights.clear();
        self.waiting.clear();
        self.turn += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extent;
    use crate::slab::Slab;

    fn place(start: u64) -> GroupExtent {
        GroupExtent { lun: 0, extent: Extent::new(start, 8) }
    }

    #[test]
    fn writes_are_done_in_order_and_those_that_overlap_one_after_the_other() {
        let mut keys = Slab::default();
        let mut receiver = Receiver::default();
        let key: Vec<Key> = (0..4).map(|_| keys.insert(())).collect();
        receiver.receive(1, place(8), false, key[1]);
        assert_eq!(receiver.begin(), None, "the first is missing");
        receiver.receive(0, place(0), false, key[0]);
        receiver.receive(2, place(4), false, key[2]);
        assert_eq!(receiver.begin(), Some((0, place(0), false)));
        assert_eq!(receiver.begin(), Some((1, place(8), false)));
        assert_eq!(receiver.begin(), None, "overlaps both");
        receiver.end(1);
        assert_eq!((receiver.counted(), receiver.done()), (None, 0));
        assert_eq!(receiver.answer(), None);
        receiver.end(0);
        assert_eq!(receiver.counted(), Some((0, place(0))));
        assert_eq!(receiver.counted(), Some((1, place(8))));
        assert_eq!([receiver.answer(), receiver.answer()], [Some(key[0]), Some(key[1])]);
        assert_eq!(receiver.begin(), Some((2, place(4), false)));
        // A write comes twice when its first status was lost.
        receiver.receive(1, place(8), false, key[3]);
        assert_eq!(receiver.answer(), Some(key[3]));
        receiver.stop();
        assert_eq!((receiver.done(), receiver.begin()), (2, None));
    }

    #[test]
    fn after_a_log_was_given_up_it_goes_on_with_the_next() {
        let mut keys = Slab::default();
        let mut receiver = Receiver::default();
        receiver.receive(0, place(0), false, keys.insert(()));
        receiver.begin();
        receiver.receive(5, place(50), false, keys.insert(()));
        receiver.go_on_from(9);
        receiver.receive(9, place(0), true, keys.insert(()));
        assert_eq!((receiver.begin(), receiver.done()), (None, 0), "in its way");
        receiver.end(0);
        assert_eq!(receiver.counted(), Some((0, place(0))));
        assert_eq!(receiver.begin(), Some((9, place(0), true)));
        assert_eq!(receiver.done(), 9);
        receiver.go_on_from(3);
        receiver.end(9);
        receiver.counted();
        assert_eq!(receiver.done(), 10, "it has more than the source knew");
    }
}
