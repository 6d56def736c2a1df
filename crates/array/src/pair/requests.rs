//! Host requests: to the source, into the order of their group, and out when both have ended.

use brunt_units::Time;
use brunt_world::IoError;

use super::design::PairError;
use super::group::{Accepted, Phase};
use super::notes::GroupNote;
use super::observer::{Move, Observer};
use super::order::Place;
use super::{Pair, Side, Sub};
use crate::breakdown::Breakdown;
use crate::slab::Key;
use crate::{Extent, Finished, HostIo, Verb};

/// A host's request in flight.
pub(super) struct Request {
    io: HostIo,
    submitted_at: Time,
    /// When a write got its place in the order.
    accepted_at: Time,
    /// The group of a replicated write.
    group: Option<usize>,
    place: Place,
    /// Its number in the order.
    number: Option<u64>,
    generation: u32,
    parts: u32,
    /// Whether the acknowledgement says that both systems have it.
    both: bool,
    result: Result<(), IoError>,
    inside: Breakdown,
}

impl<O: Observer> Pair<O> {
    /// Begins a host's request.
    pub(super) fn begin(&mut self, io: HostIo) {
        let now = self.state.now;
        let found = self.state.of_lun.get(&io.lun).copied();
        let lun = found.map_or(0, |(_, lun)| lun);
        let key = self.requests.insert(Request {
            io,
            submitted_at: now,
            accepted_at: now,
            group: None,
            place: Place {
                lun,
                extent: io.extent,
            },
            number: None,
            generation: 0,
            parts: 1,
            both: false,
            result: Ok(()),
            inside: Breakdown::default(),
        });
        let Some((group, _)) = found else {
            return self.ask(Side::Source, Sub::Plain(key), io);
        };
        let size = self.source.lun_size(io.lun).get().div_euclid(512);
        let is_write = io.verb == Verb::Write && io.extent.end() <= size && io.extent.length > 0;
        if self.state.groups[group].phase == Phase::Locked {
            self.part_ended(key, Err(IoError::Device));
        } else if is_write {
            self.requests[key].group = Some(group);
            self.begin_write(group, key);
        } else {
            self.ask(Side::Source, Sub::Plain(key), io);
        }
    }

    /// Begins a replicated write, or holds it until nothing that overlaps it is under way.
    fn begin_write(&mut self, group: usize, key: Key) {
        let now = self.state.now;
        let place = self.requests[key].place;
        let lane = &mut self.state.lanes[group];
        let is_reserved =
            |block: &Place| block.lun == place.lun && block.extent.overlap(place.extent).is_some();
        if lane.flights.meets(place) || lane.reserved.iter().any(is_reserved) {
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
        self.state.lanes[group].flights.begin(place);
        let write = key.bits();
        self.look_at_order(group);
        self.observe(
            group,
            Move::Accepted {
                write,
                tag: io.tag,
                lun: io.lun,
                number,
                place,
            },
        );
        match accepted {
            Accepted::Direct(number) => {
                let request = &mut self.requests[key];
                (request.parts, request.both) = (2, true);
                self.state.lanes[group].waiting.insert(number, key);
            }
            Accepted::Logged(_) => {
                self.write_log(group, key);
                self.look_at_log(group);
            }
            Accepted::Refused | Accepted::Marked => {}
        }
        self.ask(Side::Source, Sub::Local(key), io);
        if is_overflow {
            self.state.note_group(group, GroupNote::LogOverflowed);
            if self.state.groups[group].is_connected {
                self.disconnect(group);
                self.try_connect(group);
            }
        }
        self.pump(group);
    }

    /// Writes to the log, if it lies on a LUN; its newest bytes are those of `key`.
    pub(super) fn write_log(&mut self, group: usize, key: Key) {
        let extent = self.requests[key].place.extent;
        let at = self.state.groups[group].logged_at(extent.bytes());
        if let Some(io) = self.log_io(group, Verb::Write, at, extent.length) {
            self.requests[key].parts += 1;
            self.ask(Side::Source, Sub::Log(key), io);
        }
    }

    /// A request to the log: each group goes round its LUN from a place of its own.
    pub(super) fn log_io(&self, group: usize, verb: Verb, at: u64, length: u64) -> Option<HostIo> {
        let lun = self.state.history.lun?;
        let sectors = self.state.log_sectors;
        let each = sectors.div_euclid(self.state.groups.len() as u64);
        let length = length.min(sectors);
        let start = (group as u64 * each + at.div_euclid(512)) % sectors;
        Some(HostIo {
            lun,
            verb,
            extent: Extent::new(start.min(sectors - length), length),
            tag: 0,
        })
    }

    /// Tells once that the order was given up.
    pub(super) fn look_at_order(&mut self, group: usize) {
        if std::mem::take(&mut self.state.groups[group].has_given_up) {
            self.observe(group, Move::GivenUp);
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
            let note = GroupNote::LogAlarm {
                used: log.used,
                limit: log.limit,
                full_in: log.full_in,
            };
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

    pub(super) fn plain_ended(&mut self, key: Key, finished: &Finished) {
        self.requests[key].inside = finished.breakdown;
        self.part_ended(key, finished.result);
    }

    /// The source has done a replicated write.
    pub(super) fn at_source(&mut self, key: Key, finished: &Finished) {
        let request = &mut self.requests[key];
        request.inside = finished.breakdown;
        let (place, group) = (request.place, request.group.expect("it is replicated"));
        self.state.lanes[group].flights.end(place);
        let (write, is_ok) = (key.bits(), finished.result.is_ok());
        self.observe(group, Move::AtSource { write, is_ok });
        self.part_ended(key, finished.result);
        self.read_blocks(group);
        self.retry_held(group);
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
            self.state.groups[group].acknowledged(number, bytes, generation, now);
            self.observe(group, Move::Acknowledged { write, both });
        }
        self.requests.forget(key);
    }
}

impl From<PairError> for crate::SystemError {
    fn from(error: PairError) -> Self {
        Self::Pair(Box::new(error))
    }
}
