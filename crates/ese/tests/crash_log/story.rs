//! What happens before the crash: sessions change pages, and the journal notes everything that reached the disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::format::page::{ObjectId, Page, PageFlags};
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_ese::log::{Durability, FlushReason, Role};
use brunt_ese::page::Pages;
use brunt_ese::tree::Step;
use brunt_units::{PageNumber, Span};
use brunt_world::random::{Stream, Streams};
use brunt_world::{Class, Frames, World};
use brunt_world_virtual::{Journal, Machine, Store, VirtualOptions, VirtualWorld};

use crate::common::tamper::{mortal, without_syncs};
use crate::common::{SIZE, blank_database, database_path, open, options};

const DATABASES: usize = 2;
/// Pages of each database.
const PAGES: u32 = 30;
const FRAMES: u32 = 16;
const SESSIONS: u64 = 3;
/// Changes that a session makes.
const CHANGES: u32 = 60;

/// Which page of which database holds which number.
pub(crate) type State = BTreeMap<(u8, u32), u64>;

/// The state after each change; the first is before any.
type History = Rc<RefCell<Vec<State>>>;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// The log's segment size.
    pub(crate) segment: usize,
    pub(crate) durability: Durability,
    /// Whether the process is killed in the middle; a second one recovers, a third goes on.
    pub(crate) killed: bool,
    /// Who does not keep their word.
    pub(crate) mistake: Option<Mistake>,
}

/// What somebody does wrong, outside the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Changes are reported durable before their log is.
    AcknowledgeEarly,
    /// Syncs of databases do nothing.
    SkipDatabaseSyncs,
    /// Syncs of logs do nothing.
    SkipLogSyncs,
}

/// What happened.
pub(crate) struct Story {
    /// Everything that reached the disk. A mark `durable` names a change that was reported durable, a mark `took over` the
    /// moment from which the second process's history counts.
    pub(crate) journal: Journal,
    /// The history of each process.
    pub(crate) histories: Vec<Vec<State>>,
}

impl Plan {
    pub(crate) fn new(seed: u64, segment: usize, durability: Durability) -> Self {
        Self {
            seed,
            segment,
            durability,
            killed: false,
            mistake: None,
        }
    }

    fn options(self) -> InstanceOptions {
        InstanceOptions {
            durability: self.durability,
            // Every other time the smallest buffer there is.
            log_buffer_units: if self.seed.is_multiple_of(2) { 64 } else { 1 },
            ..options(DATABASES, self.segment)
        }
    }

    fn tamper(self, world: &World) -> World {
        match self.mistake {
            Some(Mistake::SkipDatabaseSyncs) => without_syncs(world, Class::Database),
            Some(Mistake::SkipLogSyncs) => without_syncs(world, Class::Log),
            Some(Mistake::AcknowledgeEarly) | None => world.clone(),
        }
    }

    /// Runs it.
    pub(crate) fn run(self, frames: &Frames) -> Story {
        let mut store = Store::new();
        for database in 0..DATABASES {
            blank_database(&mut store, &database_path(database), PAGES as usize);
        }
        let mut virtual_world = VirtualWorld::new(VirtualOptions {
            store,
            frames: frames.clone(),
            ..VirtualOptions::new(self.seed)
        });
        let world = self.tamper(&virtual_world.world);
        let machine = virtual_world.machine.clone();
        machine.start_recording();
        let frames = frames.clone();
        let histories = virtual_world.executor.block_on(async move {
            let mut histories = Vec::new();
            let mut history = vec![State::new()];
            if self.killed {
                let lived = self.live_and_die(&world, &machine, history).await;
                let left = recover(machine.store(), self, &frames).expect("nothing was lost yet");
                let kept = lived.iter().rposition(|known| *known == left);
                let kept = kept.expect("a process that dies leaves a state that was");
                history = lived[..=kept].to_vec();
                histories.push(lived);
                let (instance, _) = open(&world, FRAMES, self.options()).await.unwrap();
                instance.close().await.unwrap();
            }
            let (instance, _) = open(&world, FRAMES, self.options()).await.unwrap();
            machine.mark("took over", 0);
            let history = Rc::new(RefCell::new(history));
            self.work(&world, &machine, &instance, &history).await;
            instance.close().await.unwrap();
            histories.push(history.take());
            histories
        });
        Story {
            journal: virtual_world.machine.stop_recording().unwrap(),
            histories,
        }
    }

    /// A process that is killed somewhere on its way: the states that were.
    async fn live_and_die(
        self,
        world: &World,
        machine: &Machine,
        history: Vec<State>,
    ) -> Vec<State> {
        let ios = world.random.named("death").below(400);
        let (mortal, left) = mortal(world, ios);
        let (its_machine, its_history) = (machine.clone(), Rc::new(RefCell::new(history)));
        let history = Rc::clone(&its_history);
        drop(world.spawner.spawn(async move {
            let opened = open(&mortal, FRAMES, self.options()).await;
            let (instance, _) = opened.unwrap();
            self.work(&mortal, &its_machine, &instance, &its_history)
                .await;
        }));
        // What the device has been given it carries out.
        while left.get() > 0 || machine.in_flight() > 0 {
            world.sleep(Span::millis(1)).await;
        }
        history.borrow().clone()
    }

    /// All sessions.
    async fn work(
        self,
        world: &World,
        machine: &Machine,
        instance: &Instance<Bytes>,
        history: &History,
    ) {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let session = Session {
                    world: world.clone(),
                    machine: machine.clone(),
                    instance: instance.clone(),
                    history: Rc::clone(history),
                    draw: world.random.named(&format!("session/{number}")),
                    plan: self,
                };
                world.spawner.spawn(session.run())
            })
            .collect();
        for session in sessions {
            session.await;
        }
    }
}

struct Session {
    world: World,
    machine: Machine,
    instance: Instance<Bytes>,
    history: History,
    draw: Stream,
    plan: Plan,
}

impl Session {
    async fn run(mut self) {
        for _ in 0..CHANGES {
            let database = u8::try_from(self.draw.below(DATABASES as u64)).unwrap();
            let pages: Vec<u32> = (0..=self.draw.below(3))
                .map(|_| u32::try_from(1 + self.draw.below(u64::from(PAGES))).unwrap())
                .collect();
            let number = change(&self.instance, &self.history, database, &pages).await;
            if self.draw.percent(40) {
                self.acknowledge(number).await;
            }
            if self.draw.percent(20) {
                let pause = Span::millis(self.draw.below(700));
                self.world.sleep(pause).await;
            }
        }
    }

    async fn acknowledge(&self, number: u64) {
        let log = self.instance.log();
        let durable = log.flushed(log.tail(), FlushReason::Commit);
        if self.plan.mistake == Some(Mistake::AcknowledgeEarly) {
            self.machine.mark("durable", number);
        }
        durable.await.unwrap();
        self.machine.mark("durable", number);
    }
}

/// Writes the next number into `pages`; says which one it was.
async fn change(instance: &Instance<Bytes>, history: &History, database: u8, pages: &[u32]) -> u64 {
    let changed = instance.change(database, 0, Role::System, |change| {
        let mut next = history.borrow().last().unwrap().clone();
        for &page in pages {
            if next.contains_key(&(database, page)) {
                change.page(PageNumber(page))?;
            } else {
                change.pages().claimed(PageNumber(page))?;
            }
        }
        let number = history.borrow().len() as u64;
        let data = value(number);
        for &page in pages {
            if next.insert((database, page), number).is_some() {
                change.edit(PageNumber(page)).replace(0, b"key", &data);
            } else {
                let mut editor = change.fresh(PageNumber(page));
                let flags = PageFlags::ALWAYS
                    .with(PageFlags::LEAF)
                    .with(PageFlags::ROOT);
                editor.format(ObjectId(9), flags);
                editor.insert(0, b"key", &data);
            }
        }
        history.borrow_mut().push(next);
        Ok(Step::Done(number))
    });
    changed.await.unwrap()
}

/// What a page holds for a number: bytes of its own length.
fn value(number: u64) -> Vec<u8> {
    let mut draw = Streams::new(number).named("value");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(1500)).unwrap()];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Opens and closes what a crash left, in a world that keeps its word; says what it holds then.
///
/// # Errors
/// What stood in the way.
pub(crate) fn recover(store: Store, plan: Plan, frames: &Frames) -> Result<State, String> {
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store,
        frames: frames.clone(),
        ..VirtualOptions::new(1)
    });
    let world = virtual_world.world.clone();
    let recovered = virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, plan.options()).await?;
        instance.close().await
    });
    recovered.map_err(|error| format!("recovery failed: {error}"))?;
    read_state(&virtual_world.machine.store())
}

/// What the databases hold, read from their bytes.
fn read_state(store: &Store) -> Result<State, String> {
    let mut state = State::new();
    for database in 0..DATABASES {
        let bytes = store.get(&database_path(database)).unwrap();
        let pages = (1..).zip(bytes.chunks_exact(SIZE.bytes()).skip(2));
        for (number, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
            let node = Page::new(page, SIZE).node(0);
            let data = node.map_or(&[][..], |node| node.data);
            let version = data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            let version = version.filter(|version| data == value(*version));
            let version =
                version.ok_or_else(|| format!("page {number} of {database} is a mixture"))?;
            state.insert((u8::try_from(database).unwrap(), number), version);
        }
    }
    Ok(state)
}
