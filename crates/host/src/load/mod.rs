//! Tests of mail servers on this machine: are promises kept?
//!
//! ```text
//!   choice      which servers, and where they live
//!   servers     made and started (brunt-servers), attended to by a thread (attendant)
//!   demand      what is asked of servers; the course that follows (brunt-load), and its result
//!   watcher     says how far a course is, and looks at what is used
//!   course      hands of a course, which can kill
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
mod demand;
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
mod watcher;
mod words;
mod work;

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use brunt_load::{Account, Accounts, Anchor, Endpoint, Keep, Protocol, Secret, TlsUse, Trust};
use brunt_mail::incident::{Deed, Hop};
use brunt_mail::{Fault, FaultKind, Queue};
use brunt_report::result::{MailQueue, MailServer, Origin};
use brunt_report::{RunFolder, RunResult};
use brunt_run::Stop;
use brunt_servers::{MailSystem, Part, Plan, Store};
use brunt_units::{Span, Time};
use brunt_world::World;

pub use brunt_mail::incident::{self, Incident};
pub use brunt_servers::{Format, MailFsync};
pub use choice::{Asked, choose};
pub use cleaning::{CleanedRun, Orphan, clean, left_servers, orphans};
pub use control::has_control;
pub use demand::{Demand, Work};
pub use error::LoadError;
pub use incidents::{kill_each, power_cut};
pub use outcome::outline;
pub use telling::Telling;
pub use words::planned;

use attendant::Attendant;
use course::{Deeds, Hands};
use demand::{Begun, Ran};
use kept::{LedgerFile, Load};
use outcome::{Earlier, Judged};
use watcher::Watcher;

/// What a certificate for localhost is for.
const LOCALHOST: &str = "localhost";
/// How long a relay may take to hand on what it still holds. Mail that was put off is tried again
/// within eight seconds; a mailbox whose lock survived a power cut is closed for two minutes.
const DRAINS_WITHIN: Duration = Duration::from_secs(200);

/// What a test is to do.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The servers.
    pub plan: Plan,
    /// What is done to them, one after the other.
    pub incidents: Vec<Incident>,
    /// What is asked of them.
    pub demand: Demand,
}

/// Hears how a test is going.
pub trait LoadListener {
    /// Something began or was found.
    fn step(&self, what: &str);
    /// How much was sent, and how many deliveries were accepted; while mailboxes are filled, of what
    /// is put into them.
    fn progress(&self, share: f64, accepted: u64, is_filling: bool);
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
    let work = options.demand.work.as_ref();
    possible(options)?;
    for doubt in preflight::provide(users, work, (true, true))? {
        listener.step(&doubt);
    }
    let (home, elsewhere) = choice::home(folder.path(), &options.plan)?;
    if let Some(why) = elsewhere {
        listener.step(&format!("the servers live in {}: {why}", home.display()));
    }
    preflight::room(users, work, home.parent().unwrap_or(&home))?;
    // Before anything is made there: what a run leaves that is killed is found by this.
    Load::new(&home).keep(folder)?;
    let control = control::run(options, (&home, folder.path()), listener, stop)?;
    let system = made(&home, folder.path(), options)?;
    let ended = begin(options, system, folder, origin, listener, stop);
    if ended.is_err() {
        // It was made by this run a moment ago, and the servers are gone.
        let _ = fs::remove_dir_all(&home);
    }
    ended.map(|result| control::judge(result, control::cuts(options), control))
}

/// Refuses what cannot be done to these servers, before anything is started.
fn possible(options: &LoadOptions) -> Result<(), LoadError> {
    let Plan { store, relay, .. } = &options.plan;
    for (Incident { deed, .. }, what) in
        options.incidents.iter().zip(planned(&options.incidents, &options.plan))
    {
        let why = match deed {
            deed if deed.needs_relay() && relay.is_none() => "there is no relay",
            deed if deed.needs_limits() && *store == Store::Cyrus => {
                "brunt lowers the limits of Dovecot's mailboxes alone"
            }
            _ => continue,
        };
        return Err(LoadError::Numbers(format!("{what}: {why}")));
    }
    Ok(())
}

/// Servers for these options and for `run` in the folder `home`.
fn made(home: &Path, run: &Path, options: &LoadOptions) -> Result<MailSystem, LoadError> {
    let deeds = || options.incidents.iter().map(|incident| incident.deed);
    let plan = &options.plan;
    let mut system = match deeds().any(Deed::needs_volumes) {
        true => MailSystem::make_on_volumes(home, plan, options.demand.volume_bytes(plan.users))?,
        false => MailSystem::make(home, plan)?,
    };
    kept::keep_run(home, run)?;
    if deeds().any(|deed| deed.hop() == Some(Hop::Delivery)) {
        system.deliver_elsewhere()?;
    }
    if deeds().any(Deed::needs_limits) {
        system.give_limits()?;
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
    let ledger = Rc::new(LedgerFile::create(folder)?);
    let ran = ran(options, system, Rc::<LedgerFile>::clone(&ledger), listener, stop)?;
    ledger.sync()?;
    let reasons = |judged: &Judged<'_>, deeds: &Deeds| {
        let was_killed = deeds.done.iter().any(|done| done.deed.kills());
        let cut = control::cuts(options).then_some(deeds.cut_loses);
        outcome::reasons((was_killed, cut), &options.plan, judged, deeds)
    };
    ran.result(&options.demand, reasons, folder, origin, stop)
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
    let beginning = demand::beginning();
    let subject = Subject::of(&system, beginning.0.as_secs())?;
    let mut begun = Begun::new(&options.demand, subject, beginning)?;
    let mut entrance = begun.subject.entrance(&system);
    let ways = [
        (Hop::Sending, entrance.address, None),
        (Hop::Delivery, system.addresses().lmtp, Some(system.addresses().delivery)),
        (Hop::Reading, begun.subject.mailboxes.address, None),
    ];
    let hops = hops::open(&mut begun.real, &options.incidents, &ways)?;
    hops::lead(&hops, Hop::Sending, &mut entrance);
    hops::lead(&hops, Hop::Reading, &mut begun.subject.mailboxes);
    let (users, demand) = (options.plan.users, &options.demand);
    let between = system.messages_between().saturating_mul(demand.most_recipients(users));
    let names = names(&system);
    let device = usage::device(system.home());
    let attendant = Rc::new(Attendant::new(system).map_err(LoadError::Thread)?);
    let deeds = Rc::new(RefCell::new(Deeds::default()));
    let servers = Some((Rc::clone(&attendant), device.clone()));
    let watcher = Watcher::new(&begun.real.world, listener, (demand, users), servers);
    let hands = Hands {
        watcher: watcher.clone(),
        attendant,
        names: names.clone(),
        hops: Rc::new(hops),
        between,
        deeds: Rc::clone(&deeds),
    };
    let disturb = hands.disturb(options.incidents.clone(), begun.messages);
    let meanwhile = (watcher.watch(Some(disturb)), hands.drain(options.plan.relay.is_some()));
    drop(hands);
    let ran = begun.run(demand, entrance, meanwhile, keep, (listener, stop));
    let samples = watcher.samples();
    // The last hand on the servers, which stops them.
    drop(watcher);
    let mut ran = ran?;
    ran.deeds = deeds.borrow().clone();
    ran.usage = usage::between(&samples, ran.steady(), &names, device.as_deref());
    Ok(ran)
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
    let mut kept = kept::ledger(folder)?;
    let mut system = MailSystem::open(&load.servers)?;
    listener.step(&format!("starting the servers in {}", load.servers.display()));
    system.start()?;
    let queue = system.drain(DRAINS_WITHIN)?;
    let now = demand::unix_now().as_secs();
    let subject = Subject::of(&system, now)?;
    let earlier = Earlier::read(folder);
    let (mailing, ledger, _) = &mut kept;
    let kinds = || ledger.faults().iter().map(|fault| fault.kind);
    let was_cut = kinds().any(|kind| kind == FaultKind::PowerCut);
    let was_killed = kinds().any(FaultKind::kills) || !ledger.has_ended();
    if !ledger.has_ended() {
        // The servers died with brunt, some time after what it wrote last.
        let until = Time::ZERO + Span::seconds(now.saturating_sub(mailing.options().began));
        let in_flight = system.messages_between().saturating_mul(ledger.most_recipients());
        ledger.fault(Fault { kind: FaultKind::Kill, from: ledger.last(), until, in_flight });
    }
    let held = if queue.is_empty() { Queue::Empty } else { Queue::Holds(queue.messages) };
    let cut = was_cut.then_some(earlier.cut_loses);
    let reasons = |judged: &Judged<'_>| {
        outcome::reasons((was_killed, cut), system.plan(), judged, &Deeds::default())
    };
    let drain = |_: &World| async move { held };
    let mut result = demand::look_again(&subject, kept, drain, reasons, origin)?;
    system.stop()?;
    if let Some(mail) = &mut result.mail {
        mail.queue = Some(MailQueue { messages: queue.messages, deliveries: queue.deliveries });
        mail.cut_loses_unsynced = earlier.cut_loses;
        mail.faults = earlier.faults;
    }
    Ok(control::judge(result, was_cut, earlier.control))
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
