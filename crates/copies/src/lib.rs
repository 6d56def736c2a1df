//! Passive copies of databases by log shipping.
//!
//! ```text
//!   active                                                        copy
//!   Instance --> log folder: closed files                         log folder --> Replayer --> databases
//!                     |  4 KiB, then 256 KiB pieces                    ^  |
//!                  Shipper ---------------- messages ------------> PassiveCopy
//!                     ^  logs are kept until copies have them          |
//!                     '------------- stored, replayed -----------------'
//!
//!   closed ---- copy queue ---- stored ---- replay queue ---- replayed          activate: replay the rest, then serve
//! ```
//!
//! An active ships each log file when it is closed. A copy makes it durable under its name and
//! acknowledges it, and replays it when it is old enough (a *lagged* copy waits on purpose). What
//! is in the file that the active is writing exists once only: that is what an activation without
//! the active loses.
//!
//! * [`wire`]: the messages.
//! * [`shipper`]: the active's side, and how long logs stay; [`pages`]: its bad pages, and those of
//!   copies.
//! * [`intake`]: what a copy accepts.
//! * [`passive`]: a copy: it receives, replays, and is activated; `receive`: its connection;
//!   `repair`: bad pages and their exchange.
//! * [`mod@seed`]: databases for a new copy.
//! * [`files`]: log files, read and stored.
//! * [`truncation`]: up to where logs may go; [`choice`]: the best copy. Both decide from numbers
//!   alone.
//!
//! Files are named by generation; neither names nor paths are sent. Everything runs in both worlds,
//! and an error of one side leaves the other one able to continue: connect again, and the copy says
//! what it has.

mod asking;
pub mod choice;
pub mod error;
pub mod files;
pub mod intake;
pub mod pages;
pub mod passive;
pub mod queues;
mod receive;
mod refusal;
mod repair;
pub mod seed;
pub mod shipper;
pub mod truncation;
pub mod wire;

pub use error::CopyError;
pub use passive::{CopyOptions, PassiveCopy};
pub use queues::Queues;
pub use shipper::Shipper;
pub use wire::Refusal;
