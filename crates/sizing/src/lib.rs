//! How much storage does an organisation need? Figures, each with its formula, source and
//! certainty, and the design that follows.
//!
//! ```text
//!   organisation -> users (a sheet for each tier) -> roles -> block (drives) -> findings
//!                        constants: what is known of the version                   |
//!                                                     words, explain, export: for people, for programs
//!                                                     design: a scenario for `simulate` or `run`
//!                                                     search: many blocks, by price or by drives
//!                                                     servers: how many would fit, where these do not
//! ```
//!
//! * [`sheet`]: a figure is written down with the formula that made it, so an explanation cannot
//!   differ from the calculation.
//! * [`catalog`]: what each figure is called, its unit, and the source of its formula.
//! * `constants`: what is known before anything is calculated, by version.
//! * `users`, `roles`, `block`: the formulas.
//!
//! Everything here is pure. A spreadsheet does the same, but nobody can test one.

pub mod block;
pub mod catalog;
mod constants;
mod data;
mod design;
pub mod explain;
pub mod export;
mod findings;
mod roles;
pub mod search;
mod servers;
pub mod sheet;
mod users;
pub mod words;

use brunt_array::drive::library;
use brunt_scenario::{BlockPlan, Organisation, Refusal};
use brunt_workload::profile::Version;

use constants::Era;
use sheet::Sheet;

pub use catalog::keys;
pub use design::DesignError;
pub use findings::Finding;
pub use servers::Servers;

/// What an organisation asks for, whatever it lies on.
#[derive(Clone, Debug)]
pub struct Demand<'o> {
    org: &'o Organisation,
    tiers: Vec<(String, Sheet)>,
    sheet: Sheet,
}

/// What an organisation needs.
#[derive(Clone, Debug)]
pub struct Sizing<'o> {
    /// Whose size it is.
    pub org: &'o Organisation,
    /// The drives that it was sized on, if any.
    pub block: Option<BlockPlan>,
    /// The figures of each kind of users, by its name.
    pub tiers: Vec<(String, Sheet)>,
    /// All other figures.
    pub sheet: Sheet,
    /// The limits that it has to keep to.
    pub findings: Vec<Finding>,
}

impl<'o> Demand<'o> {
    /// The demand of `org`.
    pub fn new(org: &'o Organisation) -> Self {
        let era = Era::from(org.version);
        let given = org.figures.iter().map(|(name, figure)| (*name, figure.value));
        let mut base = Sheet::new(given.collect());
        for (name, figure) in constants::known(era, org.copies.value) {
            base.know(name, figure);
        }
        let usual =
            constants::known(era, org.copies.value).find(|(name, _)| *name == "message_bytes");
        base.know("message_bytes_usual", usual.expect("every version knows it").1);
        let tiers = org.tiers.iter();
        let tiers = tiers.map(|tier| (tier.name.clone(), users::sheet(tier, era, &base)));
        let tiers: Vec<_> = tiers.collect();
        let mut sheet = base;
        roles::totals(org, &tiers, &mut sheet);
        roles::databases(org, &mut sheet);
        roles::storage(&mut sheet);
        roles::servers(org, &mut sheet);
        Self { org, tiers, sheet }
    }

    /// The size on drives of `block`, or without any.
    pub fn on(&self, block: Option<&BlockPlan>) -> Sizing<'o> {
        let mut sheet = self.sheet.clone();
        if let Some(block) = block {
            let model = library::find(block.drive.value).expect("it is of the library");
            block::block(self.org, block, &model, &mut sheet);
        }
        Sizing {
            org: self.org,
            block: block.cloned(),
            tiers: self.tiers.clone(),
            findings: findings::findings(self.org, &sheet),
            sheet,
        }
    }
}

/// The size of `org` on the drives that it names.
pub fn size(org: &Organisation) -> Sizing<'_> {
    Demand::new(org).on(org.storage.block.as_ref())
}

/// Why the first figure that `org` gives, and nothing is calculated from, cannot be given.
pub fn unused(org: &Organisation) -> Option<Refusal> {
    let demand = Demand::new(org);
    let tiers = demand.tiers.iter().map(|(_, sheet)| sheet);
    let sheets: Vec<&Sheet> = tiers.chain([&demand.sheet]).collect();
    let is_there = |name| sheets.iter().any(|sheet| sheet.find(name).is_some());
    let mut given = org.figures.iter();
    let (name, figure) = given.find(|(name, _)| !is_there(name))?;
    let refusal = figure.place.refuse(format!("is not used for {}", org.version));
    Some(match *name {
        "server_cores" => refusal.hint("give `figures.megacycles_per_mailbox`, too"),
        _ => refusal,
    })
}

impl Sizing<'_> {
    /// Its drives in full, and the year that they are from.
    pub fn drive(&self) -> Option<String> {
        let model = library::find(self.block.as_ref()?.drive.value)?;
        Some(match model.year() {
            Some(year) => format!("{}, of {year}", model.title()),
            None => model.title().to_owned(),
        })
    }

    /// What its drives, shelves and arrays cost, and in which currency; `None` without prices for
    /// them.
    pub fn price(&self) -> Option<(f64, &str)> {
        let prices = self.org.search.prices.as_ref()?;
        let block = self.block.as_ref()?;
        prices.drives.get(block.drive.value)?;
        Some((search::price(prices, block, &self.sheet), &prices.currency))
    }

    /// Whether it keeps to every limit.
    pub fn holds(&self) -> bool {
        self.findings.iter().all(|finding| finding.holds)
    }
}

/// What is known of `version` with this many copies of a database, by the figure's name.
pub fn known(version: Version, copies: u64, name: &str) -> Option<f64> {
    let mut known = constants::known(version.into(), copies);
    known.find(|(own, _)| *own == name).map(|(_, figure)| figure.value)
}
