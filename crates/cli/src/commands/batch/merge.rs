//! `brunt merge`: the result of a plan from the records of its parts, or what is missing.
//!
//! Nothing in the plan's folder is changed, so it can be merged again and again.

use std::path::PathBuf;

use brunt_lab::batch::{Checks, Sharing, ranges};
use brunt_report::counted;
use brunt_run::Stop;
use clap::Args;
use serde_json::json;

use super::attempt::Attempt;
use super::{Planned, SimulateError};
use crate::clock::now;
use crate::exit::Exit;
use crate::output::{Output, Tone};
use crate::records::Lines;
use crate::test_args::{Json, Printed};

/// Arguments of `merge`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt merge sweep                the result, or which parts are missing
  brunt merge sweep --json | jq .missing.array")]
pub struct MergeArgs {
    /// Folder that `brunt simulate --plan` made
    #[arg(value_name = "DIR")]
    pub plan: PathBuf,

    /// Where to create the folder of the result
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,

    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Merges the parts: the exit of the sweep, or [`Exit::NoAnswer`] while points are missing.
///
/// # Errors
/// [`SimulateError`] when there is no plan, attempts differ, or the result cannot be written.
pub fn run(args: &MergeArgs, output: &Output) -> Result<Exit, SimulateError> {
    let planned = Planned::open(&args.plan)?;
    let points = planned.points(0, Attempt::own());
    let (came, sharing) = planned.look(&points)?;
    for note in points.left_out() {
        output.talk(&note);
    }
    if sharing.lacking() > 0 {
        missing(args, &planned, &sharing, output);
        return Ok(Exit::NoAnswer);
    }
    let several = planned.several()?;
    let folder = several.folder(now(), &args.out)?;
    let printed = Printed { json: args.json.then_some(Json::Result) };
    let lines = Lines::of(&printed, output);
    let verdict = several.concluded(Ok(came), &Stop::default(), folder, lines, output)?;
    output.talk(&format!("\n{:14}{}", "parts", checked(sharing.asked(), sharing.checks())));
    Ok(verdict.into())
}

/// Says which points are missing, and how to get them.
fn missing(args: &MergeArgs, planned: &Planned, sharing: &Sharing<'_>, output: &Output) {
    let parts = planned.plan.parts;
    let list = ranges(&sharing.lacking_parts(parts));
    let (asked, lacking) = (sharing.asked(), sharing.lacking());
    if args.json {
        let value = json!({
            "schema": "brunt.missing/1",
            "missing": { "points": lacking, "of": asked, "parts": parts, "array": list },
        });
        output.data(&serde_json::to_string_pretty(&value).expect("numbers can be written"));
        return;
    }
    let goes_on = match planned.plan.work.is_in_rounds() {
        true => "; it goes on in rounds",
        false => "",
    };
    let word = output.paint(Tone::Doubt, "INCOMPLETE");
    let dir = args.plan.display();
    output.show(&format!(
        "{word}    {lacking} of {} missing{goes_on}\n\n{:14}--array={list}\n{:14}brunt plan {dir} --for slurm | sh",
        counted(asked, "point"),
        "parts",
        "to go on",
    ));
}

/// What is known of points that were computed twice.
fn checked(asked: u64, checks: Checks) -> String {
    let Checks { due, agreed, on_two_nodes } = checks;
    let all = counted(asked, "point");
    match (due, agreed) {
        (0, 0) => format!("{all}, none computed twice"),
        (due, 0) => format!("{all}; {due} should have been computed twice, and were not"),
        _ => format!(
            "{all}, {agreed} computed twice with equal results, {on_two_nodes} on different machines; that shows a broken machine, not a forged record"
        ),
    }
}
