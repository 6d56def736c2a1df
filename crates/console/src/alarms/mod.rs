//! Alarms: what the user wants to be told of runs, and by which command.
//!
//! ```text
//!   alarms.toml -> Alarms          file: who may write it, what it says
//!   Look -> Alarms::observe        machine: raised once, cleared once; no time, no I/O
//!             -> Notice            notice: one JSON object, one sentence
//!                -> Deliveries     outbox: order, back-off, bounds; a thread runs the commands
//! ```
//!
//! Only a run that was seen going on raises anything: a console that begins beside a hundred old
//! runs has nothing to tell.

mod deliveries;
mod file;
mod machine;
mod notice;
mod outbox;

pub use deliveries::{Deliveries, Standing};
pub use file::AlarmsError;
pub(crate) use machine::verdict_so_far;
pub use machine::{Alarms, Change, Observed};
pub use notice::{ALARM_SCHEMA, Notice};
pub use outbox::Patience;
