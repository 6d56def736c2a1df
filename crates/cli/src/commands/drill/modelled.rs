//! Drills on modelled arrays, in virtual time.

use std::rc::Rc;

use brunt_host::keeping::Keeping;
use brunt_lab::{DrillError, DrillOptions, drill, drill_outline, engine_of};
use brunt_report::RunFolder;
use brunt_report::result::Verdict;
use brunt_run::{Head, Listener, Stop};
use brunt_scenario::{Document, ModelledScenario, Override};

use super::{DrillArgs, keep, run_of, stopped, tell};
use crate::clock::now;
use crate::commands::simulate::SimulateError;
use crate::commands::simulate::test::words;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::records::Lines;
use crate::teller::Teller;
use crate::version;

/// Rehearses the arrays of `document`.
pub(super) fn run(
    args: &DrillArgs,
    document: &Document,
    overrides: &[Override],
    output: &Output,
) -> Result<Exit, SimulateError> {
    let mut overrides = overrides.to_vec();
    // Failsafe is for writes that wait for the other site.
    let (flag, is_there) = ("--asynchronous", args.asynchronous);
    overrides.extend(Override::of_switch(flag, is_there, "replication.failsafe", "false"));
    let options = DrillOptions {
        engine: args.engine.map(Into::into),
        controls: !args.no_controls,
        program: version::program(),
    };
    if args.shared.output.check {
        return check(document, &overrides, &options, output);
    }
    let scenario = document.modelled_test(&overrides)?;
    let interrupt = Interrupt::listen()?;
    let stop = Stop::from(interrupt.flag());
    output.talk(&opening(&scenario, &options));
    let outline = drill_outline(&scenario, &options);
    let began = outline.times.started;
    let name = &scenario.scenario.name;
    let folder = RunFolder::of_kind(&args.shared.output.out, now(), name, "drill")?;
    folder.write("scenario.toml", scenario.to_toml().as_bytes())?;
    let head = Head {
        run_id: outline.origin.run_id.clone(),
        began_unix_s: began.unix_seconds,
        scenario: scenario.to_toml(),
        outline: outline.to_json(),
    };
    let lines = Lines::of(&args.shared.output.printed, output);
    let teller = Teller::new(output, "drill");
    let keeping = Rc::new(Keeping::begin(head, Some(&folder), lines.heard(), teller)?);
    let listener: Rc<dyn Listener> = Rc::<Keeping<_>>::clone(&keeping);
    let result = drill(&scenario, &options, &listener, &stop);
    keeping.shown().clear();
    let run = match result {
        Ok(result) => {
            keeping.ended(result.verdict)?;
            run_of(scenario.to_toml(), result)
        }
        Err(DrillError::Stopped) => {
            keeping.ended(Verdict::Interrupted)?;
            stopped(&folder)?
        }
        Err(error) => {
            keeping.end()?;
            folder.discard();
            return Err(error.into());
        }
    };
    keep(&folder, &run)?;
    tell(args, &run.result, &folder, lines, output);
    Ok(run.result.verdict.into())
}

fn check(
    document: &Document,
    overrides: &[Override],
    options: &DrillOptions,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let checked = document.check_modelled_test(overrides);
    let scenario = Mistakes::none_or(checked)?;
    output.show(opening(&scenario, options).trim_end());
    Ok(Exit::Passed)
}

/// What is rehearsed, on what, and the timeline.
fn opening(scenario: &ModelledScenario, options: &DrillOptions) -> String {
    let first = words::opening(scenario, engine_of(scenario, options));
    let events = scenario.timeline().iter();
    let lines = events.map(|(at, what)| format!("{:14}{at:>8}  {what}", ""));
    let lines: Vec<String> = lines.collect();
    let timeline = match lines.is_empty() {
        true => format!("{:14}no [[event]]: nothing is lost, and nothing fails over", "timeline"),
        false => format!("timeline{}", &lines.join("\n")["timeline".len()..]),
    };
    format!("{}\n{timeline}\n", first.trim_end())
}
