//! What a fetched message turns out to be, in whatever pieces it comes.

use proptest::prelude::*;

use super::*;
use crate::mailing::MailingOptions;
use crate::message::Hard;

fn mailing() -> Rc<Mailing> {
    let accounts = (0..9).map(|account| format!("u{account:04}@test.invalid")).collect();
    Rc::new(Mailing::new(MailingOptions::new(7, 42, 1_795_751_195, accounts)).unwrap())
}

const ADDED: &str = "Return-Path: <u0001@test.invalid>\r\n\
    Received: from relay by store with LMTP id 1;\r\n\tFri, 27 Nov 2026 03:46:37 +0000\r\n\
    Received: from client by relay; Fri, 27 Nov 2026 03:46:35 +0000 (UTC)\r\n";

fn stored(mailing: &Rc<Mailing>, number: u32) -> Vec<u8> {
    [ADDED.as_bytes(), &Message::new(mailing, number).collect()].concat()
}

fn seen(mailing: &Rc<Mailing>, bytes: &[u8], piece: usize) -> Seen {
    let mut comparison = Comparison::new(mailing);
    bytes.chunks(piece).for_each(|chunk| comparison.feed(chunk));
    comparison.finish()
}

fn copy(seen: Seen) -> Copy {
    match seen {
        Seen::Ours(copy) => copy,
        other => panic!("{other:?}"),
    }
}

/// The first message of each hard case, and a plain one.
fn numbers(mailing: &Rc<Mailing>) -> Vec<u32> {
    let hard = |number| Message::new(mailing, number).hard();
    let first = |case: Option<Hard>| (0..).find(|number| hard(*number) == case).unwrap();
    Hard::ALL.map(Some).into_iter().chain([None]).map(first).collect()
}

#[test]
fn what_a_server_adds_above_is_read_and_everything_else_is_equal() {
    let mailing = mailing();
    for number in numbers(&mailing) {
        let stored = stored(&mailing, number);
        for piece in [1, 7, 1000, stored.len()] {
            let copy = copy(seen(&mailing, &stored, piece));
            assert_eq!((copy.number, copy.bytes), (number, stored.len() as u64));
            assert_eq!(copy.difference, None, "message {number} in pieces of {piece}");
            assert_eq!(copy.received, [1_795_751_197, 1_795_751_195]);
        }
    }
}

#[test]
fn what_is_added_below_or_at_the_end_is_a_change() {
    let mailing = mailing();
    let sent = Message::new(&mailing, 5).collect();
    let line = sent.windows(2).position(|two| two == b"\r\n").unwrap() + 2;
    let below = [&sent[..line], b"X-Spam: no\r\n", &sent[line..]].concat();
    let difference = copy(seen(&mailing, &below, 50)).difference.unwrap();
    assert_eq!(difference.offset, line as u64);
    assert!(difference.expected.starts_with(b"From: <"));
    assert_eq!(difference.found.len(), EXCERPT);
    assert!(difference.found.starts_with(b"X-Spam: no\r\nFrom: <"));
    let longer = [&sent[..], b"\r\n"].concat();
    let difference = copy(seen(&mailing, &longer, 50)).difference.unwrap();
    let expected =
        Difference { offset: sent.len() as u64, expected: vec![], found: b"\r\n".into() };
    assert_eq!(difference, expected);
}

#[test]
fn others_are_told_apart() {
    let mailing = mailing();
    let options = MailingOptions { run: 8, ..mailing.options().clone() };
    let other = Rc::new(Mailing::new(options).unwrap());
    assert_eq!(seen(&mailing, &stored(&other, 5), 9), Seen::OtherRun { run: 8 });
    for text in ["", "\r\n", "Subject: hello\r\n\r\nX-Brunt: hello\r\n", "no end"] {
        assert_eq!(seen(&mailing, text.as_bytes(), 3), Seen::Alien);
    }
    // Our headers in a foreign message are not ours.
    let forwarded = [b"Subject: fwd\r\n\r\n", &Message::new(&mailing, 5).collect()[..]].concat();
    assert_eq!(seen(&mailing, &forwarded, 100), Seen::Alien);
    let endless = "X-Filler: and so on\r\n".repeat(20_000);
    let late = [endless.as_bytes(), &Message::new(&mailing, 5).collect()].concat();
    assert_eq!(seen(&mailing, &late, 4096), Seen::Alien);
}

#[test]
fn a_report_of_failure_names_message_and_recipients() {
    let mailing = mailing();
    let original = String::from_utf8(Message::new(&mailing, 5).collect()).unwrap();
    let report = |action: &str| {
        format!(
            "Return-Path: <>\r\nSubject: Undelivered Mail\r\n\r\nsorry\r\n\
             Reporting-MTA: dns; relay.invalid\r\n\r\n\
             Final-Recipient: rfc822; u0003@test.invalid\r\nAction: {action}\r\nStatus: 5.2.0\r\n\r\n\
             Action: {action}\r\nFinal-Recipient: RFC822;<U0004@test.invalid>\r\n\r\n\
             Final-Recipient: rfc822; u0005@test.invalid\r\nAction: delayed\r\n\r\n{original}"
        )
    };
    for piece in [1, 64, 100_000] {
        let found = seen(&mailing, report("failed").as_bytes(), piece);
        assert_eq!(found, Seen::Bounce { number: 5, to: SmallVec::from_slice(&[3, 4]) });
        assert_eq!(seen(&mailing, report("delayed").as_bytes(), piece), Seen::Alien);
    }
}

proptest! {
    /// Any change of a byte of ours is found, at its place, with the right number.
    #[test]
    fn a_changed_byte_is_named(case in 0_usize..9, at: prop::sample::Index, bit in 0_u8..8, piece in 1_usize..5000) {
        let mailing = mailing();
        let number = numbers(&mailing)[case];
        let mut stored = stored(&mailing, number);
        let at = at.index(stored.len() - ADDED.len());
        stored[ADDED.len() + at] ^= 1 << bit;
        let copy = copy(seen(&mailing, &stored, piece));
        prop_assert_eq!(copy.number, number);
        let difference = copy.difference.expect("a difference");
        prop_assert_eq!(difference.offset, at as u64);
        prop_assert_ne!(difference.expected.first(), difference.found.first());
    }

    /// A copy that is cut anywhere behind its first line is named, and the place is its length.
    #[test]
    fn a_cut_is_named(case in 0_usize..9, at: prop::sample::Index, piece in 1_usize..5000) {
        let mailing = mailing();
        let number = numbers(&mailing)[case];
        let sent = Message::new(&mailing, number).collect();
        let first = sent.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let length = first + at.index(sent.len() - first);
        let copy = copy(seen(&mailing, &sent[..length], piece));
        prop_assert_eq!(copy.number, number);
        let difference = copy.difference.expect("a difference");
        prop_assert_eq!(difference.offset, length as u64);
        prop_assert!(difference.found.is_empty());
    }

    /// Whatever bytes come: no panic, and the same in one piece as byte by byte.
    #[test]
    fn pieces_make_no_difference(bytes: Vec<u8>, cut: prop::sample::Index, piece in 1_usize..99) {
        let mailing = mailing();
        let sent = stored(&mailing, 5);
        let mixed = [&sent[..cut.index(sent.len())], &bytes].concat();
        let whole = seen(&mailing, &mixed, mixed.len().max(1));
        prop_assert_eq!(whole, seen(&mailing, &mixed, piece));
    }
}
