//! Sessions that see mail arrive: how long after the 250 a user could have read it.
//!
//! Two times, because they differ by what the server does:
//! * *visible*: a session that asks (NOOP) sees the message. It is asked again and again, so this is
//!   too long by up to the time from one question to the next.
//! * *told*: a session that waits (IDLE) is told of it (EXISTS), without asking.
//!
//! Each watched mailbox has one session of each kind. The first also reads which message it is; the
//! second knows only how many there are, and both count the same mailbox from its beginning.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_mail::{Ledger, State};
use brunt_protocols::imap::{Command, Event, Response};
use brunt_stats::Latencies;
use brunt_units::{Span, Time};
use brunt_world::Task;

use crate::accounts::Accounts;
use crate::backoff::Backoff;
use crate::errors::Trouble;
use crate::mailbox::{MARKS, examine, marks};
use crate::reading::Reading;
use crate::session::{Ended, ImapSession, Setting};

/// How long a session that watches waits for a reply: the run waits for it at its end.
const PATIENCE: Span = Span::seconds(10);

/// Which mailboxes are watched, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// One mailbox of this many.
    pub one_in: u32,
    /// From one NOOP to the next.
    pub every: Span,
}

impl Default for Watch {
    /// One mailbox of twenty, asked every 10 ms.
    fn default() -> Self {
        Self { one_in: 20, every: Span::millis(10) }
    }
}

/// How soon mail was seen in the watched mailboxes, each from the reply that accepted it. Mail that
/// was seen before that reply counts as seen at once.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Mailboxes that were watched.
    pub mailboxes: u32,
    /// Accepted messages in them that were seen.
    pub seen: u64,
    /// By a session that asks.
    pub visible: Latencies,
    /// By a session that waits. Empty where the server does not offer IDLE.
    pub told: Latencies,
}

/// What was seen of a mailbox.
#[derive(Debug, Default)]
struct Arrived {
    /// Which message has each number in the mailbox, and when it was seen, from 1 on.
    messages: BTreeMap<u32, (u32, Time)>,
    /// Of which numbers, from one to another, an EXISTS told, and when.
    told: Vec<(u32, u32, Time)>,
}

impl Arrived {
    /// When a number in the mailbox was told.
    fn told(&self, place: u32) -> Option<Time> {
        let of_it = |told: &&(u32, u32, Time)| (told.0..=told.1).contains(&place);
        self.told.iter().find(of_it).map(|(_, _, at)| *at)
    }
}

/// What was seen of all watched mailboxes.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    by_account: BTreeMap<u32, Arrived>,
    /// When each message was first seen by asking.
    visible: BTreeMap<(u32, u32), Time>,
}

impl Arrivals {
    fn new(by_account: BTreeMap<u32, Arrived>) -> Self {
        let mut visible = BTreeMap::new();
        for (account, arrived) in &by_account {
            for (number, at) in arrived.messages.values() {
                visible.entry((*number, *account)).or_insert(*at);
            }
        }
        Self { by_account, visible }
    }

    /// When a message was first seen by asking.
    pub(crate) fn visible(&self, number: u32, account: u32) -> Option<Time> {
        self.visible.get(&(number, account)).copied()
    }

    /// Holds what was seen against when it was accepted, from `began` on; `None` when nothing was
    /// watched.
    pub(crate) fn against(&self, ledger: &Ledger, began: Time) -> Option<Watched> {
        if self.by_account.is_empty() {
            return None;
        }
        let mut told_at = BTreeMap::new();
        for (account, arrived) in &self.by_account {
            for (place, (number, _)) in &arrived.messages {
                if let Some(at) = arrived.told(*place) {
                    told_at.entry((*number, *account)).or_insert(at);
                }
            }
        }
        let mut watched = Watched {
            mailboxes: u32::try_from(self.by_account.len()).unwrap_or(u32::MAX),
            seen: 0,
            visible: Latencies::new(),
            told: Latencies::new(),
        };
        for delivery in ledger.deliveries() {
            let key = (delivery.number(), delivery.recipient());
            let accepted = delivery.answered();
            let counts = delivery.state() == State::Accepted && accepted >= began;
            let Some(at) = self.visible.get(&key).filter(|_| counts) else {
                continue;
            };
            watched.seen += 1;
            watched.visible.record(accepted.max(*at).since(accepted));
            if let Some(at) = told_at.get(&key) {
                watched.told.record(accepted.max(*at).since(accepted));
            }
        }
        Some(watched)
    }
}

/// Sessions under way.
pub(crate) struct Watching {
    is_over: Rc<Cell<bool>>,
    arrived: Rc<RefCell<BTreeMap<u32, Arrived>>>,
    tasks: Vec<Task<()>>,
}

/// What a session that watches needs.
#[derive(Clone)]
struct Watcher {
    setting: Setting,
    accounts: Rc<Accounts>,
    reading: Rc<Reading>,
    run: u64,
    account: u32,
    every: Span,
    is_over: Rc<Cell<bool>>,
    arrived: Rc<RefCell<BTreeMap<u32, Arrived>>>,
}

impl Watching {
    /// Starts the sessions that are asked for. Mailboxes are as they were when the course began:
    /// empty, or with messages of earlier runs.
    pub(crate) fn start(
        setting: &Setting,
        accounts: &Rc<Accounts>,
        reading: &Reading,
        run: u64,
    ) -> Self {
        let mut setting = setting.clone();
        setting.patience.reply = setting.patience.reply.min(PATIENCE);
        let is_over = Rc::new(Cell::new(false));
        let arrived = Rc::new(RefCell::new(BTreeMap::new()));
        let mut tasks = Vec::new();
        if let Some(watch) = reading.watch {
            let reading = Rc::new(reading.clone());
            let step = usize::try_from(watch.one_in.max(1)).unwrap_or(usize::MAX);
            for account in (0..accounts.count()).step_by(step) {
                arrived.borrow_mut().insert(account, Arrived::default());
                let watcher = Watcher {
                    setting: setting.clone(),
                    accounts: Rc::clone(accounts),
                    reading: Rc::clone(&reading),
                    run,
                    account,
                    every: watch.every,
                    is_over: Rc::clone(&is_over),
                    arrived: Rc::clone(&arrived),
                };
                let spawner = &setting.world.spawner;
                tasks.push(spawner.spawn(watcher.clone().watch("asking", Watcher::ask)));
                tasks.push(spawner.spawn(watcher.watch("waiting", Watcher::wait)));
            }
        }
        Self { is_over, arrived, tasks }
    }

    /// Ends them; what they have seen.
    pub(crate) async fn end(self) -> Arrivals {
        self.is_over.set(true);
        for task in self.tasks {
            task.await;
        }
        Arrivals::new(self.arrived.take())
    }
}

impl Watcher {
    /// Watches until the end, in one session after the other.
    async fn watch(
        self,
        name: &str,
        act: impl AsyncFn(&Self, &mut ImapSession) -> Result<(), Trouble>,
    ) {
        let random = self.setting.world.random.part("load").part("watch").part(name);
        let mut nonces = random.named(&format!("nonces/{}", self.account));
        let mut backoff = Backoff::new(random.named(&format!("backoff/{}", self.account)));
        let account = self.accounts.round(self.account);
        while !self.is_over.get() {
            let endpoint = &self.reading.endpoint;
            let ended = match ImapSession::open(&self.setting, endpoint, account, &mut nonces).await
            {
                Ok(mut session) => match act(&self, &mut session).await {
                    Ok(()) => return session.log_out().await,
                    Err(trouble) => session.end(trouble),
                },
                Err(ended) => ended,
            };
            let Ended { trouble, .. } = ended;
            self.setting.note(&trouble);
            if !trouble.is_passing() {
                return;
            }
            self.setting.world.sleep(backoff.wait()).await;
        }
    }

    /// Asks, and reads which messages have arrived.
    async fn ask(&self, session: &mut ImapSession) -> Result<(), Trouble> {
        let mut there = examine(session, b"INBOX").await?.messages;
        let seen = self.with(|arrived| arrived.messages.keys().next_back().copied());
        let mut known = seen.unwrap_or_default();
        loop {
            if there > known {
                let at = self.setting.world.clock.now();
                known = self.read_marks(session, known, at).await?.max(known);
            }
            if self.is_over.get() {
                return Ok(());
            }
            self.setting.world.sleep(self.every).await;
            session
                .must(Command::Noop, |event| {
                    if let Event::Data(Response::Exists(messages)) = event {
                        there = messages;
                    }
                    Ok(())
                })
                .await?;
        }
    }

    /// Reads the marks of messages after `known`; the last number that was shown.
    async fn read_marks(
        &self,
        session: &mut ImapSession,
        known: u32,
        at: Time,
    ) -> Result<u32, Trouble> {
        let set = format!("{}:*", known + 1);
        let mut last = known;
        marks(session, Command::FetchPlaces(&set, MARKS), |fetch, mark| {
            let mark = mark.filter(|mark| mark.run == self.run && fetch.number > known);
            if let Some(mark) = mark {
                let message = (mark.number, at);
                self.with(|arrived| arrived.messages.insert(fetch.number, message));
            }
            last = last.max(fetch.number);
        })
        .await?;
        Ok(last)
    }

    /// Waits to be told.
    async fn wait(&self, session: &mut ImapSession) -> Result<(), Trouble> {
        if !session.able().idle {
            return Ok(());
        }
        let there = examine(session, b"INBOX").await?.messages;
        // What is there already was not told, and after a broken session some never will be.
        let mut known = there;
        session
            .idle(
                || self.is_over.get(),
                |event| {
                    if let Event::Data(Response::Exists(messages)) = event
                        && messages > known
                    {
                        let at = self.setting.world.clock.now();
                        self.with(|arrived| arrived.told.push((known + 1, messages, at)));
                        known = messages;
                    }
                    Ok(())
                },
            )
            .await
    }

    fn with<T>(&self, act: impl FnOnce(&mut Arrived) -> T) -> T {
        act(self.arrived.borrow_mut().entry(self.account).or_default())
    }
}
