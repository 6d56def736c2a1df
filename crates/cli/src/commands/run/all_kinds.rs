//! `brunt run mail.toml --all-kinds`: every kind of test in turn on the same databases, and the
//! page to sign at the end.
//!
//! ```text
//!   performance -> [stress] -> database-backup -> soft-recovery -> page to sign
//! ```
//!
//! Each is a run as any other, with a folder of its own. A test that failed does not keep the
//! others from running: they are wanted as well. One without an answer ends it, and is missing on the
//! page.

use std::env;
use std::path::PathBuf;

use brunt_host::handles;
use brunt_report::RunFolder;
use brunt_report::result::{TestKind, Verdict};
use brunt_scenario::{Override, Scenario};

use super::{How, RunArgs, RunCommandError, once, tell};
use crate::clock::now;
use crate::closing::closing;
use crate::commands::handover::Signing;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::outlook::{Outlook, in_all, in_turn, outlook};
use crate::output::Output;
use crate::records::Lines;
use crate::test_args::Printed;

/// Runs every kind.
///
/// # Errors
/// [`RunCommandError`] when one of them cannot be run; nothing was tested then.
pub(super) fn run(args: &RunArgs, output: &Output) -> Result<Exit, RunCommandError> {
    let scenarios = scenarios(args)?;
    let outlook = |scenario| outlook(scenario, args.test.consent(), &args.test.shared.output.out);
    let outlooks: Vec<Outlook> = scenarios.iter().map(outlook).collect::<Result<_, _>>()?;
    let count = scenarios.len();
    let plan = format!("{:14}{count} tests, {}", "all kinds", in_all(in_turn(&outlooks)));
    if args.test.shared.output.check {
        for outlook in &outlooks {
            tell(&args.test, outlook, output)?;
            output.data("");
        }
        output.show(&plan);
        return Ok(Exit::Passed);
    }
    output.talk(&plan);
    let interrupt = Interrupt::listen()?;
    let begun = now();
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut test = args.test.clone();
    let lines = Lines::of(&Printed::default(), output);
    for (at, scenario) in (1..).zip(&scenarios) {
        output.talk(&format!("\ntest {at} of {count}: {}\n", scenario.test.kind.word()));
        let how = How::default();
        let Some(outcome) = once(&test, scenario, how, &interrupt, &lines, output)? else {
            return Ok(Exit::Interrupted);
        };
        output.talk("");
        output.show(&closing(&outcome.result, &outcome.folder, output));
        outcome.written?;
        match outcome.result.verdict {
            Verdict::Interrupted => return Ok(Exit::Interrupted),
            verdict if !verdict.is_answer() && folders.is_empty() => {
                return Ok(Exit::from(verdict));
            }
            verdict if !verdict.is_answer() => break,
            _ => folders.push(outcome.folder),
        }
        // The next test opens the databases that this one made.
        test.new = false;
    }
    let name = format!("{}-signoff", scenarios[0].name);
    let folder = RunFolder::create(&args.test.shared.output.out, begun, &name)?;
    output.talk("");
    let signing = Signing::of(&folders, output)?;
    signing.write(&folder.file("report.html"))?;
    signing.write(&folder.file("signoff.pdf"))?;
    Ok(signing.tell(&folder.file("signoff.pdf"), output))
}

/// The scenario of each kind, all of them checked before the first is run.
fn scenarios(args: &RunArgs) -> Result<Vec<Scenario>, RunCommandError> {
    let is_asked = |kind: &TestKind| *kind != TestKind::Stress || args.stress;
    let kinds = TestKind::ALL.into_iter().filter(is_asked);
    kinds
        .map(|kind| {
            let is_long = kind == TestKind::Stress && args.test.shared.duration.is_none();
            let own = [
                Override::of_switch("--all-kinds", true, "test.kind", kind.word()),
                Override::of_switch("--stress", is_long, "test.duration", "24h"),
            ];
            let own: Vec<Override> = own.into_iter().flatten().collect();
            let scenario =
                args.test.runnable(args.scenario.as_deref(), &own, &env::current_dir()?)?;
            handles::provide(&scenario)?;
            Ok(scenario)
        })
        .collect()
}
