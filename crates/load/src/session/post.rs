//! A session that sends messages: SMTP or LMTP.
//!
//! The fate of each recipient follows from what the server said, and from how far we were:
//!
//! ```text
//!    MAIL RCPT DATA  text ...  | last bytes with the final dot |  reply
//!    ------------------------- | ------------------------------ -----------
//!    a cut here: not sent      | a cut here: unanswered         its state
//! ```
//!
//! The border is the moment at which the write with the last bytes begins: whether they arrived
//! cannot be known.

use brunt_mail::{Event as Delivery, Mailing, Message};
use brunt_protocols::sasl::{Exchange, Mechanism};
use brunt_protocols::smtp::{Client, Envelope, Event, Reply, Transfer};
use brunt_protocols::{Kind, Speaker};
use brunt_units::{Span, Time};
use brunt_world::random::Stream;

use super::connection::Connection;
use super::{Ended, Setting};
use crate::accounts::Account;
use crate::conversations::{Conversation, Recent};
use crate::endpoint::{Endpoint, Login, TlsUse};
use crate::errors::{Trouble, TroubleKind};

/// Bytes of a text that are collected before they are sent.
const WRITE: usize = 16 << 10;

/// What became of a message for each of its recipients, in their order.
#[derive(Debug)]
pub(crate) struct Fate {
    pub(crate) events: Vec<Delivery>,
    /// Whether the session can go on; otherwise why not.
    pub(crate) trouble: Option<Trouble>,
    /// A refusal, if there was one.
    pub(crate) refusal: Option<Reply>,
}

impl Fate {
    pub(crate) fn accepted(&self) -> u64 {
        let accepted = self.events.iter().filter(|event| **event == Delivery::Accepted);
        accepted.count() as u64
    }

    /// Whether we have cut it ourselves.
    pub(crate) fn is_own_cut(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::OwnCut)
    }

    /// Whether everything went as it should.
    pub(crate) fn is_plain(&self) -> bool {
        self.trouble.is_none() && self.refusal.is_none()
    }
}

/// A message on its way.
struct Letter<'a> {
    /// What is known for each recipient.
    events: Vec<Option<Delivery>>,
    refusal: Option<Reply>,
    /// The last bytes are on their way, or were.
    has_ended: bool,
    /// Whether it is to be cut in the middle of its text.
    is_cut: bool,
    message: &'a mut Message,
}

impl Letter<'_> {
    fn open(&mut self, event: Delivery) {
        for own in self.events.iter_mut().filter(|own| own.is_none()) {
            *own = Some(event);
        }
    }

    /// What a final reply means. A 3xx is none.
    fn answer(&mut self, recipient: Option<usize>, reply: &Reply) -> Result<(), Trouble> {
        let event = match reply.code {
            200..300 => Delivery::Accepted,
            300..400 => {
                return Err(Trouble::new(TroubleKind::Protocol(Kind::Unasked), reply.to_string()));
            }
            code => Delivery::Refused { code },
        };
        if event != Delivery::Accepted {
            self.refusal.get_or_insert_with(|| reply.clone());
        }
        match recipient {
            Some(at) => self.events[at] = Some(event),
            None => self.open(event),
        }
        Ok(())
    }
}

/// A session with a server that takes messages.
pub(crate) struct Post {
    name: String,
    setting: Setting,
    connection: Connection,
    client: Client,
    /// Bytes of the protocol that were read and not looked at.
    input: Vec<u8>,
    used: usize,
    recent: Recent,
}

impl Post {
    /// Connects, greets, secures and logs in.
    pub(crate) async fn open(
        setting: &Setting,
        endpoint: &Endpoint,
        account: &Account,
        name: &str,
        nonces: &mut Stream,
    ) -> Result<Self, Ended> {
        let connected = Connection::open(setting, endpoint).await;
        let connection = connected.map_err(|trouble| Ended { trouble, lines: Vec::new() })?;
        let mut post = Self {
            name: name.to_owned(),
            setting: setting.clone(),
            connection,
            client: Client::new(endpoint.protocol.dialect()),
            input: Vec::new(),
            used: 0,
            recent: Recent::default(),
        };
        match post.greet(endpoint, account, nonces).await {
            Ok(()) => Ok(post),
            Err(trouble) => Err(post.end(trouble)),
        }
    }

    fn end(mut self, trouble: Trouble) -> Ended {
        self.client.tape_mut().say(Speaker::Event, trouble.to_string().as_bytes());
        Ended { trouble, lines: self.client.tape().transcript() }
    }

    async fn greet(
        &mut self,
        endpoint: &Endpoint,
        account: &Account,
        nonces: &mut Stream,
    ) -> Result<(), Trouble> {
        let patience = self.setting.patience.reply;
        self.expect(&Event::Greeted, patience, "greeting").await?;
        self.client.hello(&endpoint.hello);
        self.expect(&Event::Ready, patience, "EHLO").await?;
        if endpoint.tls == TlsUse::StartTls {
            if !self.client.offered().start_tls {
                return Err(Trouble::new(TroubleKind::NoTls, "no STARTTLS in the reply to EHLO"));
            }
            self.client.start_tls();
            self.expect(&Event::SecureNow, patience, "STARTTLS").await?;
            self.refuse_early_bytes()?;
            self.connection.secure(endpoint).await?;
            self.client.tls_has_started();
            self.client.hello(&endpoint.hello);
            self.expect(&Event::Ready, patience, "EHLO after STARTTLS").await?;
        }
        let mechanism = match endpoint.login {
            Login::None => return Ok(()),
            Login::By(mechanism) => Some(mechanism),
            Login::Best => Mechanism::best(&self.client.offered().mechanisms),
        };
        let Some(mechanism) = mechanism else {
            return Err(Trouble::new(TroubleKind::NoMechanism, "AUTH in the reply to EHLO"));
        };
        if !self.connection.is_secure() && !endpoint.is_own_machine() {
            return Err(Trouble::new(TroubleKind::PlainPassword, endpoint.address.to_string()));
        }
        let exchange = Exchange::new(mechanism, &account.user, &account.secret, &nonce(nonces));
        self.client.authenticate(exchange);
        self.expect(&Event::Authenticated, patience, "AUTH").await
    }

    /// Bytes that came with the reply to STARTTLS are an attack.
    fn refuse_early_bytes(&mut self) -> Result<(), Trouble> {
        let mut rest = self.input.get(self.used..).unwrap_or_default();
        self.client.receive(&mut rest)?;
        Ok(())
    }

    /// Waits for this event, or the refusal of it.
    async fn expect(&mut self, want: &Event, patience: Span, doing: &str) -> Result<(), Trouble> {
        let deadline = self.connection.deadline(patience);
        self.send(deadline, doing).await?;
        match self.next(deadline, doing).await? {
            Event::Refused(step, reply) => Err(Trouble::refused(step, &reply)),
            event if event == *want => Ok(()),
            event => {
                let line = format!("{doing}: {event:?}");
                Err(Trouble::new(TroubleKind::Protocol(Kind::Unasked), line))
            }
        }
    }

    /// The next event, whatever it is.
    async fn next(&mut self, deadline: Time, doing: &str) -> Result<Event, Trouble> {
        loop {
            self.client.set_time(self.setting.world.clock.now());
            let mut rest = self.input.get(self.used..).unwrap_or_default();
            let before = rest.len();
            let event = self.client.receive(&mut rest);
            self.used += before - rest.len();
            if let Some(event) = event? {
                return Ok(event);
            }
            // The machine answers challenges by itself.
            self.send(deadline, doing).await?;
            self.input = self.connection.read(deadline, doing).await?;
            self.used = 0;
        }
    }

    async fn send(&mut self, deadline: Time, doing: &str) -> Result<(), Trouble> {
        let bytes = self.client.outgoing();
        if bytes.is_empty() {
            return Ok(());
        }
        self.connection.write(&bytes, deadline, doing).await
    }

    /// Sends message `number` to the accounts `to`, and says what became of it. `is_cut` cuts it in
    /// the middle.
    pub(crate) async fn deliver(
        &mut self,
        mailing: &Mailing,
        (number, to): (u32, &[u32]),
        message: &mut Message,
        is_cut: bool,
    ) -> Fate {
        self.recent.push(number);
        message.begin(number);
        let address = |account: u32| mailing.address(account).unwrap_or_default().to_owned();
        let recipients: Vec<_> = to.iter().map(|account| address(*account)).collect();
        let sender = address(mailing.route(number).from);
        let events = vec![None; recipients.len()];
        let envelope = Envelope {
            sender: &sender,
            recipients: &recipients,
            bytes: message.bytes(),
            is_eight_bit: message.is_8bit(),
        };
        // Both ways to send a text are used where both are offered.
        let may_chunk = self.client.offered().chunking && !number.is_multiple_of(2);
        let transfer = if may_chunk { Transfer::Chunk } else { Transfer::Data };
        self.client.set_time(self.setting.world.clock.now());
        let note = format!("message {number}");
        self.client.tape_mut().say(Speaker::Event, note.as_bytes());
        self.client.mail(envelope, transfer);
        let mut letter = Letter { events, refusal: None, has_ended: false, is_cut, message };
        let trouble = self.transact(&mut letter).await.err();
        if let Some(trouble) = &trouble {
            let left = if letter.has_ended { Delivery::Unanswered } else { Delivery::NotSent };
            letter.open(left);
            let said = trouble.to_string();
            self.client.set_time(self.setting.world.clock.now());
            self.client.tape_mut().say(Speaker::Event, said.as_bytes());
        }
        // A transaction that ended has an answer for everybody; without one nothing is promised.
        let events = letter.events.into_iter();
        let events = events.map(|event| event.unwrap_or(Delivery::Unanswered)).collect();
        Fate { events, trouble, refusal: letter.refusal }
    }

    async fn transact(&mut self, letter: &mut Letter<'_>) -> Result<(), Trouble> {
        let patience = self.setting.patience;
        let mut deadline = self.connection.deadline(patience.reply);
        self.send(deadline, "MAIL").await?;
        loop {
            match self.next(deadline, "reply to a message").await? {
                Event::Sender(reply) if !reply.is_positive() => letter.answer(None, &reply)?,
                Event::Sender(_) => {}
                Event::Recipient(at, reply) if !reply.is_positive() => {
                    // A refusal of the sender, which came before, says more.
                    if letter.events[at].is_none() {
                        letter.answer(Some(at), &reply)?;
                    }
                }
                Event::Recipient(..) => {}
                Event::TextRefused(reply) => letter.answer(None, &reply)?,
                Event::SendText => {
                    self.send_text(letter).await?;
                    deadline = self.connection.deadline(patience.accept);
                    continue;
                }
                Event::Answered(recipient, reply) => letter.answer(recipient, &reply)?,
                Event::Finished => return Ok(()),
                Event::Refused(step, reply) => return Err(Trouble::refused(step, &reply)),
                event => {
                    let kind = TroubleKind::Protocol(Kind::Unasked);
                    return Err(Trouble::new(kind, format!("{event:?}")));
                }
            }
            self.send(deadline, "command").await?;
        }
    }

    /// Sends the text in writes of 16 KiB; the last one has the end.
    async fn send_text(&mut self, letter: &mut Letter<'_>) -> Result<(), Trouble> {
        let (mut collected, half) = (0, letter.message.bytes() >> 1);
        let mut left = if letter.is_cut { half } else { u64::MAX };
        while left > 0 {
            let chunk = letter.message.next_chunk();
            if chunk.is_empty() {
                break;
            }
            // What came before is sent first, so that the last write has the end.
            if collected >= WRITE {
                let deadline = self.connection.deadline(self.setting.patience.reply);
                self.send(deadline, "text").await?;
                collected = 0;
            }
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
            left -= most as u64;
            collected += most;
            self.client.text(&chunk[..most]);
        }
        if letter.is_cut {
            let deadline = self.connection.deadline(self.setting.patience.reply);
            self.send(deadline, "text").await?;
            return Err(Trouble::new(TroubleKind::OwnCut, format!("after {half} bytes")));
        }
        self.client.set_time(self.setting.world.clock.now());
        self.client.end_text();
        letter.has_ended = true;
        let deadline = self.connection.deadline(self.setting.patience.reply);
        match self.send(deadline, "end of the text").await {
            // The answer may have come although the write says that the connection is broken.
            Err(trouble) if trouble.kind != TroubleKind::Reset => Err(trouble),
            _ => Ok(()),
        }
    }

    /// The conversation so far.
    pub(crate) fn conversation(&self) -> Conversation {
        Conversation {
            session: self.name.clone(),
            messages: self.recent.messages(),
            lines: self.client.tape().transcript(),
        }
    }

    /// Takes leave.
    pub(crate) async fn quit(mut self) -> Conversation {
        self.client.quit();
        let deadline = self.connection.deadline(Span::seconds(1).min(self.setting.patience.reply));
        if self.send(deadline, "QUIT").await.is_ok() {
            let _ = self.next(deadline, "QUIT").await;
        }
        self.connection.finish().await;
        self.conversation()
    }
}

/// A nonce for SCRAM: 96 random bits in letters.
pub(crate) fn nonce(stream: &mut Stream) -> String {
    (0..3).map(|_| format!("{:08x}", stream.bits() >> 32)).collect()
}

#[cfg(test)]
mod tests {
    use brunt_protocols::smtp::Step;
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn nonces_differ_and_are_printable() {
        let mut stream = Streams::new(1).named("nonces");
        let (one, other) = (nonce(&mut stream), nonce(&mut stream));
        assert_ne!(one, other);
        assert_eq!(one.len(), 24);
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let refused = Trouble::refused(Step::Authenticate, &Reply { code: 535, text: "no".into() });
        assert_eq!(refused.to_string(), "login refused: 535 no");
    }
}
