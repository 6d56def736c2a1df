//! The load on the engine: a stream of operations modelled on Jetstress.
//!
//! ```text
//!   Version -> Profile            figures of one Exchange version, each with its source
//!                 |
//!   Pool: which instance does a session visit next?    Mix: which operation, which commit?
//!                 \                                     /
//!                  Workload::next(session) -> Operation { database, kind, record, commit }
//!                 /                                     \
//!   Population: which record?                           Content: which bytes does it hold?
//! ```
//!
//! Pure: no clock, no I/O. Each session has its own named stream of random numbers, so adding a
//! session does not change what the others do.
//!
//! * [`profile`]: page, log and cache sizes, mixes and limits of Exchange 2003 to 2019.
//! * [`mix`]: operations and commits by percent.
//! * [`pacing`]: the operation rate that yields a given I/O rate.
//! * [`session`]: a pool of sessions that visits instances batch by batch, and its scheduling.
//! * [`keys`]: the live records of a database in memory that does not grow with it.
//! * [`content`]: the bytes of a record, from its key, version and the seed.
//! * [`tuning`]: how many sessions a target, or the maximum I/O rate, takes.
//! * [`operations`]: all of it combined.

pub mod content;
pub mod keys;
pub mod mix;
pub mod operations;
pub mod pacing;
pub mod profile;
pub mod session;
pub mod tuning;
