//! What a test asks of servers, from its first message to its result: the same for servers that are
//! started for it and for those of the user.
//!
//! ```text
//!   Demand  --begin-->  Begun: a world, and the messages     --course, run-->  Ran  --result-->  RunResult
//!                       audit: mailboxes of an earlier run   ------------------------------------^
//! ```

use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_load::{
    Course, Disturbance, Drain, Endpoint, Finished, Keep, Patience, Reading, Sending, Users, Watch,
};
use brunt_mail::{Mailing, MailingOptions, Queue, Terms};
use brunt_report::result::{MailUsage, Origin};
use brunt_report::{RunFolder, RunResult};
use brunt_run::Stop;
use brunt_units::{Span, Time};
use brunt_users::{Day, Dispatch, Profile, Tally, Until};
use brunt_world::World;
use brunt_world_real::{ClockZero, Options, RealWorld};

use super::course::Deeds;
use super::kept::{self, Kept};
use super::outcome::{self, Judged};
use super::{LoadError, LoadListener, Subject, judge, work};
use crate::plan;

/// Memory for I/O of the world, which does none on disks.
const SLAB_BYTES: usize = 1 << 20;
/// How often it is looked whether a stop was asked for.
const LOOK: Span = Span::millis(50);

/// What is asked of servers.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The number of the run, which no other of this machine has: its messages bear it, and its
    /// journal and its result are called by it.
    pub run: u64,
    /// Deliveries, at least: the last message may have more recipients. Users at work send what
    /// their profile says instead.
    pub deliveries: u64,
    /// What users do; without it mail is only sent.
    pub work: Option<Work>,
    /// What messages contain, and who gets them.
    pub seed: u64,
    /// Longest time from acceptance until a message is there; none is judged without it.
    pub limit: Option<Span>,
}

/// Users at work.
#[derive(Clone, Debug)]
pub struct Work {
    /// What each of them does.
    pub profile: Rc<Profile>,
    /// How long days take, and the run.
    pub day: Day,
    /// When users begin a task.
    pub dispatch: Dispatch,
    /// The rule whose failure ends the run.
    pub until: Option<Until>,
    /// Messages that are put into each mailbox before the day.
    pub fill: u32,
}

/// A test that is about to send.
pub(super) struct Begun {
    /// In Unix seconds.
    began: u64,
    pub(super) subject: Subject,
    mailing: Rc<Mailing>,
    /// How many messages are sent, where a number ends the test.
    pub(super) messages: Option<u32>,
    pub(super) real: RealWorld,
}

/// A course that has ended.
pub(super) struct Ran {
    begun: Begun,
    pub(super) finished: Finished,
    /// What was done to servers of our own.
    pub(super) deeds: Deeds,
    /// What servers of our own used.
    pub(super) usage: Option<MailUsage>,
}

/// The time since 1970.
pub(super) fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// One moment on both clocks.
pub(super) fn beginning() -> (Duration, ClockZero) {
    (unix_now(), ClockZero::now())
}

/// A world without disks.
pub(super) fn world(seed: u64, zero: ClockZero) -> Result<RealWorld, LoadError> {
    let options = Options { slab_bytes: SLAB_BYTES, seed, zero, ..Options::default() };
    Ok(RealWorld::new(&options)?)
}

impl Demand {
    /// A number for a run that begins now.
    pub fn number() -> u64 {
        plan::run_id(SystemTime::now()).0
    }

    /// What the run is called.
    pub fn run_id(&self) -> String {
        run_id(self.run)
    }

    pub(super) fn most_recipients(&self, users: u32) -> u32 {
        most_recipients(users, self.work.as_ref())
    }

    /// Room for everything that is sent to `users` or fills their mailboxes, several times over. What
    /// is not written takes none.
    pub(super) fn volume_bytes(&self, users: u32) -> u64 {
        const LEAST: u64 = 2 << 30;
        const OF_DELIVERY: u64 = 256 << 10;
        const MOST: u64 = 1 << 40;
        let of_mail = match &self.work {
            Some(work) => work::mail_bytes(work, users).saturating_mul(4),
            None => self.deliveries.saturating_mul(OF_DELIVERY),
        };
        LEAST.saturating_add(of_mail).min(MOST)
    }

    /// Messages that are put into the mailboxes of `users` before the day.
    pub(super) fn fill(&self, users: u32) -> u64 {
        let each = self.work.as_ref().map_or(0, |work| work.fill);
        u64::from(each) * u64::from(users)
    }

    /// How long mail is sent, where no number of messages ends it.
    pub(super) fn lasts(&self) -> Option<Span> {
        self.work.as_ref().map(|work| work.day.run)
    }

    /// The messages of a test, and how many, where a number ends it.
    fn messages(&self, mailing: MailingOptions) -> Result<(Rc<Mailing>, Option<u32>), LoadError> {
        if let Some(work) = &self.work {
            return Ok((Rc::new(Mailing::new(work::mailing(work, mailing))?), None));
        }
        let users = u32::try_from(mailing.accounts.len()).unwrap_or(u32::MAX);
        let most = u8::try_from(self.most_recipients(users)).unwrap_or(u8::MAX);
        let mailing = Rc::new(Mailing::new(MailingOptions { recipients: (1, most), ..mailing })?);
        let messages = messages(&mailing, self.deliveries)?;
        Ok((mailing, Some(messages)))
    }
}

impl Begun {
    /// A test of `subject` that began at `beginning`.
    pub(super) fn new(
        demand: &Demand,
        subject: Subject,
        (began, zero): (Duration, ClockZero),
    ) -> Result<Self, LoadError> {
        let began = began.as_secs();
        let accounts = subject.accounts.addresses();
        let mailing = MailingOptions::new(demand.run, demand.seed, began, accounts);
        let (mailing, messages) = demand.messages(mailing)?;
        let real = world(demand.seed, zero)?;
        Ok(Self { began, subject, mailing, messages, real })
    }

    /// Runs the course to its end, or until a stop is asked for.
    pub(super) fn run(
        mut self,
        demand: &Demand,
        entrance: Endpoint,
        meanwhile: (Disturbance, Drain),
        keep: Rc<dyn Keep>,
        (listener, stop): (&Rc<dyn LoadListener>, &Stop),
    ) -> Result<Ran, LoadError> {
        let course = self.course(demand, entrance, meanwhile, keep);
        let world = self.real.world.clone();
        let (asked, stop, listener) = (stop.clone(), stop.clone(), Rc::clone(listener));
        let finished = self.real.executor.block_on(async move {
            let watching = world.clone();
            // It ends with the executor.
            drop(world.spawner.spawn(async move {
                while !asked.is_asked() {
                    watching.sleep(LOOK).await;
                }
                listener.step("stopping: what was sent is still looked for");
            }));
            brunt_load::run(&world, course, &stop).await
        })?;
        Ok(Ran { begun: self, finished, deeds: Deeds::default(), usage: None })
    }

    fn course(
        &self,
        demand: &Demand,
        entrance: Endpoint,
        (disturbance, drain): (Disturbance, Drain),
        keep: Rc<dyn Keep>,
    ) -> Course {
        let mailboxes = &self.subject.mailboxes;
        Course {
            mailing: Rc::clone(&self.mailing),
            accounts: Rc::clone(&self.subject.accounts),
            trust: self.subject.trust.clone(),
            patience: Patience::default(),
            sending: Sending {
                messages: self.messages,
                time: demand.lasts(),
                ..Sending::new(entrance, self.messages.unwrap_or_default())
            },
            disturbance: Some(disturbance),
            drain,
            users: demand.work.as_ref().map(|work| Users {
                profile: Rc::clone(&work.profile),
                day: work.day,
                dispatch: work.dispatch,
                until: work.until,
                fill: work.fill,
                mailboxes: mailboxes.clone(),
            }),
            reading: Reading { watch: Some(Watch::default()), ..Reading::new(mailboxes.clone()) },
            terms: Terms { limit: demand.limit, ..Terms::default() },
            keep,
        }
    }
}

impl Ran {
    /// The part of it that figures are about.
    pub(super) fn steady(&self) -> (Time, Time) {
        let whole = (self.finished.sent.from, self.finished.sent.until);
        self.finished.tally.as_ref().map_or(whole, Tally::steady)
    }

    /// The result; what was said around messages that are not as promised is kept in `folder`.
    pub(super) fn result(
        self,
        demand: &Demand,
        reasons: impl FnOnce(&Judged<'_>, &Deeds) -> Vec<String>,
        folder: &RunFolder,
        origin: impl FnOnce(u64, String) -> Origin,
        stop: &Stop,
    ) -> Result<RunResult, LoadError> {
        let Self { begun, finished, deeds, usage } = self;
        let Begun { began, subject, mailing, real, .. } = begun;
        let judged =
            Judged { mailing: &mailing, audited: &finished.audited, errors: &finished.errors };
        let mut mail = outcome::mail(&subject, &judged, Some((&finished, &deeds)));
        mail.usage = usage;
        kept::conversations(folder, &mail.findings, &finished.conversations)?;
        let verdict = outcome::verdict(&finished, stop);
        let reasons = reasons(&judged, &deeds);
        let times = outcome::times(began, finished.sent.from, finished.sent.until);
        let origin = origin(demand.seed, demand.run_id());
        let result = outcome::result(&judged, mail, verdict, reasons, times, origin, &real);
        Ok(match demand.work.as_ref().zip(finished.tally.as_ref()) {
            Some((work, tally)) => {
                let (users, was_disturbed) = (subject.accounts.count(), !deeds.done.is_empty());
                let checked = work::Checked::new(work, tally, users, was_disturbed);
                checked.put_into(result, finished.filled)
            }
            None => result,
        })
    }
}

/// Looks at the mailboxes of an earlier run again, when `drain` says what servers still hold.
pub(super) fn look_again<H: Future<Output = Queue> + 'static>(
    subject: &Subject,
    (mailing, ledger, remark): Kept,
    drain: impl FnOnce(&World) -> H,
    reasons: impl FnOnce(&Judged<'_>) -> Vec<String>,
    origin: impl FnOnce(u64, String) -> Origin,
) -> Result<RunResult, LoadError> {
    let (now, zero) = beginning();
    let mut real = world(0, zero)?;
    let messages = ledger.messages();
    let (world, reading) = (real.world.clone(), Reading::new(subject.mailboxes.clone()));
    let (held, audited_of) = (drain(&world), Rc::clone(&mailing));
    let (accounts, trust) = (Rc::clone(&subject.accounts), subject.trust.clone());
    let (audited, errors, _) = real.executor.block_on(async move {
        let what = (&audited_of, ledger, held.await);
        let whom = (trust.as_ref(), Patience::default(), Terms::default());
        brunt_load::audit(&world, what, &accounts, &reading, whom).await
    });
    let judged = Judged { mailing: &mailing, audited: &audited, errors: &errors };
    let mut mail = outcome::mail(subject, &judged, None);
    mail.messages = messages.into();
    let mut reasons = reasons(&judged);
    reasons.extend(remark);
    let times = outcome::times(now.as_secs(), Time::ZERO, Time::ZERO);
    let origin = origin(mailing.options().seed, run_id(mailing.options().run));
    let verdict = judge::verdict(&audited);
    Ok(outcome::result(&judged, mail, verdict, reasons, times, origin, &real))
}

/// How many messages it takes for this many deliveries.
fn messages(mailing: &Mailing, deliveries: u64) -> Result<u32, LoadError> {
    let mut made = 0;
    for number in 0..u32::MAX {
        if made >= deliveries {
            return Ok(number);
        }
        made += u64::try_from(mailing.route(number).to.len()).unwrap_or(1);
    }
    Err(LoadError::Numbers(format!("{deliveries} deliveries are more than a run can have")))
}

/// The most recipients of a message: five, or what a profile says.
fn most_recipients(users: u32, work: Option<&Work>) -> u32 {
    users.min(work.map_or(5, |work| work::most_recipients(&work.profile)))
}

fn run_id(number: u64) -> String {
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_completes_the_deliveries() {
        let accounts = (0..50).map(|user| format!("u{user:04}@test.invalid")).collect();
        let mailing = Mailing::new(MailingOptions::new(1, 7, 0, accounts)).unwrap();
        let made = |messages: u32| -> usize {
            (0..messages).map(|number| mailing.route(number).to.len()).sum()
        };
        for wanted in [1, 100, 5_000] {
            let messages = messages(&mailing, wanted).unwrap();
            let wanted = usize::try_from(wanted).unwrap();
            assert!(made(messages) >= wanted && made(messages - 1) < wanted);
        }
        assert_eq!([1, 3, 5, 900].map(|users| most_recipients(users, None)), [1, 3, 5, 5]);
    }
}
