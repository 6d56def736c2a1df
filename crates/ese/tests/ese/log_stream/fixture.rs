//! A stream on a device with a fixed latency that records all requests and fails on demand.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_ese::log::files::LogPlace;
use brunt_ese::log::{Durability, Log, LogFiles, LogOptions, LogShape};
use brunt_ese::meter::{LogMeters, MeterBoard};
use brunt_ese::policy::log_format;
use brunt_units::{LogPosition, PageSize, Span, Time};
use brunt_world::{Class, IoError, World};
use brunt_world_virtual::{
    Agenda, Device, Machine, Request, VirtualOptions, VirtualVolume, VirtualWorld,
};

/// Latency of every request.
pub(crate) const SERVICE: Span = Span::millis(1);
/// Latency of every volume operation, such as a rename.
pub(crate) const NAMES: Span = Span::micros(100);
/// Longest wait of lazy commits.
pub(crate) const LAZY_WAIT: Span = Span::millis(30);

/// Requests to the device, with their times.
pub(crate) type Requests = Rc<RefCell<Vec<(Time, Request)>>>;

struct Noting {
    requests: Requests,
    /// The class whose requests fail.
    failing: Rc<Cell<Option<Class>>>,
}

impl Device for Noting {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        self.requests.borrow_mut().push((agenda.now(), *request));
        let fails = self.failing.get() == Some(request.class);
        let result = if fails { Err(IoError::Device) } else { Ok(()) };
        agenda.finish_at(agenda.now() + SERVICE, request.id, result);
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {
        unreachable!("it asks for no events");
    }
}

/// A new stream and its environment.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) world: World,
    pub(crate) machine: Machine,
    pub(crate) log: Log<Bytes>,
    pub(crate) meters: Rc<MeterBoard>,
    pub(crate) requests: Requests,
    failing: Rc<Cell<Option<Class>>>,
}

/// Runs `test` on a new write-through stream with files of `shape`.
pub(crate) fn run(shape: LogShape, buffer_bytes: usize, test: impl AsyncFnOnce(Fixture) + 'static) {
    let options = LogOptions {
        shape,
        buffer_bytes,
        lazy_wait: LAZY_WAIT,
        durability: Durability::WriteThrough,
    };
    run_with(options, test);
}

/// Runs `test` on a new stream with `options`.
pub(crate) fn run_with(options: LogOptions, test: impl AsyncFnOnce(Fixture) + 'static) {
    let (requests, failing) = (Requests::default(), Rc::default());
    let device = Noting { requests: Rc::clone(&requests), failing: Rc::clone(&failing) };
    let volume = VirtualVolume { names_latency: NAMES, ..VirtualVolume::everything() };
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        devices: vec![Box::new(device)],
        volumes: vec![volume],
        ..VirtualOptions::new(1)
    });
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    virtual_world.executor.block_on(async move {
        let meters = Rc::new(MeterBoard::new(0, 1));
        let log = begin(&world, options, &meters).await;
        let fixture = Fixture { world, machine, log, meters, requests, failing };
        test(fixture).await;
    });
}

async fn begin(world: &World, options: LogOptions, meters: &Rc<MeterBoard>) -> Log<Bytes> {
    let stamp = Stamp::from_unix_millis(1);
    let place = LogPlace {
        number: 0,
        directory: PathBuf::from("/log"),
        base: "edb".to_owned(),
        shape: options.shape,
        page_size: PageSize::KIB_4,
        signature: Signature::ours(7, stamp, RunId(1)),
        format_chunk: log_format::CHUNK_BYTES,
        epoch_ms: 0,
    };
    let files = LogFiles::new(world, place, Rc::clone(meters));
    let meters = Rc::clone(meters);
    let log = Log::start(world, 0, options, files, meters, 1, LogPosition::default());
    log.begin().await.unwrap();
    log
}

impl Fixture {
    pub(crate) fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// Reads the stream's counters.
    pub(crate) fn meter<T>(&self, look: impl FnOnce(&mut LogMeters) -> T) -> T {
        self.meters.with(|meters| look(&mut meters.logs[0]))
    }

    /// Requests of a class so far.
    pub(crate) fn requests_of(&self, class: Class) -> Vec<(Time, Request)> {
        let requests = self.requests.borrow();
        let of_class = requests.iter().filter(|(_, request)| request.class == class);
        of_class.copied().collect()
    }

    /// Makes requests of this class fail from now on.
    pub(crate) fn fail(&self, class: Class) {
        self.failing.set(Some(class));
    }
}

/// A record with a total length of `length` bytes.
pub(crate) fn record(length: usize) -> Vec<u8> {
    let body = u32::try_from(length - 4).unwrap();
    let mut bytes = vec![0xA5; length];
    bytes[..4].copy_from_slice(&(body << 8 | 9).to_le_bytes());
    bytes
}
