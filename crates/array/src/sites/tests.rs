//! Replicas with content: each has exactly what its instant says, whatever becomes of the link.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::{Stream, Streams};

use super::truth::Truth;
use super::*;
use crate::Verb;
use crate::paged::tests::design;
use crate::paged::{PagedDesign, PagedLunDesign};
use crate::pair::PairLinkDesign;

const PLACE: u64 = 6;

fn pool(pages: u64) -> PagedDesign {
    let lun = |name: &str| PagedLunDesign {
        name: name.into(),
        size: ByteSize::kib(24 * 6),
        is_thin: true,
        reserve: None,
    };
    let mut design = design(2, pages, true);
    design.luns = vec![lun("data"), lun("log")];
    design
}

fn replica() -> ReplicaDesign {
    ReplicaDesign {
        name: "mail".into(),
        luns: vec![0, 1],
        first: Time(1_000_000_000),
        every: Span::seconds(10),
        keep: 2,
        seed: Seed::Link,
        local_reserve: None,
        failback: false,
        replica_reserve: None,
    }
}

/// Sites whose content is kept.
struct Observed {
    sites: Sites,
    truth: Truth,
}

impl Observed {
    fn new(design: &SitesDesign, seed: u64) -> Self {
        let mut sites = Sites::new(design, Streams::new(seed)).unwrap();
        let truth = Truth::of(&mut sites);
        Self { sites, truth }
    }
}

impl Deref for Observed {
    type Target = Sites;

    fn deref(&self) -> &Sites {
        &self.sites
    }
}

impl DerefMut for Observed {
    fn deref_mut(&mut self) -> &mut Sites {
        &mut self.sites
    }
}

fn sites(design: &SitesDesign) -> Observed {
    Observed::new(design, 1)
}

fn slow_link() -> PairLinkDesign {
    PairLinkDesign {
        round_trip: Span::millis(10),
        bytes_per_second: 409_600,
        round_trips_per_write: 1,
        ..PairLinkDesign::default()
    }
}

fn said(sites: &Sites) -> Vec<String> {
    let notes = sites.state.notes().iter();
    notes.map(|note| format!("{}", note.what)).collect()
}

fn write(sites: &mut Sites, lun: u32, start: u64, sectors: u64, tag: u64) {
    let now = sites.state.now;
    let io = HostIo { lun, verb: Verb::Write, extent: Extent::new(start, sectors), tag };
    sites.submit(now, io);
}

/// Reads a LUN of the partner by its number there.
fn read_there(sites: &mut Observed, lun: u32, sectors: u64) -> Vec<u64> {
    let io = HostIo { lun, verb: Verb::Read, extent: Extent::new(0, sectors), tag: u64::MAX };
    let Observed { sites, truth } = sites;
    let pool = &mut sites.partner;
    let now = pool.now();
    pool.submit(now, io);
    // Blocks may be under way, too.
    while !truth.partner.borrow().answers.contains_key(&u64::MAX) {
        let next = pool.next_at().unwrap();
        pool.advance(next);
    }
    pool.finished().for_each(drop);
    let found = truth.partner.borrow_mut().answers.remove(&u64::MAX);
    found.unwrap().into_values().collect()
}

#[test]
fn a_copy_takes_the_time_computed_by_hand() {
    let mut design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![replica()]);
    (design.source.balance, design.partner.balance) = (None, None);
    design.outstanding = 1;
    let mut sites = sites(&design);
    // Three grains of 4 KiB in one block, and one in another page.
    write(&mut sites, 0, 0, 24, 1);
    write(&mut sites, 1, 48, 8, 2);
    sites.advance(Time(1_500_000_000));
    // 12 KiB and 4 KiB at 400 KiB/s are 40 ms, three round trips of 10 ms 30 ms: blocks, and that
    // all is there. Drives take some more.
    let took = sites.state.sets[0].counted.last_took.unwrap();
    let link = Span::millis(40 + 30);
    assert!(took > link && took < link + Span::millis(60), "{took}");
    assert_eq!(sites.state.states()[0].sent, ByteSize::kib(16));
    assert_eq!(
        said(&sites),
        [
            "mail: replica 1 started: 16 KiB to send".to_owned(),
            format!("mail: replica 1 of 1.0 s complete, after {took}"),
        ]
    );
    // Nothing has changed: one round trip without blocks.
    sites.advance(Time(11_500_000_000));
    assert_eq!(sites.state.sets[0].counted.last_took, Some(Span::millis(10)));
    assert_eq!(sites.state.age(), Some(Span::millis(500)));
    // It was 10.005 s old when the second one was there.
    let worst = sites.state.states()[0].worst_age;
    assert_eq!(worst, Some(Span::micros(10_005_000)));
    // One sector is one grain.
    write(&mut sites, 0, 3, 1, 3);
    sites.advance(Time(12_000_000_000));
    let state = &sites.state.states()[0];
    assert_eq!((state.at_risk, state.kept), (ByteSize::kib(4), 2));
}

/// Sizes in GB are no whole number of pages, nor of grains.
#[test]
fn a_lun_that_ends_within_a_page_is_replicated_up_to_its_end() {
    // Pages of 48 sectors, grains of 8.
    for sectors in [241, 248, 251, 264, 287] {
        for on_media in [false, true] {
            let mut one = replica();
            if on_media {
                one.seed = Seed::Media(Span::seconds(3));
            }
            let mut source = pool(20);
            for lun in &mut source.luns {
                (lun.size, lun.is_thin) = (ByteSize::bytes(sectors * 512), false);
            }
            let mut design = SitesDesign::new(source, pool(20), slow_link(), vec![one]);
            design.block = ByteSize::kib(4);
            let mut sites = sites(&design);
            write(&mut sites, 0, sectors - 5, 5, 1);
            sites.advance(Time(8_000_000_000));
            write(&mut sites, 0, sectors - 2, 2, 2);
            sites.advance(Time(40_000_000_000));
            let state = &sites.state.states()[0];
            assert_eq!(state.given_up, 0, "{sectors}: {:?}", said(&sites));
            assert!(state.complete > 1, "{sectors}: {state:?}");
            let sets = sites.partner.snapshot_sets();
            let newest = sets.last().unwrap().members[0].snapshot;
            let found = read_there(&mut sites, newest, sectors);
            let end = found.len() - 5;
            assert_eq!(found[end..], [1, 1, 1, 2, 2], "{sectors}");
        }
    }
}

#[test]
fn what_goes_on_media_does_not_cross_the_link() {
    let mut first = replica();
    first.seed = Seed::Media(Span::seconds(3600));
    let design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![first]);
    let mut sites = sites(&design);
    for page in 0..6 {
        write(&mut sites, 0, page * 48, 48, page + 1);
    }
    sites.advance(Time(3_000_000_000_000));
    // Changed since; it goes over the link later.
    write(&mut sites, 0, 0, 8, 9);
    sites.advance(Time(3_700_000_000_000));
    assert_eq!(sites.state.link.bytes_sent(), 4096);
    let texts = said(&sites);
    assert_eq!(
        texts[..2],
        [
            "mail: replica 1 started: 144 KiB to send on media",
            "mail: the first replica is on its way on media"
        ]
    );
    assert!(texts.contains(&"mail: media arrived at the partner".to_owned()));
    assert_eq!(sites.state.states()[0].kept, 2);
    let sets = sites.partner.snapshot_sets();
    assert_eq!(read_there(&mut sites, sets[1].members[0].snapshot, 48)[7..9], [9, 1]);
}

#[test]
fn loading_from_media_needs_the_partner_and_no_link() {
    let left = |loses_partner: bool| {
        let mut first = replica();
        first.seed = Seed::Media(Span::seconds(3600));
        let design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![first]);
        let mut sites = sites(&design);
        write(&mut sites, 0, 0, 288, 1);
        while !said(&sites).contains(&"mail: media arrived at the partner".to_owned()) {
            let next = sites.next_at().unwrap();
            sites.advance(next);
        }
        sites.set_link(false);
        let next = sites.state.now() + Span::nanos(1);
        sites.advance(next);
        if loses_partner {
            sites.set_partner(false);
            let next = sites.state.now() + Span::millis(3);
            sites.advance(next);
            sites.set_partner(true);
        }
        let next = sites.state.now() + Span::seconds(600);
        sites.advance(next);
        sites.state.states()[0].left.map(ByteSize::get)
    };
    // Only the last round trip is missing.
    assert_eq!([false, true].map(left), [Some(0), Some(0)]);
}

#[test]
fn a_lost_link_delays_a_replica_and_the_older_one_stays() {
    let mut link = slow_link();
    link.outages = vec![Time(11_100_000_000)..Time(35_000_000_000)];
    let design = SitesDesign::new(pool(20), pool(20), link, vec![replica()]);
    let mut sites = sites(&design);
    write(&mut sites, 0, 0, 288, 1);
    sites.advance(Time(10_000_000_000));
    write(&mut sites, 0, 0, 288, 2);
    sites.advance(Time(34_000_000_000));
    let state = &sites.state.states()[0];
    assert_eq!((state.complete, state.skipped, state.kept), (1, 2, 1));
    assert_eq!(state.age, Some(Span::seconds(33)));
    let left = state.left.unwrap();
    assert!(left > ByteSize::kib(0) && left < ByteSize::kib(144), "{left}");
    let older = sites.partner.snapshot_sets()[0].members[0].snapshot;
    assert!(read_there(&mut sites, older, 288).iter().all(|version| *version == 1));
    sites.advance(Time(40_000_000_000));
    let newer = sites.partner.snapshot_sets()[1].members[0].snapshot;
    assert!(read_there(&mut sites, newer, 288).iter().all(|version| *version == 2));
    assert!(read_there(&mut sites, older, 288).iter().all(|version| *version == 1));
    let resumed = format!("mail: replica resumed: {left} left to send");
    assert!(said(&sites).contains(&resumed), "{:?}", said(&sites));
    // What had arrived before was not sent again, but for what was under way.
    let sent = sites.state.states()[0].sent;
    assert_eq!(sent, ByteSize::kib(288));
}

#[test]
fn a_full_local_reserve_costs_the_replica_and_nothing_else() {
    let mut one = replica();
    (one.local_reserve, one.keep) = (Some(20), 1);
    one.every = Span::seconds(30);
    let mut design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![one]);
    design.outstanding = 1;
    let mut sites = sites(&design);
    write(&mut sites, 0, 0, 288, 1);
    sites.advance(Time(30_500_000_000));
    write(&mut sites, 0, 0, 288, 2);
    sites.advance(Time(31_050_000_000));
    write(&mut sites, 0, 0, 288, 3);
    sites.advance(Time(60_900_000_000));
    let given_up = "mail: replica given up: the local reserve is full".to_owned();
    assert!(said(&sites).contains(&given_up), "{:?}", said(&sites));
    let state = &sites.state.states()[0];
    assert_eq!((state.complete, state.given_up), (1, 1));
    sites.advance(Time(90_000_000_000));
    assert_eq!(sites.state.states()[0].complete, 2, "the next one is");
    let newest = sites.partner.snapshot_sets()[0].members[0].snapshot;
    assert!(read_there(&mut sites, newest, 288).iter().all(|version| *version == 3));
}

#[test]
fn a_partner_without_room_keeps_the_newest_replica() {
    let mut partner = pool(20);
    partner.members.truncate(1);
    partner.members[0].groups[0].drive_size = Some(ByteSize::kib(14 * 26 + 64));
    partner.balance = None;
    let design = SitesDesign::new(pool(30), partner, slow_link(), vec![replica()]);
    let mut sites = sites(&design);
    for round in 1..=4 {
        for lun in 0..2 {
            write(&mut sites, lun, 0, 288, round);
        }
        sites.advance(Time(10_000_000_000 * round));
    }
    sites.advance(Time(400_000_000_000));
    let no_room = "mail: paused: no room at the partner".to_owned();
    assert!(said(&sites).contains(&no_room), "{:?}", said(&sites));
    let state = &sites.state.states()[0];
    assert!(state.kept >= 1 && state.left.is_some(), "{state:?}");
    let sets = sites.partner.snapshot_sets();
    let whole = read_there(&mut sites, sets[0].members[0].snapshot, 288);
    assert!(whole.iter().all(|version| *version == whole[0]), "{whole:?}");
}

#[test]
fn designs_that_cannot_be_are_refused() {
    let refuse = |change: &dyn Fn(&mut SitesDesign)| {
        let mut design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![replica()]);
        change(&mut design);
        let error = Sites::new(&design, Streams::new(1)).err();
        error.map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(refuse(&|_| ()), "");
    let no_lun = "replica \"mail\" has no such LUN";
    assert_eq!(refuse(&|one| one.replicas[0].luns = vec![7]), no_lun);
    assert_eq!(refuse(&|one| one.replicas[0].luns.clear()), no_lun);
    assert_eq!(
        refuse(&|one| one.replicas.push(replica())),
        "replica \"mail\": LUN \"data\" is replicated already"
    );
    assert_eq!(refuse(&|one| one.replicas[0].keep = 0), "replica \"mail\": keeps no replica");
    assert!(refuse(&|one| one.partner.grain = ByteSize::kib(8)).starts_with("grains of 4 KiB"));
    assert!(refuse(&|one| one.link.paths = 0).starts_with("link: "));
    let mut sites = sites(&SitesDesign::new(pool(20), pool(20), slow_link(), vec![replica()]));
    let schedule = |sites: &mut Sites, incident| {
        let error = sites.schedule(&Scheduled::new(Time::ZERO, incident)).err();
        error.map(|error| error.to_string())
    };
    let grows = Incident::LunGrows(0, ByteSize::mib(1));
    assert_eq!(
        schedule(&mut sites, grows).unwrap(),
        "a LUN with replicas cannot grow or be removed"
    );
    let path = Incident::Pair(PairIncident::LinkPathLost(1));
    assert_eq!(schedule(&mut sites, path).unwrap(), "there is no path of the link 1");
}

#[derive(Clone, Debug, Default)]
struct Place {
    version: u64,
    writing: Option<u64>,
}

/// A host that remembers what each start may hold.
struct Host {
    sites: Observed,
    stream: Stream,
    luns: Vec<Vec<Place>>,
    asked: BTreeMap<u64, (u32, usize, usize)>,
    next: u64,
    heard: Heard,
    /// By number of the replica: per LUN and sector, what it must have.
    starts: BTreeMap<u64, Vec<Vec<u64>>>,
}

type Heard = Rc<RefCell<Vec<ReplicaMove>>>;

struct Hearing(Heard);

impl ReplicaListener for Hearing {
    fn observe(&mut self, _: Time, set: usize, moved: ReplicaMove) {
        assert_eq!(set, 0);
        self.0.borrow_mut().push(moved);
    }
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut stream = Streams::new(seed).named("host");
        let mut one = replica();
        one.first = Time(100_000_000 + stream.below(200_000_000));
        one.every = Span::millis(150 + stream.below(500));
        one.keep = 1 + u32::try_from(stream.below(3)).unwrap();
        one.failback = stream.percent(30);
        one.local_reserve = stream.percent(30).then_some(35);
        one.replica_reserve = stream.percent(30).then_some(120);
        if stream.percent(25) {
            one.seed = Seed::Media(Span::millis(200));
        }
        let link = PairLinkDesign {
            round_trip: Span::micros(200 + stream.below(4000)),
            jitter: Span::micros(stream.below(2000)),
            bytes_per_second: 300_000 << stream.below(5),
            lost_per_million: 1000,
            round_trips_per_write: 1 + u32::try_from(stream.below(2)).unwrap(),
            paths: 2,
            ..PairLinkDesign::default()
        };
        let mut design = SitesDesign::new(pool(30), pool(14), link, vec![one]);
        design.block = ByteSize::kib(4 << stream.below(3));
        design.partner.page =
            [ByteSize::kib(24), ByteSize::kib(8)][usize::from(stream.percent(50))];
        let places = usize::try_from((24 * 6 * 2_u64).div_euclid(PLACE)).unwrap();
        let heard = Heard::default();
        let mut sites = Observed::new(&design, seed);
        let hearing = Box::new(Hearing(Rc::clone(&heard)));
        sites.listen_to_replicas(hearing).unwrap();
        Self {
            sites,
            heard,
            stream,
            luns: vec![vec![Place::default(); places]; 2],
            asked: BTreeMap::new(),
            next: 1,
            starts: BTreeMap::new(),
        }
    }

    fn draw(&mut self, bound: usize) -> usize {
        usize::try_from(self.stream.below(bound as u64)).unwrap()
    }

    fn ask(&mut self) {
        let lun = self.draw(2);
        let first = self.draw(self.luns[lun].len());
        let most = [1, 2, 9][self.draw(3)];
        let count = (1 + self.draw(most)).min(self.luns[lun].len() - first);
        let places = &mut self.luns[lun][first..first + count];
        if places.iter().any(|place| place.writing.is_some()) {
            return;
        }
        let tag = self.next;
        self.next += 1;
        places.iter_mut().for_each(|place| place.writing = Some(tag));
        let lun = u32::try_from(lun).unwrap();
        self.asked.insert(tag, (lun, first, count));
        write(&mut self.sites, lun, first as u64 * PLACE, count as u64 * PLACE, tag);
        self.collect();
    }

    fn collect(&mut self) {
        let heard: Vec<ReplicaMove> = self.heard.borrow_mut().drain(..).collect();
        for moved in heard {
            let ReplicaMove::Started { number, unanswered } = moved else {
                continue;
            };
            let each = usize::try_from(PLACE).unwrap();
            let sectors = |places: &Vec<Place>| -> Vec<u64> {
                let versions = places.iter().map(|place| place.version);
                versions.flat_map(|version| vec![version; each]).collect()
            };
            let mut content: Vec<Vec<u64>> = self.luns.iter().map(sectors).collect();
            for one in unanswered {
                let (start, end) = (one.extent.start, one.extent.end());
                let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
                content[one.lun as usize][range].fill(one.tag);
            }
            self.starts.insert(number, content);
        }
        let done: Vec<Finished> = self.sites.finished().collect();
        for one in done {
            assert_eq!(one.result, Ok(()));
            let (lun, first, count) = self.asked.remove(&one.tag).unwrap();
            for place in &mut self.luns[lun as usize][first..first + count] {
                *place = Place { version: one.tag, writing: None };
            }
        }
    }

    fn pass(&mut self, span: Span) {
        let end = self.sites.state.now + span;
        while let Some(next) = self.sites.next_at().filter(|at| *at <= end) {
            self.sites.advance(next);
            self.collect();
        }
        self.sites.advance(end);
        self.collect();
    }

    fn apply_incident(&mut self) {
        let what = [
            PairIncident::LinkLost,
            PairIncident::LinkReturns,
            PairIncident::LinkReturns,
            PairIncident::LinkPathLost(0),
            PairIncident::LinkPathReturns(0),
            PairIncident::DestinationLost,
            PairIncident::DestinationReturns,
            PairIncident::DestinationReturns,
        ][self.draw(8)];
        let now = self.sites.state.now;
        let one = Scheduled::new(now, Incident::Pair(what));
        self.sites.schedule(&one).unwrap();
        self.pass(Span::ZERO);
    }

    /// Reads every replica that is there; returns their number.
    fn check(&mut self, seed: u64) -> usize {
        let sets = self.sites.partner.snapshot_sets();
        for set in &sets {
            let number = set.name.rsplit(' ').next().unwrap().parse().unwrap();
            let must = self.starts[&number].clone();
            assert_eq!(set.members.len(), 2, "a replica has all LUNs");
            for (member, must) in set.members.iter().zip(must) {
                let found = read_there(&mut self.sites, member.snapshot, 288);
                assert_eq!(found, must, "seed {seed}, {}", set.name);
            }
        }
        sets.len()
    }
}

#[test]
fn a_replica_has_what_its_instant_says_whatever_becomes_of_the_link() {
    let (mut checked, mut counted) = (0, Counted::default());
    for seed in 0..120 {
        let mut host = Host::new(seed);
        for step in 0..260 {
            host.ask();
            if step % 11 == 7 {
                host.apply_incident();
            }
            let micros = [0, 300, 4000, 25_000][host.draw(4)];
            host.pass(Span::micros(micros));
        }
        // In the middle of whatever it is doing.
        checked += host.check(seed);
        let own = host.sites.state.sets[0].counted;
        counted.complete += own.complete;
        counted.skipped += own.skipped;
        counted.given_up += own.given_up;
    }
    assert!(checked > 100 && counted.complete > 130, "{checked} {counted:?}");
    assert!(counted.skipped > 50 && counted.given_up > 10, "{counted:?}");
}

/// Two writes to one grain of a new page, and a start `after` the first is submitted. Returns what
/// is said to be in the replica, after checking that it is there, and when each write was answered.
fn started(after: Span) -> (Vec<(u64, u64)>, Vec<Time>) {
    let mut one = replica();
    one.first = Time(1_000_000_000) + after;
    let design = SitesDesign::new(pool(20), pool(20), slow_link(), vec![one]);
    let mut sites = sites(&design);
    let heard = Heard::default();
    let hearing = Box::new(Hearing(Rc::clone(&heard)));
    sites.listen_to_replicas(hearing).unwrap();
    sites.advance(Time(1_000_000_000));
    // The second waits for the first: that reads the rest of the grain, and writes it whole.
    write(&mut sites, 0, 0, 2, 1);
    write(&mut sites, 0, 4, 2, 2);
    // Nobody takes an answer before the start.
    let mut answered = Vec::new();
    while let Some(next) = sites.next_at().filter(|next| *next <= Time(2_000_000_000)) {
        sites.advance(next);
        answered.extend(sites.finished().map(|one| one.at));
    }
    let heard = heard.take();
    let Some(ReplicaMove::Started { unanswered, .. }) = heard.first() else {
        panic!("{heard:?}");
    };
    let found = read_there(&mut sites, 2, 8);
    for ((tag, start), at) in [(1, 0), (2, 4)].into_iter().zip(&answered) {
        let is_in =
            unanswered.iter().any(|one| one.tag == tag) || *at < Time(1_000_000_000) + after;
        assert_eq!(found[start] == tag, is_in, "{after}, write {tag}: {found:?}, {unanswered:?}");
    }
    let unanswered = unanswered.iter().map(|one| (one.tag, one.extent.start));
    (unanswered.collect(), answered)
}

#[test]
fn a_write_that_waits_for_its_turn_is_not_in_a_start() {
    let (unanswered, answered) = started(Span::nanos(1));
    assert_eq!(unanswered, [(1, 0)]);
    let after = answered[0] - Time(1_000_000_000);
    // The first has ended, and the second has found its place.
    assert_eq!(started(after + Span::nanos(1)).0, [(2, 4)]);
}

#[test]
fn a_write_that_ends_at_the_instant_is_in_the_start() {
    let (_, answered) = started(Span::millis(500));
    let after = answered[0] - Time(1_000_000_000);
    let (unanswered, again) = started(after);
    assert_eq!(again[0], answered[0], "it ends with the start");
    assert!(unanswered.contains(&(1, 0)), "{unanswered:?}");
}
