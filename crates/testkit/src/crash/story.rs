//! Runs a configuration: sessions work, and the journal records everything that reaches the disk.
//!
//! When the process is killed in the middle, requests that its machine already had still take
//! effect. A second process recovers and closes, and a third continues from the recovered state;
//! each has its own history.
//!
//! A story may begin with the remains of another one after a power failure. The recovered state is
//! then its first.

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
/// A story has a few thousand I/Os; one with this many does not end.
const IOS_MAX: u64 = 1_000_000;
/// A process lives for fewer I/Os than this before it is killed.
const LIFE_MAX: u64 = 400;

/// The state after each commit; the first is before any.
type History = Rc<RefCell<Vec<State>>>;

/// The mark of an acknowledged commit: its index in the history.
pub(super) const DURABLE: &str = "durable";
/// The mark from which the next history counts.
const TOOK_OVER: &str = "took over";
/// The mark of a new process: the memory of the previous one is gone.
pub(super) const BEGAN: &str = "began";

/// The remains of a power failure, and the state in them.
pub(super) struct Ruins {
    pub(super) files: Store,
    pub(super) state: State,
}

/// How often sessions were refused because a volume was full.
#[derive(Debug, Default)]
pub struct Refusals {
    /// The volume of the log.
    pub log: Cell<u64>,
    /// The volume of the databases.
    pub databases: Cell<u64>,
}

/// The record of a run.
pub struct Story {
    pub configuration: Configuration,
    /// Everything that reached the disk.
    pub journal: Journal,
    /// Digest of everything that happened in the world.
    pub digest: Digest,
    /// Digest of the requests to its disk.
    pub requests: Digest,
    /// Refused changes.
    pub refusals: Rc<Refusals>,
    /// The history of each process.
    histories: Vec<Vec<State>>,
    /// The log generation before the commit of each state of the last history.
    logged: Vec<u32>,
}

/// The environment of a session.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) world: World,
    pub(super) machine: Machine,
    pub(super) instance: Instance<Bytes>,
    pub(super) history: History,
    /// The log generation before the commit of each state.
    logged: Rc<RefCell<Vec<u32>>>,
    pub(super) refusals: Rc<Refusals>,
    pub(super) configuration: Rc<Configuration>,
}

impl Setup {
    /// The random stream of session `number`.
    pub(super) fn draw(&self, number: u64) -> Stream {
        self.world.random.named(&format!("session/{number}"))
    }

    /// Applies `change` to the latest state, which makes the next one; returns its number.
    ///
    /// No task runs between this and the commit's log record, so states are in log order.
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
            let (setup, tables) = (self.clone(), tables.clone());
            self.world.spawner.spawn(async move {
                let trees = Trees::of(&setup.configuration);
                match (setup.configuration.work, tables) {
                    (Work::Pages, _) => pages::session(setup, number).await,
                    (_, Some(tables)) => session(setup, number, &tables).await,
                    (_, None) => session(setup, number, &trees).await,
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
    /// The reason in words: the engine failed or panicked before any crash, or the record breaks a
    /// rule.
    pub fn run(configuration: &Configuration, frames: &Frames) -> Result<Self, String> {
        let mut configuration = configuration.clone();
        let files = configuration.files(frames);
        configuration.made_bytes = configuration.database_bytes(&files);
        let state = State::new();
        Self::run_on(&configuration, Ruins { files, state }, frames)
    }

    /// Continues with the remains of a power failure.
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

    /// The states of the last process, and the log generation before the commit of each.
    pub(super) fn logged(&self) -> (&[State], &[u32]) {
        let last = self.histories.last().expect("a process");
        (last, &self.logged)
    }

    /// The possible states after a crash at `cut`, oldest first, and the index of the newest one
    /// acknowledged before it.
    pub fn possible(&self, images: &CrashImages<'_>, cut: Step) -> (&[State], u64) {
        let marks = |what| images.marks(cut).filter(move |mark| mark.what == what);
        let durable = marks(DURABLE).map(|mark| mark.number).max().unwrap_or(0);
        let last = self.histories.len() - 1;
        (&self.histories[marks(TOOK_OVER).count().min(last)], durable)
    }
}

/// The histories of all processes, the first of which begins with `first`, and the log generations
/// of the states of the last.
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
        let setup = Setup {
            world,
            machine,
            instance: instance.clone(),
            history: Rc::clone(&history),
            logged: Rc::clone(&logged),
            refusals,
            configuration,
        };
        setup.work().await.map_err(failed)?;
        instance.close().await.map_err(failed)?;
        histories.push(history.take());
        Ok((histories, logged.take()))
    })
}

/// Runs a process that is killed on its way; returns its states and their log generations.
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
        let setup = Setup {
            world: its_world,
            machine: its_machine,
            instance,
            history: its_history,
            logged: its_logged,
            refusals: Rc::default(),
            configuration: its_configuration,
        };
        setup.work().await.expect("a dying process sees no error");
    });
    while host.has_storage() && !life.is_done() {
        world.sleep(Span::millis(1)).await;
    }
    host.cut_storage_after(0);
    // The device completes the requests it has, and the process may still acknowledge them.
    while machine.in_flight() > 0 {
        world.sleep(Span::millis(1)).await;
    }
    // Its tasks still wait, so they keep the history.
    (history.borrow().clone(), logged.borrow().clone())
}
