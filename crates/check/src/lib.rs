//! Best practice as rules: what an experienced reviewer would look at before a test.
//!
//! ```text
//!   scenario ------------------+
//!                              +-> subject -> rule.measure -> values -> rule.wanted -> judgement
//!   configuration of the host -+
//! ```
//!
//! A [`Rule`] is data: id, versions, what is wanted, severity, reason, source, remedy. Only its
//! measurement is code, and that is a pure function of a [`Subject`]: a scenario and, for real
//! storage, what `host` found on this machine. A rule that cannot be judged says why.
//!
//! * [`rules`]: the table, a file for each group; [`mod@judge`]: from values to judgements;
//!   [`words`]: lists and tables.
//!
//! It is a crate of its own because it needs `host` for the configuration of the machine and
//! `sizing` for its limits; neither of them needs it.

pub mod judge;
pub mod rules;
mod subject;
#[cfg(test)]
mod tests;
pub mod words;

pub use judge::{Judgement, Outcome, judge};
pub use rules::{Gap, Group, RULES, Rule, Severity, Wanted, find};
pub use subject::{Subject, What};
