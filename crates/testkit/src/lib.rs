//! Tools for proofs: tiny databases, misbehaving worlds and mail servers, and the crash search.
//!
//! * [`tiny`]: an engine of 4 KiB pages, 64 KiB logs and 16 frames, in a virtual world.
//! * [`records`]: records of a tiny table, and work on them while storage is damaged.
//! * [`worlds`]: layers between an engine and its world: syncs that do nothing, a process that
//!   dies.
//! * [`ledger`]: what a disk must have kept, recorded beside any world.
//! * [`copies`]: copies of databases, faithful and faulty.
//! * [`shipping`]: log files for passive copies.
//! * [`liar`]: a mail server that breaks its word as told.
//! * [`crash`]: the crash search: a run is recorded, cut at any point, recovered from what may have
//!   survived, and compared with an oracle. Used by `brunt prove` and by tests.
//!
//! Nothing here depends on how the engine works, only on what it promises.

pub mod copies;
pub mod crash;
pub mod ledger;
pub mod liar;
pub mod records;
pub mod shipping;
pub mod tiny;
pub mod worlds;
