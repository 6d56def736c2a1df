//! A heap of frames, smallest key first, that can be read in order without being consumed.
//!
//! ```text
//!                 [0]                 entries: (key, frame), four children each
//!        [1]   [2]   [3]   [4]        place:   frame -> index of its entry
//!      [5..8] [9..12] ...             frontier: indices whose parents have been visited
//! ```
//!
//! [`FrameHeap::walk`] visits frames from the smallest key upwards by keeping the children of all visited entries in a
//! small second heap, the frontier. Rejected frames are skipped and stay in place: no pops, no pushes.
//!
//! Keys may be *late*: a frame's true key may have grown since it was filed. A walk asks for the true key of every entry it
//! visits and, if that is larger, sinks the entry to its new place. So growing a key costs nothing until the next walk.
//!
//! Invariants: no entry is smaller than its parent, by (key, frame), so the order is total and does not depend on history;
//! a true key is never below the filed one; sinking an entry changes only the entries beneath it, none of which can be in
//! the frontier, so a walk may do it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Children of an entry: four entries of 16 bytes are a cache line.
const ARITY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u64,
    frame: u32,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct FrameHeap {
    entries: Vec<Entry>,
    place: Vec<u32>,
    frontier: BinaryHeap<Reverse<(Entry, u32)>>,
}

impl FrameHeap {
    /// The frames below `frames`, all filed under `key`.
    pub(super) fn new(frames: u32, key: u64) -> Self {
        Self {
            entries: (0..frames).map(|frame| Entry { key, frame }).collect(),
            place: (0..frames).collect(),
            frontier: BinaryHeap::new(),
        }
    }

    /// The key a frame is filed under.
    pub(super) fn key(&self, frame: u32) -> u64 {
        self.entries[self.place[frame as usize] as usize].key
    }

    /// Lowers a frame's key, or leaves it equal.
    pub(super) fn lower(&mut self, frame: u32, key: u64) {
        let at = self.place[frame as usize] as usize;
        assert!(key <= self.entries[at].key, "a key that grew in `lower`");
        self.entries[at].key = key;
        self.rise(at);
    }

    /// Visits frames in ascending order of (true key, frame) until `visit` returns false.
    ///
    /// `truth` maps a frame and its filed key to its true key, which is never lower.
    pub(super) fn walk(
        &mut self,
        truth: impl Fn(u32, u64) -> u64,
        mut visit: impl FnMut(u32, u64) -> bool,
    ) {
        self.frontier.clear();
        self.reach(0);
        while let Some(Reverse((filed, at))) = self.frontier.pop() {
            let at = at as usize;
            let key = truth(filed.frame, filed.key);
            assert!(key >= filed.key, "a key shrank without being filed");
            if key > filed.key {
                self.entries[at].key = key;
                self.sink(at);
                self.reach(at);
                continue;
            }
            if !visit(filed.frame, key) {
                return;
            }
            let children = ARITY * at + 1..ARITY * at + 1 + ARITY;
            children.for_each(|child| self.reach(child));
        }
    }

    fn reach(&mut self, at: usize) {
        if let Some(entry) = self.entries.get(at) {
            self.frontier.push(Reverse((*entry, index(at))));
        }
    }

    fn rise(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1).div_euclid(ARITY);
            if self.entries[parent] <= entry {
                break;
            }
            self.set(at, self.entries[parent]);
            at = parent;
        }
        self.set(at, entry);
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            let first = ARITY * at + 1;
            let end = (first + ARITY).min(self.entries.len());
            let least = (first..end).min_by_key(|child| self.entries[*child]);
            let Some(least) = least.filter(|child| self.entries[*child] < entry) else {
                break;
            };
            self.set(at, self.entries[least]);
            at = least;
        }
        self.set(at, entry);
    }

    fn set(&mut self, at: usize, entry: Entry) {
        self.entries[at] = entry;
        self.place[entry.frame as usize] = index(at);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "there are as many entries as frames, and frames are u32"
)]
fn index(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::Streams;

    use super::*;

    const FRAMES: u32 = 40;

    fn ascending(heap: &mut FrameHeap, true_keys: &BTreeMap<u32, u64>) -> Vec<(u64, u32)> {
        let mut seen = Vec::new();
        heap.walk(
            |frame, _| true_keys[&frame],
            |frame, key| {
                seen.push((key, frame));
                true
            },
        );
        seen
    }

    #[test]
    fn walks_as_a_sorted_list_would() {
        let mut random = Streams::new(1).named("heap");
        let mut heap = FrameHeap::new(FRAMES, 99);
        let mut oracle: BTreeMap<u32, u64> = (0..FRAMES).map(|frame| (frame, 99)).collect();
        for _ in 0..20_000 {
            #[expect(clippy::cast_possible_truncation, reason = "below FRAMES")]
            let frame = random.below(u64::from(FRAMES)) as u32;
            let key = oracle.get_mut(&frame).expect("every frame has one");
            match random.below(3) {
                // Only the true key grows; the heap does not know.
                0 => *key += random.below(30),
                1 => {
                    *key = random.below(heap.key(frame) + 1);
                    heap.lower(frame, *key);
                }
                _ => {
                    let mut sorted: Vec<_> = oracle.iter().map(|(f, k)| (*k, *f)).collect();
                    sorted.sort_unstable();
                    assert_eq!(ascending(&mut heap, &oracle), sorted);
                }
            }
        }
    }
}
