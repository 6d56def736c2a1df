//! The log of a backup: kept while the backup runs, read at its end.

use std::rc::Rc;

use brunt_units::LogPosition;
use brunt_world::{Class, VolumeError};

use super::{Piece, Sink};
use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::log_file::FILL;
use crate::instance::{Base, Instance, Replayer};
use crate::log::FlushReason;
use crate::small_file::read_whole;

/// Keeps the log from the checkpoint on until dropped.
pub struct LogHold<C: Content> {
    base: Rc<Base<C>>,
    checkpoint: LogPosition,
    generation: u32,
}

impl<C: Content> Instance<C> {
    /// Keeps all log generations that recovery would need now, until the hold is dropped.
    pub fn hold_log(&self) -> LogHold<C> {
        self.hold_log_from(self.checkpoint().generation)
    }

    /// Keeps all log generations from `generation` on, as far as they are still there, until the
    /// hold is dropped.
    pub fn hold_log_from(&self, generation: u32) -> LogHold<C> {
        LogHold::new(&self.0.base, generation)
    }
}

impl Replayer {
    /// Keeps all log generations from `generation` on, as far as they are still there, until the
    /// hold is dropped: also while [`Replayer::finish`] begins to write.
    pub fn hold_log_from(&self, generation: u32) -> LogHold<Bytes> {
        LogHold::new(&self.base, generation)
    }
}

impl<C: Content> LogHold<C> {
    fn new(base: &Rc<Base<C>>, generation: u32) -> Self {
        base.holds.borrow_mut().push(generation);
        Self { base: Rc::clone(base), checkpoint: base.checkpoint.get(), generation }
    }

    /// The checkpoint when the hold began.
    pub fn checkpoint(&self) -> LogPosition {
        self.checkpoint
    }

    /// The first generation that is kept.
    pub fn generation(&self) -> u32 {
        self.generation.max(1)
    }

    /// The checkpoint file for databases as they were when the hold began, or later.
    pub fn checkpoint_file(&self) -> Vec<u8> {
        let copy = self.base.checkpoint_copy(self.checkpoint, self.checkpoint);
        [&copy[..], &copy[..]].concat()
    }
}

impl<C: Content> Drop for LogHold<C> {
    fn drop(&mut self) {
        let mut holds = self.base.holds.borrow_mut();
        let at = holds.iter().position(|held| *held == self.generation);
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
        let mut bytes = read_generation(instance, generation).await?;
        if generation == end.generation {
            // What follows was being written while it was read in pieces.
            let shape = instance.0.options.log;
            let border = shape.next_border(end);
            let behind = bytes.get_mut(shape.segment_offset(border)..);
            if let Some(behind) = behind.filter(|_| border.generation == generation) {
                behind.fill(FILL);
            }
        }
        let bytes = &bytes;
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
            Err(EngineError::Volume { error: VolumeError::NotFound, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(EngineError::LogMissing(archived))
}
