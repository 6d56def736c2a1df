//! What two sites tell of their replicas, for those who keep the content.
//!
//! Sites have no bytes. A world that has them gives each host request a
//! [`tag`](crate::HostIo::tag), puts the content of a write into its files when the write is
//! answered, and hears when the instant of a replica is. What the replica has is then
//!
//! ```text
//!   every write that was answered before the instant
//!   and what `Started` lists: parts of writes that are not answered, and have found their place
//! ```
//!
//! and nothing else: a write that only waits for its turn goes to a page of its own, which the
//! replica does not share.

use brunt_units::Time;
use brunt_world::IoError;

use crate::{Extent, HostIo, Verb};

/// Hears what becomes of replicas. It only hears: it cannot change anything.
pub trait ReplicaListener {
    /// Called when `moved` happens to the replication with this number in the design.
    fn observe(&mut self, at: Time, set: usize, moved: ReplicaMove);
}

/// What happens to a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplicaMove {
    /// Its instant is now.
    Started {
        number: u64,
        /// What it has of writes that their hosts have no answer for yet.
        unanswered: Vec<InReplica>,
    },
    /// It is complete at the partner, and the newest there.
    Made { number: u64 },
    /// It will not be made.
    GivenUp { number: u64 },
}

/// Sectors that a host is writing, and that a replica has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InReplica {
    /// The tag of the host's request.
    pub tag: u64,
    /// The LUN, as in the request.
    pub lun: u32,
    /// Sectors of the LUN: the request's, or a part of them.
    pub extent: Extent,
}

/// The listener, and the answers that are on their way to hosts.
#[derive(Default)]
pub(super) struct Listening {
    listener: Option<Box<dyn ReplicaListener>>,
    /// Writes that are done, and whose answer nobody has taken yet.
    answered: Vec<HostIo>,
}

impl Listening {
    pub(super) fn is_there(&self) -> bool {
        self.listener.is_some()
    }

    pub(super) fn listen(&mut self, listener: Box<dyn ReplicaListener>) {
        self.listener = Some(listener);
    }

    pub(super) fn tell(&mut self, at: Time, set: usize, moved: impl FnOnce() -> ReplicaMove) {
        if let Some(listener) = &mut self.listener {
            listener.observe(at, set, moved());
        }
    }

    /// A host's request has finished.
    pub(super) fn finished(&mut self, io: &HostIo, result: Result<(), IoError>) {
        if self.listener.is_some() && io.verb == Verb::Write && result.is_ok() {
            self.answered.push(*io);
        }
    }

    /// Answers are taken.
    pub(super) fn taken(&mut self) {
        self.answered.clear();
    }

    /// Writes whose answers nobody has taken yet.
    pub(super) fn answered(
        &self,
        is_own: impl Fn(&HostIo) -> bool,
    ) -> impl Iterator<Item = InReplica> {
        let own = self.answered.iter().filter(move |io| is_own(io));
        own.map(|io| InReplica { tag: io.tag, lun: io.lun, extent: io.extent })
    }
}
