//! A test of mail servers on modelled storage: what is said of it and kept. The lab does the rest.
//!
//! * [`folder`]: what is left behind; [`words`]: what is said at the end.

mod folder;
pub(in crate::commands) mod words;

use std::rc::Rc;

use brunt_host::recorder::Recorder;
use brunt_host::{runs, test_log};
use brunt_lab::{Lab, Options, Simulated};
use brunt_report::{RunFolder, RunResult, report_html};
use brunt_run::{Head, Listener, Stop};
use brunt_scenario::ModelledScenario;
use brunt_units::Time;

use super::{SimulateArgs, SimulateError};
use crate::clock::now;
use crate::commands::run::Watch;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::records::Lines;
use crate::version;

/// Runs the test of `scenario` and says what came of it.
///
/// # Errors
/// [`SimulateError`] when it did not come to a test, or nothing can be written.
pub(super) fn run(
    args: &SimulateArgs,
    scenario: &ModelledScenario,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let interrupt = Interrupt::listen()?;
    let stop = Stop::from(interrupt.flag());
    let begun = now();
    let folder = RunFolder::of_kind(
        &args.shared.output.out,
        begun,
        &scenario.scenario.name,
        scenario.scenario.test.kind.word(),
    )?;
    let options = Options {
        engine: args.engine.into(),
        read_files: true,
        in_one_piece: false,
        program: version::program(),
    };
    output.talk(&words::opening(scenario, options.engine));
    let lines = Lines::of(&args.shared.output.printed, output);
    let simulated = simulate(scenario, options, &folder, &lines, output, &stop)
        .and_then(|simulated| folder::write(&folder, scenario, simulated));
    let whole = match simulated {
        Ok(whole) => whole,
        Err(error) => {
            for server in &scenario.servers {
                RunFolder::at(&folder.file(server)).discard();
            }
            folder.discard();
            return Err(error);
        }
    };
    let result = &whole.result;
    folder.write("report.html", report_html(&whole).as_bytes())?;
    let text = result.to_json();
    lines.tell((result.verdict.word(), &text), output, || {
        output.talk("");
        output.show(&words::closing(result, folder.path(), output));
    });
    Ok(result.verdict.into())
}

/// The whole simulation. Only the first server is shown on the screen.
fn simulate(
    scenario: &ModelledScenario,
    options: Options,
    folder: &RunFolder,
    lines: &Lines,
    output: &Output,
    stop: &Stop,
) -> Result<Simulated, SimulateError> {
    let command = options.program.command.clone();
    let lab = Lab::build(scenario, options)?;
    let outlines: Vec<RunResult> = lab.outlines().collect();
    folder::begin(folder, scenario, &outlines)?;
    let mut watches = Vec::new();
    for (number, (plan, outline)) in lab.plans().zip(&outlines).enumerate() {
        let head =
            Head { scenario: scenario.to_toml(), outline: outline.to_json(), ..runs::head(plan) };
        let output = match number {
            0 => output.clone(),
            _ => output.hushed(),
        };
        let own = folder::of_server(folder, outlines.len(), &scenario.servers[number]);
        let recorder = Recorder::of_model(&own, head, lines.heard())?;
        let watch = Watch::in_virtual_time(&output, plan, recorder);
        watch.log_all(Time::ZERO, test_log::beginning(plan, &command));
        watches.push(Rc::new(watch));
    }
    let listeners = watches.iter().cloned();
    let listeners = listeners.map(|watch| watch as Rc<dyn Listener>).collect();
    let simulated = lab.run(listeners, stop)?;
    for (watch, server) in watches.iter().zip(&simulated.servers) {
        watch.log_all(server.ended, brunt_report::ending(&server.result));
        watch.judged(server.ended, server.standing.clone(), server.result.verdict);
        watch.end()?;
    }
    Ok(simulated)
}
