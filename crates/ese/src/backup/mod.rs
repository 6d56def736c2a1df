//! Online backup: a readable copy of a database, taken while it is in use.
//!
//! ```text
//!   log      ──|C=====================|S====================|E────>     C checkpoint, S begin, E end of reading
//!   pages                              read in file order, each as it stands then
//!   copy     header | pages | log generations from C's to E's | checkpoint C
//! ```
//!
//! The pages are read at different times, so among themselves they fit no moment. With the log they do: each page is at
//! least as new as C and no newer than E, because a page is written only after its log, and recovery brings all of them to
//! the end of the log. So the generations from C on stay until the backup ends ([`LogHold`]), circular logging or not, and
//! nothing else is held up.
//!
//! Every page is verified. One that was being written while it was read is read again.
//!
//! All databases of a log stream are restored together: recovery wants each database that the log names.

mod logs;
mod pages;

use brunt_units::PageNumber;

use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::instance::Instance;
pub use logs::LogHold;

/// How a backup reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Reads in flight; at least one.
    pub outstanding: u32,
    /// Bytes of each, rounded down to whole pages but at least one.
    pub bytes: u64,
}

impl Reads {
    /// Streaming backup of Exchange 2007: 16 pages of 8 KiB, one read at a time.
    ///
    /// Source: microsoft/Extensible-Storage-Engine, JET_paramBackupChunkSize, 16 pages; one at a time is inferred from the
    /// rates of published backup tests.
    pub const STREAMING: Self = Self {
        outstanding: 1,
        bytes: 128 << 10,
    };
    /// Backup of Exchange 2013. The size is that of its published tests; one at a time is assumed.
    pub const COPY: Self = Self {
        outstanding: 1,
        bytes: 256 << 10,
    };
}

/// A piece of a backup, in the order of the variants.
pub enum Piece<'a, C: Content> {
    /// The database header: both header pages begin with it.
    Header(&'a [u8]),
    /// Pages in file order, the first of them by number. Blank ones, never written, are `None`.
    Pages(PageNumber, &'a [Option<C::Page>]),
    /// A whole log file.
    Log {
        /// Its generation.
        generation: u32,
        /// Its content. The last one may go on behind the end of the backup.
        bytes: &'a [u8],
    },
    /// The checkpoint file.
    Checkpoint(&'a [u8]),
}

/// Where a backup goes.
pub trait Sink<C: Content> {
    /// Takes the next piece. Nothing more is read while the sink is busy, except what is in flight.
    ///
    /// # Errors
    /// The backup ends with them.
    fn take(&mut self, piece: Piece<'_, C>) -> impl Future<Output = Result<(), EngineError>>;
}

/// Takes everything and keeps nothing: for measuring how fast a backup could be read.
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
/// [`EngineError::Page`] when a page is bad: the backup is of no use. Errors of reading, of the log and of the sink.
pub async fn read(
    instance: &Instance<Bytes>,
    database: u8,
    reads: Reads,
    sink: &mut impl Sink<Bytes>,
) -> Result<(), EngineError> {
    let hold = instance.hold_log();
    pages::read(instance, database, reads, sink).await?;
    logs::read(instance, hold.generation(), sink).await?;
    let copy = instance.0.checkpoint_copy(hold.checkpoint());
    sink.take(Piece::Checkpoint(&[&copy[..], &copy[..]].concat()))
        .await
}

/// Reads a database as a backup does, without its log: the load of a backup, for any content.
///
/// # Errors
/// As [`read`].
pub async fn read_pages<C: Content>(
    instance: &Instance<C>,
    database: u8,
    reads: Reads,
    sink: &mut impl Sink<C>,
) -> Result<(), EngineError> {
    pages::read(instance, database, reads, sink).await
}
