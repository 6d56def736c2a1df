//! Decisions without side effects: each takes the time and its inputs, and writes commands into buffers of the caller.
//!
//! Nothing here waits, reads a clock, touches a disk or sees a byte of a page. The same decisions serve real pages and
//! ghosts, in real and in virtual time, and every one is tested against a slow oracle that is too simple to be wrong.
//! Frames are `u32` indices into tables that are allocated once; after warming up nothing allocates.
//!
//! | file | decides |
//! | --- | --- |
//! | [`replacement`] | which cached page is the coldest (LRU-K) |
//! | [`available`] | how many frames to free, and when |
//! | [`urgency`] | how many background writes are outstanding |
//! | [`dirty`] | which dirty pages hold the checkpoint back |
//! | [`checkpoint`] | how many of them to write now |
//! | [`coalesce`] | which pages travel in one read or write |
//! | [`preread`] | what to read before it is asked for |
//! | [`log_buffer`] | when log bytes leave the buffer |
//! | [`log_format`] | when the next log file is prepared |
//! | [`extension`] | when a database file grows |
//! | [`patch`] | whether another copy's page may stand in for a bad one |
//! | [`scan`] | what background maintenance reads next |
//!
//! `frame_heap` and `history` are the data structures beneath; [`log_shape`] measures log positions.

pub mod available;
pub mod checkpoint;
pub mod coalesce;
pub mod dirty;
pub mod extension;
mod frame_heap;
mod history;
pub mod log_buffer;
pub mod log_format;
pub mod log_shape;
pub mod patch;
pub mod preread;
pub mod replacement;
pub mod scan;
pub mod urgency;

/// Frames that one operation may pin: a path through a tree of many levels, its neighbours, and the pages of a growth.
pub(crate) const PINS_CHANGING: u32 = 24;
