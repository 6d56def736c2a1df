//! Dirty pages by their oldest unwritten change, which holds back the checkpoint.
//!
//! Recovery starts at the checkpoint, so the checkpoint cannot pass the first change of any page that has not been written
//! since. A page is filed under the position of that change; later changes do not move it. Each log stream has its own
//! order: positions of different streams cannot be compared.
//!
//! Pages arrive nearly in order, but only nearly: a page changed while it is being written is filed when the write ends,
//! under a position that is no longer the newest. Hence a heap and not a list.

use brunt_units::LogPosition;

use super::frame_heap::FrameHeap;

/// The dirty pages of one log stream, oldest first; see the [module](self).
#[derive(Debug)]
pub struct DirtyOrder {
    order: FrameHeap,
}

impl DirtyOrder {
    /// The order of a cache of `frames` frames, all clean.
    pub fn new(frames: u32) -> Self {
        Self {
            order: FrameHeap::new(frames),
        }
    }

    /// Records a change logged at `position` in the page in `frame`. If there are several, the oldest counts.
    ///
    /// O(log n) if the page was clean; O(1) if the position is not older than the known one.
    pub fn insert(&mut self, frame: u32, position: LogPosition) {
        let key = to_key(position);
        match self.order.key(frame) {
            None => self.order.insert(frame, key),
            Some(known) if key < known => self.order.lower(frame, key),
            Some(_) => {}
        }
    }

    /// The page in `frame` is clean or gone. Returns true if it was dirty. O(log n).
    pub fn remove(&mut self, frame: u32) -> bool {
        self.order.remove(frame)
    }

    /// Position of the oldest change in the page in `frame`; `None` when it is clean.
    pub fn position(&self, frame: u32) -> Option<LogPosition> {
        self.order.key(frame).map(to_position)
    }

    /// Position of the oldest change of all, which the checkpoint cannot pass.
    pub fn oldest(&self) -> Option<LogPosition> {
        self.order.first().map(|(key, _)| to_position(key))
    }

    /// Appends to `out` up to `limit` frames whose oldest change is before `position`, oldest first.
    ///
    /// They stay dirty until removed.
    pub fn older_than(&mut self, position: LogPosition, limit: usize, out: &mut Vec<u32>) {
        let end = out.len().saturating_add(limit);
        let bound = to_key(position);
        self.order.walk(
            |_, filed| filed,
            |frame, key| {
                let wanted = key < bound && out.len() < end;
                if wanted {
                    out.push(frame);
                }
                wanted
            },
        );
    }

    /// Number of dirty pages.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether every page is clean.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A position as an integer with the same order.
fn to_key(position: LogPosition) -> u64 {
    let LogPosition {
        generation,
        segment,
        byte,
    } = position;
    u64::from(generation) << 32 | u64::from(segment) << 16 | u64::from(byte)
}

fn to_position(key: u64) -> LogPosition {
    LogPosition::from_bytes(key.to_le_bytes())
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
    fn keys_order_like_positions() {
        for number in 0..200 {
            assert!(to_key(position(number)) < to_key(position(number + 1)));
            assert_eq!(to_position(to_key(position(number))), position(number));
        }
        assert_eq!(to_position(to_key(LogPosition::MAX)), LogPosition::MAX);
    }

    #[test]
    fn agrees_with_a_sorted_map() {
        let mut random = Streams::new(5).named("dirty");
        let mut dirty = DirtyOrder::new(30);
        let mut oracle = BTreeMap::<u32, LogPosition>::new();
        for step in 0..20_000 {
            let frame = u32::try_from(random.below(30)).unwrap();
            // Mostly the newest position, sometimes an older one.
            let most = random.below(40);
            let lag = random.below(1 + most);
            let at = position(40 + step - lag);
            match random.below(3) {
                0 => {
                    dirty.insert(frame, at);
                    let known = oracle.entry(frame).or_insert(at);
                    *known = at.min(*known);
                }
                1 => assert_eq!(dirty.remove(frame), oracle.remove(&frame).is_some()),
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
            assert_eq!(dirty.position(frame), oracle.get(&frame).copied());
            assert_eq!(dirty.len(), oracle.len());
        }
    }
}
