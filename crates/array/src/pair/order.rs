//! The write order of a group: what the destination has not confirmed, oldest first.
//!
//! ```text
//!    confirmed | sent, and not confirmed | not sent
//!              ^ base                    ^ next      ^ end
//! ```

use std::collections::VecDeque;

use brunt_units::Time;

use crate::Extent;

/// Where a write goes: a LUN of its group, and the sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupExtent {
    /// The LUN, by its number in the group.
    pub lun: u16,
    /// The sectors within it.
    pub extent: Extent,
}

/// What an entry of the order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A write whose host waits for the destination.
    Direct,
    /// A write in the write history log.
    Logged,
    /// A block of a full copy.
    Copy,
}

/// A write in the order; outages make millions of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    start: u64,
    /// When its host had the acknowledgement; [`Time::MAX`] before.
    pub(super) acknowledged_at: Time,
    sectors: u32,
    lun: u16,
    pub(super) kind: EntryKind,
}

impl Entry {
    pub(super) fn new(place: GroupExtent, kind: EntryKind) -> Self {
        Self {
            start: place.extent.start,
            acknowledged_at: Time::MAX,
            sectors: u32::try_from(place.extent.length).expect("a request is below 2 TiB"),
            lun: place.lun,
            kind,
        }
    }

    pub(super) fn place(&self) -> GroupExtent {
        GroupExtent { lun: self.lun, extent: Extent::new(self.start, u64::from(self.sectors)) }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.place().extent.bytes()
    }
}

/// The order itself.
#[derive(Default)]
pub(super) struct Order {
    entries: VecDeque<Entry>,
    base: u64,
    next: u64,
    /// No write from here on was ever sent.
    unsent: u64,
}

impl Order {
    /// Number of the oldest write that is not confirmed.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Number of the next write to send.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Number of the next write to come.
    pub(super) fn end(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// No write from here on was ever sent.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent
    }

    pub(super) fn under_way(&self) -> u64 {
        self.next - self.base
    }

    pub(super) fn push(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        self.end() - 1
    }

    pub(super) fn get(&self, number: u64) -> Option<&Entry> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get(at)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Entry> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get_mut(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Entry)> {
        (self.base..).zip(&self.entries)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// Counts the next write as sent.
    pub(super) fn sent(&mut self) {
        self.next += 1;
        self.unsent = self.unsent.max(self.next);
    }

    /// Everything that is not confirmed has to be sent again.
    pub(super) fn rewind(&mut self) {
        self.next = self.base;
    }

    /// Takes the oldest write if it is before `until`.
    pub(super) fn confirm(&mut self, until: u64) -> Option<(u64, Entry)> {
        if self.base >= until {
            return None;
        }
        let entry = self.entries.pop_front()?;
        self.base += 1;
        self.next = self.next.max(self.base);
        Some((self.base - 1, entry))
    }

    /// Gives up the order so far; numbers go on.
    pub(super) fn clear(&mut self) {
        self.base = self.end();
        self.next = self.base;
        self.entries = VecDeque::new();
    }

    /// Exchanges the contents of the next two writes to send, if there are two that differ and
    /// neither is before `from`.
    pub(super) fn swap_next(&mut self, from: u64) -> bool {
        if self.next < from {
            return false;
        }
        let (Some(one), Some(other)) = (self.get(self.next), self.get(self.next + 1)) else {
            return false;
        };
        let may = one.place() != other.place()
            && one.kind != EntryKind::Copy
            && other.kind != EntryKind::Copy;
        if may {
            let at = usize::try_from(self.next - self.base).expect("it is there");
            let (kind, other_kind) = (self.entries[at].kind, self.entries[at + 1].kind);
            self.entries.swap(at, at + 1);
            // Their hosts and bytes of the log stay with the numbers.
            (self.entries[at].kind, self.entries[at + 1].kind) = (kind, other_kind);
        }
        may
    }

    /// Takes the newest write if it has not been sent and is not before `from`.
    pub(super) fn lose_last(&mut self, from: u64) -> Option<Entry> {
        if self.end() <= self.next.max(from) {
            return None;
        }
        self.entries.pop_back()
    }
}
