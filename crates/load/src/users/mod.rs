//! Users at work: each does its tasks one after the other, when they are due.
//!
//! ```text
//!   schedule ----> desk of a user      tasks wait there; the schedule does not wait for servers
//!   reactions --->   |
//!                    v
//!                  user: inbox (IMAP), letters (SMTP)      every change is a promise of the ledger
//!                    |
//!                    v
//!                  tally: from when it was due until it was done
//! ```
//!
//! A task that meets a broken connection is begun anew until it is done, as its user would: how long
//! that takes counts. A message that is sent anew is a new message.
//!
//! Users who never wait take the next task themselves, drawn from their profile, when the one before is
//! done; mail that they have seen comes first.
//!
//! Before the day, mailboxes are filled as the profile says, if that is wanted (`fill`).
//!
//! After the day, tasks that waited for TCP's timer are done again without it (`again`).
//!
//! Mail that the profile says comes from elsewhere is sent beside the users.

mod again;
mod fill;
mod inbox;
mod user;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use brunt_mail::Event as Delivery;
use brunt_units::{Span, Time};
use brunt_users::{Day, Dispatch, Profile, Schedule, Tally, TaskKind, TaskRate, Until};
use brunt_world::World;
use brunt_world::random::{Stream, Streams};
use brunt_world::sync::Event;

use crate::endpoint::Endpoint;
use crate::errors::{Trouble, TroubleKind};
use crate::sending::{KeepError, Senders, Sent};
use crate::session::{GLANCE, Post};
use inbox::Memory;
use user::User;

pub use fill::Filled;

/// Sessions that bring mail from elsewhere.
const ELSEWHERE: u32 = 4;
/// How often the queues are looked at.
const SAMPLE: Span = Span::seconds(1);

/// What users do, instead of only sending.
#[derive(Clone, Debug)]
pub struct Users {
    /// What each of them does.
    pub profile: Rc<Profile>,
    /// How long days take, and the run.
    pub day: Day,
    /// When they begin a task.
    pub dispatch: Dispatch,
    /// The rule whose failure ends the run.
    pub until: Option<Until>,
    /// Messages that are put into each mailbox before the day.
    pub fill: u32,
    /// Where they read their mail.
    pub mailboxes: Endpoint,
}

/// A task that waits for its user.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    intended: Time,
    kind: TaskKind,
    recipients: Option<u32>,
    /// The UID of the message that it is about.
    about: Option<u32>,
}

/// A queue of work.
struct Desk<T> {
    queue: RefCell<VecDeque<T>>,
    changed: Event,
}

impl<T> Desk<T> {
    fn new(world: &World) -> Self {
        Self { queue: RefCell::default(), changed: Event::new(world.spawner.tasks()) }
    }

    fn put(&self, waiting: T) {
        self.queue.borrow_mut().push_back(waiting);
        self.changed.notify();
    }

    /// The next one; `None` at the end of the run, whatever waits still.
    async fn next(&self, is_over: &Cell<bool>) -> Option<T> {
        let next = || match is_over.get() {
            true => Some(None),
            false => self.queue.borrow_mut().pop_front().map(Some),
        };
        self.changed.wait(next).await
    }
}

/// All users, and what they share.
pub(crate) struct Team {
    senders: Rc<Senders>,
    users: Users,
    streams: Streams,
    tally: RefCell<Tally>,
    /// Messages that each account has made.
    turns: RefCell<Vec<u32>>,
    desks: Vec<Desk<Waiting>>,
    /// Recipients of mail from elsewhere that waits to be sent.
    elsewhere: Desk<u32>,
    /// What each user knows of its inbox before the day.
    memories: RefCell<BTreeMap<u32, Memory>>,
    began: Cell<Time>,
    is_over: Cell<bool>,
}

impl Team {
    pub(crate) fn new(senders: &Rc<Senders>, users: Users) -> Rc<Self> {
        let world = &senders.setting.world;
        let began = senders.now();
        let accounts = senders.accounts.count();
        Rc::new(Self {
            senders: Rc::clone(senders),
            streams: world.random.part("users"),
            tally: RefCell::new(Tally::new(began, began)),
            turns: RefCell::new(vec![0; accounts as usize]),
            desks: (0..accounts).map(|_| Desk::new(world)).collect(),
            elsewhere: Desk::new(world),
            memories: RefCell::default(),
            began: Cell::new(began),
            is_over: Cell::new(false),
            users,
        })
    }

    /// Lets users work until the run ends.
    pub(crate) async fn run(self: &Rc<Self>) -> Result<(Sent, Tally), KeepError> {
        let (began, (from, to)) = (self.senders.now(), self.users.day.steady());
        self.began.set(began);
        *self.tally.borrow_mut() = Tally::new(began + from, began + to);
        let spawner = &self.senders.setting.world.spawner;
        let accounts = self.senders.accounts.count();
        let users: Vec<_> =
            (0..accounts).map(|number| spawner.spawn(User::new(self, number).run())).collect();
        let elsewhere: Vec<_> =
            (0..ELSEWHERE).map(|number| spawner.spawn(Rc::clone(self).bring(number))).collect();
        let arrivals = spawner.spawn(Rc::clone(self).arrivals());
        self.hand_out().await;
        arrivals.await;
        self.is_over.set(true);
        self.desks.iter().for_each(|desk| desk.changed.notify());
        self.elsewhere.changed.notify();
        let mut done = Vec::new();
        for user in users {
            done.push(user.await);
        }
        for task in elsewhere {
            task.await;
        }
        self.tally.borrow_mut().end(self.senders.now());
        let sent = self.senders.sent();
        again::again(self, &mut done).await;
        self.senders.end()?;
        Ok((sent, self.tally.borrow().clone()))
    }

    fn goes_on(&self) -> bool {
        let has_failed = |until: Until| until.has_failed(&self.tally.borrow());
        self.senders.goes_on()
            && self.senders.now() < self.began.get() + self.users.day.run
            && !self.users.until.is_some_and(has_failed)
    }

    /// Puts tasks on desks when they are due, and looks at the queues.
    async fn hand_out(&self) {
        let accounts = self.senders.accounts.count();
        let schedule =
            Schedule::new(&self.users.profile, accounts, self.users.day, self.streams.seed());
        let logons = (0..accounts).map(|user| (schedule.logon(user), user));
        let mut logons = logons.collect::<VecDeque<_>>();
        let mut sampled = self.began.get();
        let is_open = self.users.dispatch == Dispatch::WhenDue;
        let mut schedule = schedule.take_while(|_| is_open).peekable();
        while self.goes_on() {
            let now = self.senders.now();
            let passed = Time::ZERO + now.since(self.began.get());
            while let Some((at, user)) = logons.front().copied()
                && at <= passed
            {
                logons.pop_front();
                self.put(user, self.waiting(TaskKind::LogOn, at));
            }
            while let Some(due) = schedule.next_if(|due| due.at <= passed) {
                let waiting = self.waiting(due.kind, due.at);
                self.put(due.user, Waiting { recipients: due.recipients, ..waiting });
            }
            if now >= sampled + SAMPLE {
                sampled = now;
                self.tally.borrow_mut().sample(now);
            }
            let next = schedule.peek().map(|due| due.at).into_iter();
            let next = next.chain(logons.front().map(|(at, _)| *at)).min();
            let next = next.map_or(now + GLANCE, |at| self.began.get() + at.since(Time::ZERO));
            let end = self.began.get() + self.users.day.run;
            let glance = (now + GLANCE).min(end);
            self.senders.setting.world.sleep_until(next.min(glance)).await;
            if next <= glance {
                self.tally.borrow_mut().woke(next, self.senders.now());
            }
        }
    }

    fn waiting(&self, kind: TaskKind, at: Time) -> Waiting {
        let intended = self.began.get() + at.since(Time::ZERO);
        Waiting { intended, kind, recipients: None, about: None }
    }

    fn put(&self, user: u32, waiting: Waiting) {
        if self.users.dispatch == Dispatch::WhenDue {
            self.tally.borrow_mut().due(waiting.kind, waiting.intended);
        }
        self.desks[user as usize].put(waiting);
    }

    /// The next task of a user, who `has_begun` with one before; `None` at the end of the run.
    async fn take(&self, user: u32, has_begun: bool, draw: &mut Stream) -> Option<Waiting> {
        let desk = &self.desks[user as usize];
        if self.users.dispatch == Dispatch::WhenDue {
            return desk.next(&self.is_over).await;
        }
        let waiting = match has_begun {
            false => desk.next(&self.is_over).await,
            true if !self.goes_on() => None,
            true => desk.queue.borrow_mut().pop_front().or_else(|| {
                let TaskRate { kind, recipients, .. } = self.users.profile.draw(draw);
                Some(Waiting { recipients, ..self.waiting(kind, Time::ZERO) })
            }),
        };
        // It is due when its user has the time.
        let waiting = waiting.map(|one| Waiting { intended: self.senders.now(), ..one })?;
        self.tally.borrow_mut().due(waiting.kind, waiting.intended);
        Some(waiting)
    }

    /// `user` sees message `uid`, and will do with it what the profile says.
    fn react(self: &Rc<Self>, user: u32, uid: u32, draw: &mut Stream) {
        let profile = &self.users.profile;
        let share = self.users.day.length.as_seconds() / profile.day.as_seconds();
        for reaction in &profile.reactions {
            if draw.unit() * 100.0 >= reaction.percent {
                continue;
            }
            let mean = Span::from_seconds(reaction.after.as_seconds() * share);
            let after = match self.users.dispatch {
                Dispatch::WhenDue => draw.exponential(mean),
                Dispatch::AtOnce => Span::ZERO,
            };
            let intended = self.senders.now() + after;
            let kind = reaction.kind;
            let waiting = Waiting { intended, kind, recipients: None, about: Some(uid) };
            let team = Rc::clone(self);
            let world = self.senders.setting.world.clone();
            drop(self.senders.setting.world.spawner.spawn(async move {
                world.sleep_until(intended).await;
                if team.goes_on() {
                    team.put(user, waiting);
                }
            }));
        }
    }

    /// The number of the next message that `account` makes; `None` beyond four billion.
    fn claim(&self, account: u32) -> Option<u32> {
        let turn = &mut self.turns.borrow_mut()[account as usize];
        let number = self.senders.mailing.number(account, *turn)?;
        *turn += 1;
        self.senders.ledger.borrow_mut().claim(number);
        Some(number)
    }

    /// Sends a message of `account` over a session of its own.
    async fn send(
        &self,
        account: u32,
        to: &[u32],
        (name, nonces): (&str, &mut Stream),
    ) -> Result<(), Trouble> {
        let senders = &self.senders;
        let owner = senders.accounts.round(account);
        let endpoint = &senders.sending.endpoint;
        let opening = senders.now();
        let post = Post::open(&senders.setting, endpoint, owner, name, nonces).await;
        let mut post = post.map_err(|ended| ended.trouble)?;
        let opened = senders.now();
        self.tally.borrow_mut().opened(opened, opened.since(opening));
        senders.sessions.update(|count| count + 1);
        let no_number = || Trouble::new(TroubleKind::System, "no number for another message");
        let number = self.claim(account).ok_or_else(no_number)?;
        if !senders.begin_to(number, to) {
            return Err(Trouble::new(TroubleKind::System, "the ledger cannot be kept"));
        }
        let began = senders.now();
        let mut message = brunt_mail::Message::new(&senders.mailing, number);
        let fate = post.deliver(&senders.mailing, (number, to), &mut message, false).await;
        senders.finish((number, to), began, &fate);
        if fate.events.iter().any(|event| event.is_refusal_for_good()) {
            self.tally.borrow_mut().refuses_for_good();
        }
        let accepted = fate.accepted();
        if accepted > 0 {
            self.tally.borrow_mut().accepted(senders.now(), accepted);
        }
        if !fate.is_plain() {
            senders.setting.keep_trouble(post.conversation());
        }
        if let Some(trouble) = fate.trouble {
            return Err(trouble);
        }
        let last_words = post.quit().await;
        senders.setting.conversations.borrow_mut().end(last_words);
        match fate.refusal {
            Some(refusal) if refusal.is_permanent() => {
                Err(Trouble::new(TroubleKind::RefusedForGood, refusal.to_string()))
            }
            Some(refusal) => Err(Trouble::new(TroubleKind::RefusedForNow, refusal.to_string())),
            None => Ok(()),
        }
    }

    /// Mail from elsewhere becomes due, at random instants.
    async fn arrivals(self: Rc<Self>) {
        let users = self.senders.accounts.count();
        let per_day = self.users.profile.from_elsewhere_per_day * f64::from(users);
        if per_day <= 0.0 {
            return;
        }
        let gap = Span::from_seconds(self.users.day.length.as_seconds() / per_day);
        let mut draw = self.streams.named("elsewhere");
        let mut due = self.began.get();
        loop {
            due += draw.exponential(gap);
            while self.senders.now() < due {
                if !self.goes_on() {
                    return;
                }
                let glance = self.senders.now() + GLANCE;
                self.senders.setting.world.sleep_until(due.min(glance)).await;
            }
            let to = u32::try_from(draw.below(u64::from(users))).expect("it is below a u32");
            self.elsewhere.put(to);
        }
    }

    /// Brings mail from elsewhere, message after message.
    async fn bring(self: Rc<Self>, number: u32) {
        let mut nonces = self.streams.named(&format!("elsewhere/{number}"));
        let name = format!("from elsewhere {number}");
        while let Some(to) = self.elsewhere.next(&self.is_over).await {
            // The sender is another account: no others are known here.
            let from = (to + 1) % self.senders.accounts.count();
            if let Err(trouble) = self.send(from, &[to], (&name, &mut nonces)).await {
                self.senders.setting.note(&trouble);
                self.senders.setting.world.sleep(GLANCE).await;
            }
        }
    }

    /// Records an APPEND of `account` to a folder: before it, and after it.
    fn appends(&self, account: u32) -> Option<u32> {
        let number = self.claim(account)?;
        self.senders.begin_to(number, &[account]).then_some(number)
    }

    fn appended(
        &self,
        account: u32,
        number: u32,
        place: (u16, brunt_mail::Flags),
        event: Delivery,
    ) {
        let now = self.senders.now();
        self.senders.ledger.borrow_mut().appended((account, number), place, now, event);
        self.senders.progress.finish(u64::from(event == Delivery::Accepted));
    }
}
