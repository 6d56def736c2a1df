//! An organisation to be sized: who has mailboxes, how they are kept, and on what.
//!
//! ```toml
//! [profile]                           version
//! [org]                               servers, copies of each database, failures to survive
//! [mailboxes]                         all alike, or [[tier]] for each kind of user
//! [storage]                           drives and how they are grouped, or folders of this machine
//! [array]                             what is known of the array, as for `brunt simulate`, without drives, groups and LUNs
//! [figures]                           any figure of the calculation that is known better
//! [search] [price]                    what to choose from, and what it costs
//! ```
//!
//! Nothing is calculated here. Which figures there are is the calculator's to say; it hands in
//! their names.

mod figures;
mod search;
mod storage;
mod tiers;

use std::path::Path;

use brunt_units::Span;
use brunt_workload::profile::Version;

use super::document::Top;
use super::place::{Cause, Placed, Refusal};
use super::profile;
use super::section::{self, Section};

pub use figures::{FigureKey, Quantity};
pub use search::{Prices, SearchPlan};
pub use storage::{BlockPlan, GroupPlan, LogPlace, StoragePlan};
pub use tiers::Tier;

/// Most servers of an organisation: more would be a data centre.
pub const SERVERS_MAX: u64 = 256;
/// More than an availability group has.
const COPIES_MAX: u64 = 16;
const DATABASES_MAX: u64 = 100_000;

const ORG_KEYS: [&str; 5] = ["servers", "copies", "failures", "databases", "restore_within"];

/// An organisation to be sized.
#[derive(Clone, Debug)]
pub struct Organisation {
    /// What it is called.
    pub name: String,
    /// Free text.
    pub description: String,
    /// The version of Exchange whose figures are used.
    pub version: Version,
    /// Kinds of users, at least one.
    pub tiers: Vec<Tier>,
    /// Mailbox servers, at least one.
    pub servers: Placed<u64>,
    /// Copies of each database, the active one included; not more than servers.
    pub copies: Placed<u64>,
    /// Servers that may fail at the same time; fewer than all.
    pub failures: Placed<u64>,
    /// Databases in all, if that is decided.
    pub databases: Option<Placed<u64>>,
    /// How long restoring one database may take, if that is limited.
    pub restore_within: Option<Placed<Span>>,
    /// What it all lies on.
    pub storage: StoragePlan,
    /// What is known of the array, as TOML; empty without an `[array]`.
    pub array: toml::Table,
    /// Figures that replace those of the calculator, by their names.
    pub figures: Vec<(&'static str, Placed<f64>)>,
    /// What a search may choose from.
    pub search: SearchPlan,
}

impl Organisation {
    /// Reads the sections of an organisation. `known` are the figures that can be given.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong.
    pub(super) fn read(top: Top, folder: &Path, known: &[FigureKey]) -> Result<Self, Refusal> {
        let Top { name, description, sections: mut top, .. } = top;
        let mut profile = top.section("profile", &["version"])?;
        let version = profile.read_or("version", Version::Exchange2019, profile::read_version)?;
        let mut org = match top.take("org") {
            Some(node) => Section::new(node, "[org]", &ORG_KEYS)?,
            None => return Err(top.lacks("org", "[org] with servers = 4")),
        };
        let servers = org.read("servers", |node| section::integer(node, 1..=SERVERS_MAX))?;
        let servers = servers.ok_or_else(|| org.lacks("servers", "servers = 4"))?;
        let copies = org.read_or("copies", 1, |node| section::integer(node, 1..=COPIES_MAX))?;
        let failures =
            org.read_or("failures", 0, |node| section::integer(node, 0..=SERVERS_MAX))?;
        let databases = org.read("databases", |node| section::integer(node, 1..=DATABASES_MAX))?;
        let restore_within = org.read("restore_within", section::some_time)?;
        if copies.value > servers.value {
            let what = format!(
                "{} copies of a database need as many servers, and there {}",
                copies.value,
                match servers.value {
                    1 => "is 1".to_owned(),
                    more => format!("are {more}"),
                }
            );
            return Err(copies.place.refuse(what));
        }
        if failures.value >= servers.value {
            let refusal = failures.place.refuse("leaves no server");
            return Err(refusal.hint(format!("at most {}", servers.value - 1)));
        }
        let tiers = tiers::read(&mut top)?;
        let storage = storage::read(&mut top, folder)?;
        if storage.servers.value > servers.value {
            let what = format!("more than the {} there are", servers.value);
            return Err(storage.servers.place.refuse(what));
        }
        let array = storage::read_array(&mut top)?;
        let figures = figures::read(&mut top, known)?;
        let search = search::read(&mut top)?;
        Ok(Self {
            name,
            description,
            version: version.value,
            tiers,
            servers,
            copies,
            failures,
            databases,
            restore_within,
            storage,
            array,
            figures,
            search,
        })
    }
}

/// `refusal` of a value that is wrong by itself.
fn by_itself(refusal: Refusal) -> Refusal {
    refusal.because(Cause::Value)
}

#[cfg(test)]
mod tests;
