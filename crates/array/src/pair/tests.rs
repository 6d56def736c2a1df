//! Pairs in small: times, states and refusals, one at a time. `truth` has what holds in any order
//! of events.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Drain;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::IoError;
use brunt_world::random::{Stream, Streams};

use super::ledger::Ledger;
use super::order::GroupExtent;
use super::*;
use crate::SystemDesign;
use crate::breakdown::Breakdown;
use crate::drive::library;
use crate::{ArrayDesign, Level, LunDesign, Verb};

/// A store of LUNs that takes a drawn time for each request, in any order.
pub(super) struct Store {
    now: Time,
    sectors: u64,
    least: Span,
    spread: Span,
    stream: Stream,
    under_way: BTreeMap<(Time, u64), (HostIo, Time)>,
    count: u64,
    pub(super) refuses: Rc<Cell<bool>>,
    pub(super) asked: Rc<RefCell<Vec<HostIo>>>,
    finished: Vec<Finished>,
}

impl Store {
    pub(super) fn new(sectors: u64, least: Span, spread: Span, stream: Stream) -> Self {
        Self {
            now: Time::ZERO,
            sectors,
            least,
            spread,
            stream,
            under_way: BTreeMap::new(),
            count: 0,
            refuses: Rc::default(),
            asked: Rc::default(),
            finished: Vec::new(),
        }
    }
}

impl System for Store {
    fn submit(&mut self, now: Time, io: HostIo) {
        self.advance(now);
        let at = now + self.least + Span::nanos(self.stream.below(self.spread.0 + 1));
        self.count += 1;
        self.asked.borrow_mut().push(io);
        self.under_way.insert((at, self.count), (io, now));
    }

    fn next_at(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, to: Time) {
        while let Some(first) = self.under_way.first_entry()
            && first.key().0 <= to
        {
            let ((at, _), (io, submitted_at)) = first.remove_entry();
            let is_full = self.refuses.get() && io.verb == Verb::Write;
            let result = match io.extent.end() <= self.sectors {
                false => Err(IoError::PastEnd),
                true if is_full => Err(IoError::NoSpace),
                true => Ok(()),
            };
            self.finished.push(Finished {
                tag: io.tag,
                verb: io.verb,
                submitted_at,
                at,
                result,
                breakdown: Breakdown { transfer: at - submitted_at, ..Breakdown::default() },
            });
        }
        self.now = to;
    }

    fn finished(&mut self) -> Drain<'_, Finished> {
        self.finished.drain(..)
    }

    fn lun_size(&self, _: u32) -> ByteSize {
        ByteSize::bytes(self.sectors * 512)
    }

    fn schedule(&mut self, _: &Scheduled) -> Result<(), Misplaced> {
        Err(Misplaced::NoPool)
    }

    fn notes_count(&self) -> usize {
        0
    }

    fn parts(&self) -> Parts<Part<'_>> {
        Parts::new()
    }

    fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        Parts::new()
    }
}

/// An array with these LUNs.
pub(super) fn array(luns: &[(&str, ByteSize)]) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, 4, Level::Raid10);
    let lun = |(name, size): &(&str, ByteSize)| LunDesign {
        name: (*name).to_owned(),
        group: 0,
        size: *size,
        owner: None,
    };
    design.luns = luns.iter().map(lun).collect();
    design
}

pub(super) fn group(name: &str, luns: &[u32], mode: Mode, failsafe: bool) -> PairGroupDesign {
    PairGroupDesign {
        name: name.to_owned(),
        luns: luns.iter().map(|lun| (*lun, *lun)).collect(),
        mode,
        failsafe,
    }
}

/// A pair of arrays with two LUNs of 4 MiB in one group, and one of the source that is not
/// replicated.
pub(super) fn design(mode: Mode, failsafe: bool) -> PairDesign {
    let size = ByteSize::mib(4);
    let luns = [("data", size), ("log", size), ("history", size)];
    PairDesign {
        groups: vec![group("mail", &[0, 1], mode, failsafe)],
        history: HistoryDesign {
            initial: ByteSize::kib(64),
            limit: ByteSize::kib(256),
            ..HistoryDesign::default()
        },
        ..PairDesign::new(array(&luns).into(), array(&luns).into())
    }
}

/// The pair over stores that take 1 ms for each request.
pub(super) fn watched(design: &PairDesign) -> Pair<Ledger> {
    over(design, store("source"), store("destination"))
}

pub(super) fn store(name: &str) -> Box<Store> {
    let stream = Streams::new(1).named(name);
    Box::new(Store::new(8192, Span::millis(1), Span::ZERO, stream))
}

pub(super) fn over(
    design: &PairDesign,
    source: Box<Store>,
    destination: Box<Store>,
) -> Pair<Ledger> {
    Pair::over(design, source, destination, Streams::new(1)).unwrap()
}

pub(super) fn write(lun: u32, start: u64, sectors: u64) -> HostIo {
    HostIo { lun, verb: Verb::Write, extent: Extent::new(start, sectors), tag: start }
}

pub(super) fn at(millis: u64) -> Time {
    Time::ZERO + Span::millis(millis)
}

pub(super) fn incident<O: Observer>(pair: &mut Pair<O>, millis: u64, what: PairIncident) {
    let one = Scheduled::new(at(millis), Incident::Pair(what));
    pair.schedule(&one).unwrap();
}

/// Advances to `until`, and returns when and how each request ended.
pub(super) fn run<O: Observer>(
    pair: &mut Pair<O>,
    until: u64,
) -> Vec<(u64, Span, Result<(), IoError>)> {
    pair.advance(at(until));
    let done = pair.finished().map(|one| {
        assert_eq!(one.breakdown.total(), one.at - one.submitted_at);
        (one.tag, one.at.since(Time::ZERO), one.result)
    });
    done.collect()
}

pub(super) fn notes<O: Observer>(pair: &Pair<O>) -> Vec<String> {
    let notes = pair.replication().notes().iter();
    notes.map(|note| format!("{} {}", note.at.since(Time::ZERO), note.what)).collect()
}

pub(super) fn clean(pair: &Pair<Ledger>) {
    assert_eq!(pair.observer.wrong, [] as [String; 0]);
    assert!(pair.observer.is_same(0));
}

#[test]
fn a_synchronous_write_takes_the_longer_of_both_ways() {
    let mut design = design(Mode::Synchronous, true);
    design.link.round_trip = Span::millis(5);
    design.link.gateway = PairLinkDesign::FCIP_GATEWAYS;
    let mut pair = watched(&design);
    pair.submit(Time::ZERO, write(0, 0, 8));
    pair.submit(Time::ZERO, write(2, 8, 8));
    let done = run(&mut pair, 20);
    // Two round trips, the gateways, and 1 ms of the destination; the other LUN is not replicated.
    let expected =
        [(8, Span::millis(1), Ok(())), (0, Span::micros(10_000 + 1_125 + 1_000), Ok(()))];
    assert_eq!(done, expected);
    clean(&pair);
}

#[test]
fn failsafe_takes_the_luns_away_until_the_link_returns() {
    let mut design = design(Mode::Synchronous, true);
    design.link.round_trip = Span::millis(5);
    let mut pair = watched(&design);
    incident(&mut pair, 3, PairIncident::LinkLost);
    incident(&mut pair, 20, PairIncident::LinkReturns);
    pair.submit(Time::ZERO, write(0, 0, 8));
    assert_eq!(run(&mut pair, 4), [(0, Span::millis(3), Err(IoError::Device))]);
    pair.submit(at(10), write(0, 8, 8));
    let read = HostIo { verb: Verb::Read, ..write(1, 16, 8) };
    pair.submit(at(10), read);
    pair.submit(at(10), write(2, 24, 8));
    let lost = Err(IoError::Device);
    let ended = |millis| Span::millis(millis);
    let expected = [(8, ended(10), lost), (16, ended(10), lost), (24, ended(11), Ok(()))];
    assert_eq!(run(&mut pair, 24), expected);
    // One round trip to ask; then the first write, which the source has, is sent after all.
    pair.submit(at(25), write(0, 32, 8));
    assert_eq!(run(&mut pair, 60), [(32, ended(36), Ok(()))]);
    assert_eq!(pair.observer.accepted(0), 2);
    let expected = [
        "3.00 ms link lost",
        "3.00 ms mail: failsafe: hosts lose its LUNs",
        "20.00 ms link is back",
        "25.00 ms mail: hosts have its LUNs again",
        "25.00 ms mail: both sides are in step, after 22.00 ms",
    ];
    assert_eq!(notes(&pair), expected);
    clean(&pair);
}

/// Keeps what it hears.
#[derive(Clone, Default)]
struct Heard(Rc<RefCell<Vec<(Span, PairMove)>>>);

impl PairListener for Heard {
    fn observe(&mut self, at: Time, _: usize, moved: PairMove) {
        let moved = match moved {
            PairMove::Accepted { tag, lun, site, number, place, .. } => {
                PairMove::Accepted { write: 0, tag, lun, site, number, place }
            }
            other => other,
        };
        self.0.borrow_mut().push((at.since(Time::ZERO), moved));
    }
}

#[test]
fn a_listener_hears_what_becomes_of_each_request() {
    let mut design = design(Mode::Synchronous, false);
    design.link.round_trip = Span::millis(2);
    design.history.limit = ByteSize::kib(64);
    let mut pair = watched(&design);
    let heard = Heard::default();
    pair.listen(Box::new(heard.clone())).unwrap();
    incident(&mut pair, 10, PairIncident::LinkLost);
    incident(&mut pair, 50, PairIncident::LinkReturns);
    pair.submit(Time::ZERO, write(0, 0, 8));
    pair.submit(at(1), write(2, 8, 8));
    pair.submit(at(20), write(1, 64, 64));
    pair.submit(at(30), write(1, 128, 128));
    run(&mut pair, 100);
    let accepted = |tag, lun, length, number| {
        let place = GroupExtent { lun, extent: Extent::new(tag, length) };
        let (lun, site) = (u32::from(lun), Site::Source);
        PairMove::Accepted { write: 0, tag, lun, site, number, place }
    };
    // LUN 2 is not replicated. The log is too small for the third write; the block of both has
    // number 2.
    let expected = [
        (0, accepted(0, 0, 8, Some(0))),
        (4, PairMove::Done { number: 0, content: 0 }),
        (20, accepted(64, 1, 64, Some(1))),
        (30, PairMove::GivenUp),
        (30, accepted(128, 1, 128, None)),
        (52, PairMove::GivenUp),
        (52, PairMove::CopyBegins),
        (57, PairMove::Done { number: 2, content: 2 }),
        (58, PairMove::InStep),
    ];
    let heard = heard.0.borrow();
    let millis = heard.iter().map(|(at, moved)| (at.0.div_euclid(1_000_000), *moved));
    assert_eq!(millis.collect::<Vec<_>>(), expected);
    let alone = SystemDesign::from(array(&[("data", ByteSize::mib(4))]));
    let mut alone = alone.build(Streams::new(1), &[]).unwrap();
    assert_eq!(alone.listen(Box::<Heard>::default()), Err(Misplaced::NoPair));
}

#[test]
fn asynchronous_writes_wait_for_the_source_alone() {
    let mut design = design(Mode::Asynchronous, false);
    design.link.round_trip = Span::millis(20);
    let mut pair = watched(&design);
    for number in 0..4 {
        pair.submit(at(number), write(0, number * 8, 8));
    }
    let done = run(&mut pair, 10);
    assert!(done.iter().all(|one| one.1 <= Span::millis(4)), "{done:?}");
    let state = pair.replication().group(0);
    assert_eq!(state.phase, Phase::Normal);
    assert_eq!(state.at_risk.unwrap().writes, 4);
    run(&mut pair, 100);
    let state = pair.replication().group(0);
    assert_eq!((state.at_risk.unwrap().writes, state.log.used.get()), (0, 0));
    clean(&pair);
}

#[test]
fn a_destination_that_is_full_suspends_its_group() {
    let design = design(Mode::Synchronous, false);
    let destination = store("destination");
    let refuses = destination.refuses.clone();
    let mut pair = over(&design, store("source"), destination);
    refuses.set(true);
    pair.submit(Time::ZERO, write(0, 0, 8));
    assert_eq!(run(&mut pair, 10), [(0, Span::millis(1), Ok(()))]);
    assert_eq!(pair.replication().group(0).phase, Phase::Logging);
    refuses.set(false);
    let resumed = PairIncident::GroupResumed { group: 0, full_copy: false };
    incident(&mut pair, 20, resumed);
    run(&mut pair, 30);
    let expected = [
        "1.00 ms mail: suspended: the destination refuses its writes",
        "1.00 ms mail: writes go into the write history log",
        "20.00 ms mail: resumed",
        "20.00 ms mail: merging 4 KiB of write history",
        "21.00 ms mail: both sides are in step, after 20.00 ms",
    ];
    assert_eq!(notes(&pair), expected);
    clean(&pair);
}

#[test]
fn parts_of_both_sides_are_measured_and_have_their_incidents() {
    let design = design(Mode::Synchronous, true);
    let drive = Scheduled { array: 1, ..Scheduled::new(at(5), Incident::DriveFails(2)) };
    let mut system = SystemDesign::from(design.clone()).build(Streams::new(1), &[drive]).unwrap();
    for number in 0..50 {
        system.submit(at(number), write(0, number * 8, 8));
    }
    system.advance(at(1_000));
    assert_eq!(system.finished().filter(|one| one.result.is_ok()).count(), 50);
    assert_eq!(system.arrays().count(), 2);
    let ios: Vec<u64> = system.arrays().map(crate::Array::device_ios).collect();
    assert!(ios.iter().all(|ios| *ios >= 50), "{ios:?}");
    let notes = system.notes();
    assert_eq!(notes[0].what.to_string(), "member 1: drive 2 failed");
    assert_eq!(system.replication().unwrap().group(0).phase, Phase::Normal);
    let refused = |incident| {
        let one = Scheduled::new(at(0), incident);
        let built = SystemDesign::from(design.clone()).build(Streams::new(1), &[one]);
        built.err().map(|error| error.to_string())
    };
    assert_eq!(refused(Incident::Pair(PairIncident::LinkLost)), None);
    let missing = |what: &str| Some(format!("incident: there is no {what}"));
    let path = Incident::Pair(PairIncident::LinkPathLost(1));
    assert_eq!(refused(path), missing("path of the link 1"));
    let suspended = |group| Incident::Pair(PairIncident::GroupSuspended(group));
    assert_eq!(refused(suspended(1)), missing("replication group 1"));
    assert!(refused(suspended(0)).unwrap().contains("failsafe group"));
    let grows = Incident::LunGrows(0, ByteSize::gib(1));
    assert!(refused(grows).unwrap().contains("replicated LUN"));
    let alone = SystemDesign::from(array(&[("data", ByteSize::mib(4))]));
    let lost = Scheduled::new(at(0), Incident::Pair(PairIncident::LinkLost));
    let built = alone.build(Streams::new(1), &[lost]).err().unwrap();
    assert!(built.to_string().contains("only a replicated array"));
}

#[test]
fn rates_of_writes_are_those_of_replicated_luns_alone() {
    let mut pair = watched(&design(Mode::Synchronous, true));
    incident(&mut pair, 2_500, PairIncident::LinkLost);
    pair.submit(Time::ZERO, write(0, 0, 8));
    run(&mut pair, 1_000);
    let mut meter = WriteMeter::begin(pair.replication());
    // 4 KiB in the first second, 12 KiB in the second one; the third LUN is not replicated, and
    // failsafe refuses the last write.
    pair.submit(at(1_000), write(0, 0, 8));
    run(&mut pair, 2_000);
    meter.sample(pair.replication());
    pair.submit(at(2_000), write(1, 0, 24));
    pair.submit(at(2_000), write(2, 0, 64));
    run(&mut pair, 3_000);
    meter.sample(pair.replication());
    pair.submit(at(3_000), write(0, 0, 8));
    run(&mut pair, 5_000);
    let rates = meter.rates(pair.replication());
    let rate = WriteRate { mean: f64::from(16 << 10) / 4.0, busiest: f64::from(12 << 10) };
    assert_eq!(rates.groups, [rate]);
    assert_eq!(rates.all, rate);
    let idle = WriteRates { groups: vec![WriteRate::default()], all: WriteRate::default() };
    let half = WriteRate { mean: rate.mean / 2.0, ..rate };
    assert_eq!(rates.and(&idle, 0.5).all, half);
    assert_eq!(idle.and(&rates, 0.5).groups, [half]);
}

#[test]
fn pairs_that_cannot_be_are_refused() {
    let refuse = |change: &dyn Fn(&mut PairDesign)| {
        let mut design = design(Mode::Synchronous, false);
        change(&mut design);
        let built = Pair::new(&design, Streams::new(1));
        built.err().map(|error| error.to_string())
    };
    let says = |change: &dyn Fn(&mut PairDesign), what: &str| {
        let why = refuse(change).unwrap_or_default();
        assert!(why.contains(what), "{why}");
    };
    assert_eq!(refuse(&|_| ()), None);
    says(&|one| one.groups[0].luns.clear(), "has no LUNs");
    says(&|one| one.groups[0].luns[1].0 = 9, "the source has no LUN 9");
    says(&|one| one.groups[0].luns[1].1 = 9, "the destination has no LUN 9");
    says(&|one| one.groups[0].luns[1].0 = 0, "LUN \"data\" of the source is replicated already");
    says(
        &|one| one.groups[0].luns[1].1 = 0,
        "LUN \"data\" of the destination is replicated already",
    );
    says(
        &|one| {
            let again = group("again", &[1], Mode::Synchronous, false);
            one.groups.push(again);
        },
        "\"again\": LUN \"log\" of the source is replicated already",
    );
    says(
        &|one| *one.destination = array(&[("a", ByteSize::mib(4)), ("b", ByteSize::mib(3))]).into(),
        "LUN \"log\" has 4 MiB, and its destination only 3 MiB",
    );
    says(
        &|one| {
            one.groups[0].mode = Mode::Asynchronous;
            one.groups[0].failsafe = true;
        },
        "failsafe needs synchronous writes",
    );
    says(&|one| one.outstanding = 0, "at least one write");
    says(&|one| one.link.paths = 0, "link: a link has at least one path");
    says(&|one| one.history.lun = Some(7), "has no LUN 7");
    says(&|one| one.history.lun = Some(1), "\"log\" is replicated");
    says(&|one| one.history.limit = ByteSize::kib(1), "cannot be limited");
    says(&|one| one.history.room = ByteSize::kib(1), "there is room for 1 KiB");
    says(
        &|one| {
            one.history.lun = Some(2);
            one.history.room = ByteSize::mib(5);
        },
        "\"history\" has 4 MiB",
    );
    says(&|one| *one.source = design(Mode::Synchronous, false).into(), "not of another pair");
}
