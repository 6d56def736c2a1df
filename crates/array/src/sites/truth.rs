//! The content of blocks on their way, for tests: what was read at the source is what the partner
//! writes.

use super::transfer::Block;
use super::{Key, Site, Sites, Sub};
use crate::HostIo;

impl Sites {
    /// A block was read by the request with this tag.
    pub(super) fn was_read(&mut self, block: &Block, tag: u64) {
        let Some(found) = self.source.bytes.answers.remove(&tag) else {
            return;
        };
        let content = found.into_values().collect();
        let at = (block.set, block.lun, block.grains.start);
        self.carried.insert(at, content);
    }

    /// A request is made; if it writes a block, with what was read.
    pub(super) fn carry(&mut self, site: Site, io: HostIo) {
        let sub = &self.subs[Key::from_bits(io.tag)];
        let pool = match site {
            Site::Source => &mut self.source,
            Site::Partner => &mut self.partner,
        };
        if let Sub::Host(host) = sub {
            let content = vec![host.tag; usize::try_from(io.extent.length).unwrap()];
            pool.bytes.given.insert(io.tag, content);
        }
        if let Sub::Write(block, _) = sub {
            let content = self.carried[&(block.set, block.lun, block.grains.start)].clone();
            pool.bytes.given.insert(io.tag, content);
        }
    }
}
