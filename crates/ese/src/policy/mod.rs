//! Decisions without side effects: each takes the time and its inputs, and writes commands into the
//! caller's buffers.
//!
//! Nothing here waits, reads a clock, touches a disk or sees page content. The same decisions serve
//! real pages and ghosts, in real and in virtual time. Each is tested against a slow oracle that is
//! too simple to be wrong. Frames are `u32` indices into tables that are allocated once; after
//! warm-up nothing allocates.
//!
//! | file | decides |
//! | --- | --- |
//! | [`replacement`] | which cached page is the coldest (LRU-K) |
//! | [`available`] | how many frames to free, and when |
//! | [`urgency`] | how many background writes may be in flight |
//! | [`dirty`] | which dirty pages hold the checkpoint back |
//! | [`checkpoint`] | how many of them to write now |
//! | [`coalesce`] | which pages share a read or write |
//! | [`preread`] | what to read ahead |
//! | [`log_buffer`] | when to flush the log buffer |
//! | [`log_format`] | when the next log file is prepared |
//! | [`extension`] | when a database file grows |
//! | [`patch`] | whether a page from a copy may replace a bad one |
//! | [`scan`] | what background maintenance reads next |
//!
//! `frame_order` and `history` are the data structures beneath; [`log_shape`] measures log
//! positions.

pub mod available;
pub mod checkpoint;
pub mod coalesce;
pub mod dirty;
pub mod extension;
mod frame_order;
mod history;
pub mod log_buffer;
pub mod log_format;
pub mod log_shape;
pub mod patch;
pub mod preread;
pub mod replacement;
pub mod scan;
pub mod urgency;

/// Frames that one operation may pin: a path through a deep tree, its neighbours, and the pages of
/// a growth.
pub(crate) const PINS_CHANGING: u32 = 24;
