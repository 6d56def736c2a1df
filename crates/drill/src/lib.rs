//! A failover rehearsal, judged by data: what was acknowledged, what the survivor holds, how long users waited.
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
//! Nothing here reads a clock, a file or a disk: drills in virtual time and on this machine are judged by the same code.

pub mod cut;
pub mod judge;
pub mod ledger;
pub mod loss;

pub use cut::{Broken, Cut, Found};
pub use judge::{Checksum, Control, Evidence, Objectives, RULES, Said, Survival};
pub use ledger::{Base, Commit, Key, Ledger, Minutes};
pub use loss::Loss;
