//! Starts, blocks, and what happens to them.

use brunt_units::{ByteSize, Span};
use brunt_world::IoError;

use super::notes::ReplicaNote;
use super::transfer::{Block, Step, Transfer};
use super::{Event, InReplica, ReplicaMove, Seed, Site, Sites, Sub};
use crate::pair::{Crossed, Exchange};
use crate::slab::Key;
use crate::{Extent, HostIo, Verb};

/// Replicas go one way.
const FORTH: crate::pair::Site = crate::pair::Site::Source;

/// How soon a partner without room is tried again. Assumed.
const RETRY: Span = Span::seconds(60);

/// What is on its way over the link.
pub(super) struct Message {
    exchange: Exchange,
    set: usize,
    turn: u32,
    /// The block; without one, that everything is there.
    block: Option<Block>,
}

impl Sites {
    /// A replication is due.
    pub(super) fn start(&mut self, number: usize) {
        let set = &self.state.sets[number];
        let every = set.design.every;
        self.schedule.set(self.state.now + every, Event::Start(number));
        let (luns, is_busy) = (set.design.luns.clone(), set.transfer.is_some() || set.writing > 0);
        if is_busy || luns.iter().any(|lun| !self.source.has_lun(*lun)) {
            self.state.sets[number].counted.skipped += 1;
            let why = match is_busy {
                true => ReplicaNote::Skipped,
                false => ReplicaNote::LunGone,
            };
            return self.state.note_replica(number, why);
        }
        self.source.advance(self.state.now);
        let starts = self.source.begin_start(&luns);
        let unanswered = self.unanswered_in(&luns);
        let is_first = self.state.sets[number].newest.is_none();
        let mut left = Vec::new();
        for (lun, start) in luns.iter().zip(&starts) {
            // Writes that are under way, and may be in the start, have been counted as changes
            // before.
            let mut grains = self.source.keep_changes(*lun);
            if self.state.sets[number].started == 0 {
                grains.merge(&self.source.written_grains(*start));
            }
            left.push(grains);
        }
        let set = &mut self.state.sets[number];
        for (own, owed) in left.iter_mut().zip(&mut set.owed) {
            own.merge(&std::mem::take(owed));
        }
        set.started += 1;
        let on_media = is_first && matches!(set.design.seed, Seed::Media(_));
        let transfer = Transfer::new(set.started, self.state.now, starts, left, on_media);
        self.listening.tell(self.state.now, number, || ReplicaMove::Started {
            number: transfer.number,
            unanswered,
        });
        let bytes = ByteSize::bytes(transfer.left() * self.state.grain.get());
        let number_of = transfer.number;
        set.transfer = Some(transfer);
        let started = ReplicaNote::Started { number: number_of, bytes, on_media };
        self.state.note_replica(number, started);
        self.pump(number);
    }

    /// Begins what may begin of a replication.
    pub(super) fn pump(&mut self, number: usize) {
        loop {
            let is_reachable = self.state.is_reachable();
            let (most, page) = (self.block_grains, self.page_grains);
            let set = &mut self.state.sets[number];
            let Some(transfer) = &mut set.transfer else {
                return;
            };
            let may = match transfer.step {
                Step::Sending => is_reachable && !transfer.is_paused,
                Step::FromMedia => self.state.is_partner_up && !transfer.is_paused,
                Step::ToMedia => true,
                Step::Shipping | Step::Completing => false,
            };
            if !may || transfer.under_way >= self.outstanding {
                return;
            }
            let Some((lun, grains)) = transfer.next_block(most, page) else {
                if transfer.under_way > 0 {
                    return;
                }
                if !transfer.is_done() {
                    // Some were lost on the way.
                    transfer.begin_anew();
                    continue;
                }
                return self.step_done(number);
            };
            transfer.under_way += 1;
            let (turn, step) = (set.turn, transfer.step);
            let block = Block { set: number, turn, lun, grains };
            match step {
                Step::FromMedia => self.write_at_partner(block, None),
                _ => self.read_at_source(block),
            }
        }
    }

    /// What a block has of its LUN: the last grain may reach past its end.
    fn extent(&self, block: &Block) -> Extent {
        let lun = self.state.sets[block.set].design.luns[block.lun];
        let size = self.source.lun_size(lun).get().div_euclid(512);
        let sectors = self.grain_sectors;
        let start = block.grains.start * sectors;
        let end = (block.grains.end * sectors).min(size);
        Extent::new(start, end.saturating_sub(start))
    }

    fn read_at_source(&mut self, block: Block) {
        let transfer = self.state.sets[block.set].transfer.as_ref();
        let lun = transfer.expect("it is under way").starts[block.lun];
        let extent = self.extent(&block);
        let io = HostIo { lun, verb: Verb::Read, extent, tag: 0 };
        self.ask(Site::Source, Sub::Read(block), io);
    }

    fn write_at_partner(&mut self, block: Block, message: Option<Key>) {
        let lun = self.state.sets[block.set].incoming[block.lun];
        let extent = self.extent(&block);
        self.state.sets[block.set].writing += 1;
        let io = HostIo { lun, verb: Verb::Write, extent, tag: 0 };
        self.ask(Site::Partner, Sub::Write(block, message), io);
    }

    /// Whether a block is still of the replication under way.
    fn is_current(&self, block: &Block) -> bool {
        let set = &self.state.sets[block.set];
        set.transfer.is_some() && set.turn == block.turn
    }

    pub(super) fn was_read_at_source(&mut self, block: Block, result: Result<(), IoError>) {
        if !self.is_current(&block) {
            return;
        }
        let set = &mut self.state.sets[block.set];
        let transfer = set.transfer.as_mut().expect("it is current");
        if !transfer.starts.iter().all(|start| self.source.has_lun(*start)) {
            // What was read may be younger than the start.
            return self.give_up(block.set, ReplicaNote::LocalReserveFull);
        }
        if result.is_err() {
            return self.give_up(block.set, ReplicaNote::Failed);
        }
        if transfer.step == Step::ToMedia {
            transfer.put_on_media(&block);
            transfer.under_way -= 1;
            return self.pump(block.set);
        }
        let bytes = self.extent(&block).bytes();
        let Some((exchange, at)) = self.state.link.begin(self.state.now, FORTH, bytes) else {
            return;
        };
        let message = self.messages.insert(Message {
            exchange,
            set: block.set,
            turn: block.turn,
            block: Some(block),
        });
        self.schedule.set(at, Event::Crossed(message));
    }

    pub(super) fn crossed(&mut self, key: Key) {
        let Some(message) = self.messages.get_mut(key) else {
            return;
        };
        let (set, turn) = (message.set, message.turn);
        if self.state.sets[set].turn != turn || self.state.sets[set].transfer.is_none() {
            self.messages.forget(key);
            return;
        }
        match message.exchange.crossed() {
            Crossed::Handshake => self.go_on(key),
            Crossed::Data => match message.block.clone() {
                Some(block) => self.write_at_partner(block, Some(key)),
                None => {
                    self.make_replica(set);
                    self.go_on(key);
                }
            },
            Crossed::Status => {
                let message = self.messages.remove(key).expect("it is there");
                match message.block {
                    Some(block) => self.arrived(&block),
                    None => self.complete(set),
                }
            }
        }
    }

    fn go_on(&mut self, key: Key) {
        let message = &mut self.messages[key];
        let at = self.state.link.go_on(self.state.now, &mut message.exchange);
        self.schedule.set(at, Event::Crossed(key));
    }

    pub(super) fn was_written(
        &mut self,
        block: &Block,
        message: Option<Key>,
        result: Result<(), IoError>,
    ) {
        self.state.sets[block.set].writing -= 1;
        if !self.is_current(block) {
            if let Some(key) = message {
                self.messages.remove(key);
            }
            return;
        }
        match (result, message) {
            (Ok(()), Some(key)) if self.messages.get(key).is_some() => self.go_on(key),
            // It was on a path that is lost.
            (Ok(()), Some(_)) => {}
            (Ok(()), None) => self.arrived(block),
            (Err(IoError::NoSpace), _) => {
                if let Some(key) = message {
                    self.messages.remove(key);
                }
                self.pause(block.set);
            }
            (Err(_), _) => self.give_up(block.set, ReplicaNote::Failed),
        }
    }

    fn arrived(&mut self, block: &Block) {
        let bytes = self.extent(block).bytes();
        let set = &mut self.state.sets[block.set];
        let transfer = set.transfer.as_mut().expect("it is current");
        transfer.arrived(block);
        transfer.under_way -= 1;
        if transfer.step == Step::Sending {
            set.counted.sent += bytes;
        }
        self.pump(block.set);
    }

    /// A step has nothing left to do.
    fn step_done(&mut self, number: usize) {
        let set = &mut self.state.sets[number];
        let transfer = set.transfer.as_mut().expect("it is under way");
        match (transfer.step, set.design.seed) {
            (Step::ToMedia, Seed::Media(takes)) => {
                transfer.step = Step::Shipping;
                self.schedule.set(self.state.now + takes, Event::Arrived(number));
                self.state.note_replica(number, ReplicaNote::Shipped);
            }
            _ => {
                transfer.step = Step::Completing;
                self.tell_partner(number);
            }
        }
    }

    pub(super) fn media_arrived(&mut self, number: usize) {
        let Some(transfer) = &mut self.state.sets[number].transfer else {
            return;
        };
        transfer.step = Step::FromMedia;
        transfer.begin_anew();
        self.state.note_replica(number, ReplicaNote::Arrived);
        self.pump(number);
    }

    /// Tells the partner that everything is there.
    fn tell_partner(&mut self, number: usize) {
        if !self.state.is_reachable() {
            return;
        }
        let turn = self.state.sets[number].turn;
        if let Some((exchange, at)) = self.state.link.ask(self.state.now, FORTH) {
            let message =
                self.messages.insert(Message { exchange, set: number, turn, block: None });
            self.schedule.set(at, Event::Crossed(message));
        }
    }

    /// The partner makes a replica of what it has.
    fn make_replica(&mut self, number: usize) {
        let now = self.state.now;
        let set = &mut self.state.sets[number];
        let transfer = set.transfer.as_mut().expect("it is under way");
        if std::mem::replace(&mut transfer.is_taken, true) {
            return;
        }
        let (of, which) = (transfer.at, transfer.number);
        // What the newest was until now.
        let age = set.newest.map(|before| now - before);
        set.counted.worst_age = set.counted.worst_age.max(age);
        set.newest = Some(of);
        let name = &set.design.name;
        let own = format!("{name} replica {}", transfer.number);
        self.partner.advance(now);
        self.partner.take_snapshot(&set.incoming, &own, name);
        self.partner.keep_newest(name, set.design.keep as usize);
        self.listening.tell(now, number, || ReplicaMove::Made { number: which });
    }

    /// The parts of hosts' writes to `luns` that are in a start that begins now, and that hosts
    /// have no answer for yet.
    fn unanswered_in(&self, luns: &[u32]) -> Vec<InReplica> {
        if !self.listening.is_there() {
            return Vec::new();
        }
        let own = |io: &HostIo| luns.contains(&io.lun);
        let mut all: Vec<InReplica> = self.listening.answered(own).collect();
        for (sub, extent) in self.source.begun_writes(luns) {
            if let Some(Sub::Host(io)) = self.subs.get(Key::from_bits(sub)) {
                all.push(InReplica { tag: io.tag, lun: io.lun, extent });
            }
        }
        all
    }

    /// The source knows that a replica is complete.
    fn complete(&mut self, number: usize) {
        self.source.advance(self.state.now);
        let set = &mut self.state.sets[number];
        let transfer = set.transfer.take().expect("it is under way");
        let took = self.state.now - transfer.at;
        set.counted.complete += 1;
        set.counted.last_took = Some(took);
        let ended = match set.design.failback {
            true => std::mem::replace(&mut set.failback, transfer.starts),
            false => transfer.starts,
        };
        for start in ended {
            self.source.end_start(start);
        }
        let (number_of, of) = (transfer.number, transfer.at);
        let complete = ReplicaNote::Complete { number: number_of, of, took };
        self.state.note_replica(number, complete);
    }

    /// Gives up a replication; the next one brings what is left.
    fn give_up(&mut self, number: usize, why: ReplicaNote) {
        self.source.advance(self.state.now);
        let set = &mut self.state.sets[number];
        let transfer = set.transfer.take().expect("it is under way");
        set.turn += 1;
        set.counted.given_up += 1;
        if !transfer.is_taken {
            let which = transfer.number;
            self.listening.tell(self.state.now, number, || ReplicaMove::GivenUp { number: which });
        }
        for start in &transfer.starts {
            self.source.end_start(*start);
        }
        self.state.sets[number].owed = transfer.owed();
        self.state.note_replica(number, why);
    }

    fn pause(&mut self, number: usize) {
        let retry = self.state.now + RETRY;
        let set = &mut self.state.sets[number];
        set.turn += 1;
        let turn = set.turn;
        let transfer = set.transfer.as_mut().expect("it is under way");
        transfer.under_way = 0;
        transfer.begin_anew();
        transfer.is_paused = true;
        self.schedule.set(retry, Event::Retry(number, turn));
        self.state.note_replica(number, ReplicaNote::NoRoom);
        // The oldest makes room, unless it is the newest.
        let name = self.state.sets[number].design.name.clone();
        let kept = self.partner.count_of(&name);
        self.partner.advance(self.state.now);
        self.partner.keep_newest(&name, kept.saturating_sub(1).max(1));
    }

    pub(super) fn retry(&mut self, number: usize, turn: u32) {
        let set = &mut self.state.sets[number];
        if let Some(transfer) = set.transfer.as_mut().filter(|_| set.turn == turn) {
            transfer.is_paused = false;
            self.pump(number);
        }
    }

    /// The link or the partner is lost, or back; replications in these steps need it.
    pub(super) fn reach(&mut self, is_up: bool, steps: &[Step]) {
        let is_reachable = self.state.is_reachable();
        for number in 0..self.state.sets.len() {
            let set = &mut self.state.sets[number];
            let Some(transfer) = &mut set.transfer else {
                continue;
            };
            if !steps.contains(&transfer.step) {
                continue;
            }
            if !is_up {
                set.turn += 1;
                transfer.under_way = 0;
                transfer.is_paused = false;
                transfer.begin_anew();
                continue;
            }
            if !is_reachable && transfer.step != Step::FromMedia {
                continue;
            }
            let left = ByteSize::bytes(transfer.left() * self.state.grain.get());
            let step = transfer.step;
            self.state.note_replica(number, ReplicaNote::Resumed(left));
            match step {
                Step::Completing => self.tell_partner(number),
                _ => self.pump(number),
            }
        }
    }

    /// What is under way on a path is lost.
    pub(super) fn drop_path(&mut self, path: usize) {
        let on_path = |message: &Message| message.exchange.path() == path;
        let lost: Vec<Key> = self.messages.keys(on_path).collect();
        for key in lost {
            let message = self.messages.remove(key).expect("it is there");
            let set = &mut self.state.sets[message.set];
            if set.turn != message.turn {
                continue;
            }
            match (&mut set.transfer, message.block) {
                (Some(transfer), Some(_)) => transfer.under_way -= 1,
                (Some(_), None) => self.tell_partner(message.set),
                (None, _) => {}
            }
        }
    }
}
