//! Observation of an array: every move of content, in order, without the content itself.
//!
//! The array is generic over its observer. `()` observes nothing and the calls compile away. Tests
//! use the ledger, which follows the version of each sector through cache, jobs, drives and
//! repairs.

use std::ops::Range;

use super::Array;
use super::jobs::IoOwner;
use crate::Extent;
use crate::cache::pages::Sectors;
use crate::group::Spot;
use crate::group::plan::{Method, Step};
use crate::slab::Key;

/// Observes what an array does with content.
pub(crate) trait Observer: Default {
    /// Called when `moved` happens in `array`.
    fn see(&mut self, array: &Array<Self>, moved: Move);
}

impl Observer for () {
    #[inline(always)]
    fn see(&mut self, _: &Array<Self>, _: Move) {}
}

/// A move of content.
#[cfg_attr(not(test), expect(dead_code, reason = "the ledger of tests reads them"))]
pub(crate) enum Move {
    /// A job begins.
    JobBegan(Key),
    /// A job is planned; content it read for an earlier plan no longer counts.
    JobPlanned(Key, Method),
    /// A read of part of a member's strip is sent to a drive.
    ReadBegan { io: Key, owner: IoOwner, spot: Spot, member: u32, within: Extent },
    /// A step of a job is sent to a drive as a write.
    WriteBegan { io: Key, job: Key, spot: Spot, step: Step },
    /// A write of what a repair read or computed is sent to a drive.
    RebuildBegan { io: Key, repair: Key, spot: Spot, rows: Range<u64> },
    /// The tier is read for `part` of a group.
    TierReadBegan { io: Key, spot: Spot, fill: Key, part: Extent },
    /// The cached `part` of a group is written to the tier.
    TierWriteBegan { io: Key, spot: Spot, group: u32, part: Extent },
    /// A drive has completed an I/O other than a media scan.
    DeviceEnded(Key),
    /// A read job has the content its owner wants.
    JobRead(Key),
    /// A fill delivers sectors of a cache page.
    Filled { fill: Key, slot: u32, part: Sectors },
    /// The cache accepts a write.
    Accepted(Key),
    /// A page of the cache has been written to drives.
    Destaged { slot: u32, keeps_old: bool },
    /// The cache loses everything.
    CacheLost,
    /// A drive loses everything.
    DriveFailed(u16),
    /// A request has succeeded, and its host gets the answer.
    Answered(Key),
}

impl<O: Observer> Array<O> {
    /// Passes `moved` to the observer.
    #[inline(always)]
    pub(super) fn observe(&mut self, moved: Move) {
        let mut observer = std::mem::take(&mut self.observer);
        observer.see(self, moved);
        self.observer = observer;
    }
}
