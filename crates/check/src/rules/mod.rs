//! The rules, and what one is.

mod array;
mod copies;
mod device;
mod file_system;
mod layout;
mod machine;
mod network;

use std::fmt;

use brunt_report::{decimals, grouped};
use brunt_units::ByteSize;
use brunt_workload::profile::Version;

use crate::subject::Subject;

/// A best-practice rule.
pub struct Rule {
    /// Its name, which never changes.
    pub id: &'static str,
    /// What it looks at.
    pub title: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// The first and the last version that it is for.
    pub versions: (Version, Version),
    /// How bad it is to break it.
    pub severity: Severity,
    pub measure: fn(&Subject<'_>) -> Measured,
    /// What each value should be.
    pub wanted: Wanted,
    /// Why.
    pub reason: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// The rule of Windows that it is the equivalent of, if there is one.
    pub windows: &'static str,
}

/// Values of a rule, each with what it was measured on; or why there are none.
pub type Measured = Result<Vec<Item>, Gap>;

/// Why a rule has no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// There is nothing of the kind.
    Nothing(String),
    /// There may be, and it is not known.
    Unknown(String),
}

impl From<&str> for Gap {
    fn from(why: &str) -> Self {
        Self::Nothing(why.to_owned())
    }
}

impl Gap {
    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is of: a volume, a group, a device.
    pub what: String,
    pub value: Value,
    /// Its own limit, where limits differ.
    pub limit: Option<f64>,
}

impl Item {
    pub(crate) fn new(what: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { what: what.into(), value: value.into(), limit: None }
    }

    pub(crate) fn limited(what: impl Into<String>, value: f64, limit: f64) -> Self {
        Self { limit: Some(limit), ..Self::new(what, value) }
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number in the unit of what is wanted.
    Number(f64),
    Word(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(float(number))
    }
}

/// A count or a size for arithmetic.
#[expect(clippy::cast_precision_loss, reason = "counts and sizes here are far below 2^53")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<String> for Value {
    fn from(word: String) -> Self {
        Self::Word(word)
    }
}

/// What a value should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// At most this, or at most the value's own limit.
    AtMost(f64, Unit),
    AtLeast(f64, Unit),
    /// Between these.
    Between(f64, f64, Unit),
    MultipleOf(f64, Unit),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// None of these words.
    NoneOf(&'static [&'static str]),
}

/// What a number is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    Percent,
    Bytes,
    Seconds,
}

impl Wanted {
    /// Whether `item` is as it should be.
    pub fn accepts(self, item: &Item) -> bool {
        match (self, &item.value) {
            (Self::AtMost(most, _), Value::Number(number)) => {
                *number <= item.limit.unwrap_or(most) * (1.0 + 1e-9)
            }
            (Self::AtLeast(least, _), Value::Number(number)) => {
                *number >= item.limit.unwrap_or(least)
            }
            (Self::Between(least, most, _), Value::Number(number)) => {
                (least..=most).contains(number)
            }
            (Self::MultipleOf(unit, _), Value::Number(number)) => number.rem_euclid(unit) == 0.0,
            (Self::OneOf(words), Value::Word(word)) => words.contains(&word.as_str()),
            (Self::NoneOf(words), Value::Word(word)) => !words.contains(&word.as_str()),
            // A rule measures what it wants: a test judges each of them.
            (wanted, value) => panic!("{wanted:?} of {value:?}"),
        }
    }

    /// What is wanted of `item`, in words.
    pub fn of(self, item: Option<&Item>) -> String {
        let limit = item.and_then(|item| item.limit);
        match self {
            Self::AtMost(most, unit) => format!("at most {}", unit.show(limit.unwrap_or(most))),
            Self::AtLeast(least, unit) => format!("at least {}", unit.show(limit.unwrap_or(least))),
            Self::Between(least, most, unit) => {
                format!("{} to {}", unit.show(least), unit.show(most))
            }
            Self::MultipleOf(number, unit) => format!("a multiple of {}", unit.show(number)),
            Self::OneOf(words) => words.join(" or "),
            Self::NoneOf(words) => format!("not {}", words.join(", ")),
        }
    }

    /// `value` in words.
    pub fn show(self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Word(word)) => word.clone(),
            (
                Self::AtMost(_, unit)
                | Self::AtLeast(_, unit)
                | Self::Between(_, _, unit)
                | Self::MultipleOf(_, unit),
                Value::Number(number),
            ) => unit.show(*number),
            (_, Value::Number(number)) => decimals(*number),
        }
    }
}

impl Unit {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and nothing here is below zero"
    )]
    fn show(self, number: f64) -> String {
        match self {
            Self::Count if number.fract() == 0.0 => grouped(number as u64),
            Self::Count => decimals(number),
            Self::Percent => format!("{number:.0} %"),
            Self::Bytes => ByteSize::bytes(number.round() as u64).to_string(),
            Self::Seconds => format!("{} s", grouped(number.round() as u64)),
        }
    }
}

/// Where a rule belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Databases, logs, room.
    Layout,
    /// Copies, failures, another site.
    Copies,
    /// Settings of an array.
    Array,
    /// Paths and networks.
    Network,
    /// Block devices of this machine.
    Device,
    /// File systems of this machine.
    FileSystem,
    Machine,
}

impl Group {
    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Copies => "copies",
            Self::Array => "array",
            Self::Network => "network",
            Self::Device => "devices",
            Self::FileSystem => "file systems",
            Self::Machine => "machine",
        }
    }
}

/// How bad it is to break a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Better otherwise.
    Advice,
    /// Slow, or less safe than it could be.
    Warning,
    /// Data are at risk, or it is not supported.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

pub(crate) const ALL: (Version, Version) = (Version::Exchange2003, Version::Exchange2019);
pub(crate) const FROM_2013: (Version, Version) = (Version::Exchange2013, Version::Exchange2019);

/// Every rule, by group.
pub const RULES: [&[Rule]; 7] = [
    layout::RULES,
    copies::RULES,
    array::RULES,
    network::RULES,
    device::RULES,
    file_system::RULES,
    machine::RULES,
];

/// All of them in one row.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().flat_map(|group| group.iter())
}

/// The rule called `id`.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}
