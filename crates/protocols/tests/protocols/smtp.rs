//! Sessions of SMTP and LMTP, word by word.

use brunt_protocols::Kind;
use brunt_protocols::smtp::{Dialect, Transfer};

use super::robot::{Seen, smtp};

/// The events without their texts: `Recipient(1, 250)`.
fn short(seen: &Seen) -> Vec<String> {
    let shorten = |event: &String| {
        let event = event.replace("Reply { code: ", "").replace("Some(", "").replace("\"", "");
        event.split(", text").next().unwrap_or_default().trim_end_matches([')', '}']).to_owned()
    };
    seen.events.iter().map(shorten).collect()
}

/// As Postfix greets and offers.
const HELLO: &str = "220 mx.invalid ESMTP Postfix\r\n250-mx.invalid\r\n250-PIPELINING\r\n\
    250-SIZE 10240000\r\n250-8BITMIME\r\n250-CHUNKING\r\n250 DSN\r\n";

#[test]
fn pipelined_commands_go_out_at_once_and_each_reply_finds_its_own() {
    let server = format!(
        "{HELLO}250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n550 5.1.1 no\r\n354 go\r\n250 2.0.0 Ok\r\n221 bye\r\n"
    );
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert_eq!(seen.failure, None);
    assert_eq!(
        short(&seen),
        [
            "Greeted",
            "Ready",
            "Sender(250",
            "Recipient(0, 250",
            "Recipient(1, 550",
            "SendText",
            "Answered(None, 250",
            "Finished",
            "Bye",
        ]
    );
    let want = "EHLO client.invalid\r\nMAIL FROM:<u0@test.invalid> SIZE=18 BODY=8BITMIME\r\n\
        RCPT TO:<u1@test.invalid>\r\nRCPT TO:<u2@test.invalid>\r\nDATA\r\n\
        Subject: a\r\n\r\n..b\r\n.\r\nQUIT\r\n";
    assert_eq!(seen.sent, want);
}

#[test]
fn without_pipelining_each_command_waits() {
    let plain = "220 a\r\n250 a\r\n";
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[plain.as_bytes()]);
    assert!(seen.sent.ends_with("\r\nMAIL FROM:<u0@test.invalid>\r\n"), "{}", seen.sent);
    let accepted = format!("{plain}250 ok\r\n250 ok\r\n250 ok\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[accepted.as_bytes()]);
    assert!(seen.sent.ends_with("RCPT TO:<u2@test.invalid>\r\nDATA\r\n"), "{}", seen.sent);
    let refused = format!("{plain}250 ok\r\n450 no\r\n550 no\r\n250 reset\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[refused.as_bytes()]);
    assert!(seen.sent.ends_with("RCPT TO:<u2@test.invalid>\r\nRSET\r\nQUIT\r\n"), "{}", seen.sent);
    assert_eq!(
        short(&seen)[2..],
        ["Sender(250", "Recipient(0, 450", "Recipient(1, 550", "Finished"]
    );
    let refused = format!("{plain}451 no\r\n250 reset\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[refused.as_bytes()]);
    assert!(seen.sent.ends_with("MAIL FROM:<u0@test.invalid>\r\nRSET\r\nQUIT\r\n"));
    assert_eq!(short(&seen)[2..], ["Sender(451", "Finished"]);
}

#[test]
fn a_text_without_recipients_is_a_lone_dot() {
    let server = format!("{HELLO}250 ok\r\n550 no\r\n550 no\r\n354 go\r\n554 no recipients\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert!(seen.sent.ends_with("DATA\r\n.\r\nQUIT\r\n"), "{}", seen.sent);
    assert_eq!(
        short(&seen)[2..],
        ["Sender(250", "Recipient(0, 550", "Recipient(1, 550", "Finished"]
    );
    let seen = smtp(Dialect::Lmtp, Transfer::Data, &[server.as_bytes()]);
    assert_eq!(seen.failure.map(|failure| failure.kind), Some(Kind::OutOfPlace));
}

#[test]
fn data_that_is_refused_refuses_the_accepted() {
    let server = format!("{HELLO}250 ok\r\n250 ok\r\n250 ok\r\n451 later\r\n250 reset\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert!(seen.sent.ends_with("DATA\r\nRSET\r\nQUIT\r\n"), "{}", seen.sent);
    assert_eq!(short(&seen)[5..], ["TextRefused(451", "Finished"]);
}

#[test]
fn lmtp_answers_for_each_recipient_that_it_accepted() {
    let server = format!(
        "{HELLO}250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 2.0.0 saved\r\n552 5.2.2 full\r\n"
    );
    let seen = smtp(Dialect::Lmtp, Transfer::Data, &[server.as_bytes()]);
    assert!(seen.sent.starts_with("LHLO client.invalid\r\n"));
    assert_eq!(short(&seen)[5..], ["SendText", "Answered(0), 250", "Answered(1), 552", "Finished"]);
    let server = format!("{HELLO}250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n250 saved\r\n");
    let seen = smtp(Dialect::Lmtp, Transfer::Data, &[server.as_bytes()]);
    assert_eq!(short(&seen)[6..], ["Answered(1), 250", "Finished"]);
}

#[test]
fn a_chunk_is_the_text_as_it_is_and_waits_for_recipients() {
    let server = format!("{HELLO}250 ok\r\n250 ok\r\n250 ok\r\n250 2.0.0 Ok\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Chunk, &[server.as_bytes()]);
    let want = "RCPT TO:<u2@test.invalid>\r\nBDAT 18 LAST\r\nSubject: a\r\n\r\n.b\r\nQUIT\r\n";
    assert!(seen.sent.ends_with(want), "{}", seen.sent);
    assert_eq!(short(&seen)[5..], ["SendText", "Answered(None, 250", "Finished"]);
    let nobody = format!("{HELLO}250 ok\r\n550 no\r\n550 no\r\n");
    let seen = smtp(Dialect::Smtp, Transfer::Chunk, &[nobody.as_bytes()]);
    assert!(!seen.sent.contains("BDAT"), "{}", seen.sent);
}

#[test]
fn authentication_is_a_command_or_a_conversation_and_leaves_no_secret() {
    let hello = |mechanism: &str| format!("220 a\r\n250-a\r\n250 AUTH {mechanism}\r\n");
    let server = hello("XOAUTH2 PLAIN") + "235 2.7.0 ok\r\n";
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert!(seen.sent.contains("\r\nAUTH PLAIN AG1lAGh1bnRlcjI=\r\nMAIL FROM"), "{}", seen.sent);
    let server = hello("LOGIN") + "334 VXNlcm5hbWU6\r\n334 UGFzc3dvcmQ6\r\n535 5.7.8 no\r\n";
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert!(seen.sent.ends_with("\r\nAUTH LOGIN\r\nbWU=\r\naHVudGVyMg==\r\n"), "{}", seen.sent);
    assert_eq!(short(&seen)[2..], ["Refused(Authenticate, 535"]);
    // Success without the server's proof.
    let server = hello("SCRAM-SHA-256 PLAIN") + "235 2.7.0 ok\r\n";
    let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
    assert_eq!(seen.failure.map(|failure| failure.kind), Some(Kind::Unproven));
    for wrong in ["334 !!!\r\n", "334 cg==\r\n"] {
        let server = hello("SCRAM-SHA-256") + wrong;
        let seen = smtp(Dialect::Smtp, Transfer::Data, &[server.as_bytes()]);
        assert_eq!(seen.failure.map(|failure| failure.kind), Some(Kind::Challenge), "{wrong}");
    }
}

#[test]
fn the_tape_has_the_conversation_without_secrets() {
    use brunt_protocols::sasl::Mechanism;
    use brunt_protocols::smtp::Client;
    let mut client = Client::new(Dialect::Smtp);
    let mut input = &b"220 hello\r\n"[..];
    client.receive(&mut input).expect("a greeting");
    for mechanism in ["PLAIN", "LOGIN", "XOAUTH2"] {
        let mechanism = Mechanism::named(mechanism).expect("known");
        client.authenticate(super::robot::exchange(mechanism));
        for challenge in ["334 \r\n", "334 \r\n", "535 no\r\n"] {
            let mut input = challenge.as_bytes();
            let _ = client.receive(&mut input);
        }
    }
    let sent = String::from_utf8(client.outgoing()).expect("text");
    assert!(sent.contains("AG1lAGh1bnRlcjI=") && sent.contains("aHVudGVyMg=="), "{sent}");
    let tape = client.tape().transcript().join("\n");
    assert!(tape.contains("S: 220 hello") && tape.contains("C: AUTH PLAIN (a secret)"), "{tape}");
    for secret in ["hunter2", "AG1lAGh1bnRlcjI", "aHVudGVyMg", "dXNlcj1tZQ"] {
        assert!(!tape.contains(secret), "{tape}");
    }
}
