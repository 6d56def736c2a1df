//! Histories of honest servers pass, and every lie is named.

use brunt_world::random::{Stream, Streams};
use proptest::prelude::*;

use super::*;
use crate::comparison::Difference;
use crate::folders::FolderStatus;
use crate::ledger::Event;
use crate::mailing::MailingOptions;
use crate::promises::{Change, Reply};

const BEGAN: u64 = 1_795_751_195;
const ACCOUNTS: u32 = 9;

/// A run as it happened: what was promised, and what mailboxes show.
struct History {
    mailing: Rc<Mailing>,
    ledger: Ledger,
    shown: Vec<(Place, Copy)>,
    queue: Queue,
    unreadable: Vec<u32>,
    damaged: Vec<u32>,
    /// Accepted deliveries with exactly one copy, without a fault nearby.
    plain: Vec<(u32, u32)>,
}

fn seconds(count: u64) -> Time {
    Time::ZERO + Span::seconds(count)
}

fn inbox(account: u32) -> Place {
    Place { account, folder: 0 }
}

fn copy(number: u32, second: u64) -> Copy {
    Copy { number, bytes: 400, received: vec![BEGAN + second, BEGAN], difference: None }
}

impl History {
    fn new() -> Self {
        let accounts = (0..ACCOUNTS).map(|account| format!("u{account:04}@test.invalid")).collect();
        let mailing = Rc::new(Mailing::new(MailingOptions::new(7, 42, BEGAN, accounts)).unwrap());
        Self {
            ledger: Ledger::new(&mailing),
            mailing,
            shown: Vec::new(),
            queue: Queue::Empty,
            unreadable: Vec::new(),
            damaged: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// A hundred seconds of mail to servers that keep their word, with kills, cuts and power cuts.
    fn honest(seed: u64) -> Self {
        let mut history = Self::new();
        let mut stream = Streams::new(seed).named("history");
        let mut room = Vec::new();
        for _ in 0..stream.below(4) {
            let from = stream.below(100);
            let until = seconds(from + stream.below(9));
            let kind = [FaultKind::Kill, FaultKind::Connection][usize::from(stream.percent(50))];
            let in_flight = stream.below(5);
            room.push((from, in_flight));
            let in_flight = u32::try_from(in_flight).unwrap();
            history.ledger.fault(Fault { kind, from: seconds(from), until, in_flight });
        }
        let cut = 101..110;
        let (from, until) = (seconds(cut.start), seconds(cut.end));
        let cut = Fault { kind: FaultKind::PowerCut, from, until, in_flight: 0 };
        history.ledger.fault(cut);
        for second in 0..120 {
            history.message(&mut stream, second, &mut room, &cut);
        }
        history.ledger.end(seconds(200));
        history
    }

    fn message(&mut self, stream: &mut Stream, second: u64, room: &mut [(u64, u64)], cut: &Fault) {
        let number = self.ledger.next_number();
        for recipient in self.mailing.route(number).to {
            self.ledger.record(number, recipient, seconds(second), Event::Sent);
            let is_cut = (cut.from..=cut.until).contains(&seconds(second));
            let (event, copies) = match stream.below(20) {
                // It cannot be made durable any more, and is so already.
                0 if is_cut => (Event::Refused { code: 451 }, stream.below(2)),
                0 => (Event::Refused { code: 451 }, 0),
                1 => (Event::Refused { code: 552 }, 0),
                2 => (Event::NotSent, 0),
                3 | 4 => (Event::Unanswered, stream.below(3)),
                _ if is_cut => (Event::Accepted, stream.below(2)),
                _ => (Event::Accepted, 1),
            };
            self.ledger.record(number, recipient, seconds(second), event);
            for again in 0..copies {
                self.shown.push((inbox(recipient), copy(number, second + again)));
            }
            let is_sure = event == Event::Accepted && seconds(second) < cut.from;
            let fault = room.iter_mut().find(|(from, left)| *left > 0 && second <= *from);
            match fault.filter(|_| is_sure && stream.percent(30)) {
                Some((from, left)) => {
                    // Handed on, the connection lost, and handed on again.
                    *left -= 1;
                    let later = copy(number, *from + 1 + stream.below(20));
                    self.shown.push((inbox(recipient), later));
                }
                None if is_sure => self.plain.push((number, recipient)),
                None => {}
            }
        }
    }

    fn audit(self) -> Audited {
        self.audit_on(Terms::default())
    }

    fn audit_on(self, terms: Terms) -> Audited {
        let mut audit = Audit::new(&self.mailing, self.ledger, terms);
        for (place, copy) in self.shown {
            audit.saw(place, &Seen::Ours(copy), None);
        }
        self.damaged.iter().for_each(|account| audit.unreadable_message(*account));
        self.unreadable.iter().for_each(|account| audit.unreadable(*account));
        (0..ACCOUNTS).for_each(|account| audit.read_whole(account));
        audit.queue(self.queue);
        audit.finish()
    }

    fn shown(&mut self, (number, account): (u32, u32)) -> &mut (Place, Copy) {
        let is =
            |(place, copy): &&mut (Place, Copy)| (copy.number, place.account) == (number, account);
        self.shown.iter_mut().find(is).expect("it is shown")
    }

    fn hide(&mut self, (number, account): (u32, u32)) {
        self.shown.retain(|(place, copy)| (copy.number, place.account) != (number, account));
    }
}

/// The only finding.
fn finding(audited: &Audited) -> (u32, u32, Outcome) {
    let [found] = &audited.findings[..] else { panic!("{:?}", audited.findings) };
    let broken = audited.counts.standing(Standing::Broken);
    assert_eq!((broken, audited.verdict()), (1, Verdict::Fail));
    (found.number, found.account, found.outcome)
}

#[derive(Clone, Copy, Debug)]
enum Lie {
    Drop,
    Double,
    Change,
    Misfile,
    OtherUser,
    OneMoreUser,
    Refused,
    NotSent,
    NeverSent,
}

const LIES: [Lie; 9] = [
    Lie::Drop,
    Lie::Double,
    Lie::Change,
    Lie::Misfile,
    Lie::OtherUser,
    Lie::OneMoreUser,
    Lie::Refused,
    Lie::NotSent,
    Lie::NeverSent,
];

/// Tells one lie about a delivery; returns what an audit must find.
fn plant(history: &mut History, lie: Lie, delivery: (u32, u32)) -> (u32, u32, Outcome) {
    let (number, account) = delivery;
    let route = history.mailing.route(number);
    let stranger = (0..ACCOUNTS).find(|other| !route.to.contains(other)).unwrap();
    let second = u64::from(number);
    let of_state = |history: &History, state, code| {
        let is = |each: &&Delivery| {
            each.state() == state
                && each.code() == code
                && !history
                    .shown
                    .iter()
                    .any(|(place, copy)| (copy.number, place.account) == each.key())
        };
        history.ledger.deliveries().iter().find(is).map(Delivery::key)
    };
    match lie {
        Lie::Drop => {
            history.hide(delivery);
            (number, account, Outcome::Lost)
        }
        Lie::Double => {
            // Both before any fault that began later can be held responsible.
            let mut again = history.shown(delivery).clone();
            again.1.received[0] = BEGAN + 1_000_000;
            history.shown(delivery).1.received[0] = BEGAN + 900_000;
            history.shown.push(again);
            (number, account, Outcome::Doubled)
        }
        Lie::Change => {
            let difference = Difference { offset: 9, expected: b"a".into(), found: b"b".into() };
            history.shown(delivery).1.difference = Some(difference);
            (number, account, Outcome::Changed)
        }
        Lie::Misfile => {
            history.shown(delivery).0.folder = 3;
            (number, account, Outcome::Misplaced)
        }
        Lie::OtherUser => {
            history.shown(delivery).0.account = stranger;
            (number, account, Outcome::Misdelivered)
        }
        Lie::OneMoreUser => {
            history.shown.push((inbox(stranger), copy(number, second)));
            (number, stranger, Outcome::Misdelivered)
        }
        Lie::Refused | Lie::NotSent => {
            let (state, code, outcome) = match lie {
                Lie::Refused => (State::Refused, Some(451), Outcome::RefusedButDelivered),
                _ => (State::NotSent, None, Outcome::NotSentButDelivered),
            };
            let (number, account) = of_state(history, state, code).expect("one in 240");
            history.shown.push((inbox(account), copy(number, second)));
            (number, account, outcome)
        }
        Lie::NeverSent => {
            history.shown.push((inbox(account), copy(9999, second)));
            (9999, account, Outcome::NeverSentButDelivered)
        }
    }
}

proptest! {
    #[test]
    fn an_honest_history_passes(seed: u64) {
        let history = History::honest(seed);
        let deliveries = history.ledger.deliveries().len() as u64;
        let audited = history.audit();
        prop_assert_eq!(audited.verdict(), Verdict::Pass, "{:?}", audited.findings);
        prop_assert_eq!(audited.counts.standing(Standing::Kept), deliveries);
        prop_assert!(audited.findings.is_empty());
        prop_assert!(audited.explained <= audited.explained_max);
    }

    #[test]
    fn a_single_lie_is_named(seed: u64, lie in prop::sample::select(&LIES), at: prop::sample::Index) {
        let mut history = History::honest(seed);
        let delivery = *at.get(&history.plain);
        let expected = plant(&mut history, lie, delivery);
        prop_assert_eq!(finding(&history.audit()), expected);
    }

    #[test]
    fn what_cannot_be_read_never_turns_a_failure_into_a_pass(
        seed: u64,
        lie in prop::option::of(prop::sample::select(&LIES)),
        at: prop::sample::Index,
        unreadable in prop::collection::vec(0..ACCOUNTS, 1..4),
        hides: bool,
        keeps_damaged: bool,
    ) {
        let mut history = History::honest(seed);
        if let Some(lie) = lie {
            let delivery = *at.get(&history.plain);
            plant(&mut history, lie, delivery);
        }
        if hides {
            history.shown.retain(|(place, _)| !unreadable.contains(&place.account));
        }
        if keeps_damaged {
            history.damaged = unreadable;
        } else {
            history.unreadable = unreadable;
        }
        prop_assert_ne!(history.audit().verdict(), Verdict::Pass);
    }

    /// Whatever copies an honest history does not show: all that were owed and are gone are named,
    /// unless the queue may hold them.
    #[test]
    fn missing_copies_never_pass(
        seed: u64,
        hidden in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        queue in prop::sample::select(&[Queue::Empty, Queue::Holds(9), Queue::Unknown, Queue::DeadlinePassed]),
    ) {
        let mut history = History::honest(seed);
        let hidden = hidden.iter().map(|index| *index.get(&history.plain));
        let hidden: std::collections::BTreeSet<_> = hidden.collect();
        hidden.iter().for_each(|delivery| history.hide(*delivery));
        history.queue = queue;
        let audited = history.audit();
        let (verdict, outcome) = match queue {
            Queue::Empty | Queue::DeadlinePassed => (Verdict::Fail, Outcome::Lost),
            _ => (Verdict::CannotTell, Outcome::Queued),
        };
        prop_assert_eq!(audited.verdict(), verdict);
        let found = audited.findings.iter().map(|found| (found.number, found.account));
        prop_assert_eq!(found.collect::<Vec<_>>(), hidden.into_iter().collect::<Vec<_>>());
        prop_assert!(audited.findings.iter().all(|found| found.outcome == outcome));
    }
}

#[test]
fn a_double_is_explained_by_a_fault_between_and_by_no_other() {
    for (from, until, in_flight, is_explained) in
        [(10, 12, 1, true), (10, 12, 0, false), (3, 4, 1, false), (30, 31, 1, false)]
    {
        let mut history = History::new();
        let number = history.ledger.next_number();
        let account = history.mailing.route(number).to[0];
        history.ledger.record(number, account, seconds(7), Event::Accepted);
        let (kind, from, until) = (FaultKind::Kill, seconds(from), seconds(until));
        history.ledger.fault(Fault { kind, from, until, in_flight });
        history.ledger.end(seconds(20));
        history.shown.push((inbox(account), copy(number, 20)));
        history.shown.push((inbox(account), copy(number, 8)));
        let audited = history.audit();
        let counted = audited.counts.of(Outcome::ExplainedDouble);
        assert_eq!(counted, u64::from(is_explained), "{from:?}");
        assert_eq!(audited.verdict() == Verdict::Pass, is_explained);
        assert_eq!((audited.explained, audited.explained_max), (counted, u64::from(in_flight)));
        let evidence = Detail::Arrivals(vec![BEGAN + 8, BEGAN + 20]);
        assert!(audited.findings.iter().all(|found| found.detail == evidence));
    }
}

#[test]
fn no_more_doubles_are_explained_than_were_in_flight() {
    let mut history = History::new();
    for _ in 0..10 {
        let number = history.ledger.next_number();
        let account = history.mailing.route(number).to[0];
        history.ledger.record(number, account, seconds(7), Event::Accepted);
        history.shown.push((inbox(account), copy(number, 8)));
        history.shown.push((inbox(account), copy(number, 12)));
    }
    let (kind, from, until) = (FaultKind::Kill, seconds(9), seconds(10));
    history.ledger.fault(Fault { kind, from, until, in_flight: 7 });
    history.ledger.end(seconds(20));
    let audited = history.audit();
    assert_eq!(audited.counts.of(Outcome::ExplainedDouble), 7);
    assert_eq!(audited.counts.of(Outcome::Doubled), 3);
    assert_eq!((audited.findings.len(), audited.verdict()), (3, Verdict::Fail));
}

#[test]
fn copies_without_a_time_of_arrival_are_not_explained() {
    let mut history = History::new();
    let number = history.ledger.next_number();
    let account = history.mailing.route(number).to[0];
    history.ledger.record(number, account, seconds(7), Event::Accepted);
    let (kind, from, until) = (FaultKind::Kill, seconds(9), seconds(10));
    history.ledger.fault(Fault { kind, from, until, in_flight: 7 });
    history.ledger.end(seconds(20));
    let copy = Copy { received: vec![], ..copy(number, 8) };
    history.shown = vec![(inbox(account), copy.clone()), (inbox(account), copy)];
    assert_eq!(finding(&history.audit()).2, Outcome::Doubled);
}

#[test]
fn what_was_accepted_once_stays_accepted() {
    for (other, shown) in [(Event::Unanswered, true), (Event::NotSent, false)] {
        let mut history = History::new();
        let number = history.ledger.next_number();
        let account = history.mailing.route(number).to[0];
        history.ledger.record(number, account, seconds(1), Event::Accepted);
        history.ledger.record(number, account, seconds(2), other);
        if shown {
            history.shown.push((inbox(account), copy(number, 1)));
        }
        let audited = history.audit();
        let outcome = if shown { Outcome::Found } else { Outcome::Lost };
        assert_eq!(audited.counts.iter().collect::<Vec<_>>(), [(outcome, 1)]);
    }
}

#[test]
fn late_counts_from_the_acceptance() {
    for (limit, is_late) in [(4, true), (20, false)] {
        let mut history = History::honest(3);
        let delivery = history.plain[5];
        let accepted = u64::from(delivery.0);
        history.shown(delivery).1.received[0] = BEGAN + accepted + 10;
        // Doubles of this history arrive late as well, and their first copies in time.
        let terms = Terms { limit: Some(Span::seconds(limit)), ..Terms::default() };
        let audited = history.audit_on(terms);
        assert_eq!(audited.counts.of(Outcome::Late), u64::from(is_late));
        if is_late {
            assert_eq!(finding(&audited), (delivery.0, delivery.1, Outcome::Late));
        }
    }
}

#[test]
fn a_message_that_cannot_be_read_is_not_lost() {
    let mut history = History::honest(4);
    let delivery = history.plain[5];
    history.hide(delivery);
    history.damaged.push(delivery.1);
    let expected = (delivery.0, delivery.1, Outcome::Unreadable);
    assert_eq!(finding(&history.audit()), expected);
}

#[test]
fn refusals_for_good_fail_except_for_a_full_mailbox() {
    for (code, verdict) in [(550, Verdict::Fail), (552, Verdict::Pass), (451, Verdict::Pass)] {
        let mut history = History::new();
        let mut accounts = Vec::new();
        for event in [Event::Refused { code }, Event::Accepted] {
            let number = history.ledger.next_number();
            let account = history.mailing.route(number).to[0];
            history.ledger.record(number, account, seconds(7), event);
            accounts.push((number, account));
        }
        history.ledger.end(seconds(20));
        let (number, account) = accounts[1];
        history.shown.push((inbox(account), copy(number, 8)));
        assert_eq!(history.audit().verdict(), verdict, "{code}");
    }
}

#[test]
fn a_bounce_fails_the_delivery_that_it_names() {
    let history = History::honest(5);
    let (number, account) = history.plain[7];
    let mut audit = Audit::new(&history.mailing, history.ledger, Terms::default());
    let others = history
        .shown
        .into_iter()
        .filter(|(place, copy)| (copy.number, place.account) != (number, account));
    others.for_each(|(place, copy)| audit.saw(place, &Seen::Ours(copy), None));
    let to = smallvec::smallvec![account];
    audit.saw(inbox(0), &Seen::Bounce { number, to }, None);
    (0..ACCOUNTS).for_each(|account| audit.read_whole(account));
    audit.queue(Queue::Empty);
    assert_eq!(finding(&audit.finish()), (number, account, Outcome::Bounced));
}

#[test]
fn a_ledger_that_ends_early_accuses_nobody() {
    let mut history = History::new();
    let first = history.ledger.next_number();
    let route = history.mailing.route(first);
    history.ledger.record(first, route.to[0], seconds(1), Event::Accepted);
    history.shown.push((inbox(route.to[0]), copy(first, 1)));
    // Sent, and brunt was killed before it recorded the answer.
    let unrecorded = history.ledger.next_number();
    let account = history.mailing.route(unrecorded).to[0];
    history.shown.push((inbox(account), copy(unrecorded, 2)));
    let audited = history.audit();
    assert_eq!((audited.verdict(), audited.unrecorded), (Verdict::Pass, 1));
}

#[test]
fn nothing_promised_and_nothing_read_are_no_pass() {
    assert_eq!(History::new().audit().verdict(), Verdict::CannotTell);
    let history = History::honest(6);
    let audit = Audit::new(&history.mailing, history.ledger, Terms::default());
    let audited = audit.finish();
    assert_eq!(audited.verdict(), Verdict::CannotTell);
    assert_eq!(audited.counts.of(Outcome::Unchecked), audited.accepted);
    assert_eq!(audited.unread.len(), ACCOUNTS as usize);
}

/// One accepted delivery that a session saw in INBOX without flags.
fn seen_once() -> (History, u32, u32) {
    let mut history = History::new();
    let number = history.ledger.next_number();
    let account = history.mailing.route(number).to[0];
    history.ledger.record(number, account, seconds(1), Event::Accepted);
    history.ledger.sees(account, number, 0, Flags::default());
    (history, number, account)
}

fn outcome_of(history: History, shown: Option<(u16, Flags)>) -> Outcome {
    let mailing = Rc::clone(&history.mailing);
    let (number, account) = history.ledger.deliveries()[0].key();
    let mut audit = Audit::new(&mailing, history.ledger, Terms::default());
    if let Some((folder, flags)) = shown {
        let seen = Seen::Ours(copy(number, 1));
        audit.saw_with(Place { account, folder }, &seen, None, flags);
    }
    (0..ACCOUNTS).for_each(|account| audit.read_whole(account));
    let audited = audit.finish();
    let [(outcome, 1)] = audited.counts.iter().collect::<Vec<_>>()[..] else {
        panic!("one delivery has one outcome: {:?}", audited.counts)
    };
    outcome
}

/// Changes with their replies, what is shown then, and what that is.
type Case<'a> = (&'a [(Change, Reply)], Option<(u16, Flags)>, Outcome);

#[test]
fn changes_are_promises_too() {
    let (none, seen, deleted) = (Flags::default(), Flags::SEEN, Flags::DELETED);
    let set = |flags| Change::Store(flags, none);
    let (ok, open) = (Reply::Ok, Reply::Nothing);
    let stored = [(set(seen), ok)];
    let moved = [(Change::Move(2), ok)];
    let maybe = [(Change::Move(2), open)];
    let removed = [(set(deleted), ok), (Change::Expunge, ok)];
    let cases: [Case<'_>; 13] = [
        (&[], Some((0, none)), Outcome::Found),
        (&stored, Some((0, seen)), Outcome::Found),
        (&stored, Some((0, none)), Outcome::ForgottenFlag),
        (&stored, None, Outcome::Lost),
        (&moved, Some((2, none)), Outcome::Found),
        (&moved, Some((0, none)), Outcome::Misplaced),
        (&moved, Some((1, none)), Outcome::Misplaced),
        (&maybe, Some((2, none)), Outcome::Found),
        (&maybe, Some((0, none)), Outcome::Found),
        (&maybe, None, Outcome::Lost),
        (&removed, None, Outcome::Removed),
        (&removed, Some((0, deleted)), Outcome::Resurrected),
        (&[(set(deleted), Reply::No), (Change::Expunge, ok)], None, Outcome::Lost),
    ];
    for (changes, shown, expected) in cases {
        let (mut history, number, account) = seen_once();
        for (change, reply) in changes {
            history.ledger.change(account, number, *change, *reply);
        }
        assert_eq!(outcome_of(history, shown), expected, "{changes:?} {shown:?}");
    }
}

#[test]
fn what_was_seen_is_lost_although_it_was_never_answered() {
    for (sees, expected) in [(false, Outcome::UnansweredAbsent), (true, Outcome::Lost)] {
        let mut history = History::new();
        let number = history.ledger.next_number();
        let account = history.mailing.route(number).to[0];
        history.ledger.record(number, account, seconds(1), Event::Unanswered);
        if sees {
            history.ledger.sees(account, number, 0, Flags::default());
        }
        assert_eq!(outcome_of(history, None), expected);
    }
}

#[test]
fn an_append_is_a_delivery_to_its_folder() {
    let (seen, there) = (Flags::SEEN, Some((3, Flags::SEEN)));
    for (event, shown, expected) in [
        (Event::Accepted, there, Outcome::Found),
        (Event::Accepted, Some((0, seen)), Outcome::Misplaced),
        (Event::Accepted, Some((3, Flags::default())), Outcome::ForgottenFlag),
        (Event::Accepted, None, Outcome::Lost),
        (Event::Unanswered, there, Outcome::UnansweredPresent),
        (Event::Unanswered, None, Outcome::UnansweredAbsent),
        (Event::Unanswered, Some((0, seen)), Outcome::Misplaced),
        (Event::Refused { code: 450 }, there, Outcome::RefusedButDelivered),
    ] {
        let mut history = History::new();
        let number = history.ledger.next_number();
        history.ledger.appended((2, number), (3, seen), seconds(1), event);
        assert_eq!(outcome_of(history, shown), expected, "{event:?} {shown:?}");
    }
}

#[test]
fn a_folder_that_goes_back_fails_the_run() {
    let (history, number, account) = seen_once();
    let mailing = Rc::clone(&history.mailing);
    let mut folders = Folders::default();
    for validity in [7, 8] {
        let status = crate::folders::FolderStatus { validity, next: 3, modseq: None };
        folders.says(inbox(account), status);
    }
    let mut audit = Audit::new(&mailing, history.ledger, Terms::default());
    audit.saw(inbox(account), &Seen::Ours(copy(number, 1)), None);
    (0..ACCOUNTS).for_each(|account| audit.read_whole(account));
    audit.folders(&folders);
    let audited = audit.finish();
    assert_eq!(audited.folders, [(inbox(account), FolderBreach::Validity(7, 8))]);
    assert_eq!(audited.verdict(), Verdict::Fail);
}

#[test]
fn a_million_deliveries_are_audited_in_48_megabytes() {
    const COUNT: u32 = 1_000_000;
    let mut options = History::new().mailing.options().clone();
    options.accounts = (0..1000).map(|account| format!("u{account}@test.invalid")).collect();
    let mailing = Rc::new(Mailing::new(options).unwrap());
    let mut ledger = Ledger::new(&mailing);
    for number in 0..COUNT {
        ledger.record(number, number % 1000, seconds(1), Event::Accepted);
        ledger.take_unwritten();
    }
    ledger.end(seconds(2));
    let mut audit = Audit::new(&mailing, ledger, Terms::default());
    // In another order, with one of a thousand at the wrong user and one doubled.
    for step in 0..COUNT {
        let number = u32::try_from(u64::from(step) * 999_983 % u64::from(COUNT)).unwrap();
        let account = number % 1000;
        let place = inbox(if account == 1 { 7 } else { account });
        let seen = Seen::Ours(copy(number, 1));
        (0..1 + u32::from(account == 2)).for_each(|_| audit.saw(place, &seen, None));
    }
    let bytes = audit.deliveries.capacity() * size_of::<Delivery>()
        + audit.strays.capacity() * size_of::<(u32, u32)>()
        + audit.extras.capacity() * size_of::<(usize, u32)>()
        + audit.mailboxes.capacity() * size_of::<Mailbox>();
    assert!(bytes <= 48_000_000, "{bytes} B");
    (0..1000).for_each(|account| audit.read_whole(account));
    audit.queue(Queue::Empty);
    let counts = audit.finish().counts;
    assert_eq!(counts.of(Outcome::Misdelivered), 1000);
    assert_eq!(counts.of(Outcome::Doubled), 1000);
    assert_eq!(counts.of(Outcome::Found), 998_000);
}

#[test]
fn a_folder_may_begin_anew_after_a_power_cut_and_at_no_other_time() {
    let mut folders = Folders::default();
    let status = |validity, next| FolderStatus { validity, next, modseq: None };
    folders.says(inbox(0), status(7, 5));
    folders.says(inbox(0), status(8, 1));
    folders.says(inbox(0), status(6, 1));
    let mailing = History::new().mailing;
    let audited = |kind: Option<FaultKind>| {
        let mut ledger = Ledger::new(&mailing);
        let (from, until) = (seconds(1), seconds(2));
        kind.into_iter().for_each(|kind| ledger.fault(Fault { kind, from, until, in_flight: 0 }));
        let mut audit = Audit::new(&mailing, ledger, Terms::default());
        audit.folders(&folders);
        let audited = audit.finish();
        (audited.folders.len(), audited.folders_renewed)
    };
    assert_eq!(audited(None), (2, 0));
    assert_eq!(audited(Some(FaultKind::Kill)), (2, 0));
    // One that goes back shows wrong messages.
    assert_eq!(audited(Some(FaultKind::PowerCut)), (1, 1));
}
