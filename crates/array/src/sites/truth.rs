//! The content of blocks on their way, for tests: what was read at the source is what the partner
//! writes.

use std::collections::BTreeMap;

use super::observer::{SitesMove, SitesObserver};
use super::{Key, Site, Sites, Sub};
use crate::paged::tests::Content;

/// The content of both pools, and that of blocks by replication, LUN and first grain.
#[derive(Clone, Default)]
pub(super) struct Truth {
    pub(super) source: Content,
    pub(super) partner: Content,
    carried: BTreeMap<(usize, usize, u64), Vec<u64>>,
}

impl Truth {
    /// Keeps the content of `sites` from now on.
    pub(super) fn of(sites: &mut Sites) -> Self {
        let truth = Self::default();
        sites.source.observer = Some(Box::new(truth.source.clone()));
        sites.partner.observer = Some(Box::new(truth.partner.clone()));
        sites.observer = Some(Box::new(truth.clone()));
        truth
    }
}

impl SitesObserver for Truth {
    fn see(&mut self, sites: &Sites, moved: SitesMove<'_>) {
        match moved {
            SitesMove::Read { block, tag } => {
                let found = self.source.borrow_mut().answers.remove(&tag);
                if let Some(found) = found {
                    let at = (block.set, block.lun, block.grains.start);
                    self.carried.insert(at, found.into_values().collect());
                }
            }
            SitesMove::Asked { site, io } => {
                let content = match &sites.subs[Key::from_bits(io.tag)] {
                    Sub::Host(host) => vec![host.tag; usize::try_from(io.extent.length).unwrap()],
                    Sub::Write(block, _) => {
                        self.carried[&(block.set, block.lun, block.grains.start)].clone()
                    }
                    Sub::Read(_) => return,
                };
                let pool = match site {
                    Site::Source => &self.source,
                    Site::Partner => &self.partner,
                };
                pool.borrow_mut().given.insert(io.tag, content);
            }
        }
    }
}
