//! How far predictions were from published tests, by kind of figure: the leave-one-out table of
//! `docs/models/twin.md`. A kind of test, or a part of a scenario, that no published test was
//! compared with has no stated error, and says so.

use brunt_array::SystemDesign;
use brunt_qualify::kinds::{TestKind, Work};
use brunt_scenario::ModelledScenario;

/// What a kind of test, or a part of a scenario, says that was compared with nothing.
pub(crate) const NOT_MET: &str =
    "no published test of this kind was met yet, so its error is not known";

/// Figures of a load, by their names in comparisons and for people, with the least and the greatest
/// error in percent: each of three published systems was left out of the fit and predicted.
const LOAD: [(&str, &str, [i32; 2]); 4] = [
    ("database-io", "I/O per second", [-9, 25]),
    ("database-read", "database read latency", [-17, 47]),
    ("database-write", "database write latency", [-78, -6]),
    ("log-write", "log write latency", [-51, -24]),
];

/// One system, left out of the fit.
const RECOVERY: &str = "only one published recovery was met yet, with an error of -12 % in seconds for a log: too few to know it";

/// The least and the greatest error of a predicted figure of a load, in percent; `None` where no
/// published test has it.
pub fn known_error(figure: &str) -> Option<[f64; 2]> {
    let known = LOAD.iter().find(|(id, ..)| *id == figure);
    known.map(|(_, _, percent)| percent.map(f64::from))
}

/// Why the prediction of `scenario` is no qualification, and what is known of its errors.
pub fn doubts(scenario: &ModelledScenario) -> Vec<String> {
    reasons(scenario.scenario.test.kind, scenario)
}

/// The errors of a load, in a sentence.
fn load() -> String {
    let errors = LOAD.map(|(_, title, [least, most])| format!("{least:+} to {most:+} % ({title})"));
    let [first @ .., last] = &errors;
    format!(
        "three published systems, each left out of the fit, were predicted with errors of {} and {last}; \
         errors of other figures, percentiles among them, are not known",
        first.join(", ")
    )
}

/// Why the prediction of `kind` is no qualification, and what is known of its errors.
pub(crate) fn reasons(kind: TestKind, scenario: &ModelledScenario) -> Vec<String> {
    let mut reasons = match kind.work() {
        Work::Load => vec![format!("a prediction: {}", load())],
        Work::BackUp => vec![format!("a prediction: {NOT_MET}")],
        Work::Replay => {
            vec![format!("a prediction: {RECOVERY}"), format!("its log generation: {}", load())]
        }
    };
    let parts = unmet(scenario);
    if !parts.is_empty() {
        let parts = parts.join(" and of ");
        reasons.push(format!(
            "no published test of {parts} was met yet: what that changes has no known error"
        ));
    }
    reasons
}

/// The parts of `scenario` that published tests of the fit do not have.
fn unmet(scenario: &ModelledScenario) -> Vec<&'static str> {
    let arrays = || scenario.arrays.iter();
    let has = |is: fn(&SystemDesign) -> bool| arrays().any(|array| is(&array.design));
    let parts = [
        (has(|design| matches!(design, SystemDesign::Pair(_))), "replication between arrays"),
        (has(|design| matches!(design, SystemDesign::Sites(_))), "replicas of volumes"),
        (!scenario.scenario.plan().passive.is_empty(), "passive copies"),
        (arrays().any(|array| !array.incidents.is_empty()), "events of an array"),
    ];
    let parts = parts.into_iter().filter(|(is_there, _)| *is_there);
    parts.map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brunt_scenario::Document;

    use super::*;

    const EXAMPLE: &str = include_str!("../../../examples/mail-on-array.toml");

    fn said(kind: TestKind, text: &str) -> String {
        let document = Document::new("m.toml", text, Path::new(".")).unwrap();
        reasons(kind, &document.modelled_test(&[]).unwrap()).join("\n")
    }

    #[test]
    fn errors_are_those_of_the_page() {
        let page = include_str!("../../../docs/models/twin.md");
        let errors = |figure: &str| {
            let mut lines = page.lines();
            let Some(row) = lines.find(|line| line.starts_with(figure)) else {
                return Vec::new();
            };
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let left_out = [2, 4, 6].map(|at: usize| cells[at].parse::<f64>().ok());
            left_out.into_iter().flatten().collect::<Vec<f64>>()
        };
        for (figure, label) in [
            ("| database I/O per second |", "I/O per second"),
            ("| database read, ms |", "database read latency"),
            ("| database write, ms |", "database write latency"),
            ("| log write, ms |", "log write latency"),
        ] {
            let errors = errors(figure);
            assert_eq!(errors.len(), 3, "{figure}");
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min).round();
            let most = errors.into_iter().fold(f64::NEG_INFINITY, f64::max).round();
            let wanted = format!("{least:+} to {most:+} % ({label})");
            assert!(load().contains(&wanted), "{wanted}");
        }
        let [only] = errors("| recovery, seconds for a log |")[..] else {
            panic!("more than one recovery: say their range");
        };
        assert!(RECOVERY.contains(&format!("{:+} %", only.round())), "{only}");
        assert!(errors("| backup").is_empty());
    }

    /// An error stands beside figures of its own kind only.
    #[test]
    fn what_met_no_published_test_has_no_error() {
        let backup = said(TestKind::DatabaseBackup, EXAMPLE);
        assert_eq!(backup, format!("a prediction: {NOT_MET}"));
        let recovery = said(TestKind::SoftRecovery, EXAMPLE);
        let (first, second) = recovery.split_once('\n').unwrap();
        assert!(!first.contains("latency"), "{first}");
        assert!(second.starts_with("its log generation: three "), "{second}");
        let load = said(TestKind::Performance, EXAMPLE);
        assert!(!load.contains("no published test of"), "{load}");
        let pair = format!("{EXAMPLE}\n[replication]\n[link]\nrtt = \"1ms\"\n");
        let pair = said(TestKind::Performance, &pair);
        let wanted = "\nno published test of replication between arrays was met yet";
        assert!(pair.contains(wanted), "{pair}");
        let event = "\n[[event]]\nat = \"1min\"\nwhat = \"drive fails\"\ndrive = 1\n";
        let event = said(TestKind::Stress, &format!("{EXAMPLE}{event}"));
        assert!(event.contains("test of events of an array was"), "{event}");
    }
}
