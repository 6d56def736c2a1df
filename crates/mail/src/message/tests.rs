//! Messages: their lengths, their lines, and each hard case.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::*;
use crate::mailing::{Attachments, MailingOptions, Routing, SizeClass, Sizes};
use crate::mark::Mark;

fn options() -> MailingOptions {
    let accounts = (0..50).map(|account| format!("u{account:04}@test.invalid")).collect();
    MailingOptions::new(7, 42, 1_795_751_195, accounts)
}

fn mailing(options: MailingOptions) -> Rc<Mailing> {
    Rc::new(Mailing::new(options).unwrap())
}

/// The first message of each hard case.
fn examples(mailing: &Rc<Mailing>) -> BTreeMap<Hard, Vec<u8>> {
    let mut found = BTreeMap::new();
    for number in 0..5000 {
        let message = Message::new(mailing, number);
        if let Some(hard) = message.hard().filter(|hard| !found.contains_key(hard)) {
            found.insert(hard, message.collect());
        }
    }
    found
}

fn lines(message: &[u8]) -> Vec<&[u8]> {
    let text = message.strip_suffix(b"\r\n").expect("the last line ends");
    let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = line.strip_suffix(b"\r").expect("no line feed alone");
    }
    lines
}

fn body(message: &[u8]) -> &[u8] {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    &message[end + 4..]
}

#[test]
fn messages_have_the_promised_length_headers_and_lines() {
    let mailing = mailing(options());
    let mut ids = BTreeSet::new();
    let mut hard = 0;
    for number in 0..2000 {
        let mut message = Message::new(&mailing, number);
        let (bytes, is_hard) = (message.bytes(), message.hard().is_some());
        hard += u32::from(is_hard);
        let mut all = Vec::new();
        while !message.next_chunk().is_empty() {
            assert!(message.chunk().len() < 2 * CHUNK);
            all.extend_from_slice(message.chunk());
        }
        assert_eq!(all.len() as u64, bytes);
        assert!((400..=64 << 10).contains(&bytes) || is_hard, "{number}: {bytes}");
        assert!(bytes <= 64 << 10);
        assert!(all.starts_with(format!("X-Brunt: 0000000000000007-{number}-").as_bytes()));
        let lines = lines(&all);
        assert!(lines.iter().all(|line| line.len() <= 998 && !line.contains(&b'\r')));
        for header in ["From: <", "To: <", "Date: ", "Message-ID: <", "MIME-Version: 1.0"] {
            let with = lines.iter().filter(|line| line.starts_with(header.as_bytes()));
            assert_eq!(with.count(), 1, "{header}");
        }
        ids.extend(lines.iter().find(|line| line.starts_with(b"Message-ID")).map(|id| id.to_vec()));
        let route = mailing.route(number);
        let distinct: BTreeSet<_> = route.to.iter().collect();
        assert!(distinct.len() == route.to.len() && (1..=5).contains(&route.to.len()));
    }
    assert_eq!(ids.len(), 2000);
    assert!((100..220).contains(&hard), "8 % of 2,000, not {hard}");
}

#[test]
fn each_hard_case_is_what_it_says() {
    let mailing = mailing(options());
    let examples = examples(&mailing);
    assert_eq!(examples.len(), Hard::ALL.len());
    let of = |hard| &examples[&hard][..];
    let count = |hard, is: fn(&[u8]) -> bool| {
        lines(body(of(hard))).into_iter().filter(|line| is(line)).count()
    };
    assert!(count(Hard::LeadingDots, |line| line.starts_with(b".")) > 3);
    assert!(count(Hard::LeadingDots, |line| line == b".") > 0);
    assert!(body(of(Hard::EmptyBody)).is_empty());
    assert!(count(Hard::LongLines, |line| line.len() == 998) > 0);
    assert!(count(Hard::TrailingBlanks, |line| line.ends_with(b" ")) > 0);
    assert!(count(Hard::TrailingBlanks, |line| line.ends_with(b"\t")) > 0);
    assert!(of(Hard::EightBit).iter().filter(|byte| **byte >= 0x80).count() > 20);
    assert!(count(Hard::FromLines, |line| line.starts_with(b"From ")) > 0);
    assert!(count(Hard::FromLines, |line| line.starts_with(b">From ")) > 0);
    assert!(count(Hard::DeepMime, |line| line.starts_with(b"--level-29--")) == 1);
    let header = of(Hard::LongHeader).len() - body(of(Hard::LongHeader)).len();
    assert!((60_000..61_500).contains(&header), "{header}");
    for (hard, message) in &examples {
        assert!(message.is_ascii() || *hard == Hard::EightBit);
    }
    let no_8bit =
        MailingOptions { hard_cases: HardCases::ALL.without(Hard::EightBit), ..options() };
    assert!(!self::examples(&self::mailing(no_8bit)).contains_key(&Hard::EightBit));
}

#[test]
fn a_case_that_does_not_fit_is_plain() {
    let sizes = Sizes { least: 400, most: 2000 };
    let examples = examples(&mailing(MailingOptions { sizes, ..options() }));
    assert!(!examples.contains_key(&Hard::LongHeader) && !examples.contains_key(&Hard::DeepMime));
    assert!(examples.contains_key(&Hard::EightBit));
}

#[test]
fn attachments_compress_as_far_as_stated() {
    for (compressible_percent, expected) in [(0, 0.76), (50, 0.39), (100, 0.02)] {
        let attachments = Attachments { percent: 100, compressible_percent };
        let sizes = Sizes { least: 1 << 20, most: 1 << 20 };
        let options =
            MailingOptions { attachments, sizes, hard_cases: HardCases::NONE, ..options() };
        let message = Message::new(&mailing(options), 3).collect();
        assert_eq!(message.len(), 1 << 20);
        let begin = message.windows(6).position(|six| six == b"base64").unwrap();
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
        deflated.write_all(&message[begin..]).unwrap();
        let left = deflated.finish().unwrap().len() as f64 / (message.len() - begin) as f64;
        assert!((left - expected).abs() < 0.02, "{compressible_percent} %: {left}");
    }
}

#[test]
fn a_message_is_the_same_for_ever() {
    // Not from a reference: what this code made when its ledgers were first written. They are
    // audited later, so a change here needs a new version of the ledger.
    let mailing = mailing(options());
    let mut sum = crc32fast::Hasher::new();
    (0..500).for_each(|number| sum.update(&Message::new(&mailing, number).collect()));
    assert_eq!(sum.finalize(), FIXED);
    let mut again = Message::new(&mailing, 9);
    again.next_chunk();
    again.begin(8);
    assert_eq!(again.collect(), Message::new(&mailing, 8).collect());
}

const FIXED: u32 = 2_616_725_450;

#[test]
fn classes_have_their_lengths_and_messages_by_turn_name_no_recipients() {
    let class = |text, attachment, weight| SizeClass { text, attachment, weight };
    let classes = vec![class(1 << 10, 0, 60), class(2 << 10, 30 << 10, 40), class(9, 9, 0)];
    let options = MailingOptions {
        classes,
        routing: Routing::ByTurn,
        hard_cases: HardCases::NONE,
        ..options()
    };
    let mailing = mailing(options);
    let accounts = u32::try_from(mailing.options().accounts.len()).unwrap();
    let mut with = 0;
    for number in 0..500 {
        let message = Message::new(&mailing, number);
        match message.bytes() {
            1_024 => {}
            // Lines of base64 are whole.
            bytes @ 43_000..43_200 => with += u64::from(bytes > 0),
            bytes => panic!("{bytes}"),
        }
        let text = String::from_utf8(message.collect()).unwrap();
        assert!(text.contains("\r\nTo: undisclosed-recipients:;\r\n"), "{text}");
        let mark = text.lines().next().and_then(|line| Mark::in_header(line.as_bytes())).unwrap();
        assert_eq!((mark.run, mark.number), (mailing.options().run, number));
        let from = mailing.address(number % accounts).unwrap();
        assert!(text.contains(&format!("\r\nFrom: <{from}>\r\n")));
    }
    assert!((160..240).contains(&with), "{with}");
    assert_eq!(mailing.number(2, 3), Some(3 * accounts + 2));
    assert_eq!(mailing.number(2, u32::MAX), None);
}
