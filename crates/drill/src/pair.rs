//! Two sites and what replicates between them, as the conductor has them: modelled arrays, or sites
//! of brunt's own on modelled or real hosts.

use brunt_scenario::Decision;
use brunt_units::{LogPosition, Span, Time};

use crate::procedure::Step;
use crate::{AtRisk, CourseError, Cut, Found, Key, Ledger, Rehearsal, SharedLedger, Side};

/// What an event of the timeline means to a drill.
pub enum Meaning {
    /// A site loses its service, if it serves.
    Lost(Side),
    /// Everything is to be served by a site.
    FailOver(Side, Decision),
    /// It happens by itself at its time, also during a failover.
    Scheduled,
    /// Something happens that users may or may not notice.
    Other,
}

/// What a survivor has of a server.
pub enum Survivor {
    /// Records, as they are there.
    Records(Found),
    /// It has no content. Its logs end here, by log stream.
    Ends(Vec<LogPosition>),
}

/// Two sites, one of which serves, and what replicates between them.
///
/// A site that cannot do what it is asked gives an error with [`CourseError::words_of_site`]; the
/// conductor knows what that means for the drill.
#[expect(async_fn_in_trait, reason = "a drill is conducted by one thread")]
pub trait Pair {
    /// What this kind of pair alone can let happen.
    type Event;
    /// What it alone does in a failover.
    type Duty;
    /// How often it is looked at.
    const STEP: Span;
    /// An event that comes later than this is noted as late.
    const PUNCTUAL: Span;
    /// What it has waited for then.
    const DELAYED_BY: &'static str;

    /// What is noted of the drill.
    fn rehearsal(&self) -> &Rehearsal;

    fn meaning(&self, event: &Self::Event) -> Meaning;

    /// Creates the databases, and lets sessions work on them at the source.
    async fn open(&self) -> Result<(), CourseError>;

    /// The timeline begins. What was measured until now is forgotten.
    async fn begin(&self) -> Result<(), CourseError>;

    /// Hears, tends and notes what is due now; an error when nothing can go on.
    fn look(&self) -> Result<(), CourseError>;

    /// Sets the load that is wanted now.
    async fn pace(&self) {}

    /// Closes the sample under way, where sites do not do so themselves.
    fn close_sample(&self) {}

    /// What replication says would be lost now.
    fn at_risk(&self) -> AtRisk {
        AtRisk::default()
    }

    /// Lets `event` happen at `at`: now, or later if it is one that happens by itself.
    async fn happen(&self, at: Time, event: &Self::Event) -> Result<(), CourseError>;

    /// When the serving site was heard last, for a witness.
    ///
    /// # Errors
    /// [`CourseError`] when there is no witness, or waiting has become pointless.
    fn heard(&self) -> Result<Time, CourseError> {
        Err(CourseError::NoWitness)
    }

    /// The steps between the decision and the recovery at `to`.
    fn hand_over(&self, to: Side, decision: Decision) -> Vec<Step<Self::Duty>>;

    /// Does what ends one of those steps.
    async fn perform(&self, duty: Self::Duty) -> Result<(), CourseError>;

    /// Ends sessions and closes the databases of the serving site.
    async fn shut_down(&self) -> Result<(), CourseError>;

    /// Recovers and opens the databases at `to`. When logs were replayed.
    async fn recover(&self, to: Side) -> Result<Time, CourseError>;

    /// Serves an operation at the site that has recovered.
    async fn first_operation(&self) -> Result<(), CourseError>;

    /// What replication says was lost; `at_risk` is what it said at the failure. `None` where it is
    /// asked nothing.
    fn reported(&self, at_risk: AtRisk) -> Option<AtRisk>;

    /// The ledger of each server.
    fn ledgers(&self) -> Vec<SharedLedger>;

    /// Whether there are records to compare.
    fn has_content(&self) -> bool {
        true
    }

    /// Lets the sessions of server number `server` rest.
    async fn rest(&self, server: usize) -> Result<(), CourseError>;

    /// What is there of the records with `keys` of server number `server`.
    async fn found(&self, server: usize, keys: Vec<Key>) -> Result<Survivor, CourseError>;

    /// How replication has departed from the order of writes.
    fn broken_order(&self) -> Option<String> {
        None
    }

    /// A survivor has `cut` of what `ledger` has, and goes on from there.
    fn settled(&self, ledger: &Ledger, cut: &Cut) {
        let _ = (ledger, cut);
    }

    /// Whether the drill goes on after a failover; `survives` says whether there is a survivor.
    fn goes_on(&self, survives: bool) -> bool;

    /// Lets sessions work where service is resumed.
    async fn work(&self) -> Result<(), CourseError>;

    /// After the timeline: what was lost comes back as far as it can, and sessions work for `after`.
    async fn settle(&self, after: Span) -> Result<(), CourseError>;

    /// Whether a loss of service was over without a failover.
    fn is_back(&self) -> bool {
        false
    }

    /// Notes what is found of both sides at the end: whether they are in step, and pages of the one
    /// that does not serve.
    async fn inspect(&self) -> Result<(), CourseError>;

    fn now(&self) -> Time {
        self.rehearsal().now()
    }

    /// Lets time pass until `until`.
    async fn pass(&self, until: Time) -> Result<(), CourseError> {
        while self.now() < until {
            let next = until.min(self.now() + Self::STEP);
            self.rehearsal().world.sleep_until(next).await;
            self.look()?;
            self.pace().await;
        }
        Ok(())
    }

    /// Users lose service now, if they had it.
    fn lose_service(&self) {
        if self.rehearsal().lost().is_none() {
            let at_risk = self.at_risk();
            self.close_sample();
            self.rehearsal().lose_service(at_risk);
        }
    }
}
