//! Observation of a pool: every request to its members, without the content.
//!
//! Programs observe nothing: a pool without an observer asks once for each request whether there is
//! one. Tests keep the content of members, and follow it through parts and copies.

use brunt_world::IoError;

use super::PagedArray;
use super::parts::SubKind;
use crate::HostIo;
use crate::slab::Key;

/// Observes what a pool does with content.
pub(crate) trait PoolObserver {
    /// Called when `moved` happens in `pool`.
    fn see(&mut self, pool: &PagedArray, moved: PoolMove);
}

/// A move of content.
#[cfg_attr(not(test), expect(dead_code, reason = "the content of tests reads them"))]
#[derive(Clone, Copy)]
pub(crate) enum PoolMove {
    /// A member is asked.
    Asked { sub: Key, io: HostIo },
    /// A member has done it.
    Ended { sub: Key, part: Key, kind: SubKind, member: usize, result: Result<(), IoError> },
    /// A part of a request or of a move has ended.
    PartEnded(Key),
    /// A request has ended, and its host gets the answer.
    Answered(Key),
}

impl PagedArray {
    /// Passes `moved` to the observer.
    #[inline]
    pub(super) fn observe(&mut self, moved: PoolMove) {
        if let Some(mut observer) = self.observer.take() {
            observer.see(self, moved);
            self.observer = Some(observer);
        }
    }
}
