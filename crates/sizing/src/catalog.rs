//! What each figure is called, what it is a number of, and where its formula comes from: the lines
//! of `catalog.toml`.

use std::sync::LazyLock;

use brunt_scenario::{FigureKey, Quantity};
use brunt_workload::profile::Certainty;
use toml::Value;

use crate::{constants, data};

use self::Unit::{Bytes, Count, Days, Io, Megacycles, Number, Percent, Rate, Seconds};

/// What a figure is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, whole.
    Count,
    /// Anything else.
    Number,
    Percent,
    Bytes,
    /// Bytes per second.
    Rate,
    Seconds,
    Days,
    /// I/Os per second.
    Io,
    /// Millions of processor cycles per second.
    Megacycles,
}

impl Unit {
    const ALL: [Self; 9] = [Count, Number, Percent, Bytes, Rate, Seconds, Days, Io, Megacycles];

    /// What it is called in `catalog.toml`.
    fn name(self) -> &'static str {
        match self {
            Count => "count",
            Number => "number",
            Percent => "percent",
            Bytes => "bytes",
            Rate => "rate",
            Seconds => "seconds",
            Days => "days",
            Io => "io",
            Megacycles => "megacycles",
        }
    }

    /// The word for it behind a plain number, such as in CSV.
    pub fn word(self) -> &'static str {
        match self {
            Count | Number => "",
            Percent => "%",
            Bytes => "bytes",
            Rate => "bytes/s",
            Seconds => "s",
            Days => "days",
            Io => "/s",
            Megacycles => "megacycles",
        }
    }
}

/// What is known of a figure besides its value.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    pub name: &'static str,
    /// What it is, in words.
    pub label: &'static str,
    pub unit: Unit,
    /// For what is calculated: how certain the formula is.
    pub certainty: Certainty,
    /// For what is calculated: where the formula comes from.
    pub source: &'static str,
}

/// Every figure, in the order in which `--explain` shows them.
pub static FIGURES: LazyLock<Vec<Meaning>> = LazyLock::new(|| {
    let all = data::entries(include_str!("catalog.toml"));
    all.map(|(name, value)| Meaning::read(name, value.as_array().expect("a list"))).collect()
});

impl Meaning {
    fn read(name: &'static str, list: &[Value]) -> Self {
        let word = data::text(list, 0);
        let mut units = Unit::ALL.into_iter();
        let unit = units.find(|unit| unit.name() == word);
        let is_calculated = list.len() > 2;
        Self {
            name,
            label: data::text(list, 1),
            unit: unit.unwrap_or_else(|| panic!("{word} is not the unit of a figure")),
            certainty: match is_calculated {
                true => data::certainty(data::text(list, 2)),
                false => Certainty::Assumed,
            },
            source: if is_calculated { data::text(list, 3) } else { "" },
        }
    }
}

/// What `name` means.
///
/// # Panics
/// When it is no figure: a test asks for all of them.
pub fn meaning(name: &str) -> &'static Meaning {
    let mut all = FIGURES.iter();
    let found = all.find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("`{name}` has no meaning"))
}

/// Figures that something is divided by.
const DIVISORS: [&str; 10] = [
    "io_per_message",
    "message_bytes",
    "log_bytes",
    "database_bytes_max",
    "restore_bytes_per_s",
    "megacycles_per_core",
    "processor_percent_max",
    "on_disk_percent",
    "server_cores",
    "databases_max",
];

/// Figures that an organisation can give.
pub fn keys() -> Vec<FigureKey> {
    let names = constants::names().chain(constants::UNKNOWN);
    let all = names.map(|name| FigureKey {
        name,
        quantity: quantity(name),
        is_divisor: DIVISORS.contains(&name),
    });
    all.collect()
}

fn quantity(name: &str) -> Quantity {
    match (name, meaning(name).unit) {
        // All of something, and no more.
        ("free_percent", _) => Quantity::Part,
        ("read_percent" | "message_body_percent" | "processor_percent_max", _) => Quantity::Share,
        ("peak_hour_percent" | "moves_percent" | "queued_percent", _) => Quantity::Share,
        (_, Percent) => Quantity::Percent,
        (_, Bytes) => Quantity::Bytes,
        (_, Rate) => Quantity::Rate,
        (_, Seconds) => Quantity::Seconds,
        (_, Days) => Quantity::Days,
        (_, Count | Number | Io | Megacycles) => Quantity::Number,
    }
}
