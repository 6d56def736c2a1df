//! Records of evicted pages: a fixed number, the oldest forgotten first.
//!
//! Records are in one array and are chained from oldest to newest; an open-addressing table of
//! record numbers finds them by key. Both are sized once. The table is at most half full,
//! collisions probe the next slot, and a deletion moves later entries of the probe run back, so
//! there are no tombstones to sweep.
//!
//! Invariant: each record in the chain is in the table exactly once, and nothing else is.

use brunt_units::Time;
use prefetch_index::prefetch_index;

/// End of a chain.
const NONE: u32 = u32::MAX;

/// A page's record: see [`super::replacement`] for the meaning of both times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// Start of the latest run of references.
    pub(super) first: Time,
    /// The page's rank in the replacement order.
    pub(super) rank: Time,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    key: u64,
    past: Past,
    older: u32,
    newer: u32,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct History {
    records: Vec<Record>,
    /// Maximum number of records.
    capacity: u32,
    /// Record number + 1, or 0 for an empty slot. Zeroes cost no memory until they are written.
    table: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Unused records, linked through `newer`.
    spare: u32,
}

impl History {
    /// Room for `capacity` records; with zero, nothing is remembered.
    pub(super) fn new(capacity: u32) -> Self {
        let slots = (2 * capacity as usize).next_power_of_two().max(2);
        Self {
            records: Vec::with_capacity(capacity as usize),
            capacity,
            table: vec![0; slots],
            oldest: NONE,
            newest: NONE,
            spare: NONE,
        }
    }

    /// Remembers `key` as the newest, replacing any older record of it.
    pub(super) fn remember(&mut self, key: u64, past: Past) {
        if self.capacity == 0 {
            return;
        }
        self.take(key);
        let at = self.room();
        let older = self.newest;
        self.records[at as usize] = Record { key, past, older, newer: NONE };
        match older {
            NONE => self.oldest = at,
            older => self.records[older as usize].newer = at,
        }
        self.newest = at;
        let (slot, found) = self.find(key);
        assert!(found.is_none(), "a key twice in the history");
        self.table[slot] = at + 1;
        if let Some(oldest) = self.records.get(self.oldest as usize) {
            // The next one to be forgotten, and the one after it.
            self.anticipate(oldest.key);
            prefetch_index(&self.records, oldest.newer as usize);
        }
    }

    /// `key` will be looked for soon.
    pub(super) fn anticipate(&self, key: u64) {
        prefetch_index(&self.table, self.home(key));
    }

    /// Removes and returns the record of `key`.
    pub(super) fn take(&mut self, key: u64) -> Option<Past> {
        let (slot, found) = self.find(key);
        let at = found?;
        self.close_gap(slot);
        let record = self.records[at as usize];
        match record.older {
            NONE => self.oldest = record.newer,
            older => self.records[older as usize].newer = record.newer,
        }
        match record.newer {
            NONE => self.newest = record.older,
            newer => self.records[newer as usize].older = record.older,
        }
        self.records[at as usize].newer = std::mem::replace(&mut self.spare, at);
        Some(record.past)
    }

    /// Number of an unused record.
    fn room(&mut self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at most `capacity`, a u32")]
        let used = self.records.len() as u32;
        if self.spare == NONE && used < self.capacity {
            let past = Past { first: Time::ZERO, rank: Time::ZERO };
            self.records.push(Record { key: 0, past, older: NONE, newer: NONE });
            return used;
        }
        if self.spare == NONE {
            self.take(self.records[self.oldest as usize].key);
        }
        let at = self.spare;
        self.spare = self.records[at as usize].newer;
        at
    }

    /// The record of `key` and its slot, or the empty slot where it would go.
    fn find(&self, key: u64) -> (usize, Option<u32>) {
        let mut slot = self.home(key);
        loop {
            match self.table[slot] {
                0 => return (slot, None),
                number if self.records[number as usize - 1].key == key => {
                    return (slot, Some(number - 1));
                }
                _ => slot = self.next(slot),
            }
        }
    }

    /// Empties a slot and moves back entries that had to probe past it.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.table.len() - 1;
        let mut slot = self.next(gap);
        while self.table[slot] != 0 {
            let home = self.home(self.records[self.table[slot] as usize - 1].key);
            let probed = slot.wrapping_sub(home) & mask;
            if probed >= slot.wrapping_sub(gap) & mask {
                self.table[gap] = self.table[slot];
                gap = slot;
            }
            slot = self.next(slot);
        }
        self.table[gap] = 0;
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.table.len() - 1)
    }

    /// Multiplicative hashing by 2^64 / golden ratio; the upper bits are the well-mixed ones.
    fn home(&self, key: u64) -> usize {
        let bits = self.table.len().trailing_zeros();
        #[expect(clippy::cast_possible_truncation, reason = "as many bits as the table has slots")]
        let home = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize;
        home
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn remembers_what_a_short_list_would() {
        for capacity in [0_u32, 1, 2, 5, 16] {
            let mut random = Streams::new(u64::from(capacity)).named("history");
            let mut history = History::new(capacity);
            let mut oracle: Vec<(u64, Past)> = Vec::new();
            for step in 0..5_000 {
                let key = random.below(24);
                if random.percent(50) {
                    let past = Past { first: Time(step), rank: Time(step + 1) };
                    history.remember(key, past);
                    oracle.retain(|(known, _)| *known != key);
                    oracle.push((key, past));
                    let excess = oracle.len().saturating_sub(capacity as usize);
                    oracle.drain(..excess);
                } else {
                    let at = oracle.iter().position(|(known, _)| *known == key);
                    let expected = at.map(|at| oracle.remove(at).1);
                    assert_eq!(history.take(key), expected, "capacity {capacity}");
                }
            }
        }
    }
}
