//! Frames by key, smallest first, read in order without being consumed.
//!
//! ```text
//!    sorted     (key, frame), ascending: every frame below the first bucket
//!    buckets    the other frames, each with those of a range of keys, in any order
//! ```
//!
//! Most frames are far from the front and will have moved before a walk reaches them. So filing one
//! only adds it to a bucket, and a walk that runs out of sorted frames sorts the next bucket.
//!
//! Keys may be *late*: a frame's true key may have grown since it was filed. A walk asks for the
//! true key of every frame it comes to and files it again if that is larger. So growing a key costs
//! nothing until the next walk.
//!
//! A frame that is filed again may leave an entry behind; the next walk that comes to it drops it.
//!
//! Invariants: a true key is never below the filed one; a frame that is filed has an entry under
//! its key, in `sorted` or in the bucket of that key; `sorted` has no entry twice.

use std::collections::BTreeMap;

/// The key of a frame that is in no place.
pub(super) const NOWHERE: u64 = u64::MAX;

/// A bucket has keys with equal bits from this one up: a sixtieth of a second, if keys are
/// nanoseconds.
const BUCKET_BITS: u32 = 24;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct FrameOrder {
    /// The key under which each frame is filed, or [`NOWHERE`].
    filed: Vec<u64>,
    sorted: Vec<(u64, u32)>,
    buckets: BTreeMap<u64, Vec<u32>>,
    /// Buckets below this one have been sorted.
    first: u64,
}

impl FrameOrder {
    /// No frames; those below `frames` can be filed.
    pub(super) fn new(frames: u32) -> Self {
        Self {
            filed: vec![NOWHERE; frames as usize],
            sorted: Vec::new(),
            buckets: BTreeMap::new(),
            first: 0,
        }
    }

    /// Files a frame under `key`, unless it already is under that or a smaller one.
    pub(super) fn file(&mut self, frame: u32, key: u64) {
        if key < self.filed[frame as usize] {
            self.put(frame, key);
        }
    }

    /// Visits filed frames in ascending order of (true key, frame) until `visit` returns false.
    ///
    /// `truth` has the true key of a frame, which is never below the filed one. A frame whose true
    /// key is [`NOWHERE`] is no longer filed.
    pub(super) fn walk(
        &mut self,
        truth: impl Fn(u32) -> u64,
        mut visit: impl FnMut(u32, u64) -> bool,
    ) {
        // Entries before `kept` stay; those from there to `at` have been dropped or moved.
        let (mut kept, mut at) = (0, 0);
        let mut goes_on = true;
        while goes_on {
            let Some((key, frame)) = self.sorted.get(at).copied() else {
                self.sorted.truncate(kept);
                at = kept;
                if self.sort_next(&truth) {
                    continue;
                }
                break;
            };
            at += 1;
            if key != self.filed[frame as usize] {
                continue;
            }
            let now = truth(frame);
            assert!(now >= key, "a key shrank without being filed");
            if now > key {
                self.put(frame, now);
                continue;
            }
            self.sorted[kept] = (key, frame);
            kept += 1;
            goes_on = visit(frame, key);
        }
        self.sorted.drain(kept..at);
    }

    /// Sorts the frames of the next bucket; false when there is none.
    fn sort_next(&mut self, truth: impl Fn(u32) -> u64) -> bool {
        let Some((bucket, frames)) = self.buckets.pop_first() else {
            return false;
        };
        self.first = bucket + 1;
        let begin = self.sorted.len();
        for frame in frames {
            if bucket_of(self.filed[frame as usize]) != bucket {
                continue;
            }
            let key = truth(frame);
            if bucket_of(key) == bucket {
                self.filed[frame as usize] = key;
                self.sorted.push((key, frame));
            } else {
                self.put(frame, key);
            }
        }
        self.sorted[begin..].sort_unstable();
        self.sorted.dedup();
        true
    }

    /// Adds an entry for a frame.
    fn put(&mut self, frame: u32, key: u64) {
        self.filed[frame as usize] = key;
        if key == NOWHERE {
            return;
        }
        let bucket = bucket_of(key);
        if bucket >= self.first {
            self.buckets.entry(bucket).or_default().push(frame);
        } else if let Err(at) = self.sorted.binary_search(&(key, frame)) {
            self.sorted.insert(at, (key, frame));
        }
    }
}

fn bucket_of(key: u64) -> u64 {
    key >> BUCKET_BITS
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    const FRAMES: u32 = 40;

    fn ascending(order: &mut FrameOrder, truth: &[u64], most: usize) -> Vec<(u64, u32)> {
        let mut seen = Vec::new();
        let visit = |frame, key| {
            seen.push((key, frame));
            seen.len() < most
        };
        order.walk(|frame| truth[frame as usize], visit);
        seen
    }

    #[test]
    fn walks_as_a_sorted_list_would() {
        for bits in [0, BUCKET_BITS - 3, BUCKET_BITS + 1] {
            let mut random = Streams::new(1).named("frames");
            let mut order = FrameOrder::new(FRAMES);
            let mut truth = vec![NOWHERE; FRAMES as usize];
            for _ in 0..20_000 {
                let frame = u32::try_from(random.below(u64::from(FRAMES))).unwrap();
                let key = &mut truth[frame as usize];
                match random.below(4) {
                    // Only the true key grows; the order does not know.
                    0 if *key != NOWHERE => *key += random.below(30) << bits,
                    1 => *key = NOWHERE,
                    2 => {
                        *key = random.below(200) << bits;
                        order.file(frame, *key);
                    }
                    _ => {
                        let mut sorted: Vec<_> = truth.iter().copied().zip(0..).collect();
                        sorted.retain(|(key, _)| *key != NOWHERE);
                        sorted.sort_unstable();
                        let most = usize::try_from(1 + random.below(60)).unwrap();
                        sorted.truncate(most);
                        assert_eq!(ascending(&mut order, &truth, most), sorted);
                    }
                }
            }
        }
    }

    #[test]
    fn what_moves_on_and_on_takes_no_more_room() {
        let mut order = FrameOrder::new(FRAMES);
        let mut truth: Vec<u64> = (0..u64::from(FRAMES)).collect();
        for (frame, key) in (0..).zip(&truth) {
            order.file(frame, *key);
        }
        for _ in 0..1000 {
            truth.iter_mut().for_each(|key| *key += 1 << BUCKET_BITS);
            assert_eq!(ascending(&mut order, &truth, 5).len(), 5);
        }
        let entries = order.buckets.values().map(Vec::len).sum::<usize>();
        assert!(entries + order.sorted.len() <= 2 * FRAMES as usize);
    }
}
