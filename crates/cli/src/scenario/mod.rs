//! Scenarios: the TOML file that describes a test.
//!
//! ```text
//!   text -> tree (values that know their line) -> overrides (--set, --duration ...) -> Scenario
//!                                                                                       |
//!                                             preflight: does it fit this machine?  <---+
//! ```
//!
//! Every value remembers where it was written, so every refusal can name file, line, key and value, also one that is
//! found much later, when the paths are looked at. Unknown keys are refused with the nearest known one: a misspelt
//! key that is ignored is a test of something else.
//!
//! Resolved means that every default has been filled in and every path is absolute; [`Scenario::to_toml`] writes that
//! form, and reading it again gives the same scenario.

mod arrays;
mod faults;
mod head;
mod limits;
mod model;
mod modelled;
mod nearest;
mod overrides;
mod place;
mod preflight;
mod profile;
mod records;
mod section;
mod sizes;
mod source;
mod test;
mod tree;
mod write;

pub use arrays::ArrayScenario;
pub use model::{DatabasePlan, InstancePlan, Scenario};
pub use modelled::{ArrayPlan, ModelledScenario, VolumePlan, is_modelled};
pub use overrides::Override;
pub use place::{Place, Placed, Refusal};
pub use preflight::preflight;
pub use profile::Profile;
pub use sizes::Mailboxes;
pub use source::Source;
pub use test::Test;

/// The demo: what is run when no scenario is named.
pub const DEMO: &str = include_str!("../../../../examples/demo.toml");

/// What `brunt init` writes: a scenario to begin with, every key explained.
pub const TEMPLATE: &str = include_str!("../../../../examples/scenario.toml");
