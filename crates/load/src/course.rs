//! The course of a run: check, send, disturb, drain, audit.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use brunt_mail::{Audit, Audited, Ledger, Mailing, Routing, Terms};
use brunt_protocols::tls::Trust;
use brunt_run::Stop;
use brunt_units::{Span, Time};
use brunt_users::Tally;
use brunt_world::World;

use crate::accounts::Accounts;
use crate::conversations::Conversations;
use crate::endpoint::{Endpoint, Login, Patience, Protocol, TlsUse};
use crate::errors::Errors;
use crate::progress::{Progress, Stopping};
use crate::reading::{self, Reading};
use crate::sending::{Keep, KeepError, Senders, Sending, Sent};
use crate::session::Setting;
use crate::users::{Filled, Team, Users};
use crate::watching::{Arrivals, Watched, Watching};

/// How many messages servers have accepted and not delivered.
pub trait Queue {
    /// Asks now. `None` when there is no answer.
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>>;
}

/// What is done to the servers while messages are sent. It waits for its moment itself, with
/// [`Progress::beginning`], the world's clock or [`Progress::reached`], and tells of the faults that it made
/// ([`Progress::fault`]). Draining begins when it has ended.
pub type Disturbance = Box<dyn FnOnce(Rc<Progress>) -> Pin<Box<dyn Future<Output = ()>>>>;

/// How long accepted messages may take.
pub enum Drain {
    /// No longer: the server that accepts is the one that stores.
    Nothing,
    /// Until this queue, which is asked at this interval, is empty; the deadline at the latest.
    Queue {
        /// The queue.
        queue: Rc<dyn Queue>,
        /// From one question to the next.
        every: Span,
        /// From the end of sending.
        deadline: Span,
    },
    /// This long, because there is no queue to ask.
    Deadline(Span),
}

/// A run.
pub struct Course {
    /// Its messages. The addresses are those of the accounts, in their order.
    pub mailing: Rc<Mailing>,
    /// Who sends and receives.
    pub accounts: Rc<Accounts>,
    /// Whom to trust, where TLS is used.
    pub trust: Option<Trust>,
    /// How long sessions wait.
    pub patience: Patience,
    /// How messages are sent.
    pub sending: Sending,
    /// Users who send them, among their other tasks; without any, senders do.
    pub users: Option<Users>,
    /// What is done meanwhile.
    pub disturbance: Option<Disturbance>,
    /// How long accepted messages may take.
    pub drain: Drain,
    /// How mailboxes are read.
    pub reading: Reading,
    /// What is asked beyond keeping promises.
    pub terms: Terms,
    /// Keeps the ledger.
    pub keep: Rc<dyn Keep>,
}

/// Why a run was not begun, or has no ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CourseError {
    /// The parts of the run contradict each other, or what keeps it safe.
    #[error("{0}")]
    Unfit(String),
    /// A mailbox holds messages that are not ours. Nothing was sent.
    #[error("the mailbox of {account} holds {messages} message{} without our mark: nothing was sent", if *messages == 1 { "" } else { "s" })]
    Foreign {
        /// The account's address.
        account: String,
        /// How many.
        messages: u64,
    },
    /// A mailbox cannot be looked into. Nothing was sent.
    #[error("the mailbox of {account} cannot be looked into, and nothing was sent: {trouble}")]
    Closed {
        /// The account's address.
        account: String,
        /// Why.
        trouble: crate::Trouble,
        /// The last lines of the session.
        lines: Vec<String>,
    },
    /// The ledger cannot be kept. What was sent before is not judged.
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// How draining ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// What servers still hold.
    pub queue: brunt_mail::Queue,
    /// From the end of sending.
    pub took: Span,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Messages that were begun: what was sent, and what came before it and after it.
    pub messages: u32,
    /// What was sent.
    pub sent: Sent,
    /// How mailboxes were filled before, if they were.
    pub filled: Option<Filled>,
    /// What users did, if there were any.
    pub tally: Option<Tally>,
    /// How draining ended.
    pub drained: Drained,
    /// How soon mail was seen, if it was watched.
    pub watched: Option<Watched>,
    /// What the mailboxes showed.
    pub audited: Audited,
    /// What went wrong in sessions.
    pub errors: Errors,
    /// Conversations of messages that were not simply accepted.
    pub conversations: Conversations,
    /// When it was asked to stop, if it was.
    pub stopped_at: Option<Time>,
}

/// Why a run cannot be begun, in words; `None` when it can.
pub fn unfit(course: &Course) -> Option<String> {
    let Course { sending, reading, .. } = course;
    if course.mailing.options().accounts != course.accounts.addresses() {
        return Some("the messages are for other accounts than those of the run".to_owned());
    }
    if sending.endpoint.protocol == Protocol::Imap {
        return Some("messages are sent by SMTP or LMTP".to_owned());
    }
    if reading.endpoint.protocol != Protocol::Imap {
        return Some("mailboxes are read by IMAP".to_owned());
    }
    if sending.sessions == 0 || reading.sessions == 0 {
        return Some("there must be a session".to_owned());
    }
    if sending.messages.is_none() && sending.time.is_none() {
        return Some("sending needs an end: a number of messages, or a time".to_owned());
    }
    if let Some(users) = &course.users {
        if users.mailboxes.protocol != Protocol::Imap {
            return Some("users read their mailboxes by IMAP".to_owned());
        }
        if course.mailing.options().routing != Routing::ByTurn {
            return Some("users decide whom they write to: messages go by turn".to_owned());
        }
    }
    let ends = [&sending.endpoint, &reading.endpoint];
    let of_users = course.users.as_ref().map(|users| &users.mailboxes);
    ends.into_iter()
        .chain(of_users)
        .find_map(|endpoint| unsafe_end(endpoint, course.trust.is_some()))
}

fn unsafe_end(endpoint: &Endpoint, has_trust: bool) -> Option<String> {
    let has_tls = endpoint.tls != TlsUse::None;
    if has_tls && !has_trust {
        return Some(format!("no certificate is trusted for {}", endpoint.address));
    }
    let shows_password = endpoint.login != Login::None && !has_tls && !endpoint.is_own_machine();
    shows_password.then(|| format!("passwords go to {} only over TLS", endpoint.address))
}

/// Runs a course to its end.
///
/// `stop` ends the sending; what was sent is audited all the same.
///
/// # Errors
/// When it must not begin, or its ledger cannot be kept.
pub async fn run(world: &World, mut course: Course, stop: &Stop) -> Result<Finished, CourseError> {
    if let Some(why) = unfit(&course) {
        return Err(CourseError::Unfit(why));
    }
    let reading = setting(world, course.trust.as_ref(), course.patience);
    check(&reading, &course).await?;
    let mut sending = reading.clone();
    let stopping = Stopping::new(world, stop);
    sending.stop = Some(stopping.clone());
    let disturbance = course.disturbance.take();
    let Course { accounts, mailing, sending: how, keep, .. } = &course;
    let senders = Senders::new(sending, accounts, mailing, how.clone(), keep);
    let progress = Rc::clone(&senders.progress);
    let disturbance = disturbance.map(|disturb| world.spawner.spawn(disturb(progress)));
    let team = course.users.clone().map(|users| Team::new(&senders, users));
    let filled = match &team {
        Some(team) => team.fill().await,
        None => None,
    };
    let watching = Watching::start(&reading, accounts, &course.reading, mailing.options().run);
    senders.begins();
    let (sent, tally) = match team {
        None => (senders.run().await?, None),
        Some(team) => {
            let (sent, tally) = team.run().await?;
            (sent, Some(tally))
        }
    };
    if let Some(disturbance) = disturbance {
        disturbance.await;
    }
    senders.keep()?;
    let ledger = &senders.ledger;
    // Nothing that comes after its end is read back.
    ledger.borrow_mut().end(senders.now());
    senders.keep()?;
    let drained = drain(world, &course.drain).await;
    let arrivals = Rc::new(watching.end().await);
    let watched = arrivals.against(&ledger.borrow(), sent.from);
    let empty = Ledger::new(mailing);
    let ledger = ledger.replace(empty);
    let mut audit = Audit::new(mailing, ledger, course.terms);
    audit.queue(drained.queue);
    let given = (audit, &arrivals);
    let audit = reading::audit(&reading, accounts, &course.reading, mailing, given).await;
    Ok(Finished {
        messages: senders.progress.begun(),
        sent,
        filled,
        tally,
        drained,
        watched,
        audited: audit.finish(),
        errors: reading.errors.take(),
        conversations: reading.conversations.take(),
        stopped_at: stopping.asked_at(),
    })
}

/// Audits a ledger of an earlier run; `queue` is what servers still hold of it.
pub async fn audit(
    world: &World,
    (mailing, ledger, queue): (&Rc<Mailing>, Ledger, brunt_mail::Queue),
    accounts: &Rc<Accounts>,
    reading: &Reading,
    (trust, patience, terms): (Option<&Trust>, Patience, Terms),
) -> (Audited, Errors, Conversations) {
    let setting = setting(world, trust, patience);
    let mut audit = Audit::new(mailing, ledger, terms);
    audit.queue(queue);
    let given = (audit, &Rc::new(Arrivals::default()));
    let audit = reading::audit(&setting, accounts, reading, mailing, given).await;
    (audit.finish(), setting.errors.take(), setting.conversations.take())
}

pub(crate) fn setting(world: &World, trust: Option<&Trust>, patience: Patience) -> Setting {
    Setting {
        world: world.clone(),
        trust: trust.cloned(),
        patience,
        acknowledges_at_once: Rc::default(),
        stop: None,
        folders: Rc::new(RefCell::default()),
        errors: Rc::new(RefCell::default()),
        conversations: Rc::new(RefCell::default()),
    }
}

/// Refuses mailboxes that hold anything without our mark, and those that cannot be looked into.
async fn check(setting: &Setting, course: &Course) -> Result<(), CourseError> {
    let found = reading::holdings(setting, &course.accounts, &course.reading).await;
    for (number, holdings) in found {
        let account = course.accounts.round(number).address.clone();
        match holdings {
            Ok(holdings) if holdings.foreign > 0 => {
                return Err(CourseError::Foreign { account, messages: holdings.foreign });
            }
            Ok(_) => {}
            Err(ended) => {
                let (trouble, lines) = (ended.trouble, ended.lines);
                return Err(CourseError::Closed { account, trouble, lines });
            }
        }
    }
    Ok(())
}

/// Waits as long as `drain` says, and what servers still hold then.
pub async fn drain(world: &World, drain: &Drain) -> Drained {
    let began = world.clock.now();
    let queue = match drain {
        Drain::Nothing => brunt_mail::Queue::Empty,
        Drain::Deadline(span) => {
            world.sleep(*span).await;
            brunt_mail::Queue::DeadlinePassed
        }
        Drain::Queue { queue, every, deadline } => {
            ask(world, queue.as_ref(), *every, began + *deadline).await
        }
    };
    Drained { queue, took: world.clock.now().since(began) }
}

/// Asks until the queue was empty twice: a message on its way from one part of a queue to another
/// may be in neither for a moment.
async fn ask(world: &World, queue: &dyn Queue, every: Span, deadline: Time) -> brunt_mail::Queue {
    let mut empty = 0;
    let mut known = None;
    loop {
        let left = deadline.max(world.clock.now()).since(world.clock.now());
        let waiting = world.within(left, queue.waiting()).await.flatten();
        known = waiting.or(known);
        empty = if waiting == Some(0) { empty + 1 } else { 0 };
        if empty == 2 {
            return brunt_mail::Queue::Empty;
        }
        if world.clock.now() + every > deadline {
            // What it held at the last answer counts, where the last question had none.
            return match known {
                Some(messages) => brunt_mail::Queue::Holds(messages),
                None => brunt_mail::Queue::DeadlinePassed,
            };
        }
        world.sleep(every).await;
    }
}
