//! Servers that brunt did not start: whether they may be tested, and how they are.
//!
//! ```text
//!   find     allowed on the command line or this machine; accounts from their file; whom to trust
//!   test     the course of a test, without hands: nothing is killed
//!   audit    the same mailboxes again
//! ```
//!
//! The accounts of the file send and receive, and no others. A mailbox that holds anything
//! without our mark is refused before the first message.

mod accounts;
mod queue;

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::rc::Rc;

use brunt_load::{
    Accounts, Anchor, Drain, Endpoint, Login, Mechanism as Way, Protocol, TlsUse, Trust,
};
use brunt_mail::{Audited, Mailing};
use brunt_report::result::{MailServer, Origin};
use brunt_report::{RunFolder, RunResult};
use brunt_run::Stop;
use brunt_scenario::{Address, Mechanism, Placed, Refusal, Speaks, Target, Tls};
use brunt_units::Span;
use brunt_world::World;

use super::demand::{self, Begun, Demand};
use super::kept::{self, LedgerFile};
use super::outcome::Judged;
use super::watcher::Watcher;
use super::{LoadError, LoadListener, Subject, judge, usage};
use crate::consent::TargetConsent;
use crate::exec;

pub use accounts::{AccountsFileError, AskPassword};
pub use brunt_load::Secret;
use queue::AskedQueue;

/// Whom the system trusts.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// How often the relay is asked what it holds.
const ASK: Span = Span::seconds(1);

/// Servers of the user's own that may be tested.
pub struct Foreign {
    target: Target,
    accounts: Rc<Accounts>,
    trust: Option<Trust>,
    entrance: Endpoint,
    mailboxes: Endpoint,
    is_insecure: bool,
}

impl Foreign {
    /// Looks whether `target` may be tested, and with which accounts: the first `users` of the file,
    /// or all. Nothing is connected to.
    ///
    /// # Errors
    /// [`LoadError`] when something is not allowed, or not there.
    pub fn find(
        target: &Target,
        users: Option<u32>,
        consent: &TargetConsent,
        ask: AskPassword<'_>,
    ) -> Result<Self, LoadError> {
        let [send, read] = [&target.send, &target.read].map(|address| allowed(address, consent));
        let (send, read) = (send?, read?);
        may_ask(target.queue_command.as_ref(), consent)?;
        let accounts = Rc::new(accounts::read(target, users, ask)?);
        let trust = trust(target, consent)?;
        let name = |address: &Address| target.name.clone().unwrap_or(address.host().to_owned());
        let protocol = match target.protocol {
            Speaks::Submission | Speaks::Relay => Protocol::Smtp,
            Speaks::Lmtp => Protocol::Lmtp,
        };
        let login = login(target.auth);
        let sending = if target.protocol == Speaks::Submission { login } else { Login::None };
        let entrance = Endpoint::new(send, protocol).with_login(sending);
        let mailboxes = Endpoint::new(read, Protocol::Imap).with_login(login);
        Ok(Self {
            entrance: entrance.with_tls(tls(target.send_tls), name(&target.send.value)),
            mailboxes: mailboxes.with_tls(tls(target.read_tls), name(&target.read.value)),
            target: target.clone(),
            accounts,
            trust,
            is_insecure: consent.insecure,
        })
    }

    /// How many users there are.
    pub fn users(&self) -> u32 {
        self.accounts.count()
    }

    /// The addresses that are connected to, of the entrance and of the mailboxes.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        [self.entrance.address, self.mailboxes.address]
    }

    /// What is known of them: the entrance, and where mailboxes are read.
    pub fn servers(&self) -> [MailServer; 2] {
        let one = |address: &Address, role: &str, settings: String| MailServer {
            name: address.to_string(),
            version: None,
            role: role.to_owned(),
            settings,
        };
        let target = &self.target;
        let speaks = match target.protocol {
            Speaks::Submission => "submission",
            Speaks::Relay => "relay",
            Speaks::Lmtp => "lmtp",
        };
        let said = |what: &str, use_of: Tls| match use_of {
            Tls::None => format!("{what} without TLS"),
            Tls::StartTls => format!("{what}, STARTTLS"),
            Tls::Implicit => format!("{what} over TLS"),
        };
        [
            one(&target.send.value, "entrance", said(speaks, target.send_tls)),
            one(&target.read.value, "mailboxes", said("imap", target.read_tls)),
        ]
    }

    fn subject(&self) -> Subject {
        Subject {
            accounts: Rc::clone(&self.accounts),
            trust: self.trust.clone(),
            mailboxes: self.mailboxes.clone(),
            servers: self.servers().into(),
            protocol: if self.target.protocol == Speaks::Lmtp { "lmtp" } else { "smtp" },
        }
    }

    /// The same with the accounts of an earlier run, which has sent `mailing`.
    pub(super) fn subject_of(&self, mailing: &Mailing) -> Result<Subject, LoadError> {
        let path = &self.target.accounts.value;
        let known = |address: &String| {
            let account = self.accounts.iter().find(|account| account.address == *address);
            let why = || format!("lacks {address}, which the run had");
            account.cloned().ok_or_else(|| LoadError::Kept { path: path.clone(), why: why() })
        };
        let accounts = mailing.options().accounts.iter().map(known).collect::<Result<_, _>>()?;
        Ok(Subject { accounts: Rc::new(Accounts::new(accounts)?), ..self.subject() })
    }

    /// How long accepted mail may take. Who accepts by LMTP has stored it.
    fn drain(&self, world: &World, listener: &Rc<dyn LoadListener>) -> Drain {
        let deadline = self.target.deadline;
        match (&self.target.queue_command, self.target.protocol) {
            (Some(command), _) => Drain::Queue {
                queue: Rc::new(AskedQueue::new(world, command, listener)),
                every: ASK,
                deadline,
            },
            (None, Speaks::Lmtp) => Drain::Nothing,
            (None, _) => Drain::Deadline(deadline),
        }
    }

    /// What is to be said about a verdict on servers that brunt does not know.
    fn reasons(&self, audited: &Audited) -> Vec<String> {
        let mut reasons = vec![
            "brunt did not start these servers, and nothing was killed: what a crash would lose is not known"
                .to_owned(),
        ];
        if self.is_insecure && self.trust.is_some() {
            reasons.push(
                "--insecure: certificates were not checked, so these may have been other servers"
                    .to_owned(),
            );
        }
        if self.target.queue_command.is_none() && self.target.protocol != Speaks::Lmtp {
            reasons.push(format!(
                "the relay was not asked what it holds (queue_command): what is not there {} after the end of sending counts as lost",
                self.target.deadline
            ));
        }
        reasons.extend(judge::others(audited));
        reasons
    }
}

/// The address of a server, if mail may be sent there.
fn allowed(address: &Placed<Address>, consent: &TargetConsent) -> Result<SocketAddr, LoadError> {
    let Placed { value, place } = address;
    let found = (value.host(), value.port()).to_socket_addrs();
    let found: Vec<SocketAddr> = match found {
        Ok(found) => found.collect(),
        Err(error) => {
            let refusal = place.refuse(format!("{}: {error}", value.host()));
            return Err(refusal.hint("the name of a host that this machine can find").into());
        }
    };
    // There is one address for a whole run, and most servers have one of the older kind.
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    let Some(first) = first else {
        let refusal = place.refuse(format!("{} has no address", value.host()));
        return Err(refusal.hint("the name of a host that this machine can find").into());
    };
    let is_named = consent.targets.iter().any(|host| host.eq_ignore_ascii_case(value.host()));
    match first.ip().is_loopback() || is_named {
        true => Ok(*first),
        false => {
            let refusal = place.refuse("is not this machine, and testing it is not allowed");
            Err(refusal.hint(format!("to allow it: --allow-target {}", value.host())).into())
        }
    }
}

/// Whether the user's command may be run.
fn may_ask(command: Option<&Placed<Vec<String>>>, consent: &TargetConsent) -> Result<(), Refusal> {
    let Some(command) = command else {
        return Ok(());
    };
    let shown = crate::shell::line(&command.value);
    if !consent.exec {
        let refusal = command.place.refuse("runs a command, and that is not allowed");
        return Err(refusal.hint(format!("to allow it, add --allow-exec: {shown}")));
    }
    match command.value.first().is_some_and(|program| exec::found(program).is_some()) {
        true => Ok(()),
        false => Err(command.place.refuse("there is no such program").hint(format!(
            "a program with a slash is relative to the scenario; others are looked for in {}",
            exec::PATH
        ))),
    }
}

/// Whom to trust; no one is needed without TLS.
fn trust(target: &Target, consent: &TargetConsent) -> Result<Option<Trust>, LoadError> {
    if target.send_tls == Tls::None && target.read_tls == Tls::None {
        return Ok(None);
    }
    let text = |path: &Path| fs::read(path).map_err(LoadError::at(path));
    let (path, anchor) = match (&target.certificate, &target.ca) {
        _ if consent.insecure => (Path::new("--insecure"), Anchor::Anybody),
        (Some(only), _) => (only.value.as_path(), Anchor::Certificate(text(&only.value)?)),
        (None, Some(ca)) => (ca.value.as_path(), Anchor::Authorities(text(&ca.value)?)),
        (None, None) => {
            (Path::new(AUTHORITIES), Anchor::Authorities(text(Path::new(AUTHORITIES))?))
        }
    };
    let now = demand::unix_now();
    let refused = |error: brunt_load::TrustError| LoadError::Kept {
        path: path.to_owned(),
        why: error.to_string(),
    };
    Trust::new(&anchor, now.as_secs()).map(Some).map_err(refused)
}

fn tls(tls: Tls) -> TlsUse {
    match tls {
        Tls::None => TlsUse::None,
        Tls::StartTls => TlsUse::StartTls,
        Tls::Implicit => TlsUse::Implicit,
    }
}

fn login(mechanism: Mechanism) -> Login {
    Login::By(match mechanism {
        Mechanism::Best => return Login::Best,
        Mechanism::Plain => Way::Plain,
        Mechanism::Login => Way::Login,
        Mechanism::ScramSha256 => Way::ScramSha256,
        Mechanism::XOAuth2 => Way::XOAuth2,
    })
}

/// Tests these servers, for a program called as `origin` says, and keeps everything in `folder`.
///
/// # Errors
/// [`LoadError`] when there is no result.
pub fn test(
    foreign: &Foreign,
    demand: &Demand,
    folder: &RunFolder,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn LoadListener>,
    stop: &Stop,
) -> Result<RunResult, LoadError> {
    let are_here = foreign.addresses().iter().all(|address| address.ip().is_loopback());
    let (work, users) = (demand.work.as_ref(), foreign.users());
    for doubt in super::preflight::provide(users, work, (false, are_here))? {
        listener.step(&doubt);
    }
    let begun = Begun::new(demand, foreign.subject(), demand::beginning())?;
    let ledger = Rc::new(LedgerFile::create(folder)?);
    let drain = foreign.drain(&begun.real.world, listener);
    let watcher = Watcher::new(&begun.real.world, listener, (demand, users), None);
    let meanwhile = (watcher.watch(None), drain);
    let (entrance, keep) = (foreign.entrance.clone(), Rc::<LedgerFile>::clone(&ledger));
    let mut ran = begun.run(demand, entrance, meanwhile, keep, (listener, stop))?;
    ran.usage = usage::between(&watcher.samples(), ran.steady(), &[], None);
    if let Some(usage) = ran.usage.as_mut().filter(|_| !are_here) {
        // What this machine does besides says nothing about servers elsewhere.
        (usage.machine_busy, usage.memory_available_mib_min) = (None, None);
        (usage.stalled_on_processor, usage.stalled_on_io) = (None, None);
    }
    ledger.sync()?;
    ran.result(demand, |judged, _| foreign.reasons(judged.audited), folder, origin, stop)
}

/// Looks at the mailboxes of the run in `folder` again.
///
/// # Errors
/// [`LoadError`] when there is no result.
pub fn audit(
    foreign: &Foreign,
    folder: &Path,
    origin: impl FnOnce(u64, String) -> Origin,
    listener: &Rc<dyn LoadListener>,
) -> Result<RunResult, LoadError> {
    let kept = kept::ledger(folder)?;
    let subject = foreign.subject_of(&kept.0)?;
    let drain = |world: &World| {
        let world = world.clone();
        let drain = match foreign.drain(&world, listener) {
            // That time has passed, or the caller says so by asking.
            Drain::Deadline(_) => Drain::Deadline(Span::ZERO),
            drain => drain,
        };
        async move { brunt_load::drain(&world, &drain).await.queue }
    };
    let reasons = |judged: &Judged<'_>| foreign.reasons(judged.audited);
    demand::look_again(&subject, kept, drain, reasons, origin)
}
