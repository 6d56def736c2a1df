//! A mail server in a drill: it serves at one site, is killed or stopped there, and serves at the
//! other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_array::Site;
use brunt_drill::{Base, Checksum, Found, Key, Ledger, SharedLedger};
use brunt_ese::twin::Elsewhere;
use brunt_ese::verify::verify;
use brunt_qualify::phases::serving::{Serving, create, serve_one, version_of};
use brunt_qualify::plan::Plan;
use brunt_qualify::server::{Records, Server, Table, Twin};
use brunt_qualify::truth::survey::survey;
use brunt_qualify::truth::witness::Hearing;
use brunt_run::{Silence, Stop};
use brunt_units::{LogPosition, PageNumber, Span};
use brunt_workload::keys::Population;
use brunt_world::{Spawner, World};
use brunt_world_virtual::{Host, Store, VirtualOptions, VirtualWorld};

use super::mirror::Mirror;
use super::sites::Sites;
use super::unable::Unable;

/// An open server and its records.
pub(crate) type Opened<T> = (Rc<Server<T>>, Vec<Population>);

/// What a drill needs of an engine: the real one, or its twin.
pub(crate) trait DrillEngine: Table {
    /// Whether there is something to read and to verify.
    const HAS_CONTENT: bool;

    /// Creates the databases of `plan` and opens them.
    async fn create(world: World, plan: Plan) -> Result<Opened<Self>, Unable>;

    /// Opens at another site what is there, after the server `former` was killed or stopped. Also
    /// returns the time of its replay.
    async fn take_over(
        world: World,
        plan: Plan,
        former: Opened<Self>,
        sites: Vec<Elsewhere>,
    ) -> Result<(Opened<Self>, Span), Unable>;

    /// Forgets what no recovery of instance `stream` from `checkpoint` needs.
    fn forget(server: &Server<Self>, stream: usize, checkpoint: LogPosition);

    /// The records with `keys` as they are in `server`; nothing where there is no content.
    async fn found(server: Rc<Server<Self>>, keys: Vec<Key>) -> Result<Found, Unable>;

    /// The records of an open server, where only the files know them.
    async fn records(
        world: World,
        server: Rc<Server<Self>>,
        known: Vec<Population>,
    ) -> Result<Vec<Population>, Unable>;
}

/// Opens the databases of `plan`, recovering them if needed.
pub(crate) async fn open_records(world: &World, plan: &Plan) -> Result<Rc<Server>, Unable> {
    let opened = Server::open(world, plan, &Silence, None).await;
    Ok(opened.map(Rc::new)?)
}

impl DrillEngine for Records {
    const HAS_CONTENT: bool = true;

    async fn create(world: World, plan: Plan) -> Result<Opened<Self>, Unable> {
        let created = create(&world, &plan, &Silence, &Stop::default()).await;
        Ok(created?)
    }

    async fn take_over(
        world: World,
        plan: Plan,
        former: Opened<Self>,
        _: Vec<Elsewhere>,
    ) -> Result<(Opened<Self>, Span), Unable> {
        let server = open_records(&world, &plan).await?;
        let took = server.longest_replay();
        Ok(((server, former.1), took))
    }

    fn forget(_: &Server<Self>, _: usize, _: LogPosition) {}

    async fn found(server: Rc<Server<Self>>, keys: Vec<Key>) -> Result<Found, Unable> {
        let mut found = Found::new();
        for key in keys {
            let version = version_of(&server, key).await?;
            found.insert(key, version);
        }
        Ok(found)
    }

    async fn records(
        world: World,
        server: Rc<Server<Self>>,
        _: Vec<Population>,
    ) -> Result<Vec<Population>, Unable> {
        Ok(survey(&world, &server, &Silence).await?)
    }
}

impl DrillEngine for Twin {
    const HAS_CONTENT: bool = false;

    async fn create(world: World, plan: Plan) -> Result<Opened<Self>, Unable> {
        let (server, populations) = Server::make(&world, &plan).await?;
        Ok((Rc::new(server), populations))
    }

    async fn take_over(
        world: World,
        plan: Plan,
        (former, populations): Opened<Self>,
        sites: Vec<Elsewhere>,
    ) -> Result<(Opened<Self>, Span), Unable> {
        let Ok(former) = Rc::try_unwrap(former) else {
            return Err(Unable::InUse);
        };
        let taken = former.take_over(&world, &plan, &Silence, sites).await;
        let server = Rc::new(taken?);
        let took = server.longest_replay();
        Ok(((server, populations), took))
    }

    fn forget(server: &Server<Self>, stream: usize, checkpoint: LogPosition) {
        server.forget_before(stream, checkpoint);
    }

    async fn found(_: Rc<Server<Self>>, _: Vec<Key>) -> Result<Found, Unable> {
        Ok(Found::new())
    }

    async fn records(
        _: World,
        _: Rc<Server<Self>>,
        known: Vec<Population>,
    ) -> Result<Vec<Population>, Unable> {
        Ok(known)
    }
}

/// A mail server.
pub(crate) struct MailServer<T: DrillEngine> {
    pub(crate) number: usize,
    pub(crate) name: String,
    plans: [Plan; 2],
    pub(crate) ledger: SharedLedger,
    pub(crate) site: Cell<Site>,
    host: RefCell<Option<Host>>,
    pub(crate) serving: RefCell<Option<Serving<T>>>,
    /// What it was before it ended, and what the other side has of it.
    former: RefCell<Option<Opened<T>>>,
    elsewhere: RefCell<Vec<Elsewhere>>,
    /// What has recovered and does not serve yet, in its world.
    pub(crate) opened: RefCell<Option<(World, Opened<T>)>>,
}

impl<T: DrillEngine> MailServer<T> {
    /// Server number `number`, with its plan at each site.
    pub(crate) fn new(number: usize, name: &str, plans: [Plan; 2]) -> Self {
        let ledger = SharedLedger::default();
        let hearing = Hearing::of(std::sync::Arc::new(ledger.clone()));
        Self {
            number,
            name: name.to_owned(),
            plans: plans.map(|plan| Plan { hearing: hearing.clone(), ..plan }),
            ledger,
            site: Cell::new(Site::Source),
            host: RefCell::default(),
            serving: RefCell::default(),
            former: RefCell::default(),
            elsewhere: RefCell::default(),
            opened: RefCell::default(),
        }
    }

    pub(crate) fn plan(&self, site: Site) -> &Plan {
        &self.plans[match site {
            Site::Source => 0,
            Site::Destination => 1,
        }]
    }

    /// Starts its host at `site`, and returns the world of that.
    pub(crate) fn boot(&self, sites: &Sites, site: Site) -> World {
        let host = sites.host(site, self.number, &self.name);
        let world = World { random: host.world().random.part(&self.name), ..host.world().clone() };
        self.site.set(site);
        *self.host.borrow_mut() = Some(host);
        world
    }

    /// Opens its ledger for the records that were created.
    pub(crate) fn open_ledger(&self, populations: &[Population]) {
        let databases = self.plans[0].instances.iter().enumerate();
        let names = databases.flat_map(|(stream, instance)| {
            let databases = instance.databases.iter();
            (0_u8..).zip(databases).map(move |(number, _)| (stream, number))
        });
        let counts = populations.iter().map(Population::len);
        *self.ledger.lock() = Ledger::new(Base::created(names.zip(counts)));
    }

    /// Lets sessions work on what was opened.
    pub(crate) fn serve(&self, world: &World, (server, populations): Opened<T>) {
        let plan = self.plan(self.site.get());
        *self.serving.borrow_mut() = Some(Serving::begin(world, plan, &server, populations));
    }

    /// Paces its load to `percent` of what it is; 0 suspends it.
    pub(crate) async fn pace_to(&self, percent: u32) {
        let serving = self.serving.borrow_mut().take();
        let Some(mut serving) = serving else { return };
        if serving.is_suspended() {
            serving.resume();
        }
        match percent {
            0 => serving.suspend().await,
            some => serving.pace_to(f64::from(some) / 100.0),
        }
        *self.serving.borrow_mut() = Some(serving);
    }

    /// Forgets what `mirror` has: it can no longer be lost, and no recovery needs it.
    pub(crate) fn forget(&self, mirror: &Mirror) {
        let plan = self.plan(self.site.get());
        let serving = self.serving.borrow();
        let Some(serving) = serving.as_ref() else {
            return;
        };
        let mut ledger = self.ledger.lock();
        for (stream, instance) in plan.instances.iter().enumerate() {
            let log = mirror.log(&instance.log);
            ledger.forget_before(stream, log.durable);
            T::forget(serving.server(), stream, log.checkpoint);
        }
    }

    /// Kills its host.
    pub(crate) fn kill(&self) {
        if let Some(host) = self.host.borrow_mut().take() {
            host.lose_power();
        }
        self.retire();
    }

    /// Keeps what it was.
    fn retire(&self) {
        if let Some(serving) = self.serving.borrow_mut().take() {
            let populations = serving.populations();
            *self.former.borrow_mut() = Some((serving.into_server(), populations));
        }
    }

    /// Ends its sessions and closes it. Its host is switched off then.
    ///
    /// # Errors
    /// The first error of the engine, in words.
    pub(crate) async fn stop(&self) -> Result<(), Unable> {
        let serving = self.serving.borrow_mut().take();
        if let Some(serving) = serving {
            let stopped = serving.stop().await;
            *self.serving.borrow_mut() = Some(serving);
            stopped?;
        }
        self.kill();
        Ok(())
    }

    /// Whether sessions work on it.
    pub(crate) fn works(&self) -> bool {
        let serving = self.serving.borrow();
        let works = |one: &Serving<T>| one.server().failure().is_none() && !one.is_suspended();
        serving.as_ref().is_some_and(works)
    }

    /// Lets its sessions rest.
    pub(crate) async fn rest(&self) {
        let serving = self.serving.borrow_mut().take();
        if let Some(serving) = serving {
            serving.suspend().await;
            *self.serving.borrow_mut() = Some(serving);
        }
    }

    /// The server that is open, and what runs its tasks: its host, or `world` below it.
    pub(crate) fn open(&self, world: &World) -> Option<(Spawner, Rc<Server<T>>)> {
        if let Some((world, (server, _))) = &*self.opened.borrow() {
            return Some((world.spawner.clone(), Rc::clone(server)));
        }
        let serving = self.serving.borrow();
        Some((world.spawner.clone(), Rc::clone(serving.as_ref()?.server())))
    }

    /// It is to be recovered from what `mirror` has.
    pub(crate) fn leave(&self, mirror: &Mirror) -> Result<(), Unable> {
        let former = self.former.borrow();
        let (former, _) = former.as_ref().ok_or(Unable::NeverOpen)?;
        *self.elsewhere.borrow_mut() = self.elsewhere(mirror, former);
        Ok(())
    }

    /// Recovers it in the `world` of its host; also the time of its replay.
    pub(crate) fn take_over(
        &self,
        world: World,
    ) -> Result<impl Future<Output = Result<(Opened<T>, Span), Unable>> + use<T>, Unable> {
        let former = self.former.borrow_mut().take().ok_or(Unable::NeverOpen)?;
        let plan = self.plan(self.site.get()).clone();
        Ok(T::take_over(world, plan, former, self.elsewhere.borrow().clone()))
    }

    /// Why it cannot do `what`.
    pub(crate) fn unable(&self, what: &'static str, why: Unable) -> Unable {
        Unable::Server { name: self.name.clone(), what, why: Box::new(why) }
    }

    /// What `mirror` has of each of its logs.
    fn elsewhere(&self, mirror: &Mirror, former: &Server<T>) -> Vec<Elsewhere> {
        let from = self.plan(self.site.get());
        let page = from.engine.page.bytes_u64();
        let mut all: Vec<Elsewhere> = Vec::new();
        for (instance, plan) in former.instances().iter().zip(&from.instances) {
            let log = mirror.log(&plan.log);
            let newest = log.newest.and_then(|file| mirror.path_of(file));
            all.push(Elsewhere {
                durable: log.durable,
                checkpoint: log.checkpoint,
                is_current: newest.is_none_or(|path| path == instance.log().files().current_path()),
                missing: Vec::new(),
            });
        }
        for (file, offset, bytes) in mirror.missing() {
            let Some(path) = mirror.path_of(file) else {
                continue;
            };
            for (stream, instance) in from.instances.iter().enumerate() {
                let databases = (0_u8..).zip(&instance.databases);
                for (number, _) in databases.filter(|(_, one)| one.path == path) {
                    let first = offset.div_euclid(page);
                    let pages = first.max(2)..first + bytes.div_ceil(page);
                    // Page 1 comes after two pages of header.
                    let pages = pages.map(|at| u32::try_from(at - 1).expect("a page number"));
                    let pages = pages.map(|at| (number, PageNumber(at)));
                    all[stream].missing.extend(pages);
                }
            }
        }
        all
    }

    /// Where its logs end at the side that took over.
    pub(crate) fn ends(&self) -> Vec<LogPosition> {
        self.elsewhere.borrow().iter().map(|site| site.durable).collect()
    }

    /// Serves an operation on what has recovered, as soon as it can; the world of that. Nothing
    /// where nothing has.
    pub(crate) fn first_operation(
        &self,
    ) -> Option<(World, impl Future<Output = Result<(), Unable>> + use<T>)> {
        let opened = self.opened.borrow();
        let (world, (server, populations)) = opened.as_ref()?;
        let record = populations.first().and_then(|all| all.records().next());
        let (server, plan) = (Rc::clone(server), self.plan(self.site.get()).clone());
        let first = async move {
            let record = record.ok_or(Unable::NoRecord)?;
            Ok(serve_one(&server, &plan, 0, record).await?)
        };
        Some((world.clone(), first))
    }
}

/// Verifies every page of the databases of `plans` in `files`, whose paths are those of the plans.
pub(crate) fn checksum(files: &Store, plans: &[&Plan]) -> Result<Checksum, Unable> {
    let options = VirtualOptions { store: files.fork(), ..VirtualOptions::new(1) };
    let mut made = VirtualWorld::new(options);
    let world = made.world.clone();
    let paths = plans.iter().flat_map(|plan| plan.databases());
    let paths: Vec<_> = paths.map(|database| database.path.clone()).collect();
    made.executor.block_on(async move {
        let mut sum = Checksum::default();
        for path in &paths {
            let report = verify(&world, path)
                .await
                .map_err(|error| Unable::Verify { path: path.clone(), error })?;
            sum.pages += report.pages_seen;
            sum.bad += report.pages_bad;
        }
        Ok(sum)
    })
}
