//! A full copy: blocks are read at the source and take their place in the group's order.
//!
//! A block is read while no write to it is under way, and gets its number when it has been read;
//! writes to it wait until then. So what it holds is what all writes before it have made, and the
//! destination may do it like a write.

use brunt_world::IoError;

use super::listener::PairMove;
use super::notes::GroupNote;
use super::observer::Observer;
use super::order::GroupExtent;
use super::roles::Site;
use super::{Pair, Sub};
use crate::{HostIo, Verb};

impl<O: Observer> Pair<O> {
    /// Begins to read the blocks that may be read.
    pub(super) fn read_blocks(&mut self, group: usize) {
        let (most, site) = (self.state.outstanding, self.state.serving(group));
        loop {
            let lane = &self.state.lanes[group];
            let busy = lane.reserved.len() + lane.reading.len();
            let own = &mut self.state.groups[group];
            if !own.may_copy(busy, most) {
                break;
            }
            let block = own.blocks.take().expect("there is one");
            self.state.lanes[group].reserved.push(block);
        }
        let mut at = 0;
        while let Some(block) = self.state.lanes[group].reserved.get(at).copied() {
            if self.state.lanes[group].flights[site.index()].meets(block) {
                at += 1;
                continue;
            }
            let lane = &mut self.state.lanes[group];
            lane.reserved.remove(at);
            lane.flights[site.index()].begin(block);
            lane.reading.push(block);
            let turn = lane.turn;
            let lun = self.state.lun_at(site, group, block.lun);
            self.observe(group, PairMove::CopyRead(block));
            let what = Sub::CopyRead { site, group, turn, at: block };
            let io = HostIo { lun, verb: Verb::Read, extent: block.extent, tag: 0 };
            self.ask(site, what, io);
        }
    }

    /// A block has been read.
    pub(super) fn copy_read(
        &mut self,
        site: Site,
        group: usize,
        turn: u32,
        block: GroupExtent,
        result: Result<(), IoError>,
    ) {
        let lane = &mut self.state.lanes[group];
        lane.flights[site.index()].end(block);
        // When the destination was lost meanwhile, the block is marked again.
        if lane.turn == turn {
            lane.reading.retain(|one| *one != block);
            let own = &mut self.state.groups[group];
            if result.is_ok() {
                own.copy(block);
                let number = own.order.end() - 1;
                let place = block;
                self.observe(group, PairMove::CopyReady { number, place });
            } else {
                own.blocks.mark(block);
                self.break_up(group, GroupNote::Unreadable);
            }
        }
        self.retry_held(group);
        self.pump(group);
        self.try_reverse(group);
    }

    /// Gives up reading blocks: they have to be read again.
    pub(super) fn give_up_reading(&mut self, group: usize) {
        let lane = &mut self.state.lanes[group];
        let blocks = std::mem::take(&mut lane.reserved);
        for block in blocks.into_iter().chain(std::mem::take(&mut lane.reading)) {
            self.state.groups[group].blocks.mark(block);
        }
    }
}
