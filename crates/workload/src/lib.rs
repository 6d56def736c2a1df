//! What the load asks of the engine: a stream of operations, the way Jetstress makes them.
//!
//! Pure: no clock, no I/O. Randomness comes in named streams, one for each session, so that adding a session does not
//! change what the others do.
//!
//! * [`profile`]: page, log and cache sizes, mixes and limits of Exchange 2003 to 2019.
//! * [`mix`]: operations and commits by percent.
//! * [`session`]: a pool of sessions that visits instances batch by batch, and how it is held back.

pub mod mix;
pub mod profile;
pub mod session;
