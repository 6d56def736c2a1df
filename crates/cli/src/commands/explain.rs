//! `brunt explain`: what a rule measures, why its limit is what it is, what usually breaks it, and
//! what to try. Rules of a verdict and of best practice alike.

use brunt_check::rules::{self, Rule};
use brunt_check::words;
use brunt_qualify::rules::RuleId;
use brunt_scenario::nearest;
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `explain`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt explain                       list all rules
  brunt explain log-write-average     by its id, as in result.json
  brunt explain log-beside-database   a best-practice rule of `brunt check`
  brunt explain tail, operation p99   by its title, as in reports")]
pub struct ExplainArgs {
    /// The rule's id or title; without it, list all rules
    #[arg(value_name = "RULE", num_args = 0..)]
    pub rule: Vec<String>,
}

/// There is no such rule.
#[derive(Debug, thiserror::Error)]
#[error("no rule is called `{name}`\n  {hint}")]
pub struct NoRule {
    name: String,
    hint: String,
}

/// A rule that can be explained, with its id and title.
enum Explained {
    /// One that decides a verdict.
    OfVerdict(RuleId),
    /// One of best practice.
    OfPractice(&'static Rule),
}

impl Explained {
    fn all() -> impl Iterator<Item = Self> {
        let verdict = RuleId::ALL.into_iter().map(Self::OfVerdict);
        verdict.chain(rules::all().map(Self::OfPractice))
    }

    fn names(&self) -> [&'static str; 2] {
        match self {
            Self::OfVerdict(rule) => [rule.name().id, rule.name().title],
            Self::OfPractice(rule) => [rule.id, rule.title],
        }
    }

    /// The rule with this id or title, or the only one whose title begins so.
    fn called(name: &str) -> Result<Self, NoRule> {
        let begins = |rule: &&Self| rule.names().iter().any(|own| own.starts_with(name));
        let all: Vec<Self> = Self::all().collect();
        if let Some(rule) = Self::all().find(|rule| rule.names().contains(&name)) {
            return Ok(rule);
        }
        let near: Vec<&Self> = all.iter().filter(begins).collect();
        let ids: Vec<&str> = match near.as_slice() {
            [] => {
                let names: Vec<&str> = all.iter().flat_map(Self::names).collect();
                let nearest = nearest(name, &names).into_iter();
                let nearest = nearest.filter_map(|near| {
                    all.iter().map(Self::names).find(|names| names.contains(&near))
                });
                nearest.map(|[id, _]| id).collect()
            }
            near => near.iter().map(|rule| rule.names()[0]).collect(),
        };
        let hint = match ids.as_slice() {
            [] => "brunt explain lists all rules".to_owned(),
            ids => format!("did you mean {}?", ids.join(", or ")),
        };
        Err(NoRule { name: name.to_owned(), hint })
    }
}

/// Explains a rule, or lists all.
///
/// # Errors
/// [`NoRule`] when there is none of that name.
pub fn run(args: &ExplainArgs, output: &Output) -> Result<Exit, NoRule> {
    let name = args.rule.join(" ");
    if name.is_empty() {
        output.show(&format!("{}\n\nbrunt check --list shows the rules of best practice", list()));
        return Ok(Exit::Passed);
    }
    output.show(&match Explained::called(&name)? {
        Explained::OfVerdict(rule) => text(rule),
        Explained::OfPractice(rule) => words::explanation(rule),
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_is_not_there_leads_to_those_that_are() {
        let found = |name| Explained::called(name).map(|rule| rule.names()[0]);
        assert_eq!(found("tail, operation p99").unwrap(), "tail-operation");
        let refused = |name| found(name).unwrap_err().to_string();
        assert_eq!(
            refused("log write"),
            "no rule is called `log write`\n  did you mean log-write-average, or log-write-worst?"
        );
        assert!(refused("log-wirte-worst").ends_with("\n  did you mean log-write-worst?"));
        assert!(refused("xyz").ends_with("\n  brunt explain lists all rules"));
    }
}
