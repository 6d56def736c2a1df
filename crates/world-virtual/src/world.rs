//! Builds a virtual world.
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

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::Span;
use brunt_world::random::Streams;
use brunt_world::{Clock, Executor, Frames, Link, LinkOptions, Spawner, Tasks, World};

use crate::clock::VirtualClock;
use crate::device::{Device, MemoryDevice};
use crate::events::Events;
use crate::front::{Front, State};
use crate::journal::{Journal, Mark};
use crate::mounts::Mounts;
use crate::net::Network;
use crate::{Cores, Digest, Follower, Landing, RequestDigest, Store, VirtualReactor};

/// A part of the file system with its own space and device.
#[derive(Clone, Debug)]
pub struct VirtualVolume {
    /// Files with this path prefix are on this volume; the longest prefix wins, and the empty one
    /// matches every file.
    pub path: PathBuf,
    /// Space for files, in bytes.
    pub bytes: u64,
    /// Latency of each verb of [`brunt_world::Volume`].
    pub names_latency: Span,
    /// The device, by its index in [`VirtualOptions::devices`]. Volumes may share one.
    pub device: usize,
}

impl VirtualVolume {
    /// 1 TiB for every path, on the first device; names take 50 µs.
    pub fn everything() -> Self {
        Self { path: PathBuf::new(), bytes: 1 << 40, names_latency: Span::micros(50), device: 0 }
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

/// The parts of a virtual world.
pub struct VirtualOptions {
    /// The seed of all its randomness.
    pub seed: u64,
    /// Its processor.
    pub cores: Cores,
    /// The initial files.
    pub store: Store,
    /// Memory for I/O. Worlds made one after the other may share a pool, to allocate less.
    pub frames: Frames,
    /// The devices, which determine latencies.
    pub devices: Vec<Box<dyn Device>>,
    pub volumes: Vec<VirtualVolume>,
    /// When bytes move.
    pub landing: Landing,
    /// The links between its hosts. A host reaches itself without one.
    pub links: Vec<VirtualLink>,
}

impl VirtualOptions {
    /// An empty world of `seed`, with unlimited cores and one [`MemoryDevice`] without jitter.
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

/// A world with its executor and a view of its inside.
pub struct VirtualWorld {
    /// The handles for the engine.
    pub world: World,
    /// Runs its tasks.
    pub executor: Executor<VirtualReactor>,
    /// Access for tests and reports.
    pub machine: Machine,
}

impl VirtualWorld {
    /// A world at time zero.
    ///
    /// # Panics
    /// When the options contradict each other: a volume on a missing device, a file on no volume.
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
        let machine = Machine { front, clock, events, network };
        Self { world, executor, machine }
    }
}

/// The inside of a virtual world. A clone is another handle.
#[derive(Clone)]
pub struct Machine {
    pub(crate) front: Rc<Front>,
    clock: Rc<VirtualClock>,
    events: Events,
    pub(crate) network: Rc<Network>,
}

impl Machine {
    /// The files as reads see them now.
    pub fn store(&self) -> Store {
        self.front.state.borrow().store.fork()
    }

    /// A hash of everything that happened so far: requests, events and every move of the clock.
    /// Equal for equal runs.
    pub fn digest(&self) -> Digest {
        self.events.digest()
    }

    /// Digests of the completed requests of each volume, in the order of
    /// [`VirtualOptions::volumes`].
    pub fn requests(&self) -> Vec<RequestDigest> {
        self.front.state.borrow().requests.clone()
    }

    /// Number of events requested so far; [`Tasks::timers_set`] counts timers.
    pub fn events(&self) -> u64 {
        self.events.count()
    }

    /// I/Os in flight.
    pub fn in_flight(&self) -> usize {
        self.front.tickets.in_flight()
    }

    /// Computing time charged so far by [`Clock::spend`], except that of a [`crate::Host`].
    pub fn spent(&self) -> Span {
        self.clock.spent()
    }

    /// Additional processors, on the time of this world.
    pub(crate) fn cores(&self, cores: Cores) -> Rc<dyn Clock> {
        VirtualClock::new(&self.events, &self.front.tasks, cores)
    }

    /// Starts a journal; the files as they are now count as durable.
    ///
    /// The journal assumes that writes land when they complete. With [`Landing::Torn`], two
    /// concurrent writes to the same bytes leave a mix in the files, but the later one in crash
    /// images.
    ///
    /// # Panics
    /// When something is in flight: only half of it would be in the journal.
    pub fn start_recording(&self) {
        let state = &mut *self.front.state.borrow_mut();
        let quiet = self.front.tickets.in_flight() == 0 && state.effects.is_empty();
        assert!(quiet, "recording begins while something is in flight");
        state.journal = Some(Journal::new(state.store.fork()));
    }

    /// Ends the journal and returns it; `None` when none was started.
    pub fn stop_recording(&self) -> Option<Journal> {
        self.front.state.borrow_mut().journal.take()
    }

    /// Lets `follower` hear every change of the files from now on.
    pub fn follow(&self, follower: Rc<RefCell<dyn Follower>>) {
        self.front.state.borrow_mut().follower = Some(follower);
    }

    /// Calls `device` back now: something about it was changed from outside.
    pub fn wake(&self, device: u32) {
        self.events.call(device, Some(self.events.now()));
    }

    /// Replaces all files below `path` by those that `content` has below `from`, in no time.
    /// Handles to the former files become invalid.
    ///
    /// # Panics
    /// When an I/O on a former file is in flight, or when `content` does not fit.
    pub fn replace_files(&self, path: &Path, content: &Store, from: &Path) {
        self.front.state.borrow_mut().replace(path, content, from);
    }

    /// Adds a mark to the journal, if there is one.
    pub fn mark(&self, what: &'static str, number: u64) {
        let mark = Mark { what, number };
        let mut state = self.front.state.borrow_mut();
        state.record(|journal| journal.mark(mark));
    }
}
