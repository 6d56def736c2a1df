//! `brunt check`: best-practice rules on a scenario and, for real storage, on this machine. Nothing
//! is left behind.

use std::path::PathBuf;

use brunt_check::{Subject as Checked, What, judge, words};
use brunt_host::configuration::configuration;
use brunt_host::preflight::check_places;
use brunt_scenario::{Document, Override, Refusal, Subject};
use brunt_sizing::{keys, size, unused};
use clap::Args;

use crate::exit::Exit;
use crate::mistakes::Mistakes;
use crate::opening::labelled;
use crate::output::{Output, Tone};
use crate::set::SetKeys;
use crate::source::Source;

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt check my-storage.toml           the scenario and this machine
  brunt check my-array.toml --strict    exit with 1 when a rule is broken
  brunt check --list                    every rule
  brunt explain log-beside-database     what a rule wants, and why")]
pub struct CheckArgs {
    /// Scenario (TOML), or - for stdin: a test, a modelled array, or an organisation
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenario: Option<PathBuf>,

    /// List every rule
    #[arg(long, conflicts_with_all = ["scenario", "strict", "json", "set"])]
    pub list: bool,

    /// Exit with 1 when a rule is broken
    #[arg(long)]
    pub strict: bool,

    /// Override a value of the scenario, such as test.copies=3; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = SetKeys, hide_possible_values = true)]
    pub set: Vec<String>,

    /// Print every rule with its values as JSON on stdout
    #[arg(long)]
    pub json: bool,
}

/// Why nothing was judged.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The scenario is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scenario is wrong, in everything that is said.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
}

/// Judges the scenario: [`Exit::Failed`] when a rule is broken, and that was asked for.
///
/// # Errors
/// [`CheckError`] when it cannot be read.
pub fn run(args: &CheckArgs, output: &Output) -> Result<Exit, CheckError> {
    let Some(path) = &args.scenario else {
        output.show(&words::list());
        output.talk("\nbrunt explain RULE says what a rule wants, and why");
        return Ok(Exit::Passed);
    };
    let otherwise = format!("to have one written: brunt init {}", path.display());
    let source = Source::of(path, &[&otherwise])?;
    let document = source.document()?;
    let overrides = Override::all(&args.set, &[])?;
    let judged = judged(&document, &overrides, |subject| {
        let judgements = judge(subject);
        match args.json {
            true => output.data(&pretty(&words::json(&source.name, &judgements))),
            false => output.show(&told(&judgements, output)),
        }
        words::has_findings(&judgements)
    })?;
    Ok(match judged && args.strict {
        true => Exit::Failed,
        false => Exit::Passed,
    })
}

/// Hands what `document` describes to `judge`.
fn judged<T>(
    document: &Document,
    overrides: &[Override],
    judge: impl FnOnce(&Checked<'_>) -> T,
) -> Result<T, CheckError> {
    let without_host = |what| Checked { what, host: None };
    Ok(match document.subject() {
        Subject::RealDrill => {
            let checked = document.check_real_drill(overrides);
            let drill = Mistakes::none_or(checked)?;
            judge(&without_host(What::Test(&drill.scenario)))
        }
        Subject::Test => {
            let checked = document.check_test(overrides);
            let mut test = Mistakes::none_or(checked)?;
            test.fit_capacity()?;
            check_places(&test)?;
            let machine = configuration(&test);
            judge(&Checked { what: What::Test(&test), host: Some(&machine) })
        }
        // Refuses it: there is no storage, or it is that of other hosts.
        Subject::Mail | Subject::Fleet => {
            judge(&without_host(What::Test(&document.test(overrides)?)))
        }
        Subject::ModelledTest => {
            let checked = document.check_modelled_test(overrides);
            let test = Mistakes::none_or(checked)?;
            judge(&without_host(What::Modelled(&test)))
        }
        Subject::Load => {
            let checked = document.check_load(overrides);
            let load = Mistakes::none_or(checked)?;
            judge(&without_host(What::Load(&load)))
        }
        Subject::Organisation => {
            let checked = document.check_organisation(overrides, &keys());
            let org = Mistakes::none_or(checked)?;
            if let Some(refusal) = unused(&org) {
                return Err(refusal.into());
            }
            judge(&without_host(What::Organisation(&size(&org))))
        }
    })
}

/// The verdict, what is broken, and the rest in short.
fn told(judgements: &[brunt_check::Judgement], output: &Output) -> String {
    let (word, tone) = match words::has_findings(judgements) {
        true => ("FINDINGS", Tone::Doubt),
        false => ("GOOD", Tone::Good),
    };
    let mut text =
        format!("{}{}", output.paint(tone, &format!("{word:14}")), words::summary(judgements));
    for finding in words::findings(judgements) {
        text += &format!("\n\n{finding}");
    }
    let kept = words::kept(judgements);
    if !kept.is_empty() {
        text += &format!("\n\n{}", labelled("kept", [kept]).join("\n"));
    }
    let open = words::not_judged(judgements);
    if !open.is_empty() {
        text += &format!("\n\n{}", labelled("not judged", open).join("\n"));
    }
    text
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("numbers and texts can be written")
}
