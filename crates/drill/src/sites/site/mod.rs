//! What a site of a drill does that is asked: it serves through a mirror or ships its logs, receives,
//! is promoted or activated, serves, and reads back what is asked for.
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
//! It ends when it learns that it is fenced: a site that woke up must not go on.
//!
//! * `replication`: what goes to the other site.

mod error;
mod replication;

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use brunt_copies::PassiveCopy;
use brunt_ese::verify::verify;
use brunt_mirror::{Mirror, MirrorState, Receiver};
use brunt_qualify::phases::serving::{Serving, TICK, create, serve_one, version_of};
use brunt_qualify::plan::Plan;
use brunt_qualify::server::Server;
use brunt_qualify::truth::survey::survey;
use brunt_qualify::truth::witness::{Change, Hearing, Witness};
use brunt_report::result::DrillSample;
use brunt_run::{Silence, Stop};
use brunt_scenario::{RealDrill, SiteReplication};
use brunt_units::{LogPosition, Span, Time};
use brunt_workload::keys::Population;
use brunt_world::World;
use brunt_world::messages::Token;

use super::lines;
use super::messages::{Answer, Command, line};
use crate::{Key, measured};
pub use error::SiteError;

/// Of this program; that of the other site is the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where the epoch of a site is, in its folder.
const EPOCH: &str = "epoch";
/// How often it looks for a command.
const LOOK: Span = Span::millis(1);
/// How often it says that it is at work.
const BEAT: Span = Span::millis(200);

/// Takes the lines of a site to the conductor.
pub trait Voice: Send + Sync {
    /// Says `line`, whole.
    fn say(&self, line: &str);
}

/// The same for the commits of its sessions.
struct Commits(Arc<dyn Voice>);

impl Witness for Commits {
    fn asked(&self, _: Time, change: &Change) {
        self.0.say(&lines::line(lines::ASKED, change));
    }

    fn acknowledged(&self, _: Time, change: &Change) {
        self.0.say(&lines::line(lines::ACKNOWLEDGED, change));
    }
}

/// Commands that have arrived. A clone is another handle.
#[derive(Clone, Default)]
pub struct Inbox(Arc<Mutex<VecDeque<Command>>>);

impl Inbox {
    /// Adds a command that has arrived.
    pub fn put(&self, command: Command) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(command);
    }

    fn take(&self) -> Option<Command> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.pop_front()
    }
}

/// What a site works with.
pub struct SiteOptions {
    pub world: World,
    /// What it serves; its paths lie in `folder`.
    pub plan: Plan,
    /// The drill that it is a site of.
    pub drill: RealDrill,
    pub folder: PathBuf,
    /// Where it listens.
    pub address: IpAddr,
    pub voice: Arc<dyn Voice>,
    pub inbox: Inbox,
    /// A secret that nobody can guess.
    pub secret: fn(&World) -> io::Result<Token>,
}

/// A site at work.
pub struct Site {
    world: World,
    /// The world of the engine: mirrored at the side that serves first.
    engine: World,
    folder: PathBuf,
    /// Where it listens.
    address: IpAddr,
    plan: Plan,
    sample: Span,
    /// Whether the user's storage replicates, and nobody counts what is at risk.
    is_external: bool,
    voice: Arc<dyn Voice>,
    inbox: Inbox,
    secret: fn(&World) -> io::Result<Token>,
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
}

impl Site {
    /// A site that has begun, and waits for commands.
    pub fn new(options: SiteOptions) -> Self {
        let SiteOptions { world, mut plan, drill, folder, address, voice, inbox, secret } = options;
        plan.hearing = Hearing::of(Arc::new(Commits(Arc::clone(&voice))));
        Self {
            engine: world.clone(),
            world,
            folder,
            address,
            plan,
            sample: drill.drill.sample,
            is_external: drill.replication == SiteReplication::External,
            voice,
            inbox,
            secret,
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
        }
    }

    fn say(&self, answer: &Answer) {
        self.voice.say(&line(answer));
    }

    /// Does what it is asked until it learns that it is fenced.
    pub async fn run(mut self) {
        while !self.is_fenced() {
            match self.inbox.take() {
                Some(command) => {
                    let answer = self.handle(command).await;
                    let answer = answer.unwrap_or_else(|error| self.failed(&error));
                    self.say(&answer);
                }
                None => self.world.sleep(LOOK).await,
            }
            self.look();
        }
    }

    /// Whether the other site has been promoted. It says so, and must not go on.
    fn is_fenced(&self) -> bool {
        let state = self.mirror.as_ref().map(Mirror::state);
        let Some(MirrorState::Fenced { epoch }) = state else {
            return false;
        };
        self.say(&Answer::Fenced { epoch });
        true
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
        let state = self.mirror.as_ref().map(Mirror::state);
        if let Some(MirrorState::Broken(why)) = state
            && !self.is_broken
        {
            self.is_broken = true;
            self.say(&Answer::Broken { why });
        }
        let now = self.world.clock.now();
        if now >= self.alive + BEAT {
            self.alive = now;
            self.say(&Answer::Alive);
        }
        let Some(serving) = self.serving.as_mut().filter(|_| now >= self.tended + TICK) else {
            return;
        };
        self.tended = now;
        if self.ships {
            let instances = serving.server().instances().iter();
            let ends = instances.map(|one| log_end(&self.plan, one.log().tail()));
            let ends = ends.collect();
            self.voice.say(&line(&Answer::Logs { ends }));
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
            self.voice.say(&line(&Answer::Sample { load }));
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
