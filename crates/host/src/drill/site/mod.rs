//! `brunt site --stdio`: one site of a drill, as a process. It does what it is asked on stdin, and
//! tells on stdout.
//!
//! ```text
//!   source        begin, mirror, create, work ... killed, frozen, cut off, or closed
//!   destination   begin, receive ... promote, open, first, look, work ... look, close, verify
//! ```
//!
//! Asynchronous replication begins in the same way, so that both sites have the same databases.
//! Then these are closed, and opened again without the mirror: `copy` at the destination, `ship` at
//! the source, and `activate` instead of `promote`.
//!
//! It listens on loopback alone, or in a network of its own (`--address`) that nothing but the
//! drill reaches. It ends when its stdin does, when the process that started it dies, and when it
//! learns that it is fenced: a site that woke up must not go on.
//!
//! * `channel`: commands and answers; `replication`: what goes to the other site.

mod channel;
mod error;
mod replication;

use std::io::{self, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use brunt_copies::PassiveCopy;
use brunt_drill::{Key, measured};
use brunt_ese::verify::verify;
use brunt_mirror::{Mirror, MirrorState, Receiver};
use brunt_qualify::phases::serving::{Serving, TICK, create, serve_one, version_of};
use brunt_qualify::plan::Plan;
use brunt_qualify::progress::{Silence, Stop};
use brunt_qualify::server::Server;
use brunt_qualify::truth::survey::survey;
use brunt_qualify::truth::witness::Hearing;
use brunt_report::result::DrillSample;
use brunt_scenario::{Document, Place, Placed, SiteReplication};
use brunt_units::{LogPosition, Span, Time};
use brunt_workload::keys::Population;
use brunt_world::World;
use brunt_world::messages::Token;
use brunt_world_real::{Options, RealWorld};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::folders::SiteFolder;
use super::messages::{Answer, Command, line};
use crate::consent::Consent;
use crate::folders::{self, Prepared};
use crate::{distance, handles, plan};
use channel::{Channel, Inbox, read};
pub use error::SiteError;

/// Of this program; that of the other site is the same.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where the epoch of a site is, in its folder.
const EPOCH: &str = "epoch";
/// How often it looks for a command.
const LOOK: Span = Span::millis(1);
/// How often it says that it is at work.
const BEAT: Span = Span::millis(200);

/// Serves as a site until stdin ends: with `address` in a network of its own, otherwise on
/// loopback.
///
/// # Errors
/// [`SiteError`] when it could not begin.
pub fn serve(address: Option<Ipv4Addr>) -> Result<(), SiteError> {
    if let Some(address) = address {
        distance::leave(address, io::stdin())?;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let channel = Channel::new()?;
    let mut input = BufReader::new(io::stdin());
    let mut first = read(&mut input);
    let mut taken = None;
    if let Some(Command::Take { folder, replace }) = &first {
        let (folder, log_segment) = answered(take(folder, *replace), &channel)?;
        taken = Some(folder);
        // It ends with its stdin, and not with the connection: first its folder is emptied.
        set_parent_process_death_signal(None).map_err(io::Error::from)?;
        channel.is_outlived();
        let version = VERSION.to_owned();
        channel.send(&line(&Answer::Taken { log_segment, version }));
        first = read(&mut input);
    }
    let Some(begin) = first else {
        return Err(SiteError::NotOfDrill);
    };
    let (mut real, site) = answered(Site::begin(begin, address, &channel), &channel)?;
    channel.send(&line(&Answer::Done));
    let inbox = site.inbox.clone();
    let hearing = thread::Builder::new().name("stdin".to_owned());
    hearing.spawn(move || {
        while let Some(command) = read(&mut input) {
            inbox.put(command);
        }
        // The drill is over, or gone: nothing is left to be done in order, but for a folder that
        // nobody else empties.
        if let Some(folder) = taken {
            folder.empty_at_last();
        }
        process::exit(0);
    })?;
    real.executor.block_on(site.run())
}

/// `result`, and its error said as the answer to a command.
fn answered<T>(result: Result<T, SiteError>, channel: &Channel) -> Result<T, SiteError> {
    result.inspect_err(|error| channel.send(&line(&Answer::Failed { why: error.to_string() })))
}

/// Takes `folder` on a host where the drill does not run.
fn take(folder: &Path, replace: bool) -> Result<(SiteFolder, usize), SiteError> {
    let placed =
        Placed { value: folder.to_owned(), place: Place::file(&folder.display().to_string()) };
    let folder = SiteFolder::take(&placed, Consent { replace })?;
    let log_segment = plan::log_segment([folder.path()].into_iter());
    Ok((folder, log_segment))
}

/// A site at work.
struct Site {
    world: World,
    /// The world of the engine: mirrored at the side that serves first.
    engine: World,
    folder: PathBuf,
    /// Where it listens.
    address: Ipv4Addr,
    plan: Plan,
    sample: Span,
    /// Whether the user's storage replicates, and nobody counts what is at risk.
    is_external: bool,
    channel: Channel,
    inbox: Inbox,
    receiver: Option<Receiver>,
    mirror: Option<Mirror>,
    copies: Vec<PassiveCopy>,
    /// Whether it ships closed logs.
    ships: bool,
    opened: Option<(Rc<Server>, Vec<Population>)>,
    serving: Option<Serving>,
    /// When it last said so.
    alive: Time,
    /// When it was last tended, and when the last sample was closed.
    tended: Time,
    sampled: Time,
    is_broken: bool,
    _prepared: Prepared,
}

impl Site {
    fn begin(
        command: Command,
        address: Option<Ipv4Addr>,
        channel: &Channel,
    ) -> Result<(RealWorld, Self), SiteError> {
        let Command::Begin { scenario, folder, log_segment } = command else {
            return Err(SiteError::NotBegun);
        };
        let document = Document::new("the drill's scenario", &scenario, Path::new("/"))?;
        let drill = document.real_drill(&[])?;
        let scenario = drill.at(&folder);
        // As the drill has done where it runs.
        handles::provide(&scenario)?;
        let prepared = folders::prepare(&scenario)?;
        let real = RealWorld::new(&Options {
            backend: scenario.backend,
            seed: scenario.test.seed,
            roots: prepared.roots.clone(),
            ..Options::default()
        })?;
        let mut plan = plan::plan(&scenario, Consent::default(), SystemTime::now());
        plan.engine.log_segment = log_segment;
        plan.hearing = Hearing::of(Arc::new(channel.clone()));
        let site = Self {
            world: real.world.clone(),
            engine: real.world.clone(),
            folder,
            address: address.unwrap_or(Ipv4Addr::LOCALHOST),
            plan,
            sample: drill.drill.sample,
            is_external: drill.replication == SiteReplication::External,
            channel: channel.clone(),
            inbox: Inbox::default(),
            receiver: None,
            mirror: None,
            copies: Vec::new(),
            ships: false,
            opened: None,
            serving: None,
            alive: Time::ZERO,
            tended: Time::ZERO,
            sampled: Time::ZERO,
            is_broken: false,
            _prepared: prepared,
        };
        Ok((real, site))
    }

    async fn run(mut self) -> Result<(), SiteError> {
        loop {
            match self.inbox.take() {
                Some(command) => {
                    let answer = self.handle(command).await;
                    let answer = answer.unwrap_or_else(|error| self.failed(&error));
                    self.channel.send(&line(&answer));
                }
                None => self.world.sleep(LOOK).await,
            }
            self.look();
        }
    }

    /// Says why a command failed, and at which site.
    fn failed(&self, error: &SiteError) -> Answer {
        let there = self.mirror.as_ref().and_then(Mirror::refusal);
        let why = match there {
            Some(there) => format!("{error} (the destination says: {there})"),
            None => error.to_string(),
        };
        Answer::Failed { why }
    }

    /// Tends the sessions, and tells what is new.
    fn look(&mut self) {
        if let Some(mirror) = &self.mirror {
            match mirror.state() {
                MirrorState::InStep => {}
                MirrorState::Broken(why) if !self.is_broken => {
                    self.is_broken = true;
                    self.channel.send(&line(&Answer::Broken { why }));
                }
                MirrorState::Broken(_) => {}
                MirrorState::Fenced { epoch } => {
                    self.channel.send(&line(&Answer::Fenced { epoch }));
                    process::exit(0);
                }
            }
        }
        let now = self.world.clock.now();
        if now >= self.alive + BEAT {
            self.alive = now;
            self.channel.send(&line(&Answer::Alive));
        }
        let Some(serving) = self.serving.as_mut().filter(|_| now >= self.tended + TICK) else {
            return;
        };
        self.tended = now;
        if self.ships {
            let instances = serving.server().instances().iter();
            let ends = instances.map(|one| log_end(&self.plan, one.log().tail()));
            let ends = ends.collect();
            self.channel.send(&line(&Answer::Logs { ends }));
        }
        // A database that is full ends no drill: its sessions go on with other operations.
        let _ = serving.tend();
        if now >= self.sampled + self.sample && !serving.is_suspended() {
            let length = now - self.sampled;
            self.sampled = now;
            let load = DrillSample {
                length_s: length.as_seconds(),
                // What is in a log that was not shipped is counted in bytes alone.
                at_risk_writes: (!self.ships && !self.is_external).then_some(0),
                ..measured(&[serving.interval()])
            };
            self.channel.send(&line(&Answer::Sample { load }));
        }
    }

    async fn handle(&mut self, command: Command) -> Result<Answer, SiteError> {
        match command {
            Command::Take { .. } | Command::Begin { .. } => {
                return Err(SiteError::Begun);
            }
            Command::Receive => return self.receive().await,
            Command::Mirror { to, token, epoch } => self.send_to(to, Token(token), epoch).await?,
            Command::Create => {
                let created = create(&self.engine, &self.plan, &Silence, &Stop::default()).await;
                let (server, populations) = created?;
                let records = populations.iter().map(Population::len).collect();
                self.opened = Some((server, populations));
                return Ok(Answer::Created { records });
            }
            Command::Copy => return self.copy().await,
            Command::Ship { to, token } => self.ship(to, Token(token)).await?,
            Command::Activate => {
                let mut stored = Vec::new();
                for copy in std::mem::take(&mut self.copies) {
                    copy.stop();
                    let (instance, _) = copy.clone().activate(None).await?;
                    stored.push(copy.queues().stored);
                    instance.close().await?;
                }
                return Ok(Answer::Activated { stored });
            }
            Command::Work => {
                let (server, populations) = self.opened.take().ok_or(SiteError::NotOpen)?;
                let populations = match populations.is_empty() {
                    true => survey(&self.engine, &server, &Silence).await?,
                    false => populations,
                };
                let serving = Serving::begin(&self.engine, &self.plan, &server, populations);
                // What opening and surveying have read is no load.
                let _ = serving.interval();
                self.sampled = self.world.clock.now();
                self.serving = Some(serving);
            }
            Command::Rest => {
                let serving = self.serving.take().ok_or(SiteError::NotOpen)?;
                serving.suspend().await;
                let populations = serving.populations();
                self.opened = Some((serving.into_server(), populations));
            }
            Command::Break { how } => self.receiver()?.break_by(how.into()),
            Command::Promote { epoch } => {
                let receiver = self.receiver()?;
                receiver.promote(epoch).await?;
                let struck = receiver.has_broken();
                return Ok(Answer::Promoted { struck });
            }
            Command::Open => {
                let opened = Server::open(&self.engine, &self.plan, &Silence, None).await;
                let server = opened?;
                let longest = server.longest_replay();
                let logs = server.recoveries().iter().map(|one| one.logs).sum();
                self.opened = Some((Rc::new(server), Vec::new()));
                return Ok(Answer::Opened { replay_s: longest.as_seconds(), logs });
            }
            Command::First { record } => {
                let server = self.server()?;
                let table = server.tables().first().ok_or(SiteError::NotOpen)?;
                let record = table.contents().mixer().record(record);
                serve_one(&server, &self.plan, 0, record).await?;
            }
            Command::Look { keys } => return self.found(keys).await,
            Command::Close => {
                self.server()?;
                if let Some(serving) = self.serving.take() {
                    serving.stop().await?;
                } else if let Some((server, _)) = self.opened.take() {
                    server.close().await?;
                }
            }
            Command::Verify => return self.verified().await,
        }
        Ok(Answer::Done)
    }

    fn receiver(&self) -> Result<&Receiver, SiteError> {
        self.receiver.as_ref().ok_or(SiteError::NotReceiving)
    }

    fn server(&self) -> Result<Rc<Server>, SiteError> {
        let serving = self.serving.as_ref().map(|serving| serving.server());
        let server = serving.or(self.opened.as_ref().map(|(server, _)| server));
        Ok(Rc::clone(server.ok_or(SiteError::NotOpen)?))
    }

    async fn found(&self, keys: Vec<Key>) -> Result<Answer, SiteError> {
        let server = self.server()?;
        let databases = |(stream, database, _): &Key| {
            let instances = self.plan.instances.get(*stream);
            instances.is_some_and(|one| usize::from(*database) < one.databases.len())
        };
        if !keys.iter().all(databases) {
            return Err(SiteError::NoSuchDatabase);
        }
        let mut versions = Vec::new();
        for key in keys {
            versions.push((key, version_of(&server, key).await?));
        }
        Ok(Answer::Found { versions })
    }

    async fn verified(&self) -> Result<Answer, SiteError> {
        let (mut pages, mut bad) = (0, 0);
        for database in self.plan.databases() {
            let verified = verify(&self.world, &database.path).await;
            let path = &database.path;
            let report =
                verified.map_err(|error| SiteError::Verify { path: path.clone(), error })?;
            pages += report.pages_seen;
            bad += report.pages_bad;
        }
        Ok(Answer::Verified { pages, bad })
    }
}

/// Where a log ends, in bytes from the beginning of its first file.
fn log_end(plan: &Plan, end: LogPosition) -> u64 {
    let files = u64::from(end.generation.saturating_sub(1)) * plan.engine.log_file.get();
    files + u64::from(end.segment) * plan.engine.log_segment as u64 + u64::from(end.byte)
}
