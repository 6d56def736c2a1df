//! The checkpoint: writing back old dirty pages, and moving the point from which recovery starts.
//!
//! Once a second each database with completed writes is synced. The checkpoint then moves to the
//! oldest position that a dirty page, an unsynced write or an open transaction still needs.
//!
//! The file has two copies. The second is written when the first is durable, so a torn write never
//! destroys both. After a crash between the two, the older copy is written first: the log files it
//! needs may be gone.
//!
//! With circular logging, generations before the checkpoint are released once the checkpoint is
//! durable.

use brunt_units::{LogPosition, Span, Time};
use brunt_world::sync::Alarm;
use brunt_world::{Class, FileId, Io, Op, OpenMode, VolumeError};
use smallvec::smallvec;

use super::{Base, Circular, Instance, database::Database};
use crate::content::Content;
use crate::error::EngineError;
use crate::format::attachment::Attachment;
use crate::format::checkpoint_file::{CHECKPOINT_BYTES, Checkpoint};
use crate::log::files::SPARES_MAX;
use crate::policy::checkpoint as policy;
use crate::small_file::{file_error, name_error};

impl<C: Content> Instance<C> {
    /// Runs until the instance closes or fails.
    pub(crate) async fn run_checkpoint(self) -> Result<(), EngineError> {
        let first = self.0.world.clock.now() + self.phase();
        let mut pacing = policy::Checkpoint::new(self.0.options.pacing, first);
        let mut pass_at = first + policy::PASS_PERIOD;
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        let file = self.0.open_checkpoint().await?;
        while !self.0.closing.get() {
            self.let_go(&mut pacing).await?;
            let now = self.0.world.clock.now();
            if now >= pass_at {
                self.advance(file, false).await?;
                pass_at = now + policy::PASS_PERIOD;
            }
            let look = pacing.next_look().min(pass_at);
            self.pause_for_writes(look, &alarm).await;
        }
        self.0.world.volume.close(file).await.map_err(name_error(&self.0.checkpoint_path()))
    }

    /// When in a period this instance makes its passes. Without the offset, instances opened
    /// together would always write together.
    fn phase(&self) -> Span {
        let name = format!("checkpoint/{}", self.0.options.number);
        let mut draw = self.0.world.random.named(&name);
        Span::nanos(draw.below(policy::PASS_PERIOD.0))
    }

    /// Writes back pages older than the checkpoint depth allows, as many as the pacing permits.
    async fn let_go(&self, pacing: &mut policy::Checkpoint) -> Result<(), EngineError> {
        let options = &self.0.options;
        let tail = self.0.log.tail();
        // Pages that only wait for a sync do not count.
        let lag = self
            .0
            .cache
            .oldest_unwritten(options.number)
            .map_or(0, |oldest| options.log.distance(oldest, tail));
        let depth = options.checkpoint_depth.get();
        let in_flight = self.0.cache.writes_in_flight(options.number);
        let budget = pacing.write_budget(self.0.world.clock.now(), lag, depth, in_flight);
        if budget > 0 {
            let preferred = policy::preferred(tail, options.checkpoint_depth, options.log);
            self.0.cache.write_older_than(options.number, preferred, budget as usize).await?;
        }
        Ok(())
    }

    /// Waits until `time`, until a write completes, or until the instance closes.
    async fn pause_for_writes(&self, time: Time, alarm: &Alarm) {
        if !self.0.closing.get() {
            let instance = self.0.options.number;
            self.0.cache.write_ended_by(instance, time, alarm).await;
        }
    }

    /// Waits until `time`, or until the instance closes.
    pub(crate) async fn pause(&self, time: Time) {
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        self.0
            .changed
            .wait(|| {
                let now = self.0.world.clock.now();
                alarm.set(now, time);
                (now >= time || self.0.closing.get()).then_some(())
            })
            .await;
    }

    /// Syncs completed writes and moves the checkpoint as far as possible, if the move is large
    /// enough or the log is `short_of_room`.
    ///
    /// # Errors
    /// When a sync or a write fails. The old checkpoint stays valid.
    pub(crate) async fn advance(
        &self,
        file: FileId,
        short_of_room: bool,
    ) -> Result<(), EngineError> {
        for database in &self.0.databases {
            self.0.cache.sync(database.number).await?;
        }
        // Read before asking for needed positions: any change made in the meantime comes after it.
        let tail = self.0.log.durable();
        let needed = self.0.cache.oldest_needed(self.0.options.number);
        let position =
            needed.into_iter().chain(self.0.transactions.oldest(tail)).fold(tail, LogPosition::min);
        let is_behind = short_of_room && position > self.0.checkpoint.get();
        if is_behind || self.is_worth_writing(position) {
            // After choosing the position: a page written from now on cannot need an earlier one.
            self.0.write_flush_maps().await?;
            let durable = self.0.log.durable();
            self.0.write_checkpoint(file, position, durable).await?;
            self.0.give_up_old_logs().await?;
        }
        Ok(())
    }

    /// When the log volume is full, writes back what holds on to old log files, and releases them.
    pub(crate) async fn make_room(&self) -> Result<(), EngineError> {
        let files = &self.0.files;
        if !files.is_low() || self.0.options.circular == Circular::Off {
            return Ok(());
        }
        self.0.cache.write_all(self.0.options.number).await?;
        let file = self.0.open_checkpoint().await?;
        let advanced = self.advance(file, true).await;
        let closed = self.0.world.volume.close(file).await;
        advanced?;
        closed.map_err(name_error(&self.0.checkpoint_path()))?;
        files.replenish().await
    }

    /// The checkpoint moves by at least a quarter of its depth: each move writes the flush map of
    /// all pages written since.
    fn is_worth_writing(&self, position: LogPosition) -> bool {
        if self.0.checkpoint_held.get() {
            return false;
        }
        let least = self
            .0
            .options
            .checkpoint_depth
            .get()
            .div_euclid(4)
            .min(self.0.options.log.file_bytes() as u64 * 4);
        let moved = self.0.options.log.distance(self.0.checkpoint.get(), position);
        position > self.0.checkpoint.get() && moved >= least
    }
}

impl<C: Content> Base<C> {
    /// With circular logging, releases log files before the checkpoint on disk. An opening instance
    /// does this before it needs a new log file, so that a full log volume has room again.
    pub(crate) async fn give_up_old_logs(&self) -> Result<(), EngineError> {
        let keep = match self.options.circular {
            Circular::Off => return Ok(()),
            Circular::Remove => 0,
            Circular::Reuse => SPARES_MAX,
        };
        let oldest = self.oldest_kept(self.checkpoint.get());
        self.files.give_up_before(oldest, keep).await
    }

    /// The first generation to keep when the checkpoint is at `position`.
    fn oldest_kept(&self, position: LogPosition) -> u32 {
        let holds = self.holds.borrow();
        holds.iter().copied().fold(position.generation, u32::min)
    }

    /// Writes back everything, and moves the checkpoint of databases that follow a log to its
    /// `end`, as far as `open`, the first changes of transactions without an end, allow.
    pub(crate) async fn write_back_to(
        &self,
        end: LogPosition,
        open: impl Iterator<Item = LogPosition>,
    ) -> Result<(), EngineError> {
        self.cache.write_all(self.options.number).await?;
        for database in &self.databases {
            self.cache.sync(database.number).await?;
        }
        let needed = self.cache.oldest_needed(self.options.number);
        let position = needed.into_iter().chain(open).fold(end, LogPosition::min);
        if position > self.checkpoint.get() {
            self.write_flush_maps().await?;
            let file = self.open_checkpoint().await?;
            let written = self.write_checkpoint(file, position, end).await;
            let closed = self.world.volume.close(file).await;
            written?;
            closed.map_err(name_error(&self.checkpoint_path()))?;
            self.give_up_old_logs().await?;
        }
        Ok(())
    }

    /// Makes `position` the durable checkpoint, of a log that is durable up to `durable`.
    pub(crate) async fn write_checkpoint(
        &self,
        file: FileId,
        position: LogPosition,
        durable: LogPosition,
    ) -> Result<(), EngineError> {
        let bytes = self.checkpoint_copy(position, durable);
        let first = self.stale_copy.get();
        for copy in [first, 1 - first] {
            let segment = C::outgoing(&self.world.frames, &bytes);
            let offset = copy * CHECKPOINT_BYTES as u64;
            // Its mark tells who follows the file without reading it.
            let io = Io {
                tag: position.to_mark(),
                ..Io::new(Class::Metadata, Op::WriteThrough, file, offset, smallvec![segment])
            };
            let written = self.world.disk.submit(io).await;
            written.result.map_err(file_error(&self.checkpoint_path()))?;
        }
        self.checkpoint.set(position);
        self.stale_copy.set(0);
        Ok(())
    }

    /// One copy of the checkpoint file, for `position`. Recovery refuses a log that ends before
    /// `durable`.
    pub(crate) fn checkpoint_copy(&self, position: LogPosition, durable: LogPosition) -> Vec<u8> {
        let checkpoint = Checkpoint {
            position,
            consistency: durable,
            signature: self.files.place().signature,
            attachments: self.attachments(position),
        };
        checkpoint.to_bytes().expect("an instance has no more databases than fit")
    }

    /// The attached databases and their times. The log after the checkpoint may never mention an
    /// idle database, so recovery learns both from here.
    fn attachments(&self, position: LogPosition) -> Vec<Attachment> {
        let list = |(database_id, entry): (u8, &Database)| {
            let header = entry.header.borrow();
            Attachment {
                database_id,
                time: self.cache.time(entry.number),
                object_max: header.object_max,
                attached: header.attached,
                consistent: position,
                signature: header.signature,
                path: String::new(),
            }
        };
        (1_u8..).zip(&self.databases).map(list).collect()
    }

    /// Opens the checkpoint file, or creates it.
    pub(crate) async fn open_checkpoint(&self) -> Result<FileId, EngineError> {
        let path = self.checkpoint_path();
        let volume = &self.world.volume;
        match volume.open(&path, OpenMode::Write).await {
            Ok(file) => Ok(file),
            Err(VolumeError::NotFound) => {
                let file =
                    volume.open(&path, OpenMode::CreateNew).await.map_err(name_error(&path))?;
                volume
                    .allocate(file, 2 * CHECKPOINT_BYTES as u64)
                    .await
                    .map_err(name_error(&path))?;
                // Otherwise a torn first write could leave less than a block, which would be
                // refused as a foreign file.
                let synced = self.world.disk.submit(Io::sync(Class::Metadata, file));
                synced.await.result.map_err(file_error(&path))?;
                let directory = &self.options.log_directory;
                volume.sync_directory(directory).await.map_err(name_error(directory))?;
                Ok(file)
            }
            Err(error) => Err(name_error(&path)(error)),
        }
    }

    pub(super) fn checkpoint_path(&self) -> std::path::PathBuf {
        checkpoint_path(&self.options)
    }
}

/// Path of the checkpoint file.
pub(crate) fn checkpoint_path(options: &super::InstanceOptions) -> std::path::PathBuf {
    options.log_directory.join("edb.chk")
}
