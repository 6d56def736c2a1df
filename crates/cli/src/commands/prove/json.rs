//! A search's result as JSON, version `brunt.proof/1`. Fields are only added.

use brunt_testkit::crash::{Coverage, Proven, Violation};
use brunt_world_virtual::Digest;
use serde_json::{Value, json};

use super::{ProveArgs, words};

/// Name and version of the result.
pub(super) const VERSION: &str = "brunt.proof/1";

/// The whole result, on several lines.
pub(super) fn result(
    args: &ProveArgs,
    searched: &Result<Proven, Box<Violation>>,
    seconds: f64,
) -> String {
    let (coverage, proven, violation) = match searched {
        Ok(proven) => (&proven.coverage, Some(proven), None),
        Err(violation) => (&violation.coverage, None, Some(violation)),
    };
    let hex = |digest: Digest| format!("{:016x}", digest.value());
    let value = json!({
        "version": VERSION,
        "seed": args.seed,
        "first": args.first,
        "steps": args.steps(),
        "complete": searched.as_ref().is_ok_and(|proven| proven.is_complete),
        "violation": violation.map(|violation| violated(violation)),
        "digest": proven.map(|proven| hex(proven.digest)),
        "request_digest": proven.map(|proven| hex(proven.requests)),
        "copies_digest": proven.map(|proven| hex(proven.copies)),
        "seconds": seconds,
        "crash_points_per_s": words::per_second(coverage.steps, seconds),
        "coverage": counts(coverage),
    });
    serde_json::to_string_pretty(&value).expect("numbers and texts can be written")
}

fn violated(violation: &Violation) -> Value {
    json!({
        "step": violation.step,
        "what": violation.what,
        "configuration": violation.configuration.to_string(),
        "again": violation.command(),
    })
}

fn counts(coverage: &Coverage) -> Value {
    json!({
        "crash_points": coverage.steps,
        "stories": coverage.stories,
        "stories_killed": coverage.killed,
        "stories_later": coverage.later,
        "stories_full": coverage.full,
        "stories_databases_full": coverage.cramped,
        "actions": coverage.actions,
        "distinct_files": coverage.images(),
        "distinct_states": coverage.states(),
        "faults": coverage.faults,
        "recoveries": coverage.recoveries,
        "recovery_paths": coverage.paths(),
        "second_crashes": coverage.second_crashes,
        "walks": coverage.walks,
        "torn_pages": coverage.torn_pages,
        "transactions_undone": coverage.undone,
        "spoiled_pages": coverage.spoiled,
        "spoiled_pages_refused": coverage.refused,
        "spoiled_pages_missed": coverage.missed,
        "copies": coverage.copies,
    })
}
