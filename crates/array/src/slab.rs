//! Entries in flight, by number: reusable slots, each with a count of its uses.
//!
//! A [`Key`] that outlives its entry finds nothing, never another entry. That is how events of a
//! failed drive are recognised: their entries are gone.

/// Identifies an entry: a slot, and how often the slot was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    slot: u32,
    turn: u32,
}

impl Key {
    /// The key as a plain number.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.turn) << 32 | u64::from(self.slot)
    }

    /// The key from its number.
    #[expect(clippy::cast_possible_truncation, reason = "the halves are cut on purpose")]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { slot: bits as u32, turn: (bits >> 32) as u32 }
    }
}

struct Entry<T> {
    turn: u32,
    value: Option<T>,
}

/// Entries by [`Key`].
pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.entries[slot as usize];
            debug_assert!(entry.value.is_none());
            entry.value = Some(value);
            return Key { slot, turn: entry.turn };
        }
        let slot = u32::try_from(self.entries.len()).expect("fewer than 2^32 things in flight");
        self.entries.push(Entry { turn: 0, value: Some(value) });
        Key { slot, turn: 0 }
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let entry = &self.entries[key.slot as usize];
        if entry.turn == key.turn { entry.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let entry = &mut self.entries[key.slot as usize];
        if entry.turn == key.turn { entry.value.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let entry = &mut self.entries[key.slot as usize];
        if entry.turn != key.turn {
            return None;
        }
        let value = entry.value.take()?;
        entry.turn = entry.turn.wrapping_add(1);
        self.free.push(key.slot);
        Some(value)
    }

    /// Drops an entry in place.
    pub(crate) fn forget(&mut self, key: Key) {
        let entry = &mut self.entries[key.slot as usize];
        debug_assert!(entry.turn == key.turn && entry.value.is_some());
        entry.value = None;
        entry.turn = entry.turn.wrapping_add(1);
        self.free.push(key.slot);
    }

    /// Applies `change` to every entry.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        for entry in &mut self.entries {
            if let Some(value) = &mut entry.value {
                change(value);
            }
        }
    }

    /// The first entry, by slot, that satisfies `is_it`.
    pub(crate) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Key> {
        self.keys(is_it).next()
    }

    /// The entries that satisfy `is_it`, by slot.
    pub(crate) fn keys(&self, is_it: impl Fn(&T) -> bool) -> impl Iterator<Item = Key> {
        let entries = (0..).zip(&self.entries);
        entries.filter_map(move |(slot, entry)| {
            let found = entry.value.as_ref().is_some_and(&is_it);
            found.then_some(Key { slot, turn: entry.turn })
        })
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl<T> std::ops::Index<Key> for Slab<T> {
    type Output = T;

    fn index(&self, key: Key) -> &T {
        self.get(key).expect("the entry is in flight")
    }
}

impl<T> std::ops::IndexMut<Key> for Slab<T> {
    fn index_mut(&mut self, key: Key) -> &mut T {
        self.get_mut(key).expect("the entry is in flight")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(second.slot, first.slot);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(Key::from_bits(second.bits()), second);
        assert_eq!(slab[second], 'b');
        assert_eq!(slab.len(), 1);
    }
}
