//! Storage that is lost and returns, and groups that change sites: carries out what
//! [`roles`](super::roles) decides.

use brunt_world::IoError;

use super::Pair;
use super::design::Control;
use super::group::AtRisk;
use super::listener::PairMove;
use super::notes::{GroupNote, PairNote};
use super::observer::Observer;
use super::roles::{Failover, Loss, Obstacle, Site};
use crate::slab::Key;

impl<O: Observer> Pair<O> {
    /// The storage of `site` stops. It keeps what it has accepted from hosts, and what it has done
    /// as the other side.
    pub(super) fn lose(&mut self, site: Site) {
        self.state.is_up[site.index()] = false;
        self.state.note(PairNote::Storage(site, false));
        let lost: Vec<Key> = self.requests.keys(|one| one.is_at(site)).collect();
        for key in lost {
            self.abandon(key);
        }
        for group in 0..self.state.groups.len() {
            let roles = &mut self.state.groups[group].roles;
            if roles.split.is_some() {
                // It has to ask before it serves again, and then an operator has to choose.
                roles.hosts[site.index()] = false;
            } else if roles.serving == site {
                roles.must_ask = true;
            } else {
                self.stop_receiver(group);
            }
            self.disconnect(group);
        }
    }

    /// It works again. Where it served, it has to ask the other site whether that has taken over.
    pub(super) fn return_to_work(&mut self, site: Site) {
        self.state.is_up[site.index()] = true;
        self.state.note(PairNote::Storage(site, true));
        for group in 0..self.state.groups.len() {
            let roles = &self.state.groups[group].roles;
            let (serving, has_changed) = (roles.serving, roles.has_changed);
            if serving == site && roles.must_ask && !self.state.can_talk() {
                self.state.note_group(group, GroupNote::Unsure(site));
            } else if serving != site && has_changed && roles.split.is_none() {
                self.state.note_group(group, GroupNote::Standby(site));
            }
        }
        self.connect_all();
    }

    /// A host gets an error for a request that goes on without it. The site has accepted it if it
    /// was in the order.
    fn abandon(&mut self, key: Key) {
        if let Some((group, number)) = self.requests[key].place_in_order() {
            let lane = &mut self.state.lanes[group];
            let is_waiting = number.is_some_and(|number| lane.waiting.get(&number) == Some(&key));
            let is_held = lane.held.contains(&key);
            if is_waiting {
                lane.waiting.retain(|_, one| *one != key);
            }
            lane.held.retain(|one| *one != key);
            if !is_held && !self.requests[key].is_at_source() {
                self.observe(group, PairMove::AtSource { write: key.bits() });
            }
            return self.orphan(key, u32::from(is_waiting || is_held));
        }
        self.orphan(key, 0);
    }

    /// Hosts of a group lose their writes at `site`.
    fn abandon_writes(&mut self, group: usize, site: Site) {
        let of_group = |one: &super::requests::Request| one.is_at(site) && one.group == Some(group);
        let lost: Vec<Key> = self.requests.keys(of_group).collect();
        for key in lost {
            self.abandon(key);
        }
    }

    /// An operator fails a group over.
    pub(super) fn fail_over(&mut self, group: usize, to: Site, how: Failover) {
        let (is_up, is_link_up) = (self.state.is_up, self.state.link.is_up());
        let own = &mut self.state.groups[group];
        match own.may_fail_over(to, how, is_up, is_link_up) {
            Err(why) => self.state.note_group(group, GroupNote::Stays(why)),
            Ok(_) if own.roles.serving == to => {
                own.roles.must_ask = false;
                self.state.note_group(group, GroupNote::Serves(to));
            }
            Ok(_) if how == Failover::Planned => {
                own.roles.is_draining = true;
                self.state.note_group(group, GroupNote::Draining(to.other()));
                self.try_reverse(group);
            }
            Ok(is_split) => self.take_over(group, to, how, is_split),
        }
    }

    fn take_over(&mut self, group: usize, to: Site, how: Failover, is_split: bool) {
        let now = self.state.now;
        self.stop_receiver(group);
        if !is_split {
            self.abandon_writes(group, to.other());
        }
        self.sever(group);
        let done = self.state.receivers[group].has();
        let own = &mut self.state.groups[group];
        let lost = if is_split {
            own.part(done);
            None
        } else {
            let loss = own.take_over(done, now);
            self.state.note_group(group, GroupNote::TookOver(loss));
            loss.lost
        };
        self.begin_order(group);
        if is_split {
            self.observe(group, PairMove::Parted { to });
            self.state.note_group(group, GroupNote::Parted(to));
        } else {
            self.observe(group, PairMove::FailedOver { to, how, lost });
        }
        self.retry_held(group);
        self.try_connect(group);
    }

    /// The receiver of the other site begins where the order does.
    fn begin_order(&mut self, group: usize) {
        self.look_at_order(group);
        let base = self.state.groups[group].order.end();
        self.state.receivers[group].restart(base);
        let lane = &mut self.state.lanes[group];
        lane.turn += 1;
        lane.has_refused = false;
    }

    /// Ends a planned failover when nothing is under way any more.
    pub(super) fn try_reverse(&mut self, group: usize) {
        let own = &self.state.groups[group];
        if !own.roles.is_draining {
            return;
        }
        let lane = &self.state.lanes[group];
        let is_quiet = lane.flights[own.roles.serving.index()].is_empty() && lane.held.is_empty();
        if !own.is_drained(is_quiet) {
            return;
        }
        self.state.groups[group].reverse();
        self.begin_order(group);
        let (to, how) = (self.state.serving(group), Failover::Planned);
        let lost = Some(AtRisk::default());
        self.observe(group, PairMove::FailedOver { to, how, lost });
        self.state.note_group(group, GroupNote::Reversed(to));
    }

    /// An operator chooses which site to keep after a split.
    pub(super) fn keep(&mut self, group: usize, site: Site) {
        let obstacle = match self.state.groups[group].roles.split {
            None => Some(Obstacle::NoSplit),
            Some(_) if !self.state.can_talk() => Some(Obstacle::NoTalk),
            Some(_) => None,
        };
        if let Some(why) = obstacle {
            return self.state.note_group(group, GroupNote::Stays(why));
        }
        let now = self.state.now;
        self.abandon_writes(group, site.other());
        let loss = self.state.groups[group].keep(site, now);
        self.begin_order(group);
        let lost = loss.lost;
        self.observe(group, PairMove::Kept { site, lost });
        self.state.note_group(group, GroupNote::Kept(loss));
        self.retry_held(group);
        self.try_connect(group);
    }

    /// The sites of a split group can talk.
    pub(super) fn see_split(&mut self, group: usize) {
        if let Some(split) = &mut self.state.groups[group].roles.split
            && !split.is_seen
        {
            split.is_seen = true;
            let beyond = split.beyond;
            self.state.note_group(group, GroupNote::SplitSeen(beyond));
        }
    }

    /// By a control, a site that returns after a failover serves, although the other one has newer
    /// writes. Nothing is reported.
    pub(super) fn promote_stale(&mut self, group: usize) -> bool {
        let done = self.state.receivers[group].has();
        let own = &self.state.groups[group];
        let is_stale = own.at_risk(done).is_some_and(|lost| lost.writes > 0);
        if !self.state.is_next_control(Control::PromoteStale) || !own.roles.has_changed || !is_stale
        {
            return false;
        }
        self.state.strike();
        let to = self.state.serving(group).other();
        self.stop_receiver(group);
        self.abandon_writes(group, to.other());
        self.sever(group);
        let now = self.state.now;
        let own = &mut self.state.groups[group];
        let Loss { lost, .. } = own.take_over(done, now);
        own.roles.losses.pop();
        let lost = lost.map(|_| AtRisk::default());
        self.begin_order(group);
        let how = Failover::Unplanned;
        self.observe(group, PairMove::FailedOver { to, how, lost });
        self.retry_held(group);
        self.try_connect(group);
        true
    }

    /// A host asks a site that does not serve its group.
    pub(super) fn refuse(&mut self, group: usize, key: Key, site: Site) {
        let lane = &mut self.state.lanes[group];
        lane.refused += 1;
        let own = &self.state.groups[group];
        let is_there = self.state.is_up[site.index()];
        let is_elsewhere = !own.roles.hosts[site.index()] || own.roles.must_ask;
        if is_there && is_elsewhere && !std::mem::replace(&mut lane.has_refused, true) {
            self.state.note_group(group, GroupNote::HostsRefused(site));
        }
        self.part_ended(key, Err(IoError::Device));
    }
}
