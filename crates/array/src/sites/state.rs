//! What two sites know and report of their replicas.

use brunt_units::{ByteSize, Span, Time};

use super::design::ReplicaDesign;
use super::notes::{ReplicaNote, SiteNote};
use super::transfer::Transfer;
use crate::incident::{Note, NoteKind};
use crate::paged::Grains;
use crate::pair::PairLink;

/// A replication: its schedule, its replicas, and the one under way.
pub(super) struct Replicated {
    pub(super) design: ReplicaDesign,
    /// The LUNs of the partner that replicas are made of.
    pub(super) incoming: Vec<u32>,
    pub(super) transfer: Option<Transfer>,
    /// By LUN: what replications that were given up have left.
    pub(super) owed: Vec<Grains>,
    /// What the LUNs had when the newest replica started, if that is kept.
    pub(super) failback: Vec<u32>,
    /// Changes when the link is lost: what began before no longer counts.
    pub(super) turn: u32,
    /// Writes under way at the partner, of all turns.
    pub(super) writing: u32,
    pub(super) started: u64,
    /// The instant of the newest replica that is complete at the partner.
    pub(super) newest: Option<Time>,
    pub(super) counted: Counted,
}

/// What is counted of a replication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) complete: u64,
    pub(super) skipped: u64,
    pub(super) given_up: u64,
    pub(super) sent: u64,
    pub(super) last_took: Option<Span>,
    /// The oldest that the newest replica has been.
    pub(super) worst_age: Option<Span>,
}

/// A replication at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    pub name: String,
    /// Replications that are complete.
    pub complete: u64,
    /// Starts that were left out.
    pub skipped: u64,
    /// Replications that were given up.
    pub given_up: u64,
    /// Replicas at the partner.
    pub kept: usize,
    /// How old the newest complete replica is: what would be lost with the source. `None` while
    /// there is none.
    pub age: Option<Span>,
    /// The oldest that it has been since there is one.
    pub worst_age: Option<Span>,
    /// What has changed since, in grains.
    pub at_risk: ByteSize,
    /// What the replication under way has still to bring; `None` without one.
    pub left: Option<ByteSize>,
    /// How long the last one took.
    pub last_took: Option<Span>,
    /// Bytes brought over the link.
    pub sent: ByteSize,
}

/// The replicas of two sites.
pub struct Replicas {
    pub(super) now: Time,
    pub(super) link: PairLink,
    pub(super) is_partner_up: bool,
    pub(super) sets: Vec<Replicated>,
    pub(super) notes: Vec<Note>,
    pub(super) grain: ByteSize,
    /// By set: replicas at the partner, and grains changed since the newest start.
    pub(super) kept: Vec<usize>,
    pub(super) changed: Vec<u64>,
}

impl Replicas {
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The event log of the replicas; the pools have their own.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub fn link(&self) -> &PairLink {
        &self.link
    }

    /// The age of the oldest among the newest complete replicas; `None` while one has none.
    pub fn age(&self) -> Option<Span> {
        let ages = self.sets.iter().map(|set| Some(self.now - set.newest?));
        ages.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Every replication now.
    pub fn states(&self) -> Vec<ReplicaState> {
        let sets = self.sets.iter().zip(&self.kept).zip(&self.changed);
        let bytes = |grains: u64| ByteSize::bytes(grains * self.grain.get());
        sets.map(|((set, kept), changed)| {
            let age = set.newest.map(|newest| self.now - newest);
            let left = set.transfer.as_ref().map(Transfer::left);
            let owed: u64 = set.owed.iter().map(Grains::count).sum();
            ReplicaState {
                name: set.design.name.clone(),
                complete: set.counted.complete,
                skipped: set.counted.skipped,
                given_up: set.counted.given_up,
                kept: *kept,
                age,
                worst_age: age.max(set.counted.worst_age),
                at_risk: bytes(changed + left.unwrap_or(0) + owed),
                left: left.map(bytes),
                last_took: set.counted.last_took,
                sent: ByteSize::bytes(set.counted.sent),
            }
        })
        .collect()
    }

    pub(super) fn is_replicated(&self, lun: u32) -> bool {
        self.sets.iter().any(|set| set.design.luns.contains(&lun))
    }

    pub(super) fn is_reachable(&self) -> bool {
        self.is_partner_up && self.link.is_up()
    }

    pub(super) fn note(&mut self, what: SiteNote) {
        self.notes.push(Note { at: self.now, what: NoteKind::Site(what) });
    }

    pub(super) fn note_replica(&mut self, set: usize, what: ReplicaNote) {
        let name = self.sets[set].design.name.clone();
        self.note(SiteNote::Replica(name, what));
    }
}
