//! The files of the side that does not serve, kept from what the pair says about every write.
//!
//! ```text
//!   host writes --(Follower)--> content, by slot of the request
//!   pair says:  accepted, number 17 of its group  --> waits under 17, after every change of a name before it
//!               done 17                           --> into the files of the other side
//!               full copy begins                  --> those of this side take their place; no state of it until in step
//! ```
//!
//! A pair promises that the other side does the writes of a group in the order in which this side
//! took them. That is checked here with every write: one that is done before an earlier one, or
//! that is never done, is a [`Mirror::broken_order`].

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_array::{PairListener, PairMove};
use brunt_units::{SECTOR_BYTES, Time, counted};
use brunt_world::Class;
use brunt_world::random::Stream;
use brunt_world_virtual::journal::{Action, Content, NameChange};
use brunt_world_virtual::{Follower, Inode, Request, Store};

use crate::writes::{Folders, HostWrite, LogState, Logs, Slots};

/// What a pair has said, by group.
type Queue = Rc<RefCell<VecDeque<(usize, PairMove)>>>;

/// Hears the pair, for a [`Mirror`].
pub(crate) struct MoveQueue(Queue);

impl PairListener for MoveQueue {
    fn observe(&mut self, _: Time, group: usize, moved: PairMove) {
        self.0.borrow_mut().push_back((group, moved));
    }
}

/// A write of a host, as far as the other side is concerned.
struct Write {
    host: HostWrite,
    /// Bytes that the other side does not have.
    left: Cell<u64>,
    is_accepted: Cell<bool>,
}

impl Write {
    /// Puts nothing, everything, or some sectors.
    fn put_torn(&self, files: &mut Store, draw: &mut Stream) {
        match (draw.below(3), &self.host.content) {
            (0, _) => {}
            (1, Content::Bytes(bytes)) if files.length(self.host.file).is_some() => {
                let start = self.host.offset;
                for (at, sector) in (start..).step_by(SECTOR).zip(bytes.chunks(SECTOR)) {
                    if draw.percent(50) {
                        files.write(self.host.file, at, sector);
                    }
                }
            }
            _ => self.host.put(files),
        }
    }
}

/// Writes are torn between these.
const SECTOR: usize = 512;

/// A group of LUNs with one write order.
#[derive(Default)]
struct Group {
    /// What the other side has.
    files: Store,
    logs: Logs,
    /// The same with everything that was accepted.
    accepted_logs: Logs,
    /// Whether a full copy has left the other side inconsistent.
    is_copying: bool,
    /// Writes that the other side does not have, by their number.
    pending: BTreeMap<u64, (Rc<Write>, u64)>,
    /// Those of an order that was given up: the next full copy brings them, if the other side does
    /// not do them before.
    given_up: BTreeMap<u64, (Rc<Write>, u64)>,
    /// Whether the order was given up: what comes after it is brought by the next full copy.
    is_given_up: bool,
    /// Changes of names, each after the writes before a number.
    names: VecDeque<(u64, Action)>,
    /// After the newest write.
    next: u64,
}

/// The files of the other side.
pub(crate) struct Mirror {
    moves: Queue,
    /// The group of each volume.
    group_of: BTreeMap<u32, usize>,
    /// The paths of the volumes of each group, of both sides.
    roots: Vec<Vec<PathBuf>>,
    /// Those of the side that serves. A volume is followed from its first file on.
    followed: Vec<Vec<PathBuf>>,
    groups: Vec<Group>,
    /// Writes that were submitted, by slot.
    slots: Slots<Rc<Write>>,
    folders: Folders,
    broken: Option<String>,
}

impl Mirror {
    /// The mirror of `groups` groups, over volumes `(number, path, group)` of which those whose
    /// paths `serve` are followed, and the queue of moves that the pair needs.
    pub(crate) fn new(
        groups: usize,
        volumes: &[(u32, PathBuf, usize)],
        serve: impl Fn(&Path) -> bool,
    ) -> (Self, MoveQueue) {
        let moves = Queue::default();
        let mut roots = vec![Vec::new(); groups];
        for (_, path, group) in volumes {
            roots[*group].push(path.clone());
        }
        let mirror = Self {
            moves: Rc::clone(&moves),
            group_of: volumes.iter().map(|(number, _, group)| (*number, *group)).collect(),
            followed: followed(&roots, serve),
            roots,
            groups: (0..groups).map(|_| Group::default()).collect(),
            slots: Slots::default(),
            folders: Folders::default(),
            broken: None,
        };
        (mirror, MoveQueue(moves))
    }

    /// How the other side first departed from the order of writes; `None` as long as it keeps it.
    pub(crate) fn broken_order(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// What the other side has of `group`; `None` while it is no state of this one.
    pub(crate) fn files(&self, group: usize) -> Option<&Store> {
        let own = &self.groups[group];
        (!own.is_copying).then_some(&own.files)
    }

    /// The log in `folder` as the other side has it.
    pub(crate) fn log(&self, folder: &Path) -> LogState {
        let all = self.groups.iter();
        let found = all.filter_map(|group| group.logs.get(folder)).next();
        found.unwrap_or_default()
    }

    /// Where the other side has `file`.
    pub(crate) fn path_of(&self, file: Inode) -> Option<PathBuf> {
        let all = self.groups.iter().flat_map(|group| group.files.names());
        let found = all.filter(|(_, inode)| *inode == file).map(|(path, _)| path.to_path_buf());
        found.last()
    }

    /// Parts of files of which a write has not arrived: file, offset, bytes.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (Inode, u64, u64)> {
        let groups = self.groups.iter();
        let all = groups.flat_map(|group| group.pending.values().chain(group.given_up.values()));
        all.map(|(write, _)| &write.host)
            .filter(|write| write.class != Class::Log)
            .map(|write| (write.file, write.offset, write.content.length()))
    }

    /// The files of this side, if it stopped now with them: of each write in flight nothing
    /// arrives, all of it, or some sectors.
    pub(super) fn with_in_flight(&self, files: &Store, draw: &mut Stream) -> Store {
        let mut files = files.fork();
        for write in self.slots.iter() {
            write.put_torn(&mut files, draw);
        }
        files
    }

    /// The files of the other side, if it stopped now: the oldest write of each group that it does
    /// not have may be there, or a part of it. Nothing while a full copy has left it inconsistent.
    pub(super) fn torn_other_side(&self, draw: &mut Stream) -> Option<Store> {
        let mut all = Store::new();
        for group in &self.groups {
            if group.is_copying {
                return None;
            }
            let mut files = group.files.fork();
            let oldest = group.given_up.values().next().or(group.pending.values().next());
            if let Some((write, _)) = oldest {
                write.put_torn(&mut files, draw);
            }
            for (path, inode) in files.names() {
                let file = all.adopt(&files, inode);
                all.link(path, file);
            }
        }
        Some(all)
    }

    /// Sites change places: those of the volumes whose paths `serve` are followed from now on. What
    /// was this side holds their `files` only when both are in step again, or at once if they are.
    pub(crate) fn turn(&mut self, files: &Store, serve: impl Fn(&Path) -> bool, is_in_step: bool) {
        self.moves.borrow_mut().clear();
        self.slots = Slots::default();
        self.folders = Folders::of(files);
        self.followed = followed(&self.roots, serve);
        for (group, roots) in self.groups.iter_mut().zip(&self.followed) {
            *group = Group {
                files: files.part(|path| is_below(roots, path)),
                is_copying: !is_in_step,
                ..Group::default()
            };
        }
    }

    /// Goes on with everything that the pair has said.
    fn settle(&mut self, files: &Store) {
        loop {
            let next = self.moves.borrow_mut().pop_front();
            let Some((group, moved)) = next else { return };
            match moved {
                PairMove::Accepted { tag, place, number, .. } => {
                    self.accepted(group, tag, place.extent.bytes(), number)
                }
                PairMove::Done { content, .. } => self.done(group, content),
                PairMove::CopyBegins => self.begin_copy(group, files),
                PairMove::GivenUp => {
                    let own = &mut self.groups[group];
                    own.given_up.append(&mut own.pending);
                    own.is_given_up = true;
                }
                PairMove::InStep => self.groups[group].is_copying = false,
                _ => {}
            }
        }
    }

    fn accepted(&mut self, group: usize, tag: u64, bytes: u64, number: Option<u64>) {
        let Some(write) = self.slots.of_tag(tag).cloned() else {
            return;
        };
        write.is_accepted.set(true);
        let own = &mut self.groups[group];
        own.accepted_logs.see(&write.host, &self.folders);
        let Some(number) = number else { return };
        own.next = own.next.max(number + 1);
        if own.pending.insert(number, (write, bytes)).is_some() {
            let what = "a write has the number of one that the other side does not have";
            self.broken.get_or_insert_with(|| what.to_owned());
        }
    }

    fn done(&mut self, group: usize, number: u64) {
        let own = &mut self.groups[group];
        let earlier = own.pending.range(..number).count();
        if earlier > 0 {
            self.broken.get_or_insert_with(|| {
                format!(
                    "a write reached the other side before {}",
                    counted(earlier as u64, "earlier one")
                )
            });
        }
        own.rename_before(number);
        let waiting = own.pending.remove(&number);
        if let Some((write, bytes)) = waiting.or_else(|| own.given_up.remove(&number)) {
            write.left.set(write.left.get().saturating_sub(bytes));
            if write.left.get() == 0 {
                write.host.put(&mut own.files);
                own.logs.see(&write.host, &self.folders);
            }
        }
        own.rename_before(own.first_pending());
    }

    /// The files of this side take the place of those of the other one, with what is accepted and
    /// still under way.
    fn begin_copy(&mut self, group: usize, files: &Store) {
        let mut copy = files.part(|path| is_below(&self.followed[group], path));
        for write in self.slots.iter() {
            if write.is_accepted.get() {
                write.host.put(&mut copy);
            }
        }
        let own = &mut self.groups[group];
        own.files = copy;
        own.logs = own.accepted_logs.clone();
        own.pending.clear();
        own.given_up.clear();
        own.is_given_up = false;
        own.names.clear();
        own.is_copying = true;
    }
}

fn followed(roots: &[Vec<PathBuf>], serve: impl Fn(&Path) -> bool) -> Vec<Vec<PathBuf>> {
    let groups = roots.iter();
    let groups = groups.map(|roots| roots.iter().filter(|root| serve(root)).cloned().collect());
    groups.collect()
}

fn is_below(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

impl Group {
    fn first_pending(&self) -> u64 {
        let first = self.given_up.keys().next().or(self.pending.keys().next());
        first.copied().unwrap_or(self.next)
    }

    /// Names change that changed before write `number`.
    fn rename_before(&mut self, number: u64) {
        while let Some((after, _)) = self.names.front()
            && *after <= number
        {
            let (_, action) = self.names.pop_front().expect("it is there");
            change(&mut self.files, &action);
        }
    }
}

/// Changes a name or a length in `files`.
fn change(files: &mut Store, action: &Action) {
    let remove = |files: &mut Store, path: &Path| {
        if let Some(inode) = files.unlink(path) {
            files.drop_file(inode);
        }
    };
    match action {
        Action::Name(NameChange::Create { path, file }) => {
            files.insert_file(*file);
            files.link(path, *file);
        }
        Action::Name(NameChange::Rename { from, to, file }) => {
            if files.length(*file).is_some() {
                remove(files, to);
                files.unlink(from);
                files.link(to, *file);
            }
        }
        Action::Name(NameChange::Remove { path, .. }) => remove(files, path),
        Action::Length { file, to, .. } => {
            if files.length(*file).is_some() {
                files.set_length(*file, *to);
            }
        }
        Action::Write { .. } | Action::Sync { .. } | Action::SyncDirectory { .. } => {}
    }
}

impl Follower for Mirror {
    fn submitted(&mut self, request: &Request, action: Action) {
        let Some(host) = HostWrite::of(request, action) else {
            return;
        };
        if !self.group_of.contains_key(&host.volume) {
            return;
        }
        let length = host.content.length();
        debug_assert!(length.is_multiple_of(SECTOR_BYTES));
        let write = Write { host, left: Cell::new(length), is_accepted: Cell::new(false) };
        self.slots.put(request.id.slot(), Rc::new(write));
    }

    fn ended(&mut self, slot: usize) {
        self.slots.take(slot);
    }

    fn changed(&mut self, volume: u32, action: &Action) {
        let Some(group) = self.group_of.get(&volume) else {
            return;
        };
        self.folders.note(action);
        let own = &mut self.groups[*group];
        if own.is_given_up {
            return;
        }
        own.names.push_back((own.next, action.clone()));
        own.rename_before(own.first_pending());
    }

    fn look(&mut self, files: &Store) {
        self.settle(files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of which the other side has not even the name is in the next full copy.
    #[test]
    fn a_volume_that_is_empty_there_is_copied() {
        let volumes = [(0, PathBuf::from("/log"), 0), (1, PathBuf::from("/there/log"), 0)];
        let (mut mirror, mut queue) = Mirror::new(1, &volumes, |path| path.starts_with("/log"));
        let mut files = Store::new();
        for path in ["/log/edb.log", "/there/log/edb.log"] {
            files.put(Path::new(path), &[7; SECTOR]);
        }
        for moved in [PairMove::GivenUp, PairMove::CopyBegins, PairMove::InStep] {
            queue.observe(Time::ZERO, 0, moved);
        }
        mirror.look(&files);
        let copied = mirror.files(0).expect("it is in step");
        let names: Vec<&Path> = copied.names().map(|(path, _)| path).collect();
        assert_eq!(names, [Path::new("/log/edb.log")]);
    }
}
