//! Clients that answer every event, so that a test only says what the server says.

use brunt_protocols::imap::{self, Command};
use brunt_protocols::sasl::{Exchange, Mechanism};
use brunt_protocols::smtp::{self, Dialect, Envelope, Transfer};
use brunt_protocols::{Failure, Secret};

/// What a machine did: its events as text with texts of messages joined, and what it sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) events: Vec<String>,
    pub(crate) sent: String,
    pub(crate) failure: Option<Failure>,
}

impl Seen {
    fn send(&mut self, bytes: &[u8]) {
        self.sent.push_str(&String::from_utf8_lossy(bytes));
    }
}

pub(crate) fn recipients() -> Vec<String> {
    ["u1@test.invalid", "u2@test.invalid"].map(str::to_owned).into()
}

pub(crate) const TEXT: &[u8] = b"Subject: a\r\n\r\n.b\r\n";

/// What an SMTP client does with what arrives in these pieces: hello, login, one message, QUIT.
pub(crate) fn smtp(dialect: Dialect, transfer: Transfer, pieces: &[&[u8]]) -> Seen {
    let mut client = smtp::Client::new(dialect);
    let mut seen = Seen::default();
    for piece in pieces {
        let mut input = *piece;
        loop {
            let event = match client.receive(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) => {
                    seen.failure = Some(failure);
                    seen.send(&client.outgoing());
                    return seen;
                }
            };
            seen.events.push(format!("{event:?}"));
            answer_smtp(&mut client, &event, transfer);
            seen.send(&client.outgoing());
        }
        assert!(input.is_empty(), "everything is read");
    }
    seen
}

fn answer_smtp(client: &mut smtp::Client, event: &smtp::Event, transfer: Transfer) {
    let recipients = recipients();
    let envelope = Envelope {
        sender: "u0@test.invalid",
        recipients: &recipients,
        bytes: TEXT.len() as u64,
        is_eight_bit: true,
    };
    match event {
        smtp::Event::Greeted => client.hello("client.invalid"),
        smtp::Event::Ready => match Mechanism::best(&client.offered().mechanisms) {
            Some(mechanism) => client.authenticate(exchange(mechanism)),
            None if client.offered().start_tls => client.start_tls(),
            None => client.mail(envelope, transfer),
        },
        smtp::Event::Authenticated => client.mail(envelope, transfer),
        smtp::Event::SendText => {
            client.text(&TEXT[..5]);
            client.text(&TEXT[5..]);
            client.end_text();
        }
        smtp::Event::Finished => client.quit(),
        _ => {}
    }
}

pub(crate) fn exchange(mechanism: Mechanism) -> Exchange {
    Exchange::new(mechanism, "me", &Secret::new("hunter2"), "fyko+d2lbbFgONRv9qkxdawL")
}

/// What an IMAP client does with what arrives in these pieces: login, SELECT, UID FETCH, APPEND,
/// IDLE, LOGOUT.
pub(crate) fn imap(pieces: &[&[u8]]) -> Seen {
    let mut client = imap::Client::new();
    let mut seen = Seen::default();
    let mut text: Option<Vec<u8>> = None;
    for piece in pieces {
        let mut input = *piece;
        loop {
            let event = match client.receive(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) => {
                    seen.failure = Some(failure);
                    seen.send(&client.outgoing());
                    return seen;
                }
            };
            match &event {
                imap::Event::TextBegins { .. } => text = Some(Vec::new()),
                imap::Event::Text(chunk) => {
                    assert!(!chunk.is_empty());
                    text.as_mut().expect("a text has begun").extend_from_slice(chunk);
                    continue;
                }
                imap::Event::TextEnds => {
                    let text = text.take().expect("a text has begun");
                    seen.events.push(format!("Text({:?})", String::from_utf8_lossy(&text)));
                }
                _ => {}
            }
            seen.events.push(format!("{event:?}"));
            answer_imap(&mut client, &event);
            seen.send(&client.outgoing());
        }
        assert!(input.is_empty(), "everything is read");
    }
    seen
}

fn answer_imap(client: &mut imap::Client, event: &imap::Event<'_>) {
    use imap::Asked;
    match event {
        imap::Event::Greeted(_) => client.login("me", &Secret::new("hunter2")),
        imap::Event::GoOn => match client.is_appending() {
            true => client.text(TEXT),
            false => client.done(),
        },
        imap::Event::Done(done) => match done.asked {
            Asked::Login => client.command(Command::Select(b"INBOX")),
            Asked::Select => client.command(Command::Fetch("1:*", "BODY.PEEK[]")),
            Asked::Fetch => {
                client.command(Command::Append(b"Sent", "\\Seen", TEXT.len() as u64));
            }
            Asked::Append => client.command(Command::Idle),
            Asked::Idle => client.command(Command::Logout),
            _ => {}
        },
        _ => {}
    }
}
