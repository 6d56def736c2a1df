//! `cargo xtask calibrate`: fits what no paper prints, and reports each system's error when it is
//! left out.
//!
//! The headline is the leave-one-out error: a system is predicted with the parameters of its
//! generation as fitted on the others, and with means of the others or defaults for its own array
//! and tool, like a system that was never measured: no figure that was chosen on it stays
//! ([`parameters`]). The errors of the full fit are shown after it.
//!
//! Each search of the others starts where the fit on all systems ended, because most of its points
//! are simulated already.

#[cfg(test)]
mod fitted;
mod parameters;
mod part;
mod search;

use std::collections::BTreeSet;

use brunt_report::result::Verdict;
use clap::Args;

use crate::TaskError;
use crate::figures::{FIGURES, Figures};
use crate::papers::Lengths;
use crate::prediction::Prediction;
use crate::predictions::{Predictions, Request};
use crate::published::{self, Published};
use crate::told::{Told, ToldArgs};
use parameters::PARAMETERS;
use search::{Search, Values, request, searched, starts};

/// Arguments of `calibrate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateArgs {
    /// Rows to fit on, by default all calibration rows; other rows are refused
    #[arg(value_name = "ROW")]
    rows: Vec<String>,

    #[command(flatten)]
    lengths: Lengths,

    #[command(flatten)]
    told: ToldArgs,

    /// Rounds of the search, with decreasing steps: 1 to 4. It starts from the values in the
    /// scenarios, so one is enough unless a model has changed much
    #[arg(long, default_value_t = 1)]
    rounds: usize,
}

/// Fits the parameters and prints the errors.
///
/// # Errors
/// [`TaskError`] for a row that must not be fitted on, or one that cannot be simulated.
pub(crate) fn run(args: &CalibrateArgs) -> Result<(), TaskError> {
    let tests = wanted(published::all()?, &args.rows)?;
    // Recoveries are a different load: predicted, never fitted on.
    let (tests, recoveries): (Vec<_>, Vec<_>) =
        tests.into_iter().partition(|test| test.whole().io_per_s.is_some());
    let mut predictions = Predictions::new(Told::new(args.told, "calibrate")?);
    let lengths = args.lengths;
    let search = |tests: Vec<_>| Search { tests, lengths, rounds: args.rounds };
    let whole = search(tests.iter().collect());
    let fitted = whole.fit(starts(), &mut predictions)?;
    let mut all = Vec::new();
    for system in systems(&tests) {
        let others = tests.iter().filter(|test| test.system != system);
        let others = search(others.collect());
        let values = others.fit(fitted, &mut predictions)?;
        all.push((system, left_out(values, &others.tests)));
    }
    let own = |system: &str| {
        let all = tests.iter().chain(&recoveries);
        let own = all.filter(|test| test.system == system);
        own.cloned().collect::<Vec<_>>()
    };
    // All at once, so that no core waits.
    let mut requests = Vec::new();
    for (system, values) in &all {
        for test in own(system) {
            requests.extend([values, &fitted].map(|values| judged(&test, values, lengths)));
        }
    }
    predictions.make(&requests);
    let said = &predictions.told;
    said.say(
        "leave one system out: what was chosen on it takes the values of the others, or defaults\n",
    );
    for (system, values) in &all {
        said.say(&errors(&own(system), values, lengths, &predictions)?);
    }
    said.say("fitted on all systems\n");
    for (system, _) in &all {
        said.say(&errors(&own(system), &fitted, lengths, &predictions)?);
    }
    said.say(&parts(&tests, &fitted, lengths, &predictions)?);
    said.say(&table(&fitted, &all));
    said.say(&format!("{} predictions", predictions.count()));
    predictions.told.end(Verdict::Pass)
}

/// The requested tests.
fn wanted(all: Vec<Published>, rows: &[String]) -> Result<Vec<Published>, TaskError> {
    let known = |row: &&String| all.iter().any(|test| test.scenario == **row);
    if let Some(row) = rows.iter().find(|row| !known(row)) {
        return Err(TaskError::NotForCalibration(row.clone()));
    }
    let is_wanted = |test: &Published| rows.is_empty() || rows.contains(&test.scenario);
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn systems(tests: &[Published]) -> BTreeSet<String> {
    tests.iter().map(|test| test.system.clone()).collect()
}

/// Replaces every parameter that no other test determines by the mean of those of its kind that
/// others determine, or by its assumed value if there are none.
fn left_out(fitted: Values, others: &[&Published]) -> Values {
    let told = |at: usize| {
        let parameter = &PARAMETERS[at];
        let mut tests = others.iter();
        tests.any(|test| parameter.matters(&test.system, &test.generation))
    };
    let mut values = fitted;
    for (at, one) in PARAMETERS.iter().enumerate().filter(|(at, _)| !told(*at)) {
        let same = (0..PARAMETERS.len()).filter(|other| PARAMETERS[*other].kind == one.kind);
        let known: Vec<f64> =
            same.filter(|other| told(*other)).map(|other| fitted[other]).collect();
        values[at] = match known.len() {
            0 => one.assumed,
            some => one.possible(known.iter().sum::<f64>() / some as f64),
        };
    }
    values
}

/// The request for what is shown of `test`: with its checksum, if one is published.
fn judged(test: &Published, values: &Values, lengths: Lengths) -> Request {
    Request {
        checksum: test.whole().checksum_mib_per_s.is_some(),
        ..request(test, values, lengths)
    }
}

/// The errors of all figures of `tests` with these values.
fn errors(
    tests: &[Published],
    values: &Values,
    lengths: Lengths,
    predictions: &Predictions,
) -> Result<String, TaskError> {
    let mut text = String::new();
    for test in tests {
        let prediction = made(predictions, &judged(test, values, lengths))?;
        text.push_str(&lines(test, &prediction.of(test, &test.rows[0])));
        if let Some(busy) = prediction.utilisation() {
            text.push_str(&format!("  {:40}{:>8.1} %\n", "busy", busy * 100.0));
        }
    }
    Ok(text)
}

fn made<'p>(predictions: &'p Predictions, request: &Request) -> Result<&'p Prediction, TaskError> {
    let prediction = predictions.get(request).expect("it was made");
    prediction.map_err(TaskError::again)
}

fn lines(test: &Published, predicted: &Figures) -> String {
    let mut text = format!("{}\n", test.scenario);
    for figure in &FIGURES {
        let Some(error) = figure.error(test.whole(), predicted) else {
            continue;
        };
        let good = figure.badness(test.whole(), predicted) <= Some(1.0);
        text.push_str(&format!(
            "  {:40}{:>+8.1} %{}\n",
            figure.name,
            error * 100.0,
            if good { "" } else { "   over its goal" }
        ));
    }
    text
}

/// What the parts that were searched say at the end, to compare them with the wholes.
fn parts(
    tests: &[Published],
    values: &Values,
    lengths: Lengths,
    predictions: &Predictions,
) -> Result<String, TaskError> {
    let mut text = "parts that the search took for wholes\n\n".to_owned();
    for test in tests {
        if let Some(part) = part::of(&test.scenario) {
            let prediction = made(predictions, &searched(test, values, lengths))?;
            let whole = part.whole(prediction.of(test, &test.rows[0]));
            text.push_str(&lines(test, &whole));
        }
    }
    Ok(text)
}

/// Every parameter: as fitted on all systems, and with each left out.
fn table(values: &Values, left_out: &[(String, Values)]) -> String {
    let mut text = "parameters: fitted on all".to_owned();
    for (system, _) in left_out {
        text.push_str(&format!("; without {system}"));
    }
    text.push_str("\n\n");
    for (at, parameter) in PARAMETERS.iter().enumerate() {
        let shown = |value: f64| parameter.shown(value);
        text.push_str(&format!("  {:34}{:>14}", parameter.name, shown(values[at])));
        for (_, values) in left_out {
            text.push_str(&format!("{:>14}", shown(values[at])));
        }
        text.push('\n');
    }
    text.push_str("\nranges and reasons\n\n");
    for parameter in &PARAMETERS {
        let reason = parameter.reason;
        text.push_str(&format!("  {:34}{}: {reason}\n", parameter.name, parameter.possibilities()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prediction::scenario;
    use parameters::{Scope, Settings};

    #[test]
    fn other_rows_are_refused() {
        let all = published::all().unwrap();
        let rows = ["emc-cx3-20-stress".to_owned()];
        let refusal = wanted(all.clone(), &rows).unwrap_err().to_string();
        assert!(refusal.contains("`emc-cx3-20-stress` is not a calibration row"));
        let rows = ["emc-cx3-20-performance".to_owned()];
        assert_eq!(wanted(all, &rows).unwrap().len(), 1);
    }

    fn number(name: &str) -> usize {
        let mut all = PARAMETERS.iter();
        all.position(|one| one.name == name).unwrap()
    }

    fn without(system: &str, values: Values) -> Values {
        let all = published::all().unwrap();
        let others = all.iter().filter(|test| test.system != system);
        left_out(values, &others.collect::<Vec<_>>())
    }

    #[test]
    fn a_generation_that_is_left_out_takes_after_the_others() {
        let mut values = starts();
        values[0] = 0.4;
        let left = without("Dell MD3820f", values);
        assert_eq!(left[number("station factor, 2013")], 0.4);
        let lazy = number("lazy commits, 2013, %");
        assert_eq!(left[lazy], PARAMETERS[lazy].assumed);
        assert_eq!(left[number("reads again, 2013, %")], 60.0);
        assert_eq!(left[number("destages, MD3820f")], 3.0);
    }

    #[test]
    fn no_choice_stays_that_only_the_system_left_out_decided() {
        for one in &PARAMETERS {
            let Scope::System(system) = one.scope else {
                continue;
            };
            let left = without(system, starts());
            let at = number(one.name);
            match one.settings {
                Settings::Choice(_) => assert_eq!(left[at], one.assumed, "{}", one.name),
                Settings::Number(_) => {
                    let mut moved = starts();
                    moved[at] = one.range.1;
                    assert_eq!(without(system, moved)[at], left[at], "{}", one.name);
                }
            }
        }
    }

    /// A scenario says what was fitted, or the tables of versions do. Three figures are constants
    /// of the engine.
    #[test]
    fn scenarios_say_what_was_fitted() {
        let constants = ["twin.log_format", "profile.recovery_reads", "twin.checksum_reads"];
        for test in published::all().unwrap() {
            let scenario = scenario(&test.scenario, &[]).unwrap().to_toml();
            let scenario: toml::Value = toml::from_str(&scenario).unwrap();
            let own = PARAMETERS.iter();
            let own = own.filter(|one| one.matters(&test.system, &test.generation));
            for set in own.flat_map(|one| one.set(one.fitted)) {
                let (key, value) = set.split_once('=').unwrap();
                if constants.contains(&key) {
                    continue;
                }
                let said = key.split('.').try_fold(&scenario, |at, part| match at {
                    toml::Value::Array(list) => list.get(part.parse::<usize>().unwrap()),
                    table => table.get(part),
                });
                let said = said.unwrap_or_else(|| panic!("{key} of {}", test.scenario));
                let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                let plain = |text: &str| text.replace(' ', "");
                assert_eq!(plain(&said), plain(value), "{key} of {}", test.scenario);
            }
        }
    }
}
