//! The log of a backup: kept while the backup runs, read at its end.

use brunt_units::LogPosition;
use brunt_world::{Class, VolumeError};

use super::{Piece, Sink};
use crate::content::Content;
use crate::error::EngineError;
use crate::instance::Instance;
use crate::log::FlushReason;
use crate::small_file::read_whole;

/// Keeps the log from the checkpoint on until dropped.
pub struct LogHold<C: Content> {
    instance: Instance<C>,
    checkpoint: LogPosition,
}

impl<C: Content> Instance<C> {
    /// Keeps all log generations that recovery would need now, until the hold is dropped.
    pub fn hold_log(&self) -> LogHold<C> {
        let checkpoint = self.checkpoint();
        self.0.holds.borrow_mut().push(checkpoint.generation);
        LogHold {
            instance: self.clone(),
            checkpoint,
        }
    }
}

impl<C: Content> LogHold<C> {
    /// The checkpoint when the hold began.
    pub fn checkpoint(&self) -> LogPosition {
        self.checkpoint
    }

    /// The first generation that is kept.
    pub fn generation(&self) -> u32 {
        self.checkpoint.generation.max(1)
    }
}

impl<C: Content> Drop for LogHold<C> {
    fn drop(&mut self) {
        let mut holds = self.instance.0.holds.borrow_mut();
        let generation = self.checkpoint.generation;
        let at = holds.iter().position(|held| *held == generation);
        holds.swap_remove(at.expect("it is held until now"));
    }
}

/// Flushes the log and passes its generations from `first` on to the sink.
pub(super) async fn read<C: Content>(
    instance: &Instance<C>,
    first: u32,
    sink: &mut impl Sink<C>,
) -> Result<(), EngineError> {
    let end = instance.log().tail();
    instance.log().flushed(end, FlushReason::Drain).await?;
    for generation in first..=end.generation {
        let bytes = &read_generation(instance, generation).await?;
        sink.take(Piece::Log { generation, bytes }).await?;
    }
    Ok(())
}

/// Reads a log file under any of its names: it may be renamed during the search.
async fn read_generation<C: Content>(
    instance: &Instance<C>,
    generation: u32,
) -> Result<Vec<u8>, EngineError> {
    let files = instance.log().files();
    let archived = files.archived_path(generation);
    for path in [&archived, &files.current_path(), &archived] {
        match read_whole(&instance.0.world, Class::Backup, path).await {
            Ok(bytes) if C::holds_generation(&bytes, generation) => return Ok(bytes),
            // The next generation has become current meanwhile.
            Ok(_) => {}
            Err(EngineError::Volume {
                error: VolumeError::NotFound,
                ..
            }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(EngineError::LogMissing(archived))
}
