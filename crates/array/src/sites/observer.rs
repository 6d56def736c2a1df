//! Observation of two sites: every request to their pools, without the content.
//!
//! As with pools, programs observe nothing; tests follow the content of blocks.

use super::transfer::Block;
use super::{Site, Sites};
use crate::HostIo;

/// Observes what sites do with content.
pub(super) trait SitesObserver {
    /// Called when `moved` happens at `sites`.
    fn see(&mut self, sites: &Sites, moved: SitesMove<'_>);
}

/// A move of content.
#[cfg_attr(not(test), expect(dead_code, reason = "the content of tests reads them"))]
#[derive(Clone, Copy)]
pub(super) enum SitesMove<'a> {
    /// A pool is asked.
    Asked { site: Site, io: HostIo },
    /// A block was read by the request with this tag.
    Read { block: &'a Block, tag: u64 },
}

impl Sites {
    /// Passes `moved` to the observer.
    #[inline]
    pub(super) fn observe(&mut self, moved: SitesMove<'_>) {
        if let Some(mut observer) = self.observer.take() {
            observer.see(self, moved);
            self.observer = Some(observer);
        }
    }
}
