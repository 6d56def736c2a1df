//! What the mailboxes show, against what was promised.
//!
//! ```text
//!   Ledger, faults ---> Audit <--- each message of each mailbox, what cannot be read, the queue
//!                         |
//!                         v
//!                      Audited       one outcome for each delivery, findings with numbers, a verdict
//! ```
//!
//! *Lost* is a claim that needs proof: the mailbox was read whole, what could not be fetched was
//! fetched again alone, and the queue is empty or its deadline has passed. Without that a delivery
//! is *unchecked*, *unreadable* or *queued*, and the answer is not that mail was lost.
//!
//! Invariants, which tests hold: an honest history passes, whatever was cut or killed; a mailbox
//! that cannot be read never turns a failure into a pass; nor does a copy that is missing.
//!
//! An audit adds no memory for deliveries that are as they should be: what it sees of one is kept in
//! the 32 bytes of the delivery.

mod doubles;
mod outcome;

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{Span, Time};

use crate::comparison::{Copy, Seen};
use crate::folders::{FolderBreach, Folders};
use crate::ledger::{Delivery, Fault, FaultKind, Ledger, State};
use crate::mailing::Mailing;
use crate::promises::{Flags, Kept, Promises};
use doubles::Extra;
pub use outcome::{Counts, Detail, Finding, Outcome, Standing};

const CHANGED: u8 = 1;
const MISPLACED: u8 = 2;
const IN_TIME: u8 = 4;
const BOUNCED: u8 = 8;

/// More second copies than this are not explained, whatever the faults.
const EXTRAS_MAX: usize = 65_536;
/// Deliveries whose arrivals are kept for findings.
const ARRIVALS_MAX: usize = 4096;
/// Copies with users who were not addressed; more are only counted.
const STRAYS_MAX: usize = 1 << 20;
/// In place of the account of such a copy: its recipient has none, and it is named there.
const TOLD: u32 = u32::MAX;
/// Arrivals up to twelve days before the run began, by clocks that are wrong.
const ARRIVAL_ZERO: u64 = 1 << 20;

/// What is asked of a server beyond keeping its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Longest time from the acceptance until the recipient can see the message.
    pub limit: Option<Span>,
    /// By how much a server's clock may differ from ours.
    pub skew: Span,
    /// Findings that are kept of each outcome.
    pub findings_max: usize,
}

impl Default for Terms {
    /// No time limit, clocks that agree to two seconds, a thousand findings of each outcome.
    fn default() -> Self {
        Self { limit: None, skew: Span::seconds(2), findings_max: 1000 }
    }
}

/// Where a message lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The account.
    pub account: u32,
    /// Its folder: 0 is INBOX, where mail arrives.
    pub folder: u16,
}

/// What is known of mail that has been accepted and not yet delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// It is not known, and too early to give up.
    #[default]
    Unknown,
    /// It holds nothing, or there is none.
    Empty,
    /// It still holds this many messages.
    Holds(u64),
    /// It is not known, but whatever it held should have been delivered by now.
    DeadlinePassed,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every promise was kept.
    Pass,
    /// Something could not be looked at, or nothing was promised.
    CannotTell,
    /// A promise was broken.
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    NotYet,
    Whole,
    Unreadable,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mailbox {
    reading: Reading,
    /// Messages that could not be fetched, each alone.
    unreadable: u32,
}

/// An audit under way.
pub struct Audit {
    mailing: Rc<Mailing>,
    terms: Terms,
    /// Sorted by message and recipient.
    deliveries: Vec<Delivery>,
    faults: Vec<Fault>,
    /// Numbers from here were never used.
    may_be_sent: u32,
    /// Whether a delivery without a record may have been sent.
    has_gaps: bool,
    mailboxes: Vec<Mailbox>,
    queue: Queue,
    /// Arrivals of copies beyond the first, by index of the delivery.
    extras: Vec<(usize, u32)>,
    /// Arrivals of all copies of a delivery, in order: evidence for findings.
    arrivals: BTreeMap<usize, Vec<u64>>,
    strays: Vec<(u32, u32)>,
    promises: Promises,
    /// Where messages that were changed are shown, with their flags.
    changed: BTreeMap<(u32, u32), (u16, Option<Flags>)>,
    details: BTreeMap<(u32, u32), Detail>,
    audited: Audited,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// Deliveries by outcome.
    pub counts: Counts,
    /// What is not as it should be, by outcome, message and account; of each outcome the first ones.
    pub findings: Vec<Finding>,
    /// Deliveries that were accepted.
    pub accepted: u64,
    /// Copies that faults explain.
    pub explained: u64,
    /// The most that they can.
    pub explained_max: u64,
    /// Accounts whose mailboxes were not read whole.
    pub unread: Vec<u32>,
    /// Messages that were shown, and could not be read alone.
    pub unreadable: u64,
    /// Copies of messages that were begun and have no record, because the ledger ends early.
    pub unrecorded: u64,
    /// What was wrong with folders.
    pub folders: Vec<(Place, FolderBreach)>,
    /// Folders that began anew after a power cut.
    pub folders_renewed: u64,
    /// Messages of other runs.
    pub other_runs: u64,
    /// Messages without a mark.
    pub aliens: u64,
}

impl Audited {
    /// The answer that follows.
    pub fn verdict(&self) -> Verdict {
        if self.counts.standing(Standing::Broken) > 0 || !self.folders.is_empty() {
            return Verdict::Fail;
        }
        let is_open = self.counts.standing(Standing::Unknown) > 0
            || !self.unread.is_empty()
            || self.unreadable > 0
            || self.accepted == 0;
        if is_open { Verdict::CannotTell } else { Verdict::Pass }
    }
}

impl Audit {
    /// An audit before anything was looked at.
    pub fn new(mailing: &Rc<Mailing>, ledger: Ledger, terms: Terms) -> Self {
        let has_gaps = !ledger.has_ended();
        let may_be_sent = ledger.first_unused();
        let (mut deliveries, faults, promises) = ledger.into_parts();
        deliveries.sort_unstable_by_key(|each| (each.key(), std::cmp::Reverse(each.state)));
        deliveries.dedup_by_key(|each| each.key());
        for cut in faults.iter().filter(|fault| fault.kind == FaultKind::PowerCut) {
            let within = |each: &&mut Delivery| (cut.from..=cut.until).contains(&each.answered());
            // A refusal, too: what cannot be made durable any more may be so already.
            let is_answered = |each: &&mut Delivery| each.state.is_answer();
            let answered = deliveries.iter_mut().filter(is_answered);
            answered.filter(within).for_each(|each| each.state = State::Unanswered);
        }
        let accounts = mailing.options().accounts.len();
        Self {
            mailing: Rc::clone(mailing),
            terms,
            deliveries,
            faults,
            may_be_sent,
            has_gaps,
            mailboxes: vec![Mailbox::default(); accounts],
            queue: Queue::Unknown,
            extras: Vec::new(),
            arrivals: BTreeMap::new(),
            strays: Vec::new(),
            promises,
            changed: BTreeMap::new(),
            details: BTreeMap::new(),
            audited: Audited::default(),
        }
    }

    /// A message of a mailbox, each once, in any order. `first_seen` is when a session first saw it,
    /// if one watched; otherwise the server's own time of arrival is held against the limit.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn saw(&mut self, place: Place, seen: &Seen, first_seen: Option<Time>) {
        assert!((place.account as usize) < self.mailboxes.len(), "no account {}", place.account);
        match seen {
            Seen::Ours(copy) => self.saw_copy(place, copy, first_seen),
            Seen::Bounce { number, to } => {
                for account in to {
                    if let Some(index) = self.find(*number, *account) {
                        self.deliveries[index].flags |= BOUNCED;
                    }
                }
            }
            Seen::OtherRun { .. } => self.audited.other_runs += 1,
            Seen::Alien => self.audited.aliens += 1,
        }
    }

    /// The same, with the flags that are shown: of a message that was changed they must be right.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn saw_with(&mut self, place: Place, seen: &Seen, first_seen: Option<Time>, flags: Flags) {
        self.saw(place, seen, first_seen);
        if let Seen::Ours(copy) = seen
            && let Some((_, shown)) = self.changed.get_mut(&(copy.number, place.account))
        {
            *shown = Some(flags);
        }
    }

    /// What sessions saw of folders during the run.
    ///
    /// A folder that lost its UIDs with the power has to begin anew, with a greater UIDVALIDITY
    /// (RFC 9051, 2.3.1.1): that is counted, and breaks no promise.
    pub fn folders(&mut self, folders: &Folders) {
        let was_cut = self.faults.iter().any(|fault| fault.kind == FaultKind::PowerCut);
        for (place, breach) in folders.breaches() {
            match breach {
                FolderBreach::Validity(from, to) if was_cut && to > from => {
                    self.audited.folders_renewed += 1;
                }
                _ => self.audited.folders.push((*place, *breach)),
            }
        }
    }

    /// A message of this account is listed and could not be fetched, alone and again.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn unreadable_message(&mut self, account: u32) {
        self.mailboxes[account as usize].unreadable += 1;
        self.audited.unreadable += 1;
    }

    /// All folders of this account were read to their ends.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn read_whole(&mut self, account: u32) {
        let mailbox = &mut self.mailboxes[account as usize];
        if mailbox.reading == Reading::NotYet {
            mailbox.reading = Reading::Whole;
        }
    }

    /// This account could not log in, or a folder of it could not be read to its end.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn unreadable(&mut self, account: u32) {
        self.mailboxes[account as usize].reading = Reading::Unreadable;
    }

    /// What the servers still hold back.
    pub fn queue(&mut self, queue: Queue) {
        self.queue = queue;
    }

    /// Whether any delivery of message `number` was recorded.
    fn knows(&self, number: u32) -> bool {
        let at = self.deliveries.partition_point(|delivery| delivery.number < number);
        self.deliveries.get(at).is_some_and(|delivery| delivery.number == number)
    }

    fn find(&self, number: u32, account: u32) -> Option<usize> {
        self.deliveries.binary_search_by_key(&(number, account), Delivery::key).ok()
    }

    fn saw_copy(&mut self, place: Place, copy: &Copy, first_seen: Option<Time>) {
        let number = copy.number;
        let Some(index) = self.find(number, place.account) else {
            let is_addressed = self.mailing.is_addressed(number, place.account);
            if is_addressed.unwrap_or(true) && self.has_gaps && number < self.may_be_sent {
                self.audited.unrecorded += 1;
            } else if self.strays.len() < STRAYS_MAX {
                self.strays.push((number, place.account));
            } else {
                self.audited.counts.add(Outcome::Misdelivered);
            }
            return;
        };
        let arrival = copy.received.first().copied();
        let packed = arrival.map_or(0, |arrival| self.pack(arrival));
        let is_in_time = self.is_in_time(&self.deliveries[index], arrival, first_seen);
        let delivery = &mut self.deliveries[index];
        if delivery.copies == 0 {
            delivery.arrival = packed;
        } else if self.extras.len() < EXTRAS_MAX {
            self.extras.push((index, packed));
        }
        delivery.copies = delivery.copies.saturating_add(1);
        delivery.flags |= if is_in_time { IN_TIME } else { 0 };
        let is_changed = self.promises.fates(place.account, number).is_some();
        if is_changed {
            self.changed.insert((number, place.account), (place.folder, None));
        }
        let detail = if let Some(difference) = &copy.difference {
            delivery.flags |= CHANGED;
            Detail::Difference(difference.clone())
        } else if place.folder != 0 && !is_changed {
            delivery.flags |= MISPLACED;
            Detail::Folder(place.folder)
        } else {
            return;
        };
        if self.details.len() < self.terms.findings_max {
            self.details.entry((number, place.account)).or_insert(detail);
        }
    }

    /// Whether a copy arrived within the limit; also when that is not known.
    fn is_in_time(&self, delivery: &Delivery, arrival: Option<u64>, seen: Option<Time>) -> bool {
        let Some(limit) = self.terms.limit else { return true };
        let latest = delivery.answered() + limit;
        if let Some(seen) = seen {
            return seen <= latest;
        }
        let began = self.mailing.options().began;
        let since = |arrival: u64| Span::seconds(1) * arrival.saturating_sub(began);
        arrival.is_none_or(|arrival| Time::ZERO + since(arrival) <= latest + self.terms.skew)
    }

    /// An arrival in Unix seconds as the 32 bits that a delivery has room for; 0 is unknown.
    fn pack(&self, arrival: u64) -> u32 {
        let since =
            arrival.saturating_add(ARRIVAL_ZERO).saturating_sub(self.mailing.options().began);
        u32::try_from(since).unwrap_or(u32::MAX).max(1)
    }

    fn unpack(&self, packed: u32) -> Option<u64> {
        let began = self.mailing.options().began;
        (packed > 0).then(|| began.saturating_add(packed.into()).saturating_sub(ARRIVAL_ZERO))
    }

    /// Everything was looked at: what became of each delivery.
    pub fn finish(mut self) -> Audited {
        let explained = self.explained_doubles();
        self.strays.sort_unstable();
        let mailboxes = (0_u32..).zip(&self.mailboxes);
        let unread = mailboxes.filter(|(_, mailbox)| mailbox.reading != Reading::Whole);
        self.audited.unread = unread.map(|(account, _)| account).collect();
        for index in 0..self.deliveries.len() {
            let delivery = self.deliveries[index];
            let is_explained = explained.binary_search(&index).is_ok();
            let (outcome, detail) = match delivery.state {
                State::Accepted => self.of_accepted(&delivery, is_explained),
                _ => self.of_others(&delivery),
            };
            self.audited.accepted += u64::from(delivery.state == State::Accepted);
            self.add(delivery.number, delivery.recipient, outcome, detail);
        }
        let strays = std::mem::take(&mut self.strays);
        for (number, account) in strays.into_iter().filter(|(_, account)| *account != TOLD) {
            let was_sent = number < self.may_be_sent;
            // Where only the ledger knows recipients, a message that it knows went to others.
            let is_addressed = self.mailing.is_addressed(number, account);
            let is_addressed = is_addressed.unwrap_or_else(|| !self.knows(number));
            let outcome = match was_sent && !is_addressed {
                true => Outcome::Misdelivered,
                false => Outcome::NeverSentButDelivered,
            };
            self.add(number, account, outcome, Detail::None);
        }
        let order = |found: &Finding| (found.outcome, found.number, found.account);
        self.audited.findings.sort_by_key(order);
        self.audited
    }

    fn add(&mut self, number: u32, account: u32, outcome: Outcome, detail: Detail) {
        let is_listed = outcome.standing() != Standing::Kept
            && self.audited.counts.of(outcome) < self.terms.findings_max as u64;
        self.audited.counts.add(outcome);
        if is_listed {
            self.audited.findings.push(Finding { number, account, outcome, detail });
        }
    }

    /// Indices of accepted deliveries all of whose further copies are explained by faults, in order.
    fn explained_doubles(&mut self) -> Vec<usize> {
        let mut by_delivery: BTreeMap<usize, Vec<Option<u64>>> = BTreeMap::new();
        for (index, packed) in std::mem::take(&mut self.extras) {
            let delivery = &self.deliveries[index];
            if delivery.state == State::Accepted {
                let first = self.unpack(delivery.arrival);
                let arrivals = by_delivery.entry(index).or_insert_with(|| vec![first]);
                arrivals.push(self.unpack(packed));
            }
        }
        let mut extras = Vec::new();
        for (delivery, arrivals) in by_delivery {
            let has_all = arrivals.len() == usize::from(self.deliveries[delivery].copies);
            let arrivals: Option<Vec<u64>> = arrivals.into_iter().collect();
            if let Some(mut arrivals) = arrivals.filter(|_| has_all) {
                arrivals.sort_unstable();
                if self.arrivals.len() < ARRIVALS_MAX {
                    self.arrivals.insert(delivery, arrivals.clone());
                }
                let pairs = arrivals.windows(2).map(|pair| (pair[0], pair[1]));
                extras.extend(pairs.map(|arrivals| Extra { delivery, arrivals }));
            }
        }
        extras.extend(self.copies_after_removal());
        extras.sort_by_key(|extra| extra.delivery);
        let began = self.mailing.options().began;
        let is_explained = doubles::explained(&extras, &self.faults, began, self.terms.skew);
        self.audited.explained = is_explained.iter().filter(|is| **is).count() as u64;
        let rooms = self.faults.iter().map(|fault| u64::from(fault.in_flight));
        self.audited.explained_max = rooms.sum();
        let both: Vec<_> = extras.iter().zip(is_explained).collect();
        let of_one = both.chunk_by(|(one, _), (other, _)| one.delivery == other.delivery);
        let whole = of_one.filter(|extras| extras.iter().all(|(_, is_explained)| *is_explained));
        whole.map(|extras| extras[0].0.delivery).collect()
    }

    /// Second copies of messages whose first copy was removed: one that arrived after its acceptance
    /// may be what a fault has brought again.
    fn copies_after_removal(&self) -> Vec<Extra> {
        let began = self.mailing.options().began;
        let all = self.deliveries.iter().enumerate();
        let single = all.filter(|(_, one)| one.state == State::Accepted && one.copies == 1);
        let extras = single.filter_map(|(index, one)| {
            let (outcome, _) = self.of_promised(one)?;
            let arrival = self.unpack(one.arrival).filter(|_| outcome == Outcome::Resurrected)?;
            let accepted = began.saturating_add(one.sent.0.div_euclid(1_000_000_000));
            Some(Extra { delivery: index, arrivals: (accepted.min(arrival), arrival) })
        });
        extras.collect()
    }

    fn of_accepted(&mut self, delivery: &Delivery, is_explained: bool) -> (Outcome, Detail) {
        let mailbox = self.mailboxes[delivery.recipient as usize];
        let has = |flag| delivery.flags & flag != 0;
        let known = self.details.get(&delivery.key()).cloned().unwrap_or(Detail::None);
        let copies = Detail::Copies(delivery.copies.into());
        let promised = self.of_promised(delivery);
        let is_again = |promised: &(Outcome, Detail)| promised.0 == Outcome::Resurrected;
        if has(BOUNCED) {
            (Outcome::Bounced, copies)
        } else if delivery.copies == 0 {
            match promised {
                Some(promised) if mailbox.reading == Reading::Whole => promised,
                _ => self.of_missing(delivery, mailbox),
            }
        } else if has(CHANGED) {
            (Outcome::Changed, known)
        } else if is_explained && promised.as_ref().is_some_and(is_again) {
            (Outcome::ExplainedDouble, copies)
        } else if let Some(broken) = promised.filter(|_| delivery.copies == 1) {
            broken
        } else if delivery.copies > 1 && !is_explained {
            (Outcome::Doubled, self.arrivals_of(delivery).unwrap_or(copies))
        } else if has(MISPLACED) {
            (Outcome::Misplaced, known)
        } else if !has(IN_TIME) {
            (Outcome::Late, Detail::None)
        } else if mailbox.reading != Reading::Whole {
            (Outcome::Unchecked, copies)
        } else if delivery.copies > 1 {
            (Outcome::ExplainedDouble, copies)
        } else {
            (Outcome::Found, Detail::None)
        }
    }

    fn arrivals_of(&self, delivery: &Delivery) -> Option<Detail> {
        let index = self.find(delivery.number, delivery.recipient)?;
        self.arrivals.get(&index).cloned().map(Detail::Arrivals)
    }

    /// What became of a delivery that was changed since; `None` when that says nothing.
    fn of_promised(&self, delivery: &Delivery) -> Option<(Outcome, Detail)> {
        let fates = self.promises.fates(delivery.recipient, delivery.number)?;
        // After a fault it may have been delivered again, which nothing tells apart.
        if self.faults.is_empty() && self.promises.came_again(delivery.recipient, delivery.number) {
            return Some((Outcome::Resurrected, Detail::None));
        }
        let shown = self.changed.get(&delivery.key()).copied();
        match Promises::judge(fates, shown) {
            Kept::Yes => None,
            // A session saw it: no queue has it.
            Kept::Missing => Some((Outcome::Lost, Detail::None)),
            Kept::Removed => Some((Outcome::Removed, Detail::None)),
            Kept::Resurrected => Some((Outcome::Resurrected, Detail::None)),
            Kept::Misplaced(folder) => Some((Outcome::Misplaced, Detail::Folder(folder))),
            Kept::Flags(flags) => Some((Outcome::ForgottenFlag, Detail::Flags(flags))),
        }
    }

    fn of_missing(&mut self, delivery: &Delivery, mailbox: Mailbox) -> (Outcome, Detail) {
        if mailbox.reading != Reading::Whole {
            return (Outcome::Unchecked, Detail::None);
        }
        let from = self.strays.partition_point(|(number, _)| *number < delivery.number);
        let of_this = self.strays[from..].iter_mut();
        let mut of_this = of_this.take_while(|(number, _)| *number == delivery.number);
        if let Some((_, account)) = of_this.find(|(_, account)| *account != TOLD) {
            return (Outcome::Misdelivered, Detail::Account(std::mem::replace(account, TOLD)));
        }
        if mailbox.unreadable > 0 {
            return (Outcome::Unreadable, Detail::None);
        }
        match self.queue {
            Queue::Empty | Queue::DeadlinePassed | Queue::Holds(0) => (Outcome::Lost, Detail::None),
            Queue::Holds(_) | Queue::Unknown => (Outcome::Queued, Detail::None),
        }
    }

    fn of_others(&self, delivery: &Delivery) -> (Outcome, Detail) {
        let copies = Detail::Copies(delivery.copies.into());
        let is_there = delivery.copies > 0;
        let is_whole = self.mailboxes[delivery.recipient as usize].reading == Reading::Whole;
        if delivery.state == State::Unanswered
            && delivery.flags & CHANGED == 0
            && delivery.copies < 2
            && let Some(promised) = self.of_promised(delivery).filter(|_| is_there || is_whole)
            && promised.0.standing() == Standing::Broken
        {
            return promised;
        }
        match delivery.state {
            State::Refused if is_there => (Outcome::RefusedButDelivered, copies),
            State::Refused if crate::ledger::is_for_good(delivery.code) => {
                (Outcome::RefusedForGood, Detail::Code(delivery.code))
            }
            State::Refused => (Outcome::Refused, Detail::Code(delivery.code)),
            State::NotSent if is_there => (Outcome::NotSentButDelivered, copies),
            State::NotSent => (Outcome::NotSent, Detail::None),
            State::Unanswered | State::Accepted if is_there => {
                let known = self.details.get(&delivery.key()).cloned().unwrap_or(copies);
                let outcome = match delivery.flags {
                    flags if flags & CHANGED != 0 => Outcome::Changed,
                    flags if flags & MISPLACED != 0 => Outcome::Misplaced,
                    _ => Outcome::UnansweredPresent,
                };
                (outcome, known)
            }
            State::Unanswered | State::Accepted => (Outcome::UnansweredAbsent, Detail::None),
        }
    }
}

#[cfg(test)]
mod tests;
