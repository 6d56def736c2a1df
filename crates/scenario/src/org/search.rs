//! `[search]` and `[price]`: what a search may choose from, and what it costs.

use std::collections::BTreeMap;

use brunt_array::Level;

use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::figures::up_to;
use super::storage::{LEVELS, drive};

/// What a search may choose from; everything there is where a list is empty.
#[derive(Clone, Debug, Default)]
pub struct SearchPlan {
    /// Drive models.
    pub drives: Vec<&'static str>,
    /// RAID levels.
    pub levels: Vec<Level>,
    /// Most drives in a group.
    pub group_max: Option<Placed<u64>>,
    /// Prices, if there are any.
    pub prices: Option<Prices>,
}

/// What storage costs, all in one currency.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    /// The name of the currency.
    pub currency: String,
    /// An array without drives and shelves.
    pub array: f64,
    /// A shelf without drives.
    pub shelf: f64,
    pub shelf_drives: u64,
    /// Each drive model that can be bought.
    pub drives: BTreeMap<&'static str, f64>,
}

const SEARCH_KEYS: [&str; 3] = ["drives", "levels", "group_max"];
const PRICE_KEYS: [&str; 5] = ["currency", "array", "shelf", "shelf_drives", "drives"];
const PRICE_MAX: f64 = 1e9;

/// Reads both.
pub(super) fn read(top: &mut Section) -> SearchPlan {
    let section = &mut top.section("search", &SEARCH_KEYS);
    let drives = section.read("drives", |node| list(node, drive));
    let levels = section.read("levels", |node| list(node, |node| section::choice(node, &LEVELS)));
    let group_max = section.read("group_max", |node| section::integer(node, 2..=192));
    let prices = top.take("price").and_then(|node| top.sink().catch(read_prices(node)));
    SearchPlan {
        drives: drives.map(|drives| drives.value).unwrap_or_default(),
        levels: levels.map(|levels| levels.value).unwrap_or_default(),
        group_max,
        prices,
    }
}

fn list<T>(node: &Node, read: impl Fn(&Node) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(read).collect(),
        other => Err(node.place.refuse(format!("is {}, not a list of at least one", other.kind()))),
    }
}

fn read_prices(node: Node) -> Result<Prices, Refusal> {
    let section = &mut Section::new(node, "[price]", &PRICE_KEYS);
    let currency = section.read_or("currency", String::new(), section::name);
    let price = |node: &Node| up_to(node, PRICE_MAX);
    let array = section.read_or("array", 0.0, price);
    let shelf = section.read_or("shelf", 0.0, price);
    let shelf_drives = section.read_or("shelf_drives", 24, |node| section::integer(node, 1..=1000));
    let Some(node) = section.take("drives") else {
        return Err(section.lacks("drives", "drives = { \"savvio-10k6-900-sas\" = 300 }"));
    };
    let Value::Table(entries) = &node.value else {
        let what = format!("is {}, not a table of prices", node.value.kind());
        return Err(node.place.refuse(what));
    };
    let mut drives = BTreeMap::new();
    for (name, value) in entries {
        let named = Node::new(Value::Text(name.clone()), value.place.clone());
        drives.insert(drive(&named)?, price(value)?);
    }
    Ok(Prices {
        currency: currency.value,
        array: array.value,
        shelf: shelf.value,
        shelf_drives: shelf_drives.value,
        drives,
    })
}
