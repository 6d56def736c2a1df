//! SMTP for submission and relay, and LMTP: the client.
//!
//! Sources: RFC 5321 (SMTP), 2033 (LMTP), 2920 (PIPELINING), 6152 (8BITMIME), 1870 (SIZE), 3030
//! (CHUNKING), 3207 (STARTTLS), 4954 (AUTH), 2034 (enhanced codes).

mod client;
mod mail;
mod offered;
mod reply;
mod text;

pub use client::{Client, Event, Step};
pub use mail::{Envelope, Transfer};
pub use offered::Offered;
pub use reply::Reply;

/// Which of the two is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// SMTP: one reply stands for all recipients of a message.
    Smtp,
    /// LMTP: after the text comes a reply for each recipient that was accepted.
    Lmtp,
}
