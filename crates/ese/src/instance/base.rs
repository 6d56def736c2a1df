//! What a replayer and then the writer share: databases, their page cache, and the checkpoint on
//! disk.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::World;

use super::InstanceOptions;
use super::database::{Database, Found};
use super::flush_map;
use super::start::log_files;
use crate::cache::{Cache, NewDatabase};
use crate::content::Content;
use crate::error::{EngineError, PageFault};
use crate::format::attachment::ATTACHMENTS_MAX;
use crate::format::header::{DatabaseState, LogsRequired};
use crate::format::stamp::Signature;
use crate::log::{Flushed, LogFiles, WriteAhead};
use crate::small_file::name_error;

/// Log files replayed, and log files to replay; both 0 when there is nothing to replay.
pub type Replayed = Rc<Cell<(u32, u32)>>;

pub(crate) struct Base<C: Content> {
    pub(crate) world: World,
    pub(crate) options: InstanceOptions,
    pub(crate) cache: Cache<C>,
    pub(crate) files: LogFiles<C>,
    pub(crate) databases: Vec<Database>,
    /// The checkpoint on disk.
    pub(crate) checkpoint: Cell<LogPosition>,
    /// The checkpoint copy that a crash left behind the other, to be written first; 0 when both are
    /// equal.
    pub(crate) stale_copy: Cell<u64>,
    pub(crate) replayed: Replayed,
    /// For each running backup, the first log generation it needs.
    pub(crate) holds: RefCell<Vec<u32>>,
    /// Whether flush maps are written.
    pub(crate) keeps_flush_maps: Cell<bool>,
}

/// What the log directory says at opening.
#[derive(Default)]
pub(crate) struct Beginning {
    /// Where the log ends.
    pub(crate) end: LogPosition,
    /// The stream's signature, if it has one.
    pub(crate) signature: Option<Signature>,
    /// The checkpoint on disk.
    pub(crate) checkpoint: LogPosition,
    /// The checkpoint copy to write first.
    pub(crate) stale_copy: u64,
}

/// Log that was durable before it was replayed. Holds its end.
pub(crate) struct Arrived(pub(crate) Cell<LogPosition>);

impl WriteAhead for Arrived {
    fn durable(&self) -> LogPosition {
        self.0.get()
    }

    fn flushed(&self, end: LogPosition) -> Flushed {
        assert!(end <= self.0.get(), "a change that no log has");
        Box::pin(std::future::ready(Ok(())))
    }
}

impl<C: Content> Base<C> {
    /// Adds opened databases to the cache. Their pages may be as new as the end of the log.
    pub(crate) async fn assemble(
        world: &World,
        cache: &Cache<C>,
        options: InstanceOptions,
        beginning: Beginning,
        found: Vec<Found>,
    ) -> Result<(Rc<Self>, Rc<Arrived>), EngineError> {
        assert!(
            options.databases.len() <= ATTACHMENTS_MAX,
            "more databases than a checkpoint can list"
        );
        let files = log_files(world, cache, &options, beginning.signature);
        let arrived = Rc::new(Arrived(Cell::new(beginning.end)));
        let mut databases = Vec::with_capacity(found.len());
        for (path, mut found) in options.databases.iter().zip(found) {
            let (map, memory) = flush_map::open::<C>(world, path, &mut found).await?;
            let (path, time) = (path.clone(), found.header.time);
            let number = cache.add_database(NewDatabase {
                path: path.clone(),
                file: found.file,
                pages: found.pages,
                instance: options.number,
                log: Rc::<Arrived>::clone(&arrived),
                time,
                signature: found.header.signature,
                flush: memory,
            });
            databases.push(Database {
                number,
                path,
                file: found.file,
                map,
                header: RefCell::new(found.header),
                pages: Cell::new(found.pages),
                growing: Cell::new(false),
                is_drawn_on: Cell::new(false),
            });
        }
        let base = Self {
            world: world.clone(),
            files,
            cache: cache.clone(),
            databases,
            checkpoint: Cell::new(beginning.checkpoint),
            stale_copy: Cell::new(beginning.stale_copy),
            replayed: Replayed::default(),
            holds: RefCell::default(),
            keeps_flush_maps: Cell::new(true),
            options,
        };
        Ok((Rc::new(base), arrived))
    }

    pub(crate) fn database(&self, database: u8) -> &Database {
        &self.databases[usize::from(database)]
    }

    pub(crate) fn page_error(
        &self,
        database: &Database,
        page: PageNumber,
        fault: PageFault,
    ) -> EngineError {
        let offset = page.offset(self.options.page_size);
        EngineError::Page { database: database.path.clone(), page, offset, fault }
    }

    /// Records in the headers of databases in use that they need the log up to `generation`. That
    /// file exists and is empty. If it is lost later, the next open notices.
    ///
    /// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx: headers are
    /// updated with each new log file, before it is written to.
    pub(crate) async fn name_generation(
        self: &Rc<Self>,
        generation: u32,
    ) -> Result<(), EngineError> {
        let stamp = self.files.stamp();
        let mut writing = Vec::new();
        for (index, entry) in self.databases.iter().enumerate() {
            let mut header = entry.header.borrow_mut();
            if header.state == DatabaseState::Dirty {
                header.required = self.required(generation);
                (header.committed, header.required_on) = (generation, stamp);
                let base = Rc::clone(self);
                let write = async move {
                    let entry = &base.databases[index];
                    entry.write_header(&base.world).await
                };
                writing.push(self.world.spawner.spawn(write));
            }
        }
        for write in writing {
            write.await?;
        }
        Ok(())
    }

    /// The log from the checkpoint to `generation`.
    pub(super) fn required(&self, generation: u32) -> LogsRequired {
        LogsRequired { lowest: self.checkpoint.get().generation.max(1), highest: generation }
    }

    /// Closes the files of the databases.
    pub(crate) async fn close_databases(&self) -> Result<(), EngineError> {
        for entry in &self.databases {
            for file in [entry.file, entry.map] {
                let closed = self.world.volume.close(file).await;
                closed.map_err(name_error(&entry.path))?;
            }
        }
        Ok(())
    }
}
