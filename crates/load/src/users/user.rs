//! One user: takes tasks from its desk and does them.

use std::rc::Rc;

use brunt_units::Span;
use brunt_users::{Dispatch, TaskKind};
use brunt_world::random::Stream;

use super::inbox::{Inbox, Memory};
use super::{Team, Waiting};
use crate::backoff::Backoff;
use crate::conversations::Conversation;
use crate::errors::{Trouble, TroubleKind};
use crate::session::ImapSession;

/// A user waits this long for a server before it gives a task up.
const GIVES_UP: Span = Span::seconds(60);
/// Between tasks that ask nothing of servers.
const MOMENT: Span = Span::millis(1);
/// How long a user idles at once.
const IDLES: Span = Span::seconds(2);

/// Where a task failed.
enum Failed {
    Sending(Trouble),
    Mailbox(Trouble),
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        Self::Mailbox(trouble)
    }
}

pub(super) struct User {
    pub(super) team: Rc<Team>,
    number: u32,
    inbox: Option<Inbox>,
    /// What was known of the inbox when its session ended.
    memory: Memory,
    draw: Stream,
    nonces: Stream,
    backoff: Backoff,
}

impl User {
    pub(super) fn new(team: &Rc<Team>, number: u32) -> Box<Self> {
        let stream = |what: &str| team.streams.named(&format!("{what}/{number}"));
        Box::new(Self {
            team: Rc::clone(team),
            number,
            inbox: None,
            memory: team.memories.borrow_mut().remove(&number).unwrap_or_default(),
            draw: stream("acts"),
            nonces: stream("nonces"),
            backoff: Backoff::new(stream("backoff")),
        })
    }

    /// Works until the run ends. What stands here of a user is held thousands of times, so it is in a
    /// box, and so is what it does.
    pub(super) async fn run(mut self: Box<Self>) -> Box<Self> {
        let team = Rc::clone(&self.team);
        let mut has_begun = false;
        while let Some(waiting) = team.take(self.number, has_begun, &mut self.draw).await {
            has_begun = true;
            let begun = self.team.senders.now();
            self.team.tally.borrow_mut().begun(waiting.kind, waiting.intended, begun);
            let is_done = Box::pin(self.until_done(&waiting)).await;
            let now = self.team.senders.now();
            self.team.tally.borrow_mut().ended(waiting.kind, waiting.intended, begun, now, is_done);
            if now == begun && team.users.dispatch == Dispatch::AtOnce {
                // It asked nothing of a server. Others are let in.
                team.senders.setting.world.sleep(MOMENT).await;
            }
        }
        Box::pin(self.take_leave()).await;
        self
    }

    /// Ends the session; what is known of the inbox stays.
    pub(super) async fn take_leave(&mut self) {
        if let Some(inbox) = self.inbox.take() {
            self.memory = inbox.memory;
            inbox.session.log_out().await;
        }
    }

    /// Messages in the inbox, as far as they are known.
    pub(super) fn messages(&self) -> usize {
        let memory = self.inbox.as_ref().map_or(&self.memory, |inbox| &inbox.memory);
        memory.messages()
    }

    /// Does a task, and not again if it fails.
    pub(super) async fn once(&mut self, waiting: &Waiting) -> bool {
        match self.perform(waiting, &mut false).await {
            Ok(()) => true,
            Err(failed) => {
                self.note(failed);
                false
            }
        }
    }

    /// Does a task, again after each broken connection; `false` when it was given up.
    async fn until_done(&mut self, waiting: &Waiting) -> bool {
        let begun = self.team.senders.now();
        let mut is_sent = false;
        loop {
            let failed = match self.perform(waiting, &mut is_sent).await {
                Ok(()) => {
                    self.backoff.reset();
                    return true;
                }
                Err(failed) => failed,
            };
            let trouble = self.note(failed);
            let setting = &self.team.senders.setting;
            let is_over = !self.team.goes_on() || setting.world.clock.now() > begun + GIVES_UP;
            let is_final =
                matches!(trouble.kind, TroubleKind::CommandRefused | TroubleKind::RefusedForGood);
            if is_over || is_final || !trouble.is_passing() {
                return false;
            }
            let wait = self.backoff.wait();
            setting.world.sleep(wait).await;
        }
    }

    /// Notes what failed. A session with trouble is not used any more.
    fn note(&mut self, failed: Failed) -> Trouble {
        let setting = &self.team.senders.setting;
        let trouble = match failed {
            Failed::Sending(trouble) => trouble,
            Failed::Mailbox(trouble) => {
                let is_refused = trouble.kind == TroubleKind::CommandRefused;
                if let Some(inbox) = self.inbox.take_if(|_| !is_refused) {
                    self.memory = inbox.memory;
                    let lines = inbox.session.end(trouble.clone()).lines;
                    let session = format!("user {}", self.number);
                    let messages = Vec::new();
                    setting.keep_trouble(Conversation { session, messages, lines });
                }
                trouble
            }
        };
        setting.note(&trouble);
        trouble
    }

    /// The inbox, which is opened first if it is not open.
    pub(super) async fn inbox(&mut self) -> Result<&mut Inbox, Trouble> {
        if self.inbox.is_none() {
            let (setting, endpoint) = (&self.team.senders.setting, &self.team.users.mailboxes);
            let account = self.team.senders.accounts.round(self.number);
            let opened = ImapSession::open(setting, endpoint, account, &mut self.nonces).await;
            let session = opened.map_err(|ended| ended.trouble)?;
            let client = self.client();
            let user = (&self.team, self.number);
            let inbox = Inbox::open(session, user, client, &mut self.memory).await?;
            self.inbox = Some(inbox);
        }
        Ok(self.inbox.as_mut().expect("it was opened"))
    }

    /// Which client this user has: of a hundred users as many as the profile says.
    fn client(&self) -> brunt_users::Client {
        let clients = &self.team.users.profile.clients;
        // Neighbours have different clients.
        let place = f64::from(self.number.wrapping_mul(37) % 100);
        let mut sum = 0.0;
        for (client, percent) in clients {
            sum += percent;
            if place < sum {
                return *client;
            }
        }
        clients.last().map_or(brunt_users::Client::Thunderbird, |(client, _)| *client)
    }

    /// Does a task; `is_sent` says whether its message went out before.
    async fn perform(&mut self, waiting: &Waiting, is_sent: &mut bool) -> Result<(), Failed> {
        let kind = waiting.kind;
        if kind.submits() {
            if !*is_sent {
                let to = self.recipients(waiting);
                let (name, team) = (format!("user {}", self.number), Rc::clone(&self.team));
                let sent = team.send(self.number, &to, (&name, &mut self.nonces)).await;
                sent.map_err(Failed::Sending)?;
                *is_sent = true;
            }
            let folder = match kind {
                TaskKind::Invite | TaskKind::AnswerInvitation => "Calendar",
                _ => "Sent",
            };
            self.inbox().await?.append(folder).await?;
            if kind == TaskKind::Reply
                && let Some(uid) = waiting.about
            {
                self.inbox().await?.answered(uid).await?;
            }
            return Ok(());
        }
        let (number, team) = (self.number, Rc::clone(&self.team));
        let about = waiting.about;
        if kind == TaskKind::CheckInbox {
            let seen = self.inbox().await?.check().await?;
            for uid in seen {
                team.react(number, uid, &mut self.draw);
            }
            return Ok(());
        }
        let pick = self.draw.bits();
        let inbox = self.inbox().await?;
        let done = match kind {
            TaskKind::LogOn => Ok(()),
            TaskKind::Read | TaskKind::ReadAttachment => inbox.read(about, pick).await,
            TaskKind::Move => inbox.move_to((kind, "Archive"), about, pick).await,
            TaskKind::Filter => inbox.move_to((kind, "Junk"), about, pick).await,
            TaskKind::Delete => inbox.delete(about, pick).await,
            TaskKind::AddMessage => inbox.append("INBOX").await,
            TaskKind::UpdateCalendar => inbox.append("Calendar").await,
            TaskKind::UpdateContact => inbox.append("Contacts").await,
            TaskKind::Flag => inbox.flag(about, pick).await,
            TaskKind::Idle => inbox.idle(IDLES).await,
            other => inbox.ask(other, pick).await,
        };
        Ok(done?)
    }

    /// Who a message goes to: a reply, too, goes to as many as the profile says.
    fn recipients(&mut self, waiting: &Waiting) -> Vec<u32> {
        let recipients = self.team.users.profile.recipients;
        let accounts = self.team.senders.accounts.count();
        let list = recipients.list.filter(|_| waiting.recipients.is_none());
        let recipients = brunt_users::Recipients {
            mean: waiting.recipients.map_or(recipients.mean, f64::from),
            list,
        };
        recipients.draw(accounts, self.number, self.team.streams, &mut self.draw)
    }
}
