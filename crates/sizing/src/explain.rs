//! Every figure with its value, formula, inputs, source and certainty, in words.

use brunt_report::{counted, decimals, grouped};
use brunt_workload::profile::Certainty;

use crate::Sizing;
use crate::catalog::{FIGURES, Unit, meaning};
use crate::constants::SOURCES;
use crate::findings::{size, time};
use crate::sheet::{Entry, Origin, Sheet, whole};

/// Before the text after a label.
const INDENT: usize = 14;

/// A value in the unit of its figure, for people.
pub fn value(name: &str, value: f64) -> String {
    match meaning(name).unit {
        Unit::Count => grouped(whole(value)),
        Unit::Number | Unit::Megacycles if value.fract() == 0.0 => grouped(whole(value)),
        Unit::Number | Unit::Megacycles | Unit::Io => few_digits(value),
        Unit::Percent => format!("{} %", (value * 100.0).round() / 100.0),
        Unit::Bytes => size(value),
        Unit::Rate => format!("{}/s", megabytes(value)),
        Unit::Seconds => time(value),
        Unit::Days if value.fract() == 0.0 => counted(whole(value), "day"),
        Unit::Days => format!("{} days", few_digits(value)),
    }
}

/// Figures of a message or a mailbox are small, and their last digits count.
fn few_digits(value: f64) -> String {
    match value {
        large if large >= 10.0 => decimals(large),
        small => {
            let places = if small < 0.01 { 6 } else { 4 };
            let text = format!("{small:.places$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Decimal, as rates of transfer are given.
pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{} MB", decimals(bytes / 1e6))
}

/// The word for a certainty.
pub fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Found => "found",
        Certainty::Inferred => "inferred",
        Certainty::Fitted => "fitted",
        Certainty::Published => "published",
        Certainty::Assumed => "assumed",
    }
}

/// Every figure once, those of a tier with its name, in the order of the catalog.
pub(crate) fn entries<'s>(
    sizing: &'s Sizing<'_>,
) -> impl Iterator<Item = (Option<&'s str>, &'s Entry)> {
    let of_all = sizing.sheet.entries();
    let several = sizing.tiers.len() > 1;
    FIGURES.iter().flat_map(move |figure| {
        let last =
            |sheet: &'s Sheet| sheet.entries().iter().rev().find(|entry| entry.name == figure.name);
        let all = of_all.iter().rev().find(|entry| entry.name == figure.name);
        let tiers = sizing.tiers.iter().filter_map(move |(name, sheet)| {
            // What a tier shares with all is printed once.
            let own = last(sheet).filter(|own| all != Some(*own))?;
            Some((several.then_some(name.as_str()), own))
        });
        let all = all.map(|entry| (None, entry));
        all.into_iter().chain(tiers)
    })
}

/// Every figure with its value, formula, inputs, source and certainty: two lines each.
pub fn explanation(sizing: &Sizing<'_>) -> String {
    let mut lines = Vec::new();
    for (tier, entry) in entries(sizing) {
        let meaning = meaning(entry.name);
        let of_tier = tier.map(|tier| format!(" of {tier}")).unwrap_or_default();
        lines.push(format!(
            "{} = {}   {}{of_tier}",
            entry.name,
            value(entry.name, entry.value),
            meaning.label
        ));
        lines.push(format!("    {}", why(entry)));
        if let Origin::Calculated { inputs, .. } = entry.origin {
            let inputs = inputs.iter().filter_map(|input| {
                Some(format!("{input} {}", value(input, input_value(sizing, tier, input)?)))
            });
            let inputs: Vec<String> = inputs.collect();
            if !inputs.is_empty() {
                lines.push(format!("    with {}", inputs.join(", ")));
            }
        }
    }
    lines.push("\nSources".to_owned());
    for (name, what) in SOURCES.iter() {
        lines.push(format!("{name:INDENT$}{what}"));
    }
    lines.join("\n")
}

/// The value that went into a formula.
pub(crate) fn input_value(sizing: &Sizing<'_>, tier: Option<&str>, name: &str) -> Option<f64> {
    let own = match tier {
        Some(tier) => sizing.tiers.iter().find(|(own, _)| own == tier),
        None => None,
    };
    let own = own.and_then(|(_, sheet)| sheet.find(name));
    own.or_else(|| sizing.sheet.find(name)).or_else(|| sizing.tiers.first()?.1.find(name))
}

fn why(entry: &Entry) -> String {
    let meaning = meaning(entry.name);
    match entry.origin {
        Origin::Written => "as the organisation says".to_owned(),
        Origin::Known { certainty: how, source } => format!("{}: {source}", certainty(how)),
        Origin::Calculated { formula, .. } => {
            format!(
                "{}   ({}: {})",
                formula_text(formula),
                certainty(meaning.certainty),
                meaning.source
            )
        }
        Origin::Given { instead_of: None } => "given in [figures]".to_owned(),
        Origin::Given { instead_of: Some(usual) } => {
            format!("given in [figures] instead of {}", value(entry.name, usual))
        }
    }
}

/// A formula as people write it: whole numbers without a point.
pub(crate) fn formula_text(formula: &str) -> String {
    let one_line = formula.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    let mut rest = one_line.as_str();
    while let Some(at) = rest.find(".0") {
        let (before, after) = rest.split_at(at);
        let is_end = !after[2..].starts_with(|c: char| c.is_ascii_digit() || c == '_');
        text.push_str(before);
        text.push_str(if is_end { "" } else { ".0" });
        rest = &after[2..];
    }
    text.push_str(rest);
    text.replace("10_485_760", "10485760")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_as_people_write_them() {
        assert_eq!(formula_text("a * (1.0 + b / 100.0)"), "a * (1 + b / 100)");
        assert_eq!(formula_text("a *\n    1.05"), "a * 1.05");
    }
}
