//! Test types, rules and verdict: drives a workload through the engine in a world.
//!
//! * [`plan`]: what is to be tested, and what that means for the engine.
//! * [`places`]: what lies there already, and whether it may be touched.
//! * [`progress`]: what a run tells, and how it is stopped.
//! * [`records`]: what a record holds, from its number and the database it is in.
//! * [`sessions`]: the loop of operations.
//! * [`sampling`]: what was counted, over time.
//! * [`rules`]: the rules and the verdict; [`qualifies`]: whether the result may be shown as a qualification.

pub mod counting;
pub mod creation;
pub mod error;
pub mod live;
pub mod places;
pub mod plan;
pub mod progress;
pub mod qualifies;
pub mod records;
pub mod result;
pub mod rules;
pub mod run;
pub mod sampling;
pub mod server;
pub mod sessions;
pub mod sizing;
pub mod survey;
pub mod verification;
