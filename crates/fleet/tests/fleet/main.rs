//! Coordinators and agents over a modelled network.
//!
//! ```text
//!   coordinator's host           each host: a clock of its own, a disk with its claim
//!   Coordinator --- link --- door --- Agent --- a test that takes its time, and may break
//! ```

mod conductor;
mod hosts;
mod rows;
mod search;
