//! What a pair tells of its writes, for those who keep the content of both sites.
//!
//! A pair has no bytes. A world that has them gives each host request a [`tag`](crate::HostIo::tag)
//! and hears when the write of that tag reaches the other site. From this it keeps the content of
//! both by itself:
//!
//! * [`PairMove::Accepted`]: the site of the LUN has the write; keep it under its number, or under
//!   no number.
//! * [`PairMove::Done`]: the other site has the write of this number now.
//! * [`PairMove::CopyBegins`]: the other site is no state of this one, until the next `InStep`.
//! * [`PairMove::InStep`]: the other site has what this one had when its order began, and every
//!   write that was accepted since, but for those with a number above the last one done.
//! * [`PairMove::FailedOver`], [`PairMove::Parted`], [`PairMove::Kept`]: the order of another site
//!   begins, with what that has. The site that served keeps all that it accepted until a full copy,
//!   also what its hosts have no acknowledgement for.
//!
//! Promises, for each group:
//!
//! * Numbers ascend, also over failovers, and no two writes share one. Blocks of full copies have
//!   numbers as well, so some belong to no write.
//! * `Done` comes in ascending order and once for each number, also when a lost status makes a
//!   write go out again. None is left out, unless the order was given up or ended in between.
//! * Writes that share a sector are accepted in the order in which the site does them.
//! * A host's acknowledgement comes after `Accepted`; that of a synchronous write which was not
//!   logged comes after its `Done`, too.
//! * Without a force, no site begins an order between `CopyBegins` and `InStep`. What one has that
//!   was forced to, nobody can say.
//!
//! An injected [`Control`](super::Control) breaks what it is for: a dropped write is never done,
//! two swapped ones are done in the wrong order, the numbers of a lost tail are given to later
//! writes, and a stale site begins an order.

use brunt_units::Time;

use super::group::AtRisk;
use super::order::GroupExtent;
use super::roles::{Failover, Site};

/// Hears what a pair does with writes. It only hears: it cannot change anything.
pub trait PairListener {
    /// Called when `moved` happens to the group with this number.
    fn observe(&mut self, at: Time, group: usize, moved: PairMove);
}

/// What happens to the writes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairMove {
    /// A host's write gets its place in the group's order.
    Accepted {
        /// The write, for the observer.
        write: u64,
        /// The tag of the host's request.
        tag: u64,
        /// The LUN, as in the request.
        lun: u32,
        /// The site of that.
        site: Site,
        /// Its number; `None` when only its blocks are marked, for a full copy to bring.
        number: Option<u64>,
        /// The sectors are those of the request.
        place: GroupExtent,
    },
    /// The serving site has done a host's write. One that fails there may be there or not; it goes
    /// to the other site all the same. For the observer alone.
    AtSource { write: u64 },
    /// A host has the acknowledgement; `both` when both systems are said to have the write. For the
    /// observer alone.
    Acknowledged { write: u64, both: bool },
    /// A read of a block for a full copy begins. For the observer alone.
    CopyRead(GroupExtent),
    /// It has ended, and the block has this number. For the observer alone.
    CopyReady { number: u64, place: GroupExtent },
    /// The other side has begun a write. For the observer alone.
    Began { number: u64, place: GroupExtent },
    /// The other side has the write `content`, and all before it: the next one in the order, which
    /// is `number`, unless a control puts another in its place.
    Done { number: u64, content: u64 },
    /// The other side has stopped: what it had received or begun, and what is not done, is
    /// forgotten there.
    Stopped,
    /// The order was given up, because the log was full or a full copy was lost or demanded. Writes
    /// accepted so far that are not done come with the next full copy; those that the other side
    /// has received already may still be done before.
    GivenUp,
    /// A full copy begins: the other side is inconsistent until both are in step.
    CopyBegins,
    /// Both sides are in step, but for what is under way.
    InStep,
    /// This site serves from now on, and the former other side is this one. A new order begins;
    /// what it had not done of the old one is lost unless the failover was planned: it is said to
    /// lack these acknowledged writes, `None` when it is not a state of the group. The site that
    /// served keeps everything that it accepted, until a full copy.
    FailedOver { to: Site, how: Failover, lost: Option<AtRisk> },
    /// This site serves as well, and what it had not done yet stays at the other one alone. Writes
    /// are accepted at both (the LUN says where) and have no numbers.
    Parted {
        /// The site that was forced.
        to: Site,
    },
    /// The split ends: this site serves alone, a full copy brings what it has to the other one, and
    /// that is said to lose these acknowledged writes.
    Kept { site: Site, lost: Option<AtRisk> },
}

impl PairMove {
    /// Whether it is for the observer alone.
    pub(super) fn is_inner(self) -> bool {
        matches!(
            self,
            Self::AtSource { .. }
                | Self::Acknowledged { .. }
                | Self::CopyRead(_)
                | Self::CopyReady { .. }
                | Self::Began { .. }
        )
    }
}
