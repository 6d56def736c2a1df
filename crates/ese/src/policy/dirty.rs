//! Dirty pages by their oldest unwritten change, which holds back the checkpoint.
//!
//! Recovery starts at the checkpoint, so the checkpoint cannot pass the first change of any page
//! that has not been written since. A page is filed under the position of that change; later
//! changes do not move it. Each log stream has its own order: positions of different streams cannot
//! be compared.
//!
//! Pages arrive nearly in order, but only nearly: a page changed while it is being written is filed
//! when the write ends, under a position that is no longer the newest. Hence a tree and not a list.

use std::collections::BTreeSet;

use brunt_units::LogPosition;

/// The dirty pages of one log stream, oldest first; see the [module](self).
///
/// Each frame knows its own position, and a server has many log streams, so the order has the dirty
/// frames only.
#[derive(Debug, Default)]
pub struct DirtyOrder {
    order: BTreeSet<(LogPosition, u32)>,
}

impl DirtyOrder {
    /// The page in `frame` has become dirty: its oldest unwritten change is logged at `position`.
    ///
    /// # Panics
    /// When it is known under that position.
    pub fn insert(&mut self, frame: u32, position: LogPosition) {
        let is_new = self.order.insert((position, frame));
        assert!(is_new, "frame {frame} is dirty twice");
    }

    /// The page in `frame` is clean or gone.
    ///
    /// # Panics
    /// When it was not inserted under `position`.
    pub fn remove(&mut self, frame: u32, position: LogPosition) {
        let was_dirty = self.order.remove(&(position, frame));
        assert!(was_dirty, "frame {frame} is clean");
    }

    /// Position of the oldest change of all, which the checkpoint cannot pass.
    pub fn oldest(&self) -> Option<LogPosition> {
        self.order.first().map(|(position, _)| *position)
    }

    /// Appends to `out` up to `limit` frames whose oldest change is before `position`, oldest
    /// first.
    ///
    /// They stay dirty until removed.
    pub fn older_than(&self, position: LogPosition, limit: usize, out: &mut Vec<u32>) {
        let older = self.order.range(..(position, 0));
        out.extend(older.take(limit).map(|(_, frame)| *frame));
    }

    /// Number of dirty pages.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether every page is clean.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::Streams;

    use super::*;

    fn position(number: u64) -> LogPosition {
        LogPosition {
            generation: 1 + u32::try_from(number.div_euclid(16)).unwrap(),
            segment: u16::try_from(number.div_euclid(4) % 4).unwrap(),
            byte: u16::try_from(number % 4).unwrap(),
        }
    }

    #[test]
    fn agrees_with_a_sorted_map() {
        let mut random = Streams::new(5).named("dirty");
        let mut dirty = DirtyOrder::default();
        let mut oracle = BTreeMap::<u32, LogPosition>::new();
        for step in 0..20_000 {
            let frame = u32::try_from(random.below(30)).unwrap();
            // Mostly the newest position, sometimes an older one.
            let most = random.below(40);
            let lag = random.below(1 + most);
            let at = position(40 + step - lag);
            match random.below(3) {
                0 => {
                    if let std::collections::btree_map::Entry::Vacant(clean) = oracle.entry(frame) {
                        dirty.insert(frame, *clean.insert(at));
                    }
                }
                1 => {
                    if let Some(position) = oracle.remove(&frame) {
                        dirty.remove(frame, position);
                    }
                }
                _ => {
                    let limit = random.below(8);
                    let mut out = Vec::new();
                    dirty.older_than(at, usize::try_from(limit).unwrap(), &mut out);
                    let mut expected: Vec<_> = oracle.iter().map(|(f, p)| (*p, *f)).collect();
                    expected.retain(|(known, _)| *known < at);
                    expected.sort_unstable();
                    expected.truncate(usize::try_from(limit).unwrap());
                    let expected: Vec<_> = expected.into_iter().map(|(_, f)| f).collect();
                    assert_eq!(out, expected);
                }
            }
            assert_eq!(dirty.oldest(), oracle.values().min().copied());
            assert_eq!(dirty.len(), oracle.len());
        }
    }
}
