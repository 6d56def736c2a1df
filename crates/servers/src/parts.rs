//! The two places in a mail system and who can stand there: one interface for each.

use std::path::{Path, PathBuf};

use crate::accounts::Accounts;
use crate::certificate::Certificate;
use crate::error::ServerError;
use crate::group::Group;
use crate::programs::Installed;
use crate::queue::Queue;
use crate::ready;
use crate::system::{Relay, Store};
use crate::user::User;
use crate::{cyrus, dovecot, exim, postfix};

/// Where all servers listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) lmtp: u16,
    /// Where the relay delivers: there, or at a relay of connections that goes there.
    pub(crate) delivery: u16,
    pub(crate) imap: u16,
    pub(crate) imaps: u16,
    pub(crate) submission: u16,
    pub(crate) smtp: u16,
    pub(crate) smtps: u16,
}

/// The server that keeps the mailboxes.
pub(crate) struct StoreServer {
    setup: StoreSetup,
    pub(crate) installed: Installed,
    running: Option<RunningStore>,
}

enum StoreSetup {
    Dovecot(dovecot::Setup),
    Cyrus(cyrus::Setup),
}

enum RunningStore {
    Dovecot(Group),
    Cyrus(cyrus::Running),
}

/// The server that keeps mail until the store has it.
pub(crate) struct RelayServer {
    setup: RelaySetup,
    pub(crate) installed: Installed,
    group: Option<Group>,
}

enum RelaySetup {
    Postfix(postfix::Setup),
    Exim(exim::Setup),
}

impl StoreServer {
    /// The server of `store` below `home`; mail of users who log in goes to a relay if there is one.
    pub(crate) fn new(
        store: Store,
        home: &Path,
        user: &User,
        has_relay: bool,
        ports: &Ports,
    ) -> Result<Self, ServerError> {
        let user = user.clone();
        let (setup, installed) = match store {
            Store::Dovecot { format, fsync } => {
                let home = Self::home(store, home);
                let ports = dovecot_ports(has_relay, ports);
                let has_limits = false;
                let setup = dovecot::Setup { home, format, fsync, user, ports, has_limits };
                (StoreSetup::Dovecot(setup), Installed::dovecot()?)
            }
            Store::Cyrus => {
                let home = Self::home(store, home);
                let Ports { lmtp, imap, imaps, .. } = *ports;
                let setup = cyrus::Setup { home, user, lmtp, imap, imaps };
                (StoreSetup::Cyrus(setup), Installed::cyrus()?)
            }
        };
        Ok(Self { setup, installed, running: None })
    }

    fn home(store: Store, home: &Path) -> PathBuf {
        home.join(match store {
            Store::Dovecot { .. } => "dovecot",
            Store::Cyrus => "cyrus",
        })
    }

    /// The file of the accounts of `store` below `home`.
    pub(crate) fn accounts(store: Store, home: &Path) -> PathBuf {
        Self::home(store, home).join("passwd")
    }

    pub(crate) fn listen_at(&mut self, has_relay: bool, ports: &Ports) {
        match &mut self.setup {
            StoreSetup::Dovecot(setup) => setup.ports = dovecot_ports(has_relay, ports),
            StoreSetup::Cyrus(setup) => {
                (setup.lmtp, setup.imap, setup.imaps) = (ports.lmtp, ports.imap, ports.imaps);
            }
        }
    }

    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        match &self.setup {
            StoreSetup::Dovecot(setup) => setup.make(accounts),
            StoreSetup::Cyrus(setup) => setup.make(accounts),
        }
    }

    /// Starts it in the place of its predecessor, which goes first.
    pub(crate) fn start(&mut self, accounts: &Accounts) -> Result<(), ServerError> {
        self.running = None;
        self.running = Some(match &self.setup {
            StoreSetup::Dovecot(setup) => {
                RunningStore::Dovecot(setup.start(&self.installed, accounts)?)
            }
            StoreSetup::Cyrus(setup) => {
                RunningStore::Cyrus(setup.start(&self.installed, accounts)?)
            }
        });
        Ok(())
    }

    /// Gives mailboxes limits from its next start on.
    pub(crate) fn give_limits(&mut self) -> Result<(), ServerError> {
        match &mut self.setup {
            StoreSetup::Dovecot(setup) => {
                setup.has_limits = true;
                Ok(())
            }
            StoreSetup::Cyrus(_) => Err(ServerError::NoLimits(cyrus::NAME)),
        }
    }

    /// Leaves the mailboxes of `accounts` no room, or any.
    pub(crate) fn limit(&self, accounts: &Accounts, are_full: bool) -> Result<(), ServerError> {
        match &self.setup {
            StoreSetup::Dovecot(setup) if setup.has_limits => {
                setup.limit(accounts, are_full, &self.installed)
            }
            _ => Err(ServerError::NoLimits(self.name())),
        }
    }

    /// Waits until it greets at every port again.
    pub(crate) fn greets(&mut self) -> Result<(), ServerError> {
        let (greetings, log) = match &self.setup {
            StoreSetup::Dovecot(setup) => (setup.greetings(), setup.log()),
            StoreSetup::Cyrus(setup) => (setup.greetings(), setup.log()),
        };
        let name = self.name();
        let group = self.group().ok_or(ServerError::NotRunning(name))?;
        ready::wait(name, group, &greetings, &[log])
    }

    pub(crate) fn group(&mut self) -> Option<&mut Group> {
        match self.running.as_mut()? {
            RunningStore::Dovecot(group) => Some(group),
            RunningStore::Cyrus(running) => Some(&mut running.group),
        }
    }

    pub(crate) fn drop_running(&mut self) {
        self.running = None;
    }

    pub(crate) fn name(&self) -> &'static str {
        match &self.setup {
            StoreSetup::Dovecot(_) => dovecot::NAME,
            StoreSetup::Cyrus(_) => cyrus::NAME,
        }
    }

    pub(crate) fn certificate(&self) -> Certificate {
        match &self.setup {
            StoreSetup::Dovecot(setup) => setup.certificate(),
            StoreSetup::Cyrus(setup) => setup.certificate(),
        }
    }

    /// The folder of what it keeps. Cyrus keeps its list of mailboxes beside them.
    pub(crate) fn durable(&self) -> PathBuf {
        match &self.setup {
            StoreSetup::Dovecot(setup) => setup.home.join("mail"),
            StoreSetup::Cyrus(setup) => setup.home.clone(),
        }
    }

    /// The folder of the mailboxes of `account`, where its name says so.
    pub(crate) fn mailboxes(&self, account: &str) -> Option<PathBuf> {
        match &self.setup {
            StoreSetup::Dovecot(setup) => {
                Some(dovecot::mailboxes(&setup.home, setup.format, account))
            }
            StoreSetup::Cyrus(_) => None,
        }
    }
}

fn dovecot_ports(has_relay: bool, ports: &Ports) -> dovecot::Ports {
    let Ports { lmtp, imap, imaps, submission, smtp, .. } = *ports;
    dovecot::Ports { lmtp, imap, imaps, submission: has_relay.then_some((submission, smtp)) }
}

impl RelayServer {
    /// The server of `relay` below `home`, before a store with this certificate.
    pub(crate) fn new(
        relay: Relay,
        home: &Path,
        certificate: Certificate,
        ports: &Ports,
    ) -> Result<Self, ServerError> {
        let Ports { smtp, smtps, delivery: lmtp, .. } = *ports;
        let (setup, installed) = match relay {
            Relay::Postfix => {
                let home = home.join("postfix");
                let setup = postfix::Setup { home, certificate, smtp, smtps, lmtp };
                (RelaySetup::Postfix(setup), Installed::postfix()?)
            }
            Relay::Exim => {
                let (home, user) = (home.join("exim"), exim::user()?);
                let setup = exim::Setup { home, certificate, user, smtp, smtps, lmtp };
                (RelaySetup::Exim(setup), Installed::exim()?)
            }
        };
        Ok(Self { setup, installed, group: None })
    }

    pub(crate) fn listen_at(&mut self, ports: &Ports) {
        let at = (ports.smtp, ports.smtps, ports.delivery);
        match &mut self.setup {
            RelaySetup::Postfix(setup) => (setup.smtp, setup.smtps, setup.lmtp) = at,
            RelaySetup::Exim(setup) => (setup.smtp, setup.smtps, setup.lmtp) = at,
        }
    }

    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        match &self.setup {
            RelaySetup::Postfix(setup) => setup.make(accounts),
            RelaySetup::Exim(setup) => setup.make(accounts),
        }
    }

    /// Starts it in the place of its predecessor, which goes first.
    pub(crate) fn start(&mut self) -> Result<(), ServerError> {
        self.group = None;
        self.group = Some(match &self.setup {
            RelaySetup::Postfix(setup) => setup.start(&self.installed)?,
            RelaySetup::Exim(setup) => setup.start(&self.installed)?,
        });
        Ok(())
    }

    /// Waits until it greets at every port again.
    pub(crate) fn greets(&mut self) -> Result<(), ServerError> {
        let (name, log) = (self.name(), self.log());
        let greetings = match &self.setup {
            RelaySetup::Postfix(setup) => setup.greetings(),
            RelaySetup::Exim(setup) => setup.greetings(),
        };
        let group = self.group.as_mut().ok_or(ServerError::NotRunning(name))?;
        ready::wait(name, group, &greetings, &[log])
    }

    pub(crate) fn group(&mut self) -> Option<&mut Group> {
        self.group.as_mut()
    }

    pub(crate) fn drop_running(&mut self) {
        self.group = None;
    }

    /// What it holds, also while it does not run.
    pub(crate) fn queue(&self) -> Result<Queue, ServerError> {
        match &self.setup {
            RelaySetup::Postfix(setup) => setup.queue(&self.installed),
            RelaySetup::Exim(setup) => setup.queue(&self.installed),
        }
    }

    /// Tries what was put off again at once. Exim looks every second anyway.
    pub(crate) fn flush(&self) -> Result<(), ServerError> {
        match &self.setup {
            RelaySetup::Postfix(setup) => setup.flush(&self.installed),
            RelaySetup::Exim(_) => Ok(()),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match &self.setup {
            RelaySetup::Postfix(_) => postfix::NAME,
            RelaySetup::Exim(_) => exim::NAME,
        }
    }

    pub(crate) fn log(&self) -> PathBuf {
        match &self.setup {
            RelaySetup::Postfix(setup) => setup.log(),
            RelaySetup::Exim(setup) => setup.log(),
        }
    }

    /// The folder of its queue.
    pub(crate) fn durable(&self) -> PathBuf {
        match &self.setup {
            RelaySetup::Postfix(setup) => setup.home.join("queue"),
            RelaySetup::Exim(setup) => setup.home.join("spool"),
        }
    }

    /// The most deliveries that can be under way to the store at once: messages at a time, and
    /// recipients of one.
    pub(crate) fn deliveries_at_once(&self) -> u32 {
        match &self.setup {
            RelaySetup::Postfix(_) => postfix::DELIVERIES_AT_ONCE,
            RelaySetup::Exim(_) => exim::DELIVERIES_AT_ONCE,
        }
    }
}
