//! Passive copies of a test: seeded before the load, fed by log shipping during it, activated and
//! verified after it.
//!
//! ```text
//!   databases open ----> load ----------------------> closed ----> catch up --> activated --> records, pages --> removed
//!        '-- seed --> copy <-- closed logs ---------- last log --'                               '-- wrong: left as it is
//! ```
//!
//! The copies live in the world of the test, and reach their active over its loopback. They are
//! judged by the same means as the active's own databases, and against the same oracle: a copy that
//! was activated after the last log holds what the active holds.
//!
//! A copy that was activated begins another history, so the next test seeds it again. It is removed
//! when its test ends, unless something is wrong with it: then it stays for a look.

mod end;
mod followed;
mod repeats;
mod scan;
mod twins;

use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_copies::pages::PagesOfCopies;
use brunt_copies::seed::seed;
use brunt_copies::truncation::Limits;
use brunt_copies::{CopyError, CopyOptions, PassiveCopy, Shipper};
use brunt_ese::cache::Cache;
use brunt_ese::content::Bytes;
use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::database;
use brunt_ese::patch::Patch;
use brunt_run::{Listener, News, Stop};
use brunt_units::{Span, Time};
use brunt_world::World;

use crate::error::RunError;
use crate::phases::places;
use crate::plan::{CopyPlan, Plan, reads};
use crate::server::{Following, Server};
pub use followed::Followed;
use followed::Samples;
pub(crate) use followed::in_result;
use repeats::Repeats;
pub use scan::Scan;
pub(crate) use twins::TwinFollowers;

/// The files of ours in the places of the plan's copies.
///
/// # Errors
/// [`RunError`] with the first file that is in the way.
pub(crate) async fn all(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = Vec::new();
    for copy in &plan.passive {
        files.extend(of(world, plan, copy).await?);
    }
    Ok(files)
}

async fn of(world: &World, plan: &Plan, copy: &CopyPlan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = places::of_instances(world, &plan.of_copy(copy)).await?;
    for database in &copy.files.databases {
        let begun = seeding(&database.path);
        if places::length(world, &begun).await?.is_none() {
            continue;
        }
        match places::is_begun(world, &begun, &database.path).await? {
            true => files.push(begun),
            false => return Err(RunError::Foreign(begun)),
        }
    }
    Ok(files)
}

/// The name of a database until its seed is complete.
fn seeding(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-seeding");
    name.into()
}

/// What an earlier run has left of the plan's copies, to be removed. Nothing is removed.
///
/// # Errors
/// [`RunError::CopyThere`] when the plan may not replace it; a foreign file.
pub async fn there(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = Vec::new();
    for copy in &plan.passive {
        let own = of(world, plan, copy).await?;
        if let Some(first) = own.first()
            && !plan.renew
            && !(plan.carried.is_some() && is_left(world, plan, copy).await)
        {
            return Err(RunError::CopyThere(first.clone()));
        }
        files.extend(own);
    }
    Ok(files)
}

/// Whether the run that is carried on has left `copy`: its databases are seeds of those of its
/// instance, whose signature they have.
async fn is_left(world: &World, plan: &Plan, copy: &CopyPlan) -> bool {
    let mut is_left = false;
    let actives = &plan.instances[copy.of].databases;
    for (active, database) in actives.iter().zip(&copy.files.databases) {
        let begun = places::length(world, &seeding(&database.path)).await;
        match signature(world, plan, &database.path).await {
            None => is_left |= matches!(begun, Ok(Some(_))),
            own if own == signature(world, plan, &active.path).await => is_left = true,
            _ => return false,
        }
    }
    is_left
}

async fn signature(world: &World, plan: &Plan, path: &Path) -> Option<Signature> {
    let found = database::open(world, path, plan.engine.page).await.ok()?;
    let closed = world.volume.close(found.file).await;
    closed.is_ok().then_some(found.header.signature)
}

/// A passive copy at work.
struct Follower {
    plan: CopyPlan,
    shipper: Shipper,
    /// Its number among the copies of its instance.
    number: usize,
    copy: PassiveCopy,
    /// The generation before the first one that it needed.
    seeded_to: u32,
    seeding_took: Span,
    samples: RefCell<Samples>,
    /// Why it no longer follows.
    error: Rc<RefCell<Option<CopyError>>>,
    was_told: Cell<bool>,
    /// Patches that were told.
    patches_told: Cell<usize>,
    repeats: RefCell<Repeats>,
}

/// The passive copies of a server.
pub(crate) struct Followers {
    all: Vec<Follower>,
    /// The cache of their actives.
    cache: Cache<Bytes>,
    /// Bad pages of the actives, and what became of them.
    patches: RefCell<Vec<Patch>>,
    repeats: RefCell<Repeats>,
}

impl Followers {
    /// Seeds the copies of `plan` from `server`, and begins to ship logs to them.
    ///
    /// # Errors
    /// [`RunError::Copy`] for the first that cannot be seeded; [`RunError::Stopped`]. What was
    /// seeded is left.
    pub(crate) async fn begin(
        world: &World,
        plan: &Plan,
        server: &Server,
        listener: &dyn Listener,
        stop: &Stop,
    ) -> Result<Self, RunError> {
        let mut followers = Self {
            all: Vec::new(),
            cache: server.instances()[0].cache().clone(),
            patches: RefCell::default(),
            repeats: RefCell::default(),
        };
        let begun = followers.seed_all(world, plan, server, listener, stop).await;
        if begun.is_err() {
            followers.leave().await;
        }
        begun.map(|()| followers)
    }

    async fn seed_all(
        &mut self,
        world: &World,
        plan: &Plan,
        server: &Server,
        listener: &dyn Listener,
        stop: &Stop,
    ) -> Result<(), RunError> {
        let mut pages = PagesOfCopies::default();
        for (index, instance) in server.instances().iter().enumerate() {
            let own = plan.passive.iter().filter(|copy| copy.of == index);
            let own: Vec<&CopyPlan> = own.collect();
            if own.is_empty() {
                continue;
            }
            let shipper = Shipper::new(world, instance, own.len(), Limits::default());
            for (number, copy) in own.into_iter().enumerate() {
                if stop.is_asked() {
                    return Err(RunError::Stopped);
                }
                let begun = world.clock.now();
                let options = CopyOptions {
                    instance: plan.of_copy(copy).instance_options(0),
                    cache: plan.of_copy(copy).cache_options(),
                    lag: copy.lag,
                    maintenance: plan.throttle(),
                };
                let named =
                    |error: CopyError| RunError::Copy { copy: copy.files.name.clone(), error };
                let reads = reads(plan.version);
                let seed = seed(world, instance, &options.instance, reads).await;
                let seed = seed.map_err(named)?;
                shipper.seeded(number, seed.first());
                let seeded_to = seed.first().saturating_sub(1);
                let copy_here = PassiveCopy::open(world, options).await.map_err(named)?;
                let follower = Follower {
                    plan: copy.clone(),
                    shipper: shipper.clone(),
                    number,
                    copy: copy_here,
                    seeded_to,
                    seeding_took: world.clock.now() - begun,
                    samples: RefCell::default(),
                    error: Rc::default(),
                    was_told: Cell::default(),
                    patches_told: Cell::default(),
                    repeats: RefCell::default(),
                };
                follower.connect(world).await.map_err(named)?;
                let text = format!(
                    "{} of {}: seeded in {:.1} s",
                    copy.files.name,
                    plan.instances[index].name,
                    follower.seeding_took.as_seconds()
                );
                listener.tell(world.clock.now(), &News::Note { text });
                self.all.push(follower);
            }
            // Those that replay late have not what an active asks for.
            let prompt = self.all.iter().filter(|one| one.plan.of == index);
            let prompt = prompt.filter(|one| one.plan.lag == Span::ZERO);
            let named = prompt.map(|one| (one.number, one.plan.files.name.clone()));
            pages.add(&shipper, named.collect());
        }
        self.cache.patch_from(Rc::new(pages));
        Ok(())
    }

    /// Ends all copies and leaves their files.
    async fn leave(&self) {
        for follower in &self.all {
            follower.shipper.stop();
        }
        for follower in &self.all {
            // It is worthless already.
            let _ = follower.copy.clone().close().await;
        }
    }
}

impl Following for Followers {
    fn sample(&self, now: Time) -> Vec<(String, [u32; 2])> {
        let queues = self.all.iter().map(|follower| {
            let queues = follower.queues();
            let mut samples = follower.samples.borrow_mut();
            samples.add(now, queues, follower.copy.meters());
            (follower.plan.files.name.clone(), queues)
        });
        queues.collect()
    }

    fn news(&self) -> Vec<String> {
        let mut patches = self.cache.take_patches();
        let of_actives = self.repeats.borrow_mut().news(&patches);
        self.patches.borrow_mut().append(&mut patches);
        let each = self.all.iter().flat_map(|follower| {
            let patches = follower.copy.patches();
            let told = follower.patches_told.replace(patches.len());
            let mut news = follower.repeats.borrow_mut().news(&patches[told..]);
            let failure = follower.failure();
            news.extend(failure.filter(|_| !follower.was_told.replace(true)));
            let named = |news| format!("{}: {news}", follower.plan.files.name);
            news.into_iter().map(named).collect::<Vec<_>>()
        });
        of_actives.into_iter().chain(each).collect()
    }

    fn repeated(&self) -> Vec<String> {
        let mut rest = self.repeats.borrow_mut().rest();
        for follower in &self.all {
            let again = follower.repeats.borrow_mut().rest().into_iter();
            let name = &follower.plan.files.name;
            rest.extend(again.map(|note| format!("{name}: {note}")));
        }
        rest
    }

    fn patches(&self) -> Vec<Patch> {
        let mut patches = self.patches.borrow_mut();
        patches.append(&mut self.cache.take_patches());
        patches.clone()
    }
}

impl Follower {
    /// Connects both sides, and begins to ship and to replay.
    async fn connect(&self, world: &World) -> Result<(), CopyError> {
        let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (listener, at) = world.net.listen(at).await?;
        let connection = world.net.connect(at).await?;
        let (accepted, _) = world.net.accept(listener).await?;
        world.net.close(listener);
        let note = |error: &Rc<RefCell<Option<CopyError>>>| {
            let error = Rc::clone(error);
            move |result: Result<(), CopyError>| {
                if let Err(why) = result {
                    error.borrow_mut().get_or_insert(why);
                }
            }
        };
        let (serving, shipper, number) = (note(&self.error), self.shipper.clone(), self.number);
        let (receiving, following) = (note(&self.error), note(&self.error));
        let [to, from] = [self.copy.clone(), self.copy.clone()];
        let spawner = &world.spawner;
        drop(spawner.spawn(async move { serving(shipper.serve(number, accepted).await) }));
        drop(spawner.spawn(async move { receiving(to.receive(connection).await) }));
        drop(spawner.spawn(async move { following(from.follow().await) }));
        Ok(())
    }

    /// Closed logs that are not stored, and stored ones that are not replayed.
    fn queues(&self) -> [u32; 2] {
        let queues = self.copy.queues();
        [self.shipper.closed().saturating_sub(queues.stored), queues.replay()]
    }

    /// Why it no longer follows, in words.
    fn failure(&self) -> Option<String> {
        let left_out = self.shipper.left_out();
        let left_out = left_out.iter().find(|(copy, _)| *copy == self.number);
        let left_out = left_out.map(|(_, why)| format!("logs are no longer kept for it: {why}"));
        let error = self.error.borrow().clone().or(self.copy.failure());
        error.map(|error| error.to_string()).or(left_out)
    }
}
