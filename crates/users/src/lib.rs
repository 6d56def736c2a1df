//! What mail users do all day, when each task is due, and how late it was done.
//!
//! ```text
//!   Profile    figures with their sources: tasks, reactions, messages, recipients
//!      |
//!   Schedule   when each task of each user is due, whatever the servers do     (open: nothing waits for an answer)
//!      |
//!   sessions do them, one thing at a time; a task that is due waits in its user's queue
//!      |
//!   Tally      planned, done, failed; from the intended and from the actual begin; queues
//!      |
//!   Score, checks
//! ```
//!
//! A closed loop of sessions sends less while a server stands still, and so hides it: eight sessions
//! on a server that is frozen for 3 s of 10 show a 95th percentile of 30 ms. Here the tasks that were
//! due meanwhile are counted from when they were due.
//!
//! Nothing here opens a connection or reads a clock.

mod client;
mod profile;
mod schedule;
mod score;
mod tally;
mod task;

pub use client::Client;
pub use profile::{
    ListOfRecipients, MessageClass, Profile, ProfileError, Reaction, Recipients, Row, TaskRate,
};
pub use schedule::{Day, Dispatch, Due, Schedule};
pub use score::{Check, Checks, Score, Until, Weighed};
pub use tally::{DELAYED_ACK, DELAYED_ACK_TIMES, Tally, TaskTally, delayed_ack_share};
pub use task::TaskKind;
