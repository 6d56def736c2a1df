//! Runs mail sessions over the connections of a world, and keeps the ledger true.
//!
//! ```text
//!    Course
//!      check     every mailbox holds only messages with our mark, or nothing is sent
//!      send      senders: message after message, each event into the ledger at its time
//!      watch     beside that: sessions that see mail arrive
//!      disturb   beside that: whatever the caller does to the servers
//!      drain     until the queue is empty, or its deadline has passed
//!      audit     readers: every folder of every account, message by message, into the audit
//!        |
//!        v
//!    Finished: outcomes, errors by kind, conversations of what failed
//!
//!    senders, readers
//!      session/      protocols over a connection: patience, TLS, login
//!      brunt-protocols, brunt-mail          world: Net, Clock, random streams
//! ```
//!
//! The same code talks to real servers and to modelled ones. A world without failures ends in the
//! same ledger for the same seed.
//!
//! Safety, which no option turns off:
//! * Messages go from accounts of the list to accounts of the list, over the endpoint that was
//!   given. There is no look-up of MX, no redirect, no referral.
//! * A password leaves this program only over TLS, or to a loopback address.
//! * Nothing is removed but messages of the run that is named, whose every byte is ours
//!   ([`clean`]).
//! * A mailbox that holds anything without our mark ends the run before its first message.

#![warn(missing_docs)]

mod accounts;
mod backoff;
mod cleaning;
mod conversations;
mod course;
mod date;
mod endpoint;
mod errors;
mod mailbox;
mod progress;
mod reading;
mod sending;
mod session;
mod users;
mod watching;

pub use accounts::{Account, Accounts, AccountsError};
pub use cleaning::{Cleaned, clean};
pub use conversations::{Conversation, Conversations};
pub use course::{
    Course, CourseError, Disturbance, Drain, Drained, Finished, Queue, audit, drain, run, unfit,
};
pub use endpoint::{Endpoint, Login, Patience, Protocol, TlsUse};
pub use errors::{Errors, Noted, Trouble, TroubleKind};
pub use mailbox::Holdings;
pub use progress::Progress;
pub use reading::Reading;
pub use sending::{Keep, KeepError, Pace, Sending, Sent};
pub use users::{Filled, Users};
pub use watching::{Watch, Watched};

pub use brunt_protocols::sasl::Mechanism;
pub use brunt_protocols::tls::{Anchor, Trust, TrustError};
pub use brunt_protocols::{Kind, Secret};
pub use brunt_run::Stop;
