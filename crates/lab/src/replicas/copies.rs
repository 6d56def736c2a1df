//! The files of each replica's instant, kept until a newer replica is complete.
//!
//! ```text
//!   Started   the files as reads see them now, and the parts of unanswered writes that the pool says are in the replica
//!   Made      they take the place of the copy before
//!   GivenUp   they are dropped
//! ```
//!
//! Names and lengths are those of the instant: the file system writes them in order, and a log file
//! gets its name before anything in it is promised.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_array::{InReplica, ReplicaListener, ReplicaMove};
use brunt_drill::{Ledger, SharedLedger};
use brunt_scenario::ModelledScenario;
use brunt_units::{SECTOR_BYTES, Time};
use brunt_world::Class;
use brunt_world_virtual::journal::Action;
use brunt_world_virtual::{Follower, Inode, Request, Store};

use super::sets::{SetPlan, find, paths};
use crate::device::SharedArray;
use crate::writes::{Folders, HostWrite, Logs, Slots};

/// What pools have said: array, time, set, what.
type Moves = Rc<RefCell<VecDeque<(usize, Time, usize, ReplicaMove)>>>;

/// An array, by number, and who hears it.
type EarOf = (usize, Box<dyn ReplicaListener>);

/// Hears the pool of one array.
struct MoveQueue {
    array: usize,
    moves: Moves,
}

impl ReplicaListener for MoveQueue {
    fn observe(&mut self, at: Time, set: usize, moved: ReplicaMove) {
        let mut moves = self.moves.borrow_mut();
        moves.push_back((self.array, at, set, moved));
    }
}

/// A set's files at an instant.
pub(super) struct Image {
    number: u64,
    pub(super) at: Time,
    pub(super) files: Store,
    /// The commits of every server until then; empty without content.
    pub(super) ledgers: Vec<Ledger>,
    /// Where each log ended, by folder.
    pub(super) logs: Logs,
}

/// The copies of a set.
struct Followed {
    array: usize,
    number: usize,
    /// Volumes of the world.
    volumes: Vec<usize>,
    /// Log streams, by server.
    streams: Vec<(usize, usize)>,
    under_way: Option<Image>,
    newest: Option<Rc<Image>>,
}

/// What there was when the load ended.
pub(super) struct End {
    pub(super) at: Time,
    /// By set: the newest complete copy.
    pub(super) newest: Vec<Option<Rc<Image>>>,
    pub(super) ledgers: Vec<Ledger>,
}

/// The copies of all sets.
pub(super) struct Copies {
    moves: Moves,
    sets: Vec<Followed>,
    arrays: Vec<SharedArray>,
    /// The paths of the world's volumes.
    paths: Vec<PathBuf>,
    ledgers: Vec<SharedLedger>,
    /// Writes that were submitted, by slot.
    slots: Slots<HostWrite>,
    folders: Folders,
    logs: Logs,
    end: Option<End>,
    /// A control, which breaks each copy.
    pub(super) control: Option<Box<dyn CopyControl>>,
}

/// Sees the writes of logs, and breaks copies on purpose: a check that finds nothing then is none.
pub(super) trait CopyControl {
    /// A write of `length` bytes to `file` is under way in `slot`.
    fn submitted(&mut self, slot: usize, file: Inode, offset: u64, length: u64);

    /// The write in `slot` is answered.
    fn ended(&mut self, slot: usize);

    /// The files of this side now.
    fn look(&mut self, files: &Store);

    /// Breaks the files of a copy.
    fn strike(&self, files: &mut Store);
}

impl Copies {
    /// The copies of `sets`, and the queue of moves that each array needs.
    pub(super) fn new(
        scenario: &ModelledScenario,
        sets: &[SetPlan],
        arrays: &[SharedArray],
        ledgers: Vec<SharedLedger>,
    ) -> (Self, Vec<EarOf>) {
        let moves = Moves::default();
        let paths = paths(scenario);
        let followed = sets.iter().map(|set| {
            let is_own = |path: &&PathBuf| set.volumes.iter().any(|own| own.path == **path);
            let volumes = paths.iter().enumerate().filter(|(_, path)| is_own(path));
            let streams = set.servers.iter().flat_map(|held| {
                let instances = held.instances.iter();
                instances.map(|instance| (held.server, *instance))
            });
            Followed {
                array: set.array,
                number: set.number,
                volumes: volumes.map(|(number, _)| number).collect(),
                streams: streams.collect(),
                under_way: None,
                newest: None,
            }
        });
        let mut listening: Vec<usize> = sets.iter().map(|set| set.array).collect();
        listening.dedup();
        let queues = listening.into_iter().map(|array| {
            let queue = MoveQueue { array, moves: Rc::clone(&moves) };
            (array, Box::new(queue) as Box<dyn ReplicaListener>)
        });
        let queues = queues.collect();
        let copies = Self {
            sets: followed.collect(),
            moves,
            arrays: arrays.to_vec(),
            paths,
            ledgers,
            slots: Slots::default(),
            folders: Folders::default(),
            logs: Logs::default(),
            end: None,
            control: None,
        };
        (copies, queues)
    }

    /// The load has ended. What comes later, such as a recovery at the source, no longer counts.
    pub(super) fn end(&mut self, at: Time) {
        if self.end.is_some() {
            return;
        }
        let newest = self.sets.iter().map(|set| set.newest.clone());
        self.end = Some(End { at, newest: newest.collect(), ledgers: self.ledgers_now() });
    }

    /// What there was when the load ended.
    pub(super) fn at_end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn ledgers_now(&self) -> Vec<Ledger> {
        let ledgers = self.ledgers.iter();
        ledgers.map(|ledger| ledger.lock().clone()).collect()
    }

    /// Goes on with everything that pools have said.
    fn settle(&mut self, files: &Store) {
        loop {
            let next = self.moves.borrow_mut().pop_front();
            let Some((array, at, number, moved)) = next else {
                return;
            };
            let is_it = |set: &Followed| set.array == array && set.number == number;
            let Some(set) = self.sets.iter().position(is_it) else {
                continue;
            };
            match moved {
                ReplicaMove::Started { number, unanswered } => {
                    let copy = self.copy(set, (number, at), &unanswered, files);
                    self.sets[set].under_way = Some(copy);
                }
                ReplicaMove::Made { number } => self.made(set, number),
                ReplicaMove::GivenUp { .. } => self.sets[set].under_way = None,
                _ => {}
            }
        }
    }

    /// The files of a set now, with what is in the replica of `unanswered` writes.
    fn copy(
        &self,
        set: usize,
        (number, at): (u64, Time),
        unanswered: &[InReplica],
        files: &Store,
    ) -> Image {
        let set = &self.sets[set];
        let is_own = |path: &Path| {
            let volume = find(self.paths.iter().map(PathBuf::as_path), path);
            volume.is_some_and(|volume| set.volumes.contains(&volume))
        };
        let mut copy = Image {
            number,
            at,
            files: files.part(is_own),
            ledgers: self.ledgers_now(),
            logs: self.logs.clone(),
        };
        for one in unanswered {
            let Some(write) = self.slots.of_tag(one.tag) else {
                continue;
            };
            self.put(&mut copy.files, set.array, write, one);
            copy.logs.see(write, &self.folders);
        }
        if let Some(control) = &self.control {
            control.strike(&mut copy.files);
        }
        copy
    }

    /// Puts a part of `write` into `files`.
    fn put(&self, files: &mut Store, array: usize, write: &HostWrite, part: &InReplica) {
        if files.length(write.file).is_none() {
            // Its file has lost its name.
            return;
        }
        let length = write.content.length();
        let device = self.arrays[array].device();
        let mut from = 0;
        for place in device.places(write.volume, write.file, write.offset, length) {
            if let Some(common) = place.overlap(part.extent) {
                let start = from + (common.start - place.start) * SECTOR_BYTES;
                write.put_part(files, start, common.bytes());
            }
            from += place.bytes();
        }
    }

    /// The partner has a replica. What was promised before it need not be remembered.
    fn made(&mut self, set: usize, number: u64) {
        let set = &mut self.sets[set];
        let Some(copy) = set.under_way.take().filter(|copy| copy.number == number) else {
            return;
        };
        if !self.ledgers.is_empty() {
            for (server, stream) in &set.streams {
                let mut ledger = self.ledgers[*server].lock();
                ledger.forget_promised_before(*stream, copy.at);
            }
        }
        set.newest = Some(Rc::new(copy));
    }

    fn is_followed(&self, volume: u32) -> bool {
        let mut sets = self.sets.iter();
        sets.any(|set| set.volumes.contains(&(volume as usize)))
    }
}

impl Follower for Copies {
    fn submitted(&mut self, request: &Request, action: Action) {
        let Some(write) = HostWrite::of(request, action) else {
            return;
        };
        if !self.is_followed(write.volume) {
            return;
        }
        let slot = request.id.slot();
        if let (Some(control), Class::Log) = (&mut self.control, write.class) {
            control.submitted(slot, write.file, write.offset, request.length);
        }
        self.slots.put(slot, write);
    }

    fn ended(&mut self, slot: usize) {
        if let Some(control) = &mut self.control {
            control.ended(slot);
        }
        if let Some(write) = self.slots.take(slot) {
            self.logs.see(&write, &self.folders);
        }
    }

    fn changed(&mut self, _: u32, action: &Action) {
        self.folders.note(action);
    }

    fn look(&mut self, files: &Store) {
        self.settle(files);
        if let Some(control) = &mut self.control {
            control.look(files);
        }
    }
}
