//! The steps of a failover between two sites, and what is found afterwards.
//!
//! ```text
//!   failure -> decision -> fencing -> log replay -> mount -> first operation -> every changed record is read
//!              (shutdown)  epoch                              users have service   -> load -> the former side is let go on
//!              (detection)
//! ```
//!
//! An automatic failover takes a majority of source, destination and witness. The drill is the
//! witness: it hears both sites. When the source has said nothing for as long as the scenario says,
//! and the destination answers, these two decide; a source that is cut off from both can only learn
//! that it is fenced.

use std::collections::BTreeSet;

use brunt_scenario::{Decision, SiteReplication, StepTime};
use brunt_units::{Span, Time};

use super::conductor::{Conductor, Side, unexpected};
use super::error::CourseError;
use super::messages::{Answer, Command};
use crate::{AtRisk, Broken, Checksum, Cut, Found, Key, Ledger, Loss, Steps};

/// The epoch of a site that took over.
const EPOCH: u64 = 2;
/// Records that are asked for at once.
const KEYS_AT_ONCE: usize = 500;
/// How long the load goes on before a former side is let go on.
const BEFORE_WAKING: Span = Span::seconds(1);
/// How often it is looked whether the source was heard meanwhile.
const HEEDS: Span = Span::millis(100);
/// A source that says something so long after it was frozen goes on.
const THAWED_AFTER: Span = Span::seconds(1);
/// Why the two sites cannot be in step at the end.
const SOURCE_IS_GONE: &str = "the source does not come back in this drill";
/// How long a former side may take to learn that it is fenced, once something gets through again.
const FENCED_WITHIN: Span = Span::seconds(60);
/// TCP waits twice as long after each packet that is not acknowledged, so that it may try again
/// only after as long as it was cut off; Linux after two minutes at most (`TCP_RTO_MAX`).
const TRIES_AGAIN_WITHIN: Span = Span::seconds(120);

impl Conductor {
    /// The destination takes over.
    pub(super) async fn fail_over(&self, decision: Decision) -> Result<(), CourseError> {
        let name = match decision {
            Decision::Planned => "planned failover",
            Decision::Unplanned => "unplanned failover",
            Decision::Automatic { silence } => {
                self.miss_source(silence).await?;
                "automatic failover"
            }
        };
        let now = self.now();
        self.rehearsal.lose_service(now, AtRisk::default());
        let failed_at = self.rehearsal.lost().map_or(now, |(since, _)| since);
        self.tell(now, format!("{name} to the destination begins"));
        let mut steps = Steps::new(failed_at);
        match decision {
            Decision::Planned => {
                self.ask(Side::Source, &Command::Close).await?;
                let source = self.site(Side::Source);
                source.may_end.set(true);
                source.site.kill();
                steps.ended("shutdown", self.now());
            }
            Decision::Unplanned => steps.given("decision", now),
            Decision::Automatic { .. } => steps.ended("detection", now),
        }
        if decision != Decision::Planned {
            self.cut(&mut steps).await?;
        }
        let (reported, replay) = match self.take_over(&mut steps).await {
            Ok(taken) => taken,
            Err(error) => return self.unusable(name, error.words()?),
        };
        let begun = self.now();
        let replayed = match self.ask(Side::Destination, &Command::Open).await {
            Ok(Answer::Opened { replay_s, .. }) => Span::from_seconds(replay_s),
            Ok(_) => return Err(unexpected(Side::Destination)),
            Err(error) => return self.unusable(name, error.words()?),
        };
        let mounted = self.now();
        let replayed_at = replay.unwrap_or((begun + replayed).min(mounted));
        steps.ended("log replay", replayed_at);
        steps.ended("mount", mounted);
        let record = self.untouched();
        match self.ask(Side::Destination, &Command::First { record }).await {
            Ok(_) => {}
            Err(error) => return self.unusable(name, error.words()?),
        }
        let served = self.now();
        steps.ended("first operation", served);
        self.rehearsal.served(name, &steps, served, Side::Destination.word());

        // What the former side said before it was lost has been written to its pipe before it was
        // promoted here.
        self.listen()?;
        let loss = self.loss(failed_at).await?;
        self.serving.set(Side::Destination);
        let is_usable = loss.is_ok();
        self.rehearsal.survived(name, &steps, served, loss, reported);
        match is_usable && self.plan.after > Span::ZERO {
            true => self.go_on().await,
            false => Ok(()),
        }
    }

    /// Waits until the source has said nothing for `silence`. One that was frozen and goes on is
    /// not missed: another program has resumed it.
    async fn miss_source(&self, silence: Span) -> Result<(), CourseError> {
        loop {
            let heard = self.source_heard.get();
            let until = heard + silence;
            if self.now() >= until {
                break;
            }
            if let Some(frozen) = self.apart_since.get()
                && heard > frozen + THAWED_AFTER
            {
                return Err(CourseError::Resumed);
            }
            self.pass(until.min(self.now() + HEEDS)).await?;
        }
        let text = format!("the witness has not heard from the source for {silence}");
        self.tell(self.now(), text);
        Ok(())
    }

    /// Fences the source, and lets the destination have everything that arrived. What replication
    /// says is at risk, and when logs were replayed, if they are.
    async fn take_over(
        &self,
        steps: &mut Steps,
    ) -> Result<(Option<AtRisk>, Option<Time>), CourseError> {
        if self.plan.replication == SiteReplication::Synchronous {
            let promote = Command::Promote { epoch: EPOCH };
            let Answer::Promoted { struck } = self.ask(Side::Destination, &promote).await? else {
                return Err(unexpected(Side::Destination));
            };
            self.struck.set(struck);
            steps.ended("fencing", self.now());
            return Ok((Some(AtRisk::default()), None));
        }
        // Other replication knows no epochs: the source is switched off, as a cluster does.
        self.switch_off();
        steps.ended("fencing", self.now());
        if self.plan.replication == SiteReplication::External {
            self.arrive(steps).await?;
            return Ok((None, None));
        }
        let Answer::Activated { stored } = self.ask(Side::Destination, &Command::Activate).await?
        else {
            return Err(unexpected(Side::Destination));
        };
        let replayed = self.now();
        self.listen()?;
        let log_file = self.drill.scenario.profile.engine.log_file.get();
        let reported = self.shipping.borrow().at_risk(&stored, log_file);
        Ok((Some(reported), Some(replayed)))
    }

    /// Kills the source, if it still runs.
    fn switch_off(&self) {
        let source = self.site(Side::Source);
        if !source.may_end.replace(true) {
            source.site.kill();
            self.tell(self.now(), "the source is switched off");
        }
    }

    /// Takes the storage of the source away, if the scenario says how. That is a part of the loss,
    /// not of the failover: where it fails, the drill has no answer.
    async fn cut(&self, steps: &mut Steps) -> Result<(), CourseError> {
        let mut cuts = self.drill.steps_at(StepTime::Cut).peekable();
        if cuts.peek().is_none() {
            return Ok(());
        }
        self.switch_off();
        self.storage.release();
        for step in cuts {
            self.exec(&step.exec).await?;
            steps.given(step.exec.name.as_str(), self.now());
        }
        match self.storage.is_there() {
            true => Err(CourseError::NotCut),
            false => Ok(()),
        }
    }

    /// Lets the user's storage fail over, and takes what has arrived at the destination.
    async fn arrive(&self, steps: &mut Steps) -> Result<(), CourseError> {
        self.storage.release();
        for step in self.drill.steps_at(StepTime::Failover) {
            self.exec(&step.exec).await?;
            steps.ended(step.exec.name.as_str(), self.now());
        }
        self.storage.arrive()?;
        self.begin(Side::Destination, &self.drill.destination.value).await
    }

    /// The destination cannot be used, which is a result as well.
    fn unusable(&self, name: &str, why: String) -> Result<(), CourseError> {
        let now = self.now();
        self.rehearsal.note_outage(now);
        self.rehearsal.unusable(now, name, why, AtRisk::default());
        let mut evidence = self.rehearsal.evidence();
        evidence.not_read = Some("the source does not serve any more".to_owned());
        evidence.kept_apart = Some(SOURCE_IS_GONE.to_owned());
        Ok(())
    }

    /// A record of the first database that nobody has changed.
    fn untouched(&self) -> u64 {
        let ledger = self.ledger.borrow();
        let changed: Vec<u64> = ledger
            .keys()
            .into_iter()
            .filter(|(stream, database, _)| (*stream, *database) == (0, 0))
            .map(|(.., number)| number)
            .collect();
        (0..).find(|number| changed.binary_search(number).is_err()).unwrap_or(0)
    }

    /// What is lost. The ledger goes on from what is kept.
    async fn loss(&self, failed_at: Time) -> Result<Result<Loss, Broken>, CourseError> {
        // A source that only lost its link goes on asking; what it asks for from now on is not
        // looked for.
        let asked = self.ledger.borrow().clone();
        let found = match self.found(asked.keys()).await {
            Ok(found) => found,
            Err(error) => return Ok(Err(Broken::Unusable(error.words()?))),
        };
        let mut ledger = self.ledger.borrow_mut();
        Ok(Cut::of(&asked, &found).map(|cut| {
            let loss = Loss::of(&ledger, &cut, failed_at);
            *self.kept.borrow_mut() = unacknowledged(&ledger, &cut);
            ledger.settle(&cut.kept);
            loss
        }))
    }

    /// The records with `keys` as they are at the destination.
    async fn found(&self, keys: Vec<Key>) -> Result<Found, CourseError> {
        let mut found = Found::new();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let look = Command::Look { keys: keys.to_vec() };
            let Answer::Found { versions } = self.ask(Side::Destination, &look).await? else {
                return Err(unexpected(Side::Destination));
            };
            found.extend(versions);
        }
        Ok(found)
    }

    /// The load after a failover, the return of the former side, and the end.
    async fn go_on(&self) -> Result<(), CourseError> {
        match self.work_on().await {
            Ok(wrong) => self.rehearsal.evidence().wrong_records = Some(wrong),
            // What it was to do after the failover was to be there: it is no survivor.
            Err(error) if error.is_of_site() => {
                let why = error.to_string();
                self.tell(self.now(), why.clone());
                self.rehearsal.is_no_survivor(Broken::Unusable(why));
            }
            Err(other) => return Err(other),
        }
        let verified = self.ask(Side::Destination, &Command::Verify).await;
        let mut evidence = self.rehearsal.evidence();
        match verified {
            Ok(Answer::Verified { pages, bad }) => {
                evidence.checksum = Some(Checksum { pages, bad });
            }
            Ok(_) => return Err(unexpected(Side::Destination)),
            Err(error) if error.is_of_site() => evidence.unreadable = Some(error.to_string()),
            Err(other) => return Err(other),
        }
        evidence.both_served |= self.stale.get() > 0;
        evidence.kept_apart = Some(SOURCE_IS_GONE.to_owned());
        Ok(())
    }

    /// Works at the destination, and closes it. Returns its records that are not as committed.
    async fn work_on(&self) -> Result<u64, CourseError> {
        self.ask(Side::Destination, &Command::Work).await?;
        let until = self.now() + self.plan.after;
        self.pass(until.min(self.now() + BEFORE_WAKING)).await?;
        self.wake_former().await?;
        self.pass(until).await?;
        self.ask(Side::Destination, &Command::Rest).await?;
        let keys = self.ledger.borrow().keys();
        let found = self.found(keys).await?;
        let newest = self.ledger.borrow().newest();
        let wrong = found.iter().filter(|(key, version)| newest.get(*key) != Some(*version));
        let wrong = wrong.count() as u64;
        self.ask(Side::Destination, &Command::Close).await?;
        Ok(wrong)
    }

    /// Lets a former side go on that was frozen or cut off. It has to learn that it is fenced.
    async fn wake_former(&self) -> Result<(), CourseError> {
        let source = self.site(Side::Source);
        if source.may_end.get() {
            return Ok(());
        }
        self.tell(self.now(), "the source is let go on");
        source.site.thaw();
        self.link.mend();
        let now = self.now();
        let apart = self.apart_since.get().map_or(Span::ZERO, |at| now.since(at));
        let within = FENCED_WITHIN + apart.min(TRIES_AGAIN_WITHIN);
        let until = now + within;
        while !self.is_fenced.get() && self.now() < until {
            self.pass(self.now() + Span::millis(5)).await?;
        }
        if !self.is_fenced.get() {
            let why = format!("the source has not learnt within {within} that it is fenced");
            self.tell(self.now(), why.clone());
            // It may have acknowledged nothing meanwhile; what it has is counted at the end.
            self.rehearsal.evidence().unfinished.get_or_insert(why);
        }
        Ok(())
    }
}

/// The commits that are kept and that nobody has acknowledged.
fn unacknowledged(ledger: &Ledger, cut: &Cut) -> BTreeSet<(Key, Option<u32>)> {
    let kept = ledger.streams().flat_map(|stream| {
        let kept = cut.kept.get(&stream).copied().unwrap_or(0);
        ledger.commits(stream).iter().take(kept)
    });
    let open = kept.filter(|one| one.acknowledged_at.is_none());
    open.map(|one| (one.key, one.after)).collect()
}
