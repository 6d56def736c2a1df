//! Where the pages of LUNs lie. One map provides thin provisioning, snapshots, clones and moves. No
//! I/O.
//!
//! ```text
//!    LUN       page 0   page 1   page 2          an entry points to a node; unwritten pages have none and read as zeros
//!    "mail"      |        |
//!    "mail@2"    |        |                      a snapshot is a copy of the entries
//!                |        +--> node 7: slot 12 of member 1, grains 0 and 5    written after the snapshot was taken:
//!                |               |                                            redirected
//!                |               +--> node 3: slot 4 of member 0, all grains  parent: what node 7 lacks
//!                +--> node 2
//! ```
//!
//! A node is a slot in a member array's space, with the set of grains it holds. Grains it lacks are
//! in its parent; without a parent they read as zeros. A node that several entries or children
//! point to is never written again: writes go to a new node in front of it, in whole grains. A page
//! is moved the same way: a new node on the other member is filled in the background.
//!
//! Invariant: a slot belongs to one node. Invariant: `refs` of a node counts the entries and
//! children that point to it; when that and its pins are zero, its slot is free.

mod luns;

use std::collections::BTreeSet;
use std::ops::Range;

use smallvec::SmallVec;

use crate::Extent;

/// Space for a page on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) member: usize,
    pub(super) number: u32,
}

/// Identifies a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(u32);

impl NodeId {
    /// Its number, unique among nodes.
    pub(super) fn number(self) -> u64 {
        u64::from(self.0)
    }
}

#[derive(Clone, Debug)]
struct Node {
    slot: Slot,
    /// Which grains it holds; `None` for all.
    has: Option<Box<[bool]>>,
    parent: Option<NodeId>,
    refs: u32,
    /// The LUN it was made for.
    home: u32,
    /// Whether it is an entry of that LUN.
    is_current: bool,
    /// Entries of snapshots that point to it, by [`LunKind::holder`].
    holders: [u32; HOLDERS],
    /// Requests in progress on its slot.
    pins: u32,
    /// Number of recent requests.
    heat: u32,
}

impl Node {
    /// What it is kept for, besides its LUN.
    fn is_held(&self) -> [bool; HOLDERS] {
        self.holders.map(|count| count > 0 && !self.is_current)
    }
}

/// What a LUN is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LunKind {
    /// Hosts use it: a volume, or a clone.
    Volume,
    Snapshot,
    /// What a volume had when its replication started.
    Start,
}

/// Kinds whose pages are counted against a reserve.
pub(super) const HOLDERS: usize = 2;

impl LunKind {
    fn holder(self) -> Option<usize> {
        match self {
            Self::Volume => None,
            Self::Snapshot => Some(0),
            Self::Start => Some(1),
        }
    }
}

/// The free slots of a member.
#[derive(Clone, Debug)]
struct Room {
    free: BTreeSet<u32>,
    slots: u32,
    is_open: bool,
}

#[derive(Clone, Debug)]
struct Lun {
    pages: Vec<Option<NodeId>>,
    sectors: u64,
    kind: LunKind,
    /// Entries that point to a node.
    room: u32,
    /// Its former pages that snapshots keep.
    held: [u32; HOLDERS],
    /// What is set aside for these, in percent of `room`.
    reserve: [Option<u32>; HOLDERS],
}

impl Lun {
    /// Pages set aside, if any are.
    fn reserved(&self, holder: usize) -> Option<u32> {
        let percent = u64::from(self.reserve[holder]?);
        let pages = (u64::from(self.room) * percent).div_ceil(100);
        Some(u32::try_from(pages).unwrap_or(u32::MAX))
    }
}

/// A page that could be moved; ordered from cold to hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Movable {
    pub(super) heat: u32,
    pub(super) lun: u32,
    pub(super) page: u32,
}

/// No member has a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// A part of a page that lies in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Where it lies; `None` for unwritten zeros.
    pub(super) from: Option<(NodeId, Slot)>,
    /// Within the page.
    pub(super) within: Extent,
}

/// Slots of each member that are kept free for moves.
pub(super) const WORKING_ROOM: usize = 2;

/// The pages of all LUNs.
pub(super) struct PageMap {
    /// By LUN, also of those that were removed: the first of the LUNs that it was copied from.
    families: Vec<u32>,
    pub(super) page_sectors: u64,
    grain_sectors: u64,
    nodes: Vec<Option<Node>>,
    free_nodes: Vec<u32>,
    luns: Vec<Option<Lun>>,
    /// LUNs with a reserve.
    with_reserve: Vec<u32>,
    rooms: Vec<Room>,
}

impl PageMap {
    /// Creates a map with pages of `page_sectors` in grains of `grain_sectors`; `slots` lists each
    /// member's number of slots.
    pub(super) fn new(page_sectors: u64, grain_sectors: u64, slots: &[u32]) -> Self {
        debug_assert!(page_sectors.is_multiple_of(grain_sectors));
        let room = |slots: &u32| Room { free: (0..*slots).collect(), slots: *slots, is_open: true };
        Self {
            page_sectors,
            grain_sectors,
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            families: Vec::new(),
            luns: Vec::new(),
            with_reserve: Vec::new(),
            rooms: slots.iter().map(room).collect(),
        }
    }

    /// Activates or deactivates a member.
    pub(super) fn open(&mut self, member: usize, is_open: bool) {
        self.rooms[member].is_open = is_open;
    }

    pub(super) fn is_open(&self, member: usize) -> bool {
        self.rooms[member].is_open
    }

    /// Share of a member's slots in use, 0 to 1.
    pub(super) fn used_share(&self, member: usize) -> f64 {
        let room = &self.rooms[member];
        1.0 - room.free.len() as f64 / f64::from(room.slots.max(1))
    }

    /// Share of the slots of all open members in use, 0 to 1.
    pub(super) fn used_share_of_open(&self) -> f64 {
        let open = self.rooms.iter().filter(|room| room.is_open);
        let (free, slots) = open.fold((0.0, 0.0), |(free, slots), room| {
            (free + room.free.len() as f64, slots + f64::from(room.slots))
        });
        1.0 - free / f64::max(slots, 1.0)
    }

    pub(super) fn grains_per_page(&self) -> u64 {
        self.page_sectors.div_euclid(self.grain_sectors)
    }

    /// The grains of a LUN; the last may reach past its end.
    pub(super) fn grains_of(&self, lun: u32) -> u64 {
        let sectors = self.sectors(lun).unwrap_or(0);
        sectors.div_ceil(self.grain_sectors)
    }

    /// The grains of a page that are not zeros. A page that reaches past the end of its LUN has no
    /// more than the LUN.
    pub(super) fn grains_with_data(&self, lun: u32, page: u32) -> Vec<usize> {
        let first = self.entry(lun, page);
        let before = u64::from(page) * self.page_sectors;
        let own = self.sectors(lun).unwrap_or(0).saturating_sub(before);
        let all = self.grains(Extent::new(0, own.min(self.page_sectors)));
        match first {
            None => Vec::new(),
            first => all.filter(|grain| self.holder(first, *grain).is_some()).collect(),
        }
    }

    fn entry(&self, lun: u32, page: u32) -> Option<NodeId> {
        let lun = self.luns.get(lun as usize)?.as_ref()?;
        lun.pages[page as usize]
    }

    fn node(&self, node: NodeId) -> &Node {
        self.nodes[node.0 as usize].as_ref().expect("a root or a node leads to it")
    }

    fn node_mut(&mut self, node: NodeId) -> &mut Node {
        self.nodes[node.0 as usize].as_mut().expect("a root or a node leads to it")
    }

    pub(super) fn slot(&self, node: NodeId) -> Slot {
        self.node(node).slot
    }

    /// The grains that `within` touches.
    pub(super) fn grains(&self, within: Extent) -> Range<usize> {
        let first = within.start.div_euclid(self.grain_sectors);
        let end = within.end().div_ceil(self.grain_sectors);
        let index = |grain| usize::try_from(grain).expect("a page has few grains");
        index(first)..index(end)
    }

    /// The sectors of these grains, within the page.
    pub(super) fn extent(&self, grains: &Range<usize>) -> Extent {
        let sectors = self.grain_sectors;
        Extent::new(grains.start as u64 * sectors, grains.len() as u64 * sectors)
    }

    /// Where `within` of a page lies, in runs.
    pub(super) fn resolve(&self, lun: u32, page: u32, within: Extent) -> SmallVec<[Run; 2]> {
        self.resolve_from(self.entry(lun, page), within)
    }

    /// Where `within` lies when the search starts at node `first`.
    pub(super) fn resolve_from(&self, first: Option<NodeId>, within: Extent) -> SmallVec<[Run; 2]> {
        let mut runs: SmallVec<[Run; 2]> = SmallVec::new();
        for grain in self.grains(within) {
            let part = self.extent(&(grain..grain + 1)).overlap(within);
            let part = part.expect("the grain is touched");
            let from = self.holder(first, grain);
            let from = from.map(|node| (node, self.slot(node)));
            match runs.last_mut() {
                Some(last) if last.from == from => last.within.length += part.length,
                _ => runs.push(Run { from, within: part }),
            }
        }
        runs
    }

    /// The first node, from `node` along its parents, that holds the grain.
    fn holder(&self, mut node: Option<NodeId>, grain: usize) -> Option<NodeId> {
        while let Some(id) = node {
            let entry = self.node(id);
            if entry.has.as_ref().is_none_or(|has| has[grain]) {
                return Some(id);
            }
            node = entry.parent;
        }
        None
    }

    /// The node for writes to a page: the current one if it is not shared, otherwise a new one.
    pub(super) fn own(&mut self, lun: u32, page: u32) -> Result<NodeId, Full> {
        if let Some(node) = self.sole(lun, page) {
            return Ok(node);
        }
        let slot = self.take_slot(lun, page).ok_or(Full)?;
        Ok(self.put_before(lun, page, self.entry(lun, page), slot))
    }

    /// The node of a page, if it is not shared.
    pub(super) fn sole(&self, lun: u32, page: u32) -> Option<NodeId> {
        let node = self.entry(lun, page);
        node.filter(|node| self.node(*node).refs == 1)
    }

    /// Begins to move a page to `member` and returns the new node. `None` when the page is not
    /// whole, is shared, or is already there, or when there is no space.
    pub(super) fn begin_move(&mut self, lun: u32, page: u32, member: usize) -> Option<NodeId> {
        let node = self.movable(lun, page)?;
        if self.slot(node).member == member {
            return None;
        }
        let number = self.rooms[member].free.pop_first()?;
        Some(self.put_before(lun, page, Some(node), Slot { member, number }))
    }

    /// The next run of grains from `first` that `node` lacks; at most `most`.
    pub(super) fn lacking(&self, node: NodeId, first: usize, most: usize) -> Option<Range<usize>> {
        let has = self.node(node).has.as_ref()?;
        let start = first + has[first..].iter().position(|has| !has)?;
        let count = has[start..].iter().take(most).take_while(|has| !**has);
        Some(start..start + count.count())
    }

    /// Whether these grains can be written in place.
    pub(super) fn is_own(&self, lun: u32, page: u32, grains: Range<usize>) -> bool {
        let node = self.sole(lun, page);
        node.is_some_and(|node| self.has_all(node, grains))
    }

    /// Pages whose node lacks grains and is the only one that needs its parent.
    pub(super) fn alone_behind(&self) -> Vec<(u32, u32)> {
        let pages =
            (0..self.luns()).flat_map(|lun| (0..self.pages(lun)).map(move |page| (lun, page)));
        let is_alone = |at: &(u32, u32)| self.begin_merge(at.0, at.1).is_some();
        pages.filter(is_alone).collect()
    }

    /// The node of a page, if it is the only user of its parent.
    pub(super) fn begin_merge(&self, lun: u32, page: u32) -> Option<NodeId> {
        let node = self.entry(lun, page)?;
        let parent = self.node(node).parent?;
        (self.node(parent).refs == 1).then_some(node)
    }

    fn movable(&self, lun: u32, page: u32) -> Option<NodeId> {
        let node = self.entry(lun, page)?;
        let entry = self.node(node);
        debug_assert!(entry.has.is_some() || entry.parent.is_none());
        (entry.refs == 1 && entry.has.is_none()).then_some(node)
    }

    fn put_before(&mut self, lun: u32, page: u32, parent: Option<NodeId>, slot: Slot) -> NodeId {
        let grains = usize::try_from(self.grains_per_page()).expect("a page has few grains");
        let heat = parent.map_or(0, |parent| self.node(parent).heat);
        // The entry now points to the new node, and the new node to the parent, so the parent's
        // count stays the same.
        let node = Node {
            slot,
            has: Some(vec![false; grains].into()),
            parent,
            refs: 1,
            home: lun,
            is_current: true,
            holders: [0; HOLDERS],
            pins: 0,
            heat,
        };
        let id = match self.free_nodes.pop() {
            Some(id) => {
                self.nodes[id as usize] = Some(node);
                NodeId(id)
            }
            None => {
                self.nodes.push(Some(node));
                NodeId(u32::try_from(self.nodes.len() - 1).expect("few nodes"))
            }
        };
        let holder = self.kind(lun).expect("it is written to").holder();
        if let Some(holder) = holder {
            self.node_mut(id).holders[holder] += 1;
        }
        if let Some(before) = self.entry(lun, page) {
            self.leave(lun, before);
            // The new node takes over the entry's reference, not what it was held for.
            if let Some(holder) = holder {
                self.count_held(before, |node| node.holders[holder] -= 1);
            }
        }
        let entry = self.luns[lun as usize].as_mut().expect("it is written to");
        let before = entry.pages[page as usize].replace(id);
        entry.room += u32::from(before.is_none());
        id
    }

    /// Whether a page of `lun` may have a slot: what is set aside for snapshots is only for what
    /// they keep.
    fn may_take(&self, lun: u32, page: u32) -> bool {
        if self.with_reserve.is_empty() {
            return true;
        }
        let is_own = [LunKind::Snapshot, LunKind::Start].into_iter().any(|kind| {
            let (held, reserved) = self.held(lun, kind);
            self.leaves(lun, page, kind) && reserved.is_some_and(|reserved| held < reserved)
        });
        self.free_slots() > self.promised() - usize::from(is_own)
    }

    /// Takes a slot of the member with the most free slots.
    fn take_slot(&mut self, lun: u32, page: u32) -> Option<Slot> {
        if !self.may_take(lun, page) {
            return None;
        }
        let rooms = self.rooms.iter().enumerate();
        let open = rooms.filter(|(_, room)| room.is_open && room.free.len() > WORKING_ROOM);
        let (member, _) =
            open.max_by_key(|(at, room)| (room.free.len(), std::cmp::Reverse(*at)))?;
        let number = self.rooms[member].free.pop_first()?;
        Some(Slot { member, number })
    }

    /// Whether `node` itself holds all these grains.
    pub(super) fn has_all(&self, node: NodeId, mut grains: Range<usize>) -> bool {
        let has = self.node(node).has.as_ref();
        has.is_none_or(|has| grains.all(|grain| has[grain]))
    }

    /// Records that these grains have been written to `node`.
    pub(super) fn written(&mut self, node: NodeId, grains: Range<usize>) {
        let entry = self.node_mut(node);
        let Some(has) = &mut entry.has else { return };
        has[grains].fill(true);
        if has.iter().all(|has| *has) {
            entry.has = None;
            // Nothing is read from the parent any more.
            if let Some(parent) = entry.parent.take() {
                self.release(parent);
            }
        }
    }

    /// Begins a request on the slot of `node`.
    pub(super) fn pin(&mut self, node: NodeId) {
        let entry = self.node_mut(node);
        entry.pins += 1;
        entry.heat = entry.heat.saturating_add(1);
    }

    /// Ends a request on the slot of `node`.
    pub(super) fn unpin(&mut self, node: NodeId) {
        self.node_mut(node).pins -= 1;
        self.tidy(node);
    }

    fn release(&mut self, node: NodeId) {
        self.node_mut(node).refs -= 1;
        self.tidy(node);
    }

    fn tidy(&mut self, node: NodeId) {
        let entry = self.node(node);
        if entry.refs > 0 || entry.pins > 0 {
            return;
        }
        let (slot, parent) = (entry.slot, entry.parent);
        self.rooms[slot.member].free.insert(slot.number);
        self.nodes[node.0 as usize] = None;
        self.free_nodes.push(node.0);
        if let Some(parent) = parent {
            self.release(parent);
        }
    }

    /// Pages on `member` that could be moved.
    pub(super) fn movable_on(&self, member: usize) -> Vec<Movable> {
        let mut found = Vec::new();
        for lun in 0..self.luns() {
            for page in 0..self.pages(lun) {
                if let Some(node) = self.movable(lun, page)
                    && self.slot(node).member == member
                {
                    let heat = self.node(node).heat;
                    found.push(Movable { heat, lun, page });
                }
            }
        }
        found
    }

    /// Halves the request counts, so that old requests weigh less.
    pub(super) fn cool(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            node.heat >>= 1;
        }
    }

    /// Free slots of all active members, beyond those kept for moves.
    pub(super) fn free_slots(&self) -> usize {
        let open = self.rooms.iter().filter(|room| room.is_open);
        open.map(|room| room.free.len().saturating_sub(WORKING_ROOM)).sum()
    }
}

#[cfg(test)]
mod tests;
