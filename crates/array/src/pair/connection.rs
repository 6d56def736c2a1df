//! The destination is lost and returns: by link, by itself, or for a group that an operator
//! suspends and resumes.

use brunt_world::IoError;

use super::Pair;
use super::design::{Control, ResumePolicy};
use super::group::{Phase, Waiting};
use super::listener::PairMove;
use super::notes::{GroupNote, PairIncident, PairNote};
use super::observer::Observer;
use super::roles::{Obstacle, Site};
use super::sending::About;
use crate::slab::Key;
use brunt_units::ByteSize;

impl<O: Observer> Pair<O> {
    pub(super) fn apply_incident(&mut self, what: PairIncident) {
        let was_up = self.state.link.is_up();
        match what {
            PairIncident::LinkLost | PairIncident::LinkReturns => {
                let is_up = what == PairIncident::LinkReturns;
                self.state.link.set_cut(!is_up);
                self.state.note(PairNote::Link(is_up));
                self.link_changed(was_up);
            }
            PairIncident::LinkPathLost(path) | PairIncident::LinkPathReturns(path) => {
                let is_up = matches!(what, PairIncident::LinkPathReturns(_));
                self.state.link.set_path(path, is_up);
                self.state.note(PairNote::LinkPath(path, is_up));
                self.link_changed(was_up);
                if !is_up {
                    self.begin_again(path);
                }
            }
            PairIncident::LinkFlaps { .. } => unreachable!("it was planned as single outages"),
            PairIncident::SourceLost => self.lose(Site::Source),
            PairIncident::SourceReturns => self.return_to_work(Site::Source),
            PairIncident::DestinationLost => self.lose(Site::Destination),
            PairIncident::DestinationReturns => self.return_to_work(Site::Destination),
            PairIncident::FailOver { group, to, how } => {
                for group in self.these(group) {
                    self.fail_over(group, to, how);
                }
            }
            PairIncident::Keep { group, site } => {
                for group in self.these(group) {
                    self.keep(group, site);
                }
            }
            PairIncident::GroupSuspended(group) => {
                self.state.groups[group].is_suspended = true;
                self.state.note_group(group, GroupNote::Suspended);
                self.stop(group);
            }
            PairIncident::GroupResumed { group, full_copy } => {
                self.state.note_group(group, GroupNote::Resumed);
                let own = &mut self.state.groups[group];
                (own.is_suspended, own.is_broken) = (false, false);
                if full_copy && own.phase != Phase::Split {
                    own.demand_full_copy();
                }
                let is_connected = own.is_connected && own.phase == Phase::Copying;
                self.look_at_order(group);
                if full_copy && is_connected {
                    let (now, lane) = (self.state.now, &mut self.state.lanes[group]);
                    lane.apart_since.get_or_insert(now);
                    self.state.resuming_since.get_or_insert(now);
                    self.begin_copy(group);
                    self.pump(group);
                }
                self.try_connect(group);
            }
        }
    }

    /// One group, or all.
    fn these(&self, group: Option<usize>) -> std::ops::Range<usize> {
        group.map_or(0..self.state.groups.len(), |one| one..one + 1)
    }

    fn link_changed(&mut self, was_up: bool) {
        match (was_up, self.state.link.is_up()) {
            (true, false) => self.disconnect_all(),
            (false, true) => self.connect_all(),
            _ => {}
        }
    }

    fn disconnect_all(&mut self) {
        for group in 0..self.state.groups.len() {
            self.disconnect(group);
        }
    }

    /// Exchanges on a path that was lost begin again on another one.
    fn begin_again(&mut self, path: usize) {
        let lost: Vec<Key> =
            self.messages.keys(|message| message.exchange.path() == path).collect();
        for key in lost {
            let Some(message) = self.messages.remove(key) else {
                continue;
            };
            let again = self.send(message.group, message.about);
            if matches!(message.about, About::Hello { .. }) {
                self.state.lanes[message.group].hello = again;
            }
        }
    }

    pub(super) fn stop_receiver(&mut self, group: usize) {
        self.state.receivers[group].stop();
        self.observe(group, PairMove::Stopped);
    }

    /// The group can no longer be replicated, until an operator resumes it.
    pub(super) fn break_up(&mut self, group: usize, why: GroupNote) {
        self.state.groups[group].is_broken = true;
        self.state.note_group(group, why);
        self.stop(group);
    }

    /// Ends the connection of a group that does not resume by itself, so that a group that waits
    /// for it has its turn.
    fn stop(&mut self, group: usize) {
        self.disconnect(group);
        self.connect_next();
    }

    /// What is on its way for the group is lost.
    pub(super) fn sever(&mut self, group: usize) {
        let lost: Vec<Key> = self.messages.keys(|message| message.group == group).collect();
        for key in lost {
            self.messages.forget(key);
        }
        self.give_up_reading(group);
        let lane = &mut self.state.lanes[group];
        lane.turn += 1;
        lane.hello = None;
        lane.apart_since.get_or_insert(self.state.now);
    }

    /// The other site is lost for the group.
    pub(super) fn disconnect(&mut self, group: usize) {
        self.sever(group);
        let now = self.state.now;
        let lane = &mut self.state.lanes[group];
        let waiting = std::mem::take(&mut lane.waiting);
        let own = &mut self.state.groups[group];
        let is_there = self.state.is_up[own.roles.serving.index()];
        if std::mem::take(&mut own.roles.is_draining) {
            self.state.note_group(group, GroupNote::DrainEnds(Obstacle::Apart));
        }
        let room = self.state.room_of(group);
        let own = &mut self.state.groups[group];
        let before = own.phase;
        let then = own.disconnect(now, room);
        let phase = own.phase;
        self.look_at_order(group);
        if phase != before && is_there {
            match phase {
                Phase::Locked => self.state.note_group(group, GroupNote::Locked),
                Phase::Logging => self.state.note_group(group, GroupNote::Logging),
                Phase::Overflowed if before != Phase::Copying => {
                    self.state.note_group(group, GroupNote::LogOverflowed);
                }
                _ => {}
            }
        }
        let bytes = |key: &Key| self.requests[*key].place.extent.bytes();
        let mut newer: u64 = waiting.values().map(bytes).sum();
        for key in waiting.into_values() {
            newer -= self.requests[key].place.extent.bytes();
            match then {
                Waiting::Fail => self.released(key, Err(IoError::Device)),
                Waiting::Log => {
                    self.write_log(group, key, newer);
                    self.released(key, Ok(()));
                }
                Waiting::Release => self.released(key, Ok(())),
            }
        }
        self.look_at_log(group);
        self.retry_held(group);
    }

    /// Asks the destination for every group that may resume.
    pub(super) fn connect_all(&mut self) {
        for group in 0..self.state.groups.len() {
            self.try_connect(group);
        }
    }

    /// Where groups resume one after the other, the next one has its turn.
    fn connect_next(&mut self) {
        if self.state.policy == ResumePolicy::Staggered {
            self.connect_all();
        }
    }

    /// Asks whether the destination is there, if the group may resume.
    pub(super) fn try_connect(&mut self, group: usize) {
        let now = self.state.now;
        if !self.state.can_talk() {
            return;
        }
        self.see_split(group);
        let own = &self.state.groups[group];
        let is_busy = own.is_connected || self.state.lanes[group].hello.is_some();
        if is_busy || own.phase == Phase::Split {
            return;
        }
        let must_ask = own.roles.must_ask;
        let is_stopped = own.is_suspended || own.is_broken;
        if !is_stopped {
            self.state.resuming_since.get_or_insert(now);
        }
        if must_ask || !is_stopped && self.may_resume() {
            let base = self.state.groups[group].order.base();
            let hello = self.send(group, About::Hello { base });
            self.state.lanes[group].hello = hello;
        }
    }

    /// Whether one more group may resume.
    fn may_resume(&self) -> bool {
        match self.state.policy {
            ResumePolicy::AllAtOnce => true,
            ResumePolicy::NotBefore(at) => self.state.now >= at,
            ResumePolicy::Staggered => {
                let mut all = self.state.groups.iter().zip(&self.state.lanes);
                !all.any(|(one, lane)| {
                    lane.hello.is_some() || one.is_connected && one.phase != Phase::Normal
                })
            }
        }
    }

    /// The destination is there, goes on from `base`, and has every write before `done`.
    pub(super) fn connected(&mut self, group: usize, base: u64, done: u64) {
        self.state.lanes[group].hello = None;
        if self.state.groups[group].order.base() != base {
            // The log was given up meanwhile.
            return self.try_connect(group);
        }
        if self.promote_stale(group) {
            return;
        }
        let own = &mut self.state.groups[group];
        let is_stopped = own.is_suspended || own.is_broken;
        let before = own.phase;
        if std::mem::take(&mut own.roles.must_ask) {
            let site = own.roles.serving;
            self.state.note_group(group, GroupNote::Serves(site));
            if is_stopped || !self.may_resume() {
                return self.connect_all();
            }
        }
        let hosts = self.state.groups[group].connect(done);
        if self.state.groups[group].phase == Phase::Copying {
            let base = self.state.groups[group].order.base();
            self.state.receivers[group].go_on_from(base);
        }
        self.look_at_order(group);
        debug_assert!(
            hosts.iter().all(|number| !self.state.lanes[group].waiting.contains_key(number))
        );
        let from = self.state.receivers[group].expects();
        if self.state.is_next_control(Control::LoseTail) && self.state.groups[group].lose_tail(from)
        {
            self.state.strike();
        }
        if before == Phase::Locked {
            self.state.note_group(group, GroupNote::Unlocked);
        }
        match self.state.groups[group].phase {
            Phase::Merging => {
                let used = self.state.log(group).used;
                self.state.note_group(group, GroupNote::Merging(used));
            }
            Phase::Copying => self.begin_copy(group),
            _ => self.in_step(group),
        }
        self.pump(group);
        self.settle(group);
    }

    fn begin_copy(&mut self, group: usize) {
        let left = ByteSize::bytes(self.state.groups[group].left_to_copy());
        self.state.note_group(group, GroupNote::Copying(left));
        self.observe(group, PairMove::CopyBegins);
    }

    /// Ends a replay or a full copy that is done.
    pub(super) fn settle(&mut self, group: usize) {
        let lane = &self.state.lanes[group];
        let is_reading = !(lane.reserved.is_empty() && lane.reading.is_empty());
        if self.state.groups[group].settle(is_reading) {
            self.in_step(group);
        }
    }

    fn in_step(&mut self, group: usize) {
        let now = self.state.now;
        let lane = &mut self.state.lanes[group];
        lane.has_alarm = false;
        let since = lane.apart_since.take().unwrap_or(now);
        self.observe(group, PairMove::InStep);
        self.state.note_group(group, GroupNote::Normal(now - since));
        if self.state.is_in_step()
            && let Some(since) = self.state.resuming_since.take()
        {
            let longest = self.state.longest_resumption.unwrap_or_default();
            self.state.longest_resumption = Some(longest.max(now - since));
        }
        self.connect_next();
    }
}
