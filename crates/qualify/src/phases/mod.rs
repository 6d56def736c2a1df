//! What a test does, one after the other.
//!
//! ```text
//!   places --> creation --> warm_up --> (tuning) --> collection --> close --> truth::integrity, truth::verification
//!                             |                          |
//!                             `-- backup, soft_recovery: instead of a collection, or around it
//! ```
//!
//! * [`run`] leads a test through all of it, [`simulation`] one without content. [`test_run`] is what they leave.
//! * [`places`]: which files are there and what may be done to them; `unfinished`: what an interrupted run left.
//! * [`creation`], [`sizing`]: new databases; `growth`: how large they become.
//! * `telling`: progress while something takes long.

pub(crate) mod backup;
mod collection;
pub mod creation;
pub(crate) mod growth;
pub mod places;
pub mod run;
pub mod simulation;
pub mod sizing;
mod soft_recovery;
pub(crate) mod telling;
pub mod test_run;
mod tuning;
mod unfinished;
mod warm_up;
