//! `brunt explain`: what a rule measures, why its limit is what it is, what usually breaks it, and what to try.

use std::convert::Infallible;

use brunt_qualify::rules::RuleId;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `explain`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt explain                         list all rules
  brunt explain log-write-average       by its id, as in result.json
  brunt explain \"tail, operation p99\"   by its title, as in reports")]
pub struct ExplainArgs {
    /// The rule's id or title; without it, list all rules
    #[arg(value_parser = rules(), hide_possible_values = true)]
    pub rule: Option<RuleId>,
}

fn rules() -> impl TypedValueParser<Value = RuleId> {
    let values =
        RuleId::ALL.map(|rule| PossibleValue::new(rule.name().id).alias(rule.name().title));
    PossibleValuesParser::new(values).map(|word| {
        let is_it = |rule: &RuleId| [rule.name().id, rule.name().title].contains(&word.as_str());
        let found = RuleId::ALL.into_iter().find(is_it);
        found.expect("one of the possible values")
    })
}

/// Explains a rule, or lists all.
///
/// # Errors
/// None.
pub fn run(args: &ExplainArgs, output: &Output) -> Result<Exit, Infallible> {
    match args.rule {
        Some(rule) => output.show(&text(rule)),
        None => output.show(&list()),
    }
    Ok(Exit::Passed)
}

/// The explanation without Markdown: one paragraph for each item, which the terminal wraps.
fn text(rule: RuleId) -> String {
    let name = rule.name();
    let joined = rule.explanation().replace("\n  ", " ");
    let plain = joined
        .replace("* **", "\n")
        .replace(":**", ":")
        .replace('`', "");
    format!("{} ({})\n{}", name.title, name.id, plain)
}

/// Every rule by its id, below its group.
fn list() -> String {
    let mut lines = Vec::new();
    let mut group = None;
    for rule in RuleId::ALL {
        let name = rule.name();
        if group.replace(name.group) != Some(name.group) {
            lines.push(format!("\n{}", name.group));
        }
        lines.push(format!("  {:<26}{}", name.id, name.title));
    }
    lines.join("\n").trim_start().to_owned()
}
