//! The ledger in memory and in its file.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::file::{FORMAT, Found};
use super::*;
use crate::mailing::MailingOptions;

fn mailing() -> Mailing {
    let accounts = (0..9).map(|account| format!("u{account:04}@test.invalid")).collect();
    Mailing::new(MailingOptions::new(7, 42, 1_795_751_195, accounts)).unwrap()
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::micros(micros)
}

/// Records of the ledger below that are no deliveries.
const OTHERS: usize = 7;

/// A ledger with everything in it, and its bytes.
fn ledger(messages: u32, ends: bool) -> (Ledger, Vec<u8>) {
    let mailing = mailing();
    let mut ledger = Ledger::new(&mailing);
    for micros in 0..u64::from(messages) {
        let number = ledger.next_number();
        for recipient in mailing.route(number).to {
            ledger.record(number, recipient, at(micros), Event::Sent);
            let event = match (number + recipient) % 7 {
                0 => Event::Refused { code: 452 },
                1 => Event::NotSent,
                2 => Event::Unanswered,
                3 => continue,
                _ => Event::Accepted,
            };
            ledger.record(number, recipient, at(micros + 500), event);
        }
    }
    let (kind, from, until) = (FaultKind::Kill, at(9), at(1 << 40));
    ledger.fault(Fault { kind, from, until, in_flight: 20 });
    let (set, clear) = (Flags::DELETED, Flags::SEEN);
    ledger.sees(3, 1, 0, Flags::SEEN);
    ledger.change(3, 1, Change::Store(set, clear), Reply::Ok);
    ledger.change(3, 1, Change::Expunge, Reply::No);
    ledger.change(3, 1, Change::Move(2), Reply::Nothing);
    if ends {
        ledger.end(at(1_000_000));
    }
    let bytes = ledger.take_unwritten();
    (ledger, bytes)
}

fn read(bytes: &[u8]) -> Result<Found, LedgerError> {
    Ledger::read(bytes)
}

fn sorted(ledger: &Ledger) -> Vec<Delivery> {
    let mut deliveries = ledger.deliveries().to_vec();
    deliveries.sort_by_key(Delivery::key);
    deliveries
}

#[test]
fn what_is_written_is_read_back() {
    let (ledger, bytes) = ledger(300, true);
    let found = read(&bytes).unwrap();
    assert_eq!((&found.mailing, found.cut), (mailing().options(), None));
    assert_eq!(sorted(&found.ledger), sorted(&ledger));
    assert_eq!(found.ledger.faults(), ledger.faults());
    assert_eq!(found.ledger.promises(), ledger.promises());
    let fates = [Fate::In(0, Flags::DELETED), Fate::In(2, Flags::DELETED)];
    assert_eq!(found.ledger.promises().fates(3, 1), Some(&fates[..]));
    assert_eq!((found.ledger.messages(), found.ledger.has_ended()), (300, true));
    assert!(!found.ledger.may_be_unrecorded(5));
    let header = FORMAT.len() + 8 + postcard::to_allocvec(mailing().options()).unwrap().len();
    // One reservation, one fault, four about changes, the end.
    assert_eq!(bytes.len(), header + 32 * (ledger.deliveries().len() + OTHERS));
}

#[test]
fn deliveries_remember_their_times_and_codes() {
    let mut ledger = Ledger::new(&mailing());
    ledger.record(3, 1, at(100), Event::Sent);
    ledger.record(3, 2, at(100), Event::Sent);
    ledger.record(3, 1, Time(100_000 + 1), Event::Accepted);
    ledger.record(3, 2, Time::MAX, Event::Refused { code: 552 });
    let [first, second] = ledger.deliveries() else { panic!("two deliveries") };
    assert_eq!(
        (first.state(), first.sent(), first.answered()),
        (State::Accepted, at(100), at(101))
    );
    assert_eq!((second.code(), second.number(), second.recipient()), (Some(552), 3, 2));
    assert_eq!(second.answered(), at(100) + Span::micros(u64::from(u32::MAX)));
    assert_eq!((ledger.accepted(), ledger.next_number()), (1, 4));
}

#[test]
fn numbers_are_reserved_in_the_file_before_they_are_used() {
    let mut ledger = Ledger::new(&mailing());
    let mut written = Vec::new();
    for number in 0..10_000 {
        assert_eq!(ledger.next_number(), number);
        written.extend(ledger.take_unwritten());
        if number % 1000 == 0 {
            let found = read(&written).unwrap();
            assert!(found.ledger.may_be_unrecorded(number), "{number}");
            assert!(!found.ledger.may_be_unrecorded(number + RESERVED));
        }
    }
}

#[test]
fn a_million_deliveries_take_their_32_bytes() {
    let mut ledger = Ledger::new(&mailing());
    for number in 0..1_000_000 {
        ledger.record(number, 0, at(1), Event::Accepted);
        ledger.take_unwritten();
    }
    let bytes = ledger.deliveries.capacity() * size_of::<Delivery>();
    assert!(bytes <= 36 << 20, "{bytes} B");
    assert!(ledger.open.is_empty());
}

#[test]
fn what_is_no_ledger_is_refused() {
    assert!(matches!(read(b""), Err(LedgerError::Format)));
    assert!(matches!(read(b"brunt.ledger/2\n"), Err(LedgerError::Format)));
    let (_, bytes) = ledger(3, true);
    assert!(matches!(read(&bytes[..FORMAT.len() + 5]), Err(LedgerError::Header)));
    // 4 GiB of mailing are neither read nor allocated.
    let huge = [FORMAT.as_bytes(), &[0xFF; 4], &bytes[FORMAT.len() + 4..]].concat();
    assert!(matches!(read(&huge), Err(LedgerError::Header)));
    let options =
        MailingOptions { accounts: vec!["a@b\r\nRSET".into()], ..mailing().options().clone() };
    let bytes = file::Writer::new(&options).take();
    assert!(matches!(read(&bytes), Err(LedgerError::Mailing(_))));
}

#[test]
fn a_delivery_beyond_the_reservation_is_damage() {
    let mut writer = file::Writer::new(mailing().options());
    writer.reserved(5);
    for number in [4, 5] {
        let mut delivery = Delivery::new(number, 1, at(1));
        delivery.set(at(2), Event::Accepted);
        writer.delivery(&delivery);
    }
    let found = read(&writer.take()).unwrap();
    assert_eq!(found.cut, Some(Cut { after: 2, why: Why::Damaged }));
    assert_eq!(found.ledger.deliveries().len(), 1);
}

#[test]
fn more_after_the_end_is_said() {
    let (_, mut bytes) = ledger(3, true);
    let records = read(&bytes).unwrap().ledger.deliveries().len() as u64 + OTHERS as u64;
    bytes.extend([0; 32]);
    let cut = read(&bytes).unwrap().cut;
    assert_eq!(cut, Some(Cut { after: records, why: Why::AfterTheEnd }));
}

static WHOLE: LazyLock<(Vec<Delivery>, Vec<u8>)> = LazyLock::new(|| {
    let bytes = ledger(40, true).1;
    (read(&bytes).unwrap().ledger.deliveries, bytes)
});

/// Whether `found` is what the first part of the whole file says, and less than all of it.
fn is_shorter(found: &Found) -> bool {
    let deliveries = found.ledger.deliveries();
    found.mailing == *mailing().options()
        && WHOLE.0.starts_with(deliveries)
        && !found.ledger.has_ended()
}

proptest! {
    #[test]
    fn any_changed_byte_gives_a_refusal_or_a_shorter_ledger(at: prop::sample::Index, xor in 1_u8..) {
        let mut bytes = WHOLE.1.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= xor;
        if let Ok(found) = read(&bytes) {
            prop_assert!(is_shorter(&found), "byte {}", at);
            let why = found.cut.map(|cut| cut.why);
            prop_assert_eq!(why, Some(Why::Damaged));
        }
    }

    #[test]
    fn any_cut_gives_a_refusal_or_a_shorter_ledger(length: prop::sample::Index) {
        let length = length.index(WHOLE.1.len());
        if let Ok(found) = read(&WHOLE.1[..length]) {
            prop_assert!(is_shorter(&found), "{} bytes", length);
            let is_torn = !(WHOLE.1.len() - length).is_multiple_of(32);
            prop_assert_eq!(found.cut.map(|cut| cut.why), is_torn.then_some(Why::Torn));
        }
    }

    #[test]
    fn records_that_are_missing_or_moved_are_noticed(one: prop::sample::Index, other: prop::sample::Index) {
        let records = WHOLE.0.len() + OTHERS;
        let begin = WHOLE.1.len() - 32 * records;
        let (one, other) = (one.index(records), other.index(records));
        prop_assume!(one != other);
        let place = |index: usize| begin + 32 * index..begin + 32 * (index + 1);
        let mut swapped = WHOLE.1.clone();
        swapped[place(one)].copy_from_slice(&WHOLE.1[place(other)]);
        swapped[place(other)].copy_from_slice(&WHOLE.1[place(one)]);
        prop_assert!(is_shorter(&read(&swapped).unwrap()));
        let mut missing = WHOLE.1.clone();
        missing.drain(place(one));
        prop_assert!(is_shorter(&read(&missing).unwrap()));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, begin: bool) {
        let begin = if begin { FORMAT.as_bytes() } else { b"" };
        let _ = read(&[begin, &bytes].concat());
    }
}
