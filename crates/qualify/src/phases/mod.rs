//! The phases of a test, in order.
//!
//! ```text
//!   places --> creation --> warm_up --> (tuning) --> collection --> close --> truth::integrity, truth::verification
//!                             |                          |
//!                             `-- backup, soft_recovery: instead of a collection, or around it
//! ```
//!
//! * [`run`] takes a test through all phases, [`simulation`] one with the twin. [`test_run`] is
//!   their output.
//! * [`places`]: which files exist and what may be done with them; `unfinished`: the remains of an
//!   interrupted run.
//! * `checksum`: reading files of the twin.
//! * [`creation`], [`sizing`]: new databases; `growth`: the limits of their growth.
//! * `carrying_on`: what a journal says, as measurements; [`portion`]: what crosses threads, and how
//!   halves and shards become one test.
//! * `telling`: progress reports during long steps.

pub mod backup;
mod carrying_on;
pub(crate) mod checksum;
mod collection;
pub mod creation;
pub(crate) mod growth;
pub mod places;
pub mod portion;
pub mod run;
pub mod serving;
pub mod simulation;
pub mod sizing;
mod soft_recovery;
pub(crate) mod telling;
pub mod test_run;
mod tuning;
mod unfinished;
mod warm_up;

pub use warm_up::warm_up_max;
