//! Host requests: to the source, into the order of their group, and out when both have ended.

use brunt_units::Time;
use brunt_world::IoError;

use super::design::PairError;
use super::group::{Accepted, Phase};
use super::listener::PairMove;
use super::notes::GroupNote;
use super::observer::Observer;
use super::order::GroupExtent;
use super::roles::Site;
use super::{Pair, Sub};
use crate::breakdown::Breakdown;
use crate::slab::Key;
use crate::system::System;
use crate::{Extent, Finished, HostIo, Verb};

/// A host's request in flight.
pub(super) struct Request {
    io: HostIo,
    site: Site,
    submitted_at: Time,
    /// When a write got its place in the order.
    accepted_at: Time,
    /// The group of a replicated write.
    pub(super) group: Option<usize>,
    pub(super) place: GroupExtent,
    /// Its number in the order.
    number: Option<u64>,
    generation: u32,
    parts: u32,
    /// Whether the site has done it.
    is_done_here: bool,
    /// Whether its host has an answer already.
    is_orphan: bool,
    /// Whether the acknowledgement says that both systems have it.
    both: bool,
    result: Result<(), IoError>,
    inside: Breakdown,
}

impl Request {
    /// Whether a host waits for it at `site`.
    pub(super) fn is_at(&self, site: Site) -> bool {
        self.site == site && !self.is_orphan
    }

    /// The group of a replicated write, and its number in the order.
    pub(super) fn place_in_order(&self) -> Option<(usize, Option<u64>)> {
        self.group.map(|group| (group, self.number))
    }

    /// Whether the serving site has done it.
    pub(super) fn is_at_source(&self) -> bool {
        self.is_done_here
    }
}

impl<O: Observer> Pair<O> {
    /// Begins a host's request.
    pub(super) fn begin(&mut self, io: HostIo) {
        let now = self.state.now;
        let (site, own_lun) = self.state.site_of(io.lun);
        let found = self.state.of_lun[site.index()].get(&own_lun).copied();
        let lun = found.map_or(0, |(_, lun)| lun);
        let key = self.requests.insert(Request {
            io,
            site,
            submitted_at: now,
            accepted_at: now,
            group: None,
            place: GroupExtent { lun, extent: io.extent },
            number: None,
            generation: 0,
            parts: 1,
            is_done_here: false,
            is_orphan: false,
            both: false,
            result: Ok(()),
            inside: Breakdown::default(),
        });
        let here = HostIo { lun: own_lun, ..io };
        let Some((group, _)) = found else {
            return match self.state.is_up[site.index()] {
                true => self.ask(site, Sub::Plain(key), here),
                false => self.part_ended(key, Err(IoError::Device)),
            };
        };
        let is_there = io.extent.end() <= self.lun_size(io.lun).get().div_euclid(512);
        if !self.state.is_up[site.index()] || !self.state.groups[group].serves(site) {
            self.refuse(group, key, site);
        } else if !is_there {
            self.part_ended(key, Err(IoError::PastEnd));
        } else if io.verb == Verb::Write && io.extent.length > 0 {
            self.requests[key].group = Some(group);
            self.begin_write(group, key);
        } else {
            self.ask(site, Sub::Plain(key), here);
        }
    }

    /// Begins a replicated write, or holds it until nothing that overlaps it is under way.
    fn begin_write(&mut self, group: usize, key: Key) {
        let now = self.state.now;
        let (place, site) = (self.requests[key].place, self.requests[key].site);
        let lane = &mut self.state.lanes[group];
        let is_reserved = |block: &GroupExtent| {
            block.lun == place.lun && block.extent.overlap(place.extent).is_some()
        };
        if lane.flights[site.index()].meets(place) || lane.reserved.iter().any(is_reserved) {
            return lane.held.push(key);
        }
        let room = self.state.room_of(group);
        let own = &mut self.state.groups[group];
        let before = own.phase;
        let accepted = own.accept(now, place, room);
        let is_overflow = own.phase == Phase::Overflowed && before != Phase::Overflowed;
        let generation = own.generation;
        let number = match accepted {
            Accepted::Refused => return self.part_ended(key, Err(IoError::Device)),
            Accepted::Direct(number) | Accepted::Logged(number) => Some(number),
            Accepted::Marked => None,
        };
        let request = &mut self.requests[key];
        (request.number, request.generation) = (number, generation);
        request.accepted_at = now;
        let io = request.io;
        self.state.lanes[group].flights[site.index()].begin(place);
        let write = key.bits();
        self.look_at_order(group);
        self.observe(
            group,
            PairMove::Accepted { write, tag: io.tag, lun: io.lun, site, number, place },
        );
        match accepted {
            Accepted::Direct(number) => {
                let request = &mut self.requests[key];
                (request.parts, request.both) = (2, true);
                self.state.lanes[group].waiting.insert(number, key);
            }
            Accepted::Logged(_) => {
                self.write_log(group, key, 0);
                self.look_at_log(group);
            }
            Accepted::Refused | Accepted::Marked => {}
        }
        let lun = self.state.lun_at(site, group, place.lun);
        self.ask(site, Sub::Local(key), HostIo { lun, ..io });
        if is_overflow {
            self.state.note_group(group, GroupNote::LogOverflowed);
            if self.state.groups[group].is_connected {
                self.disconnect(group);
                self.try_connect(group);
            }
        }
        self.pump(group);
    }

    /// Writes `key` to the log, if it lies on a LUN; in the log `newer` bytes follow it.
    pub(super) fn write_log(&mut self, group: usize, key: Key, newer: u64) {
        let extent = self.requests[key].place.extent;
        let at = self.state.groups[group].logged_at(extent.bytes() + newer);
        if let Some(io) = self.log_io(group, Verb::Write, at, extent.length) {
            self.requests[key].parts += 1;
            let site = self.state.serving(group);
            self.ask(site, Sub::Log(key), io);
        }
    }

    /// A request to the log: each group goes round its LUN from a place of its own.
    pub(super) fn log_io(&self, group: usize, verb: Verb, at: u64, length: u64) -> Option<HostIo> {
        let site = self.state.serving(group);
        let history = &self.state.history;
        let lun = match site {
            Site::Source => history.lun?,
            Site::Destination => history.replica_lun?,
        };
        let sectors = self.state.log_sectors[site.index()];
        let each = sectors.div_euclid(self.state.groups.len() as u64);
        let length = length.min(sectors);
        let start = (group as u64 * each + at.div_euclid(512)) % sectors;
        Some(HostIo { lun, verb, extent: Extent::new(start.min(sectors - length), length), tag: 0 })
    }

    /// Tells once that the order was given up.
    pub(super) fn look_at_order(&mut self, group: usize) {
        if std::mem::take(&mut self.state.groups[group].has_given_up) {
            self.observe(group, PairMove::GivenUp);
        }
    }

    /// Raises the alarm of a log, once until both sides are in step.
    pub(super) fn look_at_log(&mut self, group: usize) {
        if self.state.lanes[group].has_alarm {
            return;
        }
        let log = self.state.log(group);
        if log.is_alarm {
            self.state.lanes[group].has_alarm = true;
            let note =
                GroupNote::LogAlarm { used: log.used, limit: log.limit, full_in: log.full_in };
            self.state.note_group(group, note);
        }
    }

    /// Tries again what was held.
    pub(super) fn retry_held(&mut self, group: usize) {
        for key in std::mem::take(&mut self.state.lanes[group].held) {
            self.begin_write(group, key);
        }
    }

    /// A host no longer waits for the destination.
    pub(super) fn released(&mut self, key: Key, result: Result<(), IoError>) {
        self.requests[key].both = false;
        self.part_ended(key, result);
    }

    /// Answers the host with an error; `parts` of the request will never end.
    pub(super) fn orphan(&mut self, key: Key, parts: u32) {
        let now = self.state.now;
        let request = &mut self.requests[key];
        let breakdown = Breakdown { wait: now - request.submitted_at, ..Breakdown::default() };
        self.finished.push(Finished {
            tag: request.io.tag,
            verb: request.io.verb,
            submitted_at: request.submitted_at,
            at: now,
            result: Err(IoError::Device),
            breakdown,
        });
        request.is_orphan = true;
        request.parts -= parts;
        if request.parts == 0 {
            self.requests.forget(key);
        }
    }

    pub(super) fn plain_ended(&mut self, key: Key, finished: &Finished) {
        self.requests[key].inside = finished.breakdown;
        self.part_ended(key, finished.result);
    }

    /// The source has done a replicated write.
    pub(super) fn at_source(&mut self, key: Key, finished: &Finished) {
        let request = &mut self.requests[key];
        request.inside = finished.breakdown;
        request.is_done_here = true;
        let (place, group) = (request.place, request.group.expect("it is replicated"));
        let (site, is_orphan) = (request.site, request.is_orphan);
        self.state.lanes[group].flights[site.index()].end(place);
        if !is_orphan {
            self.observe(group, PairMove::AtSource { write: key.bits() });
        }
        self.part_ended(key, finished.result);
        self.read_blocks(group);
        self.retry_held(group);
        self.try_reverse(group);
    }

    /// Ends one part of a request; the last one lets it out.
    pub(super) fn part_ended(&mut self, key: Key, result: Result<(), IoError>) {
        let now = self.state.now;
        let request = &mut self.requests[key];
        request.parts -= 1;
        request.result = request.result.and(result);
        if request.parts > 0 {
            return;
        }
        if request.is_orphan {
            return self.requests.forget(key);
        }
        let mut breakdown = request.inside;
        breakdown.wait += request.accepted_at - request.submitted_at;
        let rest = now - request.submitted_at - breakdown.total();
        match request.both {
            true => breakdown.link += rest,
            false => breakdown.wait += rest,
        }
        self.finished.push(Finished {
            tag: request.io.tag,
            verb: request.io.verb,
            submitted_at: request.submitted_at,
            at: now,
            result: request.result,
            breakdown,
        });
        if let (Some(group), Ok(())) = (request.group, request.result) {
            let (write, both) = (key.bits(), request.both);
            let (number, generation) = (request.number, request.generation);
            let bytes = request.io.extent.bytes();
            let site = request.site;
            self.state.groups[group].acknowledged(site, number, bytes, generation, now);
            self.observe(group, PairMove::Acknowledged { write, both });
        }
        self.requests.forget(key);
    }
}

impl From<PairError> for crate::SystemError {
    fn from(error: PairError) -> Self {
        Self::Pair(Box::new(error))
    }
}
