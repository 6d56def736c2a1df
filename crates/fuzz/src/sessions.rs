//! Clients of mail protocols that hear anything at all from their server.
//!
//! Each input is heard twice, whole and in pieces: the events must be the same.

use brunt_protocols::imap::{self, Command};
use brunt_protocols::sasl::{Exchange, Mechanism};
use brunt_protocols::smtp::{self, Dialect, Envelope, Transfer};
use brunt_protocols::{Kind, Secret};

/// The most that a tape may have, whatever was said: 64 lines of 200 characters, escaped.
const TAPE_MAX: usize = 64 * 900;

/// What a client made of its input.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    events: Vec<String>,
    sent: Vec<u8>,
    failed: Option<Kind>,
}

/// Pieces whose lengths follow from their number.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let length = [1, 2, 13, 3, 1, 64, 5][pieces.len() % 7];
        let (piece, after) = rest.split_at(rest.len().min(length));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A server of SMTP and of LMTP.
pub fn smtp(bytes: &[u8]) {
    for dialect in [Dialect::Smtp, Dialect::Lmtp] {
        let whole = hear_smtp(dialect, &[bytes]);
        assert_eq!(whole, hear_smtp(dialect, &pieces(bytes)));
    }
}

fn hear_smtp(dialect: Dialect, pieces: &[&[u8]]) -> Heard {
    const TEXT: &[u8] = b".a\r\nb\r\n";
    let to = ["u1@test.invalid", "u2@test.invalid", "u3@test.invalid"].map(str::to_owned);
    let bytes = TEXT.len() as u64;
    let envelope =
        Envelope { sender: "u0@test.invalid", recipients: &to, bytes, is_eight_bit: true };
    let mut client = smtp::Client::new(dialect);
    let (mut heard, mut messages) = (Heard::default(), 0);
    for piece in pieces {
        let mut input = *piece;
        loop {
            let event = match client.receive(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) => {
                    heard.failed = Some(failure.kind);
                    return heard;
                }
            };
            let begins = match &event {
                smtp::Event::Ready => match Mechanism::best(&client.offered().mechanisms) {
                    Some(mechanism) => {
                        client.authenticate(exchange(mechanism));
                        false
                    }
                    None => true,
                },
                smtp::Event::Authenticated | smtp::Event::Finished => true,
                smtp::Event::Greeted => {
                    client.hello("me.invalid");
                    false
                }
                smtp::Event::SendText => {
                    client.text(TEXT);
                    client.end_text();
                    false
                }
                _ => false,
            };
            if begins {
                messages += 1;
                let is_odd = messages % 2 == 1 || !client.offered().chunking;
                client.mail(envelope, if is_odd { Transfer::Data } else { Transfer::Chunk });
            }
            heard.events.push(format!("{event:?}"));
            heard.sent.extend(client.outgoing());
        }
    }
    let tape: usize = client.tape().lines().map(|said| said.line.len()).sum();
    assert!(tape <= TAPE_MAX, "a tape of {tape} bytes");
    heard
}

/// A server of IMAP.
pub fn imap(bytes: &[u8]) {
    let whole = hear_imap(&[bytes]);
    assert_eq!(whole, hear_imap(&pieces(bytes)));
}

/// Commands go round: a mutated seed has replies to more of them than it asks for.
fn ask(client: &mut imap::Client, turn: usize) {
    match turn % 8 {
        0 => client.login("me", &Secret::new("hunter2")),
        1 => client.command(Command::Select(b"INBOX")),
        2 => client.command(Command::Fetch("1:*", "UID BODY.PEEK[]")),
        3 => client.command(Command::Append("Entw\u{fc}rfe".as_bytes(), "", 3)),
        4 => client.command(Command::List("*")),
        5 => client.command(Command::Idle),
        6 => client.authenticate(exchange(Mechanism::ScramSha256)),
        _ => client.command(Command::Noop),
    }
}

fn hear_imap(pieces: &[&[u8]]) -> Heard {
    let mut client = imap::Client::new();
    let (mut heard, mut turn, mut text) = (Heard::default(), 0, 0_u64);
    for piece in pieces {
        let mut input = *piece;
        loop {
            let event = match client.receive(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) => {
                    heard.failed = Some(failure.kind);
                    return heard;
                }
            };
            match &event {
                imap::Event::Text(chunk) => {
                    text += chunk.len() as u64;
                    continue;
                }
                imap::Event::TextEnds => heard.events.push(format!("{text} bytes")),
                imap::Event::GoOn if client.is_appending() => client.text(b"abc"),
                imap::Event::GoOn => client.done(),
                imap::Event::Greeted(_) | imap::Event::Done(_) => {
                    ask(&mut client, turn);
                    turn += 1;
                }
                _ => {}
            }
            heard.events.push(format!("{event:?}"));
            heard.sent.extend(client.outgoing());
        }
    }
    heard
}

fn exchange(mechanism: Mechanism) -> Exchange {
    Exchange::new(mechanism, "me", &Secret::new("hunter2"), "fyko+d2lbbFgONRv9qkxdawL")
}

/// What servers of SMTP say.
pub fn smtp_seeds() -> Vec<Vec<u8>> {
    let hello = "220 mx ESMTP\r\n250-mx\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-8BITMIME\r\n\
        250-AUTH PLAIN LOGIN\r\n250 CHUNKING\r\n235 2.7.0 in\r\n";
    let sent = "250 2.1.0 ok\r\n250 2.1.5 ok\r\n550 5.1.1 no\r\n250 2.1.5 ok\r\n354 go\r\n";
    let plain = "220 a\r\n250 a\r\n250 a\r\n250 b\r\n450 c\r\n250 d\r\n354 e\r\n";
    [
        format!("{hello}{sent}250 2.0.0 kept\r\n250 a\r\n250 b\r\n250 c\r\n250 d\r\n250 kept\r\n"),
        format!("{hello}{sent}250 2.0.0 kept\r\n552-5.2.2 quota\r\n552 5.2.2 full\r\n250 ok\r\n"),
        format!("{plain}250 f\r\n250 g\r\n451 h\r\n250 i\r\n"),
        "220 a\r\n250-a\r\n250 AUTH SCRAM-SHA-256\r\n334 cj1meWtvK2QybGJiRmdPTlJ2OXFreGRhd0x4LHM9UVE\
         9PSxpPTE=\r\n334 dj1hYmM=\r\n"
            .to_owned(),
        "220-a\r\n220 b\r\n421 busy\r\n".to_owned(),
    ]
    .map(String::into_bytes)
    .into()
}

/// What Dovecot and Cyrus IMAP say, as answers to the commands that are asked.
pub fn imap_seeds() -> Vec<Vec<u8>> {
    let files = [
        &include_bytes!("../../protocols/tests/protocols/servers/cyrus.txt")[..],
        include_bytes!("../../protocols/tests/protocols/servers/dovecot.txt"),
    ];
    files.map(numbered).into()
}

/// The file with line ends of the protocol and tags of commands.
fn numbered(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut command = 1;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if line.starts_with(b"== ") {
            continue;
        }
        match line.strip_prefix(b"TAG ") {
            Some(rest) => {
                bytes.extend_from_slice(format!("b{command} ").as_bytes());
                bytes.extend_from_slice(rest);
                command += 1;
            }
            None => bytes.extend_from_slice(line),
        }
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
