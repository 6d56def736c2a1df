//! Putting a virtual world together.
//!
//! ```
//! use brunt_units::Span;
//! use brunt_world_virtual::{VirtualOptions, VirtualWorld};
//!
//! let mut virtual_world = VirtualWorld::new(VirtualOptions::default());
//! let world = virtual_world.world.clone();
//! let now = virtual_world.executor.block_on(async move {
//!     world.sleep(Span::seconds(3600)).await;
//!     world.clock.now()
//! });
//! assert_eq!(now.0, 3_600_000_000_000);
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::rc::Rc;

use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world::{Clock, Executor, Frames, Spawner, Tasks, World};

use crate::clock::VirtualClock;
use crate::device::{Device, MemoryDevice};
use crate::events::Events;
use crate::front::{Front, State};
use crate::journal::{Journal, Mark};
use crate::mounts::Mounts;
use crate::net::Network;
use crate::{Cores, Digest, Landing, Link, LinkOptions, RequestDigest, Store, VirtualReactor};

/// A part of the file system with room and a device of its own.
#[derive(Clone, Debug)]
pub struct VirtualVolume {
    /// Files whose path begins with this lie here; the longest such path wins, the empty one holds everything.
    pub path: PathBuf,
    /// Room for files, in bytes.
    pub bytes: u64,
    /// How long each verb of [`brunt_world::Volume`] takes.
    pub names_latency: Span,
    /// The device beneath, by its place in [`VirtualOptions::devices`]. Volumes may share one.
    pub device: usize,
}

impl VirtualVolume {
    /// 1 TiB for every path, on the first device; names take 50 µs.
    pub fn everything() -> Self {
        Self {
            path: PathBuf::new(),
            bytes: 1 << 40,
            names_latency: Span::micros(50),
            device: 0,
        }
    }
}

/// A link between two hosts, one way in each direction.
#[derive(Clone, Debug)]
pub struct VirtualLink {
    /// The addresses of the hosts.
    pub ends: [IpAddr; 2],
    /// What it is like.
    pub options: LinkOptions,
}

impl VirtualLink {
    /// Both directions.
    fn directions(&self, random: Streams) -> [((IpAddr, IpAddr), Link); 2] {
        let [one, other] = self.ends;
        [(one, other), (other, one)].map(|(from, to)| {
            let stream = random.named(&format!("link/{from}/{to}"));
            ((from, to), Link::new(self.options.clone(), stream))
        })
    }
}

/// What a virtual world is made of.
pub struct VirtualOptions {
    /// The seed of all its randomness.
    pub seed: u64,
    /// Its processor.
    pub cores: Cores,
    /// The files it begins with.
    pub store: Store,
    /// Memory for I/O. Slabs are never given back, so whoever makes many worlds shares one pool among them.
    pub frames: Frames,
    /// How long I/O takes.
    pub devices: Vec<Box<dyn Device>>,
    /// Where files lie.
    pub volumes: Vec<VirtualVolume>,
    /// When bytes move.
    pub landing: Landing,
    /// The links between its hosts. A host reaches itself without one.
    pub links: Vec<VirtualLink>,
}

impl VirtualOptions {
    /// An empty world of `seed`, with a core for everyone and one [`MemoryDevice`] without jitter.
    pub fn new(seed: u64) -> Self {
        let device = MemoryDevice::new(Streams::new(seed).named("device/0"), 0);
        Self {
            seed,
            cores: Cores::default(),
            store: Store::new(),
            frames: Frames::in_memory(),
            devices: vec![Box::new(device)],
            volumes: vec![VirtualVolume::everything()],
            landing: Landing::default(),
            links: Vec::new(),
        }
    }
}

impl Default for VirtualOptions {
    fn default() -> Self {
        Self::new(1)
    }
}

/// A world, what runs it, and what looks inside it.
pub struct VirtualWorld {
    /// What the engine is handed.
    pub world: World,
    /// What runs its tasks.
    pub executor: Executor<VirtualReactor>,
    /// What tests and reports look through.
    pub machine: Machine,
}

impl VirtualWorld {
    /// A world at time zero.
    ///
    /// # Panics
    /// When the options contradict themselves: a volume on a device that is not there, a file on no volume.
    pub fn new(options: VirtualOptions) -> Self {
        let (tasks, events) = (Tasks::default(), Events::default());
        let random = Streams::new(options.seed);
        let mounts = Mounts::new(options.volumes, options.devices.len(), &options.store);
        let state = State::new(
            options.store,
            mounts,
            options.devices,
            options.landing,
            random.named("landing"),
        );
        let front = Front::new(&tasks, &events, state);
        let clock = VirtualClock::new(&events, &tasks, options.cores);
        let links = options.links.iter();
        let links = links.flat_map(|link| link.directions(random)).collect();
        let network = Network::new(&tasks, &events, links);
        let world = World {
            clock: Rc::<VirtualClock>::clone(&clock) as Rc<dyn Clock>,
            disk: Rc::<Front>::clone(&front),
            volume: Rc::<Front>::clone(&front),
            net: network.host(Ipv4Addr::LOCALHOST.into()),
            frames: options.frames,
            spawner: Spawner::new(&tasks),
            random,
        };
        let executor = Executor::new(&tasks, VirtualReactor::new(&events, &front, &network));
        let machine = Machine {
            front,
            clock,
            events,
            network,
        };
        Self {
            world,
            executor,
            machine,
        }
    }
}

/// The inside of a virtual world. Cloning gives another handle.
#[derive(Clone)]
pub struct Machine {
    front: Rc<Front>,
    clock: Rc<VirtualClock>,
    events: Events,
    pub(crate) network: Rc<Network>,
}

impl Machine {
    /// The files as reads see them now.
    pub fn store(&self) -> Store {
        self.front.state.borrow().store.fork()
    }

    /// What happened so far, hashed: the requests, the events and every move of the clock. Equal for runs that are the
    /// same.
    pub fn digest(&self) -> Digest {
        self.events.digest()
    }

    /// The requests that have ended on each volume, hashed, in the order of [`VirtualOptions::volumes`].
    pub fn requests(&self) -> Vec<RequestDigest> {
        self.front.state.borrow().requests.clone()
    }

    /// Events asked for so far; timers are counted by [`Tasks::timers_set`].
    pub fn events(&self) -> u64 {
        self.events.count()
    }

    /// I/Os in flight.
    pub fn in_flight(&self) -> usize {
        self.front.tickets.in_flight()
    }

    /// Computing paid for so far by [`Clock::spend`], but for that of a [`crate::Host`].
    pub fn spent(&self) -> Span {
        self.clock.spent()
    }

    /// Processors of their own, on the time of this world.
    pub(crate) fn cores(&self, cores: Cores) -> Rc<dyn Clock> {
        VirtualClock::new(&self.events, &self.front.tasks, cores)
    }

    /// Starts a journal from the files as they are now, which it takes for durable.
    ///
    /// The journal takes writes to land when they complete. With [`Landing::Torn`], two writes that were in flight
    /// together over the same bytes leave a mixture in the files, and the later one in crash images.
    ///
    /// # Panics
    /// When something is in flight: what it does would be half in the journal.
    pub fn start_recording(&self) {
        let state = &mut *self.front.state.borrow_mut();
        let quiet = self.front.tickets.in_flight() == 0 && state.effects.is_empty();
        assert!(quiet, "recording begins while something is in flight");
        state.journal = Some(Journal::new(state.store.fork()));
    }

    /// Ends the journal and hands it over; `None` when none was started.
    pub fn stop_recording(&self) -> Option<Journal> {
        self.front.state.borrow_mut().journal.take()
    }

    /// Writes a mark into the journal, if there is one.
    pub fn mark(&self, what: &'static str, number: u64) {
        let mark = Mark { what, number };
        let mut state = self.front.state.borrow_mut();
        state.record(|journal| journal.mark(mark));
    }
}
