//! Servers that misbehave: each is named, with its first bad line.

use brunt_protocols::imap::{self, Command, Event, Oddity};
use brunt_protocols::smtp::{self, Dialect, Transfer};
use brunt_protocols::{Kind, Secret};

use super::robot::{imap, smtp};

const HELLO: &str = "220 a\r\n250-a\r\n250 PIPELINING\r\n";

fn smtp_failure(server: &str) -> (Kind, String) {
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    let failure = seen.failure.unwrap_or_else(|| panic!("{server} is accepted"));
    (failure.kind, failure.line)
}

#[test]
fn smtp_servers_are_named_by_what_they_do() {
    let named = |kind, line: &str| (kind, line.to_owned());
    assert_eq!(smtp_failure("SSH-2.0-x\r\n"), named(Kind::Garbage, "SSH-2.0-x"));
    assert_eq!(smtp_failure("* OK IMAP\r\n"), named(Kind::Garbage, "* OK IMAP"));
    assert_eq!(smtp_failure("220 a\n"), named(Kind::LoneLineFeed, "220 a"));
    assert_eq!(smtp_failure("220 a\0b\r\n"), named(Kind::Nul, "220 a\\u{0}"));
    assert_eq!(smtp_failure("220-a\r\n250 b\r\n"), named(Kind::MixedCodes, "250 b"));
    assert_eq!(smtp_failure(&"220-more\r\n".repeat(1000)).0, Kind::ReplyTooLong);
    assert_eq!(smtp_failure(&"220".repeat(100_000)).0, Kind::LineTooLong);
    // A second greeting answers EHLO as far as a client can know; this one answers nothing.
    let server =
        format!("{HELLO}250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 ok\r\n221 a\r\n250 more\r\n");
    assert_eq!(smtp_failure(&server), named(Kind::Unasked, "250 more"));
    let server = server.replace("250 more", "421 4.3.2 shutting down");
    assert_eq!(smtp_failure(&server), named(Kind::Goodbye, "421 4.3.2 shutting down"));
    let server = "220 a\r\n250-a\r\n250 STARTTLS\r\n220 go\r\n250 injected\r\n";
    assert_eq!(smtp_failure(server), named(Kind::EarlyBytes, "250 injected\\r\\n"));
}

#[test]
fn a_421_is_the_answer_to_what_was_asked() {
    let server = format!("{HELLO}250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n421 too many\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert_eq!(seen.failure, None);
    assert!(seen.events.iter().any(|event| event.contains("code: 421")), "{:?}", seen.events);
}

fn imap_failure(server: &str) -> (Kind, String) {
    let seen = imap(&[server.as_bytes()]);
    let failure = seen.failure.unwrap_or_else(|| panic!("{server} is accepted"));
    (failure.kind, failure.line)
}

#[test]
fn imap_servers_are_named_by_what_they_do() {
    let named = |kind, line: &str| (kind, line.to_owned());
    assert_eq!(imap_failure("220 smtp\r\n"), named(Kind::Garbage, "220 smtp"));
    assert_eq!(imap_failure("* BYE busy\r\n"), named(Kind::Goodbye, "* BYE busy"));
    assert_eq!(imap_failure("* OK hi\n"), named(Kind::LoneLineFeed, "* OK hi\\n"));
    let after = |lines: &str| format!("* OK hi\r\nb1 OK in\r\n{lines}");
    let server = after("* 1 EXISTS\r\n* BYE killed\r\n");
    assert_eq!(imap_failure(&server), named(Kind::Goodbye, "* BYE killed"));
    assert_eq!(imap_failure(&after("b7 OK x\r\n")), named(Kind::WrongTag, "b7 OK x"));
    assert_eq!(imap_failure(&after("b2 MAYBE x\r\n")), named(Kind::Garbage, "b2 MAYBE x"));
    assert_eq!(imap_failure(&after("+ go\r\n")), named(Kind::Unasked, "+ go"));
    let endless = after(&"x".repeat((16 << 20) + 1));
    assert_eq!(imap_failure(&endless).0, Kind::LineTooLong);
}

/// A client that has asked for a message.
fn fetching() -> imap::Client {
    let mut client = imap::Client::new();
    let mut input = &b"* OK hi\r\n"[..];
    client.receive(&mut input).expect("a greeting");
    client.login("me", &Secret::new("hunter2"));
    let mut input = &b"b1 OK in\r\n"[..];
    client.receive(&mut input).expect("a reply");
    client.command(Command::Fetch("1:*", "BODY.PEEK[]"));
    client
}

#[test]
fn what_cannot_be_read_is_counted_with_its_first_line() {
    let mut client = fetching();
    let long = "x".repeat(20_000);
    let server = format!(
        "* 1 FETCH (UID x)\r\n* 1 FETCH (UID\r\n* 2 FETCH (A\0B)\r\n* XYZZY 1\r\nno tag here\r\n\
         * FLAGS ({long})\r\n* {long} {{3}}\r\nabc\r\n\r\nb2 OK done\r\n"
    );
    let mut input = server.as_bytes();
    let mut last = None;
    while let Some(event) = client.receive(&mut input).expect("it goes on") {
        last = Some(format!("{event:?}"));
    }
    assert!(last.is_some_and(|event| event.starts_with("Done")));
    let odd: Vec<_> = client.oddities().iter().map(|(kind, (count, _))| (*kind, *count)).collect();
    assert_eq!(
        odd,
        [
            (Oddity::Nul, 1),
            (Oddity::TooLong, 2),
            (Oddity::Unmarked, 2),
            (Oddity::Unknown, 1),
            (Oddity::Unreadable, 2),
        ]
    );
    assert_eq!(client.oddities()[&Oddity::Unreadable].1, "* 1 FETCH (UID x)");
}

#[test]
fn four_gigabytes_stream_past() {
    let mut client = fetching();
    let mut input = &b"* 1 FETCH (UID 1 BODY[] {4294967296}\r\n"[..];
    let begins = client.receive(&mut input).expect("a text");
    assert!(matches!(begins, Some(Event::TextBegins { bytes: 4_294_967_296, .. })));
    let megabyte = vec![b'x'; 1 << 20];
    let (mut bytes, mut ends) = (0_u64, 0);
    for _ in 0..4096 {
        let mut input = megabyte.as_slice();
        while let Some(event) = client.receive(&mut input).expect("a text") {
            match event {
                Event::Text(chunk) => bytes += chunk.len() as u64,
                event => ends += u32::from(event == Event::TextEnds),
            }
        }
    }
    assert_eq!((bytes, ends), (1 << 32, 1));
    let mut input = &b")\r\nb2 OK done\r\n"[..];
    assert!(matches!(client.receive(&mut input), Ok(Some(Event::Data(_)))));
    assert!(matches!(client.receive(&mut input), Ok(Some(Event::Done(_)))));
}

#[test]
fn a_million_lines_leave_nothing_behind() {
    let mut client = fetching();
    let lines = b"* 17 EXISTS\r\n".repeat(1000);
    let mut told = 0;
    for _ in 0..1000 {
        let mut input = lines.as_slice();
        while let Some(event) = client.receive(&mut input).expect("it goes on") {
            assert!(matches!(event, Event::Data(_)));
            told += 1;
        }
    }
    assert_eq!(told, 1_000_000);
    assert_eq!(client.tape().lines().len(), 64);
}

#[test]
fn half_a_line_says_nothing_yet() {
    let mut client = smtp::Client::new(Dialect::Smtp);
    for byte in b"220 hello\r" {
        assert_eq!(client.receive(&mut &[*byte][..]), Ok(None));
    }
    assert_eq!(client.receive(&mut &b"\n"[..]), Ok(Some(smtp::Event::Greeted)));
}
