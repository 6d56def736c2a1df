//! Shared by the measuring programs: a mailbox database of about a given size, created and opened
//! in the real world.
//!
//! Messages follow the Exchange 2013 profile: pads of 200 and 2,000 bytes, and an occasional large
//! message.

#![allow(dead_code, reason = "each program uses its part")]

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::create::{CreateOptions, Created, MessageSource, create_database};
use brunt_ese::error::EngineError;
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_ese::instance::messages::NewContent;
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, Instance, InstanceOptions};
use brunt_ese::log::{Durability, FlushReason, LogShape};
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::content::{Content, Part, Shape};
use brunt_workload::keys::{Mixer, Record};
use brunt_world::World;

/// Pages of Exchange 2010 and later.
pub(crate) const PAGE: PageSize = PageSize::KIB_32;

const RUN: RunId = RunId(0xBE7C);
const SEED: u64 = 1;
const FOLDERS: u64 = 64;
/// File bytes per message, including large ones and all trees; measured on a new database.
const BYTES_PER_MESSAGE: u64 = 3_250;

/// The messages of a new database.
pub(crate) struct Mailbox {
    content: Content,
    mixer: Mixer,
    /// Numbers in order of their ids.
    order: Vec<u64>,
}

/// A message's bytes.
#[derive(Default)]
pub(crate) struct Pads {
    subject: Vec<u8>,
    body: Vec<u8>,
}

impl Mailbox {
    /// Messages for a file of about `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        let mixer = Mixer::new(SEED);
        let mut order: Vec<u64> = (0..bytes.div_euclid(BYTES_PER_MESSAGE)).collect();
        order.sort_unstable_by_key(|number| id(mixer.record(*number)));
        Self { content: Content::new(Shape::JETSTRESS, SEED), mixer, order }
    }

    /// Number of messages.
    pub(crate) fn messages(&self) -> u64 {
        self.order.len() as u64
    }

    /// The mapping from numbers to keys.
    pub(crate) fn mixer(&self) -> Mixer {
        self.mixer
    }

    /// A message in the engine's form; `pads` holds its bytes.
    pub(crate) fn message<'p>(
        &self,
        record: Record,
        version: u32,
        pads: &'p mut Pads,
    ) -> NewContent<'p> {
        self.fill_subject(record, version, &mut pads.subject);
        self.fill_body(record, version, &mut pads.body);
        NewContent {
            id: id(record),
            folder: folder(record),
            received: record.number.cast_signed(),
            version: version.cast_signed(),
            subject: &pads.subject,
            body: &pads.body,
        }
    }

    fn fill_subject(&self, record: Record, version: u32, subject: &mut Vec<u8>) {
        subject.resize(self.content.length(record.key, Part::Short), 0);
        self.content.fill(record.key, version, Part::Short, subject);
    }

    fn fill_body(&self, record: Record, version: u32, body: &mut Vec<u8>) {
        let (part, length) = self.body_of(record);
        body.resize(length, 0);
        self.content.fill(record.key, version, part, body);
    }

    fn body_of(&self, record: Record) -> (Part, usize) {
        match self.content.length(record.key, Part::Large) {
            0 => (Part::Long, self.content.length(record.key, Part::Long)),
            large => (Part::Large, large),
        }
    }
}

/// The primary key of a record.
pub(crate) fn id(record: Record) -> i64 {
    record.key.cast_signed()
}

fn folder(record: Record) -> i32 {
    i32::try_from(record.number.rem_euclid(FOLDERS)).expect("few folders")
}

impl MessageSource for Mailbox {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.order.iter().copied())
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let step = usize::try_from(FOLDERS).expect("few folders");
        Box::new((0..FOLDERS).flat_map(move |folder| (folder..self.messages()).step_by(step)))
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        let record = self.mixer.record(number);
        (id(record), folder(record), number.cast_signed())
    }

    fn body_bytes(&self, number: u64) -> usize {
        self.body_of(self.mixer.record(number)).1
    }

    fn subject(&self, number: u64, subject: &mut Vec<u8>) {
        self.fill_subject(self.mixer.record(number), 0, subject);
    }

    fn body(&self, number: u64, body: &mut Vec<u8>) {
        self.fill_body(self.mixer.record(number), 0, body);
    }
}

/// Creates the database `path`, which must not exist, of about `bytes`.
pub(crate) async fn create(
    world: &World,
    path: &Path,
    mailbox: &Mailbox,
    bytes: u64,
) -> Result<Created, EngineError> {
    let options = CreateOptions {
        page_size: PAGE,
        fill_percent: 80,
        free_pages: 256,
        expected_bytes: bytes,
        signature: Signature::ours(7, Stamp::from_unix_millis(1_700_000_000_000), RUN),
    };
    create_database(world, path, &options, mailbox, &|_| {}).await
}

/// Options for opening an instance.
pub(crate) struct Opening {
    /// Directory of `db.edb` and the log.
    pub(crate) directory: PathBuf,
    pub(crate) cache: ByteSize,
    /// Target for the log that recovery may have to replay.
    pub(crate) checkpoint_depth: ByteSize,
    /// Circular logging.
    pub(crate) circular: Circular,
}

impl Opening {
    pub(crate) fn database(&self) -> PathBuf {
        self.directory.join("db.edb")
    }

    /// The cache, which does not shrink.
    pub(crate) fn cache_options(&self) -> CacheOptions {
        let frames = PAGE.pages_in(self.cache);
        let frames = u32::try_from(frames).expect("frames have 32-bit numbers");
        let mut cache = CacheOptions::new(PAGE, frames);
        cache.frames_min = frames;
        cache
    }

    /// An instance with the log of Exchange 2013: files of 1 MiB and a buffer of that size.
    pub(crate) fn instance_options(&self) -> InstanceOptions {
        InstanceOptions {
            number: 0,
            log_directory: self.directory.clone(),
            databases: vec![self.database()],
            page_size: PAGE,
            log: LogShape::new(512, 1 << 20),
            log_buffer_units: 9_000,
            lazy_wait: Span::millis(30),
            durability: Durability::WriteThrough,
            checkpoint_depth: self.checkpoint_depth,
            pacing: Pacing::TRICKLE,
            format_chunk: None,
            circular: self.circular,
            growth_pages: 256,
            run: RUN,
            epoch_ms: 1_700_000_000_000,
        }
    }

    /// Opens the instance.
    pub(crate) async fn open(
        &self,
        world: &World,
    ) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
        let meters = Rc::new(MeterBoard::new(1, 1));
        let cache = Cache::new(world, self.cache_options(), meters);
        Instance::open(world, &cache, self.instance_options()).await
    }
}

/// Replaces messages of a new database with lazy commits until `logs` log files are full, and
/// flushes the log. The instance stays open.
pub(crate) async fn fill_logs(
    world: &World,
    opening: &Opening,
    database_bytes: u64,
    logs: u32,
) -> Result<Instance<Bytes>, EngineError> {
    let mailbox = Mailbox::new(database_bytes);
    create(world, &opening.database(), &mailbox, database_bytes).await?;
    let (instance, _) = opening.open(world).await?;
    let table = instance.messages(0).await?;
    let (mut pads, mut draw) = (Pads::default(), world.random.named("replaced"));
    let mut version = 0;
    while instance.log().tail().generation <= logs {
        version += 1;
        let record = mailbox.mixer().record(draw.below(mailbox.messages()));
        let message = mailbox.message(record, version, &mut pads);
        let transaction = instance.begin();
        transaction.replace_message(&table, &message).await?;
        transaction.commit(Commit::Lazy).await?;
        world.clock.spend(Span::micros(10)).await;
    }
    let log = instance.log();
    log.flushed(log.tail(), FlushReason::Drain).await?;
    Ok(instance)
}
