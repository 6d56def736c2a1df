//! Modelled hosts: doors, agents, and tests that only take their time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_fleet::{
    Admission, Agent, Claim, Device, FIRST, Facts, FileEntry, Frames, FromAgent, Greeting, Hello,
    How, Listening, Order, Phase, Program, Progress, Status, ToAgent, admit, frame,
};
use brunt_report::result::Verdict;
use brunt_units::{Span, Time};
use brunt_world::{SocketId, Spawner, World};
use brunt_world_virtual::{Cores, Host, Machine};

/// The port of a door.
pub(crate) const PORT: u16 = 22;
/// How often agents and doors look around.
const LOOK: Span = Span::millis(20);
/// Bytes in a piece of a file.
const PIECE: usize = 64 << 10;

/// What a host's test takes and comes to.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) checking: Span,
    pub(crate) creating: Span,
    pub(crate) warming: Span,
    pub(crate) collecting: Span,
    pub(crate) closing: Span,
    pub(crate) verdict: Verdict,
    /// The phase in which it breaks.
    pub(crate) breaks: Option<Phase>,
    /// Its collection ends by itself after this.
    pub(crate) gives_up: Option<Span>,
    pub(crate) folder_bytes: usize,
}

/// What a host is.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) course: Course,
    pub(crate) program: Program,
    /// Its clock is ahead of the world's by this, and faster by parts of a million.
    pub(crate) ahead: Span,
    pub(crate) drift_ppm: i64,
    pub(crate) boot: String,
    pub(crate) devices: Vec<Device>,
    pub(crate) wait: Span,
    /// Whether a door begins a run whatever was claimed: a mistake to be found.
    pub(crate) is_careless: bool,
}

/// What outlives a host's processes.
#[derive(Default)]
struct DiskState {
    claim: Option<(u32, Option<Box<Status>>)>,
    has_folder: bool,
}

/// What happened, as nobody but the test sees it.
#[derive(Default)]
pub(crate) struct Truth {
    /// How often a test began.
    pub(crate) begun: Cell<u32>,
    pub(crate) is_ready: Cell<bool>,
    pub(crate) worked: Cell<Option<Time>>,
    /// How many hosts were ready when sessions began to work.
    pub(crate) ready_then: Cell<usize>,
    pub(crate) collected: Cell<Option<Time>>,
    pub(crate) is_complete: Cell<bool>,
}

pub(crate) struct Server {
    pub(crate) made: Made,
    below: World,
    host: RefCell<Host>,
    boot: Cell<u32>,
    is_dead: Cell<bool>,
    disk: RefCell<DiskState>,
    keeper: RefCell<Option<Rc<Keeper>>>,
    pub(crate) truth: Truth,
    all: RefCell<Vec<Rc<Server>>>,
    connections: RefCell<Vec<SocketId>>,
    /// A byte of the next piece that is sent changes.
    pub(crate) damages: Cell<bool>,
}

/// An agent's process.
struct Keeper {
    inbox: RefCell<VecDeque<ToAgent>>,
    outbox: RefCell<VecDeque<FromAgent>>,
    attached: RefCell<VecDeque<u64>>,
    /// The connection that has the agent.
    current: Cell<u64>,
    replaced: Cell<bool>,
    is_gone: Cell<bool>,
    is_stuck: Cell<bool>,
    spawner: Spawner,
}

impl Server {
    pub(crate) fn new(machine: &Machine, below: &World, address: IpAddr, made: Made) -> Rc<Self> {
        let host = Host::new(machine, below, &made.boot, address, Cores::Unlimited);
        let server = Rc::new(Self {
            made,
            below: below.clone(),
            host: RefCell::new(host),
            boot: Cell::new(0),
            is_dead: Cell::default(),
            disk: RefCell::default(),
            keeper: RefCell::default(),
            truth: Truth::default(),
            all: RefCell::default(),
            connections: RefCell::default(),
            damages: Cell::default(),
        });
        server.listen();
        server
    }

    /// Every server knows all, to see whether all were ready.
    pub(crate) fn meet(self: &Rc<Self>, all: &[Rc<Self>]) {
        *self.all.borrow_mut() = all.to_vec();
    }

    pub(crate) fn part(&self) {
        self.all.borrow_mut().clear();
    }

    pub(crate) fn clock(&self) -> Time {
        let now = self.below.clock.now().0;
        let drift = i128::from(now) * i128::from(self.made.drift_ppm);
        let drift = drift.div_euclid(1_000_000);
        let drift = i64::try_from(drift).unwrap();
        Time((now + self.made.ahead.0).saturating_add_signed(drift))
    }

    fn world(&self) -> World {
        self.host.borrow().world().clone()
    }

    fn listen(self: &Rc<Self>) {
        let (server, world) = (Rc::clone(self), self.world());
        let at = SocketAddr::new(self.host.borrow().address(), PORT);
        drop(self.world().spawner.spawn(async move {
            let (listener, _) = world.net.listen(at).await.expect("nobody has the port");
            let mut number = 0;
            while let Ok((connection, _)) = world.net.accept(listener).await {
                number += 1;
                server.connections.borrow_mut().push(connection);
                let (server, inside) = (Rc::clone(&server), world.clone());
                drop(world.spawner.spawn(async move {
                    server.door(&inside, connection, number).await;
                    inside.net.close(connection);
                }));
            }
        }));
    }

    /// Serves one connection.
    async fn door(self: &Rc<Self>, world: &World, connection: SocketId, number: u64) -> Option<()> {
        let mut frames = Frames::default();
        let hello = loop {
            frames.push(&world.net.read(connection, 1 << 16).await.ok().filter(|b| !b.is_empty())?);
            if let Some(content) = frames.next_content().ok()? {
                break Hello::read(&content)?;
            }
        };
        let (admission, status) = admit(&hello, &self.made.program, &self.claim());
        let is_refused = matches!(admission, Admission::Refused { .. });
        let greeting = Greeting { program: self.made.program.clone(), admission };
        let is_begun = greeting.admission == Admission::Begun;
        let greeting = [FIRST, &frame(&greeting.to_content())].concat();
        if is_begun {
            self.begin();
        }
        world.net.write(connection, greeting).await.ok()?;
        if is_refused {
            return None;
        }
        let keeper = match status {
            Some(status) => self.serve(world, status),
            None => self.keeper.borrow().clone()?,
        };
        keeper.current.set(number);
        keeper.attached.borrow_mut().push_back(hello.coordinator);
        let (reader, inside) = (Rc::clone(&keeper), world.clone());
        let is_open = Rc::new(Cell::new(true));
        let is_read = Rc::clone(&is_open);
        drop(world.spawner.spawn(async move {
            while let Ok(bytes) = inside.net.read(connection, 1 << 16).await {
                frames.push(&bytes);
                while let Ok(Some(content)) = frames.next_content() {
                    reader.inbox.borrow_mut().extend(ToAgent::read(&content));
                }
                if bytes.is_empty() {
                    break;
                }
            }
            is_read.set(false);
        }));
        let mut listening = Listening::begin(self.clock());
        while is_open.get() {
            if keeper.current.get() != number {
                if keeper.replaced.take() {
                    let replaced = frame(&FromAgent::Replaced.to_content());
                    world.net.write(connection, replaced).await.ok()?;
                }
                return None;
            }
            let mut said: Vec<FromAgent> = keeper.outbox.borrow_mut().drain(..).collect();
            if !said.is_empty() {
                listening.heard(self.clock());
            }
            let silent = listening.silent(self.clock()).filter(|_| !keeper.is_gone.get());
            said.extend(silent.map(|lasted| FromAgent::Silent { lasted }));
            for message in said {
                let mut bytes = frame(&message.to_content());
                if matches!(message, FromAgent::Piece { .. }) && self.damages.take() {
                    let at = bytes.len() >> 1;
                    bytes[at] ^= 0x10;
                }
                world.net.write(connection, bytes).await.ok()?;
            }
            if keeper.is_gone.get() && keeper.outbox.borrow().is_empty() {
                return None;
            }
            world.sleep(LOOK).await;
        }
        None
    }

    fn claim(&self) -> Claim {
        let disk = self.disk.borrow();
        let is_alive = self.keeper.borrow().as_ref().is_some_and(|keeper| !keeper.is_gone.get());
        match &disk.claim {
            _ if self.made.is_careless && !is_alive => Claim::Free,
            None => Claim::Free,
            Some((boot, Some(status))) if !is_alive => {
                Claim::Ended { status: status.clone(), restarted: *boot != self.boot.get() }
            }
            Some(_) if is_alive => Claim::Held,
            Some((boot, _)) => Claim::Orphaned {
                restarted: *boot != self.boot.get(),
                has_folder: disk.has_folder,
                why: "signal 9".to_owned(),
            },
        }
    }

    fn keep(&self, spawner: Spawner) -> Rc<Keeper> {
        Rc::new(Keeper {
            inbox: RefCell::default(),
            outbox: RefCell::default(),
            attached: RefCell::default(),
            current: Cell::default(),
            replaced: Cell::default(),
            is_gone: Cell::default(),
            is_stuck: Cell::default(),
            spawner,
        })
    }

    /// An agent begins.
    fn begin(self: &Rc<Self>) {
        self.disk.borrow_mut().claim = Some((self.boot.get(), None));
        let keeper = self.keep(self.world().spawner.group());
        *self.keeper.borrow_mut() = Some(Rc::clone(&keeper));
        let agent = Agent::new(self.made.wait, self.clock());
        let (server, inside) = (Rc::clone(self), self.world());
        let spawner = keeper.spawner.clone();
        drop(spawner.spawn(async move { server.run(&inside, &keeper, agent).await }));
    }

    /// Serves what is left, in the door's own process.
    fn serve(self: &Rc<Self>, world: &World, status: Status) -> Rc<Keeper> {
        let keeper = self.keep(world.spawner.clone());
        let agent = Agent::ended(status, self.clock());
        let (server, inside, serving) = (Rc::clone(self), world.clone(), Rc::clone(&keeper));
        drop(world.spawner.spawn(async move { server.run(&inside, &serving, agent).await }));
        keeper
    }

    async fn run(&self, world: &World, keeper: &Keeper, mut agent: Agent) {
        let mut test = Test { step: Step::Idle, until: Time::MAX };
        let mut ended = None;
        loop {
            let now = self.clock();
            let attached: Vec<u64> = keeper.attached.borrow_mut().drain(..).collect();
            for coordinator in attached {
                let replaced = agent.connected(coordinator, now).is_some();
                keeper.replaced.set(keeper.replaced.get() || replaced);
                keeper.outbox.borrow_mut().clear();
            }
            let heard: Vec<ToAgent> = keeper.inbox.borrow_mut().drain(..).collect();
            for message in heard {
                agent.hear(message, now);
            }
            for order in agent.orders() {
                match order {
                    Order::List => keeper.outbox.borrow_mut().push_back(self.files()),
                    Order::Read { file, offset } => {
                        keeper.outbox.borrow_mut().push_back(self.read(file, offset));
                    }
                    Order::Leave => {
                        keeper.is_gone.set(true);
                        return;
                    }
                    order => test.order(order, self, now),
                }
            }
            if !keeper.is_stuck.get() {
                let progress = test.go_on(self, now);
                agent.progress(Progress::News("{}".to_owned()), now);
                progress.into_iter().for_each(|progress| agent.progress(progress, now));
            }
            agent.tick(now);
            keeper.outbox.borrow_mut().extend(agent.said());
            if let (Some(_), None) = (&agent.status().end, ended) {
                ended = Some(now);
                if let Some((_, kept)) = &mut self.disk.borrow_mut().claim {
                    kept.get_or_insert(Box::new(agent.status().clone()));
                }
            }
            if ended.is_some_and(|at| now.since(at) > self.made.wait) {
                keeper.is_gone.set(true);
                return;
            }
            world.sleep(LOOK).await;
        }
    }

    /// The files of its folder.
    pub(crate) fn folder(&self) -> [(&'static str, Vec<u8>); 3] {
        let bytes = |count: usize, salt: usize| {
            (0..count).map(|at| u8::try_from((at * 7 + salt + (at >> 8)) & 0xFF).unwrap()).collect()
        };
        let bytes_of = |salt| bytes(self.made.course.folder_bytes, salt);
        [("result.json", bytes(900, 3)), ("journal", bytes_of(5)), ("events.log", Vec::new())]
    }

    fn files(&self) -> FromAgent {
        FromAgent::Files(
            self.folder()
                .iter()
                .map(|(name, bytes)| FileEntry {
                    name: (*name).to_owned(),
                    bytes: bytes.len() as u64,
                    sum: crc32fast::hash(bytes),
                })
                .collect(),
        )
    }

    fn read(&self, file: u16, offset: u64) -> FromAgent {
        let folder = self.folder();
        let (_, bytes) = &folder[usize::from(file)];
        let from = usize::try_from(offset).unwrap();
        let bytes = bytes[from..bytes.len().min(from + PIECE)].to_vec();
        FromAgent::Piece { file, offset, bytes }
    }

    pub(crate) fn has_ended(&self) -> bool {
        let disk = self.disk.borrow();
        let is_alive = self.keeper.borrow().as_ref().is_some_and(|keeper| !keeper.is_gone.get());
        !is_alive || matches!(disk.claim, Some((_, Some(_))))
    }

    // What may happen to it.

    pub(crate) fn kill_agent(&self) {
        if let Some(keeper) = &*self.keeper.borrow() {
            keeper.spawner.end_group();
            keeper.is_gone.set(true);
        }
    }

    pub(crate) async fn freeze_agent(&self, lasts: Span) {
        let keeper = self.keeper.borrow().clone();
        if let Some(keeper) = keeper {
            keeper.spawner.freeze_group();
            self.below.sleep(lasts).await;
            keeper.spawner.thaw_group();
        } else {
            self.below.sleep(lasts).await;
        }
    }

    pub(crate) async fn stick(&self, lasts: Span) {
        let keeper = self.keeper.borrow().clone();
        if let Some(keeper) = keeper {
            keeper.is_stuck.set(true);
            self.below.sleep(lasts).await;
            keeper.is_stuck.set(false);
        }
    }

    pub(crate) async fn freeze(&self, lasts: Span) {
        self.host.borrow().freeze();
        self.freeze_agent(lasts).await;
        self.host.borrow().thaw();
    }

    /// The host dies, and comes back after a while if it does.
    pub(crate) async fn die(self: &Rc<Self>, loses_power: bool, back: Option<Span>) {
        if self.is_dead.replace(true) {
            return;
        }
        self.kill_agent();
        match loses_power {
            true => self.host.borrow().lose_power(),
            false => self.host.borrow().kill(),
        }
        if let Some(back) = back {
            self.below.sleep(back).await;
            let next = self.host.borrow().restart();
            *self.host.borrow_mut() = next;
            self.is_dead.set(false);
            self.boot.set(self.boot.get() + 1);
            self.listen();
        }
    }

    pub(crate) fn reset(&self) {
        let connections: Vec<SocketId> = self.connections.borrow_mut().drain(..).collect();
        let world = self.world();
        connections.into_iter().for_each(|connection| world.net.close(connection));
    }
}

/// A test that takes its time.
struct Test {
    step: Step,
    until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Idle,
    Checking,
    Creating,
    Waiting,
    Warming,
    AllWarm,
    Collecting,
    Closing(bool),
    Stopping,
    Ended,
}

impl Test {
    fn enter(&mut self, step: Step, until: Time) {
        (self.step, self.until) = (step, until);
    }

    fn order(&mut self, order: Order, server: &Server, now: Time) {
        let course = &server.made.course;
        match order {
            Order::Check(_) => {
                server.truth.begun.set(server.truth.begun.get() + 1);
                self.enter(Step::Checking, now + course.checking);
            }
            Order::Prepare => self.enter(Step::Creating, now + course.creating),
            Order::Begin { at } => self.enter(Step::Waiting, at),
            Order::Collect { at } => self.enter(Step::AllWarm, at),
            Order::Cut if matches!(self.step, Step::Collecting | Step::Warming | Step::AllWarm) => {
                self.enter(Step::Closing(false), now + course.closing);
            }
            Order::Cut | Order::Stop if self.step != Step::Ended => {
                self.enter(Step::Stopping, now + Span::millis(200));
            }
            _ => {}
        }
    }

    fn end(&mut self, how: How, server: &Server) -> Vec<Progress> {
        let has_folder = server.truth.is_ready.get();
        server.disk.borrow_mut().has_folder = has_folder;
        self.enter(Step::Ended, Time::MAX);
        vec![Progress::Ended { how, has_folder }]
    }

    fn go_on(&mut self, server: &Server, now: Time) -> Vec<Progress> {
        if now < self.until {
            return Vec::new();
        }
        let (made, truth, at) = (&server.made, &server.truth, server.below.clock.now());
        let breaks = |phase| made.course.breaks == Some(phase);
        let broke = || How::Broke { why: "an I/O error".to_owned() };
        match self.step {
            Step::Idle | Step::Ended => Vec::new(),
            Step::Checking if breaks(Phase::Checking) => {
                self.end(How::NotBegun { why: "there is no room".to_owned() }, server)
            }
            Step::Checking => {
                self.enter(Step::Idle, Time::MAX);
                let facts = Facts {
                    host: made.boot.clone(),
                    boot: format!("{}-{}", made.boot, server.boot.get()),
                    scenario: crc32fast::hash(b"a scenario"),
                    devices: made.devices.clone(),
                    unix_ns: now.0,
                    warnings: Vec::new(),
                };
                vec![Progress::Checked(Box::new(facts))]
            }
            Step::Creating if breaks(Phase::Preparing) => self.end(broke(), server),
            Step::Creating => {
                truth.is_ready.set(true);
                server.disk.borrow_mut().has_folder = true;
                self.enter(Step::Idle, Time::MAX);
                vec![Progress::Ready]
            }
            Step::Waiting => {
                truth.worked.set(Some(at));
                let ready =
                    server.all.borrow().iter().filter(|one| one.truth.is_ready.get()).count();
                truth.ready_then.set(ready);
                self.enter(Step::Warming, now + made.course.warming);
                Vec::new()
            }
            Step::Warming if breaks(Phase::Warming) => self.end(broke(), server),
            Step::Warming => {
                self.enter(Step::Idle, Time::MAX);
                vec![Progress::Warm]
            }
            Step::AllWarm => {
                truth.collected.set(Some(at));
                let lasts = made.course.gives_up.unwrap_or(made.course.collecting);
                self.enter(Step::Collecting, now + lasts);
                vec![Progress::Collecting { at: now }]
            }
            Step::Collecting if breaks(Phase::Collecting) => self.end(broke(), server),
            Step::Collecting => {
                let is_whole = made.course.gives_up.is_none();
                self.enter(Step::Closing(is_whole), now + made.course.closing);
                vec![Progress::Closing]
            }
            Step::Closing(true) => {
                truth.is_complete.set(true);
                self.end(How::Complete(made.course.verdict), server)
            }
            Step::Closing(false) => {
                let how = How::GaveUp { why: "its databases are full".to_owned() };
                [vec![Progress::Closing], self.end(how, server)].concat()
            }
            Step::Stopping => self.end(How::Stopped, server),
        }
    }
}
