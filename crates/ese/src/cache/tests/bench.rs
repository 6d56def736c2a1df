//! A cache over one database in a virtual world, on a device that records requests and fails on
//! demand.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber, PageSize, Span};
use brunt_world::{Class, FileId, Io, IoError, Op, OpenMode, World};
use brunt_world_virtual::{Agenda, Device, Request, Store, VirtualOptions, VirtualWorld};

use crate::cache::{Cache, CacheOptions, FlushMemory, NewDatabase, Trust};
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::checksum::seal;
use crate::format::field::put_u32;
use crate::format::page::{DATABASE_TIME_AT, FLAGS_AT, PageFlags};
use crate::format::stamp::{RunId, Signature, Stamp};
use crate::log::files::LogPlace;
use crate::log::{Durability, Log, LogFiles, LogOptions, LogShape};
use crate::meter::MeterBoard;
use crate::page::Pages;
use crate::policy::log_format;

pub(super) const SIZE: PageSize = PageSize::KIB_4;
/// Pages of the database.
pub(super) const PAGES: u32 = 200;
/// Signature that the database shares with its copies.
pub(super) const SIGNATURE: Signature =
    Signature { random: 9, created: Stamp::from_bytes([0; 8]), computer: [0; 16] };
/// Offset of the byte that tests change.
pub(super) const BYTE_AT: usize = 3000;

/// Called with each submitted request.
type Look = Box<dyn FnMut(&Request)>;

/// A device that serves requests at once, records them, and fails on demand.
#[derive(Clone)]
pub(super) struct Probe(Rc<RefCell<Plan>>);

struct Plan {
    seen: Vec<Request>,
    failures: Vec<(Class, Op)>,
    latency: Span,
    slow: Option<(Class, Span)>,
    look: Option<Look>,
}

impl Probe {
    /// Requests of a class and kind so far: first byte and length.
    pub(super) fn seen(&self, class: Class, op: Op) -> Vec<(u64, u64)> {
        let plan = self.0.borrow();
        let of_kind = |request: &&Request| request.class == class && request.op == op;
        let place = |request: &Request| (request.offset, request.length);
        plan.seen.iter().filter(of_kind).map(place).collect()
    }

    /// Pages read for operations so far, as (first page, number of pages) for each request.
    pub(super) fn reads(&self) -> Vec<(u32, u32)> {
        let pages = |bytes: u64| u32::try_from(bytes.div_euclid(SIZE.bytes_u64())).unwrap();
        let reads = self.seen(Class::Database, Op::Read);
        reads.into_iter().map(|(offset, length)| (pages(offset) - 1, pages(length))).collect()
    }

    /// Makes the next request of this kind fail.
    pub(super) fn fail_next(&self, class: Class, op: Op) {
        self.0.borrow_mut().failures.push((class, op));
    }

    /// Sets the latency of all requests.
    pub(super) fn set_latency(&self, latency: Span) {
        self.0.borrow_mut().latency = latency;
    }

    /// Sets the latency of one class, overriding the general one.
    pub(super) fn set_latency_of(&self, class: Class, latency: Span) {
        self.0.borrow_mut().slow = Some((class, latency));
    }

    /// Calls `look` with every request from now on.
    pub(super) fn watch(&self, look: impl FnMut(&Request) + 'static) {
        self.0.borrow_mut().look = Some(Box::new(look));
    }
}

impl Device for Probe {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        let mut look = self.0.borrow_mut().look.take();
        if let Some(look) = &mut look {
            look(request);
        }
        let mut plan = self.0.borrow_mut();
        plan.look = look;
        plan.seen.push(*request);
        let failure =
            plan.failures.iter().position(|failure| *failure == (request.class, request.op));
        let result = match failure {
            Some(at) => {
                plan.failures.remove(at);
                Err(IoError::Device)
            }
            None => Ok(()),
        };
        let slow = plan.slow.filter(|(class, _)| *class == request.class);
        let latency = slow.map_or(plan.latency, |(_, latency)| latency);
        agenda.finish_at(agenda.now() + latency, request.id, result);
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {
        unreachable!("it asks for no events");
    }
}

/// A sealed page whose byte is `byte`.
pub(super) fn page_of(page: PageNumber, byte: u8) -> Vec<u8> {
    page_at(page, byte, DatabaseTime(1))
}

/// As [`page_of`], last changed at `time`.
pub(super) fn page_at(page: PageNumber, byte: u8, time: DatabaseTime) -> Vec<u8> {
    let mut bytes = vec![0; SIZE.bytes()];
    bytes[DATABASE_TIME_AT..DATABASE_TIME_AT + 8].copy_from_slice(&time.0.to_le_bytes());
    bytes[BYTE_AT] = byte;
    put_u32(
        &mut bytes,
        FLAGS_AT,
        PageFlags::ALWAYS.with(PageFlags::PREINITIALISED).with_flush_type(1).0,
    );
    seal(&mut bytes, SIZE, page);
    bytes
}

/// What a test works with.
pub(super) struct Bench {
    pub(super) world: World,
    pub(super) cache: Cache<Bytes>,
    pub(super) log: Log<Bytes>,
    pub(super) file: FileId,
    pub(super) probe: Probe,
}

/// Runs a test over a cache of `frames` frames with options changed by `adjust`. Page n of the
/// database has byte n.
pub(super) fn run(
    frames: u32,
    adjust: impl FnOnce(&mut CacheOptions),
    test: impl AsyncFnOnce(&Bench) + 'static,
) {
    let path = PathBuf::from("/data/bench.edb");
    let mut store = Store::new();
    let mut bytes = vec![0; 2 * SIZE.bytes()];
    for page in (1..=PAGES).map(PageNumber) {
        bytes.extend(page_of(page, page.0.to_le_bytes()[0]));
    }
    store.put(&path, &bytes);
    let probe = Probe(Rc::new(RefCell::new(Plan {
        seen: Vec::new(),
        failures: Vec::new(),
        latency: Span::micros(100),
        slow: None,
        look: None,
    })));
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store,
        devices: vec![Box::new(probe.clone())],
        ..VirtualOptions::new(1)
    });
    let world = virtual_world.world.clone();
    let mut options = CacheOptions::new(SIZE, frames);
    adjust(&mut options);
    virtual_world.executor.block_on(async move {
        let bench = Bench::start(world, options, probe, &path).await;
        test(&bench).await;
    });
}

impl Bench {
    async fn start(world: World, options: CacheOptions, probe: Probe, path: &Path) -> Self {
        let meters = Rc::new(MeterBoard::new(3, 1));
        let shape = LogShape::new(512, 65536);
        let place = LogPlace {
            number: 0,
            directory: PathBuf::from("/log"),
            base: "edb".to_owned(),
            shape,
            page_size: SIZE,
            signature: Signature::ours(1, Stamp::from_unix_millis(1), RunId(1)),
            format_chunk: log_format::CHUNK_BYTES,
            epoch_ms: 1,
        };
        let files = LogFiles::new(&world, place, Rc::clone(&meters));
        let log_options = LogOptions {
            shape,
            buffer_bytes: 32 << 10,
            lazy_wait: Span::millis(30),
            durability: Durability::WriteThrough,
        };
        let (counted, end) = (Rc::clone(&meters), LogPosition::default());
        let log = Log::start(&world, 0, log_options, files, counted, 1, end);
        log.begin().await.unwrap();
        let file = world.volume.open(path, OpenMode::Write).await.unwrap();
        let cache = Cache::new(&world, options, meters);
        let number = cache.add_database(NewDatabase {
            path: path.to_owned(),
            file,
            pages: PAGES,
            instance: 0,
            log: Rc::new(log.clone()),
            time: DatabaseTime(1),
            signature: SIGNATURE,
            flush: FlushMemory::new::<Bytes>(),
        });
        assert_eq!(number, 0);
        Self { world, cache, log, file, probe }
    }

    /// Reads a page like an operation and returns its byte.
    pub(super) async fn look(&self, page: u32) -> Result<u8, EngineError> {
        let page = PageNumber(page);
        let _pin = self.cache.fetch(0, page, Trust::Verified).await?;
        Ok(self.cache.pages(0).resident(page).unwrap()[BYTE_AT])
    }

    /// Changes a page's byte under a log record and returns the end of the record.
    pub(super) async fn change(&self, page: u32, byte: u8) -> LogPosition {
        let page = PageNumber(page);
        let pin = self.cache.fetch(0, page, Trust::Verified).await.unwrap();
        let mut pages = self.cache.pages(0);
        let time = pages.time().next();
        let bytes = pages.change(page);
        bytes[BYTE_AT] = byte;
        bytes[DATABASE_TIME_AT..DATABASE_TIME_AT + 8].copy_from_slice(&time.0.to_le_bytes());
        drop(pages);
        let appended = self.log.append(&[7; 50]);
        self.cache.changed(0, &[page], appended, time);
        drop(pin);
        appended.end
    }

    /// The file of the database.
    pub(super) fn file(&self) -> FileId {
        self.file
    }

    /// Page-fault stalls since the last call.
    pub(super) fn stalls(&self) -> u64 {
        let meters = self.cache.meters();
        meters.with(|meters| meters.page_fault_stalls.close_interval())
    }

    /// Writes every dirty page and waits.
    pub(super) async fn write_all(&self) -> Result<(), EngineError> {
        self.cache.write_all(0).await
    }

    /// Evicts all other pages by reading pages from `first` on.
    pub(super) async fn push_out(&self, first: u32) {
        let (_, frames) = self.cache.resident();
        for page in first..first + 2 * frames {
            self.look(page).await.unwrap();
        }
    }

    /// A page's bytes on disk.
    pub(super) async fn on_disk(&self, page: u32) -> Vec<u8> {
        let frame = self.world.frames.take(SIZE.bytes());
        let offset = PageNumber(page).offset(SIZE);
        let read = Io::read(Class::Verify, self.file, offset, frame);
        self.world.disk.submit(read).await.into_frame().to_vec()
    }

    /// Overwrites a page on disk, bypassing the cache.
    pub(super) async fn put_on_disk(&self, page: u32, bytes: &[u8]) {
        let mut frame = self.world.frames.take(SIZE.bytes());
        frame.copy_from_slice(bytes);
        let offset = PageNumber(page).offset(SIZE);
        let write = Io::write(Class::Verify, self.file, offset, &Rc::new(frame));
        self.world.disk.submit(write).await.result.unwrap();
    }
}
