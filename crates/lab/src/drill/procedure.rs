//! The steps of a failover, as an operator and the hosts go through them.
//!
//! ```text
//!   failure -> decision -> storage failover -> host rescan -> log replay -> mount -> first operation
//!                          operator            hosts          the engine
//! ```
//!
//! A planned failover begins with a clean shutdown and has no replay. What is lost is read after
//! the survivor has recovered, and after its first operation: reading takes time that users do not
//! wait for.

use std::cell::Cell;
use std::rc::Rc;

use brunt_array::{Failover, Scheduled, Site};
use brunt_drill::{Broken, Checksum, Cut, FailoverDone, Loss, Said, Steps, Survival};
use brunt_ese::twin::Elsewhere;
use brunt_qualify::server::Server;
use brunt_units::{Span, Time};
use brunt_world::World;

use super::actor::{Actor, Cast, Opened, checksum};
use super::conductor::Conductor;
use super::roles::Cue;
use super::unable::Unable;

/// The phase in which users have no service.
const NO_SERVICE: &str = "no service";

/// How long a pair may take to change sides: a planned failover drains its logs.
const PATIENCE: Span = Span::seconds(24 * 3600);

impl<T: Cast> Conductor<T> {
    /// Lets an event of the timeline happen.
    pub(super) async fn perform(&self, one: &Scheduled) -> Result<(), Unable> {
        let now = self.scene.now();
        match Cue::of(&one.incident) {
            Cue::Lost(site) => {
                self.lose_service(site);
                self.scene.schedule(one)?;
                Ok(())
            }
            Cue::FailOver { to, .. } if to == self.site.get() => {
                self.tell(now, format!("no failover: the {} serves already", to.word()));
                Ok(())
            }
            Cue::FailOver { to, how } => self.fail_over(to, how).await,
            Cue::Keep(site) if site != self.site.get() => {
                let why = "does not serve, and a drill keeps the side that serves";
                self.tell(now, format!("the split goes on: the {} {why}", site.word()));
                Ok(())
            }
            Cue::Keep(_) => Ok(self.scene.schedule(one)?),
            Cue::Storage(phase) => {
                self.scene.schedule(one)?;
                if let Some(phase) = phase {
                    self.course.phase(now, phase);
                }
                Ok(())
            }
        }
    }

    /// Users lose service, if they had it at `site`.
    pub(super) fn lose_service(&self, site: Site) {
        if self.site.get() == site && self.lost.get().is_none() {
            let now = self.scene.now();
            self.lost.set(Some((now, self.said())));
            self.close_sample();
            self.course.phase(now, NO_SERVICE);
        }
    }

    /// Everything fails over to `to`.
    async fn fail_over(&self, to: Site, how: Failover) -> Result<(), Unable> {
        let (from, now) = (to.other(), self.scene.now());
        let is_planned = how == Failover::Planned;
        let name = match (is_planned, to) {
            (false, _) => "unplanned failover",
            (true, Site::Destination) => "planned failover",
            (true, Site::Source) => "failback",
        };
        let (failed_at, said) = self.lost.get().unwrap_or_else(|| (now, self.said()));
        let said = if is_planned { Said::default() } else { said };
        self.tell(now, format!("{name} to the {} begins", to.word()));
        self.close_sample();
        if self.lost.replace(Some((failed_at, said))).is_none() {
            self.course.phase(now, NO_SERVICE);
        }
        let mut steps = Steps::new(failed_at);
        match is_planned {
            true => {
                for actor in &self.actors {
                    actor.stop().await?;
                }
                steps.ended("shutdown", self.scene.now());
            }
            false => {
                steps.given("decision", now);
                // Whatever still runs at the other site must not write any more.
                self.actors.iter().for_each(Actor::kill);
            }
        }
        self.pass(self.scene.now() + self.script.drill.storage_failover).await;
        steps.given("storage failover", self.scene.now());
        self.scene.fail_over(to, how)?;
        let asked_at = self.scene.now();
        while !self.scene.serves(to)
            && self.scene.now() < asked_at + PATIENCE
            && !self.stop.is_asked()
        {
            self.pass(self.scene.now() + Span::millis(50)).await;
        }
        if !self.scene.serves(to) {
            self.hear_pair();
            let why = format!("the {} does not serve", to.word());
            return self.refused(name, failed_at, said, why);
        }
        steps.ended("role change", self.scene.now());
        let formers: Vec<Opened<T>> = self
            .actors
            .iter()
            .map(|actor| actor.former().ok_or(Unable::NeverOpen))
            .collect::<Result<_, _>>()?;
        let sites: Vec<Vec<Elsewhere>> = {
            let mirror = self.scene.mirror.borrow();
            let pairs = self.actors.iter().zip(&formers);
            pairs.map(|(actor, (former, _))| actor.elsewhere(&mirror, former)).collect()
        };
        let is_in_step = is_planned && self.scene.is_up(from);
        if let Err(why) = self.scene.present(from, to, is_in_step) {
            return self.refused(name, failed_at, said, why.to_string());
        }
        self.site.set(to);
        self.take_over(name, to, said, steps, (formers, sites)).await
    }

    fn refused(&self, name: &str, at: Time, said: Said, why: String) -> Result<(), Unable> {
        let text = format!("{name} is refused: {why}");
        self.tell(self.scene.now(), text.clone());
        self.evidence.borrow_mut().survivals.push(Survival {
            loss: Ok(Loss::default()),
            said: Some(said),
            recovery_time: None,
            refused: Some(text),
        });
        self.lost.set(Some((at, said)));
        Ok(())
    }

    /// The storage serves at the other site: hosts find it, servers recover and serve.
    async fn take_over(
        &self,
        name: &str,
        to: Site,
        said: Said,
        mut steps: Steps,
        (formers, sites): (Vec<Opened<T>>, Vec<Vec<Elsewhere>>),
    ) -> Result<(), Unable> {
        let failed_at = steps.begun();
        self.pass(self.scene.now() + self.script.drill.host_rescan).await;
        steps.given("host rescan", self.scene.now());

        let begun = self.scene.now();
        let mut tasks = Vec::new();
        for ((actor, former), site) in self.actors.iter().zip(formers).zip(&sites) {
            let world = actor.boot(&self.scene, to);
            let plan = actor.plan(to).clone();
            let task = T::take_over(world.clone(), plan, former, site.clone());
            tasks.push((actor, world.clone(), world.spawner.spawn(task)));
        }
        let mut opened: Vec<(&Actor<T>, World, Opened<T>)> = Vec::new();
        let mut replay = Span::ZERO;
        for (actor, world, task) in tasks {
            match self.during(task).await {
                Some(Ok((open, took))) => {
                    replay = replay.max(took);
                    opened.push((actor, world, open));
                }
                Some(Err(why)) => {
                    let why = format!("{} cannot recover: {why}", actor.name);
                    return self.broken(name, failed_at, said, why);
                }
                None => {
                    return self.broken(name, failed_at, said, "recovery did not end".to_owned());
                }
            }
        }
        let mounted = self.scene.now();
        steps.ended("log replay", (begun + replay).min(mounted));
        steps.ended("mount", mounted);
        for (actor, world, (server, populations)) in &opened {
            let record = populations.first().and_then(|all| all.records().next());
            let plan = actor.plan(to).clone();
            let first = Actor::<T>::first_operation(Rc::clone(server), plan, record);
            match self.during(world.spawner.spawn(first)).await {
                Some(Ok(())) => {}
                Some(Err(why)) => return self.broken(name, failed_at, said, why),
                None => {
                    return self.broken(
                        name,
                        failed_at,
                        said,
                        "no operation was served".to_owned(),
                    );
                }
            }
        }
        steps.ended("first operation", self.scene.now());
        let took = self.scene.now().since(failed_at);
        self.lost.set(None);
        self.tell(
            self.scene.now(),
            format!("mail is served again by the {}, after {took}", to.word()),
        );
        self.course.phase(self.scene.now(), &format!("after the {name}"));

        let loss = self.loss(&opened, &sites, failed_at).await?;
        let told = *loss.as_ref().unwrap_or(&Loss::default());
        let done = FailoverDone::new(name, &steps, failed_at + took, &told, said);
        self.failovers.borrow_mut().push(done);
        self.evidence.borrow_mut().survivals.push(Survival {
            loss,
            said: Some(said),
            recovery_time: Some(took),
            refused: None,
        });
        for (actor, world, (server, populations)) in opened {
            let known = T::records(world.clone(), Rc::clone(&server), populations);
            let Some(populations) = self.during(world.spawner.spawn(known)).await else {
                return Ok(());
            };
            match populations {
                Ok(populations) => actor.serve(&world, (server, populations)),
                Err(why) => {
                    let mut evidence = self.evidence.borrow_mut();
                    let last = evidence.survivals.last_mut().expect("it was pushed");
                    last.loss = Err(unreadable(actor, &why));
                    self.lost.set(Some((self.scene.now(), said)));
                }
            }
        }
        Ok(())
    }

    fn broken(&self, name: &str, at: Time, said: Said, why: impl ToString) -> Result<(), Unable> {
        let why = why.to_string();
        self.tell(self.scene.now(), format!("{name}: {why}"));
        self.evidence.borrow_mut().survivals.push(Survival {
            loss: Err(Broken::Unusable(why)),
            said: Some(said),
            recovery_time: None,
            refused: None,
        });
        self.lost.set(Some((at, said)));
        Ok(())
    }

    /// What is lost of the ledgers of all servers, which then go on from what is kept.
    async fn loss(
        &self,
        opened: &[(&Actor<T>, World, Opened<T>)],
        sites: &[Vec<Elsewhere>],
        failed_at: Time,
    ) -> Result<Result<Loss, Broken>, Unable> {
        let mut all = Loss::default();
        let mut broken =
            self.scene.mirror.borrow().broken_order().map(|what| Broken::Order(what.to_owned()));
        for ((actor, world, (server, _)), site) in opened.iter().zip(sites) {
            let keys = match T::HAS_CONTENT {
                true => actor.minutes.ledger().keys(),
                false => Vec::new(),
            };
            let found = T::found(Rc::clone(server), keys);
            let Some(found) = self.during(world.spawner.spawn(found)).await else {
                return Err(Unable::Endless("reading the survivor"));
            };
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    broken.get_or_insert(unreadable(actor, &why));
                    continue;
                }
            };
            let mut ledger = actor.minutes.ledger();
            let cut = match T::HAS_CONTENT {
                true => Cut::of(&ledger, &found),
                false => Ok(Cut::at(&ledger, Actor::<T>::ends(site))),
            };
            match cut {
                Ok(cut) => {
                    all.add(&Loss::of(&ledger, &cut, failed_at));
                    ledger.settle(&cut.kept);
                }
                Err(why) => {
                    broken.get_or_insert(why);
                }
            }
        }
        Ok(broken.map_or(Ok(all), Err))
    }

    /// Ends the drill: servers are closed, both sides come into step, and the side that does not
    /// serve is read.
    pub(super) async fn close(&self) -> Result<(), Unable> {
        self.close_sample();
        self.look_for_service();
        if T::HAS_CONTENT && self.lost.get().is_none() {
            let wrong = self.wrong_records().await?;
            self.evidence.borrow_mut().wrong_records = Some(wrong);
        }
        let ended = Rc::new(Cell::new(true));
        for actor in &self.actors {
            if let Err(why) = actor.stop().await {
                self.tell(self.scene.now(), format!("{} cannot be closed: {why}", actor.name));
                ended.set(false);
                let why = format!("{} cannot be closed", actor.name);
                self.evidence.borrow_mut().not_read = Some(why);
            }
        }
        // What the shutdown has written arrives.
        self.pass(self.scene.now() + Span::seconds(1)).await;
        let mut evidence = self.evidence.borrow_mut();
        evidence.kept_apart = self.scene.keeps_apart();
        evidence.apart = self.scene.apart();
        if T::HAS_CONTENT && ended.get() {
            match self.checksum_of_other_side() {
                Ok(Ok(sum)) => evidence.checksum = Some(sum),
                Ok(Err(why)) => evidence.unreadable = Some(why.to_string()),
                Err(why) => evidence.not_read = Some(why.to_string()),
            }
        }
        Ok(())
    }

    /// Looks whether users have service at the end. An outage that every server has survived is
    /// over with its cause.
    pub(super) fn look_for_service(&self) {
        let works = |actor: &Actor<T>| {
            let serving = actor.serving.borrow();
            serving.as_ref().is_some_and(|serving| {
                serving.server().failure().is_none() && !serving.is_suspended()
            })
        };
        if self.scene.serves(self.site.get()) && self.actors.iter().all(works) {
            self.lost.set(None);
        }
        let since = self.lost.get().map(|(since, _)| since);
        let now = self.scene.now();
        self.evidence.borrow_mut().out_of_service = since.map(|since| now.since(since));
    }

    /// Records of the serving side that are not as committed.
    async fn wrong_records(&self) -> Result<u64, Unable> {
        let mut wrong = 0;
        for actor in &self.actors {
            let server: Option<Rc<Server<T>>> = {
                let serving = actor.serving.borrow();
                serving.as_ref().map(|serving| Rc::clone(serving.server()))
            };
            let Some(server) = server else { continue };
            let serving = actor.serving.borrow_mut().take();
            if let Some(serving) = serving {
                serving.suspend().await;
                *actor.serving.borrow_mut() = Some(serving);
            }
            let keys = actor.minutes.ledger().keys();
            let found = T::found(server, keys);
            let Some(found) = self.during(self.scene.world.spawner.spawn(found)).await else {
                return Err(Unable::Endless("comparing records"));
            };
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    let text = format!("{} cannot be read: {why}", actor.name);
                    self.tell(self.scene.now(), text);
                    wrong += 1;
                    continue;
                }
            };
            let ledger = actor.minutes.ledger();
            let now = ledger.newest();
            wrong +=
                found.iter().filter(|(key, version)| now.get(key) != Some(version)).count() as u64;
        }
        Ok(wrong)
    }

    /// What reading the other side shows; an error when it is no replica now.
    fn checksum_of_other_side(&self) -> Result<Result<Checksum, Unable>, Unable> {
        let here = self.site.get();
        if let Some(apart) = self.scene.keeps_apart() {
            return Err(Unable::Apart(apart));
        }
        let mirror = self.scene.mirror.borrow();
        let files = self.scene.other_files(&mirror, here);
        let files = files.ok_or(Unable::OtherCopying)?;
        let plans: Vec<_> = self.actors.iter().map(|actor| actor.plan(here)).collect();
        Ok(checksum(&files, &plans))
    }
}

fn unreadable<T: Cast>(actor: &Actor<T>, why: &Unable) -> Broken {
    Broken::Unusable(format!("{} cannot be read: {why}", actor.name))
}
