//! I/Os that never complete.
//!
//! After a path failover, a controller reset or the death of an NFS server, an I/O may neither
//! complete nor fail, and it cannot be cancelled. The task that waits for it waits on. So a disk in
//! front of the world's own remembers what is in flight, and the director checks once a second:
//!
//! ```text
//!    30 s     it counts as hung: the rule fails, the test continues with the sessions that still can
//!    300 s    the test ends; what cannot be closed stays open, and a report is written
//! ```
//!
//! Time in which the program itself did not run does not count ([`crate::pulse`]).
//!
//! Requests to the volume count like I/O (`naming`): a rename that hangs keeps a log from rolling.
//!
//! Once the test is over, the wait for a hung I/O ends after 30 s.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_report::result::PhaseName;
use brunt_run::{Hung, LongestStop, Standstill};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::{Class, Clock, Disk, FileId, Io, Op, Ticket, TicketId, Tickets, Watcher, World};

use crate::naming::NameRecorder;
use crate::phase_io::{self, Counted, PhaseMeters, Running};
use crate::plan::Plan;
use crate::pulse::Pulse;
use crate::stops::Stops;

/// An I/O in flight for this long is hung. Source: the engine's own limit;
/// microsoft/Extensible-Storage-Engine, `JET_paramHungIOThreshold`, 30 seconds.
pub const HUNG: Span = Span::seconds(30);
/// How long a running test waits for a hung I/O.
pub const GIVEN_UP: Span = Span::seconds(300);

/// An I/O in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    turn: u32,
    op: Op,
    class: Class,
    file: FileId,
    offset: u64,
    length: u64,
}

/// How far an I/O in flight has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) op: Op,
    pub(crate) class: Class,
    /// The path that its file was opened by.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// How long it has been in flight.
    pub(crate) age: Span,
}

/// The I/Os in flight of one slab of tickets.
struct Flights {
    tickets: Tickets,
    by_slot: Vec<Option<Flight>>,
}

impl Flights {
    fn note(&mut self, slot: usize, flight: Flight) {
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, None);
        }
        self.by_slot[slot] = Some(flight);
    }

    fn find(&self, id: TicketId) -> Option<Flight> {
        let flight = self.by_slot.get(id.slot as usize).copied().flatten();
        flight.filter(|flight| flight.turn == id.turn)
    }
}

/// Remembers the I/Os in flight; see the [module](self).
pub struct FlightRecorder {
    inner: Rc<dyn Disk>,
    /// One for each slab of tickets: a disk that wraps another may issue its own.
    slabs: RefCell<Vec<Flights>>,
    names: RefCell<BTreeMap<FileId, PathBuf>>,
    /// By slab and ticket.
    seen: RefCell<BTreeSet<(usize, TicketId)>>,
    asked: Rc<NameRecorder>,
    /// Requests to the volume, by number.
    seen_names: RefCell<BTreeSet<u64>>,
    hung: RefCell<Hung>,
    clock: Rc<dyn Clock>,
    stops: Rc<Stops>,
    pulse: Pulse,
    counting: RefCell<Running>,
}

impl FlightRecorder {
    /// Watches the disk and the volume of `world`, in which `plan` is tested.
    pub fn over(world: &World, plan: &Plan) -> Rc<Self> {
        let stops = Rc::new(Stops::of(plan));
        Rc::new(Self {
            inner: Rc::clone(&world.disk),
            slabs: RefCell::default(),
            names: RefCell::default(),
            seen: RefCell::default(),
            asked: NameRecorder::over(world, &stops),
            seen_names: RefCell::default(),
            hung: RefCell::default(),
            clock: Rc::clone(&world.clock),
            pulse: Pulse::new(&world.clock),
            counting: RefCell::default(),
            stops,
        })
    }

    /// `world` with its disk and volume behind these.
    pub fn world(self: &Rc<Self>, world: &World) -> World {
        World {
            disk: Rc::<Self>::clone(self),
            volume: Rc::<NameRecorder>::clone(&self.asked),
            ..world.clone()
        }
    }

    /// Sets the path of a file for messages.
    pub fn name(&self, file: FileId, path: &Path) {
        self.names.borrow_mut().insert(file, path.to_owned());
    }

    /// From now on I/O that is submitted counts for `phase`, file by file.
    pub(crate) fn begin_phase(&self, phase: PhaseName) {
        let phase = PhaseMeters::begin(phase, self.clock.now());
        self.counting.replace(Rc::new(RefCell::new(Some(phase))));
    }

    /// The running phase has ended.
    pub(crate) fn end_phase(&self) -> Option<PhaseMeters> {
        let phase = self.counting.take();
        let phase = phase.borrow_mut().take()?;
        Some(phase.end(self.clock.now()))
    }

    /// An I/O of the running phase, of which `next` wants to hear, too; `None` while no phase is
    /// counted.
    fn counted(&self, flight: &Flight, next: Option<Rc<dyn Watcher>>) -> Option<Rc<dyn Watcher>> {
        let phase = Rc::clone(&self.counting.borrow());
        if phase.borrow().is_none() {
            return next;
        }
        let path = self.asked.opened_by(flight.file);
        let stream = path.and_then(|path| phase_io::stream(&path, flight.op));
        match stream {
            Some(stream) => Some(Rc::new(Counted {
                phase,
                stream,
                submitted_at: self.clock.now(),
                bytes: flight.length,
                next,
            })),
            None => next,
        }
    }

    /// Stops and gaps count from now on.
    pub(crate) fn begin_collection(&self) {
        self.stops.begin(self.clock.now());
        self.pulse.begin();
    }

    /// The program will be woken at `next`, and then calls [`Self::beat`].
    pub(crate) fn expect(&self, next: Time) {
        self.pulse.expect(next);
    }

    /// The program runs, and will say so again within `every`.
    pub(crate) fn beat(&self, every: Span) {
        match self.pulse.beat(every) {
            Some((from, until)) => self.stops.leave_out(from, until),
            None => self.stops.settle(),
        }
    }

    /// The longest stop of the collection so far.
    pub(crate) fn stop(&self) -> LongestStop {
        self.stops.longest(self.clock.now())
    }

    /// The gaps of the collection so far.
    pub(crate) fn standstill(&self) -> Standstill {
        self.pulse.standstill()
    }

    /// What there is to say about stops and gaps, each once.
    pub(crate) fn news(&self) -> Vec<String> {
        let mut news = self.pulse.news();
        news.extend(self.stops.news());
        news
    }

    /// Checks for I/Os that hang at `now`; returns how long the oldest has been in flight.
    pub fn look(&self, now: Time) -> Option<Span> {
        let latest = now.0.checked_sub(HUNG.0).map(Time)?;
        let slabs = self.slabs.borrow();
        let hanging = slabs.iter().enumerate().flat_map(|(slab, flights)| {
            let hanging = flights.tickets.submitted_by(latest);
            hanging.into_iter().map(move |(id, since)| (slab, flights, id, since))
        });
        let hangs = |since| Some(self.pulse.ran_since(since)).filter(|age| *age >= HUNG);
        let mut oldest = None;
        let mut hung = self.hung.borrow_mut();
        for (slab, flights, id, since) in hanging {
            let Some(age) = hangs(since) else { continue };
            oldest = oldest.max(Some(age));
            if self.seen.borrow_mut().insert((slab, id)) {
                hung.add(|| self.describe(flights.find(id)));
            }
        }
        for (number, since, words) in self.asked.asked_by(latest) {
            let Some(age) = hangs(since) else { continue };
            oldest = oldest.max(Some(age));
            if self.seen_names.borrow_mut().insert(number) {
                hung.add(|| words);
            }
        }
        hung.longest = hung.longest.max(oldest?);
        oldest
    }

    /// The I/Os in flight at `now` on files whose path is known.
    pub(crate) fn unfinished(&self, now: Time) -> Vec<Unfinished> {
        let slabs = self.slabs.borrow();
        let flights = slabs.iter().flat_map(|flights| {
            let all = flights.tickets.submitted_by(now).into_iter();
            all.filter_map(|(id, since)| Some((flights.find(id)?, since)))
        });
        let unfinished = flights.filter_map(|(flight, since)| {
            Some(Unfinished {
                op: flight.op,
                class: flight.class,
                path: self.asked.opened_by(flight.file)?,
                bytes: flight.length,
                age: self.pulse.ran_since(since),
            })
        });
        unfinished.collect()
    }

    /// The I/Os that have hung so far.
    pub fn hung(&self) -> Hung {
        self.hung.borrow().clone()
    }

    fn describe(&self, flight: Option<Flight>) -> String {
        let Some(flight) = flight else {
            return "an I/O".to_owned();
        };
        let what = match flight.op {
            Op::Read => "a read",
            Op::Write | Op::WriteThrough => "a write",
            Op::Sync => "a sync",
            Op::Trim => "a trim",
        };
        let names = self.names.borrow();
        let whose = match (names.get(&flight.file), flight.class) {
            (Some(path), _) => format!("of {}", path.display()),
            (None, Class::Log | Class::LogFormat) => "of a log file".to_owned(),
            (None, class) => format!("for {class:?}").to_lowercase(),
        };
        let length = ByteSize::bytes(flight.length);
        format!("{what} {whose}, {length} at offset {}", flight.offset)
    }
}

impl Disk for FlightRecorder {
    fn submit(&self, io: Io) -> Ticket {
        let mut flight = Flight {
            turn: 0,
            op: io.op,
            class: io.class,
            file: io.file,
            offset: io.offset,
            length: io.length(),
        };
        let lane = (flight.class != Class::Metadata)
            .then(|| self.asked.lane(flight.file, flight.op))
            .flatten();
        let own = lane.clone().map(|lane| -> Rc<dyn Watcher> { lane });
        let watcher = self.counted(&flight, own);
        let ticket = self.inner.submit(io);
        let id = ticket.id();
        flight.turn = id.turn;
        if let Some(lane) = lane {
            lane.submitted(self.clock.now());
        }
        if let Some(watcher) = watcher {
            ticket.tickets().watch(id, &watcher);
        }
        let mut slabs = self.slabs.borrow_mut();
        let own = |flights: &Flights| flights.tickets.is_same(ticket.tickets());
        let at = slabs.iter().position(own).unwrap_or_else(|| {
            slabs.push(Flights { tickets: ticket.tickets().clone(), by_slot: Vec::new() });
            slabs.len() - 1
        });
        slabs[at].note(id.slot as usize, flight);
        ticket
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::OpenMode;
    use brunt_world_virtual::{Delay, VirtualOptions, VirtualWorld};

    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn an_io_hangs_after_thirty_seconds_and_counts_once() {
        let options = VirtualOptions {
            devices: vec![Box::new(Delay(|_, request: &_| slow(request)))],
            ..VirtualOptions::new(1)
        };
        let mut machine = VirtualWorld::new(options);
        let world = machine.world.clone();
        machine.executor.block_on(async move {
            let recorder = FlightRecorder::over(&world, &plan());
            let world = recorder.world(&world);
            let path = Path::new("a.edb");
            let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
            recorder.name(file, path);
            world.volume.allocate(file, 1 << 20).await.unwrap();
            let read = |offset| {
                let frame = world.frames.take(4096);
                world.disk.submit(Io::read(Class::Database, file, offset, frame))
            };
            read(0).await.result.unwrap();
            let hanging = read(8192);
            world.sleep(Span::millis(29_900)).await;
            let unfinished = Unfinished {
                op: Op::Read,
                class: Class::Database,
                path: path.to_owned(),
                bytes: 4096,
                age: Span::millis(29_900),
            };
            assert_eq!(recorder.unfinished(world.clock.now()), [unfinished]);
            assert_eq!(recorder.look(world.clock.now()), None);
            world.sleep(Span::seconds(1)).await;
            for _ in 0..2 {
                assert!(recorder.look(world.clock.now()).unwrap() > HUNG);
            }
            let hung = recorder.hung();
            assert_eq!(hung.count, 1);
            assert_eq!(hung.first, "a read of a.edb, 4 KiB at offset 8192");
            hanging.await.result.unwrap();
            assert_eq!(recorder.look(world.clock.now()), None);
            assert!(recorder.hung().longest > HUNG);
            assert_eq!(recorder.unfinished(world.clock.now()), []);
        });
    }

    fn slow(request: &brunt_world_virtual::Request) -> Span {
        match request.offset {
            8192 => Span::seconds(40),
            _ => Span::millis(1),
        }
    }
}
