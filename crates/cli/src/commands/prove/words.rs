//! What a search says.

use std::time::Duration;

use brunt_report::{decimals, grouped};
use brunt_testkit::crash::{Coverage, Proven, Violation};

use super::{ProveArgs, ended};
use crate::exit::Exit;
use crate::output::Output;
use crate::version;

/// The first line: what is searched.
pub(super) fn opening(args: &ProveArgs) -> String {
    let from = match args.first {
        0 => String::new(),
        first => format!(" from step {}", grouped(first)),
    };
    let what = match args.pair {
        true => "stops of both sites",
        false => "crash points",
    };
    format!(
        "brunt {}   prove   seed {}, {} {what}{from}\n",
        version::SHORT,
        args.seed,
        grouped(args.steps()),
    )
}

pub(super) fn so_far(done: u64, steps: u64) -> String {
    let [done, steps] = [done, steps].map(grouped);
    format!("{done} of {steps} crash points")
}

/// How fast it goes.
pub(super) fn rate(done: u64, seconds: f64) -> String {
    format!("{} per second", decimals(per_second(done, seconds)))
}

/// Crash points a second.
pub(super) fn per_second(done: u64, seconds: f64) -> f64 {
    done as f64 / seconds.max(1e-9)
}

/// The word of how a search ended, at the beginning of a line.
pub(super) fn verdict(exit: Exit, output: &Output) -> String {
    let room = 14_usize.saturating_sub(exit.shown().0.len());
    format!("{}{:room$}", output.answer(exit), "")
}

/// Nothing has been done for so long after `step`; the last line goes on from there.
pub(super) fn hangs(command: &str, seed: u64, step: u64, patience: Duration) -> String {
    format!(
        "FAIL          a loop without end: no crash point was done for {} s after step {step}\nagain         brunt {command} --seed {seed} --first {step} --steps 1000",
        patience.as_secs()
    )
}

/// The result; of a failure the last line repeats it.
pub(super) fn result(
    searched: &Result<Proven, Box<Violation>>,
    seconds: f64,
    output: &Output,
) -> String {
    match searched {
        Ok(proven) => {
            let steps = grouped(proven.coverage.steps);
            let verdict = verdict(ended::<()>(Ok(proven.is_complete)).into(), output);
            format!(
                "{verdict}{steps} crash points recovered, nothing lost\n\n{}\ndigest: {:016x}\nrequest digest: {:016x}\ncopies digest: {:016x}",
                counts(&proven.coverage, seconds),
                proven.digest.value(),
                proven.requests.value(),
                proven.copies.value()
            )
        }
        Err(violation) => {
            let verdict = verdict(Exit::Failed, output);
            format!("{verdict}step {}: {violation}", grouped(violation.step))
        }
    }
}

fn counts(coverage: &Coverage, seconds: f64) -> String {
    let line = |label: &str, count: u64, rest: String| {
        let count = grouped(count);
        format!("  {label:12}{count:>12}   {rest}\n")
    };
    let c = coverage;
    let lines = [
        line(
            "stories",
            c.stories,
            format!(
                "{} on what another left, {} killed in the middle; volumes full: {} of logs, {} of databases",
                grouped(c.later),
                grouped(c.killed),
                grouped(c.full),
                grouped(c.cramped)
            ),
        ),
        line("actions", c.actions, "I/Os and changes of names that were recorded".to_owned()),
        line(
            "crashes",
            c.steps,
            format!(
                "{} different files, {} different states; {} per second",
                grouped(c.images()),
                grouped(c.states()),
                decimals(per_second(c.steps, seconds))
            ),
        ),
        line(
            "faults",
            c.faults,
            "writes, lengths and names that were kept, lost or torn".to_owned(),
        ),
        line(
            "recoveries",
            c.recoveries,
            format!(
                "in {} ways; {} after a crash in recovery; {} walked",
                grouped(c.paths()),
                grouped(c.second_crashes),
                grouped(c.walks)
            ),
        ),
        line(
            "repaired",
            c.torn_pages,
            format!("torn pages; {} transactions taken back", grouped(c.undone)),
        ),
        line(
            "spoiled",
            c.spoiled,
            format!(
                "pages, against the contract; {} refused, {} taken for torn, the others right",
                grouped(c.refused),
                grouped(c.missed)
            ),
        ),
        line("copies", c.copies, "crashes of passive copies, each activated afterwards".to_owned()),
    ];
    lines.concat()
}
