//! Test kinds, rules and verdict: drives a workload through the engine in a world.
//!
//! The same test runs on real storage and in virtual time. It gets a world, a plan and a listener.
//!
//! ```text
//!   plan --> places --> creation --> server --> sessions, sampling --> server closed --> verification --> result
//!            (phases::run: the order of all this, and what becomes of a test that ends early)
//! ```
//!
//! | folder | holds |
//! | --- | --- |
//! | [`kinds`] | one file for each kind of test: its words, limits, work and evidence |
//! | `phases` | what a test does one after the other: places, creation, warm-up, tuning, collection, backup, recovery |
//! | `load` | sessions at work, the pace that they keep, reads of logs for copies |
//! | `truth` | what must be in the databases, and whether it is: records, oracle, survey, verification |
//! | `server` | the engine of one server, real or modelled |
//! | [`rules`] | rules and verdict |
//! | [`result`] | all of it as it is written down |
//!
//! Beside them: [`plan`] and [`goal`], what is asked for; [`progress`], [`live`] and [`sampling`], how it goes; `hanging`, [`injection`]
//! and `naming`, which stand between engine and world; [`error`], why there is no test.

pub mod error;
pub mod goal;
pub mod hanging;
pub mod injection;
pub mod kinds;
mod listed;
pub mod live;
mod load;
mod naming;
mod phases;
pub mod plan;
pub mod progress;
pub mod result;
pub mod rules;
pub mod sampling;
pub mod server;
mod truth;

pub use load::sessions;
pub use phases::{creation, places, run, simulation, sizing, test_run};
pub use truth::{counting, found, integrity, oracle, records, survey, verification, witness};
