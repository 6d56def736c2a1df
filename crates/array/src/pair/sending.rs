//! Writes on their way to the destination, and their status back.

use brunt_world::IoError;

use super::design::Control;
use super::link::{Crossed, Exchange};
use super::listener::PairMove;
use super::notes::GroupNote;
use super::observer::Observer;
use super::order::{EntryKind, GroupExtent};
use super::{Event, Pair, Sub};
use crate::slab::Key;
use crate::{HostIo, Verb};

/// What an exchange over the link is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    /// A write or a block of a group, with its number in the order.
    Write { number: u64, place: GroupExtent, is_copy: bool },
    /// Whether the destination is there, and what it has; the source goes on from this number.
    Hello { base: u64 },
}

/// An exchange under way.
pub(super) struct Message {
    pub(super) group: usize,
    pub(super) about: About,
    pub(super) exchange: Exchange,
    /// What the status says: the destination has every write before this one.
    done: u64,
}

impl<O: Observer> Pair<O> {
    /// Sends what may be sent.
    pub(super) fn pump(&mut self, group: usize) {
        self.read_blocks(group);
        let most = self.state.outstanding;
        while let Some((number, entry)) = self.state.groups[group].next_to_send(most) {
            let from = self.state.receivers[group].expects();
            if self.state.is_next_control(Control::SwapTwo)
                && self.state.groups[group].order.swap_next(from)
            {
                self.state.strike();
                self.state.lanes[group].swapped = Some(number);
                continue;
            }
            let log_at = self.state.groups[group].sent(&entry);
            let length = entry.place().extent.length;
            let read = log_at.and_then(|at| self.log_io(group, Verb::Read, at, length));
            match read {
                Some(io) => {
                    let turn = self.state.lanes[group].turn;
                    let what = Sub::LogRead { group, number, turn };
                    let site = self.state.serving(group);
                    self.ask(site, what, io);
                }
                None => self.send_write(group, number),
            }
        }
    }

    /// A write has been read from the log. What the source cannot read there, it still has in
    /// memory.
    pub(super) fn log_read(&mut self, group: usize, number: u64, turn: u32) {
        if self.state.lanes[group].turn == turn {
            self.send_write(group, number);
        }
    }

    fn send_write(&mut self, group: usize, number: u64) {
        let Some(entry) = self.state.groups[group].order.get(number) else {
            return;
        };
        let about =
            About::Write { number, place: entry.place(), is_copy: entry.kind == EntryKind::Copy };
        self.send(group, about);
    }

    /// Begins an exchange; the link is up.
    pub(super) fn send(&mut self, group: usize, about: About) -> Option<Key> {
        let (now, from) = (self.state.now, self.state.serving(group));
        let (exchange, at) = match about {
            About::Write { place, .. } => self.state.link.begin(now, from, place.extent.bytes())?,
            About::Hello { .. } => self.state.link.ask(now, from)?,
        };
        let key = self.messages.insert(Message { group, about, exchange, done: 0 });
        self.schedule.set(at, Event::Crossed(key));
        Some(key)
    }

    fn go_on(&mut self, key: Key) {
        let message = &mut self.messages[key];
        let at = self.state.link.go_on(self.state.now, &mut message.exchange);
        self.schedule.set(at, Event::Crossed(key));
    }

    /// A crossing arrives, unless it was lost with its path.
    pub(super) fn crossed(&mut self, key: Key) {
        let Some(message) = self.messages.get(key) else {
            return;
        };
        let (group, about, done) = (message.group, message.about, message.done);
        match (message.exchange.crossed(), about) {
            (Crossed::Handshake, _) => self.go_on(key),
            (Crossed::Data, About::Hello { base }) => {
                let receiver = &mut self.state.receivers[group];
                receiver.go_on_from(base);
                self.messages[key].done = receiver.done();
                self.go_on(key);
            }
            (Crossed::Data, About::Write { number, place, is_copy }) => {
                self.state.receivers[group].receive(number, place, is_copy, key);
                self.apply(group);
            }
            (Crossed::Status, About::Hello { base }) => {
                self.messages.forget(key);
                self.connected(group, base, done);
            }
            (Crossed::Status, About::Write { .. }) => {
                self.messages.forget(key);
                self.confirm(group, done);
                self.pump(group);
            }
        }
    }

    /// The destination has every write of the group before `until`.
    pub(super) fn confirm(&mut self, group: usize, until: u64) {
        for number in self.state.groups[group].confirm(until) {
            if let Some(key) = self.state.lanes[group].waiting.remove(&number) {
                self.part_ended(key, Ok(()));
            }
        }
        self.settle(group);
        self.try_reverse(group);
    }

    /// The destination begins what it may.
    fn apply(&mut self, group: usize) {
        while let Some((number, place, is_copy)) = self.state.receivers[group].begin() {
            if !is_copy && self.state.is_next_control(Control::DropOne) {
                self.state.strike();
                self.state.receivers[group].end(number);
                self.state.lanes[group].dropped = Some(number);
                continue;
            }
            self.observe(group, PairMove::Began { number, place });
            let turn = self.state.receivers[group].turn();
            let other = self.state.serving(group).other();
            let lun = self.state.lun_at(other, group, place.lun);
            let what = Sub::Apply { group, number, turn };
            let io = HostIo { lun, verb: Verb::Write, extent: place.extent, tag: 0 };
            self.ask(other, what, io);
        }
        self.answer(group);
    }

    /// The destination has ended a write.
    pub(super) fn applied(
        &mut self,
        group: usize,
        number: u64,
        turn: u32,
        result: Result<(), IoError>,
    ) {
        if self.state.receivers[group].turn() != turn {
            return;
        }
        if result.is_err() {
            self.stop_receiver(group);
            return self.break_up(group, GroupNote::Refused);
        }
        self.state.receivers[group].end(number);
        self.apply(group);
    }

    /// Counts what the destination has, and sends the status of it.
    fn answer(&mut self, group: usize) {
        while let Some((number, _)) = self.state.receivers[group].counted() {
            let lane = &self.state.lanes[group];
            let content = match lane.swapped {
                Some(first) if number == first => first + 1,
                Some(first) if number == first + 1 => first,
                _ => number,
            };
            if lane.dropped != Some(number) {
                self.observe(group, PairMove::Done { number, content });
            }
        }
        while let Some(key) = self.state.receivers[group].answer() {
            // It waits no more if its path was lost meanwhile.
            if let Some(message) = self.messages.get_mut(key) {
                message.done = self.state.receivers[group].done();
                self.go_on(key);
            }
        }
    }
}
