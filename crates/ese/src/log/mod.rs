//! The log: positions, records, buffer, stream, files.
//!
//! * [`shape`]: the arithmetic of segments and files.
//! * [`record`]: what is said and how it is spelled.
//! * [`buffer`]: appended, not yet written.
//! * [`stream`]: group commit and flushing.
//! * [`files`]: names, formatting ahead, rolling.
//! * [`reader`]: reading back.

pub mod buffer;
pub mod files;
pub mod reader;
pub mod record;
pub mod shape;
pub mod stream;

pub use buffer::Appended;
pub use files::{LogFiles, Rolled};
pub use record::{LogRecord, NodeAt, Role};
pub use shape::LogShape;
pub use stream::{FlushReason, Log, LogOptions};
