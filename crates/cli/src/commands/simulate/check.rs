//! `brunt simulate --check`: every mistake of a scenario, or what would be simulated.

use brunt_lab::load::opening;
use brunt_scenario::{Document, Subject};

use super::test::words;
use super::{SimulateArgs, SimulateError, load_overrides, overrides};
use crate::exit::Exit;
use crate::mistakes::Mistakes;
use crate::opening::{labelled, qualifies};
use crate::outlook::phases;
use crate::output::Output;
use crate::version;

/// Says what would be simulated.
///
/// # Errors
/// Everything that is wrong with the scenario.
pub(super) fn run(
    args: &SimulateArgs,
    document: &Document,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let text = match document.subject() {
        // Refuses it: there is no array.
        Subject::Test
        | Subject::RealDrill
        | Subject::Organisation
        | Subject::Mail
        | Subject::Fleet => {
            document.modelled_test(&overrides(args)?)?;
            String::new()
        }
        Subject::ModelledTest => {
            let checked = document.check_modelled_test(&overrides(args)?);
            let scenario = Mistakes::none_or(checked)?;
            let opening = words::opening(&scenario, args.engine.into());
            let phases = phases(&scenario.scenario.plan());
            let time = labelled("virtual time", phases).join("\n");
            let never =
                qualifies(&["a prediction: brunt run tests storage that is there".to_owned()]);
            format!("{}\n{time}\n{never}", opening.trim_end())
        }
        Subject::Load => {
            let checked = document.check_load(&load_overrides(args)?);
            let scenario = Mistakes::none_or(checked)?;
            opening(&scenario, version::SHORT)
        }
    };
    output.show(text.trim_end());
    Ok(Exit::Passed)
}
