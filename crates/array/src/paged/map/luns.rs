//! LUNs of the map: their entries, copies of these, and what they leave to snapshots.
//!
//! A page that only snapshots still point to is *held* by them, and counts against the reserve of
//! the LUN that it was made for.

use super::{Full, HOLDERS, Lun, LunKind, Node, NodeId, PageMap};
use crate::Extent;

impl PageMap {
    /// Adds an empty LUN of `sectors`.
    pub(in crate::paged) fn add_lun(&mut self, sectors: u64) -> u32 {
        let pages = usize::try_from(sectors.div_ceil(self.page_sectors)).expect("addressable");
        let number = self.luns();
        self.families.push(number);
        self.luns.push(Some(Lun {
            pages: vec![None; pages],
            sectors,
            kind: LunKind::Volume,
            room: 0,
            held: [0; HOLDERS],
            reserve: [None; HOLDERS],
        }));
        number
    }

    /// Keeps a number for a LUN that comes later.
    pub(in crate::paged) fn promise_lun(&mut self) {
        self.families.push(self.luns());
        self.luns.push(None);
    }

    /// Sets space aside for the snapshots of `lun`, in percent of its own.
    pub(in crate::paged) fn set_reserve(&mut self, lun: u32, kind: LunKind, percent: u32) {
        let holder = kind.holder().expect("a kind of snapshot");
        let entry = self.luns[lun as usize].as_mut().expect("it is there");
        entry.reserve[holder] = Some(percent);
        if !self.with_reserve.contains(&lun) {
            self.with_reserve.push(lun);
        }
    }

    /// Pages that snapshots of this kind keep beyond those of `lun`, and what is set aside for
    /// them.
    pub(in crate::paged) fn held(&self, lun: u32, kind: LunKind) -> (u32, Option<u32>) {
        let holder = kind.holder().expect("a kind of snapshot");
        let lun = self.luns[lun as usize].as_ref();
        lun.map_or((0, None), |lun| (lun.held[holder], lun.reserved(holder)))
    }

    /// Whether the next write to a page leaves the present one to snapshots of this kind.
    pub(in crate::paged) fn leaves(&self, lun: u32, page: u32, kind: LunKind) -> bool {
        let holder = kind.holder().expect("a kind of snapshot");
        self.entry(lun, page).is_some_and(|node| {
            let node = self.node(node);
            node.home == lun && node.refs > 1 && node.holders[holder] > 0
        })
    }

    /// Pages set aside for snapshots that do not have them yet.
    pub(in crate::paged) fn promised(&self) -> usize {
        let luns = self.with_reserve.iter();
        let luns = luns.filter_map(|lun| self.luns[*lun as usize].as_ref());
        luns.map(|lun| {
            let left = |holder: usize| {
                let reserved = lun.reserved(holder).unwrap_or(0);
                reserved.saturating_sub(lun.held[holder]) as usize
            };
            (0..HOLDERS).map(left).sum::<usize>()
        })
        .sum()
    }

    /// What a LUN is for; nothing when it does not exist.
    pub(in crate::paged) fn kind(&self, lun: u32) -> Option<LunKind> {
        Some(self.luns.get(lun as usize)?.as_ref()?.kind)
    }

    /// The first of the LUNs that a LUN was copied from. Only LUNs of one family share nodes.
    pub(in crate::paged) fn family(&self, lun: u32) -> u32 {
        self.families[lun as usize]
    }

    /// Grows a LUN to `sectors`; the new part is empty.
    pub(in crate::paged) fn grow(&mut self, lun: u32, sectors: u64) {
        let pages = usize::try_from(sectors.div_ceil(self.page_sectors)).expect("addressable");
        let lun = self.luns[lun as usize].as_mut().expect("it is there");
        assert!(sectors >= lun.sectors, "a LUN shrinks");
        lun.pages.resize(pages, None);
        lun.sectors = sectors;
    }

    /// Allocates every page of `lun` and marks it as written.
    pub(in crate::paged) fn fill(&mut self, lun: u32) -> Result<(), Full> {
        (0..self.pages(lun)).try_for_each(|page| self.fill_page(lun, page))
    }

    /// Allocates a page, unless it has a slot, and marks it as written.
    pub(in crate::paged) fn fill_page(&mut self, lun: u32, page: u32) -> Result<(), Full> {
        let node = self.own(lun, page)?;
        let grains = self.grains(Extent::new(0, self.page_sectors));
        self.written(node, grains);
        Ok(())
    }

    /// Adds a LUN with the current content of `lun`.
    pub(in crate::paged) fn copy(&mut self, lun: u32, kind: LunKind) -> u32 {
        self.promise_lun();
        self.copy_to(self.luns() - 1, lun, kind);
        self.luns() - 1
    }

    /// The same under a number that was kept for it.
    pub(in crate::paged) fn copy_to(&mut self, number: u32, from: u32, kind: LunKind) {
        debug_assert!(self.luns[number as usize].is_none(), "it exists");
        let lun = self.luns[from as usize].as_ref().expect("it is there");
        let copy = Lun { kind, held: [0; HOLDERS], reserve: [None; HOLDERS], ..lun.clone() };
        for node in copy.pages.iter().flatten() {
            self.refer(*node, kind);
        }
        self.families[number as usize] = self.families[from as usize];
        self.luns[number as usize] = Some(copy);
    }

    /// Gives `lun` the content of `from`.
    pub(in crate::paged) fn restore(&mut self, lun: u32, from: u32) {
        let source = self.luns[from as usize].as_ref().expect("it is there");
        let (pages, room) = (source.pages.clone(), source.room);
        let kind = self.kind(lun).expect("it is there");
        for node in pages.iter().flatten() {
            self.refer(*node, kind);
        }
        let entry = self.luns[lun as usize].as_mut().expect("it is there");
        // The LUN may have grown since.
        let mut pages = pages;
        pages.resize(entry.pages.len(), None);
        entry.room = room;
        let before = std::mem::replace(&mut entry.pages, pages.clone());
        for node in before.into_iter().flatten() {
            self.leave(lun, node);
            self.unrefer(node, kind);
        }
        for node in pages.into_iter().flatten() {
            self.arrive(lun, node);
        }
    }

    /// Removes a LUN and frees what no other LUN uses.
    pub(in crate::paged) fn remove(&mut self, lun: u32) {
        let Some(removed) = self.luns[lun as usize].take() else {
            return;
        };
        for node in removed.pages.into_iter().flatten() {
            self.leave(lun, node);
            self.unrefer(node, removed.kind);
        }
    }

    /// An entry of a LUN of this kind begins to point to `node`.
    pub(super) fn refer(&mut self, node: NodeId, kind: LunKind) {
        self.count_held(node, |node| {
            node.refs += 1;
            if let Some(holder) = kind.holder() {
                node.holders[holder] += 1;
            }
        });
    }

    /// An entry of a LUN of this kind no longer points to `node`.
    pub(super) fn unrefer(&mut self, node: NodeId, kind: LunKind) {
        if let Some(holder) = kind.holder() {
            self.count_held(node, |node| node.holders[holder] -= 1);
        }
        self.release(node);
    }

    /// `node` becomes an entry of `lun`.
    pub(super) fn arrive(&mut self, lun: u32, node: NodeId) {
        if self.node(node).home == lun {
            self.count_held(node, |node| node.is_current = true);
        }
    }

    /// `node` is no longer an entry of `lun`.
    pub(super) fn leave(&mut self, lun: u32, node: NodeId) {
        if self.node(node).home == lun {
            self.count_held(node, |node| node.is_current = false);
        }
    }

    /// Changes a node, and what its LUN leaves to snapshots accordingly.
    pub(super) fn count_held(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) {
        let node = self.node_mut(id);
        let before = node.is_held();
        change(node);
        let (after, home) = (node.is_held(), node.home);
        if before == after {
            return;
        }
        if let Some(lun) = self.luns[home as usize].as_mut() {
            for holder in 0..HOLDERS {
                lun.held[holder] += u32::from(after[holder]);
                lun.held[holder] -= u32::from(before[holder]);
            }
        }
    }

    /// Sectors of a LUN; `None` when it does not exist.
    pub(in crate::paged) fn sectors(&self, lun: u32) -> Option<u64> {
        let lun = self.luns.get(lun as usize)?.as_ref()?;
        Some(lun.sectors)
    }

    pub(in crate::paged) fn luns(&self) -> u32 {
        u32::try_from(self.luns.len()).expect("few LUNs")
    }

    /// Pages of a LUN; zero when it does not exist.
    pub(in crate::paged) fn pages(&self, lun: u32) -> u32 {
        let lun = self.luns[lun as usize].as_ref();
        u32::try_from(lun.map_or(0, |lun| lun.pages.len())).expect("few pages")
    }

    /// Number of allocated pages of a LUN.
    pub(in crate::paged) fn pages_with_room(&self, lun: u32) -> u64 {
        let lun = self.luns[lun as usize].as_ref();
        lun.map_or(0, |lun| u64::from(lun.room))
    }
}
