//! Paged arrays with content: after any writes, snapshots, moves and removals, every LUN has the
//! right content.
//!
//! [`Bytes`] holds the members' sectors. A member request takes or puts content when it ends, so a
//! request that fails to wait for another one reads or leaves the wrong content.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::IoError;
use brunt_world::random::{Stream, Streams};

use super::parts::SubKind;
use super::stats::PageStats;
use super::{
    BalanceDesign, PagedArray, PagedDesign, PagedError, PagedLunDesign, PartOwner, PoolMove,
    PoolObserver,
};
use crate::design::{ArrayDesign, CacheDesign, ControllerDesign, Level};
use crate::drive::library;
use crate::incident::{Incident, NoteKind, Scheduled};
use crate::slab::Key;
use crate::{Extent, Finished, HostIo, Verb};

/// Versions by member and sector, and the content of requests in flight.
#[derive(Default)]
pub(crate) struct Bytes {
    held: BTreeMap<(usize, u64), u64>,
    /// Requests to members.
    under_way: BTreeMap<Key, HostIo>,
    /// Content of a write.
    carried: BTreeMap<Key, Vec<u64>>,
    /// Content a part has read, by sector of its page.
    read: BTreeMap<Key, BTreeMap<u64, u64>>,
    /// Content a request has read, by sector of its LUN.
    answered: BTreeMap<Key, BTreeMap<u64, u64>>,
    /// What a write brings, by tag; other writes bring their tag.
    pub(crate) given: BTreeMap<u64, Vec<u64>>,
    /// By tag.
    pub(crate) answers: BTreeMap<u64, BTreeMap<u64, u64>>,
}

/// A handle on the content of a pool.
pub(crate) type Content = Rc<RefCell<Bytes>>;

impl PoolObserver for Content {
    fn see(&mut self, pool: &PagedArray, moved: PoolMove) {
        let mut bytes = self.borrow_mut();
        match moved {
            PoolMove::Asked { sub, io } => bytes.asked(pool, sub, io),
            PoolMove::Ended { sub, part, kind, member, result } => {
                let io = bytes.under_way.remove(&sub).unwrap();
                if let SubKind::Data(first) = kind {
                    assert_eq!(result, Ok(()));
                    bytes.ended(sub, (part, first), (member, io.extent));
                }
            }
            PoolMove::PartEnded(key) => bytes.part_ended(pool, key),
            PoolMove::Answered(request) => {
                if let Some(found) = bytes.answered.remove(&request) {
                    bytes.answers.insert(pool.requests[request].io.tag, found);
                }
            }
        }
    }
}

impl Bytes {
    fn asked(&mut self, pool: &PagedArray, key: Key, io: HostIo) {
        self.under_way.insert(key, io);
        let sub = &pool.subs[key];
        let SubKind::Data(first) = sub.kind else {
            return;
        };
        if io.verb == Verb::Read {
            return;
        }
        let part = &pool.parts[sub.part];
        let read = self.read.get(&sub.part);
        let host = match part.owner() {
            PartOwner::Request(request) => Some(pool.requests[request].io),
            PartOwner::Move(_) => None,
        };
        let page = u64::from(part.at.1) * pool.map.page_sectors;
        let version = |sector: u64| {
            let host = host?;
            let given = self.given.get(&host.tag);
            let at = |given: &Vec<u64>| {
                given[usize::try_from(page + sector - host.extent.start).unwrap()]
            };
            Some(given.map_or(host.tag, at))
        };
        let content = (first..first + io.extent.length).map(|sector| {
            let is_new = (part.within.start..part.within.end()).contains(&sector);
            let old = || read.and_then(|read| read.get(&sector)).copied();
            // Unwritten data is zeros.
            let new = if is_new { version(sector) } else { None };
            new.or_else(old).unwrap_or(0)
        });
        let content = content.collect();
        self.carried.insert(key, content);
    }

    fn ended(&mut self, key: Key, (part, first): (Key, u64), (member, extent): (usize, Extent)) {
        if let Some(content) = self.carried.remove(&key) {
            for (sector, version) in (extent.start..).zip(content) {
                self.held.insert((member, sector), version);
            }
            return;
        }
        for at in 0..extent.length {
            let held = self.held.get(&(member, extent.start + at));
            let read = self.read.entry(part).or_default();
            read.insert(first + at, held.copied().unwrap_or(0));
        }
    }

    fn part_ended(&mut self, pool: &PagedArray, key: Key) {
        let part = &pool.parts[key];
        let read = self.read.remove(&key).unwrap_or_default();
        if part.verb() == Verb::Write {
            return;
        }
        let PartOwner::Request(request) = part.owner() else { unreachable!("a copy writes") };
        let first = u64::from(part.at.1) * pool.map.page_sectors;
        let found = self.answered.entry(request).or_default();
        for sector in part.within.start..part.within.end() {
            found.insert(first + sector, read.get(&sector).copied().unwrap_or(0));
        }
    }
}

/// A pool whose content is kept.
pub(super) struct Observed {
    array: PagedArray,
    pub(super) bytes: Content,
}

impl Observed {
    pub(super) fn new(design: &PagedDesign, streams: Streams) -> Result<Self, PagedError> {
        let (mut array, bytes) = (PagedArray::new(design, streams)?, Content::default());
        array.observer = Some(Box::new(bytes.clone()));
        Ok(Self { array, bytes })
    }

    /// What the read with this tag has found, by sector of its LUN.
    pub(super) fn found(&self, tag: u64) -> Option<BTreeMap<u64, u64>> {
        self.bytes.borrow_mut().answers.remove(&tag)
    }
}

impl Deref for Observed {
    type Target = PagedArray;

    fn deref(&self) -> &PagedArray {
        &self.array
    }
}

impl DerefMut for Observed {
    fn deref_mut(&mut self) -> &mut PagedArray {
        &mut self.array
    }
}

const PLACE: u64 = 6;

fn member(pages: u64) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, 2, Level::Raid10);
    // Pages of 24 KiB, plus some space for the map.
    design.groups[0].drive_size = Some(ByteSize::kib(pages * 26 + 64));
    design.groups[0].strip = ByteSize::kib(8);
    design
}

pub(crate) fn design(members: u64, pages: u64, is_thin: bool) -> PagedDesign {
    PagedDesign {
        members: (0..members).map(|number| member(pages + number)).collect(),
        later: Vec::new(),
        page: ByteSize::kib(24),
        grain: ByteSize::kib(4),
        luns: vec![PagedLunDesign {
            name: "mail".into(),
            size: ByteSize::kib(24 * 8),
            is_thin,
            reserve: None,
        }],
        clones: Vec::new(),
        balance: Some(BalanceDesign {
            every: Span::millis(400),
            gap: Span::micros(1),
            pages: 2,
            unit: ByteSize::kib(8),
        }),
    }
}

/// A host that remembers what it wrote.
struct Host {
    array: Observed,
    stream: Stream,
    /// Per LUN: the version of each place, and whether a request is in flight there.
    luns: BTreeMap<u32, Vec<(u64, bool)>>,
    under_way: BTreeMap<u64, (u32, usize, usize, Verb)>,
    next: u64,
    refused: u32,
    next_lun: u32,
}

impl Host {
    fn draw(&mut self, bound: usize) -> usize {
        usize::try_from(self.stream.below(bound as u64)).unwrap()
    }

    fn ask(&mut self) {
        let luns: Vec<u32> = self.luns.keys().copied().collect();
        let lun = luns[self.draw(luns.len())];
        let places = self.luns[&lun].len();
        let first = self.draw(places);
        let most = [1, 2, 9][self.draw(3)];
        let count = (1 + self.draw(most)).min(places - first);
        let entry = self.luns.get_mut(&lun).unwrap();
        if entry[first..first + count].iter().any(|(_, busy)| *busy) {
            return;
        }
        for place in &mut entry[first..first + count] {
            place.1 = true;
        }
        let verb = if self.stream.percent(45) { Verb::Read } else { Verb::Write };
        let tag = self.next;
        self.next += 1;
        self.under_way.insert(tag, (lun, first, count, verb));
        let extent = Extent::new(first as u64 * PLACE, count as u64 * PLACE);
        let io = HostIo { lun, verb, extent, tag };
        let now = self.array.now();
        self.array.submit(now, io);
    }

    fn collect(&mut self) {
        let done: Vec<Finished> = self.array.finished().collect();
        for one in done {
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at);
            let (lun, first, count, verb) = self.under_way.remove(&one.tag).unwrap();
            let found = self.array.found(one.tag);
            let Some(places) = self.luns.get_mut(&lun) else {
                continue;
            };
            for place in &mut places[first..first + count] {
                place.1 = false;
            }
            match (verb, one.result) {
                (Verb::Write, Ok(())) => {
                    for place in &mut places[first..first + count] {
                        place.0 = one.tag;
                    }
                }
                // Some pages were allocated, others not: later reads may find the old or the new
                // content.
                (Verb::Write, Err(error)) => {
                    assert_eq!(error, IoError::NoSpace);
                    self.refused += 1;
                    for place in &mut places[first..first + count] {
                        place.0 = u64::MAX;
                    }
                }
                (Verb::Read, result) => {
                    assert_eq!(result, Ok(()));
                    for (sector, version) in found.unwrap() {
                        let place = usize::try_from(sector.div_euclid(PLACE)).unwrap();
                        let expected = places[place].0;
                        assert!(
                            expected == u64::MAX || version == expected,
                            "LUN {lun}, sector {sector}: {version}, not {expected}"
                        );
                    }
                }
            }
        }
    }

    fn pass(&mut self, span: Span) {
        let end = self.array.now() + span;
        while let Some(next) = self.array.next_at().filter(|at| *at <= end) {
            self.array.advance(next);
            self.collect();
        }
        self.array.advance(end);
        self.collect();
    }

    /// Takes or removes a snapshot. Writes in flight may be in it or not.
    fn apply_incident(&mut self) {
        let now = self.array.now();
        let luns: Vec<u32> = self.luns.keys().copied().collect();
        let lun = luns[self.draw(luns.len())];
        if luns.len() < 4 && self.stream.percent(60) {
            let name = format!("copy {}", self.next_lun);
            self.array
                .schedule_incident(&Scheduled::new(now, Incident::Snapshot(lun, name)))
                .unwrap();
            let copy = self.luns[&lun].iter().map(|(version, is_busy)| {
                let version = if *is_busy { u64::MAX } else { *version };
                (version, false)
            });
            let copy = copy.collect();
            self.luns.insert(self.next_lun, copy);
            self.next_lun += 1;
        } else if luns.len() > 1 && !self.luns[&lun].iter().any(|(_, is_busy)| *is_busy) {
            self.array.schedule_incident(&Scheduled::new(now, Incident::LunRemoved(lun))).unwrap();
            self.luns.remove(&lun);
        }
        self.pass(Span::ZERO);
    }
}

fn host(seed: u64) -> Host {
    let mut stream = Streams::new(seed).named("host");
    let members = 1 + stream.below(3);
    let mut design = design(members, 7 + stream.below(8), stream.percent(70) || members == 1);
    let caches = stream.percent(50);
    for member in &mut design.members {
        if caches {
            member.controller =
                ControllerDesign { write: Span::micros(70), ..ControllerDesign::default() };
            member.cache = Some(CacheDesign {
                page: ByteSize::kib(4),
                write: ByteSize::kib(64),
                read: ByteSize::kib(32),
                ..CacheDesign::default()
            });
        }
    }
    let array = Observed::new(&design, Streams::new(seed)).unwrap_or_else(|_| {
        design.luns[0].is_thin = true;
        Observed::new(&design, Streams::new(seed)).unwrap()
    });
    let places = usize::try_from((24 * 8 * 2_u64).div_euclid(PLACE)).unwrap();
    Host {
        array,
        stream,
        luns: BTreeMap::from([(0, vec![(0, false); places])]),
        under_way: BTreeMap::new(),
        next: 1,
        refused: 0,
        next_lun: 1,
    }
}

#[test]
fn every_lun_has_what_was_written_to_it() {
    let (mut refused, mut exchanged) = (0, 0);
    for seed in 0..60 {
        let mut host = host(seed);
        for step in 0..250 {
            host.ask();
            host.collect();
            if step % 20 == 7 {
                host.apply_incident();
            }
            let micros = [0, 300, 4000, 15_000][host.draw(4)];
            host.pass(Span::micros(micros));
        }
        host.pass(Span::seconds(5));
        assert!(host.under_way.is_empty(), "seed {seed}");
        assert!(host.array.traffic.is_idle(), "seed {seed}");
        refused += host.refused;
        let notes = host.array.notes();
        let is_exchange = |what: &NoteKind| matches!(what, NoteKind::PagesExchanged { .. });
        exchanged += notes.iter().filter(|note| is_exchange(&note.what)).count();
    }
    assert!(refused > 50 && exchanged > 5, "{refused} {exchanged}");
}

fn wait_for_all(array: &mut PagedArray) -> Vec<Finished> {
    let mut done: Vec<Finished> = Vec::new();
    while let Some(next) = array.next_at().filter(|at| *at < Time(60_000_000_000)) {
        array.advance(next);
        done.extend(array.finished());
    }
    done
}

fn write(lun: u32, start: u64, sectors: u64) -> HostIo {
    HostIo { lun, verb: Verb::Write, extent: Extent::new(start, sectors), tag: start }
}

#[test]
fn a_full_pool_refuses_what_needs_a_page_and_serves_the_rest() {
    let mut design = design(1, 6, true);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    for page in 0..8 {
        array.submit(Time::ZERO, write(0, page * 48, 8));
    }
    let refused = |done: &[Finished]| done.iter().filter(|one| one.result.is_err()).count();
    let done = wait_for_all(&mut array);
    let had_room = done.len() - refused(&done);
    assert!((3..8).contains(&had_room), "{had_room}");
    let full = array.notes();
    assert_eq!(full.iter().filter(|note| note.what == NoteKind::ThinFull).count(), 1);
    let now = array.now();
    array.submit(now, write(0, 8, 8));
    assert_eq!(refused(&wait_for_all(&mut array)), 0, "its page is there");
}

#[test]
fn a_write_after_a_snapshot_costs_two_reads_and_the_map_and_after_that_nothing() {
    let mut design = design(1, 20, true);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    let cost = |array: &mut PagedArray| {
        let before = array.members()[0].device_ios();
        let now = array.now();
        // 2.5 KiB in the middle of two grains of 4 KiB.
        array.submit(now, write(0, 5, 5));
        assert_eq!(wait_for_all(array).len(), 1);
        array.members()[0].device_ios() - before
    };
    // Zeros around it; data and map are written, each to both drives of the pair.
    assert_eq!(cost(&mut array), 4);
    assert_eq!(cost(&mut array), 2, "in place");
    let now = array.now();
    array.schedule_incident(&Scheduled::new(now, Incident::Snapshot(0, "before".into()))).unwrap();
    array.advance(now);
    assert_eq!(cost(&mut array), 2 + 4, "what is around it is read from the old page");
    assert_eq!(cost(&mut array), 2);
    // Sectors 0 to 4 and 10 to 15 of two grains of eight, read once.
    let expected = PageStats {
        allocated: 2,
        first_writes: 1,
        redirected: 1,
        around_sectors: 5 + 6,
        map_writes: 2,
        asked: vec![4 + 2],
        ..PageStats::default()
    };
    assert_eq!(array.stats(), expected);
    array.forget_stats();
    assert_eq!(array.stats(), PageStats::new(1));
}

#[test]
fn a_write_that_goes_on_past_what_was_written_is_redirected_from_nowhere() {
    let mut design = design(1, 20, true);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    for start in [0, 4] {
        let now = array.now();
        array.submit(now, write(0, start, 8));
        wait_for_all(&mut array);
    }
    let stats = array.stats();
    assert_eq!((stats.first_writes, stats.redirected), (2, 0));
}

#[test]
fn what_was_there_before_costs_no_time_and_lies_on_drives() {
    let mut design = design(1, 20, true);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    let room = array.free_room();
    // From the middle of the first page to the middle of the third.
    array.assume_written(0, &[Extent::new(20, 96)]);
    assert_eq!((array.now(), array.next_at()), (Time::ZERO, None));
    let three = ByteSize::kib(3 * 24);
    assert_eq!(array.lun_rooms()[0].has, three);
    assert_eq!(room.get() - array.free_room().get(), three.get());
    array.assume_written(0, &[Extent::new(40, 8)]);
    assert_eq!(array.lun_rooms()[0].has, three, "that page has its room");
    let read = |at| HostIo { verb: Verb::Read, ..write(0, at, 8) };
    array.submit(Time::ZERO, read(100));
    array.submit(Time::ZERO, read(200));
    assert_eq!(wait_for_all(&mut array).len(), 2);
    assert_eq!(array.stats().zeros, 1, "only the second was never written");
    assert_eq!(array.members()[0].device_ios(), 1);
    assert_eq!(array.stats().allocated, 0, "no host's write did it");
    // Eight pages are more than the member has.
    let mut small = PagedArray::new(&self::design(1, 6, true), Streams::new(1)).unwrap();
    small.assume_written(0, &[Extent::new(0, 8 * 48)]);
    assert_eq!(small.free_room(), ByteSize::bytes(0));
    assert_eq!(small.notes()[0].what, NoteKind::ThinFull);
}

#[test]
fn the_room_of_a_removed_snapshot_comes_back() {
    let mut design = design(1, 20, false);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    let before = array.used_shares();
    array
        .schedule_incident(&Scheduled::new(Time::ZERO, Incident::Snapshot(0, "before".into())))
        .unwrap();
    array.advance(Time::ZERO);
    for page in 0..4 {
        array.submit(Time::ZERO, write(0, page * 48, 8));
    }
    wait_for_all(&mut array);
    assert!(array.used_shares()[0] > before[0]);
    let now = array.now();
    array.schedule_incident(&Scheduled::new(now, Incident::LunRemoved(1))).unwrap();
    wait_for_all(&mut array);
    assert_eq!(array.used_shares(), before);
    // Every page was shared; in each, the grain of the write is new, and the other five are copied.
    let stats = array.stats();
    assert_eq!((stats.redirected, stats.made_whole), (4, 4));
    assert_eq!((stats.moved, stats.copied_sectors), (0, 4 * 5 * 8));
}

#[test]
fn a_lun_that_grows_takes_room_when_it_is_written() {
    let mut design = design(1, 20, true);
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    let (before, used) = (array.lun_size(0), array.used_shares());
    let end = before.get().div_euclid(512);
    array.submit(Time::ZERO, write(0, end, 8));
    let refused = array.finished().next().map(|one| one.result);
    assert_eq!(refused, Some(Err(IoError::PastEnd)));
    let larger = ByteSize::bytes(before.get() * 2);
    for size in [before, larger] {
        let now = array.now();
        array.schedule_incident(&Scheduled::new(now, Incident::LunGrows(0, size))).unwrap();
    }
    wait_for_all(&mut array);
    assert_eq!((array.lun_size(0), array.used_shares()), (larger, used.clone()));
    let now = array.now();
    array.submit(now, write(0, end, 8));
    assert_eq!(wait_for_all(&mut array)[0].result, Ok(()));
    assert!(array.used_shares()[0] > used[0]);
    let texts: Vec<String> = array.notes().iter().map(|note| note.what.to_string()).collect();
    let name = &design.luns[0].name;
    let expected = [
        format!("\"{name}\" does not grow: it has {before}"),
        format!("\"{name}\" has grown to {larger}"),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn pages_go_to_a_member_that_joins() {
    let mut design = design(2, 12, false);
    design.later = vec![1];
    design.balance = None;
    let mut array = PagedArray::new(&design, Streams::new(1)).unwrap();
    assert_eq!(array.used_shares()[1], 0.0);
    array.schedule_incident(&Scheduled::new(Time(1000), Incident::MemberJoins(1))).unwrap();
    wait_for_all(&mut array);
    let shares = array.used_shares();
    assert!((shares[0] - shares[1]).abs() < 0.1 && shares[1] > 0.0, "{shares:?}");
    let stats = array.stats();
    assert_eq!((stats.moved, stats.copied_sectors), (4, 4 * 48));
    assert_eq!((stats.redirected, stats.made_whole), (0, 0), "no host wrote");
}

#[test]
fn designs_that_cannot_be_are_refused() {
    let refuse = |change: &dyn Fn(&mut PagedDesign)| {
        let mut design = design(1, 12, false);
        change(&mut design);
        PagedArray::new(&design, Streams::new(1)).err()
    };
    assert_eq!(refuse(&|_| ()), None);
    assert_eq!(refuse(&|design| design.later = vec![0]), Some(PagedError::NoMember));
    assert!(matches!(
        refuse(&|design| design.grain = ByteSize::kib(5)),
        Some(PagedError::Page { .. })
    ));
    assert!(matches!(
        refuse(&|design| design.luns[0].size = ByteSize::mib(1)),
        Some(PagedError::Lun { .. })
    ));
    assert!(matches!(
        refuse(&|design| design.page = ByteSize::mib(1)),
        Some(PagedError::TooSmall(0, 0, ..))
    ));
    assert!(matches!(
        refuse(&|design| (design.page, design.grain) = (ByteSize::mib(64), ByteSize::bytes(512))),
        Some(PagedError::Grains { .. })
    ));
    // What is thin fits, but the map of its pages has an end.
    let thin = |size: u64| {
        refuse(&|design| {
            (design.luns[0].size, design.luns[0].is_thin) = (ByteSize::gib(size), true);
        })
    };
    assert_eq!(thin(1024), None);
    assert!(matches!(thin(9 << 20), Some(PagedError::LunSize { .. })));
}
