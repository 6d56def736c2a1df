//! The client of a session.
//!
//! ```text
//!    Greeted  --hello-->  Ready  --start_tls-->  SecureNow, then hello again
//!                           |    --authenticate-->  Authenticated
//!                           v
//!    mail:  MAIL  RCPT RCPT ..  DATA        in one go where PIPELINING is offered
//!             |     |    |       |
//!          Sender Recipient..  SendText --text, text, end_text--> Answered.., Finished
//! ```
//!
//! Every reply is matched to the command that it answers, in their order. The final reply decides:
//! one for all recipients in SMTP, one for each accepted recipient in LMTP.

use std::collections::VecDeque;

use brunt_units::Time;

use super::mail::{Envelope, Mail, Text, Transfer};
use super::reply::{ReplyLine, ReplyLines};
use super::text::Stuffing;
use super::{Dialect, Offered, Reply};
use crate::sasl::Exchange;
use crate::{Failure, Kind, Speaker, Tape, base64};

/// What a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Greeting,
    Hello,
    StartTls,
    Authenticate,
    Sender,
    Recipient(usize),
    Data,
    /// The text, for all recipients (SMTP).
    Text,
    /// The text, for one recipient (LMTP).
    TextFor(usize),
    /// A text without recipients, whose reply means nothing.
    Nothing,
    /// RSET after a transaction without a text, which ends it.
    Over,
    Reset,
    Noop,
    Quit,
}

/// A part of a session before mail flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The server's first words.
    Greeting,
    /// EHLO or LHLO.
    Hello,
    /// STARTTLS.
    StartTls,
    /// AUTH.
    Authenticate,
    /// RSET.
    Reset,
    /// NOOP.
    Noop,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server has greeted; say hello.
    Greeted,
    /// The server has said what it offers ([`Client::offered`]).
    Ready,
    /// The server waits for TLS on this connection: start it, then [`Client::hello`] again.
    SecureNow,
    /// The server knows us.
    Authenticated,
    /// A step was refused. The session goes on, but without what was asked for.
    Refused(Step, Reply),
    /// The reply to the sender's address. A refusal is one for all recipients.
    Sender(Reply),
    /// The reply to a recipient's address, by its place in the envelope.
    Recipient(usize, Reply),
    /// The server waits for the text: [`Client::text`], then [`Client::end_text`].
    SendText,
    /// The server does not want the text. A refusal for all recipients that were accepted.
    TextRefused(Reply),
    /// The final reply: for one recipient (LMTP), or for all that were accepted.
    Answered(Option<usize>, Reply),
    /// The transaction is over; another may begin.
    Finished,
    /// RSET or NOOP was answered.
    Done(Step),
    /// QUIT was answered.
    Bye,
}

/// A session with a server. It has no `Debug`: what it sends may be a secret.
pub struct Client {
    dialect: Dialect,
    replies: ReplyLines,
    asked: VecDeque<Asked>,
    offered: Offered,
    mail: Option<Mail>,
    /// Events that a reply made, and that were not given out yet.
    ready: VecDeque<Event>,
    exchange: Option<Exchange>,
    /// TLS is to start: no plain byte may come.
    is_turning: bool,
    out: Vec<u8>,
    tape: Tape,
}

impl Client {
    /// A session that waits for the server's greeting.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            replies: ReplyLines::default(),
            asked: VecDeque::from([Asked::Greeting]),
            offered: Offered::default(),
            mail: None,
            ready: VecDeque::new(),
            exchange: None,
            is_turning: false,
            out: Vec::new(),
            tape: Tape::default(),
        }
    }

    /// What the server offers; nothing before [`Event::Ready`].
    pub fn offered(&self) -> &Offered {
        &self.offered
    }

    /// The last lines of the conversation.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The same, to add what happened to the connection.
    pub fn tape_mut(&mut self) -> &mut Tape {
        &mut self.tape
    }

    /// The time of what follows, for the tape.
    pub fn set_time(&mut self, now: Time) {
        self.tape.set_time(now);
    }

    /// Takes the bytes that are to be sent.
    pub fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Reads from `input` until something happened or nothing is left. Call it until it returns
    /// `None`.
    ///
    /// # Errors
    /// When the server does what it must not. The session is over.
    pub fn receive(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_turning && !input.is_empty() {
                return Err(Failure::new(Kind::EarlyBytes, input));
            }
            let line = self.replies.take(input).inspect_err(|failure| {
                self.tape.say(Speaker::Server, failure.line.as_bytes());
            })?;
            let Some(line) = line else {
                return Ok(None);
            };
            self.tape.say(Speaker::Server, &line.line);
            let asked = self.asked.front().copied();
            if asked == Some(Asked::Hello) && line.number > 0 && line.code == 250 {
                self.offered.read(line.text());
            }
            if line.is_last {
                self.answered(&line)?;
            }
        }
    }

    fn answered(&mut self, line: &ReplyLine) -> Result<(), Failure> {
        let reply = line.reply();
        let Some(asked) = self.asked.pop_front() else {
            let kind = if reply.code == 421 { Kind::Goodbye } else { Kind::Unasked };
            return Err(Failure::new(kind, &line.line));
        };
        let step = |step: Step, event: Event| match reply.is_positive() {
            true => event,
            false => Event::Refused(step, reply.clone()),
        };
        match asked {
            Asked::Greeting => self.ready.push_back(step(Step::Greeting, Event::Greeted)),
            Asked::Hello => self.ready.push_back(step(Step::Hello, Event::Ready)),
            Asked::StartTls => {
                let event = step(Step::StartTls, Event::SecureNow);
                self.is_turning = event == Event::SecureNow;
                self.ready.push_back(event);
            }
            Asked::Authenticate => self.challenged(line)?,
            Asked::Reset => self.ready.push_back(step(Step::Reset, Event::Done(Step::Reset))),
            Asked::Noop => self.ready.push_back(step(Step::Noop, Event::Done(Step::Noop))),
            Asked::Quit => self.ready.push_back(Event::Bye),
            Asked::Sender => {
                let has_sender = reply.is_positive();
                if let Some(mail) = &mut self.mail {
                    mail.has_sender = has_sender;
                }
                self.ready.push_back(Event::Sender(reply));
                self.go_on();
            }
            Asked::Recipient(at) => {
                if let Some(mail) = &mut self.mail
                    && reply.is_positive()
                {
                    mail.accepted.push(at);
                }
                self.ready.push_back(Event::Recipient(at, reply));
                self.go_on();
            }
            Asked::Data => self.may_send(line)?,
            Asked::Nothing | Asked::Over => self.finish(),
            Asked::Text => {
                self.ready.push_back(Event::Answered(None, reply));
                self.finish();
            }
            Asked::TextFor(at) => {
                self.ready.push_back(Event::Answered(Some(at), reply));
                if !self.asked.iter().any(|asked| matches!(asked, Asked::TextFor(_))) {
                    self.finish();
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.mail = None;
        self.ready.push_back(Event::Finished);
    }

    /// Ends a transaction that has no text; the server may not have ended it.
    fn give_up(&mut self) {
        self.asked.push_back(Asked::Over);
        self.say("RSET");
    }

    /// The reply to DATA.
    fn may_send(&mut self, line: &ReplyLine) -> Result<(), Failure> {
        let Some(mail) = &mut self.mail else {
            return Err(Failure::new(Kind::Unasked, &line.line));
        };
        let has_recipients = mail.has_sender && !mail.accepted.is_empty();
        match (line.code, has_recipients) {
            (354, true) => {
                mail.text = Text::Stuffed(Stuffing::default());
                self.ready.push_back(Event::SendText);
            }
            // RFC 2920 section 3.1: the text is asked for before the client could know that it has
            // no recipients; a lone dot ends it.
            (354, false) if self.dialect == Dialect::Smtp => {
                mail.text = Text::Sent;
                self.say(".");
                self.asked.push_back(Asked::Nothing);
            }
            (354, false) => return Err(Failure::new(Kind::OutOfPlace, &line.line)),
            _ => {
                if has_recipients {
                    self.ready.push_back(Event::TextRefused(line.reply()));
                }
                self.give_up();
            }
        }
        Ok(())
    }

    /// What to ask next in the transaction, where nothing is waited for.
    fn go_on(&mut self) {
        if !self.asked.is_empty() {
            return;
        }
        let Some(mail) = &mut self.mail else {
            return;
        };
        if mail.has_sender
            && let Some(address) = mail.to_name.pop_front()
        {
            self.asked.push_back(Asked::Recipient(mail.named));
            mail.named += 1;
            return self.say(&format!("RCPT TO:<{address}>"));
        }
        if !mail.has_sender || mail.accepted.is_empty() {
            return self.give_up();
        }
        match mail.transfer {
            Transfer::Data => {
                self.asked.push_back(Asked::Data);
                self.say("DATA");
            }
            Transfer::Chunk => {
                mail.text = Text::Raw(mail.bytes);
                let line = format!("BDAT {} LAST", mail.bytes);
                self.say(&line);
                self.ready.push_back(Event::SendText);
            }
        }
    }

    /// A reply to AUTH or to a part of it.
    fn challenged(&mut self, line: &ReplyLine) -> Result<(), Failure> {
        let failed = |kind| Failure::new(kind, &line.line);
        let Some(mut exchange) = self.exchange.take() else {
            return Err(failed(Kind::Unasked));
        };
        match line.code {
            334 => {
                let challenge = base64::decode(line.text().trim_ascii());
                let challenge = challenge.ok_or_else(|| failed(Kind::Challenge))?;
                let answer = exchange.answer(&challenge).map_err(failed)?;
                self.say_secret(&base64::encode(&answer), "(an answer)");
                self.asked.push_back(Asked::Authenticate);
                self.exchange = Some(exchange);
            }
            200..300 if !exchange.is_proven() => return Err(failed(Kind::Unproven)),
            200..300 => self.ready.push_back(Event::Authenticated),
            _ => self.ready.push_back(Event::Refused(Step::Authenticate, line.reply())),
        }
        Ok(())
    }

    /// Says hello as `name`. The server's offers before are forgotten (RFC 3207 section 4.2).
    pub fn hello(&mut self, name: &str) {
        self.offered = Offered::default();
        self.asked.push_back(Asked::Hello);
        let verb = match self.dialect {
            Dialect::Smtp => "EHLO",
            Dialect::Lmtp => "LHLO",
        };
        self.say(&format!("{verb} {name}"));
    }

    /// Asks for TLS on this connection.
    pub fn start_tls(&mut self) {
        self.asked.push_back(Asked::StartTls);
        self.say("STARTTLS");
    }

    /// TLS has started: what comes now is protected.
    pub fn tls_has_started(&mut self) {
        self.is_turning = false;
        self.tape.say(Speaker::Event, b"TLS");
    }

    /// Shows who we are.
    pub fn authenticate(&mut self, mut exchange: Exchange) {
        let name = exchange.mechanism().name();
        let shown = format!("AUTH {name} (a secret)");
        match exchange.initial() {
            Some(first) if first.is_empty() => self.say_secret(&format!("AUTH {name} ="), &shown),
            Some(first) => {
                let first = base64::encode(&first);
                self.say_secret(&format!("AUTH {name} {first}"), &shown);
            }
            None => self.say(&format!("AUTH {name}")),
        }
        self.exchange = Some(exchange);
        self.asked.push_back(Asked::Authenticate);
    }

    /// Begins a transaction. What is sent at once depends on PIPELINING.
    ///
    /// # Panics
    /// While another transaction has not finished, without recipients, or with an address that no
    /// line can hold: addresses come from accounts, which are checked.
    pub fn mail(&mut self, envelope: Envelope<'_>, transfer: Transfer) {
        assert!(self.mail.is_none(), "one transaction at a time");
        assert!(!envelope.recipients.is_empty(), "a message has recipients");
        let mut addresses = envelope.recipients.iter().map(String::as_str).chain([envelope.sender]);
        assert!(addresses.all(is_address), "addresses fit into a command");
        let mut line = format!("MAIL FROM:<{}>", envelope.sender);
        if self.offered.size.is_some() {
            line.push_str(&format!(" SIZE={}", envelope.bytes));
        }
        if self.offered.eight_bit && envelope.is_eight_bit {
            line.push_str(" BODY=8BITMIME");
        }
        self.asked.push_back(Asked::Sender);
        self.say(&line);
        let mut mail = Mail::new(envelope, transfer);
        if self.offered.pipelining {
            while let Some(address) = mail.to_name.pop_front() {
                self.asked.push_back(Asked::Recipient(mail.named));
                mail.named += 1;
                self.say(&format!("RCPT TO:<{address}>"));
            }
            // BDAT brings the text along, so it waits for the recipients.
            if transfer == Transfer::Data {
                self.asked.push_back(Asked::Data);
                self.say("DATA");
            }
        }
        self.mail = Some(mail);
    }

    /// Sends a part of the text, after [`Event::SendText`].
    ///
    /// # Panics
    /// When no text is asked for, or it is longer than the envelope says.
    pub fn text(&mut self, chunk: &[u8]) {
        let mail = self.mail.as_mut().expect("a transaction");
        match &mut mail.text {
            Text::Stuffed(stuffing) => stuffing.push(chunk, &mut self.out),
            Text::Raw(left) => {
                let bytes = chunk.len() as u64;
                *left = left.checked_sub(bytes).expect("the text has the announced length");
                self.out.extend_from_slice(chunk);
            }
            Text::Waiting | Text::Sent => panic!("no text is asked for"),
        }
    }

    /// Ends the text. From the moment that these bytes are sent the server may keep the message.
    ///
    /// # Panics
    /// When no text is asked for, or it is shorter than the envelope says.
    pub fn end_text(&mut self) {
        let mail = self.mail.as_mut().expect("a transaction");
        let bytes = match std::mem::replace(&mut mail.text, Text::Sent) {
            Text::Stuffed(stuffing) => {
                stuffing.end(&mut self.out);
                stuffing.sent()
            }
            Text::Raw(left) => {
                assert_eq!(left, 0, "the text has the announced length");
                mail.bytes
            }
            Text::Waiting | Text::Sent => panic!("no text is asked for"),
        };
        match self.dialect {
            Dialect::Smtp => self.asked.push_back(Asked::Text),
            Dialect::Lmtp => self.asked.extend(mail.accepted.iter().copied().map(Asked::TextFor)),
        }
        let line = format!("(a text of {bytes} bytes, ended)");
        self.tape.say(Speaker::Client, line.as_bytes());
    }

    /// Sends RSET.
    pub fn reset(&mut self) {
        self.asked.push_back(Asked::Reset);
        self.say("RSET");
    }

    /// Sends NOOP.
    pub fn noop(&mut self) {
        self.asked.push_back(Asked::Noop);
        self.say("NOOP");
    }

    /// Sends QUIT.
    pub fn quit(&mut self) {
        self.asked.push_back(Asked::Quit);
        self.say("QUIT");
    }

    fn say(&mut self, line: &str) {
        self.say_secret(line, line);
    }

    fn say_secret(&mut self, line: &str, shown: &str) {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        self.tape.say(Speaker::Client, shown.as_bytes());
    }
}

/// Whether a command can hold the address: printable ASCII without brackets and blanks.
fn is_address(address: &str) -> bool {
    address.len() <= 254
        && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>')
}
