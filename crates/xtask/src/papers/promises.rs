//! What each scenario promises, and whether its prediction keeps it.
//!
//! A line in the head of a scenario in `scenarios/papers` says it, in figures that a prediction
//! has:
//!
//! ```text
//! # Promised: verdict = pass, io_per_s >= 60
//! ```
//!
//! It is what the scenario's own text says: a target that is reached, logs that are replayed, a
//! failover within the printed time. How near a prediction comes to published results is another
//! question, which the tables of the page answer.

use std::collections::BTreeMap;
use std::fs;

use brunt_report::{Column, Table, decimals, table};

use super::Test;
use crate::prediction::Prediction;
use crate::predictions::Predictions;
use crate::published::{head, scenarios};

const HEAD: &str = "
## What each scenario promises

The head of a scenario says what must come out of it. *Verdict* is that of `result.json`.
";

/// A figure of a prediction, by the name that promises use.
type Known = (&'static str, fn(&Prediction) -> Option<f64>);

/// The figures that can be promised; a drill has other ones than a test.
const KNOWN: [Known; 7] = [
    ("io_per_s", |of| of.whole().io_per_s),
    ("write_ms", |of| of.whole().write_ms),
    ("backup_mib_per_s", Prediction::backup),
    ("recovery_s_per_log", |of| of.whole().recovery_s_per_log),
    ("rto_s", |of| of.result.drill.as_ref()?.rto_s),
    ("commits_lost", |of| Some(of.result.drill.as_ref()?.rpo?.transactions as f64)),
    ("merge_s", |of| of.result.drill.as_ref()?.replication.merge_s),
];

/// Clauses that hold together.
#[derive(Debug, PartialEq)]
struct Promise(Vec<Clause>);

#[derive(Debug, PartialEq)]
struct Clause {
    text: String,
    wanted: Wanted,
}

#[derive(Debug, PartialEq)]
enum Wanted {
    /// The word of the verdict.
    Verdict(String),
    /// A figure, by its place in [`KNOWN`].
    Figure(usize, Sign, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Least,
    Most,
    Above,
}

/// The section of the page, and the scenarios that do not keep their promise.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) section: String,
    pub(super) broken: Vec<String>,
}

/// Holds `predictions` of `tests` to what their scenarios promise.
pub(super) fn judge(tests: &[Test], predictions: &Predictions) -> Judged {
    let mut judged = Judged::default();
    let mut rows = BTreeMap::new();
    for test in tests {
        let name = &test.closed.scenario;
        let (said, kept) = match (promise(name), predictions.get(&test.closed)) {
            (Err(why), _) => (why, Some(false)),
            (Ok(promise), None) => (promise.text(), None),
            (Ok(promise), Some(Err(error))) => {
                (format!("{}: {error}", promise.text()), Some(false))
            }
            (Ok(promise), Some(Ok(prediction))) => {
                let (said, kept) = promise.held_to(prediction);
                (said, Some(kept))
            }
        };
        if kept == Some(false) {
            judged.broken.push(format!("{name}: {said}"));
        }
        let kept = match kept {
            Some(true) => "kept",
            Some(false) => "**not kept**",
            None => "not simulated for this edition",
        };
        rows.insert(name, table::Row::new([name.clone(), said, kept.to_owned()]));
    }
    let columns = ["scenario", "promised, and what came out", "promise"].map(Column::words);
    let table = Table::new(columns, rows.into_values()).to_markdown();
    judged.section = format!("{HEAD}\n{table}");
    judged
}

/// The promise of the scenario called `name`.
fn promise(name: &str) -> Result<Promise, String> {
    let text = fs::read_to_string(scenarios().join(format!("{name}.toml")));
    let text = text.map_err(|error| error.to_string())?;
    Promise::of(&text)
}

impl Promise {
    /// That in the head of a scenario.
    fn of(text: &str) -> Result<Self, String> {
        let line = head(text).find_map(|line| line.strip_prefix(" Promised: "));
        let line = line.ok_or("promises nothing: `# Promised: ` is missing")?;
        let clauses = line.split(',').map(|clause| Clause::of(clause.trim()));
        Ok(Self(clauses.collect::<Result<_, _>>()?))
    }

    fn text(&self) -> String {
        let clauses: Vec<&str> = self.0.iter().map(|clause| clause.text.as_str()).collect();
        clauses.join(", ")
    }

    /// What came out, in words, and whether all of it is as promised.
    fn held_to(&self, prediction: &Prediction) -> (String, bool) {
        let told: Vec<_> = self.0.iter().map(|clause| clause.held_to(prediction)).collect();
        let kept = told.iter().all(|(_, kept)| *kept);
        let told: Vec<String> = told.into_iter().map(|(told, _)| told).collect();
        (told.join(", "), kept)
    }
}

impl Clause {
    fn of(text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let all = [words.next(), words.next(), words.next(), words.next()];
        let [Some(name), Some(sign), Some(value), None] = all else {
            return Err(format!("`{text}` is not a figure, a sign and a value"));
        };
        let wanted = if (name, sign) == ("verdict", "=") {
            Wanted::Verdict(value.to_owned())
        } else {
            let at = KNOWN.iter().position(|(known, _)| *known == name);
            let sign = match sign {
                ">=" => Some(Sign::Least),
                "<=" => Some(Sign::Most),
                ">" => Some(Sign::Above),
                _ => None,
            };
            match (at, sign, value.parse()) {
                (Some(at), Some(sign), Ok(value)) => Wanted::Figure(at, sign, value),
                _ => return Err(format!("`{text}` names no figure, sign or value")),
            }
        };
        Ok(Self { text: text.to_owned(), wanted })
    }

    fn held_to(&self, prediction: &Prediction) -> (String, bool) {
        match &self.wanted {
            Wanted::Verdict(word) => {
                let verdict = prediction.result.verdict.word();
                (format!("{}: {verdict}", self.text), verdict == word)
            }
            Wanted::Figure(at, sign, value) => {
                let Some(figure) = KNOWN[*at].1(prediction) else {
                    return (format!("{}: nothing", self.text), false);
                };
                let kept = match sign {
                    Sign::Least => figure >= *value,
                    Sign::Most => figure <= *value,
                    Sign::Above => figure > *value,
                };
                (format!("{}: {}", self.text, decimals(figure)), kept)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Verdict;

    use super::*;
    use crate::published;

    #[test]
    fn every_scenario_promises_something_that_can_be_judged() {
        for name in published::only_predicted(&[]).unwrap() {
            let promise = promise(&name).unwrap_or_else(|why| panic!("{name}: {why}"));
            // A verdict, and what the scenario is there for.
            assert!(promise.0.len() > 1, "{name}: {promise:?}");
        }
        assert!(Promise::of("# Paper\nname = \"x\"\n# Promised: io_per_s > 0\n").is_err());
        for wrong in ["io_per_s", "io_per_s = 3", "iops > 3", "io_per_s > many", "verdict > pass"] {
            assert!(Promise::of(&format!("# Promised: {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_page_has_every_promise() {
        let page = fs::read_to_string(crate::root().join("docs/papers.md")).unwrap();
        let (_, section) = page.split_once(HEAD).expect("the page has the section");
        for name in published::only_predicted(&[]).unwrap() {
            let first = promise(&name).unwrap().0.remove(0).text;
            assert!(section.contains(&format!("\n| {name} | {first}")), "{name}");
        }
    }

    #[test]
    fn a_prediction_that_breaks_any_clause_breaks_the_promise() {
        let result = include_str!("../../../report/tests/report/result_v2.json");
        let result: brunt_report::RunResult = serde_json::from_str(result).unwrap();
        let mut prediction = Prediction { result };
        prediction.result.verdict = Verdict::Pass;
        let io = prediction.whole().io_per_s.unwrap();
        let held = |prediction: &Prediction, text: &str| {
            Promise::of(&format!("# Promised: {text}")).unwrap().held_to(prediction)
        };
        let kept = format!("verdict = pass, io_per_s >= {io}, io_per_s <= {io}");
        let (told, is_kept) = held(&prediction, &kept);
        assert!(is_kept && told.starts_with("verdict = pass: pass, "), "{told}");
        assert!(!held(&prediction, &format!("verdict = pass, io_per_s > {io}")).1);
        // A test has no failover.
        assert_eq!(held(&prediction, "rto_s <= 900"), ("rto_s <= 900: nothing".to_owned(), false));
        prediction.result.verdict = Verdict::Fail;
        assert!(!held(&prediction, &kept).1);
    }
}
