//! Online backup: a readable image of a database, taken while it is in use.
//!
//! ```text
//!   log      ──|C=====================|S====================|E────>     C checkpoint, S start, E end of reading
//!   pages                              read in file order, each as it is then
//!   backup   header | pages | log generations from C's to E's | checkpoint C
//! ```
//!
//! The pages are read at different times, so together they match no single moment. The log fixes
//! this: each page is at least as new as C and no newer than E, because a page is written only
//! after its log, and recovery brings them all to the end of the log. So the generations from C on
//! are kept until the backup ends ([`LogHold`]), even with circular logging. Nothing else is held
//! up.
//!
//! Every page is verified. A page that was being written during its read is read again.
//!
//! All databases of a log stream are restored together: recovery needs each database that the log
//! names.

mod logs;
mod pages;

use brunt_units::PageNumber;

use crate::content::Content;
use crate::error::EngineError;
use crate::instance::Instance;
pub use logs::LogHold;

/// How a backup reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Reads in flight; at least one.
    pub outstanding: u32,
    /// Bytes per read, rounded down to whole pages but at least one.
    pub bytes: u64,
}

impl Reads {
    /// Streaming backup of Exchange 2007: 16 pages of 8 KiB, one read at a time.
    ///
    /// Source: microsoft/Extensible-Storage-Engine, JET_paramBackupChunkSize, 16 pages; one at a
    /// time is inferred from the rates of published backup tests.
    pub const STREAMING: Self = Self { outstanding: 1, bytes: 128 << 10 };
    /// Backup of Exchange 2013. The size is that of its published tests; one at a time is assumed.
    pub const COPY: Self = Self { outstanding: 1, bytes: 256 << 10 };
}

/// A piece of a backup. Pieces arrive in the order of the variants.
pub enum Piece<'a, C: Content> {
    /// The database header, which both header pages start with.
    Header(&'a [u8]),
    /// Pages in file order, and the number of the first. Blank pages, never written, are `None`.
    Pages(PageNumber, &'a [Option<C::Page>]),
    /// A whole log file.
    Log {
        generation: u32,
        /// Its content. The last one may continue past the end of the backup.
        bytes: &'a [u8],
    },
    /// The checkpoint file.
    Checkpoint(&'a [u8]),
}

/// Destination of a backup.
pub trait Sink<C: Content> {
    /// Takes the next piece. While the sink is busy, no further reads start.
    ///
    /// # Errors
    /// Any error ends the backup.
    fn take(&mut self, piece: Piece<'_, C>) -> impl Future<Output = Result<(), EngineError>>;
}

/// Discards everything, to measure how fast a backup could be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl<C: Content> Sink<C> for Discard {
    async fn take(&mut self, _: Piece<'_, C>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Backs up a database with the log that it needs.
///
/// # Errors
/// [`EngineError::Page`] when a page is bad, which makes the backup useless. Errors of reading, of
/// the log and of the sink.
pub async fn read<C: Content>(
    instance: &Instance<C>,
    database: u8,
    reads: Reads,
    sink: &mut impl Sink<C>,
) -> Result<(), EngineError> {
    let hold = instance.hold_log();
    pages::read(instance, database, reads, sink).await?;
    logs::read(instance, hold.generation(), sink).await?;
    sink.take(Piece::Checkpoint(&hold.checkpoint_file())).await
}

/// Reads a database as a backup does, without its log: the read load of a backup.
pub async fn read_pages<C: Content>(
    instance: &Instance<C>,
    database: u8,
    reads: Reads,
    sink: &mut impl Sink<C>,
) -> Result<(), EngineError> {
    pages::read(instance, database, reads, sink).await
}
