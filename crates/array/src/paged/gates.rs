//! LUNs whose requests wait a moment, for writes that were under way.
//!
//! A copy of a LUN (a snapshot, a clone, the start of a replication) holds what was acknowledged
//! before its instant. A write that was under way then may be in it: it goes to a node that both
//! share from then on, when it lands. So that nobody sees content change by itself, requests to the
//! copy wait until these writes have landed. A write that comes later, or has only waited for its
//! turn, goes to a node of its own and is not in the copy.
//!
//! A LUN that is restored lets its requests under way end first; those that come meanwhile wait,
//! and find the restored content.
//!
//! Invariant: acknowledged before the instant, then in the copy; submitted after it, then not. So a
//! write in the copy has with it every write of its set that was acknowledged before that write was
//! submitted.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{PagePart, PartOwner};
use super::{PagedArray, Request};
use crate::slab::Key;
use crate::{Extent, Verb};

/// What happens when everything that is waited for has ended.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// Nothing but that the LUNs get their requests.
    Open,
    /// LUNs get the content of snapshots, as pairs.
    Restore(String, Vec<(u32, u32)>),
}

struct Gate {
    luns: Vec<u32>,
    /// Parts that are waited for.
    pending: BTreeSet<Key>,
    then: Then,
}

/// The gates, and the requests that wait before them.
#[derive(Default)]
pub(super) struct Gates {
    shut: Vec<Gate>,
    waiting: BTreeMap<u32, Vec<Key>>,
}

impl Gates {
    pub(super) fn are_open(&self) -> bool {
        self.shut.is_empty()
    }

    /// Whether requests to `lun` wait.
    pub(super) fn is_shut(&self, lun: u32) -> bool {
        self.shut.iter().any(|gate| gate.luns.contains(&lun))
    }

    /// What requests to `lun` wait for.
    fn pending(&self, lun: u32) -> impl Iterator<Item = Key> {
        let gates = self.shut.iter().filter(move |gate| gate.luns.contains(&lun));
        gates.flat_map(|gate| gate.pending.iter().copied())
    }

    /// Whether a request to `lun` waits.
    fn does_wait(&self, lun: u32, request: Key) -> bool {
        let waiting = self.waiting.get(&lun);
        waiting.is_some_and(|waiting| waiting.contains(&request))
    }

    pub(super) fn wait(&mut self, lun: u32, request: Key) {
        self.waiting.entry(lun).or_default().push(request);
    }
}

/// Whether this is a host's write to `lun` that has found its node.
fn has_begun(part: &PagePart, lun: u32) -> bool {
    let is_of_host = matches!(part.owner(), PartOwner::Request(_));
    is_of_host && part.verb() == Verb::Write && part.at.0 == lun && part.node.is_some()
}

impl PagedArray {
    /// Shuts `copies`, which were just made of `luns`, until what was under way to these has
    /// landed. Returns the number of those writes, by page.
    pub(super) fn settle(&mut self, luns: &[u32], copies: Vec<u32>) -> usize {
        let mut pending = BTreeSet::new();
        for lun in luns {
            pending.extend(self.parts.keys(|part| has_begun(part, *lun)));
            // It may be a copy that has not settled itself.
            pending.extend(self.gates.pending(*lun));
        }
        let count = pending.len();
        if count > 0 {
            self.gates.shut.push(Gate { luns: copies, pending, then: Then::Open });
        }
        count
    }

    /// What a copy of `luns` that is made now has of requests that have no answer: their tags, and
    /// the sectors that have found their place. A finished request whose answer was not taken
    /// counts.
    pub(crate) fn begun_writes(&self, luns: &[u32]) -> Vec<(u64, Extent)> {
        let is_own = |request: &Request| {
            request.io.verb == Verb::Write
                && luns.contains(&request.io.lun)
                && request.result.is_ok()
        };
        let mut begun = Vec::new();
        for key in self.requests.keys(is_own) {
            let io = &self.requests[key].io;
            if self.gates.does_wait(io.lun, key) {
                continue;
            }
            let is_waiting =
                |part: &PagePart| part.owner() == PartOwner::Request(key) && part.node.is_none();
            let waiting = self.parts.keys(is_waiting).map(|part| self.parts[part].at.1);
            let waiting: Vec<u32> = waiting.collect();
            for (page, within) in io.extent.split(self.map.page_sectors) {
                if waiting.iter().any(|waits| u64::from(*waits) == page) {
                    continue;
                }
                let start = page * self.map.page_sectors + within.start;
                begun.push((io.tag, Extent::new(start, within.length)));
            }
        }
        begun
    }

    /// Lets the requests under way to the first of each pair end, then does `then`.
    pub(super) fn drain(&mut self, pairs: &[(u32, u32)], then: Then) {
        let mut pending = BTreeSet::new();
        for (lun, from) in pairs {
            let is_of_host = |part: &PagePart| matches!(part.owner(), PartOwner::Request(_));
            let is_under_way = |part: &PagePart| part.at.0 == *lun && is_of_host(part);
            pending.extend(self.parts.keys(is_under_way));
            pending.extend(self.gates.pending(*lun));
            pending.extend(self.gates.pending(*from));
        }
        self.gates.shut.push(Gate {
            luns: pairs.iter().map(|(lun, _)| *lun).collect(),
            pending,
            then,
        });
        self.open_gates();
    }

    /// A part that may be waited for has ended.
    pub(super) fn part_left(&mut self, part: Key) {
        let mut is_last = false;
        for gate in &mut self.gates.shut {
            is_last |= gate.pending.remove(&part) && gate.pending.is_empty();
        }
        if is_last {
            self.open_gates();
        }
    }

    fn open_gates(&mut self) {
        let gates = std::mem::take(&mut self.gates.shut);
        let (done, shut) = gates.into_iter().partition(|gate| gate.pending.is_empty());
        self.gates.shut = shut;
        let done: Vec<Gate> = done;
        for gate in done {
            if let Then::Restore(name, pairs) = gate.then {
                self.restore_now(&name, &pairs);
            }
            for lun in gate.luns {
                if self.gates.is_shut(lun) {
                    continue;
                }
                for request in self.gates.waiting.remove(&lun).unwrap_or_default() {
                    self.start_request(request);
                }
            }
        }
    }
}
