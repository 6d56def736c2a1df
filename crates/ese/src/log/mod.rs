//! The log: positions, records, buffer, stream, files.
//!
//! * [`record`]: content and encoding.
//! * [`buffer`]: appended, not yet written.
//! * [`stream`]: group commit and flushing.
//! * [`files`]: names, formatting ahead, rolling.
//! * [`reserve`]: reserves for a full volume.
//! * [`reader`]: reading back.
//! * `write_ahead`: what the cache needs of a log.

pub mod buffer;
pub mod files;
pub mod reader;
pub mod record;
pub mod reserve;
pub mod stream;
mod write_ahead;

pub use buffer::Appended;
pub use files::{LogFiles, Rolled};
pub use record::{LogRecord, NodeAt, Role};
pub use stream::{Durability, Log, LogOptions};
pub use write_ahead::{Flushed, WriteAhead};

pub use crate::policy::log_buffer::FlushReason;
pub use crate::policy::log_shape::LogShape;
