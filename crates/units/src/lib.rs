//! Bytes, pages, log positions, time and rates as checked newtypes.
//!
//! A page number is not a byte offset, and a span of time is not a point in time. Every quantity
//! that crosses a crate boundary has a type here; plain numbers appear only where they are printed
//! or written to disk, and then their names end in the unit.
//!
//! * [`ByteSize`]: a number of bytes; parses and prints `64 MiB`, `2 GB`.
//! * [`SECTOR_BYTES`]: the unit of I/O.
//! * [`PageSize`], [`PageNumber`], [`DatabaseTime`]: the coordinates of a database.
//! * [`Line`]: lines of telephone companies, by their rates.
//! * [`decimals`], [`grouped`], [`counted`]: numbers for people.
//! * [`LogPosition`]: the start of a log record.
//! * [`Time`], [`Span`]: points in time and lengths of time on a world's clock, in integer
//!   nanoseconds.

#![warn(missing_docs)]

mod bytes;
mod line;
mod log_position;
mod number;
mod page;
mod time;

pub use bytes::{ByteSize, SECTOR_BYTES, SizeError, counted, grouped};
pub use line::Line;
pub use log_position::LogPosition;
pub use number::{apart, decimals, fixed, places};
pub use page::{DatabaseTime, PageNumber, PageSize, PageSizeError};
pub use time::{Span, SpanError, Time};
