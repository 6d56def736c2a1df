//! Timelines by seed: hosts that die, freeze and restart, links that are cut, slow and flapping,
//! coordinators that die at any step and are followed by others.
//!
//! After each: everything has ended; a run has begun at most once on each host; nobody's sessions
//! worked before all were ready; a pass means that all began to collect within the skew that is
//! allowed, that every host came to its end undisturbed, and that its folder is here; without an
//! accident it passes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::rc::Rc;

use brunt_fleet::{Device, HostPlan, Limits, Phase, Plan, Program, Report};
use brunt_report::result::Verdict;
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::{Cores, Host, LinkOptions, VirtualLink, VirtualOptions, VirtualWorld};

use crate::conductor::{Conductor, Kept};
use crate::hosts::{Course, Made, Server};

/// Timelines of the usual run, and of the long one.
const SEEDS: u64 = 120;
const SEEDS_LONG: u64 = 4_000;
/// What takes longer in virtual time hangs.
const HANGS: Span = Span::seconds(30 * 60);
pub(crate) const WAIT: Span = Span::seconds(40);
const COLLECTS: Span = Span::seconds(8);
pub(crate) const MAX_SKEW: Span = Span::millis(500);

/// What happens that nobody wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accident {
    AgentKilled(usize),
    AgentFrozen(usize, Span),
    EngineStuck(usize, Span),
    HostFrozen(usize, Span),
    HostKilled(usize, Option<Span>),
    PowerLost(usize, Option<Span>),
    Reset(usize),
    Damage(usize),
    /// The coordinator dies, and another one comes after this.
    CoordinatorKilled(Option<Span>),
    /// Another coordinator attaches while the first one works.
    Another,
    Stop,
}

pub(crate) struct Timeline {
    pub(crate) hosts: Vec<Made>,
    pub(crate) links: Vec<LinkOptions>,
    pub(crate) accidents: Vec<(Span, Accident)>,
    /// The coordinator dies after this many messages, and another one comes after that.
    pub(crate) dies_after: Option<(u64, Span)>,
}

pub(crate) fn program() -> Program {
    Program { version: "0.1.0".to_owned(), commit: Some("abc".to_owned()) }
}

/// A host of which nothing is unusual.
pub(crate) fn usual(number: usize) -> Made {
    let millis = Span::millis;
    Made {
        course: Course {
            checking: millis(100),
            creating: millis(900),
            warming: millis(1_500),
            collecting: COLLECTS,
            closing: millis(700),
            verdict: Verdict::Pass,
            breaks: None,
            gives_up: None,
            folder_bytes: 150_000,
        },
        program: program(),
        ahead: Span::seconds(3_600 * number as u64),
        drift_ppm: 0,
        boot: format!("boot-{number}"),
        devices: vec![Device { id: format!("lun-{number}"), folder: "/mnt".to_owned() }],
        wait: WAIT,
        is_careless: false,
    }
}

fn made(draw: &mut Stream, number: usize) -> Made {
    let mut made = usual(number);
    let drawn = |draw: &mut Stream, most: u64| Span::millis(draw.below(most));
    made.course.checking = drawn(draw, 500);
    made.course.creating = drawn(draw, 4_000);
    made.course.warming = drawn(draw, 4_000);
    made.course.closing = drawn(draw, 2_000);
    made.course.folder_bytes = usize::try_from(draw.below(300_000)).unwrap();
    made.ahead = Span(draw.below(Span::seconds(86_400 * 30).0));
    made.drift_ppm = i64::try_from(draw.below(200)).unwrap() - 100;
    if draw.percent(3) {
        made.course.verdict = Verdict::Fail;
    }
    if draw.percent(3) {
        let phases = [Phase::Checking, Phase::Preparing, Phase::Warming, Phase::Collecting];
        made.course.breaks = Some(phases[usize::try_from(draw.below(4)).unwrap()]);
    }
    if draw.percent(2) {
        made.course.gives_up = Some(drawn(draw, 7_000));
    }
    if draw.percent(2) {
        made.course.creating = Span::seconds(100);
    }
    made
}

impl Timeline {
    pub(crate) fn of(seed: u64) -> Self {
        let mut draw = Streams::new(seed).named("timeline");
        let count = match draw.below(20) {
            0 => 40,
            few => 1 + usize::try_from(few % 6).unwrap(),
        };
        let hosts = (0..count).map(|number| made(&mut draw, number)).collect();
        let links = (0..count).map(|_| link(&mut draw)).collect();
        let accidents = (0..draw.below(5).saturating_sub(1)).map(|_| {
            let host = usize::try_from(draw.below(count as u64)).unwrap();
            let lasts = Span::millis(1 + draw.below(20_000));
            let back = draw.percent(60).then_some(lasts);
            let what = match draw.below(14) {
                0 => Accident::AgentKilled(host),
                1 => Accident::AgentFrozen(host, lasts),
                2 => Accident::EngineStuck(host, lasts),
                3 => Accident::HostFrozen(host, lasts),
                4 => Accident::HostKilled(host, back),
                5 => Accident::PowerLost(host, back),
                6..=8 => Accident::Reset(host),
                9 => Accident::Damage(host),
                10 | 11 => Accident::CoordinatorKilled(back),
                12 => Accident::Another,
                _ => Accident::Stop,
            };
            (Span::millis(draw.below(30_000)), what)
        });
        let accidents = accidents.collect();
        let dies_after = draw
            .percent(30)
            .then(|| (draw.below(120 * count as u64), Span::millis(draw.below(20_000))));
        Self { hosts, links, accidents, dies_after }
    }

    /// Whether nothing goes wrong: hosts are as usual, and links only slow.
    fn is_calm(&self) -> bool {
        let is_usual = |made: &Made| {
            let course = &made.course;
            course.breaks.is_none() && course.gives_up.is_none() && course.creating < WAIT
        };
        let is_whole = |link: &LinkOptions| link.outages.is_empty();
        self.accidents.is_empty()
            && self.dies_after.is_none()
            && self.hosts.iter().all(is_usual)
            && self.links.iter().all(is_whole)
    }
}

fn link(draw: &mut Stream) -> LinkOptions {
    let outages = match draw.below(5) {
        0 => {
            let mut at = Time::ZERO;
            let mut outages: Vec<Range<Time>> = Vec::new();
            for _ in 0..1 + draw.below(4) {
                let begin = at + Span::millis(1 + draw.below(12_000));
                at = begin + Span::millis(1 + draw.below(12_000));
                outages.push(begin..at);
            }
            outages
        }
        _ => Vec::new(),
    };
    LinkOptions {
        delay: Span::micros(50 + draw.below(30_000)),
        bytes_per_second: [0, 1_250_000, 125_000_000][usize::try_from(draw.below(3)).unwrap()],
        jitter: Span::micros(draw.below(20_000)),
        lost_per_million: if draw.percent(20) { 1_000 } else { 0 },
        outages,
    }
}

pub(crate) fn plan(hosts: usize, coordinator: u64) -> Plan {
    let host = |number| HostPlan {
        name: format!("MAIL{number}"),
        run: "run".to_owned(),
        scenario: "a scenario".to_owned(),
    };
    Plan {
        program: program(),
        coordinator,
        replace: false,
        hosts: (1..=hosts).map(host).collect(),
        limits: Limits {
            wait: WAIT,
            max_skew: MAX_SKEW,
            same_machine: false,
            reach: Span::seconds(30),
            lasts: COLLECTS,
            bytes_max: 1 << 20,
        },
    }
}

/// How a timeline ended.
pub(crate) struct Ended {
    /// What the last coordinator said; `None` if there was none at the end.
    pub(crate) report: Option<Report>,
    pub(crate) servers: Vec<Rc<Server>>,
    pub(crate) kept: Rc<Kept>,
    /// Hosts that were disturbed while their sessions worked, or died before their end.
    pub(crate) disturbed: Vec<bool>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.servers.iter().for_each(|server| server.part());
    }
}

fn address(number: usize) -> IpAddr {
    let [high, low] = u16::try_from(number + 1).unwrap().to_be_bytes();
    [10, 1, high, low].into()
}

/// The coordinators of a timeline, one after the other.
struct Seat {
    below: World,
    host: RefCell<Host>,
    addresses: Vec<IpAddr>,
    kept: Rc<Kept>,
    conductor: RefCell<Option<Rc<Conductor>>>,
    reports: RefCell<Vec<Report>>,
    count: Cell<u64>,
    /// Coordinators that are at work or will come.
    expected: Cell<u32>,
    is_dead: Cell<bool>,
}

impl Seat {
    fn sit(self: &Rc<Self>) {
        self.count.set(self.count.get() + 1);
        let world = self.host.borrow().world().clone();
        let plan = plan(self.addresses.len(), self.count.get());
        let conductor = Conductor::new(&world, &self.addresses, plan);
        *self.conductor.borrow_mut() = Some(Rc::clone(&conductor));
        let seat = Rc::clone(self);
        let kept = Rc::clone(&self.kept);
        drop(world.spawner.spawn(async move {
            let report = conductor.conduct(kept).await;
            let is_replaced = |report: &Report| {
                report.reasons.iter().any(|why| why.contains("another coordinator"))
            };
            if !is_replaced(&report) {
                seat.reports.borrow_mut().push(report);
            }
            seat.expected.set(seat.expected.get() - 1);
        }));
    }

    fn messages(&self) -> u64 {
        self.conductor.borrow().as_ref().map_or(0, |conductor| conductor.sent.get())
    }

    async fn die(self: &Rc<Self>, back: Option<Span>) {
        if self.is_dead.replace(true) {
            return;
        }
        self.host.borrow().kill();
        self.expected.set(u32::from(back.is_some()));
        if let Some(back) = back {
            self.below.sleep(back).await;
            let next = self.host.borrow().restart();
            *self.host.borrow_mut() = next;
            self.is_dead.set(false);
            self.sit();
        }
    }
}

/// Runs a timeline; nothing when it hangs.
pub(crate) fn run(seed: u64, timeline: &Timeline) -> Option<Ended> {
    let count = timeline.hosts.len();
    let here: IpAddr = [10, 0, 0, 1].into();
    let links = timeline.links.iter().enumerate();
    let links = links.map(|(number, options)| VirtualLink {
        ends: [address(number), here],
        options: options.clone(),
    });
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { links: links.collect(), ..VirtualOptions::new(seed) });
    let (machine, below) = (virtual_world.machine.clone(), virtual_world.world.clone());
    let servers: Vec<Rc<Server>> = timeline
        .hosts
        .iter()
        .enumerate()
        .map(|(number, made)| Server::new(&machine, &below, address(number), made.clone()))
        .collect();
    servers.iter().for_each(|server| server.meet(&servers));
    let seat = Rc::new(Seat {
        host: RefCell::new(Host::new(&machine, &below, "here", here, Cores::Unlimited)),
        below: below.clone(),
        addresses: (0..count).map(address).collect(),
        kept: Rc::default(),
        conductor: RefCell::default(),
        reports: RefCell::default(),
        count: Cell::default(),
        expected: Cell::new(1),
        is_dead: Cell::default(),
    });
    let disturbed = Rc::new(RefCell::new(vec![false; count]));
    let (accidents, dies_after) = (timeline.accidents.clone(), timeline.dies_after);
    let (all, marks) = (servers.clone(), Rc::clone(&disturbed));
    let kept = Rc::clone(&seat.kept);
    let report = virtual_world.executor.block_on(async move {
        seat.sit();
        for (at, accident) in accidents {
            let (seat, all, marks) = (Rc::clone(&seat), all.clone(), Rc::clone(&marks));
            drop(below.spawner.spawn(async move {
                seat.below.sleep(at).await;
                happen(accident, &seat, &all, &marks).await;
            }));
        }
        let mut dies_after = dies_after;
        loop {
            if let Some((messages, back)) = dies_after
                && seat.messages() >= messages
            {
                dies_after = None;
                if seat.expected.get() > 0 {
                    let seat = Rc::clone(&seat);
                    drop(below.spawner.spawn(async move { seat.die(Some(back)).await }));
                }
            }
            below.sleep(Span::millis(50)).await;
            let is_over = seat.expected.get() == 0 && all.iter().all(|server| server.has_ended());
            if is_over {
                return Some(seat.reports.borrow().last().cloned());
            }
            if below.clock.now().0 > HANGS.0 {
                return None;
            }
        }
    });
    let disturbed = disturbed.take();
    Some(Ended { report: report?, servers, kept, disturbed })
}

async fn happen(
    accident: Accident,
    seat: &Rc<Seat>,
    servers: &[Rc<Server>],
    marks: &RefCell<Vec<bool>>,
) {
    let mark = |host: usize| {
        let server: &Server = &servers[host];
        if !server.truth.is_complete.get() {
            marks.borrow_mut()[host] = true;
        }
    };
    let freeze_mark = |host: usize, lasts: Span| {
        let server: &Server = &servers[host];
        let left = server.truth.collected.get().map_or(Span::ZERO, |at| {
            (at + Span(COLLECTS.0 - Span::millis(100).0)).since(seat.below.clock.now())
        });
        if lasts > Span::seconds(6) && left > Span::ZERO {
            marks.borrow_mut()[host] = true;
        }
    };
    match accident {
        Accident::AgentKilled(host) => {
            mark(host);
            servers[host].kill_agent();
        }
        Accident::AgentFrozen(host, lasts) => {
            freeze_mark(host, lasts);
            servers[host].freeze_agent(lasts).await;
        }
        Accident::EngineStuck(host, lasts) => {
            freeze_mark(host, lasts);
            servers[host].stick(lasts).await;
        }
        Accident::HostFrozen(host, lasts) => {
            freeze_mark(host, lasts);
            servers[host].freeze(lasts).await;
        }
        Accident::HostKilled(host, back) => {
            mark(host);
            servers[host].die(false, back).await;
        }
        Accident::PowerLost(host, back) => {
            mark(host);
            servers[host].die(true, back).await;
        }
        Accident::Reset(host) => servers[host].reset(),
        Accident::Damage(host) => servers[host].damages.set(true),
        Accident::CoordinatorKilled(back) if seat.expected.get() == 1 => seat.die(back).await,
        Accident::Another if seat.expected.get() == 1 && !seat.is_dead.get() => {
            seat.expected.set(2);
            seat.sit();
        }
        Accident::CoordinatorKilled(_) | Accident::Another => {}
        Accident::Stop => {
            if let Some(conductor) = &*seat.conductor.borrow() {
                conductor.stops.set(1);
            }
        }
    }
}

fn check(timeline: &Timeline, ended: Option<&Ended>) -> Result<(), String> {
    let Some(ended) = ended else {
        return Err("it hangs".to_owned());
    };
    let count = ended.servers.len();
    for (number, server) in ended.servers.iter().enumerate() {
        let truth = &server.truth;
        if truth.begun.get() > 1 {
            return Err(format!("host {number} began {} times", truth.begun.get()));
        }
        if truth.worked.get().is_some() && truth.ready_then.get() < count {
            return Err(format!("host {number} worked when {} were ready", truth.ready_then.get()));
        }
    }
    let collected = || ended.servers.iter().filter_map(|server| server.truth.collected.get());
    let apart = collected().max().unwrap_or_default().since(collected().min().unwrap_or_default());
    let Some(report) = &ended.report else {
        return Ok(());
    };
    if report.verdict == Verdict::Pass {
        check_pass(ended)?;
        let (skew, bound) =
            (report.skew.unwrap_or_default(), report.skew_bound.unwrap_or_default());
        if apart > MAX_SKEW + bound {
            return Err(format!("it passes, and collections began {apart} apart"));
        }
        let wrong = skew.0.abs_diff(apart.0);
        if count > 1 && wrong > bound.0 + Span::millis(1).0 {
            return Err(format!("the skew is {apart}, and said to be {skew} within {bound}"));
        }
    }
    let fails = timeline.hosts.iter().any(|made| made.course.verdict == Verdict::Fail);
    let wanted = if fails { Verdict::Fail } else { Verdict::Pass };
    if timeline.is_calm() && report.verdict != wanted {
        return Err("nothing went wrong".to_owned());
    }
    Ok(())
}

fn check_pass(ended: &Ended) -> Result<(), String> {
    for (number, server) in ended.servers.iter().enumerate() {
        if !server.truth.is_complete.get() || server.made.course.verdict != Verdict::Pass {
            return Err(format!("it passes, and host {number} did not"));
        }
        if ended.disturbed[number] {
            return Err(format!("it passes, and host {number} was disturbed"));
        }
        for (name, bytes) in server.folder() {
            if ended.kept.borrow().get(&(number, name.to_owned())) != Some(&bytes) {
                return Err(format!("it passes, and {name} of host {number} is not here"));
            }
        }
    }
    Ok(())
}

/// Looks at many timelines; what became of them.
fn search(seeds: Range<u64>) -> BTreeMap<String, u64> {
    let mut verdicts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds {
        let timeline = Timeline::of(seed);
        let ended = run(seed, &timeline);
        if let Err(what) = check(&timeline, ended.as_ref()) {
            let report = ended.as_ref().and_then(|ended| ended.report.clone());
            panic!(
                "seed {seed}: {what}\n{:#?}\n{:?}\n{:#?}\n{report:#?}",
                timeline.accidents, timeline.dies_after, timeline.hosts
            );
        }
        let report = ended.as_ref().and_then(|ended| ended.report.as_ref());
        let verdict = report.map_or("nobody".to_owned(), |report| format!("{:?}", report.verdict));
        *verdicts.entry(verdict).or_default() += 1;
    }
    verdicts
}

#[test]
fn no_timeline_is_green_with_a_host_missing_or_hangs() {
    let seeds = match std::env::var_os("BRUNT_LONG") {
        Some(_) => SEEDS_LONG,
        None => SEEDS,
    };
    let verdicts = search(1..seeds + 1);
    for verdict in ["Pass", "Fail", "Invalid", "Error", "Interrupted"] {
        assert!(verdicts.contains_key(verdict), "{verdicts:?}");
    }
}

#[test]
fn two_hundred_hosts_begin_at_one_instant() {
    let mut timeline = Timeline { accidents: Vec::new(), dies_after: None, ..Timeline::of(1) };
    let mut draw = Streams::new(7).named("two hundred");
    timeline.hosts = (0..200).map(usual).collect();
    timeline.links =
        (0..200).map(|_| LinkOptions { outages: Vec::new(), ..link(&mut draw) }).collect();
    let ended = run(7, &timeline);
    check(&timeline, ended.as_ref()).unwrap();
    assert_eq!(ended.unwrap().report.clone().unwrap().verdict, Verdict::Pass);
}

#[test]
fn a_door_that_forgets_what_was_claimed_is_found() {
    let found = (1..SEEDS * 4).find(|seed| {
        let mut timeline = Timeline::of(*seed);
        timeline.hosts.iter_mut().for_each(|made| made.is_careless = true);
        let ended = run(*seed, &timeline);
        let what = check(&timeline, ended.as_ref()).err();
        what.is_some_and(|what| what.contains("times"))
    });
    assert!(found.is_some());
}
