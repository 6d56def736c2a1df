//! Runs that are no paper, each with the reason.

use brunt_paper::{Evidence, Paper, RunFiles};
use brunt_report::Run;
use brunt_report::result::{Verdict, World};

use crate::{evidence, files, of_kind, sample};

fn said(runs: &[(&str, Run)]) -> String {
    let runs: Vec<RunFiles> = runs.iter().map(|(label, run)| files(label, run)).collect();
    Paper::new(&evidence(runs)).unwrap_err().to_string()
}

#[test]
fn runs_without_an_answer_are_refused() {
    let mut interrupted = sample::run(true);
    interrupted.result.verdict = Verdict::Interrupted;
    let told = said(&[("runs/a", interrupted)]);
    assert!(told.starts_with("runs/a: its verdict is Interrupted, and a paper is made of tests that passed or failed\n"), "{told}");
    let mut going_on = sample::run(true);
    going_on.result.times.ended = None;
    assert!(said(&[("runs/a", going_on)]).starts_with("runs/a: did not end: "));
    assert_eq!(said(&[]), "0 runs make no paper; it takes 1 to 100");
    let mut long = sample::run(true);
    long.result.scenario = "x".repeat(3 << 20);
    assert_eq!(
        said(&[("runs/a", long)]),
        "runs/a: has a name of more than 1000 bytes, which no page has room for"
    );
    let mut large = files("runs/a", &sample::run(true));
    large.files[2].bytes = vec![b' '; (64 << 20) + 1];
    assert_eq!(
        Paper::new(&evidence(vec![large])).unwrap_err().to_string(),
        "runs/a/events.log: has more than 64 MiB, which no paper carries"
    );
    let nothing =
        Paper::new(&evidence(vec![RunFiles { label: "runs/x".to_owned(), files: Vec::new() }]));
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "runs/x: is not the folder of a run: it has no result.json"
    );
}

#[test]
fn runs_of_different_systems_are_refused() {
    let mut other = of_kind("stress", "b");
    other.result.world = World::Virtual;
    let told = said(&[("a", sample::run(true)), ("b", other)]);
    assert!(
        told.starts_with(
            "a and b are of different systems: one is on real storage, the other on modelled"
        ),
        "{told}"
    );
    let mut other = of_kind("stress", "b");
    other.result.storage.details.setup.profile = "exchange-2003".to_owned();
    let told = said(&[("a", sample::run(true)), ("b", other)]);
    assert!(told.contains("the other exchange-2003"), "{told}");
    let mut other = of_kind("stress", "b");
    other.result.storage.servers[0].name = "elsewhere".to_owned();
    let told = said(&[("a", sample::run(true)), ("b", other)]);
    assert!(told.contains("no performance test was run on elsewhere"), "{told}");
}

#[test]
fn two_runs_of_one_server_are_no_test_of_two() {
    let told = said(&[("a", sample::run(true)), ("b", of_kind("performance", "b"))]);
    assert!(
        told.starts_with("the performance runs are not one test: more than one of them is of "),
        "{told}"
    );
}

#[test]
fn two_solutions_need_a_word() {
    let mut other = files("b", &of_kind("stress", "b"));
    other.files[1].bytes = b"[solution]\nvendor = \"X\"\n".to_vec();
    let mut evidence: Evidence = evidence(vec![files("a", &sample::run(true)), other]);
    let told = Paper::new(&evidence).unwrap_err().to_string();
    assert!(told.starts_with("a and b have different [solution] tables\n"), "{told}");
    evidence.solution = Some("[solution]\nvendor = \"Y\"\n".to_owned());
    Paper::new(&evidence).unwrap();
    evidence.solution = Some("[solution]\nvendor = 7\n".to_owned());
    let told = Paper::new(&evidence).unwrap_err().to_string();
    assert!(told.starts_with("solution.toml:2: `vendor = 7`"), "{told}");
}
