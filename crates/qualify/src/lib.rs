//! Kinds of tests, rules and verdict: drives a workload through the engine in a world.
//!
//! The same test runs on real storage and in virtual time. Its inputs are a world, a plan and a
//! listener.
//!
//! ```text
//!   plan --> places --> creation --> server --> sessions, sampling --> server closed --> verification --> result
//!            (phases::run: the order of these steps, and the handling of a test that ends early)
//! ```
//!
//! | folder | holds |
//! | --- | --- |
//! | [`kinds`] | one file for each kind of test: its name, limits, work and evidence |
//! | [`phases`] | the steps of a test: places, creation, warm-up, tuning, collection, backup, recovery |
//! | [`load`] | sessions, the pace they keep, log shipping |
//! | [`truth`] | what the databases must hold, and whether they do: records, oracle, survey, verification |
//! | `server` | the engine of one server, real or modelled |
//! | [`shards`] | parts of one test on threads of their own, joined |
//! | [`rules`] | rules and verdict |
//! | [`result`] | the result in its written form |
//!
//! Beside them: [`plan`] and [`goal`], the inputs; [`precision`], when a prediction knows enough;
//! [`live`] and [`sampling`], the progress; `hanging`, [`stops`], [`pulse`],
//! [`injection`], [`phase_io`] and `naming`, layers between engine and world; [`error`], why a test
//! cannot run.

pub mod copies;
pub mod error;
pub mod goal;
pub mod hanging;
pub mod injection;
pub mod kinds;
mod listed;
pub mod live;
pub mod load;
mod naming;
pub mod phase_io;
pub mod phases;
pub mod plan;
pub mod precision;
pub mod pulse;
pub mod result;
pub mod rules;
pub mod sampling;
pub mod server;
pub mod shards;
pub mod stops;
pub mod truth;
mod unfinished_name;
