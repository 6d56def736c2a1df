//! The end of passive copies: they catch up, are activated, and are compared with their active.

use brunt_copies::CopyError;
use brunt_ese::error::EngineError;
use brunt_ese::patch::Outcome;
use brunt_report::{counted, grouped};
use brunt_run::{Listener, News, Stop};
use brunt_units::Span;
use brunt_workload::keys::Extent;
use brunt_world::World;

use super::{Followed, Follower, Followers, Following, Scan, of};
use crate::phases::places;
use crate::phases::run::records_time;
use crate::plan::Plan;
use crate::server::Server;
use crate::truth::oracle::Oracle;
use crate::truth::{integrity, verification};

/// How often a copy is looked at until it has caught up.
const LOOK: Span = Span::millis(20);
/// How long a copy may stand still before it is given up.
const PATIENCE: Span = Span::seconds(60);

/// What a copy is compared with.
struct Truth<'a> {
    world: &'a World,
    plan: &'a Plan,
    /// What its databases must hold.
    oracles: Vec<Oracle>,
    extents: Vec<Extent>,
    listener: &'a dyn Listener,
    stop: &'a Stop,
}

impl Followers {
    /// What is known of all copies before they are compared.
    pub(crate) fn known(&self, plan: &Plan) -> Vec<Followed> {
        self.all.iter().map(|one| one.followed(plan)).collect()
    }

    /// Lets the copies of `server`, which is closed, catch up, and compares each with `extents`,
    /// what all databases must hold; without them, copies end where they are. Removes those that
    /// nothing is wrong with.
    pub(crate) async fn end(
        &self,
        world: &World,
        plan: &Plan,
        server: &Server,
        extents: Option<&[Extent]>,
        listener: &dyn Listener,
        stop: &Stop,
    ) -> Vec<Followed> {
        let begun = world.clock.now();
        let mut all = self.known(plan);
        for (follower, followed) in self.all.iter().zip(&mut all) {
            if let Some(error) = follower.copy.failure() {
                (followed.is_wrong, followed.remark) = (Some(true), error.to_string());
            }
        }
        if extents.is_some() {
            self.all.iter().for_each(|one| one.shipper.instance_closed());
            for (follower, followed) in self.all.iter().zip(&mut all) {
                let left = counted(u64::from(follower.queues()[1]), "log");
                let text = format!("{}: to catch up, it replays {left}", followed.name);
                listener.tell(world.clock.now(), &News::Note { text });
                if let Err(why) = follower.catch_up(world, stop).await {
                    (followed.is_wrong, followed.remark) = (Some(true), why);
                }
            }
        }
        self.all.iter().for_each(|one| one.shipper.stop());
        let oracles = server.oracles();
        for (follower, followed) in self.all.iter().zip(&mut all) {
            let stored = follower.copy.queues().stored;
            followed.logs = stored.saturating_sub(follower.seeded_to);
            follower.look(followed);
            let is_asked = |_: &&[Extent]| followed.is_wrong.is_none() && !stop.is_asked();
            let Some(extents) = extents.filter(is_asked) else {
                // What is wrong with it is known, or nobody asks.
                let _ = follower.copy.clone().close().await;
                continue;
            };
            let each = follower.plan.files.databases.len();
            let own = follower.plan.of * each..(follower.plan.of + 1) * each;
            let truth = Truth {
                world,
                plan,
                oracles: oracles[own.clone()].to_vec(),
                extents: extents[own].to_vec(),
                listener,
                stop,
            };
            if let Err(error) = follower.activate().await {
                (followed.is_wrong, followed.remark) = (Some(true), error.to_string());
                continue;
            }
            followed.catch_up_took = Some(world.clock.now() - begun);
            follower.look(followed);
            if followed.is_wrong.is_some() {
                continue;
            }
            match truth.compare(follower, followed).await {
                Ok(()) => {}
                Err(error) => {
                    (followed.is_wrong, followed.remark) = (Some(true), error.to_string());
                }
            }
        }
        self.note_given(&mut all);
        for (follower, followed) in self.all.iter().zip(&mut all) {
            if followed.is_wrong == Some(true) {
                continue;
            }
            let removed = match of(world, plan, &follower.plan).await {
                Ok(files) => places::remove_all(world, &files).await,
                Err(error) => Err(error),
            };
            if let Err(error) = removed {
                followed.remark = format!("{}; cannot be removed: {error}", followed.remark);
            }
        }
        all
    }
}

impl Followers {
    /// Counts the pages that copies gave to their actives.
    fn note_given(&self, all: &mut [Followed]) {
        for patch in self.patches() {
            if let Outcome::Patched(name) = &patch.outcome
                && let Some(one) = all.iter_mut().find(|one| one.name == *name)
            {
                one.given += 1;
            }
        }
    }
}

impl Follower {
    /// What is known of it so far.
    fn followed(&self, plan: &Plan) -> Followed {
        let found = self.copy.findings();
        Followed {
            seeding_took: self.seeding_took,
            remark: "it was not compared".to_owned(),
            ..Followed::of(&self.plan, plan, &self.samples.borrow(), &found)
        }
    }

    /// Notes what background maintenance has found.
    fn look(&self, followed: &mut Followed) {
        followed.scan = Scan::of(&self.copy.findings());
        let patches = self.copy.patches();
        let done = patches.iter().filter(|patch| patch.is_done());
        followed.repaired = done.count() as u64;
        if let Some(found) = followed.scan.as_ref().and_then(Scan::wrong)
            && followed.is_wrong.is_none()
        {
            (followed.is_wrong, followed.remark) = (Some(true), found);
        }
    }

    /// Waits until it holds every log, or somebody asks to stop. A lagged one does not replay them
    /// yet.
    ///
    /// # Errors
    /// Why it will not, in words.
    async fn catch_up(&self, world: &World, stop: &Stop) -> Result<(), String> {
        let (mut seen, mut moved) = (self.copy.queues(), world.clock.now());
        loop {
            let (now, queues) = (world.clock.now(), self.copy.queues());
            if queues.stored >= self.shipper.closed() || stop.is_asked() {
                return Ok(());
            }
            if let Some(why) = self.failure() {
                return Err(why);
            }
            if queues.stored != seen.stored || queues.replayed != seen.replayed {
                (seen, moved) = (queues, now);
            }
            if now - moved > PATIENCE {
                let lacks = counted(u64::from(self.queues()[0]), "log");
                return Err(format!("lacks {lacks}, and nothing has come for {PATIENCE}"));
            }
            world.sleep(LOOK).await;
        }
    }

    /// Replays what it holds, and leaves the files of a server that was closed.
    async fn activate(&self) -> Result<(), CopyError> {
        if let Some(error) = self.copy.failure() {
            let _ = self.copy.clone().close().await;
            return Err(error);
        }
        let (instance, _) = self.copy.clone().activate(None).await?;
        let cache = instance.cache().clone();
        let closed = instance.close().await;
        cache.close();
        Ok(closed?)
    }
}

impl Truth<'_> {
    /// Compares the files of `follower` with what its active holds, and notes it.
    async fn compare(
        self,
        follower: &Follower,
        followed: &mut Followed,
    ) -> Result<(), EngineError> {
        let (world, listener, stop) = (self.world, self.listener, self.stop);
        let plan = &self.plan.of_copy(&follower.plan);
        let server = Server::open(world, plan, listener, Some(self.oracles)).await?;
        let server = std::rc::Rc::new(server);
        let until = world.clock.now() + records_time(self.plan);
        let records =
            integrity::records(world, &server, &self.extents, until, listener, stop).await;
        let closed = server.close().await;
        let records = records?;
        closed?;
        let wrong = records.findings.total();
        if wrong > 0 {
            // Known, even if nobody waits for its pages.
            followed.is_wrong = Some(true);
            followed.remark = format!(
                "{} of {} records are not those of {}",
                grouped(wrong),
                grouped(records.checked),
                followed.instance
            );
        }
        let files = verification::files(world, plan, &Vec::new(), listener, stop).await;
        let Some(files) = files.filter(|_| !stop.is_asked()) else {
            return Ok(());
        };
        let bad = files.databases.bad + files.logs.bad;
        followed.checked = Some((records.checked, files.databases.seen));
        followed.is_wrong = Some(wrong + bad > 0);
        followed.remark = match followed.is_wrong {
            Some(true) => {
                let found = files.found.lines().first();
                let found = found.map_or_else(String::new, |line| format!("; {line}"));
                format!(
                    "{} of {} records are not those of {}, {} of {} pages are bad{found}",
                    grouped(wrong),
                    grouped(records.checked),
                    followed.instance,
                    grouped(files.databases.bad),
                    grouped(files.databases.seen),
                )
            }
            _ => {
                let repaired = match followed.repaired {
                    0 => String::new(),
                    pages => format!("; {} repaired from the active", counted(pages, "bad page")),
                };
                format!(
                    "{} after the seed, then {} and {} as at {}{repaired}",
                    counted(followed.logs.into(), "log"),
                    counted(records.checked, "record"),
                    counted(files.databases.seen, "page"),
                    followed.instance
                )
            }
        };
        Ok(())
    }
}
