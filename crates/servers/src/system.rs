//! A mail system of throw-away servers: a store, and a relay before it where one can be started.
//!
//! What it is made of is kept in its folder as `plan.json`, so that a later audit starts the same
//! store again. Ports are drawn anew each time it is opened.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use brunt_mail::incident::Part;
use brunt_world_real::mounts;
use serde::{Deserialize, Serialize};

use crate::accounts::Accounts;
use crate::dovecot::{Format, MailFsync};
use crate::error::ServerError;
use crate::exim;
use crate::files;
use crate::folder::unfit;
use crate::group::Group;
use crate::parts::{Ports, RelayServer, StoreServer};
use crate::ports;
use crate::postfix;
use crate::programs::Version;
use crate::queue::Queue;
use crate::usage::Usage;
use crate::user::{User, is_root};
use crate::volume::Volume;

/// The file that says what a folder of servers holds.
const PLAN: &str = "plan.json";
/// How often new ports are drawn for servers that do not start.
const ATTEMPTS: u32 = 3;
/// How often a queue is asked whether it is empty.
const DRAIN_LOOK: Duration = Duration::from_millis(250);

/// Who keeps the mailboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// Dovecot.
    Dovecot {
        /// How it stores mail.
        format: Format,
        /// When it forces mail to the disk.
        fsync: MailFsync,
    },
    /// Cyrus IMAP.
    Cyrus,
}

/// Who accepts mail and keeps it in a queue until the store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relay {
    /// Postfix, which needs root.
    Postfix,
    /// Exim.
    Exim,
}

/// What a mail system is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The store.
    pub store: Store,
    /// The relay; without one mail is sent to the store directly, by LMTP.
    pub relay: Option<Relay>,
    /// How many accounts there are.
    pub users: u32,
}

/// Where the servers listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The store takes deliveries, by LMTP.
    pub lmtp: SocketAddr,
    /// Where the relay delivers to; that is there too, but after [`MailSystem::deliver_elsewhere`].
    pub delivery: SocketAddr,
    /// The store serves users, by IMAP; TLS by STARTTLS.
    pub imap: SocketAddr,
    /// The same over TLS.
    pub imaps: SocketAddr,
    /// The store takes mail of users who log in; TLS by STARTTLS. Only with a relay behind it.
    pub submission: Option<SocketAddr>,
    /// The relay, by SMTP; TLS by STARTTLS.
    pub smtp: Option<SocketAddr>,
    /// The same over TLS.
    pub smtps: Option<SocketAddr>,
}

/// A server that was started, in words for a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: Version,
}

/// Throw-away servers. They are killed when this is dropped; the mail stays.
pub struct MailSystem {
    plan: Plan,
    home: PathBuf,
    pub(crate) accounts: Accounts,
    ports: Ports,
    pub(crate) store: StoreServer,
    pub(crate) relay: Option<RelayServer>,
    /// The file systems below the servers, where they have their own. They go after them.
    pub(crate) volumes: Vec<(Part, Volume)>,
    delivers_elsewhere: bool,
}

impl MailSystem {
    /// Makes a mail system in the folder `home`, which must not exist: its parent does. Nothing is
    /// started.
    ///
    /// # Errors
    /// [`ServerError`] when a server is missing, needs root, or cannot live there.
    pub fn make(home: &Path, plan: &Plan) -> Result<Self, ServerError> {
        Self::make_on(home, plan, None)
    }

    /// The same; each server keeps mail on a file system of its own of `volume_bytes`, whose power
    /// can be cut ([`Self::cut_power`]) and that can be full ([`Self::fill`]). Needs root. Only this
    /// thread, and threads and processes that it starts later, see into these.
    ///
    /// # Errors
    /// As [`Self::make`], and when file systems cannot be made or mounted.
    pub fn make_on_volumes(
        home: &Path,
        plan: &Plan,
        volume_bytes: u64,
    ) -> Result<Self, ServerError> {
        Self::make_on(home, plan, Some(volume_bytes))
    }

    fn make_on(home: &Path, plan: &Plan, volumes: Option<u64>) -> Result<Self, ServerError> {
        let mut system = Self::prepare(home, plan, Accounts::make(plan.users)?)?;
        if plan.relay == Some(Relay::Postfix) && !is_root() {
            return Err(ServerError::NeedsRoot(postfix::NAME));
        }
        fs::create_dir(home).map_err(files::at(home))?;
        // What finds the folder knows whose it is, however early this ends.
        let named = system.write_plan();
        let filled =
            named.and_then(|()| system.make_volumes(volumes)).and_then(|()| system.fill_in());
        if filled.is_err() {
            system.volumes.clear();
            // It was made a moment ago, by us.
            let _ = fs::remove_dir_all(home);
        }
        filled.map(|()| system)
    }

    fn make_volumes(&mut self, bytes: Option<u64>) -> Result<(), ServerError> {
        let Some(bytes) = bytes else {
            return Ok(());
        };
        mounts::make_private().map_err(files::at(Path::new("/")))?;
        for (part, at) in self.places() {
            let image = self.home.join(image(part));
            self.volumes.push((part, Volume::make(&image, &at, bytes)?));
        }
        Ok(())
    }

    /// Mounts the file systems that were made below `home`.
    fn open_volumes(&mut self) -> Result<(), ServerError> {
        let places =
            self.places().into_iter().map(|(part, at)| (part, self.home.join(image(part)), at));
        let places: Vec<_> = places.filter(|(_, image, _)| image.exists()).collect();
        if !places.is_empty() {
            mounts::make_private().map_err(files::at(Path::new("/")))?;
        }
        for (part, image, at) in places {
            self.volumes.push((part, Volume::open(&image, &at)?));
        }
        Ok(())
    }

    /// The folders that have to survive the servers, by part.
    fn places(&self) -> Vec<(Part, PathBuf)> {
        let relay = self.relay.iter().map(|relay| (Part::Relay, relay.durable()));
        std::iter::once((Part::Store, self.store.durable())).chain(relay).collect()
    }

    fn write_plan(&self) -> Result<(), ServerError> {
        let file = self.home.join(PLAN);
        let text = serde_json::to_string_pretty(&self.plan);
        let text = text.map_err(|error| ServerError::Kept { path: file.clone(), error })?;
        files::write(&file, 0o644, &User::caller(), &text)
    }

    fn fill_in(&self) -> Result<(), ServerError> {
        self.store.make(&self.accounts)?;
        self.relay.as_ref().map_or(Ok(()), |relay| relay.make(&self.accounts))
    }

    /// The mail system that was made in `home`, with the mail that it holds. Nothing is started.
    ///
    /// # Errors
    /// As [`Self::make`], and when nothing was made there.
    pub fn open(home: &Path) -> Result<Self, ServerError> {
        let plan = Self::plan_of(home)?;
        let mut system = Self::prepare(home, &plan, Accounts::default())?;
        system.open_volumes()?;
        system.accounts = Accounts::read(&StoreServer::accounts(plan.store, home))?;
        Ok(system)
    }

    /// What was made in `home`. Nothing is touched.
    ///
    /// # Errors
    /// [`ServerError`] when nothing was made there.
    pub fn plan_of(home: &Path) -> Result<Plan, ServerError> {
        let file = home.join(PLAN);
        let text = fs::read_to_string(&file).map_err(files::at(&file))?;
        serde_json::from_str(&text).map_err(|error| ServerError::Kept { path: file.clone(), error })
    }

    fn prepare(home: &Path, plan: &Plan, accounts: Accounts) -> Result<Self, ServerError> {
        let user = User::of_servers()?;
        let mut users = vec![user.clone()];
        match plan.relay {
            Some(Relay::Postfix) => users.push(User::named(postfix::OWNER)?),
            Some(Relay::Exim) if is_root() => users.push(exim::user()?),
            _ => {}
        }
        for user in &users {
            if let Some(why) = unfit(home, user) {
                return Err(ServerError::Folder { folder: home.to_owned(), why });
            }
        }
        let ports = drawn(false)?;
        let store = StoreServer::new(plan.store, home, &user, plan.relay.is_some(), &ports)?;
        let certificate = store.certificate();
        let relay = plan.relay.map(|one| RelayServer::new(one, home, certificate, &ports));
        let relay = relay.transpose()?;
        let (plan, home, volumes) = (plan.clone(), home.to_owned(), Vec::new());
        let delivers_elsewhere = false;
        Ok(Self { plan, home, accounts, ports, store, relay, volumes, delivers_elsewhere })
    }

    /// Lets the relay, which does not run yet, deliver to a port without a listener: something that
    /// carries mail on to the store is to listen there ([`Addresses::delivery`]).
    ///
    /// # Errors
    /// [`ServerError::NoPort`].
    pub fn deliver_elsewhere(&mut self) -> Result<(), ServerError> {
        self.delivers_elsewhere = true;
        self.draw()
    }

    /// Gives mailboxes of the store, which does not run yet, limits that can be lowered
    /// ([`Self::fill_mailboxes`]).
    ///
    /// # Errors
    /// [`ServerError::NoLimits`] for another store than Dovecot.
    pub fn give_limits(&mut self) -> Result<(), ServerError> {
        self.store.give_limits()
    }

    fn draw(&mut self) -> Result<(), ServerError> {
        self.ports = drawn(self.delivers_elsewhere)?;
        self.store.listen_at(self.relay.is_some(), &self.ports);
        self.relay.iter_mut().for_each(|relay| relay.listen_at(&self.ports));
        Ok(())
    }

    /// Starts every server, and waits until all are ready. New ports are drawn for servers that do
    /// not start, because another program may have taken one meanwhile.
    ///
    /// # Errors
    /// [`ServerError::NotStarted`] of the last attempt; nothing runs then.
    pub fn start(&mut self) -> Result<(), ServerError> {
        match self.relay {
            Some(_) => self.start_parts(&[Part::Store, Part::Relay])?,
            None => self.start_parts(&[Part::Store])?,
        }
        // What servers make when they start first is no mail that a cut may lose.
        self.volumes.iter().try_for_each(|(_, volume)| volume.sync())
    }

    fn start_parts(&mut self, parts: &[Part]) -> Result<(), ServerError> {
        let mut attempt = 1;
        loop {
            let started = parts.iter().try_for_each(|part| self.start_part(*part));
            let Err(error) = started else {
                return Ok(());
            };
            self.store.drop_running();
            self.relay.iter_mut().for_each(RelayServer::drop_running);
            if attempt == ATTEMPTS || !matches!(error, ServerError::NotStarted { .. }) {
                return Err(error);
            }
            attempt += 1;
            self.draw()?;
        }
    }

    /// Starts `part` at its ports, and waits until it is ready. One that was killed is started
    /// again by this.
    ///
    /// # Errors
    /// [`ServerError::NotStarted`].
    pub fn start_part(&mut self, part: Part) -> Result<(), ServerError> {
        match part {
            Part::Store => self.store.start(&self.accounts),
            Part::Relay => self.relay.as_mut().ok_or(ServerError::NoQueue)?.start(),
        }
    }

    /// Stops every server in an orderly way, the relay first. What does not end is killed.
    ///
    /// # Errors
    /// [`ServerError::Undead`].
    pub fn stop(&mut self) -> Result<(), ServerError> {
        if let Some(relay) = &mut self.relay {
            relay.group().map_or(Ok(()), Group::stop)?;
            relay.drop_running();
        }
        self.store.group().map_or(Ok(()), Group::stop)?;
        self.store.drop_running();
        Ok(())
    }

    /// What the relay holds, also while it does not run; nothing where there is none.
    ///
    /// # Errors
    /// When the relay does not answer.
    pub fn queue(&self) -> Result<Queue, ServerError> {
        self.relay.as_ref().map_or(Ok(Queue::default()), RelayServer::queue)
    }

    /// Waits until the relay holds nothing, at most for `patience`; returns what it holds then.
    /// What was put off is tried at once.
    ///
    /// # Errors
    /// When the relay does not answer.
    pub fn drain(&self, patience: Duration) -> Result<Queue, ServerError> {
        let until = Instant::now() + patience;
        self.flush()?;
        loop {
            let queue = self.queue()?;
            if queue.is_empty() || Instant::now() >= until {
                return Ok(queue);
            }
            thread::sleep(DRAIN_LOOK);
        }
    }

    /// Makes the relay try what it has put off, now.
    ///
    /// # Errors
    /// When the relay does not answer.
    pub fn flush(&self) -> Result<(), ServerError> {
        self.relay.as_ref().map_or(Ok(()), RelayServer::flush)
    }

    /// Where the servers listen.
    pub fn addresses(&self) -> Addresses {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ports = &self.ports;
        let relay = self.relay.as_ref();
        let submission = relay.filter(|_| self.plan.store != Store::Cyrus);
        Addresses {
            lmtp: at(ports.lmtp),
            delivery: at(ports.delivery),
            imap: at(ports.imap),
            imaps: at(ports.imaps),
            submission: submission.map(|_| at(ports.submission)),
            smtp: relay.map(|_| at(ports.smtp)),
            smtps: relay.map(|_| at(ports.smtps)),
        }
    }

    /// The accounts.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// What it is made of.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder of the mailboxes of `account`; nothing where the store hides them behind numbers of
    /// its own, as Cyrus does.
    pub fn mailboxes(&self, account: &str) -> Option<PathBuf> {
        self.store.mailboxes(account)
    }

    /// The certificate of every server, in PEM.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn certificate(&self) -> Result<String, ServerError> {
        self.store.certificate().read()
    }

    /// The servers by name and version, the relay first.
    pub fn servers(&self) -> Vec<Started> {
        let store = Started { name: self.store.name(), version: self.store.installed.version };
        let relay = self.relay.iter();
        let relay = relay.map(|one| Started { name: one.name(), version: one.installed.version });
        relay.chain([store]).collect()
    }

    /// The most messages that can be on their way from the relay to the store at once: as many may
    /// arrive twice when one of them dies, once for each recipient. None without a relay.
    pub fn messages_between(&self) -> u32 {
        self.relay.as_ref().map_or(0, RelayServer::deliveries_at_once)
    }

    /// What each part that runs has used, the store first.
    pub fn usage(&mut self) -> Vec<(Part, Usage)> {
        let parts = [Part::Store, Part::Relay].into_iter();
        parts
            .filter_map(|part| Some((part, Usage::of(&self.running(part).ok()?.members()))))
            .collect()
    }

    /// Whether every process of `part` is gone.
    pub fn is_gone(&mut self, part: Part) -> bool {
        self.running(part).map_or(true, |group| group.members().is_empty())
    }

    pub(crate) fn drop_running(&mut self, part: Part) {
        match (part, &mut self.relay) {
            (Part::Store, _) => self.store.drop_running(),
            (Part::Relay, Some(relay)) => relay.drop_running(),
            (Part::Relay, None) => {}
        }
    }

    pub(crate) fn running(&mut self, part: Part) -> Result<&mut Group, ServerError> {
        let (group, name) = match (part, &mut self.relay) {
            (Part::Store, _) => {
                let name = self.store.name();
                (self.store.group(), name)
            }
            (Part::Relay, Some(relay)) => {
                let name = relay.name();
                (relay.group(), name)
            }
            (Part::Relay, None) => (None, "the relay"),
        };
        group.ok_or(ServerError::NotRunning(name))
    }
}

/// The file of the file system of `part`.
fn image(part: Part) -> &'static str {
    match part {
        Part::Store => "store.img",
        Part::Relay => "queue.img",
    }
}

/// Ports at which nothing listens now.
fn drawn(delivers_elsewhere: bool) -> Result<Ports, ServerError> {
    let [lmtp, elsewhere, imap, imaps, submission, smtp, smtps] = ports::free()?;
    let delivery = if delivers_elsewhere { elsewhere } else { lmtp };
    Ok(Ports { lmtp, delivery, imap, imaps, submission, smtp, smtps })
}
