//! Sessions of IMAP, word by word.

use brunt_protocols::imap::{Asked, Body, Client, Code, Command, Event, Response, Status};
use brunt_protocols::sasl::Mechanism;
use brunt_protocols::{Kind, Secret};

use super::robot::{exchange, imap};

/// Lets the client read `bytes`; the events as text.
fn hear(client: &mut Client, bytes: &str) -> Vec<String> {
    let mut input = bytes.as_bytes();
    let mut events = Vec::new();
    while let Some(event) = client.receive(&mut input).expect("a good server") {
        events.push(format!("{event:?}"));
    }
    events
}

fn sent(client: &mut Client) -> String {
    String::from_utf8(client.outgoing()).expect("text")
}

/// A client after its login, with these capabilities.
fn logged_in(capabilities: &str) -> Client {
    let mut client = Client::new();
    hear(&mut client, "* OK hi\r\n");
    client.login("me", &Secret::new("hunter2"));
    hear(&mut client, &format!("b1 OK [CAPABILITY IMAP4rev1 {capabilities}] in\r\n"));
    client.outgoing();
    client
}

#[test]
fn a_whole_session() {
    let server = "* OK [CAPABILITY IMAP4rev1 LITERAL+ IDLE] ready\r\n\
        b1 OK in\r\n\
        * 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 9] x\r\nb2 OK [READ-WRITE] selected\r\n\
        * 1 FETCH (UID 8 BODY[] {5}\r\na\r\nb) FLAGS (\\Seen))\r\nb3 OK fetched\r\n\
        + go\r\nb4 OK [APPENDUID 3 17] appended\r\n\
        + idling\r\n* 2 EXISTS\r\nb5 OK idled\r\n\
        * BYE bye\r\nb6 OK out\r\n";
    let seen = imap(&[server.as_bytes()]);
    assert_eq!(seen.failure, None);
    let want = "b1 LOGIN \"me\" \"hunter2\"\r\nb2 SELECT \"INBOX\"\r\nb3 UID FETCH 1:* (BODY.PEEK[])\r\n\
        b4 APPEND \"Sent\" (\\Seen) {18}\r\nSubject: a\r\n\r\n.b\r\n\r\nb5 IDLE\r\nDONE\r\nb6 LOGOUT\r\n";
    assert_eq!(seen.sent, want);
    let events = seen.events.join("\n");
    for part in [
        "Greeted(false)",
        "Data(Exists(1))",
        "code: Some(UidValidity(7))",
        "TextBegins { number: 1, section: \"BODY[]\", bytes: 5 }",
        "Text(\"a\\r\\nb)\")",
        "uid: Some(8), flags: Some([\"\\\\Seen\"])",
        "body: Streamed(5)",
        "code: Some(AppendUid(3, UidSet([(17, 17)])))",
        "Data(Exists(2))",
    ] {
        assert!(events.contains(part), "{part} in {events}");
    }
}

#[test]
fn literals_wait_unless_the_server_lets_them_go() {
    let name = "Entw\u{fc}rfe".as_bytes();
    let mut client = logged_in("LITERAL+");
    client.command(Command::Create(name));
    assert_eq!(sent(&mut client), "b2 CREATE {9+}\r\nEntw\u{fc}rfe\r\n");
    let mut client = logged_in("");
    client.command(Command::Status(name, "MESSAGES"));
    assert_eq!(sent(&mut client), "b2 STATUS {9}\r\n");
    assert!(hear(&mut client, "+ go\r\n").is_empty());
    assert_eq!(sent(&mut client), "Entw\u{fc}rfe (MESSAGES)\r\n");
    for (able, line) in [("LITERAL-", "{4097}\r\n"), ("LITERAL+", "{4097+}\r\n")] {
        let mut client = logged_in(able);
        client.command(Command::Append(b"a", "", 4097));
        assert_eq!(sent(&mut client), format!("b2 APPEND \"a\" () {line}"));
        let events = hear(&mut client, if able == "LITERAL-" { "+ go\r\n" } else { "" });
        assert_eq!(events, ["GoOn"]);
        client.text(&[b'x'; 4096]);
        client.text(b"y");
        assert!(sent(&mut client).ends_with("xxy\r\n"));
    }
    // Refused before the literal.
    let mut client = logged_in("");
    client.command(Command::Append(b"a", "", 10));
    let events = hear(&mut client, "b2 NO [OVERQUOTA] full\r\n");
    assert!(events[0].contains("code: Some(OverQuota)") && !client.is_busy(), "{events:?}");
}

#[test]
fn authentication_takes_a_first_response_or_asks_for_it() {
    let plain = || exchange(Mechanism::Plain);
    let mut client = Client::new();
    hear(&mut client, "* OK [CAPABILITY IMAP4rev1 SASL-IR AUTH=PLAIN] hi\r\n");
    client.authenticate(plain());
    assert_eq!(sent(&mut client), "b1 AUTHENTICATE PLAIN AG1lAGh1bnRlcjI=\r\n");
    let mut client = Client::new();
    hear(&mut client, "* OK hi\r\n");
    client.authenticate(plain());
    assert_eq!(sent(&mut client), "b1 AUTHENTICATE PLAIN\r\n");
    hear(&mut client, "+ \r\n");
    assert_eq!(sent(&mut client), "AG1lAGh1bnRlcjI=\r\n");
    let events = hear(&mut client, "b1 NO [AUTHENTICATIONFAILED] no\r\n");
    assert!(events[0].contains("AuthenticationFailed"), "{events:?}");
    assert!(!client.tape().transcript().join("").contains("AG1l"));
    let mut client = Client::new();
    hear(&mut client, "* OK hi\r\n");
    client.authenticate(exchange(Mechanism::ScramSha256));
    hear(&mut client, "+\r\n");
    let mut lie = &b"b1 OK in\r\n"[..];
    assert_eq!(client.receive(&mut lie).expect_err("a lie").kind, Kind::Unproven);
}

#[test]
fn capabilities_are_forgotten_when_they_may_have_changed() {
    let mut client = logged_in("MOVE");
    assert!(client.capabilities().is_some_and(|able| able.moves && !able.idle));
    hear(&mut client, "* CAPABILITY IMAP4rev1 IDLE QRESYNC\r\n");
    assert!(client.capabilities().is_some_and(|able| able.idle && able.condstore && !able.moves));
    let mut client = Client::new();
    hear(&mut client, "* PREAUTH [CAPABILITY IMAP4rev1 STARTTLS] hi\r\n");
    assert!(client.capabilities().is_some_and(|able| able.start_tls));
    client.command(Command::StartTls);
    assert_eq!(hear(&mut client, "b1 OK go\r\n"), ["SecureNow"]);
    assert_eq!(client.capabilities(), None);
}

#[test]
fn texts_of_messages_stream_and_other_long_literals_are_passed_over() {
    let mut client = logged_in("");
    client.command(Command::Fetch("1", "BODY[HEADER.FIELDS (TO)] BODY[TEXT]<0> ENVELOPE"));
    let long = "x".repeat(5000);
    let server = format!(
        "* 1 FETCH (BODY[HEADER.FIELDS (TO)] {{6}}\r\nTo: a\n BODY[TEXT]<0> {{0}}\r\n \
         X-OWN {{5000}}\r\n{long} RFC822 NIL BODY[1] \"b\" UID 4)\r\n"
    );
    let mut input = server.as_bytes();
    let (mut sections, mut fetch) = (Vec::new(), None);
    while let Some(event) = client.receive(&mut input).expect("a good server") {
        match event {
            Event::TextBegins { number, section, bytes } => sections.push((number, section, bytes)),
            Event::Data(Response::Fetch(read)) => fetch = Some(read),
            _ => {}
        }
    }
    assert_eq!(
        sections,
        [(1, "BODY[HEADER.FIELDS (TO)]".to_owned(), 6), (1, "BODY[TEXT]<0>".to_owned(), 0)]
    );
    let fetch = fetch.expect("a message");
    assert_eq!(fetch.uid, Some(4));
    let bodies: Vec<_> = fetch.sections.iter().map(|section| section.body.clone()).collect();
    let inline = Body::Inline(b"b".to_vec());
    assert_eq!(bodies, [Body::Streamed(6), Body::Streamed(0), Body::Nil, inline]);
}

#[test]
fn a_reply_is_known_by_its_tag_whatever_follows() {
    for (line, code) in [
        ("b2 OK [Error=\"x\"] strange", Some(Code::Other("ERROR=\"X\"".to_owned()))),
        ("b2 OK", None),
        ("b2 OK [READ-ONLY", None),
        ("b2 OK [UIDNEXT x] a", None),
        ("b2 OK [HIGHESTMODSEQ 7] a {5}", Some(Code::HighestModSeq(7))),
        ("b2 OK [COPYUID 3 1:2,5 7:9] a", None),
    ] {
        let mut client = logged_in("");
        client.command(Command::Noop);
        let text = format!("{line}\r\n");
        let mut input = text.as_bytes();
        let event = client.receive(&mut input).expect("a good server");
        let Some(Event::Done(done)) = event else {
            panic!("{line}: {event:?}");
        };
        assert_eq!((done.asked, done.status), (Asked::Noop, Status::Ok), "{line}");
        match &done.code {
            Some(Code::CopyUid(3, from, to)) => assert_eq!((from.count(), to.count()), (3, 3)),
            other => assert_eq!(*other, code, "{line}"),
        }
    }
}
