//! `[search]` and `[price]`: what a search may choose from, and what it costs.

use std::collections::BTreeMap;

use brunt_array::Level;

use super::super::format::bare_word;
use super::super::kept::Keep;
use super::super::keys::{At, Maybe, NAME, Whole, keys, list, number};
use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::figures::up_to;
use super::storage::{LEVELS, drive};

/// What a search may choose from; everything there is where a list is empty.
#[derive(Clone, Debug, Default)]
pub struct SearchPlan {
    pub drives: Vec<&'static str>,
    pub levels: Vec<Level>,
    pub group_max: Option<Placed<u64>>,
    /// Prices, if there are any.
    pub prices: Option<Prices>,
}

/// What storage costs, all in one currency: a field for each key of [`PRICE`], and drives.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    pub currency: String,
    pub array: f64,
    pub shelf: f64,
    pub shelf_drives: u64,
    /// Each drive model that can be bought.
    pub drives: BTreeMap<&'static str, f64>,
}

keys! {
    SEARCH of SearchPlan = "[search]";
    /// Drive models.
    drives: Vec<&'static str> = [drives], list(|node| several(node, drive), "list of models"), "all models";
    /// RAID levels.
    levels: Vec<Level> = [levels], list(|node| several(node, |node| section::choice(node, &LEVELS)), "list of levels"), "all levels";
    /// Most drives in a group.
    group_max: Option<Placed<u64>> = [group_max], Maybe(At(Whole(2..=192))), "no limit";
}

keys! {
    PRICE of Prices = "[price]";
    /// The name of the currency.
    currency: String = [currency], NAME, "none";
    /// An array without drives and shelves.
    array: f64 = [array], number(|node| up_to(node, PRICE_MAX), "number, 0 or more"), "0";
    /// A shelf without drives.
    shelf: f64 = [shelf], number(|node| up_to(node, PRICE_MAX), "number, 0 or more"), "0";
    /// Drives of a shelf.
    shelf_drives: u64 = [shelf_drives], Whole(1..=1000), "24";
}

impl Keep for &'static str {
    fn keep(&self) -> toml::Value {
        (*self).into()
    }
}

impl Keep for Level {
    fn keep(&self) -> toml::Value {
        bare_word(&LEVELS, *self).into()
    }
}

const PRICE_MAX: f64 = 1e9;

/// Reads both.
pub(super) fn read(top: &mut Section) -> SearchPlan {
    let mut plan = SearchPlan::default();
    SEARCH.read(top.table("search"), &mut plan);
    plan.prices = top.take("price").and_then(|node| top.sink().catch(read_prices(node)));
    plan
}

fn several<T>(node: &Node, read: impl Fn(&Node) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(read).collect(),
        other => Err(node.place.refuse(format!("is {}, not a list of at least one", other.kind()))),
    }
}

fn read_prices(node: Node) -> Result<Prices, Refusal> {
    let mut prices = Prices { shelf_drives: 24, ..Prices::default() };
    let mut section = PRICE.read_beside(node, &["drives"], &mut prices);
    let Some(node) = section.take("drives") else {
        return Err(section.lacks("drives", "drives = { \"savvio-10k6-900-sas\" = 300 }"));
    };
    let Value::Table(entries) = &node.value else {
        let what = format!("is {}, not a table of prices", node.value.kind());
        return Err(node.place.refuse(what));
    };
    for (name, value) in entries {
        let named = Node::new(Value::Text(name.clone()), value.place.clone());
        prices.drives.insert(drive(&named)?, up_to(value, PRICE_MAX)?);
    }
    Ok(prices)
}
