//! Observation of a pair: every write from its acceptance to both systems, without its content.
//!
//! As with arrays, `()` observes nothing and the calls compile away; tests use the ledger.

use brunt_units::Time;

use super::group::AtRisk;
use super::order::Place;
use super::roles::{Failover, Site};

/// Observes what a pair does with writes.
pub(crate) trait Observer: Default {
    /// Called when `moved` happens in group `group`.
    fn see(&mut self, at: Time, group: usize, moved: Move);
}

impl Observer for () {
    #[inline(always)]
    fn see(&mut self, _: Time, _: usize, _: Move) {}
}

/// What happens to a write.
#[cfg_attr(not(test), expect(dead_code, reason = "the ledger of tests reads them"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// A host's write gets its place in the group's order, with its number if it goes to the
    /// destination.
    Accepted {
        write: u64,
        /// The host's request.
        tag: u64,
        lun: u32,
        site: Site,
        number: Option<u64>,
        place: Place,
    },
    /// The serving site has done a host's write. One that fails there may be there or not; it goes
    /// to the other site all the same.
    AtSource { write: u64 },
    /// A host has the acknowledgement; `both` when both systems are said to have the write.
    Acknowledged { write: u64, both: bool },
    /// A read of a block for a full copy begins.
    CopyRead(Place),
    /// It has ended, and the block has this number.
    CopyReady { number: u64, place: Place },
    /// The destination has begun a write.
    Began { number: u64, place: Place },
    /// The destination has this write, and all before it; by a control, with what was in `content`
    /// instead.
    Done { number: u64, content: u64 },
    /// The destination has stopped; what it had begun is not done.
    Stopped,
    /// The order so far was given up.
    GivenUp,
    /// A full copy begins: the destination is inconsistent until it ends.
    CopyBegins,
    /// Both sides are in step, but for what is under way.
    InStep,
    /// The other site serves from now on, and is said to lack these acknowledged writes; `None`
    /// when it is not a state of the group.
    FailedOver { to: Site, how: Failover, lost: Option<AtRisk> },
    /// This site serves as well from now on.
    Parted { to: Site },
    /// After that, this site alone serves, and the other one is said to lose these.
    Kept { site: Site, lost: Option<AtRisk> },
}
