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
mod written;

use std::path::Path;

use brunt_units::Span;
use brunt_workload::profile::Version;

use super::keys::{At, Maybe, Page, SOME_TIME, Whole, keys};
use super::place::{Place, Placed, Refusal};
use super::profile;
use super::top::Top;

pub use figures::{FigureKey, Quantity};
pub use search::{Prices, SearchPlan};
pub use storage::{BlockPlan, GroupPlan, LogPlace, StoragePlan};
pub use tiers::Tier;

/// Most servers of an organisation: more would be a data centre.
pub const SERVERS_MAX: u64 = 256;
/// More than an availability group has.
const COPIES_MAX: u64 = 16;
const DATABASES_MAX: u64 = 100_000;

/// Tables of an organisation whose keys are declared.
pub(super) static TABLES: [&dyn Page; 5] =
    [&ORG, &tiers::TIER, &storage::STORAGE, &search::SEARCH, &search::PRICE];

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
    pub(super) fn read(top: Top, folder: &Path, known: &[FigureKey]) -> Self {
        let Top { name, description, sections: mut top, .. } = top;
        let mut profile = top.section("profile", &["version"]);
        let version = profile.read_or("version", Version::Exchange2019, profile::read_version);
        let node = top.needed("org", "[org] with servers = 4");
        let mut org = Org::usual(&node.place);
        let section = ORG.read(node, &mut org);
        section.sink().catch(org.check());
        let tiers = tiers::read(&mut top);
        let storage = storage::read(&mut top, folder, version.value);
        if storage.servers.value > org.servers.value {
            let what = format!("more than the {} there are", org.servers.value);
            top.refuse(storage.servers.place.refuse(what));
        }
        let array = storage::read_array(&mut top);
        let figures = figures::read(&mut top, known);
        let search = search::read(&mut top);
        let Org { servers, copies, failures, databases, restore_within } = org;
        Self {
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
        }
    }
}

/// What `[org]` says.
pub(crate) struct Org {
    servers: Placed<u64>,
    copies: Placed<u64>,
    failures: Placed<u64>,
    databases: Option<Placed<u64>>,
    restore_within: Option<Placed<Span>>,
}

keys! {
    ORG of Org = "[org]";
    /// Mailbox servers.
    servers: Placed<u64> = [servers], At(Whole(1..=SERVERS_MAX)), needs "servers = 4";
    /// Copies of each database, the active one included; not more than servers.
    copies: Placed<u64> = [copies], At(Whole(1..=COPIES_MAX)), "1";
    /// Servers that may fail at the same time; fewer than all.
    failures: Placed<u64> = [failures], At(Whole(0..=SERVERS_MAX)), "0";
    /// Databases in all, if that is decided.
    databases: Option<Placed<u64>> = [databases], Maybe(At(Whole(1..=DATABASES_MAX))), "as many as are needed";
    /// How long restoring one database may take.
    restore_within: Option<Placed<Span>> = [restore_within], Maybe(At(SOME_TIME)), "no limit";
}

impl Org {
    fn usual(place: &Place) -> Self {
        let [servers, copies, failures] =
            [1, 1, 0].map(|value| Placed { value, place: place.clone() });
        Self { servers, copies, failures, databases: None, restore_within: None }
    }

    fn check(&self) -> Result<(), Refusal> {
        let servers = self.servers.value;
        if self.copies.value > servers {
            let there = match servers {
                1 => "is 1".to_owned(),
                more => format!("are {more}"),
            };
            return Err(self.copies.place.refuse(format!(
                "{} copies of a database need as many servers, and there {there}",
                self.copies.value
            )));
        }
        match self.failures.value >= servers {
            true => {
                let refusal = self.failures.place.refuse("leaves no server");
                Err(refusal.hint(format!("at most {}", servers - 1)))
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
