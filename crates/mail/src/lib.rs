//! Messages, what a server promised about each of them, and what it kept.
//!
//! ```text
//!   Mailing + number --> Message      bytes in chunks, the same each time
//!                          |
//!   protocols send it      |          answers become events of the Ledger: 32 bytes a delivery,
//!                          |          in memory and in ledger.bin
//!   mailboxes are read     v
//!   bytes -----------> Comparison     which message it is, and whether it is still equal
//!                          |
//!                          v
//!   Ledger ------------> Audit        each delivery found, late, changed, lost, doubled ...
//! ```
//!
//! A message is a function of a seed and its number, so none is stored: the reader makes it again
//! while its bytes stream in. What a server may add stands before our first header, `X-Brunt`;
//! everything from there on is ours.
//!
//! Nothing here opens a connection or a file, waits, or reads a clock: times are handed in. Bytes
//! from servers and files belong to the world: they never cause a panic, and nothing is allocated
//! because they ask for it.

#![warn(missing_docs)]

mod alien;
pub mod audit;
mod comparison;
pub mod date;
mod folders;
pub mod incident;
pub mod ledger;
mod mailing;
mod mark;
mod message;
mod promises;
mod trace;

pub use audit::{Audit, Audited, Outcome, Place, Queue, Terms, Verdict};
pub use comparison::{Comparison, Copy, Difference, Seen};
pub use folders::{FolderBreach, FolderStatus, Folders};
pub use incident::Incident;
pub use ledger::{Delivery, Event, Fault, FaultKind, Ledger, LedgerError, State};
pub use mailing::{
    Attachments, BYTES_MAX, BYTES_MIN, Mailing, MailingError, MailingOptions, RECIPIENTS_MAX,
    Route, Routing, SizeClass, Sizes,
};
pub use mark::Mark;
pub use message::{Hard, HardCases, Message};
pub use promises::{Change, Fate, Flags, Promises, Reply};
