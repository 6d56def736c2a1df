//! Targets for what mail servers send and what a ledger's file holds.
//!
//! A ledger is tried as it is and with its checksums recomputed, and what can be read is audited: a
//! file that was written by something else must not stop an audit either.

use std::cell::OnceCell;
use std::rc::Rc;

use brunt_mail::ledger::file::FORMAT;
use brunt_mail::{
    Audit, Change, Comparison, Event, Fault, FaultKind, Flags, Ledger, Mailing, MailingOptions,
    Message, Place, Queue, Reply, Seen, Terms,
};
use brunt_units::{Span, Time};

const RECORD: usize = 32;

fn options() -> MailingOptions {
    let accounts = (0..5).map(|account| format!("u{account}@test.invalid")).collect();
    MailingOptions::new(7, 42, 1_795_751_195, accounts)
}

/// The mailing of the seeds.
fn mailing() -> Rc<Mailing> {
    thread_local! {
        static MAILING: OnceCell<Rc<Mailing>> = const { OnceCell::new() };
    }
    let made = || Rc::new(Mailing::new(options()).expect("it has accounts"));
    MAILING.with(|mailing| Rc::clone(mailing.get_or_init(made)))
}

/// `ledger.bin`, and an audit of what it says.
pub fn ledger(bytes: &[u8]) {
    audit(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    audit(&sealed);
}

fn audit(bytes: &[u8]) {
    let Ok(found) = Ledger::read(bytes) else { return };
    let records = bytes.len().div_euclid(RECORD);
    assert!(found.ledger.deliveries().len() <= records);
    let mailing = Rc::new(Mailing::new(found.mailing).expect("it was checked"));
    let accounts = u32::try_from(mailing.options().accounts.len()).expect("it was checked");
    let terms = Terms { limit: Some(Span::seconds(9)), ..Terms::default() };
    let keys = found.ledger.deliveries().iter().take(50);
    let keys: Vec<_> = keys.map(|each| (each.number(), each.recipient())).collect();
    let mut audit = Audit::new(&mailing, found.ledger, terms);
    for (number, account) in keys {
        for received in [vec![], vec![0], vec![u64::MAX]] {
            let copy = brunt_mail::Copy { number, bytes: 1, received, difference: None };
            let place = Place { account, folder: 0 };
            audit.saw_with(place, &Seen::Ours(copy), Some(Time::MAX), Flags::SEEN);
        }
    }
    (1..accounts).for_each(|account| audit.read_whole(account));
    audit.queue(Queue::Empty);
    let _ = audit.finish().verdict();
}

/// Recomputes the checksums of a ledger, as far as it goes.
fn seal(bytes: &mut [u8]) {
    let Some((_, rest)) = bytes.split_at_mut_checked(FORMAT.len()) else { return };
    let Some((border, rest)) = rest.split_at_mut_checked(8) else { return };
    let length = u32::from_le_bytes(border[..4].try_into().expect("4 bytes"));
    let Some((mailing, records)) = rest.split_at_mut_checked(length as usize) else { return };
    border[4..].copy_from_slice(&crc32fast::hash(mailing).to_le_bytes());
    for (place, record) in (0_u64..).zip(records.chunks_exact_mut(RECORD)) {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&place.to_le_bytes());
        hasher.update(&record[..28]);
        record[28..].copy_from_slice(&hasher.finalize().to_le_bytes());
    }
}

/// A message as a mailbox shows it, whole and in pieces of a length that its first byte gives.
pub fn mailbox(bytes: &[u8]) {
    let (mailing, piece) = (mailing(), usize::from(bytes.first().copied().unwrap_or(1)).max(1));
    let compare = |piece: usize| {
        let mut comparison = Comparison::new(&mailing);
        bytes.chunks(piece).for_each(|chunk| comparison.feed(chunk));
        comparison.finish()
    };
    assert_eq!(compare(bytes.len().max(1)), compare(piece));
}

/// A ledger with every kind of record.
pub fn ledgers() -> Vec<Vec<u8>> {
    let (mailing, at) = (mailing(), |seconds| Time::ZERO + Span::seconds(seconds));
    let mut ledger = Ledger::new(&mailing);
    let events = [
        Event::Accepted,
        Event::Refused { code: 451 },
        Event::NotSent,
        Event::Unanswered,
        Event::Accepted,
    ];
    for (second, event) in (0..).zip(events) {
        let number = ledger.next_number();
        for account in mailing.route(number).to {
            ledger.record(number, account, at(second), Event::Sent);
            ledger.record(number, account, at(second + 1), event);
        }
    }
    for kind in [FaultKind::Kill, FaultKind::Freeze, FaultKind::PowerCut, FaultKind::Connection] {
        ledger.fault(Fault { kind, from: at(1), until: at(2), in_flight: 3 });
    }
    ledger.sees(1, 0, 0, Flags::SEEN);
    for change in [Change::Store(Flags::FLAGGED, Flags::SEEN), Change::Move(2), Change::Expunge] {
        ledger.change(1, 0, change, Reply::Ok);
    }
    ledger.appended((2, 9), (3, Flags::SEEN), at(9), Event::Unanswered);
    let mut open = ledger.take_unwritten();
    let whole = {
        ledger.end(at(10));
        [&open[..], &ledger.take_unwritten()].concat()
    };
    open.truncate(open.len() - 5);
    vec![open, whole]
}

/// Copies, a report of failure, and a foreign message.
pub fn mailboxes() -> Vec<Vec<u8>> {
    let mailing = mailing();
    let message = |number| Message::new(&mailing, number).collect();
    let added = b"Return-Path: <u1@test.invalid>\r\nReceived: from a by b;\r\n\
        \tFri, 27 Nov 2026 03:46:37 +0000\r\n";
    let report = b"Return-Path: <>\r\n\r\nFinal-Recipient: rfc822; u3@test.invalid\r\n\
        Action: failed\r\n\r\n";
    let copies = [1, 2, 3].map(|number| [&added[..], &message(number)].concat());
    let report = [&report[..], &message(4)].concat();
    copies.into_iter().chain([report, b"Subject: hello\r\n\r\nhello\r\n".to_vec()]).collect()
}
