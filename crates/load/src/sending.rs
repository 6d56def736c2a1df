//! Senders: sessions that send message after message, and the events of the ledger.
//!
//! A number is taken, and reserved in the file of the ledger, before its message is begun. It is
//! sent once: after a cut the next attempt is another message, so that copies can be told apart.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_mail::{Event, Ledger, Mailing, Message};
use brunt_stats::Latencies;
use brunt_units::{Span, Time};
use brunt_world::random::Stream;

use crate::accounts::Accounts;
use crate::backoff::Backoff;
use crate::conversations::Conversation;
use crate::endpoint::Endpoint;
use crate::errors::{Trouble, TroubleKind};
use crate::progress::Progress;
use crate::session::{Fate, GLANCE, Post, Setting};

/// Keeps the ledger's bytes: appends them to `ledger.bin`.
///
/// It is called on the thread that sends, so it must not wait for a disk: what it was given has to
/// survive this program, not the machine.
pub trait Keep {
    /// Appends bytes.
    ///
    /// # Errors
    /// When that is not possible. The run stops sending.
    fn append(&self, bytes: &[u8]) -> Result<(), KeepError>;
}

/// The ledger cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger cannot be written: {0}")]
pub struct KeepError(pub String);

/// When messages are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each session sends the next one when the last one was answered.
    Answered,
    /// This many per second in all. Each session sends its share at fixed times; a late one sends
    /// at once.
    PerSecond(f64),
}

/// How messages are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sending {
    /// An endpoint of SMTP or LMTP.
    pub endpoint: Endpoint,
    /// Sessions at the same time.
    pub sessions: u32,
    /// Ends after this many messages.
    pub messages: Option<u32>,
    /// Ends after this time.
    pub time: Option<Span>,
    /// When messages are sent.
    pub pace: Pace,
    /// How many of a thousand messages are cut by us in the middle of their text: the server must
    /// not deliver them (RFC 5321 section 4.1.1.4).
    pub cut_per_thousand: u32,
    /// Ends a sender that has had no reply for this long.
    pub give_up: Span,
}

impl Sending {
    /// Eight sessions, each as fast as the server answers, until `messages` are sent.
    pub fn new(endpoint: Endpoint, messages: u32) -> Self {
        Self {
            endpoint,
            sessions: 8,
            messages: Some(messages),
            time: None,
            pace: Pace::Answered,
            cut_per_thousand: 0,
            give_up: Span::seconds(120),
        }
    }
}

/// What was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Messages that were begun.
    pub messages: u32,
    /// Deliveries that were accepted.
    pub accepted: u64,
    /// Sessions that reached the server.
    pub sessions: u64,
    /// When sending began and ended.
    pub from: Time,
    /// When sending ended.
    pub until: Time,
    /// From the beginning of a message to its last reply, for messages that were answered.
    pub answers: Latencies,
}

/// What senders share.
pub(crate) struct Senders {
    pub(crate) setting: Setting,
    pub(crate) accounts: Rc<Accounts>,
    pub(crate) mailing: Rc<Mailing>,
    pub(crate) sending: Sending,
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    pub(crate) keep: Rc<dyn Keep>,
    pub(crate) progress: Rc<Progress>,
    /// Why the ledger could not be kept.
    failed: RefCell<Option<KeepError>>,
    pub(crate) sessions: Cell<u64>,
    answers: RefCell<Latencies>,
    began: Cell<Time>,
    /// Messages and deliveries before that.
    before: Cell<(u32, u64)>,
}

impl Senders {
    pub(crate) fn new(
        setting: Setting,
        accounts: &Rc<Accounts>,
        mailing: &Rc<Mailing>,
        sending: Sending,
        keep: &Rc<dyn Keep>,
    ) -> Rc<Self> {
        let progress = Progress::new(&setting.world, sending.messages);
        Rc::new(Self {
            accounts: Rc::clone(accounts),
            mailing: Rc::clone(mailing),
            ledger: Rc::new(RefCell::new(Ledger::new(mailing))),
            keep: Rc::clone(keep),
            progress,
            failed: RefCell::new(None),
            sessions: Cell::new(0),
            answers: RefCell::new(Latencies::new()),
            began: Cell::new(setting.world.clock.now()),
            before: Cell::default(),
            setting,
            sending,
        })
    }

    /// Sending begins now; what was made before is not part of it.
    pub(crate) fn begins(&self) {
        self.began.set(self.now());
        self.before.set((self.progress.begun(), self.progress.accepted()));
        self.progress.begins();
    }

    /// Whether the ledger could not be kept.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.borrow().is_some()
    }

    /// Sends until an end is reached.
    pub(crate) async fn run(self: &Rc<Self>) -> Result<Sent, KeepError> {
        let spawner = &self.setting.world.spawner;
        let tasks: Vec<_> = (0..self.sending.sessions)
            .map(|number| spawner.spawn(Sender::new(self, number).run()))
            .collect();
        for task in tasks {
            task.await;
        }
        self.end()?;
        Ok(self.sent())
    }

    /// Nothing more will be sent.
    pub(crate) fn end(&self) -> Result<(), KeepError> {
        self.progress.end();
        self.keep()?;
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// What was sent until now.
    pub(crate) fn sent(&self) -> Sent {
        let (messages, accepted) = self.before.get();
        Sent {
            messages: self.progress.begun() - messages,
            accepted: self.progress.accepted() - accepted,
            sessions: self.sessions.get(),
            from: self.began.get(),
            until: self.now(),
            answers: self.answers.borrow().clone(),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.setting.world.clock.now()
    }

    /// Whether another message may begin.
    pub(crate) fn goes_on(&self) -> bool {
        let is_over = self.sending.time.is_some_and(|time| self.now() >= self.began.get() + time);
        let is_enough = self.sending.messages.is_some_and(|most| self.progress.begun() >= most);
        !is_over && !is_enough && !self.has_failed() && !self.setting.is_stopping()
    }

    /// When message `turn` of a session is due.
    fn due(&self, session: u32, turn: u64) -> Option<Time> {
        let Pace::PerSecond(rate) = self.sending.pace else {
            return None;
        };
        let place = turn * u64::from(self.sending.sessions) + u64::from(session);
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 messages")]
        let seconds = place as f64 / rate;
        Some(self.began.get() + Span::from_seconds(seconds))
    }

    /// Writes what the ledger has learnt, and what was done to the servers.
    pub(crate) fn keep(&self) -> Result<(), KeepError> {
        let mut ledger = self.ledger.borrow_mut();
        self.progress.take_faults().into_iter().for_each(|fault| ledger.fault(fault));
        let bytes = ledger.take_unwritten();
        drop(ledger);
        if bytes.is_empty() { Ok(()) } else { self.keep.append(&bytes) }
    }

    /// Takes a number; `None` when there is no more to send.
    fn begin(&self) -> Option<u32> {
        if !self.goes_on() {
            return None;
        }
        let number = self.ledger.borrow_mut().next_number();
        self.begin_to(number, &self.mailing.route(number).to).then_some(number)
    }

    /// Message `number` will be sent to these accounts; `false` when the ledger cannot be kept.
    pub(crate) fn begin_to(&self, number: u32, to: &[u32]) -> bool {
        if let Err(error) = self.keep() {
            *self.failed.borrow_mut() = Some(error);
            return false;
        }
        let now = self.now();
        for recipient in to {
            self.ledger.borrow_mut().record(number, *recipient, now, Event::Sent);
        }
        self.progress.begin();
        true
    }

    /// What became of a message to these accounts.
    pub(crate) fn finish(&self, (number, to): (u32, &[u32]), began: Time, fate: &Fate) {
        let now = self.now();
        let mut ledger = self.ledger.borrow_mut();
        for (recipient, event) in to.iter().zip(&fate.events) {
            ledger.record(number, *recipient, now, *event);
        }
        if fate.trouble.is_none() {
            self.answers.borrow_mut().record(now.since(began));
        }
        self.progress.finish(fate.accepted());
    }
}

/// One session after the other.
struct Sender {
    shared: Rc<Senders>,
    number: u32,
    backoff: Backoff,
    nonces: Stream,
    cuts: Stream,
    /// Since when nothing was answered.
    lost_since: Option<Time>,
}

impl Sender {
    fn new(shared: &Rc<Senders>, number: u32) -> Self {
        let random = shared.setting.world.random.part("load").part("sender");
        Self {
            shared: Rc::clone(shared),
            number,
            backoff: Backoff::new(random.named(&format!("backoff/{number}"))),
            nonces: random.named(&format!("nonces/{number}")),
            cuts: random.named(&format!("cuts/{number}")),
            lost_since: None,
        }
    }

    fn name(&self) -> String {
        format!("sender {}", self.number)
    }

    async fn run(mut self) {
        let shared = Rc::clone(&self.shared);
        let mut message = Message::new(&shared.mailing, 0);
        let mut post = None;
        let mut turn = 0;
        while shared.goes_on() && !self.is_hopeless() {
            if let Some(due) = shared.due(self.number, turn) {
                self.wait_until(due).await;
            }
            if post.is_none() {
                match self.open().await {
                    Some(opened) => post = opened,
                    None => break,
                }
            }
            let Some(session) = &mut post else {
                continue;
            };
            let Some(number) = shared.begin() else {
                break;
            };
            turn += 1;
            let began = shared.now();
            let is_cut = self.cuts.below(1000) < u64::from(shared.sending.cut_per_thousand);
            let to = shared.mailing.route(number).to;
            let fate = session.deliver(&shared.mailing, (number, &to), &mut message, is_cut).await;
            shared.finish((number, &to), began, &fate);
            match fate.trouble {
                None => self.lost_since = None,
                Some(_) => drop(self.lost_since.get_or_insert(began)),
            }
            if !self.look_at(&fate, session).await {
                post = None;
            }
        }
        if let Some(session) = post {
            let last_words = session.quit().await;
            shared.setting.conversations.borrow_mut().end(last_words);
        }
    }

    /// Whether nothing was answered for too long.
    fn is_hopeless(&self) -> bool {
        let shared = &self.shared;
        let too_long = |since| shared.now().since(since) >= shared.sending.give_up;
        self.lost_since.is_some_and(too_long)
    }

    /// A session; none if another attempt may help; `None` if none will.
    async fn open(&mut self) -> Option<Option<Post>> {
        let shared = Rc::clone(&self.shared);
        let (setting, endpoint) = (&shared.setting, &shared.sending.endpoint);
        let account = shared.accounts.round(self.number);
        let name = self.name();
        let ended = match Post::open(setting, endpoint, account, &name, &mut self.nonces).await {
            Ok(post) => {
                shared.sessions.update(|count| count + 1);
                return Some(Some(post));
            }
            Err(ended) => ended,
        };
        setting.note(&ended.trouble);
        let (session, lines) = (name, ended.lines);
        setting.keep_trouble(Conversation { session, messages: Vec::new(), lines });
        self.lost_since.get_or_insert(shared.now());
        if self.is_hopeless() || !ended.trouble.is_passing() {
            return None;
        }
        let wait = self.backoff.wait();
        self.wait_until(shared.now() + wait).await;
        Some(None)
    }

    /// Whether the session goes on after this message.
    async fn look_at(&mut self, fate: &Fate, session: &Post) -> bool {
        let setting = &self.shared.setting;
        if fate.is_plain() {
            self.backoff.reset();
            return true;
        }
        if fate.is_own_cut() {
            return false;
        }
        setting.keep_trouble(session.conversation());
        if let Some(refusal) = &fate.refusal {
            let kind = match refusal.is_permanent() {
                true => TroubleKind::RefusedForGood,
                false => TroubleKind::RefusedForNow,
            };
            setting.note(&Trouble::new(kind, refusal.to_string()));
        }
        if let Some(trouble) = &fate.trouble {
            setting.note(trouble);
            setting.conversations.borrow_mut().end(session.conversation());
        }
        // A server that refuses for now is given time, as one that cuts.
        if fate.trouble.is_some() || fate.accepted() == 0 {
            let wait = self.backoff.wait();
            self.wait_until(self.shared.now() + wait).await;
        }
        let closes = fate.refusal.as_ref().is_some_and(|refusal| refusal.code == 421);
        fate.trouble.is_none() && !closes
    }

    /// Waits until a time, or until the run is to stop.
    async fn wait_until(&self, time: Time) {
        let setting = &self.shared.setting;
        while setting.world.clock.now() < time && !setting.is_stopping() {
            let next = setting.world.clock.now() + GLANCE;
            setting.world.sleep_until(next.min(time)).await;
        }
    }
}
