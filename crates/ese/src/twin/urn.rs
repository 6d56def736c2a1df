//! How full the leaves of a tree are, as counts and no list.
//!
//! ```text
//!    entries    0   1   2   3   4   5   6   7         insert: one leaf moves a step right, or off the end: it splits,
//!    leaves     .   .   .   9  31 402  55  12                 and both its halves appear in the middle
//!                                                     delete: one leaf moves a step left
//! ```
//!
//! Keys are spread evenly, so a delete meets every entry with the same probability, and an insert every gap between two. A leaf
//! has as many gaps as entries: those with more entries also get more. (Yao, "On random 2-3 trees", 1978.) That is all that decides
//! how often leaves split; which leaf it is does not matter to how full the others are.
//!
//! Validity: entries of one size, keys without order. Merges are left out, which a database that shrinks would have.

use brunt_world::random::Stream;

/// Leaves by the number of their entries; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Urn {
    /// At `n`, the leaves that hold `n` entries; the last is a full leaf.
    leaves: Vec<u64>,
    total: u64,
    entries: u64,
}

impl Urn {
    /// An urn whose leaves hold at most `full` entries each, and none yet.
    ///
    /// # Panics
    /// When a full leaf holds nothing.
    pub(super) fn new(full: u32) -> Self {
        assert!(full > 0, "leaves that hold nothing");
        Self {
            leaves: vec![0; full as usize + 1],
            total: 0,
            entries: 0,
        }
    }

    /// Adds so many leaves of `entries` entries each.
    ///
    /// # Panics
    /// When a leaf cannot hold so many.
    pub(super) fn add(&mut self, leaves: u64, entries: u32) {
        self.leaves[entries as usize] += leaves;
        self.total += leaves;
        self.entries += leaves * u64::from(entries);
    }

    /// Leaves.
    pub(super) fn leaves(&self) -> u64 {
        self.total
    }

    /// Puts an entry in; whether its leaf had no room and was split.
    pub(super) fn insert(&mut self, random: &mut Stream) -> bool {
        let Some(class) = self.draw(random) else {
            self.leaves[0] = self.leaves[0].saturating_sub(1);
            self.leaves[1] += 1;
            self.total = self.total.max(1);
            self.entries = 1;
            return false;
        };
        self.leaves[class] -= 1;
        self.entries += 1;
        let entries = class + 1;
        if let Some(next) = self.leaves.get_mut(entries) {
            *next += 1;
            return false;
        }
        let half = entries.div_euclid(2);
        self.leaves[half] += 1;
        self.leaves[entries - half] += 1;
        self.total += 1;
        true
    }

    /// Takes an entry out.
    pub(super) fn delete(&mut self, random: &mut Stream) {
        if let Some(class) = self.draw(random) {
            self.leaves[class] -= 1;
            self.leaves[class - 1] += 1;
            self.entries -= 1;
        }
    }

    /// Draws an entry: how many its leaf has. `None` when there are no entries.
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
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn leaves_and_entries_are_accounted_for() {
        let mut random = Streams::new(5).named("urn");
        let mut urn = Urn::new(7);
        urn.add(1_000, 5);
        let mut splits = 0;
        for _ in 0..20_000 {
            splits += u64::from(urn.insert(&mut random));
            if random.percent(40) {
                urn.delete(&mut random);
            }
        }
        let entries: u64 = (0..).zip(&urn.leaves).map(|(n, count)| n * count).sum();
        assert_eq!(entries, urn.entries);
        assert_eq!(urn.leaves.iter().sum::<u64>(), urn.leaves());
        assert_eq!(urn.leaves(), 1_000 + splits);
    }

    #[test]
    fn random_inserts_fill_leaves_to_the_known_share() {
        // Yao, "On random 2-3 trees", 1978: ln 2 of a leaf, and more where leaves are small.
        let mut random = Streams::new(6).named("urn");
        let mut urn = Urn::new(100);
        for _ in 0..400_000 {
            urn.insert(&mut random);
        }
        let fill = urn.entries as f64 / (urn.leaves() as f64 * 100.0);
        assert!((fill / std::f64::consts::LN_2 - 1.0).abs() < 0.03, "{fill}");
    }

    #[test]
    fn sorted_keys_in_leaves_split_as_often() {
        let mut random = Streams::new(7).named("keys");
        let (full, loaded, count, inserts) = (14_usize, 11_usize, 3_000_usize, 30_000);
        let mut keys: Vec<u64> = (0..count * loaded).map(|_| random.bits()).collect();
        keys.sort_unstable();
        // By the lowest key of each leaf.
        let mut leaves: std::collections::BTreeMap<u64, usize> =
            keys.chunks(loaded).map(|leaf| (leaf[0], loaded)).collect();
        let mut bounds: std::collections::BTreeMap<u64, Vec<u64>> = keys
            .chunks(loaded)
            .map(|leaf| (leaf[0], leaf.to_vec()))
            .collect();
        let mut splits = 0_u32;
        for _ in 0..inserts {
            let key = random.bits();
            let low = leaves
                .range(..=key)
                .next_back()
                .map_or(keys[0], |(low, _)| *low);
            let leaf = bounds.get_mut(&low).unwrap();
            let at = leaf.partition_point(|other| *other < key);
            leaf.insert(at, key);
            if leaf.len() > full {
                let right = leaf.split_off(leaf.len().div_ceil(2));
                leaves.insert(right[0], right.len());
                bounds.insert(right[0], right);
                splits += 1;
            }
        }
        let mut urn = Urn::new(u32::try_from(full).unwrap());
        urn.add(count as u64, u32::try_from(loaded).unwrap());
        let same = (0..inserts).filter(|_| urn.insert(&mut random)).count();
        let ratio = same as f64 / f64::from(splits);
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    }
}
