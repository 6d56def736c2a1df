//! Running a configuration: sessions work, and the journal notes everything that reaches the disk.
//!
//! When the process is killed in the middle, what its machine had been given still happens. A second process recovers and
//! closes, a third goes on from the state that was found; each has a history of its own.
//!
//! A story may begin with what a loss of power left of another one. The state that was found there is then its first.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_units::Span;
use brunt_world::random::Stream;
use brunt_world::{Frames, World};
use brunt_world_virtual::crash::CrashImages;
use brunt_world_virtual::{Cores, Digest, Host, Journal, Machine, Step, Store, VirtualWorld};

use super::messages::Tables;
use super::records::Trees;
use super::recovery::{Trouble, panic_words, recover};
use super::sessions::session;
use super::{Configuration, State, Work, flush_types, pages};
use crate::worlds::bounded;

const SESSIONS: u64 = 3;
/// A story has some thousand I/Os; one with so many does not end.
const IOS_MAX: u64 = 1_000_000;
/// A process lives for fewer I/Os than this before it is killed.
const LIFE_MAX: u64 = 400;

/// The state after each commit; the first is before any.
type History = Rc<RefCell<Vec<State>>>;

/// The mark of a commit that was acknowledged: its place in the history.
pub(super) const DURABLE: &str = "durable";
/// The mark from which on the next history counts.
const TOOK_OVER: &str = "took over";
/// The mark of a new process: what the one before remembered is gone.
pub(super) const BEGAN: &str = "began";

/// What a loss of power left, and the state in it.
pub(super) struct Ruins {
    pub(super) files: Store,
    pub(super) state: State,
}

/// How often sessions were refused because a volume was full.
#[derive(Debug, Default)]
pub struct Refusals {
    /// That of the log.
    pub log: Cell<u64>,
    /// That of the databases.
    pub databases: Cell<u64>,
}

/// What happened.
pub struct Story {
    /// What was run.
    pub configuration: Configuration,
    /// Everything that reached the disk.
    pub journal: Journal,
    /// Everything that happened in the world, hashed.
    pub digest: Digest,
    /// What was asked of its disk, hashed.
    pub requests: Digest,
    /// Changes that were refused.
    pub refusals: Rc<Refusals>,
    /// The history of each process.
    histories: Vec<Vec<State>>,
    /// The generation in which the log stood before the commit of each state of the last history.
    logged: Vec<u32>,
}

/// What a session works with.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) world: World,
    pub(super) machine: Machine,
    pub(super) instance: Instance<Bytes>,
    pub(super) history: History,
    /// The generation in which the log stood before the commit of each state.
    logged: Rc<RefCell<Vec<u32>>>,
    pub(super) refusals: Rc<Refusals>,
    pub(super) configuration: Rc<Configuration>,
}

impl Stage {
    /// The stream of session `number`.
    pub(super) fn draw(&self, number: u64) -> Stream {
        self.world.random.named(&format!("session/{number}"))
    }

    /// The next state: `change` is made to the latest. Its number.
    ///
    /// No task runs between this and the commit's record, so states have the order of the log.
    pub(super) fn note(&self, change: impl FnOnce(&mut State)) -> u64 {
        let mut history = self.history.borrow_mut();
        let mut state = history.last().expect("there is a first").clone();
        change(&mut state);
        history.push(state);
        let generation = self.instance.log().tail().generation;
        self.logged.borrow_mut().push(generation);
        history.len() as u64 - 1
    }

    async fn work(self) -> Result<(), EngineError> {
        let tables = match self.configuration.work {
            Work::Messages => Some(Tables::of(&self.instance, &self.configuration).await?),
            Work::Pages | Work::Records => None,
        };
        let start = |number| {
            let (stage, tables) = (self.clone(), tables.clone());
            self.world.spawner.spawn(async move {
                let trees = Trees::of(&stage.configuration);
                match (stage.configuration.work, tables) {
                    (Work::Pages, _) => pages::session(stage, number).await,
                    (_, Some(tables)) => session(stage, number, &tables).await,
                    (_, None) => session(stage, number, &trees).await,
                }
            })
        };
        let sessions: Vec<_> = (0..SESSIONS).map(start).collect();
        for session in sessions {
            session.await?;
        }
        Ok(())
    }
}

impl Story {
    /// Runs `configuration` from its beginning.
    ///
    /// # Errors
    /// In words: the engine failed or panicked although no crash had happened yet, or the record breaks a rule.
    pub fn run(configuration: &Configuration, frames: &Frames) -> Result<Self, String> {
        let mut configuration = configuration.clone();
        let files = configuration.files(frames);
        configuration.made_bytes = configuration.database_bytes(&files);
        let state = State::new();
        Self::run_on(&configuration, Ruins { files, state }, frames)
    }

    /// Runs on with what a loss of power left.
    ///
    /// # Errors
    /// As [`Story::run`].
    pub(super) fn run_on(
        configuration: &Configuration,
        ruins: Ruins,
        frames: &Frames,
    ) -> Result<Self, String> {
        let kept = Rc::new(configuration.clone());
        let refusals = Rc::<Refusals>::default();
        let run = || {
            let mut made = kept.world_of(ruins.files, true, frames);
            made.machine.start_recording();
            let (histories, logged) = live(&mut made, &kept, ruins.state, &refusals, frames)?;
            let journal = made.machine.stop_recording().expect("it was started");
            let mut requests = Digest::default();
            for volume in made.machine.requests() {
                requests.mix(volume.value());
            }
            Ok((histories, logged, journal, made.machine.digest(), requests))
        };
        let ran = catch_unwind(AssertUnwindSafe(run));
        let ran = ran.unwrap_or_else(|panic| Err(panic_words(&*panic)));
        let (histories, logged, journal, digest, requests) =
            ran.map_err(|what| format!("before any crash: {what}"))?;
        flush_types::audit(&journal, configuration)?;
        Ok(Self {
            configuration: configuration.clone(),
            journal,
            digest,
            requests,
            refusals,
            histories,
            logged,
        })
    }

    /// The states of the last process, and the generation in which the log stood before the commit of each.
    pub(super) fn logged(&self) -> (&[State], &[u32]) {
        let last = self.histories.last().expect("a process");
        (last, &self.logged)
    }

    /// The states that may be found after a crash at `cut`, oldest first, and the place of the newest one that was
    /// acknowledged before it.
    pub fn possible(&self, images: &CrashImages<'_>, cut: Step) -> (&[State], u64) {
        let marks = |what| images.marks(cut).filter(move |mark| mark.what == what);
        let durable = marks(DURABLE).map(|mark| mark.number).max().unwrap_or(0);
        let last = self.histories.len() - 1;
        (&self.histories[marks(TOOK_OVER).count().min(last)], durable)
    }
}

/// The histories of all processes, the first of which begins with `first`, and where the states of the last were logged.
fn live(
    made: &mut VirtualWorld,
    configuration: &Rc<Configuration>,
    first: State,
    refusals: &Rc<Refusals>,
    frames: &Frames,
) -> Result<(Vec<Vec<State>>, Vec<u32>), String> {
    let world = bounded(&configuration.tampered(&made.world), IOS_MAX);
    let (machine, configuration) = (made.machine.clone(), Rc::clone(configuration));
    let (frames, refusals) = (frames.clone(), Rc::clone(refusals));
    made.executor.block_on(async move {
        let mut histories = Vec::new();
        let (mut history, mut logged) = (vec![first], vec![0]);
        let failed = |error: EngineError| error.to_string();
        if configuration.killed {
            let (lived, mut places) = live_and_die(&world, &machine, &configuration, history).await;
            let left = recover(machine.store(), &configuration, true, None, &frames);
            let left = left.map_err(Trouble::words)?.state;
            let kept = lived.iter().rposition(|known| *known == left);
            let kept = kept.ok_or("a process that died left a state that never was")?;
            history = lived[..=kept].to_vec();
            places.truncate(kept + 1);
            logged = places;
            histories.push(lived);
            machine.mark(BEGAN, 0);
            let opened = configuration.open(&world, None).await;
            opened.map_err(failed)?.0.close().await.map_err(failed)?;
        }
        machine.mark(BEGAN, 0);
        let opened = configuration.open(&world, None).await;
        let (instance, _) = opened.map_err(failed)?;
        machine.mark(TOOK_OVER, 0);
        let history = Rc::new(RefCell::new(history));
        let logged = Rc::new(RefCell::new(logged));
        let stage = Stage {
            world,
            machine,
            instance: instance.clone(),
            history: Rc::clone(&history),
            logged: Rc::clone(&logged),
            refusals,
            configuration,
        };
        stage.work().await.map_err(failed)?;
        instance.close().await.map_err(failed)?;
        histories.push(history.take());
        Ok((histories, logged.take()))
    })
}

/// A process that is killed somewhere on its way: the states that were, and where they were logged.
async fn live_and_die(
    world: &World,
    machine: &Machine,
    configuration: &Rc<Configuration>,
    history: Vec<State>,
) -> (Vec<State>, Vec<u32>) {
    let address = [10, 0, 0, 1].into();
    let host = Host::new(machine, world, "killed", address, Cores::Unlimited);
    host.cut_storage_after(world.random.named("death").below(LIFE_MAX));
    let history: History = Rc::new(RefCell::new(history));
    let logged = Rc::new(RefCell::new(vec![0]));
    let (its_world, its_logged) = (host.world().clone(), Rc::clone(&logged));
    let (its_machine, its_history) = (machine.clone(), Rc::clone(&history));
    let its_configuration = Rc::clone(configuration);
    let life = host.world().spawner.spawn(async move {
        let opened = its_configuration.open(&its_world, None).await;
        let (instance, _) = opened.expect("files that can be opened");
        let stage = Stage {
            world: its_world,
            machine: its_machine,
            instance,
            history: its_history,
            logged: its_logged,
            refusals: Rc::default(),
            configuration: its_configuration,
        };
        stage.work().await.expect("a dying process sees no error");
    });
    while host.has_storage() && !life.is_done() {
        world.sleep(Span::millis(1)).await;
    }
    host.cut_storage_after(0);
    // What the device has been given it carries out, and the process may still acknowledge it.
    while machine.in_flight() > 0 {
        world.sleep(Span::millis(1)).await;
    }
    // Its tasks still wait, so the history stays theirs.
    (history.borrow().clone(), logged.borrow().clone())
}
