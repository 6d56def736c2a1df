//! Under any sequence of writes, failures within redundancy, rebuilds and lost controllers, every
//! acknowledged write is read back. When all controllers are lost at once, only data that was in
//! the cache alone may be old, and what is read afterwards no longer changes.

use std::collections::BTreeMap;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::{Stream, Streams};

use crate::Extent;
use crate::array::ledger::Ledger;
use crate::array::{Array, HostIo, Verb};
use crate::cache::pages::PageKey;
use crate::design::{ArrayDesign, CacheDesign, ControllerDesign, Level, ScanDesign, TierDesign};
use crate::drive::library;
use crate::incident::{Incident, Priority};

/// Sectors of a place, which is always written whole: half a page, so that pages are partly dirty.
const PLACE: u64 = 4;

/// Adds one or two solid-state drives with room for a few blocks.
fn add_tier(design: &mut ArrayDesign, stream: &mut Stream) {
    let first = u16::try_from(design.drives.len()).unwrap();
    let count = 1 + u16::try_from(stream.below(2)).unwrap();
    let model = library::find("sata-ssd-480").unwrap();
    design.drives.extend(vec![model; usize::from(count)]);
    design.tier = Some(TierDesign {
        size: Some(ByteSize::kib([64, 256][draw(stream, 2)])),
        block: ByteSize::kib([4, 16][draw(stream, 2)]),
        admit_after: 1 + u32::try_from(stream.below(2)).unwrap(),
        refreshes: stream.percent(50),
        ..TierDesign::on((first..first + count).collect())
    });
}

struct Tester {
    array: Array<Ledger>,
    stream: Stream,
    /// Per place: the version last acknowledged, and whether a request is in flight.
    acknowledged: Vec<u64>,
    is_busy: Vec<bool>,
    /// Per place: all versions that hosts wrote or tried to write, and whether any of them may be
    /// there.
    written: Vec<Vec<u64>>,
    is_uncertain: Vec<bool>,
    /// Whether all controllers have ever been lost at once.
    was_down: bool,
    /// The requests in flight: first place, number of places, verb.
    under_way: BTreeMap<u64, (usize, usize, Verb)>,
    next_version: u64,
    failed: Vec<u16>,
    drives: u16,
    tolerates: usize,
}

fn draw(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(bound as u64)).unwrap()
}

fn tester(seed: u64) -> Tester {
    let mut stream = Streams::new(seed).named("tester");
    let levels: [(Level, u16); 7] = [
        (Level::Raid1, 2),
        (Level::Raid10, 6),
        (Level::Raid5, 5),
        (Level::Raid50(2), 6),
        (Level::Raid6, 6),
        (Level::Raid1, 3),
        (Level::Pool { piece: ByteSize::kib(32), preserved: Some(2) }, 13),
    ];
    let (level, drives) = levels[draw(&mut stream, levels.len())];
    let spares = u16::try_from(stream.below(3)).unwrap();
    let spares = if matches!(level, Level::Pool { .. }) { 0 } else { spares };
    let models = ["cheetah-15k5-146-fc", "nvme-ssd-1920"];
    let model = library::find(models[draw(&mut stream, 2)]).unwrap();
    let mut design = ArrayDesign::one_group(&model, drives, level);
    design.drives = vec![model; usize::from(drives + spares)];
    design.spares = (drives..drives + spares).collect();
    design.groups[0].drive_size = Some(ByteSize::kib(128));
    design.groups[0].strip = ByteSize::kib(4);
    design.groups[0].repair.unit = ByteSize::kib([4, 8, 12][draw(&mut stream, 3)]);
    design.groups[0].repair.priority = [Priority::Highest, Priority::Low][draw(&mut stream, 2)];
    if stream.percent(20) {
        design.scan = Some(ScanDesign { unit: ByteSize::kib(64), pause: Span::millis(5) });
    }
    let cached = stream.percent(70);
    if cached {
        design.controller = ControllerDesign {
            count: 2,
            write: Span::micros(50),
            failover: Span::millis(5),
            ..ControllerDesign::default()
        };
        design.cache = Some(CacheDesign {
            page: ByteSize::kib(4),
            write: ByteSize::kib([16, 64][draw(&mut stream, 2)]),
            read: ByteSize::kib([0, 32][draw(&mut stream, 2)]),
            idle_after: Span::millis(40),
            prefetch: ByteSize::kib([0, 16][draw(&mut stream, 2)]),
            ..CacheDesign::default()
        });
    }
    if cached && stream.percent(50) {
        add_tier(&mut design, &mut stream);
    }
    let array = Array::observed(&design, Streams::new(seed)).unwrap();
    let sectors = array.lun_size(0).get().div_euclid(512);
    let places = usize::try_from(sectors.div_euclid(PLACE)).unwrap().min(160);
    let tolerates = match level {
        Level::Raid1 => usize::from(drives) - 1,
        Level::Raid6 | Level::Pool { .. } => 2,
        _ => 1,
    };
    Tester {
        array,
        stream,
        acknowledged: vec![0; places],
        is_busy: vec![false; places],
        written: vec![vec![0]; places],
        is_uncertain: vec![false; places],
        was_down: false,
        under_way: BTreeMap::new(),
        next_version: 1,
        failed: Vec::new(),
        drives,
        tolerates,
    }
}

impl Tester {
    /// Submits a request for a run of places, if the drawn ones are free.
    fn ask(&mut self) {
        let places = self.acknowledged.len();
        let first = draw(&mut self.stream, places);
        let most = [1, 3, 12, 40][draw(&mut self.stream, 4)];
        let count = (1 + draw(&mut self.stream, most)).min(places - first);
        let range = first..first + count;
        if self.is_busy[range.clone()].iter().any(|busy| *busy) {
            return;
        }
        self.is_busy[range].fill(true);
        let verb = if self.stream.percent(50) { Verb::Read } else { Verb::Write };
        self.submit(first, count, verb);
    }

    fn submit(&mut self, first: usize, count: usize, verb: Verb) {
        let tag = self.next_version;
        self.next_version += 1;
        self.under_way.insert(tag, (first, count, verb));
        if verb == Verb::Write {
            let places = &mut self.written[first..first + count];
            places.iter_mut().for_each(|versions| versions.push(tag));
        }
        let extent = Extent::new(first as u64 * PLACE, count as u64 * PLACE);
        let now = self.array.now();
        self.array.submit(now, HostIo { lun: 0, verb, extent, tag });
    }

    fn collect(&mut self) {
        let finished: Vec<_> = self.array.finished().collect();
        for one in finished {
            let (first, count, verb) = self.under_way.remove(&one.tag).expect("it ends once");
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at);
            self.is_busy[first..first + count].fill(false);
            if one.result.is_err() {
                assert!(self.was_down, "everything is within redundancy: {:?}", self.array.notes());
                if verb == Verb::Write {
                    self.is_uncertain[first..first + count].fill(true);
                }
                continue;
            }
            match verb {
                Verb::Write => {
                    self.acknowledged[first..first + count].fill(one.tag);
                    self.is_uncertain[first..first + count].fill(false);
                }
                Verb::Read => self.check_answer(one.tag, first),
            }
        }
    }

    fn check_answer(&mut self, tag: u64, first: usize) {
        let answers = &mut self.array.observer.answers;
        let versions = answers.remove(&tag).expect("it was answered");
        for (at, version) in versions.iter().enumerate() {
            let place = first + at.div_euclid(usize::try_from(PLACE).unwrap());
            if self.is_uncertain[place] {
                assert!(self.written[place].contains(version), "place {place}");
            } else {
                assert_eq!(*version, self.acknowledged[place], "place {place}, sector {at}");
            }
        }
    }

    /// Triggers an incident that the array should survive.
    fn apply_incident(&mut self) {
        let now = self.array.now();
        // Lost drives: those that failed and whose pieces have not been rebuilt elsewhere.
        let lost = self.array.groups[0].failures() as usize;
        let incident = match self.stream.below(6) {
            0 | 1 if lost < self.tolerates => {
                let all = self.array.drives.len();
                let drive = u16::try_from(draw(&mut self.stream, all)).unwrap();
                if self.failed.contains(&drive) {
                    return;
                }
                self.failed.push(drive);
                Incident::DriveFails(drive)
            }
            2 | 3 if !self.failed.is_empty() => {
                let at = draw(&mut self.stream, self.failed.len());
                Incident::DriveReturns(self.failed.remove(at))
            }
            4 if self.array.front.controllers() == 2 => {
                let number = draw(&mut self.stream, 2);
                if self.array.front.working() == 2 {
                    Incident::ControllerFails(number)
                } else {
                    // One of the two already works; returning it is harmless.
                    for number in 0..2 {
                        self.array
                            .schedule_incident(now, Incident::ControllerReturns(number))
                            .unwrap();
                    }
                    return;
                }
            }
            5 => {
                if self.stream.percent(50) {
                    Incident::BatteryLost
                } else {
                    Incident::BatteryReturns
                }
            }
            _ => return,
        };
        self.array.schedule_incident(now, incident).unwrap();
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

    /// Runs host work for `steps` steps, with random incidents unless `peaceful`.
    fn work(&mut self, steps: u32, peaceful: bool) {
        for step in 0..steps {
            self.ask();
            self.collect();
            if step % 10 == 3 && !peaceful {
                self.apply_incident();
            }
            let micros = [0, 200, 3000, 20_000][draw(&mut self.stream, 4)];
            self.pass(Span::micros(micros));
        }
    }

    /// Lets everything come to rest, then reads everything once more.
    fn rest(&mut self) {
        self.pass(Span::seconds(30));
        assert!(self.under_way.is_empty(), "{:?}", self.array.notes());
        assert!(self.array.groups[0].locks.is_idle(), "{:?}", self.array.notes());
        for first in (0..self.acknowledged.len()).step_by(8) {
            let count = 8.min(self.acknowledged.len() - first);
            self.submit(first, count, Verb::Read);
            self.pass(Span::seconds(1));
        }
        assert!(self.under_way.is_empty());
        assert!(usize::from(self.drives) <= self.array.drives.len());
    }

    fn run(&mut self) {
        self.work(250, false);
        self.rest();
    }

    /// Fails all controllers at once and returns them; data that was only in the cache is
    /// uncertain.
    fn lose_controllers(&mut self) {
        if let Some(cache) = &self.array.cache {
            for (place, is_uncertain) in (0..).zip(&mut self.is_uncertain) {
                let page = (place * PLACE).div_euclid(cache.page_sectors);
                let slot = cache.pages.find(PageKey::new(0, page));
                *is_uncertain |= slot.is_some_and(|slot| cache.pages.page(slot).is_unwritten());
            }
        }
        self.was_down = true;
        let now = self.array.now();
        let back = now + Span::micros([100, 2000, 50_000][draw(&mut self.stream, 3)]);
        for number in 0..self.array.front.controllers() {
            let (fails, returns) =
                (Incident::ControllerFails(number), Incident::ControllerReturns(number));
            self.array.schedule_incident(now, fails).unwrap();
            self.array.schedule_incident(back, returns).unwrap();
        }
    }

    /// Reads each place once and fixes its content: from now on it must stay so.
    fn settle(&mut self) {
        self.pass(Span::seconds(30));
        for place in 0..self.acknowledged.len() {
            let tag = self.next_version;
            self.submit(place, 1, Verb::Read);
            while !self.array.observer.answers.contains_key(&tag) {
                let next = self.array.next_at().expect("it is answered");
                self.array.advance(next);
            }
            let found = self.array.observer.answers[&tag][0];
            self.collect();
            assert!(self.is_uncertain[place] || found == self.acknowledged[place]);
            self.acknowledged[place] = found;
            self.is_uncertain[place] = false;
        }
    }
}

#[test]
fn every_acknowledged_write_is_read_back() {
    let (mut incidents, mut from_tier) = (0, 0);
    for seed in 0..150 {
        let mut tester = tester(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tester.run()));
        assert!(outcome.is_ok(), "seed {seed}: {:?}", tester.array.notes());
        incidents += tester.array.notes().len();
        from_tier += tester.array.tier_stats().map_or(0, |tier| tier.hits);
        assert!(tester.array.now() > Time::ZERO);
    }
    assert!(incidents > 1000, "{incidents}");
    assert!(from_tier > 300, "{from_tier}");
}

#[test]
fn what_only_the_cache_had_may_be_old_and_nothing_else() {
    let (mut losses, mut old) = (0, 0);
    for seed in 1000..1120 {
        let mut tester = tester(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tester.work(80, false);
            tester.lose_controllers();
            tester.work(80, true);
            let before = tester.acknowledged.clone();
            tester.settle();
            tester.work(40, true);
            tester.rest();
            before
        }));
        let Ok(before) = outcome else { panic!("seed {seed}: {:?}", tester.array.notes()) };
        let notes = tester.array.notes().iter();
        losses += notes.filter(|note| note.what.is_loss()).count();
        old += usize::from(before != tester.acknowledged);
    }
    assert!(losses > 20, "{losses}");
    assert!(old > 20, "{old}");
}
