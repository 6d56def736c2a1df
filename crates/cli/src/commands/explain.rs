//! `brunt explain`: what a rule measures, why its limit is what it is, what usually breaks it, and
//! what to try. Rules of a verdict and of best practice alike.

use std::convert::Infallible;

use brunt_check::rules::{self, Rule};
use brunt_check::words;
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
  brunt explain log-beside-database     a best-practice rule of `brunt check`
  brunt explain \"tail, operation p99\"   by its title, as in reports")]
pub struct ExplainArgs {
    /// The rule's id or title; without it, list all rules
    #[arg(value_parser = parser(), hide_possible_values = true)]
    pub rule: Option<Explained>,
}

/// A rule that can be explained.
#[derive(Clone, Copy)]
pub enum Explained {
    /// One that decides a verdict.
    OfVerdict(RuleId),
    /// One of best practice.
    OfPractice(&'static Rule),
}

impl std::fmt::Debug for Explained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OfVerdict(rule) => rule.name().id,
            Self::OfPractice(rule) => rule.id,
        })
    }
}

fn parser() -> impl TypedValueParser<Value = Explained> {
    let verdict =
        RuleId::ALL.map(|rule| PossibleValue::new(rule.name().id).alias(rule.name().title));
    let practice = rules::all().map(|rule| PossibleValue::new(rule.id).alias(rule.title));
    let values: Vec<PossibleValue> = verdict.into_iter().chain(practice).collect();
    PossibleValuesParser::new(values).map(|word| {
        let is_it = |id: &str, title: &str| [id, title].contains(&word.as_str());
        let verdict = RuleId::ALL.into_iter().find(|rule| is_it(rule.name().id, rule.name().title));
        let practice = || rules::all().find(|rule| is_it(rule.id, rule.title));
        let found = verdict.map(Explained::OfVerdict);
        found.or_else(|| practice().map(Explained::OfPractice)).expect("one of the possible values")
    })
}

/// Explains a rule, or lists all.
///
/// # Errors
/// None.
pub fn run(args: &ExplainArgs, output: &Output) -> Result<Exit, Infallible> {
    match args.rule {
        Some(Explained::OfVerdict(rule)) => output.show(&text(rule)),
        Some(Explained::OfPractice(rule)) => output.show(&words::explanation(rule)),
        None => output
            .show(&format!("{}\n\nbrunt check --list shows the rules of best practice", list())),
    }
    Ok(Exit::Passed)
}

/// The explanation without Markdown: one paragraph for each item, which the terminal wraps.
fn text(rule: RuleId) -> String {
    let name = rule.name();
    let joined = rule.explanation().replace("\n  ", " ");
    let plain = joined.replace("* **", "\n").replace(":**", ":").replace('`', "");
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
