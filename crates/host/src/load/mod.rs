//! Tests of mail servers on this machine: are promises kept?
//!
//! ```text
//!   choice      which servers, and where they live
//!   servers     made and started (brunt-servers), attended to by a thread (attendant)
//!   course      send, disturb, drain, audit (brunt-load), with hands that can kill
//!   incidents   what is done to servers and to connections (hops), in words
//!   control     the same power cut where mail is not synced, which must lose some
//!   target      the same course on servers that brunt did not start
//!   cleaning    messages of a run, removed again
//!   preflight   open files, ports, and what else sessions need of this machine
//!   judge       rules, verdict, words; outcome: the result around them
//!   kept        ledger.bin, conversations.log, load.json
//! ```
//!
//! A ledger is on file before the verdict depends on it, so [`audit`] looks at the mailboxes again
//! at any later time, also of a run that was killed.

mod attendant;
mod cause;
mod choice;
mod cleaning;
mod control;
mod course;
mod error;
mod hops;
mod incidents;
mod judge;
mod kept;
mod outcome;
mod preflight;
pub mod target;
mod telling;
mod usage;
mod words;
mod work;

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_load::{
    Account, Accounts, Anchor, Course, Endpoint, Finished, Keep, Patience, Protocol, Reading,
    Secret, Sending, TlsUse, Trust, Users, Watch,
};
use brunt_mail::incident::{Deed, Hop};
use brunt_mail::{Mailing, MailingOptions, Queue, Terms};
use brunt_report::result::{MailQueue, MailServer, MailUsage, Origin};
use brunt_report::{RunFolder, RunResult};
use brunt_run::Stop;
use brunt_servers::{MailSystem, Part, Plan};
use brunt_units::{Span, Time};
use brunt_users::{Day, Dispatch, Profile, Tally, Until};
use brunt_world::World;
use brunt_world_real::{ClockZero, Options, RealWorld, StartError};

pub use brunt_mail::incident::{self, Incident};
pub use brunt_servers::{Format, MailFsync};
pub use choice::{Asked, choose};
pub use cleaning::{CleanedRun, clean, left_servers};
pub use error::LoadError;
pub use incidents::{kill_each, power_cut};
pub use outcome::outline;
pub use telling::Telling;
pub use words::planned;

use attendant::Attendant;
use course::{Deeds, Hands};
use kept::{LedgerFile, Load};
use outcome::Judged;

/// Memory for I/O of the world, which does none on disks.
const SLAB_BYTES: usize = 1 << 20;
/// What a certificate for localhost is for.
const LOCALHOST: &str = "localhost";
/// How long a relay may take to hand on what it still holds.
const DRAINS_WITHIN: Duration = Duration::from_secs(40);
/// How often it is looked whether a stop was asked for.
const LOOK: Span = Span::millis(50);

/// What a test is to do.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The servers.
    pub plan: Plan,
    /// Deliveries, at least: the last message may have more recipients. Users at work send what
    /// their profile says instead.
    pub deliveries: u64,
    /// What users do; without it mail is only sent.
    pub work: Option<Work>,
    /// What messages contain, and who gets them.
    pub seed: u64,
    /// What is done to the servers, one after the other.
    pub incidents: Vec<Incident>,
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

/// Hears how a test is going.
pub trait LoadListener {
    /// Something began or was found.
    fn step(&self, what: &str);
    /// How much was sent, and how many deliveries were accepted.
    fn progress(&self, share: f64, accepted: u64);
}

/// Tests servers of our own, for a program called as `origin` says, and keeps everything in
/// `folder`.
///
/// # Errors
/// [`LoadError`] when there is no result. Nothing runs then, and nothing stays of the servers.
pub fn run(
    options: &LoadOptions,
    folder: &RunFolder,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn LoadListener>,
    stop: &Stop,
) -> Result<RunResult, LoadError> {
    let users = options.plan.users;
    preflight::room(users, options.work.as_ref(), folder.path())?;
    for doubt in preflight::provide(users, options.work.as_ref(), (true, true))? {
        listener.step(&doubt);
    }
    let (home, elsewhere) = choice::home(folder.path(), &options.plan)?;
    if let Some(why) = elsewhere {
        listener.step(&format!("the servers live in {}: {why}", home.display()));
    }
    let control = control::run(options, &home, listener, stop)?;
    let system = made(&home, options)?;
    let ended = begin(options, system, folder, origin, listener, stop);
    if ended.is_err() {
        // It was made by this run a moment ago, and the servers are gone.
        let _ = fs::remove_dir_all(&home);
    }
    ended.map(|result| control::judge(result, options, control))
}

/// Servers for these options in the folder `home`.
fn made(home: &Path, options: &LoadOptions) -> Result<MailSystem, LoadError> {
    let deeds = || options.incidents.iter().map(|incident| incident.deed);
    if let Some(deed) = deeds().find(|deed| deed.needs_relay() && options.plan.relay.is_none()) {
        let what = words::done(deed, &[]);
        return Err(LoadError::Numbers(format!("{what}: there is no relay")));
    }
    let mut system = match deeds().any(Deed::needs_volumes) {
        true => MailSystem::make_on_volumes(home, &options.plan, options.volume_bytes())?,
        false => MailSystem::make(home, &options.plan)?,
    };
    if deeds().any(|deed| deed.hop() == Some(Hop::Delivery)) {
        system.deliver_elsewhere()?;
    }
    Ok(system)
}

fn begin(
    options: &LoadOptions,
    mut system: MailSystem,
    folder: &RunFolder,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn LoadListener>,
    stop: &Stop,
) -> Result<RunResult, LoadError> {
    system.start()?;
    for server in system.servers() {
        listener.step(&format!("{} {} is ready", server.name, server.version));
    }
    Load::new(system.home()).keep(folder)?;
    let ledger = Rc::new(LedgerFile::create(folder)?);
    let ran = ran(options, system, Rc::<LedgerFile>::clone(&ledger), listener, stop)?;
    ledger.sync()?;
    let Ran { id, began, subject, mailing, finished, deeds, usage, real } = ran;
    let judged = Judged { mailing: &mailing, audited: &finished.audited, errors: &finished.errors };
    let mut mail = outcome::mail(&subject, &judged, Some((&finished, &deeds)));
    mail.usage = usage;
    kept::conversations(folder, &mail.findings, &finished.conversations)?;
    let verdict = outcome::verdict(&finished, stop);
    let was_disturbed = !deeds.done.is_empty();
    let was_killed = deeds.done.iter().any(|done| done.deed.kills());
    let reasons = outcome::reasons(was_killed, &options.plan, &judged, &deeds);
    let times = outcome::times(began, finished.sent.from, finished.sent.until);
    let origin = origin(options.seed, format!("{id:016x}"));
    let result = outcome::result(&judged, mail, verdict, reasons, times, origin, &real);
    Ok(match options.work.as_ref().zip(finished.tally.as_ref()) {
        Some((work, tally)) => {
            let users = subject.accounts.count();
            let checked = work::Checked::new(work, tally, users, was_disturbed);
            checked.put_into(result, finished.filled)
        }
        None => result,
    })
}

/// A course that has ended.
struct Ran {
    id: u64,
    /// In Unix seconds.
    began: u64,
    subject: Subject,
    mailing: Rc<Mailing>,
    finished: Finished,
    deeds: Deeds,
    usage: Option<MailUsage>,
    real: RealWorld,
}

/// What is the same for a run and for a later audit.
struct Subject {
    accounts: Rc<Accounts>,
    trust: Option<Trust>,
    mailboxes: Endpoint,
    servers: Vec<MailServer>,
    protocol: &'static str,
}

impl Subject {
    fn of(system: &MailSystem, now: u64) -> Result<Self, LoadError> {
        let accounts = system.accounts().iter().map(|account| Account {
            address: account.address(),
            user: account.name.clone(),
            secret: Secret::new(account.password.reveal()),
        });
        let certificate = system.certificate()?.into_bytes();
        let imaps = Endpoint::new(system.addresses().imaps, Protocol::Imap);
        Ok(Self {
            accounts: Rc::new(Accounts::new(accounts.collect())?),
            trust: Some(Trust::new(&Anchor::Certificate(certificate), now)?),
            mailboxes: imaps.with_tls(TlsUse::Implicit, LOCALHOST),
            servers: outcome::servers(system),
            protocol: if system.plan().relay.is_some() { "smtp" } else { "lmtp" },
        })
    }

    /// Where mail is sent to: the relay, with TLS, or the store.
    fn entrance(&self, system: &MailSystem) -> Endpoint {
        let addresses = system.addresses();
        match addresses.smtp {
            Some(smtp) => Endpoint::new(smtp, Protocol::Smtp).with_tls(TlsUse::StartTls, LOCALHOST),
            None => Endpoint::new(addresses.lmtp, Protocol::Lmtp),
        }
    }
}

/// Runs the course on servers that are ready.
fn ran(
    options: &LoadOptions,
    system: MailSystem,
    keep: Rc<dyn Keep>,
    listener: &Rc<dyn LoadListener>,
    stop: &Stop,
) -> Result<Ran, LoadError> {
    let begun = SystemTime::now();
    let zero = ClockZero::now();
    let began = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut subject = Subject::of(&system, began.as_secs())?;
    let id = run_id(began.as_nanos());
    let accounts = subject.accounts.addresses();
    let mailing = MailingOptions::new(id, options.seed, began.as_secs(), accounts);
    let (mailing, messages) = what_is_sent(options.work.as_ref(), options.deliveries, mailing)?;
    let mut real = world(options.seed, zero)?;
    let mut entrance = subject.entrance(&system);
    let ways = [
        (Hop::Sending, entrance.address, None),
        (Hop::Delivery, system.addresses().lmtp, Some(system.addresses().delivery)),
        (Hop::Reading, subject.mailboxes.address, None),
    ];
    let hops = hops::open(&mut real, &options.incidents, &ways)?;
    hops::lead(&hops, Hop::Sending, &mut entrance);
    hops::lead(&hops, Hop::Reading, &mut subject.mailboxes);
    let between = system.messages_between().saturating_mul(options.most_recipients());
    let names = names(&system);
    let device = usage::device(system.home());
    let attendant = Rc::new(Attendant::new(system).map_err(LoadError::Thread)?);
    let deeds = Rc::new(RefCell::new(Deeds::default()));
    let hands = Hands {
        world: real.world.clone(),
        attendant: Rc::clone(&attendant),
        listener: Rc::clone(listener),
        names: names.clone(),
        fill: options.fill(),
        device: device.clone(),
        hops: Rc::new(hops),
        between,
        deeds: Rc::clone(&deeds),
        accepted: Rc::default(),
        lasts: options.lasts(),
    };
    let disturbance = hands.disturb(options.incidents.clone(), messages);
    let course = Course {
        mailing: Rc::clone(&mailing),
        accounts: Rc::clone(&subject.accounts),
        trust: subject.trust.clone(),
        patience: Patience::default(),
        sending: Sending {
            messages,
            time: options.lasts(),
            ..Sending::new(entrance, messages.unwrap_or_default())
        },
        disturbance: Some(hands.watch(Some(disturbance))),
        drain: hands.drain(options.plan.relay.is_some()),
        users: options.work.as_ref().map(|work| Users {
            profile: Rc::clone(&work.profile),
            day: work.day,
            dispatch: work.dispatch,
            until: work.until,
            fill: work.fill,
            mailboxes: subject.mailboxes.clone(),
        }),
        reading: Reading {
            watch: Some(Watch::default()),
            ..Reading::new(subject.mailboxes.clone())
        },
        terms: Terms { limit: options.limit, ..Terms::default() },
        keep,
    };
    drop(hands);
    let finished = run_course(&mut real, course, stop, listener);
    drop(attendant);
    let (finished, deeds) = (finished?, deeds.borrow().clone());
    let whole = (finished.sent.from, finished.sent.until);
    let looked_at = finished.tally.as_ref().map_or(whole, Tally::steady);
    let usage = usage::between(&deeds.samples, looked_at, &names, device.as_deref());
    Ok(Ran { id, began: began.as_secs(), subject, mailing, finished, deeds, usage, real })
}

fn world(seed: u64, zero: ClockZero) -> Result<RealWorld, StartError> {
    RealWorld::new(&Options { slab_bytes: SLAB_BYTES, seed, zero, ..Options::default() })
}

/// The messages of a test, and how many, where a number ends it.
fn what_is_sent(
    work: Option<&Work>,
    deliveries: u64,
    mailing: MailingOptions,
) -> Result<(Rc<Mailing>, Option<u32>), LoadError> {
    if let Some(work) = work {
        return Ok((Rc::new(Mailing::new(work::mailing(work, mailing))?), None));
    }
    let users = u32::try_from(mailing.accounts.len()).unwrap_or(u32::MAX);
    let most = u8::try_from(most_recipients(users, None)).unwrap_or(u8::MAX);
    let mailing = Rc::new(Mailing::new(MailingOptions { recipients: (1, most), ..mailing })?);
    let messages = messages(&mailing, deliveries)?;
    Ok((mailing, Some(messages)))
}

/// Runs the course to its end, or until a stop is asked for.
fn run_course(
    real: &mut RealWorld,
    course: Course,
    stop: &Stop,
    listener: &Rc<dyn LoadListener>,
) -> Result<Finished, LoadError> {
    let world = real.world.clone();
    let (asked, stop, listener) = (stop.clone(), stop.clone(), Rc::clone(listener));
    real.executor.block_on(async move {
        let watching = world.clone();
        // It ends with the executor.
        drop(world.spawner.spawn(async move {
            while !asked.is_asked() {
                watching.sleep(LOOK).await;
            }
            listener.step("stopping: what was sent is still looked for");
        }));
        Ok(brunt_load::run(&world, course, &stop).await?)
    })
}

/// Looks at the mailboxes of the run in `folder` again, which is left as it is but for a new
/// result.
///
/// # Errors
/// [`LoadError`] when there is no result.
pub fn audit(
    folder: &Path,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn LoadListener>,
) -> Result<RunResult, LoadError> {
    let load = Load::read(folder)?;
    let (mailing, ledger, remark) = kept::ledger(folder)?;
    let mut system = MailSystem::open(&load.servers)?;
    listener.step(&format!("starting the servers in {}", load.servers.display()));
    system.start()?;
    let queue = system.drain(DRAINS_WITHIN)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let subject = Subject::of(&system, now.as_secs())?;
    let mut real = RealWorld::new(&Options { slab_bytes: SLAB_BYTES, ..Options::default() })?;
    let world: World = real.world.clone();
    let (messages, was_killed) = (ledger.messages(), !ledger.faults().is_empty());
    let (terms, patience) = (Terms::default(), Patience::default());
    let reading = Reading::new(subject.mailboxes.clone());
    let (accounts, trust) = (Rc::clone(&subject.accounts), subject.trust.clone());
    let audited_of = Rc::clone(&mailing);
    let ((audited, errors, _), queue) = real.executor.block_on(async move {
        let whom = (trust.as_ref(), patience, terms);
        let held = if queue.is_empty() { Queue::Empty } else { Queue::Holds(queue.messages) };
        let what = (&audited_of, ledger, held);
        (brunt_load::audit(&world, what, &accounts, &reading, whom).await, queue)
    });
    let plan = system.plan().clone();
    system.stop()?;
    let judged = Judged { mailing: &mailing, audited: &audited, errors: &errors };
    let mut mail = outcome::mail(&subject, &judged, None);
    mail.messages = messages.into();
    mail.queue = Some(MailQueue { messages: queue.messages, deliveries: queue.deliveries });
    let verdict = judge::verdict(&audited);
    let mut reasons = outcome::reasons(was_killed, &plan, &judged, &Deeds::default());
    reasons.extend(remark);
    let times = outcome::times(now.as_secs(), Time::ZERO, Time::ZERO);
    let id = format!("{:016x}", mailing.options().run);
    let origin = origin(mailing.options().seed, id);
    Ok(outcome::result(&judged, mail, verdict, reasons, times, origin, &real))
}

/// Removes the servers of the run in `folder`, which ended: what it found stays, and it cannot be
/// audited again.
///
/// # Errors
/// [`LoadError`] when there are none, or they cannot be removed.
pub fn remove_servers(folder: &Path) -> Result<(), LoadError> {
    let load = Load::read(folder)?;
    fs::remove_dir_all(&load.servers).map_err(LoadError::at(&load.servers))?;
    Load::forget(folder)
}

/// The parts with their names, the store first.
fn names(system: &MailSystem) -> Vec<(Part, &'static str)> {
    let names = system.servers().into_iter().rev().map(|server| server.name);
    [Part::Store, Part::Relay].into_iter().zip(names).collect()
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

impl LoadOptions {
    fn most_recipients(&self) -> u32 {
        most_recipients(self.plan.users, self.work.as_ref())
    }

    /// Room for everything that is sent, several times over. What is not written takes none.
    fn volume_bytes(&self) -> u64 {
        const LEAST: u64 = 2 << 30;
        const OF_DELIVERY: u64 = 256 << 10;
        const MOST: u64 = 1 << 40;
        LEAST.saturating_add(self.deliveries.saturating_mul(OF_DELIVERY)).min(MOST)
    }

    /// Messages that are put into mailboxes before the day.
    fn fill(&self) -> u64 {
        let each = self.work.as_ref().map_or(0, |work| work.fill);
        u64::from(each) * u64::from(self.plan.users)
    }

    /// How long mail is sent, where no number of messages ends it.
    fn lasts(&self) -> Option<Span> {
        self.work.as_ref().map(|work| work.day.run)
    }
}

/// A number that no other run of this machine has.
fn run_id(nanos: u128) -> u64 {
    let mixed = nanos ^ (u128::from(std::process::id()) << 40);
    u64::try_from(mixed & u128::from(u64::MAX)).unwrap_or_default()
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
