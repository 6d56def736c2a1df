//! `cargo xtask calibrate`: fits what no paper prints, and reports each system's error when it is left out.
//!
//! The headline is the leave-one-out error: a system is predicted with the parameters of its generation as fitted on the others,
//! and with means of the others for its own array, like a system that was never measured. The errors of the full fit are shown
//! after it.

#[cfg(test)]
mod fitted;
mod parameters;
mod search;

use std::collections::BTreeSet;

use clap::Args;

use crate::figures::FIGURES;
use crate::papers::Lengths;
use crate::predictions::Predictions;
use crate::published::{self, Published};
use crate::{TaskError, say};
use parameters::PARAMETERS;
use search::{Search, Values, request, starts};

/// Arguments of `calibrate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateArgs {
    /// Rows to fit on, by default all calibration rows; other rows are refused
    #[arg(value_name = "ROW")]
    rows: Vec<String>,

    #[command(flatten)]
    lengths: Lengths,

    /// Rounds of the search, with decreasing steps: 1 to 4. It starts from the values in the scenarios
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Fits the parameters and prints the errors.
///
/// # Errors
/// [`TaskError`] for a row that must not be fitted on, or one that cannot be simulated.
pub(crate) fn run(args: &CalibrateArgs) -> Result<(), TaskError> {
    let tests = wanted(published::all()?, &args.rows)?;
    let mut predictions = Predictions::default();
    let lengths = args.lengths;
    let search = |tests: Vec<_>| Search {
        tests,
        lengths,
        rounds: args.rounds,
    };
    let whole = search(tests.iter().collect());
    let fitted = whole.fit(starts(), &mut predictions)?;
    say("leave one system out: what is fitted takes the mean of the others\n");
    for system in systems(&tests) {
        let others = tests.iter().filter(|test| test.system != system);
        let others = search(others.collect());
        let values = others.fit(starts(), &mut predictions)?;
        let values = left_out(values, &others.tests);
        say(&errors(
            &tests,
            &system,
            &values,
            lengths,
            &mut predictions,
        )?);
    }
    say("fitted on all systems\n");
    for system in systems(&tests) {
        say(&errors(
            &tests,
            &system,
            &fitted,
            lengths,
            &mut predictions,
        )?);
    }
    say(&table(&fitted));
    Ok(())
}

/// The requested tests.
fn wanted(all: Vec<Published>, rows: &[String]) -> Result<Vec<Published>, TaskError> {
    let known = |row: &&String| all.iter().any(|test| test.scenario == **row);
    if let Some(row) = rows.iter().find(|row| !known(row)) {
        return Err(TaskError::NotForCalibration(row.clone()));
    }
    let is_wanted = |test: &Published| rows.is_empty() || rows.contains(&test.scenario);
    // Recoveries are a different load; they are predicted with the parameters fitted on the others.
    let has_load = |test: &Published| test.whole().io_per_s.is_some();
    let tests = all.into_iter().filter(is_wanted);
    Ok(tests.filter(has_load).collect())
}

fn systems(tests: &[Published]) -> BTreeSet<String> {
    tests.iter().map(|test| test.system.clone()).collect()
}

/// Replaces every parameter that no other test determines by the mean of those of its kind that others determine, or by its assumed
/// value if there are none.
fn left_out(fitted: Values, others: &[&Published]) -> Values {
    let told = |at: usize| {
        let parameter = &PARAMETERS[at];
        let mut tests = others.iter();
        tests.any(|test| parameter.matters(&test.system, &test.generation))
    };
    let mut values = fitted;
    for (at, one) in PARAMETERS.iter().enumerate().filter(|(at, _)| !told(*at)) {
        let same = (0..PARAMETERS.len()).filter(|other| PARAMETERS[*other].kind == one.kind);
        let known: Vec<f64> = same
            .filter(|other| told(*other))
            .map(|other| fitted[other])
            .collect();
        values[at] = match known.len() {
            0 => one.assumed,
            some => one.possible(known.iter().sum::<f64>() / some as f64),
        };
    }
    values
}

/// The errors of all figures of `system` with these values.
fn errors(
    tests: &[Published],
    system: &str,
    values: &Values,
    lengths: Lengths,
    predictions: &mut Predictions,
) -> Result<String, TaskError> {
    let own = || tests.iter().filter(|test| test.system == system);
    let requests: Vec<_> = own().map(|test| request(test, values, lengths)).collect();
    predictions.make(&requests);
    let mut text = String::new();
    for (test, request) in own().zip(&requests) {
        let prediction = predictions.get(request);
        let prediction = prediction.expect("it was just made");
        let prediction = prediction.map_err(TaskError::again)?;
        let predicted = prediction.of(test, &test.rows[0]);
        text.push_str(&format!("{}\n", test.scenario));
        for figure in &FIGURES {
            let Some(error) = figure.error(test.whole(), &predicted) else {
                continue;
            };
            let good = figure.badness(test.whole(), &predicted) <= Some(1.0);
            text.push_str(&format!(
                "  {:40}{:>+8.1} %{}\n",
                figure.name,
                error * 100.0,
                if good { "" } else { "   over its goal" }
            ));
        }
        if let Some(busy) = prediction.utilisation() {
            text.push_str(&format!("  {:40}{:>8.1} %\n", "busy", busy * 100.0));
        }
    }
    Ok(text)
}

fn table(values: &Values) -> String {
    let rows = PARAMETERS.iter().zip(values).map(|(parameter, value)| {
        format!(
            "  {:28}{value:>10}   {} to {}: {}\n",
            parameter.name, parameter.range.0, parameter.range.1, parameter.reason
        )
    });
    format!("parameters\n\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_rows_are_refused() {
        let all = published::all().unwrap();
        let rows = ["emc-cx3-20-stress".to_owned()];
        let refusal = wanted(all.clone(), &rows).unwrap_err().to_string();
        assert!(refusal.contains("`emc-cx3-20-stress` is no calibration row"));
        let rows = ["emc-cx3-20-performance".to_owned()];
        assert_eq!(wanted(all, &rows).unwrap().len(), 1);
    }

    #[test]
    fn a_generation_that_is_left_out_takes_after_the_others() {
        let all = published::all().unwrap();
        let others: Vec<&Published> = all
            .iter()
            .filter(|test| test.generation == "2007")
            .collect();
        let mut values = starts();
        values[0] = 0.4;
        assert_eq!(left_out(values, &others)[1], 0.4);
        assert_eq!(left_out(values, &others)[2], PARAMETERS[2].assumed);
    }

    #[test]
    fn scenarios_say_what_was_fitted() {
        for test in wanted(published::all().unwrap(), &[]).unwrap() {
            let path = published::scenarios().join(format!("{}.toml", test.scenario));
            let scenario: toml::Value =
                toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            let own = PARAMETERS.iter();
            let own = own.filter(|one| one.matters(&test.system, &test.generation));
            for (key, fitted) in own.flat_map(|one| one.set(one.fitted)).map(|set| {
                let (key, value) = set.split_once('=').unwrap();
                (key.to_owned(), value.to_owned())
            }) {
                let said = key.split('.').fold(&scenario, |at, part| match at {
                    toml::Value::Array(list) => &list[part.parse::<usize>().unwrap()],
                    table => &table[part],
                });
                let said = said
                    .as_str()
                    .map_or_else(|| said.to_string(), str::to_owned);
                assert_eq!(said, fitted, "{key} of {}", test.scenario);
            }
        }
    }
}
