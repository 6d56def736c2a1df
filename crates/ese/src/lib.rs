//! An ESE-like storage engine: pages, trees, log, cache, checkpoint, recovery, verification.
//!
//! brunt tests storage with the I/O pattern of Microsoft's Extensible Storage Engine (ESE), so this
//! engine follows it: names, defaults, error codes and database file bytes are ESE's.

pub mod backup;
pub mod cache;
pub mod content;
pub mod create;
pub mod error;
pub mod format;
pub mod instance;
pub mod log;
pub mod maintenance;
pub mod meter;
mod overwrite;
pub mod page;
pub mod patch;
pub mod policy;
mod small_file;
pub mod space;
pub mod table;
pub mod tree;
pub mod twin;
pub mod verify;
