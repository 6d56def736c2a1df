//! `[figures]`: what is known better than the calculator knows it.

use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;

/// A figure that can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FigureKey {
    /// Its key.
    pub name: &'static str,
    /// What it is a number of.
    pub quantity: Quantity,
    /// Whether something is divided by it, so that it cannot be zero.
    pub is_divisor: bool,
}

/// What a figure is a number of, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A plain number, zero or more.
    Number,
    /// A share of something that cannot be more than all of it.
    Share,
    /// A share of something that leaves at least a twentieth of it.
    Part,
    /// A percentage that may be more than 100.
    Percent,
    /// Bytes, written as a size.
    Bytes,
    /// Bytes per second, written as the size that passes in a second.
    Rate,
    /// Seconds, written as a length of time.
    Seconds,
    /// Days, written as a number.
    Days,
}

/// What is left has to do for all the rest.
const PART_MAX: f64 = 95.0;
/// Ten times everything; more is a slip.
const PERCENT_MAX: f64 = 1_000.0;
/// Longer than anybody keeps mail.
const DAYS_MAX: f64 = 3_650.0;
/// What is divided by less has no sense.
const DIVISOR_MIN: f64 = 1e-6;
/// Nothing that is counted here comes near.
const NUMBER_MAX: f64 = 1e12;

/// Reads `[figures]`.
pub(super) fn read(top: &mut Section, known: &[FigureKey]) -> Vec<(&'static str, Placed<f64>)> {
    let Some(node) = top.take("figures") else {
        return Vec::new();
    };
    let names: Vec<&str> = known.iter().map(|key| key.name).collect();
    let hint = "`brunt size ORG --explain` shows every figure by its name";
    let mut section = Section::hinted(node, "[figures]", &names, Some(hint));
    let mut figures = Vec::new();
    for key in known {
        let value = section.read(key.name, |node| match value(node, key.quantity)? {
            0.0 if key.is_divisor => Err(node.place.refuse("is not above zero")),
            tiny if key.is_divisor && tiny < DIVISOR_MIN => {
                Err(node.place.refuse(format!("is less than {DIVISOR_MIN}")))
            }
            value => Ok(value),
        });
        figures.extend(value.map(|value| (key.name, value)));
    }
    figures
}

#[expect(clippy::cast_precision_loss, reason = "sizes here are far below 2^53")]
fn value(node: &Node, quantity: Quantity) -> Result<f64, Refusal> {
    match quantity {
        Quantity::Number => up_to(node, NUMBER_MAX),
        Quantity::Share => up_to(node, 100.0),
        Quantity::Part => up_to(node, PART_MAX),
        Quantity::Percent => up_to(node, PERCENT_MAX),
        Quantity::Days => up_to(node, DAYS_MAX),
        Quantity::Bytes | Quantity::Rate => Ok(section::size(node)?.get() as f64),
        Quantity::Seconds => Ok(section::span(node)?.as_seconds()),
    }
}

/// A number from zero to `most`.
pub(super) fn up_to(node: &Node, most: f64) -> Result<f64, Refusal> {
    match section::not_negative(node)? {
        number if number <= most => Ok(number),
        _ => Err(node.place.refuse(format!("is more than {most}"))),
    }
}
