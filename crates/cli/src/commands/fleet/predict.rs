//! `--predict`: the test on the arrays of its scenario, before hosts begin.
//!
//! What is kept of it are its figures. Another coordinator finds them in `fleet.json` and puts them
//! beside what hosts have measured by then.

use brunt_lab::{Engine, Options, doubts, known_error, predict_to_an_answer};
use brunt_report::decimals;
use brunt_report::result::Prediction;
use brunt_run::Stop;
use brunt_scenario::{Document, FleetScenario, ModelledScenario, Override, Place, Subject};

use super::FleetError;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::version;

/// The test of `document` on its arrays.
///
/// # Errors
/// When it has none, or with every mistake in them.
pub(super) fn modelled(
    document: &Document,
    overrides: &[Override],
) -> Result<ModelledScenario, FleetError> {
    if document.subject() != Subject::ModelledTest {
        let refusal = Place::flag("--predict").refuse("the scenario has no arrays to predict");
        let hint = "describe them in [array] and [volumes], as for brunt simulate (docs/describe-an-array.md), or leave it out";
        return Err(refusal.hint(hint).into());
    }
    Ok(Mistakes::none_or(document.check_modelled_test(overrides))?)
}

/// What a model predicts for `fleet`; `None` when the user stopped it.
///
/// # Errors
/// When it cannot be simulated.
pub(super) fn predict(
    scenario: ModelledScenario,
    fleet: &FleetScenario,
    interrupt: &Interrupt,
    output: &Output,
) -> Result<Option<Prediction>, FleetError> {
    output.talk(&format!(
        "{:14}the test on the arrays of the scenario, before hosts begin",
        "predict"
    ));
    let mut reasons = doubts(&scenario);
    reasons.extend(not_predicted(fleet));
    let options = Options {
        engine: Engine::Twin,
        read_files: false,
        in_one_piece: false,
        program: version::program(),
    };
    let result = predict_to_an_answer(scenario, &options, &Stop::from(interrupt.flag()));
    if interrupt.is_asked() {
        return Ok(None);
    }
    let prediction = Prediction::new(&result?, reasons, known_error);
    let rate = prediction.figures.first().and_then(|figure| figure.predicted);
    let rate = rate.map_or_else(String::new, |rate| {
        format!("   {} transactional I/Os per second", decimals(rate))
    });
    output.talk(&format!("{:14}{}{rate}", "", prediction.headline()));
    Ok(Some(prediction))
}

/// What differs at single hosts, which the model does not know.
fn not_predicted(fleet: &FleetScenario) -> Option<String> {
    let special = fleet.servers.iter().filter(|server| server.is_special);
    let names: Vec<&str> = special.map(|server| server.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("`set` of {} is not predicted", names.join(", ")))
}
