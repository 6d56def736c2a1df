//! The language of scenarios: the TOML file that describes a test of storage or of mail
//! servers, or storage and a load on it.
//!
//! ```text
//!   text -> Document (values that know their line) -> overrides (--set, --duration ...) -> a test, or raw load
//! ```
//!
//! [`Document`] knows every section and decides what a file describes; each section has a file that
//! reads and writes it.
//!
//! Every value remembers where it was written. So every refusal names file, line, key and value,
//! even when the mistake is found much later, when paths are looked at. Unknown keys are refused
//! with the nearest known one: a misspelt key that is ignored would test something else.
//!
//! A resolved scenario has every default filled in and every path absolute. [`Scenario::to_toml`]
//! writes that form, and reading it again gives the same scenario.

mod alarms;
mod arrays;
mod base;
mod capacity;
mod copies;
mod design;
mod distance;
mod document;
mod drill;
mod engine;
mod events;
mod files;
mod fleet;
mod format;
mod instances;
mod kept;
mod key_pages;
mod keys;
#[cfg(test)]
mod lighter;
mod limits;
mod mail;
mod mailboxes;
mod mistakes;
mod model;
mod modelled;
mod nearest;
mod org;
mod overrides;
mod pair_steps;
mod place;
mod profile;
mod real_drill;
mod real_link;
mod records;
mod section;
mod site;
mod site_events;
mod sites;
mod solution;
mod storage;
mod test;
mod throughput;
mod top;
mod tree;

pub use alarms::{AlarmPlan, AlarmWhen, read_alarms};
pub use arrays::ArrayScenario;
pub use design::write_design;
pub use document::{Document, Subject};
pub use drill::Drill;
pub use files::Texts;
pub use fleet::{FleetScenario, FleetServer};
pub use instances::FilePlaces;
pub use key_pages::{json_schema, key_tables, set_keys};
pub use mail::{
    Address, MailScenario, MailServer, MailStore, MailSync, MailTest, MailUntil, Mechanism, Speaks,
    Target, Tls,
};
pub use mailboxes::Mailboxes;
pub use mistakes::Checked;
pub use model::Scenario;
pub use modelled::{ArrayPlan, ModelledScenario, VolumePlan};
pub use nearest::nearest;
pub use org::{
    BlockPlan, FigureKey, GroupPlan, LogPlace, Organisation, Prices, Quantity, SERVERS_MAX,
    SearchPlan, StoragePlan, Tier,
};
pub use overrides::Override;
pub use pair_steps::{Exec, PairStep, StepTime};
pub use place::{Place, Placed, Refusal};
pub use profile::Profile;
pub use real_drill::{RealDrill, SiteReplication};
pub use real_link::RealLink;
pub use site::Site;
pub use site_events::{Decision, SiteEvent, SiteIncident};
pub use sites::RemoteHost;
pub use solution::{Part, Solution};
pub use test::Test;

/// The demo: what is run when no scenario is named.
pub const DEMO: &str = include_str!("../../../examples/demo.toml");

/// The drill: what is rehearsed when no scenario is named.
pub const DEMO_DRILL: &str = include_str!("../../../examples/two-folders.toml");

/// What `brunt init --array` writes: a modelled array, every key with its default.
pub const ARRAY_TEMPLATE: &str = include_str!("../../../examples/array.toml");

/// What `brunt init` writes: a scenario to begin with, every key explained.
pub const TEMPLATE: &str = include_str!("../../../examples/scenario.toml");
