//! Bytes, pages, log positions, time and rates as checked newtypes.
//!
//! A page number is not a byte offset and a span of time is not a point in it. Every quantity that crosses a
//! crate's border has a type here; plain numbers appear only where they are printed or written to disk, and then
//! their names end in the unit.
//!
//! * [`ByteSize`]: a number of bytes; reads and prints `64 MiB`, `2 GB`.
//! * [`PageSize`], [`PageNumber`], [`DatabaseTime`]: the coordinates of a database.
//! * [`LogPosition`]: where a log record begins.
//! * [`Time`], [`Span`]: points on and lengths of a world's clock, in integer nanoseconds.

mod bytes;
mod log_position;
mod page;
mod time;

pub use bytes::{ByteSize, SizeError, counted, grouped};
pub use log_position::LogPosition;
pub use page::{DatabaseTime, PageNumber, PageSize, PageSizeError};
pub use time::{Span, SpanError, Time};
