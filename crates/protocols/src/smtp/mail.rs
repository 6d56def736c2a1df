//! One message on its way through a session: who was accepted, and what comes next.

use std::collections::VecDeque;

use super::text::Stuffing;

/// Who sends a message to whom.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The sender's address.
    pub sender: &'a str,
    /// The recipients' addresses.
    pub recipients: &'a [String],
    /// Bytes of the text, before dots are doubled.
    pub bytes: u64,
    /// Whether the text has bytes above 127.
    pub is_eight_bit: bool,
}

/// How the text of a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// DATA: dots doubled, a dot at the end.
    Data,
    /// BDAT: the whole text as one last chunk whose length is known. Only where it is offered.
    Chunk,
}

/// A transaction that has begun.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) transfer: Transfer,
    /// Addresses that have not been named to the server.
    pub(crate) to_name: VecDeque<String>,
    /// Recipients so far named, and those that the server has accepted.
    pub(crate) named: usize,
    pub(crate) accepted: Vec<usize>,
    /// Whether the sender was accepted.
    pub(crate) has_sender: bool,
    pub(crate) bytes: u64,
    pub(crate) text: Text,
}

/// How far the text is.
#[derive(Debug)]
pub(crate) enum Text {
    /// Not asked for.
    Waiting,
    /// Dots are doubled on the way.
    Stuffed(Stuffing),
    /// As it is; this many bytes are left.
    Raw(u64),
    /// Sent whole.
    Sent,
}

impl Mail {
    pub(crate) fn new(envelope: Envelope<'_>, transfer: Transfer) -> Self {
        Self {
            transfer,
            to_name: envelope.recipients.iter().cloned().collect(),
            named: 0,
            accepted: Vec::new(),
            has_sender: false,
            bytes: envelope.bytes,
            text: Text::Waiting,
        }
    }
}
