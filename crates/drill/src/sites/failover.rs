//! What sites of brunt's own do in a drill: the pair as its conductor has it.
//!
//! ```text
//!   mirror          fencing: the destination becomes a new epoch durably, and refuses older ones
//!   log shipping    fencing: the source is switched off; the destination ends as a copy, and opens
//!   user's storage  cut; fencing: the source is switched off; the user's commands; the folder arrives
//! ```
//!
//! An automatic failover takes a majority of source, destination and witness. The drill is the
//! witness: it hears both sites. When the source has said nothing for as long as the scenario says,
//! and the destination answers, these two decide; a source that is cut off from both can only learn
//! that it is fenced.

use std::collections::BTreeSet;

use brunt_scenario::{Decision, Exec, SiteIncident, SiteReplication, StepTime};
use brunt_units::{Span, Time};

use super::messages::{Answer, Command};
use super::pair::{STEP, SitePair, unexpected};
use crate::{
    AtRisk, Checksum, CourseError, Cut, Ends, Found, Key, Ledger, Meaning, Otherwise, Pair,
    Rehearsal, SharedLedger, Side, Step, Survivor,
};

/// The epoch of a site that took over.
const EPOCH: u64 = 2;
/// Records that are asked for at once.
const KEYS_AT_ONCE: usize = 500;
/// How long the load goes on before a former side is let go on.
const BEFORE_WAKING: Span = Span::seconds(1);
/// A source that says something so long after it was frozen goes on.
const THAWED_AFTER: Span = Span::seconds(1);
/// Why the two sites cannot be in step at the end, and why only one of them is read.
const SOURCE_IS_GONE: &str = "the source does not come back in this drill";
const NOT_SERVED: &str = "the source does not serve any more";
/// How long a former side may take to learn that it is fenced, once something gets through again.
const FENCED_WITHIN: Span = Span::seconds(60);
/// TCP waits twice as long after each packet that is not acknowledged, so that it may try again
/// only after as long as it was cut off; Linux after two minutes at most (`TCP_RTO_MAX`).
const TRIES_AGAIN_WITHIN: Span = Span::seconds(120);

/// What ends a step of a failover between these sites.
pub enum Duty {
    /// The storage of the source is taken away by this command of the user.
    Cut(Exec),
    /// The destination fences the source.
    Promote,
    /// The source is killed, if it still runs.
    SwitchOff {
        /// Whether its storage has to be gone by now.
        is_cut: bool,
    },
    /// A command of the user.
    Run(Exec),
}

impl Pair for SitePair {
    type Event = SiteIncident;
    type Duty = Duty;
    const STEP: Span = STEP;
    const PUNCTUAL: Span = Span::seconds(1);
    const DELAYED_BY: &'static str = "a command";

    fn rehearsal(&self) -> &Rehearsal {
        &self.rehearsal
    }

    fn meaning(&self, event: &SiteIncident) -> Meaning {
        // Where there is no mirror, nobody waits for the other site.
        let is_mirrored = self.plan.replication == SiteReplication::Synchronous;
        match event {
            SiteIncident::FailOver(decision) => Meaning::FailOver(Side::Destination, *decision),
            SiteIncident::SourceLost | SiteIncident::SourceFrozen => Meaning::Lost(Side::Source),
            SiteIncident::LinkLost if is_mirrored => Meaning::Lost(Side::Source),
            SiteIncident::LinkLost | SiteIncident::Exec(_) => Meaning::Other,
        }
    }

    async fn open(&self) -> Result<(), CourseError> {
        self.create().await
    }

    async fn begin(&self) -> Result<(), CourseError> {
        self.sent_before.set(self.link.sent());
        if let Some(told) = self.link.shortcoming() {
            self.rehearsal.tell(told);
        }
        if let Some(how) = self.plan.how {
            self.ask(Side::Destination, &Command::Break { how }).await?;
        }
        Ok(())
    }

    fn look(&self) -> Result<(), CourseError> {
        self.listen()
    }

    async fn happen(&self, at: Time, event: &SiteIncident) -> Result<(), CourseError> {
        let source = self.site(Side::Source);
        let told = match event {
            SiteIncident::SourceLost => {
                source.may_end.set(true);
                source.site.kill();
                "the processes of the source are killed"
            }
            SiteIncident::SourceFrozen => {
                source.site.freeze();
                self.apart_since.set(Some(at));
                "the processes of the source are frozen"
            }
            SiteIncident::LinkLost => {
                self.link.cut();
                self.apart_since.set(Some(at));
                if self.plan.replication != SiteReplication::Synchronous {
                    self.rehearsal.course.phase(at, "link lost");
                }
                "the link is lost"
            }
            SiteIncident::Exec(exec) => return self.exec(exec).await,
            SiteIncident::FailOver(_) => unreachable!("it has steps"),
        };
        self.rehearsal.told(at, told);
        Ok(())
    }

    /// A source that was frozen and goes on is not missed: another program has resumed it.
    fn heard(&self) -> Result<Time, CourseError> {
        let heard = self.source_heard.get();
        match self.apart_since.get() {
            Some(frozen) if heard > frozen + THAWED_AFTER => Err(CourseError::Resumed),
            _ => Ok(heard),
        }
    }

    fn hand_over(&self, _: Side, decision: Decision) -> Vec<Step<Duty>> {
        if self.plan.replication == SiteReplication::Synchronous {
            return vec![Step::new("fencing", Ends::Own(Duty::Promote))];
        }
        let steps = |when| self.drill.steps_at(when).map(|step| step.exec.clone());
        let named = |exec: Exec, duty: fn(Exec) -> Duty| {
            Step::new(exec.name.clone(), Ends::Own(duty(exec)))
        };
        let mut all = Vec::new();
        if decision != Decision::Planned {
            // A part of the loss, not of the failover.
            let cuts = steps(StepTime::Cut).map(|exec| named(exec, Duty::Cut));
            all.extend(cuts.map(|step| step.given().or(Otherwise::NoAnswer)));
        }
        // Other replication than the mirror knows no epochs: the source is switched off, as a
        // cluster does.
        let is_cut = !all.is_empty();
        let fencing = Step::new("fencing", Ends::Own(Duty::SwitchOff { is_cut }));
        all.push(fencing.or(Otherwise::NoAnswer));
        all.extend(steps(StepTime::Failover).map(|exec| named(exec, Duty::Run)));
        all
    }

    async fn perform(&self, duty: Duty) -> Result<(), CourseError> {
        match duty {
            Duty::Cut(exec) => {
                self.switch_off();
                self.storage.release();
                self.exec(&exec).await
            }
            Duty::Promote => {
                let promote = Command::Promote { epoch: EPOCH };
                let Answer::Promoted { struck } = self.ask(Side::Destination, &promote).await?
                else {
                    return Err(unexpected(Side::Destination));
                };
                self.struck.set(struck);
                self.reported.set(Some(AtRisk::default()));
                Ok(())
            }
            Duty::SwitchOff { is_cut } => {
                self.switch_off();
                if self.plan.replication == SiteReplication::External {
                    self.storage.release();
                }
                match is_cut && self.storage.is_there() {
                    true => Err(CourseError::NotCut),
                    false => Ok(()),
                }
            }
            Duty::Run(exec) => self.exec(&exec).await,
        }
    }

    /// Before a failover the source ends as well.
    async fn shut_down(&self) -> Result<(), CourseError> {
        let side = self.rehearsal.serving.get();
        self.ask(side, &Command::Close).await?;
        if side == Side::Source {
            self.site(side).may_end.set(true);
            self.site(side).site.kill();
        }
        Ok(())
    }

    async fn recover(&self, to: Side) -> Result<Time, CourseError> {
        let mut replayed_at = None;
        match self.plan.replication {
            SiteReplication::Synchronous => {}
            SiteReplication::Asynchronous => {
                let activated = self.ask(to, &Command::Activate).await?;
                let Answer::Activated { stored } = activated else {
                    return Err(unexpected(to));
                };
                replayed_at = Some(self.now());
                self.listen()?;
                let log_file = self.drill.scenario.profile.engine.log_file.get();
                let at_risk = self.shipping.borrow().at_risk(&stored, log_file);
                self.reported.set(Some(at_risk));
            }
            SiteReplication::External => {
                self.storage.arrive()?;
                self.begin_site(to, &self.drill.destination.value).await?;
            }
        }
        let begun = self.now();
        let Answer::Opened { replay_s, .. } = self.ask(to, &Command::Open).await? else {
            return Err(unexpected(to));
        };
        let replayed = begun + Span::from_seconds(replay_s);
        Ok(replayed_at.unwrap_or_else(|| replayed.min(self.now())))
    }

    async fn first_operation(&self) -> Result<(), CourseError> {
        let record = self.untouched();
        self.ask(Side::Destination, &Command::First { record }).await?;
        // What the former side said before it was lost has been written to its pipe before it was
        // promoted here.
        self.listen()
    }

    fn reported(&self, _: AtRisk) -> Option<AtRisk> {
        self.reported.get()
    }

    fn ledgers(&self) -> Vec<SharedLedger> {
        vec![self.ledger.clone()]
    }

    async fn rest(&self, _: usize) -> Result<(), CourseError> {
        self.ask(Side::Destination, &Command::Rest).await.map(drop)
    }

    /// The records as they are at the destination.
    async fn found(&self, _: usize, keys: Vec<Key>) -> Result<Survivor, CourseError> {
        let mut found = Found::new();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let look = Command::Look { keys: keys.to_vec() };
            let Answer::Found { versions } = self.ask(Side::Destination, &look).await? else {
                return Err(unexpected(Side::Destination));
            };
            found.extend(versions);
        }
        Ok(Survivor::Records(found))
    }

    fn settled(&self, ledger: &Ledger, cut: &Cut) {
        *self.kept.borrow_mut() = unacknowledged(ledger, cut);
    }

    fn goes_on(&self, survives: bool) -> bool {
        survives && self.plan.after > Span::ZERO
    }

    async fn work(&self) -> Result<(), CourseError> {
        self.rehearsal.serving.set(Side::Destination);
        self.ask(Side::Destination, &Command::Work).await.map(drop)
    }

    /// A former side that was frozen or cut off is let go on meanwhile.
    async fn settle(&self, after: Span) -> Result<(), CourseError> {
        let until = self.now() + after;
        self.pass(until.min(self.now() + BEFORE_WAKING)).await?;
        self.wake_former().await?;
        self.pass(until).await
    }

    async fn inspect(&self) -> Result<(), CourseError> {
        let is_readable = {
            let mut evidence = self.rehearsal.evidence();
            evidence.both_served |= self.stale.get() > 0;
            evidence.kept_apart = Some(SOURCE_IS_GONE.to_owned());
            if self.rehearsal.serving.get() == Side::Source {
                evidence.not_read.get_or_insert_with(|| NOT_SERVED.to_owned());
            }
            evidence.not_read.is_none()
        };
        if !is_readable {
            return Ok(());
        }
        let verified = self.ask(Side::Destination, &Command::Verify).await;
        let mut evidence = self.rehearsal.evidence();
        match verified {
            Ok(Answer::Verified { pages, bad }) => {
                evidence.checksum = Some(Checksum { pages, bad });
            }
            Ok(_) => return Err(unexpected(Side::Destination)),
            Err(error) => evidence.unreadable = Some(error.words_of_site()?),
        }
        Ok(())
    }
}

impl SitePair {
    /// Kills the source, if it still runs.
    fn switch_off(&self) {
        let source = self.site(Side::Source);
        if !source.may_end.replace(true) {
            source.site.kill();
            self.rehearsal.tell("the source is switched off");
        }
    }

    /// A record of the first database that nobody has changed.
    fn untouched(&self) -> u64 {
        let keys = self.ledger.lock().keys().into_iter();
        let changed: Vec<u64> = keys
            .filter(|(stream, database, _)| (*stream, *database) == (0, 0))
            .map(|(.., number)| number)
            .collect();
        (0..).find(|number| changed.binary_search(number).is_err()).unwrap_or(0)
    }

    /// Lets a former side go on that was frozen or cut off. It has to learn that it is fenced.
    async fn wake_former(&self) -> Result<(), CourseError> {
        let source = self.site(Side::Source);
        if source.may_end.get() {
            return Ok(());
        }
        self.rehearsal.tell("the source is let go on");
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
            self.rehearsal.tell(why.clone());
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
