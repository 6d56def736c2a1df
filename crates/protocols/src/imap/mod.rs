//! IMAP4rev1: the client.
//!
//! ```text
//!    bytes --> frame: lines and literals --> reader: words, strings, lists --> response
//!                 |                                                              |
//!                 +-- texts of messages, chunk by chunk ------> Client <---------+
//! ```
//!
//! Texts of messages (`BODY[...]` and its kind) never lie in memory: the consumer gets them in
//! chunks. Other literals above 4 KiB are passed over. A line that ends a command is known by its
//! tag, whatever follows. What else cannot be read is counted by kind ([`Oddity`]) and passed over.
//!
//! Sources: RFC 3501 (IMAP4rev1), 7888 (LITERAL+), 4315 (UIDPLUS), 6851 (MOVE), 2177 (IDLE), 2342
//! (NAMESPACE), 6154 (SPECIAL-USE), 7162 (CONDSTORE), 4731 (ESEARCH), 4959 (SASL-IR). IMAP4rev2 is
//! never enabled.

mod client;
mod command;
mod frame;
mod reader;
mod response;

pub use client::{Client, Done, Event, Status};
pub use command::{Asked, Command};
pub use frame::Oddity;
pub use response::{
    Body, Capabilities, Code, Counts, Extended, Fetch, Listed, Namespace, Response, Section, UidSet,
};
