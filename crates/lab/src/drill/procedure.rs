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
use brunt_drill::{AtRisk, Broken, Checksum, Cut, Loss, Steps};
use brunt_ese::twin::Elsewhere;
use brunt_qualify::server::Server;
use brunt_units::{Span, Time};
use brunt_world::World;

use super::conductor::Conductor;
use super::mail_server::{DrillEngine, MailServer, Opened, checksum};
use super::roles::DrillEvent;
use super::unable::Unable;

/// How long a pair may take to change sides: a planned failover drains its logs.
const PATIENCE: Span = Span::seconds(24 * 3600);

impl<T: DrillEngine> Conductor<T> {
    /// Lets an event of the timeline happen.
    pub(super) async fn apply(&self, one: &Scheduled) -> Result<(), Unable> {
        let now = self.sites.now();
        match DrillEvent::of(&one.incident) {
            DrillEvent::Lost(site) => {
                self.lose_service(site);
                self.sites.schedule(one)?;
                Ok(())
            }
            DrillEvent::FailOver { to, .. } if to == self.site.get() => {
                self.tell(now, format!("no failover: the {} serves already", to.word()));
                Ok(())
            }
            DrillEvent::FailOver { to, how } => self.fail_over(to, how).await,
            DrillEvent::Keep(site) if site != self.site.get() => {
                let why = "does not serve, and a drill keeps the side that serves";
                self.tell(now, format!("the split goes on: the {} {why}", site.word()));
                Ok(())
            }
            DrillEvent::Keep(_) => Ok(self.sites.schedule(one)?),
            DrillEvent::Storage(phase) => {
                self.sites.schedule(one)?;
                if let Some(phase) = phase {
                    self.rehearsal.course.phase(now, phase);
                }
                Ok(())
            }
        }
    }

    /// Users lose service, if they had it at `site`.
    pub(super) fn lose_service(&self, site: Site) {
        if self.site.get() == site && self.rehearsal.lost().is_none() {
            let (now, at_risk) = (self.sites.now(), self.at_risk());
            self.close_sample();
            self.rehearsal.lose_service(now, at_risk);
        }
    }

    /// Everything fails over to `to`.
    async fn fail_over(&self, to: Site, how: Failover) -> Result<(), Unable> {
        let (from, now) = (to.other(), self.sites.now());
        let is_planned = how == Failover::Planned;
        let name = match (is_planned, to) {
            (false, _) => "unplanned failover",
            (true, Site::Destination) => "planned failover",
            (true, Site::Source) => "failback",
        };
        let (failed_at, reported) = self.rehearsal.lost().unwrap_or_else(|| (now, self.at_risk()));
        let reported = if is_planned { AtRisk::default() } else { reported };
        self.tell(now, format!("{name} to the {} begins", to.word()));
        self.close_sample();
        self.rehearsal.lose_service(now, reported);
        let mut steps = Steps::new(failed_at);
        match is_planned {
            true => {
                for mail_server in &self.servers {
                    mail_server.stop().await?;
                }
                steps.ended("shutdown", self.sites.now());
            }
            false => {
                steps.given("decision", now);
                // Whatever still runs at the other site must not write any more.
                self.servers.iter().for_each(MailServer::kill);
            }
        }
        self.pass(self.sites.now() + self.plan.drill.storage_failover).await;
        steps.given("storage failover", self.sites.now());
        self.sites.fail_over(to, how)?;
        let asked_at = self.sites.now();
        while !self.sites.serves(to)
            && self.sites.now() < asked_at + PATIENCE
            && !self.stop.is_asked()
        {
            self.pass(self.sites.now() + Span::millis(50)).await;
        }
        if !self.sites.serves(to) {
            self.observe_pair();
            let why = format!("the {} does not serve", to.word());
            self.rehearsal.refused(self.sites.now(), name, &why, reported);
            return Ok(());
        }
        steps.ended("role change", self.sites.now());
        let formers: Vec<Opened<T>> = self
            .servers
            .iter()
            .map(|mail_server| mail_server.former().ok_or(Unable::NeverOpen))
            .collect::<Result<_, _>>()?;
        let elsewhere: Vec<Vec<Elsewhere>> = {
            let mirror = self.sites.mirror.borrow();
            let pairs = self.servers.iter().zip(&formers);
            pairs.map(|(mail_server, (former, _))| mail_server.elsewhere(&mirror, former)).collect()
        };
        let is_in_step = is_planned && self.sites.is_up(from);
        if let Err(why) = self.sites.present(from, to, is_in_step) {
            self.rehearsal.refused(self.sites.now(), name, &why.to_string(), reported);
            return Ok(());
        }
        self.site.set(to);
        self.take_over(name, to, reported, steps, (formers, elsewhere)).await
    }

    /// The storage serves at the other site: hosts find it, servers recover and serve.
    async fn take_over(
        &self,
        name: &str,
        to: Site,
        reported: AtRisk,
        mut steps: Steps,
        (formers, elsewhere): (Vec<Opened<T>>, Vec<Vec<Elsewhere>>),
    ) -> Result<(), Unable> {
        let failed_at = steps.begun();
        let broken = |why: &dyn ToString| {
            self.rehearsal.unusable(self.sites.now(), name, why.to_string(), reported);
            Ok(())
        };
        self.pass(self.sites.now() + self.plan.drill.host_rescan).await;
        steps.given("host rescan", self.sites.now());

        let begun = self.sites.now();
        let mut tasks = Vec::new();
        for ((mail_server, former), site) in self.servers.iter().zip(formers).zip(&elsewhere) {
            let world = mail_server.boot(&self.sites, to);
            let plan = mail_server.plan(to).clone();
            let task = T::take_over(world.clone(), plan, former, site.clone());
            tasks.push((mail_server, world.clone(), world.spawner.spawn(task)));
        }
        let mut opened: Vec<(&MailServer<T>, World, Opened<T>)> = Vec::new();
        let mut replay = Span::ZERO;
        for (mail_server, world, task) in tasks {
            match self.during(task).await {
                Some(Ok((open, took))) => {
                    replay = replay.max(took);
                    opened.push((mail_server, world, open));
                }
                Some(Err(why)) => {
                    return broken(&format!("{} cannot recover: {why}", mail_server.name));
                }
                None => return broken(&"recovery did not end"),
            }
        }
        let mounted = self.sites.now();
        steps.ended("log replay", (begun + replay).min(mounted));
        steps.ended("mount", mounted);
        for (mail_server, world, (server, populations)) in &opened {
            let record = populations.first().and_then(|all| all.records().next());
            let plan = mail_server.plan(to).clone();
            let first = MailServer::<T>::first_operation(Rc::clone(server), plan, record);
            match self.during(world.spawner.spawn(first)).await {
                Some(Ok(())) => {}
                Some(Err(why)) => return broken(&why),
                None => return broken(&"no operation was served"),
            }
        }
        steps.ended("first operation", self.sites.now());
        let served = self.sites.now();
        self.rehearsal.served(name, &steps, served, to.word());

        let loss = self.loss(&opened, &elsewhere, failed_at).await?;
        self.rehearsal.survived(name, &steps, served, loss, Some(reported));
        for (mail_server, world, (server, populations)) in opened {
            let known = T::records(world.clone(), Rc::clone(&server), populations);
            let Some(populations) = self.during(world.spawner.spawn(known)).await else {
                return Ok(());
            };
            match populations {
                Ok(populations) => mail_server.serve(&world, (server, populations)),
                Err(why) => {
                    self.rehearsal.is_no_survivor(unreadable(mail_server, &why));
                    self.rehearsal.lose_service(self.sites.now(), reported);
                }
            }
        }
        Ok(())
    }

    /// What is lost of the ledgers of all servers, which then go on from what is kept.
    async fn loss(
        &self,
        opened: &[(&MailServer<T>, World, Opened<T>)],
        elsewhere: &[Vec<Elsewhere>],
        failed_at: Time,
    ) -> Result<Result<Loss, Broken>, Unable> {
        let mut all = Loss::default();
        let mut broken =
            self.sites.mirror.borrow().broken_order().map(|what| Broken::Order(what.to_owned()));
        for ((mail_server, world, (server, _)), site) in opened.iter().zip(elsewhere) {
            let keys = match T::HAS_CONTENT {
                true => mail_server.ledger.lock().keys(),
                false => Vec::new(),
            };
            let found = T::found(Rc::clone(server), keys);
            let Some(found) = self.during(world.spawner.spawn(found)).await else {
                return Err(Unable::Endless("reading the survivor"));
            };
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    broken.get_or_insert(unreadable(mail_server, &why));
                    continue;
                }
            };
            let mut ledger = mail_server.ledger.lock();
            let cut = match T::HAS_CONTENT {
                true => Cut::of(&ledger, &found),
                false => Ok(Cut::at(&ledger, MailServer::<T>::ends(site))),
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
        if T::HAS_CONTENT && self.rehearsal.lost().is_none() {
            let wrong = self.wrong_records().await?;
            self.rehearsal.evidence().wrong_records = Some(wrong);
        }
        let ended = Rc::new(Cell::new(true));
        for mail_server in &self.servers {
            if let Err(why) = mail_server.stop().await {
                self.tell(
                    self.sites.now(),
                    format!("{} cannot be closed: {why}", mail_server.name),
                );
                ended.set(false);
                let why = format!("{} cannot be closed", mail_server.name);
                self.rehearsal.evidence().not_read = Some(why);
            }
        }
        // What the shutdown has written arrives.
        self.pass(self.sites.now() + Span::seconds(1)).await;
        let mut evidence = self.rehearsal.evidence();
        evidence.kept_apart = self.sites.keeps_apart();
        evidence.apart = self.sites.apart();
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
        let works = |mail_server: &MailServer<T>| {
            let serving = mail_server.serving.borrow();
            serving.as_ref().is_some_and(|serving| {
                serving.server().failure().is_none() && !serving.is_suspended()
            })
        };
        if self.sites.serves(self.site.get()) && self.servers.iter().all(works) {
            self.rehearsal.regain_service();
        }
        self.rehearsal.note_outage(self.sites.now());
    }

    /// Records of the serving side that are not as committed.
    async fn wrong_records(&self) -> Result<u64, Unable> {
        let mut wrong = 0;
        for mail_server in &self.servers {
            let server: Option<Rc<Server<T>>> = {
                let serving = mail_server.serving.borrow();
                serving.as_ref().map(|serving| Rc::clone(serving.server()))
            };
            let Some(server) = server else { continue };
            let serving = mail_server.serving.borrow_mut().take();
            if let Some(serving) = serving {
                serving.suspend().await;
                *mail_server.serving.borrow_mut() = Some(serving);
            }
            let keys = mail_server.ledger.lock().keys();
            let found = T::found(server, keys);
            let Some(found) = self.during(self.sites.world.spawner.spawn(found)).await else {
                return Err(Unable::Endless("comparing records"));
            };
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    let text = format!("{} cannot be read: {why}", mail_server.name);
                    self.tell(self.sites.now(), text);
                    wrong += 1;
                    continue;
                }
            };
            let ledger = mail_server.ledger.lock();
            let now = ledger.newest();
            wrong +=
                found.iter().filter(|(key, version)| now.get(key) != Some(version)).count() as u64;
        }
        Ok(wrong)
    }

    /// What reading the other side shows; an error when it is no replica now.
    fn checksum_of_other_side(&self) -> Result<Result<Checksum, Unable>, Unable> {
        let here = self.site.get();
        if let Some(apart) = self.sites.keeps_apart() {
            return Err(Unable::Apart(apart));
        }
        let mirror = self.sites.mirror.borrow();
        let files = self.sites.other_files(&mirror, here);
        let files = files.ok_or(Unable::OtherCopying)?;
        let plans: Vec<_> = self.servers.iter().map(|mail_server| mail_server.plan(here)).collect();
        Ok(checksum(&files, &plans))
    }
}

fn unreadable<T: DrillEngine>(mail_server: &MailServer<T>, why: &Unable) -> Broken {
    Broken::Unusable(format!("{} cannot be read: {why}", mail_server.name))
}
