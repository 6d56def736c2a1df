//! Hundreds of random schedules over the fake ring, checked against an oracle that is a byte
//! vector.
//!
//! Each session owns a region of one file, so what it reads depends only on its own writes, however
//! requests are cut, refused and shuffled. A sector whose write failed is unknown until it is
//! written again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::Time;
use brunt_world::random::{Stream, Streams};
use brunt_world::{
    Class, Executor, FileId, Frames, Io, IoError, Op, Parked, Reactor, Segment, Segments, Spawner,
    Tasks, Tickets,
};
use smallvec::smallvec;

use super::Flights;
use crate::backend::Record;
use crate::files::OpenFile;
use crate::helper::Errands;
use crate::ring::fake::{Fake, FakeFile, FakeFiles, Habits};

const SECTOR: usize = 512;
/// Sectors per session.
const SHARE: usize = 64;
const SESSIONS: usize = 8;

/// The flights, with a clock that ticks once per turn.
struct Loop {
    flights: Rc<RefCell<Flights>>,
    ticks: Rc<Cell<u64>>,
}

impl Reactor for Loop {
    fn now(&self) -> Time {
        Time(self.ticks.get())
    }

    fn turn(&mut self) {
        self.ticks.set(self.ticks.get() + 1);
        let mut flights = self.flights.borrow_mut();
        flights.begin();
        flights.end(Time(self.ticks.get()));
    }

    fn park(&mut self, _deadline: Option<Time>) -> Parked {
        if self.flights.borrow().is_idle() {
            return Parked::Dead;
        }
        self.flights.borrow_mut().wait(None);
        self.turn();
        Parked::Again
    }
}

#[derive(Clone)]
struct Bench {
    flights: Rc<RefCell<Flights>>,
    ticks: Rc<Cell<u64>>,
    frames: Frames,
}

impl Bench {
    async fn perform(&self, io: Io) -> brunt_world::Completion {
        let now = Time(self.ticks.get());
        let ticket = self.flights.borrow_mut().submit(io, now);
        ticket.await
    }

    /// Memory to write `bytes` from, in pieces at odd offsets.
    fn drains(&self, bytes: &[u8], random: &mut Stream) -> Segments {
        let mut segments: Segments = smallvec![];
        let mut rest = bytes;
        while !rest.is_empty() {
            let sectors = 1 + below(random, rest.len().div_euclid(SECTOR).min(7));
            let start = below(random, 9 - sectors) * SECTOR;
            let (now, later) = rest.split_at(sectors * SECTOR);
            let mut frame = self.frames.take(4096);
            frame[start..start + now.len()].copy_from_slice(now);
            segments.push(Segment::Drain { frame: Rc::new(frame), start, length: now.len() });
            rest = later;
        }
        segments
    }

    /// Frames to read `pages` times 4 KiB into.
    fn fills(&self, pages: usize, random: &mut Stream) -> Segments {
        let mut segments: Segments = smallvec![];
        let mut rest = pages;
        while rest > 0 {
            let now = 1 + below(random, rest);
            segments.push(Segment::Fill(self.frames.take(now * 4096)));
            rest -= now;
        }
        segments
    }
}

fn below(random: &mut Stream, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap()
}

/// What a session knows of its region: content by sector, `None` where a write failed.
struct Session {
    file: FileId,
    /// First sector of the region.
    first: usize,
    known: Vec<Option<[u8; SECTOR]>>,
    may_fail: bool,
}

impl Session {
    async fn work(mut self, bench: Bench, mut random: Stream, steps: usize) {
        for _ in 0..steps {
            match random.below(10) {
                0 => {
                    let io = Io::sync(Class::Log, self.file);
                    self.check(bench.perform(io).await.result);
                }
                1 => self.trim(&bench, &mut random).await,
                2..6 => self.write(&bench, &mut random).await,
                _ => self.read(&bench, &mut random).await,
            }
        }
    }

    /// Whether it succeeded; any error must be the injected one.
    fn check(&self, result: Result<(), IoError>) -> bool {
        let fine = result == Ok(()) || (self.may_fail && result == Err(IoError::Device));
        assert!(fine, "{result:?}");
        result.is_ok()
    }

    fn io(&self, op: Op, sector: usize, segments: Segments) -> Io {
        let offset = ((self.first + sector) * SECTOR) as u64;
        Io::new(Class::Database, op, self.file, offset, segments)
    }

    async fn write(&mut self, bench: &Bench, random: &mut Stream) {
        let start = below(random, SHARE);
        let count = 1 + below(random, SHARE - start);
        let mut bytes = vec![0; count * SECTOR];
        random.fill(&mut bytes);
        let op = [Op::Write, Op::WriteThrough][below(random, 2)];
        let io = self.io(op, start, bench.drains(&bytes, random));
        let written = self.check(bench.perform(io).await.result);
        for (known, sector) in self.known[start..].iter_mut().zip(bytes.chunks(SECTOR)) {
            *known = written.then(|| sector.try_into().unwrap());
        }
    }

    async fn trim(&mut self, bench: &Bench, random: &mut Stream) {
        let start = below(random, SHARE);
        let count = 1 + below(random, SHARE - start);
        let range = smallvec![Segment::Ghost((count * SECTOR) as u64)];
        let done = bench.perform(self.io(Op::Trim, start, range)).await;
        self.check(done.result);
        self.known[start..start + count].fill(None);
    }

    async fn read(&mut self, bench: &Bench, random: &mut Stream) {
        let pages = 1 + below(random, SHARE.div_euclid(8));
        let start = below(random, SHARE - pages * 8 + 1);
        let io = self.io(Op::Read, start, bench.fills(pages, random));
        let done = bench.perform(io).await;
        if self.check(done.result) {
            let bytes: Vec<u8> = done.into_frames().flat_map(|frame| frame.to_vec()).collect();
            for (known, sector) in self.known[start..].iter().zip(bytes.chunks(SECTOR)) {
                assert!(known.is_none_or(|known| known == sector), "wrong content");
            }
        }
    }
}

fn run(seed: u64, habits: Habits, steps: usize) {
    let streams = Streams::new(seed);
    let tasks = Tasks::default();
    let fakes = FakeFiles::default();
    let ring = Fake::new(streams.named("kernel"), habits, &fakes);
    let flights = Flights::new(Box::new(ring), Tickets::new(&tasks));
    let bench = Bench {
        flights: Rc::new(RefCell::new(flights)),
        ticks: Rc::default(),
        frames: Frames::in_memory(),
    };
    let files = [true, false].map(|direct| open(&bench, &fakes, direct));
    let spawner = Spawner::new(&tasks);
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let session = Session {
                file: files[number % 2],
                first: number * SHARE,
                known: vec![Some([0; SECTOR]); SHARE],
                may_fail: habits.failed > 0,
            };
            let random = streams.named(&format!("session/{number}"));
            spawner.spawn(session.work(bench.clone(), random, steps))
        })
        .collect();
    let reactor = Loop { flights: Rc::clone(&bench.flights), ticks: Rc::clone(&bench.ticks) };
    Executor::new(&tasks, reactor).block_on(async move {
        for session in sessions {
            session.await;
        }
    });
    assert!(bench.flights.borrow().is_idle(), "seed {seed}");
}

fn open(bench: &Bench, fakes: &FakeFiles, direct: bool) -> FileId {
    // An empty file that provides a unique descriptor; its content is the fake's.
    let file = rustix::fs::memfd_create("fake", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let file = OpenFile::new(file, direct, &Record::default(), &Errands::nowhere());
    let fake = FakeFile { bytes: vec![0; SESSIONS * SHARE * SECTOR], direct };
    fakes.borrow_mut().insert(file.raw(), fake);
    bench.flights.borrow_mut().open(file)
}

#[test]
fn every_schedule_gives_the_same_content() {
    for seed in 0..150 {
        let mut draw = Streams::new(seed).named("habits");
        let mut upto = |most: u32| u32::try_from(draw.below(u64::from(most) + 1)).unwrap();
        let habits = Habits {
            short: upto(60),
            refused: upto(40),
            failed: if seed % 2 == 0 { 0 } else { upto(10) },
            ended: 1 + upto(99),
        };
        println!("seed {seed}: {habits:?}");
        run(seed, habits, 40);
    }
}

#[test]
fn the_end_of_a_file_is_found_through_short_reads() {
    let habits = Habits { short: 50, refused: 10, failed: 0, ended: 50 };
    for seed in 0..50 {
        let tasks = Tasks::default();
        let fakes = FakeFiles::from(RefCell::new(BTreeMap::new()));
        let ring = Fake::new(Streams::new(seed).named("kernel"), habits, &fakes);
        let flights = Flights::new(Box::new(ring), Tickets::new(&tasks));
        let bench = Bench {
            flights: Rc::new(RefCell::new(flights)),
            ticks: Rc::default(),
            frames: Frames::in_memory(),
        };
        let file = open(&bench, &fakes, seed % 2 == 0);
        let length = 8192 + 100 * seed;
        for fake in fakes.borrow_mut().values_mut() {
            fake.bytes.truncate(usize::try_from(length).unwrap());
        }
        let reactor = Loop { flights: Rc::clone(&bench.flights), ticks: Rc::clone(&bench.ticks) };
        Executor::new(&tasks, reactor).block_on(async move {
            for offset in (0..20_480).step_by(SECTOR) {
                let frame = bench.frames.take(4096);
                let read = Io::read(Class::Database, file, offset, frame);
                let fits = offset + 4096 <= length;
                let expected = if fits { Ok(()) } else { Err(IoError::PastEnd) };
                assert_eq!(bench.perform(read).await.result, expected, "seed {seed}");
            }
        });
    }
}
