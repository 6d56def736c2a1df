//! Stripe locks.
//!
//! While the parities of a stripe are being changed, it belongs to one job. Writers hold one
//! stripe. A rebuild *claims* some rows of a chunk: no job can enter them any more, and the claim
//! begins when the last writer has left.
//!
//! Invariant: within a claim that has begun, no stripe is held.

use std::collections::VecDeque;
use std::hash::Hasher;
use std::ops::Range;

use hashbrown::hash_map::Entry;

use super::StripeAt;
use crate::numbers::NumberMap;
use crate::slab::Key;

/// Identifies a claim within one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimId(u64);

struct Claim {
    id: ClaimId,
    chunk: u32,
    rows: Range<u64>,
    /// Stripes within the claim that are still held.
    held: usize,
    waiting: VecDeque<(StripeAt, Key)>,
}

impl Claim {
    fn covers(&self, at: StripeAt) -> bool {
        self.chunk == at.chunk && self.rows.contains(&at.row)
    }
}

/// The locks of one group.
#[derive(Default)]
pub(crate) struct Locks {
    held: NumberMap<StripeAt, VecDeque<Key>>,
    claims: Vec<Claim>,
    claimed: u64,
}

/// What a release allows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Released {
    /// Jobs that now hold their stripe.
    pub(crate) jobs: Vec<Key>,
    /// A claim that now begins.
    pub(crate) claim: Option<ClaimId>,
}

impl Locks {
    /// Locks the stripe for `job`, or queues the job; returns whether it holds the stripe now.
    pub(crate) fn take(&mut self, at: StripeAt, job: Key) -> bool {
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.covers(at)) {
            claim.waiting.push_back((at, job));
            return false;
        }
        match self.held.entry(at) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().push_back(job);
                false
            }
            Entry::Vacant(free) => {
                free.insert(VecDeque::new());
                true
            }
        }
    }

    pub(crate) fn give(&mut self, at: StripeAt) -> Released {
        let mut released = Released::default();
        let queue = self.held.get_mut(&at).expect("it was held");
        if let Some(next) = queue.pop_front() {
            released.jobs.push(next);
            return released;
        }
        self.held.remove(&at);
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.covers(at)) {
            claim.held -= 1;
            released.claim = (claim.held == 0).then_some(claim.id);
        }
        released
    }

    /// Claims rows of a chunk that no other claim covers; returns its identifier, and whether it
    /// has begun.
    pub(crate) fn claim(&mut self, chunk: u32, rows: Range<u64>) -> (ClaimId, bool) {
        let id = ClaimId(self.claimed);
        self.claimed += 1;
        let is_held = |row: &u64| self.held.contains_key(&StripeAt { chunk, row: *row });
        let held = if self.held.is_empty() { 0 } else { rows.clone().filter(is_held).count() };
        self.claims.push(Claim { id, chunk, rows, held, waiting: VecDeque::new() });
        (id, held == 0)
    }

    /// Ends a claim; returns the jobs that now hold their stripe.
    pub(crate) fn unclaim(&mut self, id: ClaimId) -> Vec<Key> {
        let at = self.claims.iter().position(|claim| claim.id == id);
        let claim = self.claims.remove(at.expect("it was claimed"));
        let waiting = claim.waiting.into_iter();
        waiting.filter(|(at, job)| self.take(*at, *job)).map(|(_, job)| job).collect()
    }

    /// Whether nothing is held, claimed or waited for.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.claims.is_empty()
    }
}

impl std::hash::Hash for StripeAt {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.row << 20 ^ u64::from(self.chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Slab;

    fn at(row: u64) -> StripeAt {
        StripeAt { chunk: 1, row }
    }

    #[test]
    fn a_stripe_is_handed_on_and_a_claim_waits_for_the_last() {
        let mut keys = Slab::default();
        let [a, b, c, d] = [(); 4].map(|()| keys.insert(()));
        let mut locks = Locks::default();
        assert!(locks.take(at(5), a));
        assert!(!locks.take(at(5), b));
        let (claim, begun) = locks.claim(1, 4..8);
        assert!(!begun);
        assert!(!locks.take(at(6), c), "claimed rows are closed");
        assert!(locks.take(at(9), d), "others are not");
        assert_eq!(locks.give(at(5)).jobs, [b]);
        assert_eq!(locks.give(at(5)).claim, Some(claim));
        assert_eq!(locks.unclaim(claim), [c]);
        locks.give(at(6));
        locks.give(at(9));
        assert!(locks.is_idle());
    }
}
