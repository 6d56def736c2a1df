//! The page map checked against an oracle that copies every byte.

use std::collections::BTreeMap;

use brunt_world::random::{Stream, Streams};

use super::*;

const PAGE: u64 = 24;
const GRAIN: u64 = 4;

/// The content of the map's slots, and the correct content of each LUN.
struct World {
    map: PageMap,
    store: BTreeMap<(usize, u64), u64>,
    luns: BTreeMap<u32, Vec<u64>>,
    version: u64,
    is_full: bool,
}

impl World {
    fn read_sector(&self, lun: u32, page: u32, sector: u64) -> u64 {
        let run = self.map.resolve(lun, page, Extent::new(sector, 1))[0];
        let Some((_, slot)) = run.from else { return 0 };
        let at = (slot.member, u64::from(slot.number) * PAGE + sector);
        *self.store.get(&at).expect("only what was written is there")
    }

    fn write(&mut self, lun: u32, page: u32, within: Extent) {
        self.version += 1;
        let Ok(node) = self.map.own(lun, page) else {
            self.is_full = true;
            return;
        };
        let grains = self.map.grains(within);
        // Whole grains, with the old content around the new.
        let all = self.map.extent(&grains);
        let old: Vec<u64> =
            (all.start..all.end()).map(|sector| self.read_sector(lun, page, sector)).collect();
        let slot = self.map.slot(node);
        for (sector, old) in (all.start..).zip(old) {
            let is_new = (within.start..within.end()).contains(&sector);
            let content = if is_new { self.version } else { old };
            let at = (slot.member, u64::from(slot.number) * PAGE + sector);
            self.store.insert(at, content);
        }
        self.map.written(node, grains);
        let content = self.luns.get_mut(&lun).unwrap();
        let first = u64::from(page) * PAGE + within.start;
        let range =
            usize::try_from(first).unwrap()..usize::try_from(first + within.length).unwrap();
        content[range].fill(self.version);
    }

    /// Copies some grains of a page being moved.
    fn copy(&mut self, lun: u32, page: u32, grain: usize) {
        let node = self.map.entry(lun, page).unwrap();
        if self.map.has_all(node, grain..grain + 1) {
            return;
        }
        let all = self.map.extent(&(grain..grain + 1));
        let old: Vec<u64> =
            (all.start..all.end()).map(|sector| self.read_sector(lun, page, sector)).collect();
        let slot = self.map.slot(node);
        for (sector, old) in (all.start..).zip(old) {
            let at = (slot.member, u64::from(slot.number) * PAGE + sector);
            self.store.insert(at, old);
        }
        self.map.written(node, grain..grain + 1);
    }

    fn check(&self) {
        for (lun, content) in &self.luns {
            for (at, expected) in (0_u64..).zip(content) {
                let page = u32::try_from(at.div_euclid(PAGE)).unwrap();
                assert_eq!(self.read_sector(*lun, page, at % PAGE), *expected);
            }
        }
        let mut used: Vec<Slot> = self.map.nodes.iter().flatten().map(|node| node.slot).collect();
        used.sort_unstable();
        let count = used.len();
        used.dedup();
        assert_eq!(used.len(), count, "a slot has two nodes");
        self.check_held();
        let free: usize = self.map.rooms.iter().map(|room| room.free.len()).sum();
        let all: u32 = self.map.rooms.iter().map(|room| room.slots).sum();
        assert_eq!(free + count, all as usize, "a slot is lost");
    }
}

impl World {
    /// Counts what snapshots keep of each LUN, from the entries.
    fn check_held(&self) {
        for lun in 0..self.map.luns() {
            let Some(own) = &self.map.luns[lun as usize] else {
                continue;
            };
            let entries = |lun: &Lun| lun.pages.iter().flatten().copied().collect::<Vec<_>>();
            assert_eq!(own.room as usize, entries(own).len());
            for (holder, kind) in [(0, LunKind::Snapshot), (1, LunKind::Start)] {
                let all = self.map.luns.iter().flatten();
                let of_kind = all.filter(|lun| lun.kind == kind);
                let mut kept: Vec<NodeId> = of_kind.flat_map(entries).collect();
                kept.sort_unstable();
                kept.dedup();
                let current = entries(own);
                kept.retain(|node| self.map.node(*node).home == lun && !current.contains(node));
                assert_eq!(own.held[holder] as usize, kept.len(), "LUN {lun}, {kind:?}");
            }
        }
    }
}

fn draw(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(bound as u64)).unwrap()
}

fn step(world: &mut World, stream: &mut Stream) {
    let luns: Vec<u32> = world.luns.keys().copied().collect();
    let lun = luns[draw(stream, luns.len())];
    let page = u32::try_from(draw(stream, world.map.pages(lun) as usize)).unwrap();
    match stream.below(20) {
        0 if luns.len() < 6 => {
            let kinds = [LunKind::Snapshot, LunKind::Start, LunKind::Volume];
            let copy = world.map.copy(lun, kinds[draw(stream, 3)]);
            let content = world.luns[&lun].clone();
            world.luns.insert(copy, content);
        }
        1 if luns.len() > 1 => {
            world.map.remove(lun);
            world.luns.remove(&lun);
        }
        7 if luns.len() > 1 => {
            let from = luns[draw(stream, luns.len())];
            if world.map.family(from) == world.map.family(lun) {
                world.map.restore(lun, from);
                let content = world.luns[&from].clone();
                world.luns.insert(lun, content);
            }
        }
        2 => {
            let member = draw(stream, 2);
            let _ = world.map.begin_move(lun, page, member);
        }
        3..=6 => {
            if world.map.entry(lun, page).is_some() {
                world.copy(lun, page, draw(stream, 6));
            }
        }
        _ => {
            let start = stream.below(PAGE);
            let length = 1 + stream.below(PAGE - start);
            world.write(lun, page, Extent::new(start, length));
        }
    }
}

#[test]
fn whatever_is_done_every_lun_has_what_was_written_to_it() {
    let mut were_full = 0;
    for seed in 0..40 {
        let mut stream = Streams::new(seed).named("map");
        let mut map = PageMap::new(PAGE, GRAIN, &[9, 12]);
        let lun = map.add_lun(8 * PAGE);
        let mut world = World {
            map,
            store: BTreeMap::new(),
            luns: BTreeMap::from([(lun, vec![0; usize::try_from(8 * PAGE).unwrap()])]),
            version: 0,
            is_full: false,
        };
        for _ in 0..300 {
            step(&mut world, &mut stream);
            world.check();
        }
        were_full += u32::from(world.is_full);
        let luns: Vec<u32> = world.luns.keys().copied().collect();
        for lun in luns {
            world.map.remove(lun);
        }
        assert_eq!(world.map.free_slots(), 21 - 2 * WORKING_ROOM, "all is free again");
    }
    assert!(were_full > 5, "{were_full}");
}

#[test]
fn a_copy_of_zeros_is_zeros() {
    let mut map = PageMap::new(PAGE, GRAIN, &[8]);
    let lun = map.add_lun(2 * PAGE);
    assert_eq!(map.resolve(lun, 1, Extent::new(3, 9))[0].from, None);
    let node = map.own(lun, 1).unwrap();
    map.written(node, 1..2);
    let runs = map.resolve(lun, 1, Extent::new(2, 8));
    let lengths: Vec<(bool, u64)> =
        runs.iter().map(|run| (run.from.is_some(), run.within.length)).collect();
    assert_eq!(lengths, [(false, 2), (true, 4), (false, 2)]);
    assert_eq!(map.used_share(0), 0.125);
}

#[test]
fn a_slot_is_free_when_nobody_is_at_work_on_it() {
    let mut map = PageMap::new(PAGE, GRAIN, &[8]);
    let lun = map.add_lun(PAGE);
    let node = map.own(lun, 0).unwrap();
    map.pin(node);
    map.remove(lun);
    assert_eq!(map.free_slots(), 7 - WORKING_ROOM);
    map.unpin(node);
    assert_eq!(map.free_slots(), 8 - WORKING_ROOM);
}
