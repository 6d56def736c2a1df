//! The result of a run as in `result.json`: `brunt.result/2`.
//!
//! ```text
//!   result                    what scripts read: exactly the fields of docs/result.schema.json
//!   |-- verdict, reasons      the same for every kind of test
//!   |-- rules[]               id, limit, measured, outcome
//!   |-- times, origin
//!   |-- drill                 a failover drill
//!   |-- mail                  a test of mail servers
//!   |-- fleet                 several hosts at once
//!   `-- storage               a test of storage
//!       |-- servers[]         one for each host
//!       |   |-- instances[]   I/O of one log stream and its databases
//!       |   |-- phases[]      I/O and counters of the machine, each for one phase of the test
//!       |   |-- host[] checksum[] backup[] restore recovery[] copies[]
//!       |   `-- details       machine, backend, durability
//!       `-- details           parameters, distributions: what else the report shows
//! ```
//!
//! Fields outside `details` are a promise: they are only added, never renamed or redefined. If that
//! must happen, [`SCHEMA`] gets a new number. Names end in their unit. A value that was not
//! measured is `null`, never zero; a part that did not take place is an empty list.

#![warn(missing_docs)]

mod bottleneck;
mod content;
mod copies;
mod demand;
mod details;
mod drill;
mod environment;
mod fleet;
mod groups;
mod instance;
mod interval;
mod io;
mod kind;
mod mail;
mod mail_usage;
mod mail_work;
mod mib;
mod model;
mod pages;
mod phase;
mod precision;
mod prediction;
mod replicas;
mod replication;
mod rule;
mod server;
mod setup;
mod state;
mod storage;
mod verdict;
mod verification;

pub use brunt_run::{Trial, Tuning};

pub use bottleneck::{Bottleneck, BusyPart, Limiting};
pub use content::ContentNumbers;
pub use copies::{CopyScan, PassiveCopy};
pub use details::Details;
pub use drill::{
    Drill, DrillControl, DrillEvent, DrillFailover, DrillLoss, DrillPhase, DrillReplication,
    DrillSample, DrillStep, given_and_measured,
};
pub use environment::{
    Backend, Device, Durability, Machine, MachineClock, Origin, Redundancy, Volume, WriteCache,
};
pub use fleet::{Fleet, FleetAgent};
pub use groups::{RuleGroup, gravest_first, worst_of_servers};
pub use instance::{Counts, Instance, InstanceDetails, LatencySummary, Measured};
pub use interval::Interval;
pub use io::{
    Bucket, DatabaseNumbers, Distribution, Flow, IoNumbers, LogNumbers, STEPS_PER_DECADE, Sample,
    step_of,
};
pub use kind::{TestKind, Tested, UnknownTest, Work};
pub use mail::{
    Mail, MailControl, MailErrors, MailFault, MailFinding, MailLatency, MailLedger, MailQueue,
    MailRun, MailServer, MailStanding,
};
pub use mail_usage::{MailServerUsage, MailSlowest, MailStorage, MailUsage};
pub use mail_work::{DELAYED_ACK, DELAYED_ACK_TIMES, DelayedAck, MailTask, MailWork};
pub use mib::{Mib, MibPerS};
pub use model::{
    ArrayEvent, ArrayNumbers, AskedNumbers, CacheNumbers, DriveNumbers, GroupNumbers, LunNumbers,
    Model, PartNumbers, SessionTime, StateSpan,
};
pub use pages::{MemberNumbers, PagesNumbers, RoomNumbers, SnapshotNumbers};
pub use phase::{Phase, PhaseIo, PhaseName, PhaseOp};
pub use precision::{PreciseFigure, Precision};
pub use prediction::{PredictedFigure, Prediction};
pub use replicas::{ReplicaNumbers, ReplicaRecovered};
pub use replication::{ReplicationGroup, ReplicationNumbers, WriteRate};
pub use rule::{Direction, Group, Outcome, Quantity, Rule, RuleName};
pub use server::{Backup, HostCounter, Recovery, Restore, Server, ServerDetails, Watched};
pub use setup::{Limits, Setup, Times};
pub use state::{StateIo, StateNumbers, states_table};
pub use storage::Storage;
pub use verdict::{Colour, NOT_JUDGED, Verdict, WRONG_DATA};
pub use verification::{InjectedFault, Integrity, VerifiedFile};

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::table::Cell;

/// Name and version of the format that this program writes.
pub const SCHEMA: &str = "brunt.result/2";

/// result.json of a brunt run. The first fields are the same for every kind of test; storage holds
/// those of a test of storage. Fields are only added; a value that was not measured is null, and a
/// part that did not take place is an empty list. Fields called details are no promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = SCHEMA))]
pub struct RunResult {
    /// Name and version of this format.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Real storage in real time, or modelled storage in virtual time.
    pub world: World,
    /// Pass or fail, or why neither.
    pub verdict: Verdict,
    /// Whether the result may be shown as a qualification of the storage.
    pub qualifies: bool,
    /// Why it does not qualify.
    pub reasons: Vec<String>,
    /// Every rule that was judged, in the order of the report.
    pub rules: Vec<Rule>,
    /// When its parts began and ended.
    pub times: Times,
    /// How the result was produced.
    pub origin: Origin,
    /// The results of a test of storage.
    pub storage: Storage,
    /// The results of a failover drill; null for other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<Drill>,
    /// The results of a test of mail servers; null for other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// How several hosts were tested at once; null for other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// The world of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// On real storage, in real time.
    Real,
    /// On modelled storage, in virtual time.
    Virtual,
}

/// A `result.json` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// It is not JSON, or a field of this version is missing.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error("its schema is `{0}`, and this program reads `{SCHEMA}`")]
    Schema(String),
}

impl RunResult {
    /// The rules for people: of a fleet, the worst server for each.
    pub fn shown_rules(&self) -> Vec<Rule> {
        match self.fleet {
            Some(_) => worst_of_servers(&self.rules),
            None => self.rules.clone(),
        }
    }

    /// The text of `result.json`.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("maps have string keys");
        text.push('\n');
        text
    }

    /// Reads a `result.json` of this version. Unknown fields are later additions
    /// and are skipped.
    ///
    /// # Errors
    /// [`ResultError`] when it is not a result, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, ResultError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            schema: String,
        }
        let head: Head = serde_json::from_str(text)?;
        match head.schema.as_str() {
            SCHEMA => Ok(serde_json::from_str(text)?),
            _ => Err(ResultError::Schema(head.schema)),
        }
    }

    /// The verdict with what it is worth: a pass that does not qualify must not look like one that
    /// does.
    pub fn headline(&self) -> String {
        self.shown().0
    }

    /// The colour of [`RunResult::headline`].
    pub fn colour(&self) -> Colour {
        self.shown().1
    }

    fn shown(&self) -> (String, Colour) {
        let is_predicted = self.world == World::Virtual;
        self.verdict.shown(is_predicted, self.qualifies)
    }

    /// The verdict as Jetstress writes it (`Pass`), unless that would promise more than the
    /// headline.
    pub fn outcome_in_words(&self) -> String {
        let (word, headline) = (self.verdict.to_string(), self.headline());
        match word.to_uppercase() == headline {
            true => word,
            false => headline,
        }
    }

    /// When something happened: of a prediction, the virtual time since it began.
    pub(crate) fn when(&self, at: Timestamp) -> Cell {
        match self.world {
            World::Real => Cell::Time(at),
            World::Virtual => Cell::Text(format!("{} of virtual time", self.virtual_time(at))),
        }
    }

    /// The time since the run began.
    pub(crate) fn virtual_time(&self, at: Timestamp) -> Span {
        let began = self.times.started.unix_seconds;
        Span::seconds(at.unix_seconds.saturating_sub(began))
    }

    /// All instances of all servers.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        let servers = self.storage.servers.iter();
        servers.flat_map(|server| &server.instances)
    }

    /// As [`Instance::primary_io`], of all instances.
    pub fn primary_io(&self) -> [IoNumbers; 3] {
        let servers = self.storage.servers.iter();
        Instance::primary_io(servers.flat_map(|server| &server.instances))
    }

    /// Whether the run is complete; otherwise it is still running, or its host died.
    pub fn is_finished(&self) -> bool {
        self.times.ended.is_some()
    }
}
