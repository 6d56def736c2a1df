//! The conductor of real drills on modelled hosts in virtual time, searched by seed.
//!
//! * `modelled`: two hosts with the engine, the mirror and the copies of a real drill; lines between
//!   them and the conductor that come late; a relay that can be cut.
//! * `search`: timelines and accidents by seed, and what must hold after each.
//! * `external`: commands of the user as replication.

mod external;
mod modelled;
mod search;
