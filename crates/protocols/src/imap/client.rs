//! The client of a session. One command at a time: its reply decides what comes next.

use std::collections::{BTreeMap, VecDeque};

use brunt_units::Time;

use super::command::{Asked, Command, Part, Written};
use super::frame::{Frame, Framer, Oddity, Piece};
use super::reader::Reader;
use super::response::{Capabilities, Code, Response, text_for_people, untagged};
use crate::failure::printable;
use crate::sasl::Exchange;
use crate::{Failure, Kind, Secret, Speaker, Tape, base64};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Done.
    Ok,
    /// Refused.
    No,
    /// Not understood.
    Bad,
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The command.
    pub asked: Asked,
    /// How it ended.
    pub status: Status,
    /// What stands in brackets.
    pub code: Option<Code>,
    /// The text for people.
    pub text: String,
}

impl Done {
    /// Whether it was done.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server has greeted; whether it knows us already (PREAUTH).
    Greeted(bool),
    /// Data.
    Data(Response),
    /// The text of a message begins. What else the response says comes after it, as data.
    TextBegins {
        /// The message's number in the mailbox.
        number: u32,
        /// The name of the section, as the server wrote it.
        section: String,
        /// Its length.
        bytes: u64,
    },
    /// A chunk of it.
    Text(&'a [u8]),
    /// It has ended.
    TextEnds,
    /// The server waits: for the text of APPEND ([`Client::text`]), or for the end of IDLE
    /// ([`Client::done`]).
    GoOn,
    /// The command was answered.
    Done(Done),
    /// STARTTLS was answered: start TLS now, then ask for the capabilities again.
    SecureNow,
    /// A response was passed over, and counted.
    PassedOver(Oddity),
}

/// The command that waits for its reply.
struct Pending {
    tag: String,
    asked: Asked,
    parts: VecDeque<Part>,
    /// Bytes of a streamed literal that the caller has still to send.
    to_stream: u64,
    exchange: Option<Exchange>,
}

/// A session with a server. It has no `Debug`: what it sends may be a secret.
pub struct Client {
    framer: Framer,
    pending: Option<Pending>,
    commands: u32,
    has_greeted: bool,
    capabilities: Option<Capabilities>,
    oddities: BTreeMap<Oddity, (u64, String)>,
    /// GoOn is due: a literal that need not wait.
    goes_on: bool,
    is_turning: bool,
    /// LOGOUT was sent, so BYE is polite.
    is_leaving: bool,
    out: Vec<u8>,
    tape: Tape,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// A session that waits for the server's greeting.
    pub fn new() -> Self {
        Self {
            framer: Framer::default(),
            pending: None,
            commands: 0,
            has_greeted: false,
            capabilities: None,
            oddities: BTreeMap::new(),
            goes_on: false,
            is_turning: false,
            is_leaving: false,
            out: Vec::new(),
            tape: Tape::default(),
        }
    }

    /// What the server can do; `None` when it has not said so since TLS or the login.
    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_ref()
    }

    /// What was passed over: how often, and the first line of each kind.
    pub fn oddities(&self) -> &BTreeMap<Oddity, (u64, String)> {
        &self.oddities
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

    /// Whether a command waits for its reply.
    pub fn is_busy(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether APPEND waits for its text.
    pub fn is_appending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.to_stream > 0)
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
    pub fn receive<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, Failure> {
        loop {
            if std::mem::take(&mut self.goes_on) {
                return Ok(Some(Event::GoOn));
            }
            if self.is_turning && !input.is_empty() {
                return Err(Failure::new(Kind::EarlyBytes, input));
            }
            let piece = self.framer.take(input).inspect_err(|failure| {
                self.tape.say(Speaker::Server, failure.line.as_bytes());
            })?;
            let event = match piece {
                None => return Ok(None),
                Some(Piece::Text(chunk)) => Some(Event::Text(chunk)),
                Some(Piece::TextEnds) => Some(Event::TextEnds),
                Some(Piece::TextBegins { number, section, bytes }) => {
                    let line = format!("* {number} FETCH .. {} {{{bytes}}}", printable(&section));
                    self.tape.say(Speaker::Server, line.as_bytes());
                    Some(Event::TextBegins { number, section: printable(&section), bytes })
                }
                Some(Piece::Whole(frame)) => self.whole(&frame)?,
            };
            if let Some(event) = event {
                return Ok(Some(event));
            }
        }
    }

    fn whole(&mut self, frame: &Frame) -> Result<Option<Event<'static>>, Failure> {
        self.tape.say(Speaker::Server, &frame.text);
        if !self.has_greeted {
            return self.greeted(frame).map(Some);
        }
        match frame.text.split(|byte| *byte == b' ').next() {
            Some(b"+") => self.asked_to_go_on(frame),
            Some(b"*") => self.told(frame).map(Some),
            Some(tag) => {
                let is_ours = self.pending.as_ref().is_some_and(|own| own.tag.as_bytes() == tag);
                match is_ours {
                    true => self.answered(frame).map(Some),
                    false => self.unmarked(frame).map(Some),
                }
            }
            None => Ok(Some(self.pass_over(Oddity::Unmarked, frame))),
        }
    }

    fn greeted(&mut self, frame: &Frame) -> Result<Event<'static>, Failure> {
        let mut reader = Reader::new(frame);
        let is_marked = reader.byte(b'*').is_some();
        reader.blanks();
        let word = reader.word().unwrap_or_default().to_ascii_uppercase();
        let is_known = match word.as_slice() {
            b"OK" => false,
            b"PREAUTH" => true,
            b"BYE" => return Err(Failure::new(Kind::Goodbye, &frame.text)),
            _ => return Err(Failure::new(Kind::Garbage, &frame.text)),
        };
        if !is_marked {
            return Err(Failure::new(Kind::Garbage, &frame.text));
        }
        self.has_greeted = true;
        if let (Some(Code::Capability(capabilities)), _) = text_for_people(&mut reader) {
            self.capabilities = Some(capabilities);
        }
        Ok(Event::Greeted(is_known))
    }

    /// An untagged response.
    fn told(&mut self, frame: &Frame) -> Result<Event<'static>, Failure> {
        let second = frame.text.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if second.eq_ignore_ascii_case(b"BYE") {
            if !self.is_leaving {
                return Err(Failure::new(Kind::Goodbye, &frame.text));
            }
            let (is_ok, code, text) = (true, None, printable(&frame.text));
            return Ok(Event::Data(Response::Remark { is_ok, code, text }));
        }
        if frame.has_nul {
            return Ok(self.pass_over(Oddity::Nul, frame));
        }
        if frame.is_cut {
            return Ok(self.pass_over(Oddity::TooLong, frame));
        }
        match untagged(frame) {
            Ok(response) => {
                if let Response::Capability(capabilities) = &response {
                    self.capabilities = Some(capabilities.clone());
                }
                Ok(Event::Data(response))
            }
            Err(oddity) => Ok(self.pass_over(oddity, frame)),
        }
    }

    /// A line with neither `*` nor our tag. One that looks like a reply is for another command:
    /// nothing after it could be believed. Anything else is passed over.
    fn unmarked(&mut self, frame: &Frame) -> Result<Event<'static>, Failure> {
        let second = frame.text.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let replies: [&[u8]; 3] = [b"OK", b"NO", b"BAD"];
        if replies.iter().any(|reply| second.eq_ignore_ascii_case(reply)) {
            return Err(Failure::new(Kind::WrongTag, &frame.text));
        }
        Ok(self.pass_over(Oddity::Unmarked, frame))
    }

    fn pass_over(&mut self, oddity: Oddity, frame: &Frame) -> Event<'static> {
        let first = || (0, printable(&frame.text));
        self.oddities.entry(oddity).or_insert_with(first).0 += 1;
        Event::PassedOver(oddity)
    }

    /// The reply to our command.
    fn answered(&mut self, frame: &Frame) -> Result<Event<'static>, Failure> {
        let mut reader = Reader::new(frame);
        let _ = reader.until(|byte| byte == b' ');
        reader.blanks();
        let word = reader.word().unwrap_or_default().to_ascii_uppercase();
        let status = match word.as_slice() {
            b"OK" => Status::Ok,
            b"NO" => Status::No,
            b"BAD" => Status::Bad,
            _ => return Err(Failure::new(Kind::Garbage, &frame.text)),
        };
        let (code, text) = text_for_people(&mut reader);
        let Some(pending) = self.pending.take() else {
            return Err(Failure::new(Kind::Unasked, &frame.text));
        };
        self.goes_on = false;
        let is_ok = status == Status::Ok;
        if is_ok && pending.exchange.is_some_and(|exchange| !exchange.is_proven()) {
            return Err(Failure::new(Kind::Unproven, &frame.text));
        }
        if is_ok {
            match pending.asked {
                Asked::StartTls => {
                    self.capabilities = None;
                    self.is_turning = true;
                    return Ok(Event::SecureNow);
                }
                // Others may be offered now; some servers say so at once.
                Asked::Login | Asked::Authenticate => {
                    self.capabilities = match &code {
                        Some(Code::Capability(capabilities)) => Some(capabilities.clone()),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        Ok(Event::Done(Done { asked: pending.asked, status, code, text }))
    }

    /// A line that begins with `+`.
    fn asked_to_go_on(&mut self, frame: &Frame) -> Result<Option<Event<'static>>, Failure> {
        let failed = |kind| Failure::new(kind, &frame.text);
        let Some(pending) = &mut self.pending else {
            return Err(failed(Kind::Unasked));
        };
        if let Some(exchange) = &mut pending.exchange {
            let text = frame.text.get(1..).unwrap_or_default().trim_ascii();
            let challenge = base64::decode(text).ok_or_else(|| failed(Kind::Challenge))?;
            let answer = exchange.answer(&challenge).map_err(failed)?;
            self.out.extend_from_slice(base64::encode(&answer).as_bytes());
            self.out.extend_from_slice(b"\r\n");
            self.tape.say(Speaker::Client, b"(an answer)");
            return Ok(None);
        }
        match pending.parts.pop_front() {
            Some(Part::Literal(literal)) => {
                self.out.extend_from_slice(&literal);
                self.send_parts();
                Ok(std::mem::take(&mut self.goes_on).then_some(Event::GoOn))
            }
            Some(Part::Streamed(bytes)) => {
                pending.to_stream = bytes;
                Ok(Some(Event::GoOn))
            }
            Some(Part::Line(_)) => Err(failed(Kind::Unasked)),
            None if pending.asked == Asked::Idle => Ok(Some(Event::GoOn)),
            None => Err(failed(Kind::Unasked)),
        }
    }

    /// TLS has started: what comes now is protected.
    pub fn tls_has_started(&mut self) {
        self.is_turning = false;
        self.tape.say(Speaker::Event, b"TLS");
    }

    /// Sends a command.
    ///
    /// # Panics
    /// While another one waits for its reply.
    pub fn command(&mut self, command: Command<'_>) {
        self.is_leaving |= matches!(command, Command::Logout);
        self.begin(command.asked(), command.write(), None);
    }

    /// Logs in with a password, by LOGIN.
    ///
    /// # Panics
    /// While a command waits for its reply.
    pub fn login(&mut self, user: &str, secret: &Secret) {
        let written = Written::new("LOGIN").string(user.as_bytes(), false);
        let written = written.string(secret.reveal().as_bytes(), true);
        self.begin(Asked::Login, written, None);
    }

    /// Shows who we are, by AUTHENTICATE.
    ///
    /// # Panics
    /// While a command waits for its reply.
    pub fn authenticate(&mut self, mut exchange: Exchange) {
        let name = exchange.mechanism().name();
        let is_first_taken = self.capabilities.as_ref().is_some_and(|able| able.sasl_ir);
        let mut written = Written::new(&format!("AUTHENTICATE {name}"));
        match exchange.initial() {
            Some(first) if is_first_taken => {
                let first = if first.is_empty() { "=".to_owned() } else { base64::encode(&first) };
                let line = format!("AUTHENTICATE {name} {first}");
                written.parts = vec![Part::Line(line.into_bytes())];
                written.shown.push_str(" (a secret)");
                self.begin(Asked::Authenticate, written, Some(exchange));
            }
            // Sent as the answer to an empty challenge.
            Some(first) => {
                exchange.hold(first);
                self.begin(Asked::Authenticate, written, Some(exchange));
            }
            None => self.begin(Asked::Authenticate, written, Some(exchange)),
        }
    }

    fn begin(&mut self, asked: Asked, written: Written, exchange: Option<Exchange>) {
        assert!(self.pending.is_none(), "one command at a time");
        self.commands += 1;
        let tag = format!("b{}", self.commands);
        self.tape.say(Speaker::Client, format!("{tag} {}", written.shown).as_bytes());
        self.out.extend_from_slice(format!("{tag} ").as_bytes());
        let parts = written.parts.into();
        self.pending = Some(Pending { tag, asked, parts, to_stream: 0, exchange });
        self.send_parts();
    }

    /// Sends what need not wait.
    fn send_parts(&mut self) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        let able = self.capabilities.as_ref();
        let need_not_wait = |bytes: u64| {
            able.is_some_and(|able| able.literal_plus || (able.literal_minus && bytes <= 4096))
        };
        while let Some(part) = pending.parts.pop_front() {
            let bytes = match &part {
                Part::Line(line) => {
                    self.out.extend_from_slice(line);
                    continue;
                }
                Part::Literal(literal) => literal.len() as u64,
                Part::Streamed(bytes) => *bytes,
            };
            if !need_not_wait(bytes) {
                self.out.extend_from_slice(format!("{{{bytes}}}\r\n").as_bytes());
                pending.parts.push_front(part);
                return;
            }
            self.out.extend_from_slice(format!("{{{bytes}+}}\r\n").as_bytes());
            match part {
                Part::Literal(literal) => self.out.extend_from_slice(&literal),
                Part::Streamed(bytes) => {
                    pending.to_stream = bytes;
                    self.goes_on = true;
                    return;
                }
                Part::Line(_) => {}
            }
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// Sends a part of the text of APPEND, after [`Event::GoOn`].
    ///
    /// # Panics
    /// When no text is asked for, or it is longer than announced. A refusal may end it: look at
    /// [`Client::is_appending`].
    pub fn text(&mut self, chunk: &[u8]) {
        let pending = self.pending.as_mut().expect("APPEND was sent");
        let left = pending.to_stream.checked_sub(chunk.len() as u64);
        pending.to_stream = left.expect("the text has the announced length");
        self.out.extend_from_slice(chunk);
        if pending.to_stream == 0 {
            self.send_parts();
        }
    }

    /// Ends IDLE.
    ///
    /// # Panics
    /// When another command waits for its reply.
    pub fn done(&mut self) {
        let asked = self.pending.as_ref().map(|pending| pending.asked);
        assert_eq!(asked, Some(Asked::Idle), "only IDLE is ended");
        self.tape.say(Speaker::Client, b"DONE");
        self.out.extend_from_slice(b"DONE\r\n");
    }
}
