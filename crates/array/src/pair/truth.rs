//! Under any order of writes, flapping links, lost paths, deaths and returns of both sites,
//! failovers planned, unplanned and forced, splits and choices, suspensions, overflows and full
//! copies: the site that does not serve is a prefix of each group's order, a group with failsafe
//! loses nothing acknowledged, one without exactly what is reported, and both sides are the same in
//! the end. With a fault injected, the ledger finds it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::IoError;
use brunt_world::random::{Stream, Streams};

use super::follower::Follower;
use super::ledger::{Ledger, UNIT};
use super::tests::{Store, design, group, write};
use super::*;
use crate::Verb;

/// Sectors of a LUN: four blocks, the last of them short.
const SECTORS: u64 = 3 * 2048 + 512;

struct Tester {
    pair: Pair<Ledger>,
    follower: Option<Follower>,
    stream: Stream,
    is_failsafe: [bool; 2],
    destination_refuses: Rc<Cell<bool>>,
    under_way: BTreeMap<u64, Verb>,
    next: u64,
    failed: u64,
    /// Whether sites may change their roles.
    has_roles: bool,
    /// Phases seen between events.
    seen: BTreeMap<&'static str, u32>,
}

fn store(seed: u64, name: &str, stream: &mut Stream) -> Store {
    let spread = Span::micros([0, 500, 5_000][draw(stream, 3)]);
    let own = Streams::new(seed).named(name);
    Store::new(SECTORS, Span::micros(100), spread, own)
}

fn draw(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(bound as u64)).unwrap()
}

impl Tester {
    fn new(seed: u64, control: Option<Control>) -> Self {
        let mut stream = Streams::new(seed).named("tester");
        let mut design = design(Mode::Synchronous, false);
        let is_failsafe = [stream.percent(50), stream.percent(30)];
        let mode = match (is_failsafe[1], stream.percent(50)) {
            (false, true) => Mode::Asynchronous,
            _ => Mode::Synchronous,
        };
        design.groups = vec![
            group("one", &[0, 2], Mode::Synchronous, is_failsafe[0]),
            group("other", &[1], mode, is_failsafe[1]),
        ];
        design.link = PairLinkDesign {
            round_trip: Span::micros([0, 300, 4_000][draw(&mut stream, 3)]),
            jitter: Span::micros([0, 200, 3_000][draw(&mut stream, 3)]),
            bytes_per_second: [0, 2_000_000, 50_000_000][draw(&mut stream, 3)],
            lost_per_million: [0, 20_000][draw(&mut stream, 2)],
            round_trips_per_write: 1 + u32::try_from(stream.below(2)).unwrap(),
            paths: 1 + draw(&mut stream, 3),
            ..PairLinkDesign::default()
        };
        design.history.initial = ByteSize::kib(16);
        design.history.limit = ByteSize::kib([16, 128, 100_000][draw(&mut stream, 3)]);
        design.history.room = ByteSize::kib([0, 150][draw(&mut stream, 2)]);
        design.resume = match stream.below(4) {
            0 => ResumePolicy::Staggered,
            1 => ResumePolicy::NotBefore(Time::ZERO + Span::millis(stream.below(400))),
            _ => ResumePolicy::AllAtOnce,
        };
        design.outstanding = [1, 2, 8][draw(&mut stream, 3)];
        if control.is_some() {
            // A full copy would mend what the control breaks.
            design.history.limit = ByteSize::gib(1);
            design.history.room = ByteSize::bytes(0);
        }
        design.controls = control.into_iter().collect();
        let destination = store(seed, "destination", &mut stream);
        let destination_refuses = destination.refuses.clone();
        let source = Box::new(store(seed, "source", &mut stream));
        let pair = Pair::over(&design, source, Box::new(destination), Streams::new(seed));
        let mut pair = pair.unwrap();
        // It expects what a control breaks.
        let follower = control.is_none().then(|| Follower::new(3));
        if let Some(follower) = follower.clone() {
            pair.listen(Box::new(follower)).unwrap();
        }
        Self {
            pair,
            follower,
            stream,
            is_failsafe,
            destination_refuses,
            under_way: BTreeMap::new(),
            next: 0,
            failed: 0,
            has_roles: control.is_none(),
            seen: BTreeMap::new(),
        }
    }

    fn draw(&mut self, bound: usize) -> usize {
        draw(&mut self.stream, bound)
    }

    /// A request of a host: places overlap, also those of requests under way, and some are hot.
    fn ask(&mut self) {
        let mut lun = u32::try_from(self.stream.below(3)).unwrap();
        // Mostly where it is served.
        let serving = self.pair.state.serving(usize::from(lun == 1));
        if (serving == Site::Destination) != self.stream.percent(5) {
            lun += 3;
        }
        let places = [8, 100, SECTORS.div_euclid(UNIT)][self.draw(3)];
        let length = UNIT * (1 + self.stream.below(16));
        let start = (UNIT * self.stream.below(places)).min(SECTORS - length);
        let verb = match self.stream.percent(15) {
            true => Verb::Read,
            false => Verb::Write,
        };
        let io = HostIo { verb, tag: self.next, ..write(lun, start, length) };
        self.next += 1;
        self.under_way.insert(io.tag, verb);
        let now = self.pair.state.now;
        self.pair.submit(now, io);
    }

    fn happen(&mut self, what: PairIncident) {
        let now = self.pair.state.now;
        // A failsafe group refuses to be suspended.
        let _ = self.pair.schedule(&Scheduled::new(now, Incident::Pair(what)));
    }

    /// Something goes wrong or returns.
    fn apply_incident(&mut self) {
        let path = self.draw(self.pair.state.link.design().paths);
        let group = self.draw(2);
        let resumed = |full_copy| PairIncident::GroupResumed { group, full_copy };
        let site = Site::ALL[self.draw(2)];
        let all = (!self.stream.percent(20)).then_some(group);
        let fail_over = |to, how| PairIncident::FailOver { group: all, to, how };
        let kinds = if self.has_roles { 19 } else { 11 };
        let (one, then) = match self.draw(kinds) {
            // A link that flaps.
            0 => (PairIncident::LinkLost, Some(PairIncident::LinkReturns)),
            1 | 2 => (PairIncident::LinkLost, None),
            3 | 4 => (PairIncident::LinkReturns, None),
            5 => (PairIncident::LinkPathLost(path), None),
            6 => (PairIncident::LinkPathReturns(path), None),
            7 => (PairIncident::DestinationLost, Some(PairIncident::DestinationReturns)),
            8 => (PairIncident::GroupSuspended(group), None),
            9 => (resumed(false), None),
            11 | 12 => (fail_over(site, Failover::Planned), None),
            13 => (fail_over(site, Failover::Unplanned), None),
            14 => (fail_over(site, Failover::Forced), None),
            // The source is lost, and mostly the destination takes over.
            15 => {
                (PairIncident::SourceLost, Some(fail_over(Site::Destination, Failover::Unplanned)))
            }
            16 => (PairIncident::SourceReturns, None),
            17 => (PairIncident::DestinationReturns, None),
            18 => (PairIncident::Keep { group: all, site }, None),
            _ => {
                let is_rare = self.stream.percent(30);
                self.destination_refuses.set(self.stream.percent(10));
                (resumed(is_rare), None)
            }
        };
        self.happen(one);
        if let Some(then) = then {
            self.pass(5_000);
            self.happen(then);
        }
    }

    /// Some time, up to this many microseconds.
    fn pass(&mut self, most: u64) {
        let end = self.pair.state.now + Span::micros(self.stream.below(most + 1));
        while let Some(next) = self.pair.next_at().filter(|next| *next <= end) {
            self.pair.advance(next);
            self.look();
        }
        self.pair.advance(end);
        self.look();
    }

    fn look(&mut self) {
        for one in self.pair.finished() {
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at);
            assert!(self.under_way.remove(&one.tag).is_some(), "ended twice");
            if let Err(error) = one.result {
                assert!(matches!(error, IoError::Device | IoError::NoSpace));
                self.failed += 1;
            }
        }
    }

    /// What is reported is what the ledger finds.
    fn compare(&mut self) {
        for (number, is_failsafe) in self.is_failsafe.into_iter().enumerate() {
            let state = self.pair.replication().group(number);
            *self.seen.entry(state.phase.word()).or_default() += 1;
            let found = self.pair.observer.at_risk(number);
            let split = self.pair.observer.split(number);
            assert_eq!(state.split, split, "group {number}");
            let own = &self.pair.state.groups[number];
            let unsafe_loss = state.losses.iter().find(|loss| {
                let lost = loss.lost.unwrap_or_default();
                loss.is_failsafe && lost.writes > 0
            });
            assert_eq!(unsafe_loss, None, "group {number} had failsafe");
            assert_eq!(state.at_risk, found, "group {number} {}", state.phase);
            if is_failsafe
                && !own.roles.is_waived
                && let Some(lost) = found
            {
                assert_eq!(lost, AtRisk::default(), "group {number} has failsafe");
            }
            let other = state.serving.other();
            let followed = self.follower.as_ref();
            let followed = followed.and_then(|one| one.content(number, other));
            if let Some(followed) = followed.filter(|_| split.is_none()) {
                assert_eq!(followed, self.content(number, other), "group {number}");
            }
            let (log, limit) = (state.log.used, state.log.limit);
            assert!(log <= limit, "{log} of {limit}");
        }
    }

    /// What the ledger finds at a site, by the LUN of the source.
    fn content(&self, group: usize, site: Site) -> BTreeMap<(u32, u64), u64> {
        let luns = &self.pair.state.lanes[group].luns;
        let own = self.pair.observer.content(group, site).into_iter();
        own.map(|((lun, unit), tag)| ((luns[usize::from(lun)].0, unit), tag)).collect()
    }

    fn run(&mut self) {
        for _ in 0..120 {
            for _ in 0..self.draw(4) {
                self.ask();
            }
            let most = [0, 500, 3_000, 30_000][self.draw(4)];
            self.pass(most);
            if self.stream.percent(25) {
                self.apply_incident();
            }
            self.compare();
        }
    }

    /// Everything returns, and the rest is done.
    fn end(&mut self) {
        self.destination_refuses.set(false);
        for path in 0..self.pair.state.link.design().paths {
            self.happen(PairIncident::LinkPathReturns(path));
        }
        self.happen(PairIncident::LinkReturns);
        for site in [PairIncident::DestinationReturns, PairIncident::SourceReturns] {
            self.happen(site);
        }
        let site = Site::ALL[self.draw(2)];
        self.happen(PairIncident::Keep { group: None, site });
        for group in 0..2 {
            self.pass(0);
            self.happen(PairIncident::GroupResumed { group, full_copy: false });
        }
        let mut events = 0;
        while let Some(next) = self.pair.next_at() {
            self.pair.advance(next);
            self.look();
            events += 1;
            assert!(events < 1_000_000, "it goes on and on");
        }
    }
}

#[test]
fn the_destination_is_always_a_prefix_and_nothing_is_lost_that_is_not_reported() {
    let mut seen = BTreeMap::new();
    let (mut failed, mut copies, mut lost) = (0, 0, 0);
    let mut changes = [0; 5];
    let mut compared = 0;
    for seed in 0..3_000 {
        let mut tester = Tester::new(seed, None);
        tester.run();
        tester.end();
        tester.compare();
        let pair = &tester.pair;
        assert_eq!(pair.observer.wrong, [] as [String; 0], "seed {seed}");
        assert!(tester.under_way.is_empty(), "seed {seed}");
        let state = pair.replication().state();
        assert!(
            pair.replication().is_in_step(),
            "seed {seed} {state:?} {:?}",
            pair.replication()
                .notes()
                .iter()
                .map(|n| n.what.to_string())
                .collect::<Vec<_>>()
                .join("\n")
        );
        for group in 0..2 {
            assert!(pair.observer.is_same(group), "seed {seed}, group {group}");
            let state = pair.replication().group(group);
            assert_eq!((state.log.used.get(), state.copied.1.get()), (0, 0));
            assert!(state.is_served, "seed {seed}, group {group}");
            for site in Site::ALL {
                let followed = tester.follower.as_ref().unwrap().content(group, site);
                if let Some(followed) = followed {
                    compared += 1;
                    assert_eq!(followed, tester.content(group, site), "seed {seed}");
                }
            }
        }
        for (phase, count) in tester.seen {
            *seen.entry(phase).or_insert(0) += count;
        }
        failed += tester.failed;
        copies += pair.observer.copies_ended;
        lost += pair.observer.lost;
        let all = changes.iter_mut().zip(pair.observer.changes);
        all.for_each(|(sum, own)| *sum += own);
    }
    assert!(changes.iter().all(|count| *count > 300), "{changes:?}");
    assert!(lost > 1_000 && compared > 6_000, "{lost} {compared}");
    assert_eq!(seen.len(), 7, "every phase: {seen:?}");
    assert!(seen.values().all(|count| *count > 1_000), "{seen:?}");
    assert!(failed > 1_000 && copies > 1_000, "{failed} {copies}");
}

/// How many seeds of 300 the control struck, and how many of these the ledger found; `trouble`
/// comes now and then.
fn struck_and_found(control: Control, trouble: fn(&mut Tester)) -> (u32, u32) {
    let (mut struck, mut found) = (0, 0);
    for seed in 0..300 {
        let mut tester = Tester::new(seed, Some(control));
        for _ in 0..60 {
            tester.ask();
            tester.pass(2_000);
            if tester.stream.percent(10) {
                trouble(&mut tester);
            }
        }
        tester.end();
        let observer = &tester.pair.observer;
        if tester.pair.replication().struck() == [control] {
            struck += 1;
            let is_red = !observer.wrong.is_empty() || !(0..2).all(|one| observer.is_same(one));
            found += u32::from(is_red);
        } else {
            assert_eq!(observer.wrong, [] as [String; 0], "seed {seed}");
        }
    }
    (struck, found)
}

fn lose_the_link(tester: &mut Tester) {
    tester.happen(PairIncident::LinkLost);
    tester.ask();
    tester.pass(5_000);
    tester.happen(PairIncident::LinkReturns);
}

/// The site that serves is lost, the other one takes over, and the first one returns.
fn lose_the_site(tester: &mut Tester) {
    let serving = tester.pair.state.serving(0);
    let (lost, returns) = match serving {
        Site::Source => (PairIncident::SourceLost, PairIncident::SourceReturns),
        Site::Destination => (PairIncident::DestinationLost, PairIncident::DestinationReturns),
    };
    tester.happen(lost);
    tester.happen(PairIncident::FailOver {
        group: None,
        to: serving.other(),
        how: Failover::Unplanned,
    });
    for _ in 0..3 {
        tester.ask();
        tester.pass(5_000);
    }
    tester.happen(returns);
}

#[test]
fn a_stale_site_that_serves_turns_the_ledger_red() {
    let (struck, found) = struck_and_found(Control::PromoteStale, lose_the_site);
    assert!(struck > 200, "{struck}");
    assert_eq!(found, struck);
}

#[test]
fn a_dropped_write_turns_the_ledger_red() {
    let (struck, found) = struck_and_found(Control::DropOne, lose_the_link);
    assert!(struck > 250, "{struck}");
    assert_eq!(found, struck);
}

#[test]
fn two_swapped_writes_turn_the_ledger_red() {
    let (struck, found) = struck_and_found(Control::SwapTwo, lose_the_link);
    assert!(struck > 100, "{struck}");
    assert_eq!(found, struck);
}

#[test]
fn a_log_without_its_tail_turns_the_ledger_red() {
    let (struck, found) = struck_and_found(Control::LoseTail, lose_the_link);
    assert!(struck > 100, "{struck}");
    assert_eq!(found, struck);
}
