//! Drills on modelled arrays, in virtual time.

use std::rc::Rc;

use brunt_lab::{DrillError, DrillOptions, drill, engine_of};
use brunt_report::RunFolder;
use brunt_run::{Listener, Stop};
use brunt_scenario::{Document, ModelledScenario, Override};

use super::{DrillArgs, Screen, keep, tell};
use crate::clock::now;
use crate::commands::simulate::SimulateError;
use crate::commands::simulate::test::words;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::output::Output;
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
    if args.shared.check {
        return check(document, &overrides, &options, output);
    }
    let scenario = document.modelled_test(&overrides)?;
    let interrupt = Interrupt::listen()?;
    let stop = Stop::from(interrupt.flag());
    output.talk(&opening(&scenario, &options));
    let screen: Rc<dyn Listener> = Rc::new(Screen::new(output));
    let result = drill(&scenario, &options, &screen, &stop);
    drop(screen);
    let result = match result {
        Err(DrillError::Stopped) => {
            output.talk("stopped: an interrupted drill leaves no run folder");
            return Ok(Exit::Interrupted);
        }
        other => other?,
    };
    let begun = now();
    let folder = RunFolder::of_kind(&args.shared.out, begun, &scenario.scenario.name, "drill")?;
    keep(&folder, scenario.to_toml(), &result)?;
    tell(args, &result, &folder, output);
    Ok(result.verdict.into())
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
