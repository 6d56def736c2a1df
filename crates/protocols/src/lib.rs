//! Mail protocols as machines: bytes go in, typed events come out; commands go in, bytes come out.
//!
//! ```text
//!    connection            this crate                                     caller
//!    ----------            ----------                                     ------
//!    bytes read    --->    Channel: TLS or nothing
//!                             |  plain bytes
//!                             v
//!                          smtp::Client, imap::Client    --- events --->  senders, readers
//!                             |
//!    bytes to send <---    Channel                       <-- commands --
//! ```
//!
//! Nothing here opens a socket, reads a clock or draws a random number, so the same machine talks
//! to a real server, to a modelled one, and to a fuzzer. Events do not depend on how bytes were cut
//! into reads.
//!
//! Invariant: a server decides neither how much memory a session takes nor whether it panics. From
//! one read to the next a session keeps at most 64 KiB of what was said: a record of TLS, a response
//! and a tape. What a server does wrong is a [`Failure`] with the line that
//! showed it, and the session is over; or it is one untagged line that an IMAP client cannot read,
//! which is counted by kind ([`imap::Oddity`]) and passed over.
//!
//! Own parsers, because a ledger believes what they say: `docs/dependencies.md` has what was found
//! in the crates that were tried.

#![warn(missing_docs)]

mod base64;
mod channel;
mod failure;
pub mod imap;
mod lines;
pub mod sasl;
mod secret;
pub mod smtp;
mod tape;
pub mod tls;

pub use channel::Channel;
pub use failure::{Failure, Kind};
pub use secret::Secret;
pub use tape::{Said, Speaker, TAPE_LINES, Tape};
