//! What proof is made with: tiny databases, worlds that do not keep their word, and the crash search.
//!
//! * [`tiny`]: an engine of 4 KiB pages, 64 KiB logs and 16 frames, in a virtual world.
//! * [`records`]: records of a tiny table, and work on them while storage is spoiled.
//! * [`worlds`]: worlds put between an engine and its world: syncs that do nothing, a process that dies.
//! * [`ledger`]: what a disk has promised to keep, recorded beside any world.
//! * [`copies`]: other copies of databases, faithful and not.
//! * [`shipping`]: log files for passive copies.
//! * [`crash`]: the crash search: a run is recorded, cut anywhere, recovered from what may be left, and compared with an
//!   oracle. `brunt prove` and the tests share it.
//!
//! Nothing here knows how the engine does its work, only what it promises.

pub mod copies;
pub mod crash;
pub mod ledger;
pub mod records;
pub mod shipping;
pub mod tiny;
pub mod worlds;
