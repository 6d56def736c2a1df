//! The configuration of a story: the work, the sizes of the engine, the behaviour of the world. All
//! of it can be drawn.

use std::fmt;
use std::rc::Rc;

use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::{Circular, Instance, InstanceOptions, Replayer};
use brunt_ese::log::{Durability, LogShape};
use brunt_ese::meter::MeterBoard;
use brunt_ese::patch::Copies;
use brunt_ese::policy::available::Freeing;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_world::random::{Stream, Streams};
use brunt_world::{Class, Frames, World};
use brunt_world_virtual::{MemoryDevice, Store, VirtualOptions, VirtualVolume, VirtualWorld};

use super::messages;
use crate::tiny::{blank_database_of, database_path, open_with, options, tree_database_of};
use crate::worlds::{without_log_write, without_syncs};

/// Log files by which the space grows at each opening, because an opening begins one.
const MORE_LOGS: u64 = 4;

/// Space that the flush map of a database takes on its volume: a header and a page, enough for
/// thousands of pages.
const MAP_ROOM: u64 = 16 << 10;

/// Space that the checkpoint takes on the log's volume.
const CHECKPOINT_ROOM: u64 = 8 << 10;

/// Initial pages of blank databases, which [`Work::Pages`] changes.
pub(super) const PAGES: u32 = 30;

/// The work of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Numbers in pages, without trees: exercises cache, log, checkpoint and redo only.
    Pages,
    /// Transactions on a table and its index: exercises trees, space, undo and clean-up as well.
    Records,
    /// Transactions on messages: exercises catalog and long values as well.
    Messages,
}

/// A bug injected outside the engine, so that the search has something to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Changes are reported durable before their log is.
    AcknowledgeEarly,
    /// Syncs of databases do nothing.
    SkipDatabaseSyncs,
    /// Syncs of logs do nothing.
    SkipLogSyncs,
    /// Syncs of databases do nothing on the machine of a passive copy.
    SkipCopySyncs,
    /// The write of a log with this number, from 0, is acknowledged and dropped.
    SkipLogWrite(u64),
}

/// The configuration of a story.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The seed of the world and of all sessions.
    pub seed: u64,
    /// The work of the sessions.
    pub work: Work,
    /// Databases that share the log. Records have their table in the first and their index in the
    /// last.
    pub databases: u8,
    /// The page size of all databases.
    pub page_size: PageSize,
    /// The log's segment size in bytes: 512 or 4096.
    pub segment: usize,
    /// How log becomes durable.
    pub durability: Durability,
    /// Whether the process is killed in the middle; a second one recovers, a third continues.
    pub killed: bool,
    /// Frames of the cache.
    pub frames: u32,
    /// Log that may wait in memory, in units of 512 bytes.
    pub buffer_units: u32,
    /// Log that recovery may have to replay.
    pub checkpoint_depth: ByteSize,
    /// What happens to logs that are no longer needed.
    pub circular: Circular,
    /// How long lazy commits may wait.
    pub lazy_wait: Span,
    /// How dirty pages are written back, for the checkpoint and for frames: in bursts, or in a
    /// trickle.
    pub bursts: bool,
    /// Clean pages that a write may carry along to join two runs.
    pub gap_pages: u64,
    /// Minimum pages that a database grows by.
    pub growth_pages: u32,
    /// How often the power has failed before; the story continues after this many recovered
    /// crashes.
    pub generation: u64,
    /// Pages that the databases can grow by together before their volume is full; `None` means
    /// unlimited.
    pub spare_pages: Option<u32>,
    /// Initial bytes of the databases; set when a story begins.
    pub made_bytes: u64,
    /// Space on the log's volume, in log files, reserves included; `None` means unlimited.
    pub log_files: Option<u64>,
    /// Maximum delay of an I/O beyond the shortest, in percent; above zero they complete out of
    /// order.
    pub jitter_percent: u32,
    /// The injected bug, if any.
    pub mistake: Option<Mistake>,
}

impl Configuration {
    /// The plain configuration: two databases of pages, or one of records; 4 KiB pages, segments of
    /// 512 bytes, write-through; every other seed has the smallest possible log buffer.
    pub fn new(seed: u64, work: Work) -> Self {
        let (databases, frames) = match work {
            Work::Pages => (2, 16),
            Work::Records | Work::Messages => (1, 24),
        };
        Self {
            seed,
            work,
            databases,
            page_size: PageSize::KIB_4,
            segment: 512,
            durability: Durability::WriteThrough,
            killed: false,
            frames,
            buffer_units: if seed.is_multiple_of(2) { 64 } else { 1 },
            checkpoint_depth: ByteSize::kib(96),
            circular: Circular::Reuse,
            lazy_wait: Span::millis(30),
            bursts: false,
            gap_pages: 0,
            growth_pages: 16,
            generation: 0,
            spare_pages: None,
            made_bytes: 0,
            log_files: None,
            jitter_percent: 0,
            mistake: None,
        }
    }

    /// Configuration number `round` of `seed`.
    pub fn draw(seed: u64, round: u64) -> Self {
        let streams = Streams::new(seed).part(&format!("round/{round}"));
        let mut draw = streams.named("configuration");
        let work = match draw.below(8) {
            0..2 => Work::Pages,
            2..6 => Work::Records,
            _ => Work::Messages,
        };
        let killed = draw.percent(30);
        // Only transactions can be refused; a process that takes over needs space for more log.
        let can_be_refused = work != Work::Pages;
        Self {
            work,
            killed,
            log_files: of(&mut draw, [None, None, None, Some(5), Some(6), Some(8)])
                .filter(|_| can_be_refused && !killed),
            spare_pages: of(&mut draw, [None, None, None, Some(0), Some(20), Some(40)])
                .filter(|_| can_be_refused),
            bursts: draw.percent(30),
            gap_pages: of(&mut draw, [0, 0, 1, 4]),
            growth_pages: of(&mut draw, [4, 16, 16, 64]),
            databases: of(&mut draw, [1, 2]),
            page_size: of(
                &mut draw,
                [
                    PageSize::KIB_4,
                    PageSize::KIB_4,
                    PageSize::KIB_8,
                    PageSize::KIB_16,
                    PageSize::KIB_32,
                ],
            ),
            segment: of(&mut draw, [512, 4096]),
            durability: of(&mut draw, [Durability::WriteThrough, Durability::WriteThenSync]),
            frames: of(&mut draw, [24, 32, 48]),
            buffer_units: of(&mut draw, [1, 16, 64]),
            checkpoint_depth: ByteSize::kib(of(&mut draw, [64, 96, 192])),
            circular: match draw.below(3) {
                0 => Circular::Off,
                1 => Circular::Remove,
                _ => Circular::Reuse,
            },
            lazy_wait: Span::millis(of(&mut draw, [3, 30, 300])),
            jitter_percent: of(&mut draw, [0, 50, 400]),
            ..Self::new(draw.bits(), work)
        }
    }

    /// The options of the engine.
    pub(super) fn options(&self) -> InstanceOptions {
        InstanceOptions {
            page_size: self.page_size,
            log: LogShape::new(self.segment, self.log_bytes()),
            pacing: match self.bursts {
                true => Pacing::Burst { pages: 4 },
                false => Pacing::TRICKLE,
            },
            growth_pages: self.growth_pages,
            durability: self.durability,
            log_buffer_units: self.buffer_units,
            checkpoint_depth: self.checkpoint_depth,
            circular: self.circular,
            lazy_wait: self.lazy_wait,
            ..options(self.databases.into(), self.segment)
        }
    }

    /// Bytes of a log file: with large pages it must still hold some changes of each.
    fn log_bytes(&self) -> usize {
        let pages = self.page_size.bytes().div_euclid(PageSize::KIB_4.bytes());
        pages.max(1) * (64 << 10)
    }

    pub(super) fn cache_options(&self) -> CacheOptions {
        CacheOptions {
            freeing: match self.bursts {
                true => Freeing::BURST,
                false => Freeing::TRICKLE,
            },
            gap_bytes: self.gap_pages * self.page_size.bytes_u64(),
            remains_percent: Some(30),
            ..CacheOptions::new(self.page_size, self.frames)
        }
    }

    /// Opens the instance.
    pub(super) async fn open(
        &self,
        world: &World,
        copies: Option<Rc<dyn Copies>>,
    ) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
        open_with(world, self.cache_options(), self.options(), copies).await
    }

    /// The configuration of its copy: on a machine of its own, with unlimited space.
    pub(super) fn copy(&self) -> Self {
        Self { seed: !self.seed, killed: false, spare_pages: None, log_files: None, ..self.clone() }
    }

    /// Opens the databases to follow a log.
    pub(super) async fn follow(&self, world: &World) -> Result<Replayer, EngineError> {
        let meters = Rc::new(MeterBoard::new(usize::from(self.databases), 1));
        let cache = Cache::new(world, self.cache_options(), meters);
        Replayer::open(world, &cache, self.options()).await
    }

    /// The initial files.
    pub(super) fn files(&self, frames: &Frames) -> Store {
        if self.work == Work::Messages {
            return messages::files(self.page_size, self.databases, frames);
        }
        let mut store = Store::new();
        for database in 0..self.databases {
            let path = database_path(database.into());
            match self.work {
                Work::Pages => {
                    blank_database_of(self.page_size, &mut store, &path, PAGES as usize);
                }
                Work::Records | Work::Messages => {
                    tree_database_of(self.page_size, &mut store, &path);
                }
            }
        }
        store
    }

    /// Bytes of the databases in the initial files.
    pub(super) fn database_bytes(&self, store: &Store) -> u64 {
        let length = |database: u8| store.length(store.find(&database_path(database.into()))?);
        let lengths = (0..self.databases).filter_map(length);
        lengths.sum()
    }

    /// The volumes, with space for `more_logs` log files more than configured.
    fn volumes(&self, more_logs: u64) -> Vec<VirtualVolume> {
        let (mut data, mut log) = (VirtualVolume::everything(), VirtualVolume::everything());
        log.path = options(1, self.segment).log_directory;
        if let Some(pages) = self.spare_pages {
            let spare = u64::from(pages) * self.page_size.bytes_u64();
            data.bytes = self.made_bytes + u64::from(self.databases) * MAP_ROOM + spare;
        }
        if let Some(files) = self.log_files {
            let files = (files + more_logs) * self.log_bytes() as u64;
            log.bytes = files + CHECKPOINT_ROOM;
        }
        vec![data, log]
    }

    /// A world with these files. Each earlier process that opened them adds space for some log
    /// files.
    pub(super) fn world_of(&self, store: Store, is_story: bool, frames: &Frames) -> VirtualWorld {
        let opened = self.generation + u64::from(!is_story);
        let volumes = self.volumes(MORE_LOGS * opened);
        let seed = match is_story {
            true => self.seed.wrapping_add(self.generation),
            false => 1,
        };
        let stream = Streams::new(seed).named("device/0");
        VirtualWorld::new(VirtualOptions {
            store,
            frames: frames.clone(),
            volumes,
            devices: vec![Box::new(MemoryDevice::new(stream, self.jitter_percent))],
            ..VirtualOptions::new(seed)
        })
    }

    /// The world with the injected bug.
    pub(super) fn tampered(&self, world: &World) -> World {
        match self.mistake {
            Some(Mistake::SkipDatabaseSyncs) => without_syncs(world, Class::Database),
            Some(Mistake::SkipLogSyncs) => without_syncs(world, Class::Log),
            Some(Mistake::SkipLogWrite(number)) => without_log_write(world, number),
            Some(Mistake::AcknowledgeEarly | Mistake::SkipCopySyncs) | None => world.clone(),
        }
    }
}

fn of<T: Copy, const COUNT: usize>(draw: &mut Stream, choices: [T; COUNT]) -> T {
    let choice = draw.below(COUNT as u64);
    choices[usize::try_from(choice).expect("below a small number")]
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Pages => "pages",
            Work::Records => "records",
            Work::Messages => "messages",
        };
        let durability = match self.durability {
            Durability::WriteThrough => "write-through",
            Durability::WriteThenSync => "write and sync",
        };
        write!(
            f,
            "{work}, {} databases, {} pages, {} frames, {}-byte segments, {durability}, log buffer {} x 512, \
             checkpoint depth {}, lazy wait {}, jitter {} %",
            self.databases,
            self.page_size,
            self.frames,
            self.segment,
            self.buffer_units,
            self.checkpoint_depth,
            self.lazy_wait,
            self.jitter_percent,
        )?;
        let (gap, growth) = (self.gap_pages, self.growth_pages);
        write!(f, ", gaps of {gap}, growth of {growth}")?;
        if let Some(files) = self.log_files {
            write!(f, ", room for {files} logs")?;
        }
        if let Some(pages) = self.spare_pages {
            write!(f, ", room for {pages} more pages")?;
        }
        if self.generation > 0 {
            write!(f, ", generation {}", self.generation)?;
        }
        if self.bursts {
            f.write_str(", bursts")?;
        }
        if self.circular != Circular::Off {
            f.write_str(", circular")?;
        }
        if self.killed {
            f.write_str(", killed in the middle")?;
        }
        Ok(())
    }
}
