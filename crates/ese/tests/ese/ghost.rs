//! Bytes and ghosts are one engine: the same work on the same device makes the same I/O at the same
//! times.
//!
//! Work is a sequence of touched pages, a record length, and a kind of commit. Everything else is
//! real: cache, log, checkpoint, eviction, maintenance, preread and backup reads. The only
//! difference is whether pages and records have content.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use crate::common::{SIZE, options};
use brunt_ese::backup::{self, Discard, Reads};
use brunt_ese::cache::{Cache, CacheOptions, Trust};
use brunt_ese::content::{Bytes, Content, Ghost};
use brunt_ese::format::page::PageFlags;
use brunt_ese::instance::Instance;
use brunt_ese::log::FlushReason;
use brunt_ese::meter::MeterBoard;
use brunt_ese::page::Pages;
use brunt_ese::policy::scan::Throttle;
use brunt_units::{DatabaseTime, PageNumber, Span, Time};
use brunt_world::World;
use brunt_world::{Class, Op};
use brunt_world_virtual::{
    Agenda, Device, Request, RequestDigest, Store, VirtualOptions, VirtualWorld,
};

const PAGES: u32 = 400;
const DATABASES: u8 = 2;

/// A request to the device, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    at: Time,
    until: Time,
    op: Op,
    class: Class,
    file: u32,
    offset: u64,
    length: u64,
}

/// A disk arm: requests are served in order, and longer distances take longer.
struct Arm {
    trace: Rc<RefCell<Vec<Asked>>>,
    busy_until: Time,
    place: u64,
}

impl Device for Arm {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        let file = request.file.0;
        let place = (u64::from(file) << 24) + request.offset;
        let travel = Span::nanos(place.abs_diff(self.place).isqrt() * 50);
        let work = Span::micros(20) + travel + Span::nanos(2 * request.length);
        self.place = place + request.length;
        self.busy_until = self.busy_until.max(agenda.now()) + work;
        self.trace.borrow_mut().push(Asked {
            at: agenda.now(),
            until: self.busy_until,
            op: request.op,
            class: request.class,
            file,
            offset: request.offset,
            length: request.length,
        });
        agenda.finish_at(self.busy_until, request.id, Ok(()));
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {
        unreachable!("it asks for no events");
    }
}

/// Changing a page's content.
trait Changed: Content {
    fn change(cache: &Cache<Self>, database: u8, page: PageNumber, time: DatabaseTime)
    where
        Self: Sized;
}

impl Changed for Bytes {
    fn change(cache: &Cache<Self>, database: u8, page: PageNumber, time: DatabaseTime) {
        let mut pages = cache.pages(database);
        let bytes = pages.change(page);
        bytes[8..16].copy_from_slice(&time.0.to_le_bytes());
        // A page without tags is refused on reading unless its flags say that it has no content
        // yet.
        let flags = PageFlags(u32::from_le_bytes([bytes[36], bytes[37], bytes[38], bytes[39]]));
        let flags = flags.with(PageFlags::PREINITIALISED);
        bytes[36..40].copy_from_slice(&flags.0.to_le_bytes());
        bytes[1000..1008].copy_from_slice(&time.0.to_be_bytes());
    }
}

impl Changed for Ghost {
    fn change(_: &Cache<Self>, _: u8, _: PageNumber, _: DatabaseTime) {}
}

/// Pages that have content so far; others must be claimed.
type Known = Rc<RefCell<BTreeSet<(u8, PageNumber)>>>;

async fn session<C: Changed>(world: World, instance: Instance<C>, known: Known, number: u64) {
    let mut draw = world.random.named(&format!("session/{number}"));
    let (cache, log) = (instance.cache(), instance.log());
    let record = vec![7; 4000];
    for _ in 0..400 {
        let database = u8::try_from(draw.below(u64::from(DATABASES))).unwrap();
        let mut pages = BTreeSet::new();
        for _ in 0..=draw.below(3) {
            // Half of the work goes to a tenth of the pages.
            let bound = u64::from(PAGES).div_ceil(if draw.percent(50) { 10 } else { 1 });
            pages.insert(PageNumber(1 + u32::try_from(draw.below(bound)).unwrap()));
        }
        let mut pins = Vec::new();
        for &page in &pages {
            let is_known = known.borrow().contains(&(database, page));
            pins.push(match is_known {
                true => cache.fetch(database, page, Trust::Verified).await.unwrap(),
                false => cache.claim(database, page).await.unwrap(),
            });
        }
        log.room().await.unwrap();
        let time = cache.time(database).next();
        let touched: Vec<PageNumber> = pages.into_iter().collect();
        for &page in &touched {
            C::change(cache, database, page, time);
            known.borrow_mut().insert((database, page));
        }
        let length = usize::try_from(20 + draw.below(2000)).unwrap();
        let appended = log.append(C::record(&record[..length]));
        cache.changed(database, &touched, appended, time);
        drop(pins);
        match draw.below(4) {
            0 => log.flushed(appended.end, FlushReason::Commit).await.unwrap(),
            1 => log.lazy(),
            _ => {}
        }
        if draw.percent(10) {
            let start = PageNumber(1 + u32::try_from(draw.below(40)).unwrap());
            let ahead = (0..12).map(|distance| start.after(distance));
            let ahead = ahead.filter(|page| known.borrow().contains(&(database, *page)));
            cache.preread(database, ahead.collect::<Vec<_>>(), Trust::Verified);
        }
        world.clock.spend(Span::micros(30)).await;
        if draw.percent(20) {
            world.sleep(Span::millis(draw.below(80))).await;
        }
    }
}

/// Everything recorded in a run.
struct Trace {
    asked: Vec<Asked>,
    digest: u64,
    requests: Vec<RequestDigest>,
}

fn run<C: Changed>(seed: u64, segment: usize, gap_pages: u64) -> Trace {
    let trace = Rc::<RefCell<Vec<Asked>>>::default();
    let arm = Arm { trace: Rc::clone(&trace), busy_until: Time::ZERO, place: 0 };
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store: Store::new(),
        devices: vec![Box::new(arm)],
        ..VirtualOptions::new(seed)
    });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let setup = options(usize::from(DATABASES), segment);
        let meters = Rc::new(MeterBoard::new(usize::from(DATABASES), 1));
        let mut cache_options = CacheOptions::new(SIZE, 48);
        cache_options.gap_bytes = gap_pages * SIZE.bytes_u64();
        let cache = Cache::<C>::new(&world, cache_options, meters);
        let instance = Instance::start_blank(&world, &cache, setup, &[PAGES; DATABASES as usize]);
        let instance = instance.await.unwrap();
        let throttle = Throttle { batch_bytes: 64 << 10, interval: Span::ZERO, ..Throttle::ESE };
        instance.maintain(0, throttle);
        let known = Known::default();
        let sessions: Vec<_> = (0..6)
            .map(|number| {
                let (instance, known) = (instance.clone(), Rc::clone(&known));
                let work = session(world.clone(), instance, known, number);
                world.spawner.spawn(work)
            })
            .collect();
        world.sleep(Span::millis(300)).await;
        let reads = Reads { outstanding: 3, bytes: 16 << 10 };
        let read = backup::read_pages(&instance, 1, reads, &mut Discard).await;
        read.unwrap();
        for session in sessions {
            session.await;
        }
        instance.shut_down().await.unwrap();
        cache.close();
    });
    let machine = &virtual_world.machine;
    Trace {
        asked: trace.borrow().clone(),
        digest: machine.digest().value(),
        requests: machine.requests(),
    }
}

#[test]
fn ghosts_and_bytes_do_the_same_io_at_the_same_times() {
    for (seed, segment, gap_pages) in [(1, 512, 0), (2, 4096, 2), (3, 512, 8)] {
        let bytes = run::<Bytes>(seed, segment, gap_pages);
        let ghost = run::<Ghost>(seed, segment, gap_pages);
        for (number, (one, other)) in bytes.asked.iter().zip(&ghost.asked).enumerate() {
            assert_eq!(one, other, "request {number} of seed {seed}");
        }
        assert_eq!(bytes.asked.len(), ghost.asked.len());
        assert_eq!(bytes.digest, ghost.digest);
        assert_eq!(bytes.requests, ghost.requests);
        let count = |class, op| {
            let of_kind = |asked: &&Asked| (asked.class, asked.op) == (class, op);
            ghost.asked.iter().filter(of_kind).count()
        };
        let counts = [
            count(Class::Database, Op::Read),
            count(Class::Database, Op::Write),
            count(Class::Log, Op::WriteThrough),
            count(Class::LogFormat, Op::Write),
            count(Class::Maintenance, Op::Read),
            count(Class::Backup, Op::Read),
        ];
        assert!(counts.iter().all(|count| *count >= 16), "{counts:?}");
        let syncs = (count(Class::Database, Op::Sync), count(Class::Metadata, Op::WriteThrough));
        assert!(syncs.0 >= 4 && syncs.1 >= 8, "checkpoints: {syncs:?}");
    }
}

/// A blank instance never replaces existing files.
#[test]
fn a_blank_instance_is_not_started_over_another() {
    let mut virtual_world = VirtualWorld::new(VirtualOptions::new(1));
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let begin = async || {
            let meters = Rc::new(MeterBoard::new(1, 1));
            let cache = Cache::<Bytes>::new(&world, CacheOptions::new(SIZE, 16), meters);
            Instance::start_blank(&world, &cache, options(1, 512), &[20]).await
        };
        begin().await.unwrap().shut_down().await.unwrap();
        let error = begin().await.err().unwrap();
        assert_eq!(error.to_string(), "/log/edb.log: the file exists already");
        let remove = |path: &'static str| world.volume.remove(Path::new(path));
        remove("/log/edb.log").await.unwrap();
        let error = begin().await.err().unwrap();
        assert_eq!(error.to_string(), "/data/tiny0.edb: the file exists already");
    });
}
