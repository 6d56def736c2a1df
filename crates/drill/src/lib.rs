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
//! Drills on modelled arrays, modelled hosts and this machine are conducted and judged by the same
//! code. [`conductor`] takes a [`Pair`] through its timeline, with the steps of [`procedure`].
//! [`sites`] is the pair of sites of brunt's own, whatever runs them; that of modelled arrays is in
//! crate `lab`.

pub mod conductor;
pub mod controls;
pub mod course;
pub mod cut;
mod error;
pub mod judge;
pub mod ledger;
pub mod loss;
pub mod outcome;
pub mod pair;
pub mod procedure;
pub mod rehearsal;
pub mod samples;
pub mod sites;

pub use brunt_array::Site as Side;
pub use conductor::{Timetable, conduct};
pub use controls::Control;
pub use course::{Course, measured};
pub use cut::{Broken, Cut, Found};
pub use error::CourseError;
pub use judge::{AtRisk, Checksum, Evidence, Objectives, RULES, Survival};
pub use ledger::{Base, Commit, Key, Ledger, SharedLedger};
pub use loss::Loss;
pub use outcome::{FailoverDone, Rehearsed, Steps, Words, outline};
pub use pair::{Meaning, Pair, Survivor};
pub use procedure::{Ends, Otherwise, Step};
pub use rehearsal::Rehearsal;
