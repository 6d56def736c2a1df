//! A failover rehearsal, judged by data: what was acknowledged, what the survivor holds, how long
//! users waited.
//!
//! ```text
//!   sessions -> Witness -> Ledger: commits, numbered in the order of their log
//!                             |
//!   survivor, after recovery -+-> Cut: where each log ends there -> Loss (recovery point)
//!   the procedure ----------------> Steps (recovery time)
//!   controls: the same checks on a broken replica, which must turn red
//!                             all of it -> Judged: pass, fail or inconclusive, with rules
//! ```
//!
//! Drills in virtual time and on this machine are judged by the same code. [`sites`] takes two sites
//! of brunt's own through a drill, whatever runs them.

pub mod course;
pub mod cut;
pub mod judge;
pub mod ledger;
pub mod loss;
pub mod outcome;
pub mod rehearsal;
pub mod sites;

pub use course::{Course, measured};
pub use cut::{Broken, Cut, Found};
pub use judge::{AtRisk, Checksum, Control, Evidence, Objectives, RULES, Survival};
pub use ledger::{Base, Commit, Key, Ledger, SharedLedger};
pub use loss::Loss;
pub use outcome::{FailoverDone, Rehearsed, Steps, Words};
pub use rehearsal::Rehearsal;
