//! `brunt prove --pair`: both sites of a replicated array stop at one instant; is anything lost? In
//! virtual time.

use brunt_lab::{PairCoverage, PairProof, PairProven, PairViolation};
use brunt_report::result::Verdict;
use brunt_report::{decimals, grouped};
use serde_json::json;

use super::words::verdict;
use super::{ProveArgs, Watching, ended};
use crate::exit::Exit;
use crate::output::Output;

/// What a search has found.
type Searched = Result<PairProven, Box<PairViolation>>;

/// Name and version of the result.
pub(super) const VERSION: &str = "brunt.pair-proof/1";

/// Searches: how it ended, and what is said of it to programs and to people.
pub(super) fn run(watching: &Watching<'_>) -> (Verdict, String, String) {
    let args = watching.args;
    let proof = PairProof { seed: args.seed, first: args.first, steps: args.steps() };
    let (searched, seconds) = watching.search(|watch| proof.run(|coverage| watch(coverage.steps)));
    let json = as_json(args, &searched, seconds);
    let words = words(&searched, seconds, watching.output);
    (ended(searched.map(|proven| proven.is_complete)), json, words)
}

fn words(searched: &Searched, seconds: f64, output: &Output) -> String {
    let proven = match searched {
        Ok(proven) => proven,
        Err(violation) => {
            let step = grouped(violation.step);
            return format!("{}step {step}: {violation}", verdict(Exit::Failed, output));
        }
    };
    let line = |label: &str, count: u64, rest: &str| {
        let count = grouped(count);
        format!("  {label:12}{count:>12}   {rest}\n")
    };
    let c = &proven.coverage;
    let rate = format!(
        "instants at which both sites and the link stopped; {} per second",
        decimals(super::words::per_second(c.steps, seconds))
    );
    let lines = [
        line(
            "rounds",
            c.rounds,
            "pairs: synchronous or not, failsafe or not, links that come and go",
        ),
        line("stops", c.steps, &rate),
        line("recoveries", c.recovered, "by the engine, of either site, with lost and torn writes"),
        line(
            "copying",
            c.inconsistent,
            "destinations that a full copy had left inconsistent, as it was said",
        ),
        line("kept", c.kept, "acknowledged commits read again"),
        line(
            "at risk",
            c.at_risk,
            "acknowledged commits that the destination lacked, as it was said",
        ),
    ];
    let steps = grouped(c.steps);
    let verdict = verdict(ended::<()>(Ok(proven.is_complete)).into(), output);
    let lines = lines.concat();
    format!(
        "{verdict}both sites stopped at {steps} instants, nothing lost that was not at risk\n\n{}",
        lines.trim_end()
    )
}

/// Version `brunt.pair-proof/1`; fields are only added.
fn as_json(args: &ProveArgs, searched: &Searched, seconds: f64) -> String {
    let (coverage, violation) = match searched {
        Ok(proven) => (&proven.coverage, None),
        Err(violation) => (&violation.coverage, Some(violation)),
    };
    let value = json!({
        "version": VERSION,
        "seed": args.seed,
        "first": args.first,
        "steps": args.steps(),
        "complete": searched.as_ref().is_ok_and(|proven| proven.is_complete),
        "violation": violation.map(|found| json!({
            "step": found.step,
            "what": found.what,
            "again": found.command(),
        })),
        "seconds": seconds,
        "stops_per_s": super::words::per_second(coverage.steps, seconds),
        "coverage": counts(coverage),
    });
    serde_json::to_string_pretty(&value).expect("numbers and texts can be written")
}

fn counts(coverage: &PairCoverage) -> serde_json::Value {
    json!({
        "rounds": coverage.rounds,
        "stops": coverage.steps,
        "recoveries": coverage.recovered,
        "inconsistent": coverage.inconsistent,
        "commits_kept": coverage.kept,
        "commits_at_risk": coverage.at_risk,
    })
}
