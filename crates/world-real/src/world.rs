//! Assembles a real world: the best backend the system allows, memory, clock, names, executor.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use brunt_world::{
    Executor, Frames, SLAB_BYTES, SlabSource, Spawner, Tasks, Tickets, World, random,
};

use crate::backend::{Backend, Choice, Kind, Record};
use crate::bell::Bell;
use crate::clock::{ClockZero, OsClock};
use crate::disk::RealDisk;
use crate::facts;
use crate::file_size::survive_limit;
use crate::flights::Flights;
use crate::helper::Helper;
use crate::memory::Slab;
use crate::net::RealNet;
use crate::reactor::RealReactor;
use crate::ring::Ring;
use crate::ring::threads::Threads;
use crate::ring::uring::Uring;
use crate::roots::Roots;
use crate::shortage::{Shortage, exhausted};
use crate::volume::RealVolume;

/// Options of a real world.
#[derive(Clone, Debug)]
pub struct Options {
    /// How I/O reaches the kernel.
    pub backend: Choice,
    /// Whether files bypass the page cache. Only tests disable it.
    pub direct: bool,
    /// Maximum number of threads in the thread pool, which is its queue depth.
    pub threads: usize,
    /// Bytes per slab of frames, a multiple of 4,096. Below the default only for tiny runs.
    pub slab_bytes: usize,
    /// Seed of the world's random streams.
    pub seed: u64,
    /// The folders in which files are created: no link below them is followed.
    pub roots: Roots,
    /// When its clock was at zero.
    pub zero: ClockZero,
}

impl Default for Options {
    /// The best backend, direct I/O, 64 threads, slabs of [`SLAB_BYTES`], seed 0, a clock that
    /// counts from now.
    ///
    /// 64 threads: a page read for each of 32 sessions, plus the writes that cache and log have in
    /// flight.
    fn default() -> Self {
        Self {
            backend: Choice::Best,
            direct: true,
            threads: 64,
            slab_bytes: SLAB_BYTES,
            seed: 0,
            roots: Roots::default(),
            zero: ClockZero::now(),
        }
    }
}

/// Why a real world could not be created.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The requested backend is refused, and no other is allowed.
    #[error("the I/O backend \"{kind}\" is not available: {reason}")]
    Backend {
        /// The requested backend.
        kind: Kind,
        /// The system's reason.
        reason: String,
    },
    /// There is not enough memory for the first slab of this size.
    #[error("{}", Shortage(*.0))]
    Memory(usize),
    /// The system refuses a thread or a file descriptor.
    #[error("the system refuses a thread or a file descriptor: {0}")]
    System(#[from] io::Error),
}

/// A world with the operating system's files and clock, and the executor that runs its tasks.
pub struct RealWorld {
    /// The interface for the engine.
    pub world: World,
    /// Runs tasks on the calling thread, which must be the one that created the world.
    pub executor: Executor<RealReactor>,
    /// I/O in flight: how much, and the age of the oldest.
    pub tickets: Tickets,
    /// See [`RealWorld::backend`].
    pub record: BackendRecord,
}

/// A handle on the backend record. Clones share it.
#[derive(Clone)]
pub struct BackendRecord {
    record: Record,
    flights: Rc<RefCell<Flights>>,
}

impl BackendRecord {
    /// The backend record so far.
    pub fn read(&self) -> Backend {
        let (slabs, slabs_registered) = self.flights.borrow().slab_counts();
        Backend {
            slabs,
            slabs_registered,
            huge_page_bytes: facts::huge_page_memory(),
            ..self.record.read()
        }
    }
}

impl RealWorld {
    /// Creates a world and allocates its first slab, to see whether it can be registered.
    ///
    /// # Errors
    /// [`StartError`]: the requested backend is refused, or not even a helper thread can be started.
    pub fn new(options: &Options) -> Result<Self, StartError> {
        survive_limit();
        let tasks = Tasks::default();
        let tickets = Tickets::new(&tasks);
        let bell = Arc::new(Bell::new().map_err(io::Error::from)?);
        let clock = Rc::new(OsClock::new(&tasks, options.zero));
        let helper = Helper::start(&bell)?;
        let record = Record::default();
        let ring = choose(options, &bell, &record)?;
        let flights = Rc::new(RefCell::new(Flights::new(ring, tickets.clone())));
        let slabs = RealSlabs::new(&flights, &record, options)?;
        let net = Rc::new(RealNet::new(&tasks));
        let world = World {
            clock: clock.clone(),
            net: Rc::<RealNet>::clone(&net),
            disk: Rc::new(RealDisk { flights: Rc::clone(&flights), clock: Rc::clone(&clock) }),
            volume: Rc::new(RealVolume {
                flights: Rc::clone(&flights),
                helper: Rc::clone(&helper),
                tasks: tasks.clone(),
                record: record.clone(),
                direct: options.direct,
                roots: options.roots.clone(),
            }),
            frames: Frames::new(Box::new(slabs), options.slab_bytes),
            spawner: Spawner::new(&tasks),
            random: random::Streams::new(options.seed),
        };
        let record = BackendRecord { record, flights: Rc::clone(&flights) };
        let reactor = RealReactor { flights, helper, net, clock, bell };
        Ok(Self { world, executor: Executor::new(&tasks, reactor), tickets, record })
    }

    /// The backend record so far.
    pub fn backend(&self) -> Backend {
        self.record.read()
    }
}

/// The best ring that `options` and the system allow.
fn choose(
    options: &Options,
    bell: &Arc<Bell>,
    record: &Record,
) -> Result<Box<dyn Ring>, StartError> {
    let kinds: &[Kind] = match &options.backend {
        Choice::Best => &[Kind::Registered, Kind::Unregistered, Kind::Threads],
        Choice::Only(kind) => std::slice::from_ref(kind),
    };
    for kind in kinds.iter().copied() {
        let ring: io::Result<Box<dyn Ring>> = match kind {
            Kind::Threads => Threads::new(bell, options.threads)
                .map(|threads| Box::new(threads) as Box<dyn Ring>),
            Kind::Registered | Kind::Unregistered => Uring::new(bell, kind == Kind::Registered)
                .map(|(ring, task_run)| {
                    record.change(|backend| backend.task_run = Some(task_run));
                    Box::new(ring) as Box<dyn Ring>
                }),
        };
        match ring {
            Ok(ring) => {
                record.change(|backend| backend.kind = kind);
                return Ok(ring);
            }
            Err(error) => record.change(|backend| backend.refused.push(format!("{kind}: {error}"))),
        }
    }
    Err(StartError::Backend { kind: kinds[0], reason: record.read().refused.join("; ") })
}

/// Slabs for frames, registered where possible.
struct RealSlabs {
    flights: Rc<RefCell<Flights>>,
    register: bool,
    /// The slab allocated at the start, until it is used.
    first: RefCell<Option<Slab>>,
}

impl RealSlabs {
    fn new(
        flights: &Rc<RefCell<Flights>>,
        record: &Record,
        options: &Options,
    ) -> Result<Self, StartError> {
        let mut register = record.read().kind == Kind::Registered;
        let (first, refused) = flights
            .borrow_mut()
            .slab(options.slab_bytes, register)
            .map_err(|_| StartError::Memory(options.slab_bytes))?;
        if let Some(code) = refused {
            let size = brunt_units::ByteSize::bytes(options.slab_bytes as u64);
            let error = io::Error::from_raw_os_error(code);
            let reason = format!("locking {size} of I/O memory: {error} (see `ulimit -l`)");
            let kind = Kind::Registered;
            if options.backend == Choice::Only(kind) {
                return Err(StartError::Backend { kind, reason });
            }
            register = false;
            record.change(|backend| {
                backend.kind = Kind::Unregistered;
                backend.refused.push(format!("{kind}: {reason}"));
            });
        }
        Ok(Self { flights: Rc::clone(flights), register, first: RefCell::new(Some(first)) })
    }
}

impl SlabSource for RealSlabs {
    fn slab(&self, bytes: usize) -> &'static mut [u8] {
        let first = self.first.borrow_mut().take();
        let slab = first.unwrap_or_else(|| {
            let slab = self.flights.borrow_mut().slab(bytes, self.register);
            slab.unwrap_or_else(|_| exhausted(bytes)).0
        });
        slab.into_bytes()
    }
}
