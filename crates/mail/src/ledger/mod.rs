//! What was promised about each message and recipient, and when.
//!
//! | state | when | expects |
//! | --- | --- | --- |
//! | refused | 4xx or 5xx, by code | no copy |
//! | not sent | cut before the final dot | no copy (RFC 5321, 4.1.1.4) |
//! | unanswered | cut after the dot, or an answer came after a power cut had begun | any number |
//! | accepted | 250 | exactly one copy, equal, in time |
//!
//! A delivery takes 32 bytes in memory, and the same in `ledger.bin` ([`mod@file`]). The load
//! appends what [`Ledger::take_unwritten`] returns *before* it sends the next message: numbers
//! are reserved in the file before they are used, so a ledger that ends early still knows which
//! messages may have been sent without a record.

pub mod file;

use std::collections::BTreeMap;

use brunt_units::{Span, Time};

use crate::mailing::Mailing;
use crate::promises::{Change, Fate, Flags, Promises, Reply};
pub use file::{Cut, LedgerError, Why};

/// Numbers that are reserved at a time.
const RESERVED: u32 = 4096;

/// What happened to a message on its way to one recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is about to be sent. An answer follows; without one, the delivery is unanswered.
    Sent,
    /// The server refused this recipient, or the message for it.
    Refused {
        /// Of the reply: 400 to 599.
        code: u16,
    },
    /// The connection broke before the final dot.
    NotSent,
    /// The connection broke after it.
    Unanswered,
    /// The server took responsibility.
    Accepted,
}

/// Whether this reply refuses an account that exists for good. A full mailbox (552, RFC 5321 4.2.2) is
/// a right answer.
pub(crate) fn is_for_good(code: u16) -> bool {
    code >= 500 && code != 552
}

impl Event {
    /// Whether it refuses an account that exists for good.
    pub fn is_refusal_for_good(self) -> bool {
        matches!(self, Self::Refused { code } if is_for_good(code))
    }
}

/// What is known about the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// By a reply of the server, for now (4xx) or for good (5xx).
    Refused,
    /// The server never had all of it.
    NotSent,
    /// It may have been accepted.
    Unanswered,
    /// The server owes a copy.
    Accepted,
}

impl State {
    /// Whether the server said what becomes of it.
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Refused | Self::Accepted)
    }
}

/// One message on its way to one recipient.
///
/// Besides what happened to it this has room for what an audit sees of it, so that an audit needs no
/// memory of its own for deliveries that are as they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When it was sent.
    pub(crate) sent: Time,
    pub(crate) number: u32,
    pub(crate) recipient: u32,
    /// Microseconds from then to the answer, rounded up; an hour and more is possible.
    pub(crate) answer_us: u32,
    /// When the first copy arrived; see the audit.
    pub(crate) arrival: u32,
    pub(crate) code: u16,
    pub(crate) state: State,
    pub(crate) copies: u8,
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<Delivery>() == 32, "32 bytes a delivery");

impl Delivery {
    fn new(number: u32, recipient: u32, sent: Time) -> Self {
        Self {
            sent,
            number,
            recipient,
            answer_us: 0,
            arrival: 0,
            code: 0,
            state: State::Unanswered,
            copies: 0,
            flags: 0,
        }
    }

    /// The message.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The account.
    pub fn recipient(&self) -> u32 {
        self.recipient
    }

    /// What is known about it.
    pub fn state(&self) -> State {
        self.state
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<u16> {
        (self.state == State::Refused).then_some(self.code)
    }

    /// When it was sent.
    pub fn sent(&self) -> Time {
        self.sent
    }

    /// When it was answered or given up, to the microsecond, rounded up.
    pub fn answered(&self) -> Time {
        self.sent + Span::micros(u64::from(self.answer_us))
    }

    /// The order in which an audit looks deliveries up.
    pub(crate) fn key(&self) -> (u32, u32) {
        (self.number, self.recipient)
    }

    fn set(&mut self, at: Time, event: Event) {
        let micros = at.since(self.sent).0.div_ceil(1000);
        self.answer_us = u32::try_from(micros).unwrap_or(u32::MAX);
        (self.state, self.code) = match event {
            Event::Sent | Event::Unanswered => (State::Unanswered, 0),
            Event::Refused { code } => (State::Refused, code),
            Event::NotSent => (State::NotSent, 0),
            Event::Accepted => (State::Accepted, 0),
        };
    }
}

/// What was done to the servers, or happened to a connection between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Processes were killed.
    Kill,
    /// Processes were stopped in an orderly way, and started again.
    Restart,
    /// Processes stood still.
    Freeze,
    /// A server lost what it had not synced: an answer that arrives during this proves nothing.
    PowerCut,
    /// Connections on a hop broke, or carried nothing.
    Connection,
    /// There was no room.
    Room,
}

/// A fault, which may explain that a message arrived twice (RFC 1047).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it was.
    pub kind: FaultKind,
    /// When it began.
    pub from: Time,
    /// When the servers answered again.
    pub until: Time,
    /// Most deliveries that can have been under way between two servers, and so the most doubles
    /// that it explains.
    pub in_flight: u32,
}

impl FaultKind {
    /// Whether processes ended without a word.
    pub fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::PowerCut)
    }
}

/// All deliveries of a run.
#[derive(Debug)]
pub struct Ledger {
    deliveries: Vec<Delivery>,
    /// Those without an answer, by message and recipient.
    open: BTreeMap<(u32, u32), usize>,
    faults: Vec<Fault>,
    promises: Promises,
    next: u32,
    reserved: u32,
    has_ended: bool,
    file: file::Writer,
}

impl Ledger {
    /// The empty ledger of a mailing.
    pub fn new(mailing: &Mailing) -> Self {
        Self {
            deliveries: Vec::new(),
            open: BTreeMap::new(),
            faults: Vec::new(),
            promises: Promises::default(),
            next: 0,
            reserved: 0,
            has_ended: false,
            file: file::Writer::new(mailing.options()),
        }
    }

    /// The number of the next message. Write [`Self::take_unwritten`] before sending it.
    ///
    /// # Panics
    /// After four billion messages.
    pub fn next_number(&mut self) -> u32 {
        let number = self.next;
        self.reserve(number);
        number
    }

    /// Takes a number that follows from its sender. Write [`Self::take_unwritten`] before sending it.
    ///
    /// # Panics
    /// For the last of four billion.
    pub fn claim(&mut self, number: u32) {
        self.reserve(number);
    }

    fn reserve(&mut self, number: u32) {
        let next = number.checked_add(1).expect("four billion messages are enough");
        self.next = self.next.max(next);
        if self.next > self.reserved {
            self.reserved = number.saturating_add(RESERVED);
            self.file.reserved(self.reserved);
        }
    }

    /// Something happened to message `number` on its way to `recipient`. What is final is recorded
    /// once; after an acceptance, an audit ignores whatever else was recorded for the same delivery.
    pub fn record(&mut self, number: u32, recipient: u32, at: Time, event: Event) {
        self.reserve(number);
        let key = (number, recipient);
        let index = match self.open.get(&key) {
            Some(index) => *index,
            None => {
                self.push(Delivery::new(number, recipient, at));
                self.deliveries.len() - 1
            }
        };
        if event == Event::Sent {
            self.open.insert(key, index);
            return;
        }
        self.open.remove(&key);
        let delivery = &mut self.deliveries[index];
        delivery.set(at, event);
        self.file.delivery(delivery);
    }

    /// A fault has ended.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.file.fault(&fault);
    }

    /// A session sees a message of `account` before it changes it.
    pub fn sees(&mut self, account: u32, number: u32, folder: u16, flags: Flags) {
        self.promises.sees(account, number, Fate::In(folder, flags));
        self.file.sees((account, number), (folder, flags), true);
    }

    /// The server answered a change of a message of `account`, or will not answer it any more.
    pub fn change(&mut self, account: u32, number: u32, change: Change, reply: Reply) {
        self.promises.change(account, number, change, reply);
        self.file.change(account, number, change, reply);
    }

    /// The server answered an APPEND, or will not answer it any more: a delivery to `account`, with
    /// this folder and these flags.
    pub fn appended(
        &mut self,
        (account, number): (u32, u32),
        (folder, flags): (u16, Flags),
        at: Time,
        event: Event,
    ) {
        let is_sure = event == Event::Accepted;
        self.promises.appended(account, number, Fate::In(folder, flags), is_sure);
        self.file.sees((account, number), (folder, flags), is_sure);
        self.record(number, account, at, event);
    }

    /// What was promised about messages that were changed.
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// No more messages will be sent. Deliveries without an answer are unanswered.
    pub fn end(&mut self, at: Time) {
        let open: Vec<_> = self.open.keys().copied().collect();
        for (number, recipient) in open {
            self.record(number, recipient, at, Event::Unanswered);
        }
        self.has_ended = true;
        self.file.end(self.next);
    }

    /// Bytes to append to `ledger.bin`, with its header the first time.
    pub fn take_unwritten(&mut self) -> Vec<u8> {
        self.file.take()
    }

    /// Its deliveries, in the order in which they were begun.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// The most recipients that a message had.
    pub fn most_recipients(&self) -> u32 {
        let mut of_messages = BTreeMap::<u32, u32>::new();
        for delivery in &self.deliveries {
            *of_messages.entry(delivery.number).or_default() += 1;
        }
        of_messages.into_values().max().unwrap_or(0)
    }

    /// When the last thing happened that is known.
    pub fn last(&self) -> Time {
        let answers = self.deliveries.iter().map(Delivery::answered);
        answers.chain(self.faults.iter().map(|fault| fault.until)).max().unwrap_or(Time::ZERO)
    }

    /// The faults, in the order in which they ended.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many messages were begun, as far as is known.
    pub fn messages(&self) -> u32 {
        self.next
    }

    /// Deliveries that are accepted so far.
    pub fn accepted(&self) -> u64 {
        let accepted = self.deliveries.iter().filter(|each| each.state == State::Accepted);
        accepted.count() as u64
    }

    /// Whether the run came to the end of its sending. Otherwise messages may have been sent without
    /// a record.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether message `number` may have been sent although no record says so.
    pub fn may_be_unrecorded(&self, number: u32) -> bool {
        !self.has_ended && number < self.reserved
    }

    /// Numbers from here were not used.
    pub(crate) fn first_unused(&self) -> u32 {
        if self.has_ended { self.next } else { self.reserved }
    }

    pub(crate) fn into_parts(self) -> (Vec<Delivery>, Vec<Fault>, Promises) {
        (self.deliveries, self.faults, self.promises)
    }

    /// Grows by an eighth: doubling would need the memory of two ledgers for a moment.
    fn push(&mut self, delivery: Delivery) {
        if self.deliveries.len() == self.deliveries.capacity() {
            let more = (self.deliveries.len() >> 3).max(1024);
            self.deliveries.reserve_exact(more);
        }
        self.deliveries.push(delivery);
    }
}

#[cfg(test)]
mod tests;
