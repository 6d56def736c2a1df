//! How full the leaves of a tree are, as counts per fill level.
//!
//! ```text
//!    entries    0   1   2   3   4   5   6   7         insert: one leaf moves a step right, or off the end: it splits,
//!    leaves     .   .   .   9  31 402  55  12                 and its two halves appear in the middle
//!                                                     delete: one leaf moves a step left
//! ```
//!
//! Keys are evenly distributed, so a delete hits every entry with the same probability, and an
//! insert every gap between two. A leaf has as many gaps as entries: leaves with more entries also
//! get more inserts. (Yao, "On random 2-3 trees", 1978.) This alone determines how often leaves
//! split; which leaf it is does not affect the others. An entry inserted next to a recent one goes
//! to the same leaf, and splits it more often than a random one. Likewise, entries deleted together
//! leave the same leaf.
//!
//! A leaf whose last entry is deleted is removed.
//!
//! Validity: entries of one size, keys without order. Merges of sparse leaves, which a shrinking
//! database would have, are not modelled.

use brunt_world::random::Stream;

/// Number of leaves by number of entries; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Urn {
    /// At index `n`, the number of leaves with `n` entries; the last are full.
    leaves: Vec<u64>,
    total: u64,
    entries: u64,
}

/// Result of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Its leaf was full and was split.
    pub(super) splits: bool,
    /// Entries on the leaf of the new entry.
    pub(super) entries: usize,
}

impl Urn {
    /// An urn without leaves, which will have at most `full` entries each.
    ///
    /// # Panics
    /// When `full` is 0.
    pub(super) fn new(full: u32) -> Self {
        assert!(full > 0, "leaves that hold nothing");
        Self { leaves: vec![0; full as usize + 1], total: 0, entries: 0 }
    }

    /// Adds `leaves` leaves of `entries` entries each.
    ///
    /// # Panics
    /// When `entries` exceeds the maximum.
    pub(super) fn add(&mut self, leaves: u64, entries: u32) {
        self.leaves[entries as usize] += leaves;
        self.total += leaves;
        self.entries += leaves * u64::from(entries);
    }

    /// Number of leaves.
    pub(super) fn leaves(&self) -> u64 {
        self.total
    }

    /// Inserts an entry, on a leaf of `beside` entries if there is one.
    pub(super) fn insert(&mut self, beside: Option<usize>, random: &mut Stream) -> Inserted {
        let beside = beside.filter(|class| self.leaves[*class] > 0);
        let Some(class) = beside.or_else(|| self.draw(random)) else {
            self.leaves[0] = self.leaves[0].saturating_sub(1);
            self.leaves[1] += 1;
            self.total = self.total.max(1);
            self.entries = 1;
            return Inserted { splits: false, entries: 1 };
        };
        self.leaves[class] -= 1;
        self.entries += 1;
        let entries = class + 1;
        if let Some(next) = self.leaves.get_mut(entries) {
            *next += 1;
            return Inserted { splits: false, entries };
        }
        let half = entries.div_euclid(2);
        self.leaves[half] += 1;
        self.leaves[entries - half] += 1;
        self.total += 1;
        let is_lower = random.below(entries as u64) < half as u64;
        Inserted { splits: true, entries: if is_lower { half } else { entries - half } }
    }

    /// Deletes an entry from a leaf of `beside` entries if there is one, and returns how many its
    /// leaf has left. An empty leaf is removed, unless it is the only one.
    pub(super) fn delete(&mut self, beside: Option<usize>, random: &mut Stream) -> usize {
        let beside = beside.filter(|class| *class > 0 && self.leaves[*class] > 0);
        let Some(class) = beside.or_else(|| self.draw(random)) else {
            return 0;
        };
        self.leaves[class] -= 1;
        self.entries -= 1;
        match class {
            1 if self.total > 1 => self.total -= 1,
            _ => self.leaves[class - 1] += 1,
        }
        class - 1
    }

    /// Draws a random entry and returns how many its leaf has. `None` when there are no entries.
    fn draw(&self, random: &mut Stream) -> Option<usize> {
        if self.entries == 0 {
            return None;
        }
        let mut left = random.below(self.entries);
        (0_u64..).zip(&self.leaves).position(|(entries, count)| {
            let weight = entries * count;
            let here = left < weight;
            left = left.saturating_sub(weight);
            here
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn leaves_and_entries_are_accounted_for() {
        let mut random = Streams::new(5).named("urn");
        let mut urn = Urn::new(7);
        urn.add(1_000, 5);
        let (mut splits, mut gone) = (0, 0);
        for _ in 0..20_000 {
            splits += u64::from(urn.insert(None, &mut random).splits);
            if random.percent(40) {
                gone += u64::from(urn.delete(None, &mut random) == 0);
            }
        }
        let entries: u64 = (0..).zip(&urn.leaves).map(|(n, count)| n * count).sum();
        assert_eq!(entries, urn.entries);
        assert_eq!(urn.leaves.iter().sum::<u64>(), urn.leaves());
        assert!(gone > 0);
        assert_eq!(urn.leaves(), 1_000 + splits - gone);
    }

    #[test]
    fn random_inserts_fill_leaves_to_the_known_share() {
        // Yao, "On random 2-3 trees", 1978: ln 2 of a leaf, and more where leaves are small.
        let mut random = Streams::new(6).named("urn");
        let mut urn = Urn::new(100);
        for _ in 0..400_000 {
            urn.insert(None, &mut random);
        }
        let fill = urn.entries as f64 / (urn.leaves() as f64 * 100.0);
        assert!((fill / std::f64::consts::LN_2 - 1.0).abs() < 0.03, "{fill}");
    }

    /// Puts sorted keys in leaves with room for `full`; returns how many splits `inserts` inserts
    /// take, `beside` percent of which are next to the previous one.
    fn splits_of_leaves(full: usize, loaded: usize, inserts: usize, beside: u64) -> usize {
        let mut random = Streams::new(7).named("keys");
        let mut keys: Vec<u64> = (0..LEAVES * loaded).map(|_| random.bits()).collect();
        keys.sort_unstable();
        // By the lowest key of each leaf.
        let mut leaves: BTreeMap<u64, Vec<u64>> =
            keys.chunks(loaded).map(|leaf| (leaf[0], leaf.to_vec())).collect();
        let (mut splits, mut key) = (0, 0);
        for _ in 0..inserts {
            key = match random.below(100) < beside {
                true => key + 1,
                false => random.bits(),
            };
            let low = leaves.range(..=key).next_back();
            let low = low.map_or(keys[0], |(low, _)| *low);
            let leaf = leaves.get_mut(&low).unwrap();
            let at = leaf.partition_point(|other| *other < key);
            leaf.insert(at, key);
            if leaf.len() > full {
                let right = leaf.split_off(leaf.len().div_ceil(2));
                leaves.insert(right[0], right);
                splits += 1;
            }
        }
        splits
    }

    const LEAVES: usize = 20_000;

    #[test]
    fn sorted_keys_in_leaves_split_as_often() {
        for beside in [0, 30] {
            for (full, loaded) in [(3, 2), (7, 5), (14, 10)] {
                for inserts in [LEAVES.div_ceil(2), 4 * LEAVES] {
                    let splits = splits_of_leaves(full, loaded, inserts, beside);
                    let mut random = Streams::new(8).named("urn");
                    let mut urn = Urn::new(u32::try_from(full).unwrap());
                    urn.add(LEAVES as u64, u32::try_from(loaded).unwrap());
                    let (mut same, mut entries) = (0_usize, 0);
                    for _ in 0..inserts {
                        let is_beside = random.below(100) < beside;
                        let inserted = urn.insert(is_beside.then_some(entries), &mut random);
                        entries = inserted.entries;
                        same += usize::from(inserted.splits);
                    }
                    let apart = same.abs_diff(splits) as f64;
                    let most = 0.03 * splits as f64 + 30.0;
                    assert!(
                        apart < most,
                        "{full} {loaded} {inserts} {beside}: {same} and {splits}"
                    );
                }
            }
        }
    }
}
