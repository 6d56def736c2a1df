//! Mail tests on replicated volumes: the newest replica is recovered, and has everything up to its
//! instant.

use std::path::Path;

use brunt_lab::{Engine, Options, Program, predict};
use brunt_qualify::rules::RuleId;
use brunt_report::RunResult;
use brunt_report::result::{Outcome, ReplicaRecovered, Rule};
use brunt_run::Stop;
use brunt_scenario::{Document, Override};

const EXAMPLE: &str = include_str!("../../../examples/mail-replicated.toml");

/// The example, made small enough for a test.
const SMALL: [&str; 8] = [
    "test.min_warmup=1s",
    "test.duration=20s",
    "instance.0.database_size=8MiB",
    "instance.1.database_size=8MiB",
    "replicate.0.at=2s",
    "replicate.0.every=4s",
    "replicate.1.at=3s",
    "replicate.1.every=4s",
];

fn simulated(engine: Engine, text: &str, more: &[&str]) -> RunResult {
    let document = Document::new("mail-replicated.toml", text, Path::new("/")).unwrap();
    let all = SMALL.iter().chain(more);
    let overrides: Vec<Override> = all.map(|set| Override::of_set(set).unwrap()).collect();
    let scenario = document.modelled_test(&overrides).unwrap();
    let options = Options {
        engine,
        read_files: false,
        in_one_piece: false,
        program: Program { version: "0".to_owned(), commit: None, command: String::new() },
    };
    predict(&scenario, options, &Stop::default()).unwrap()
}

fn recovered(result: &RunResult) -> Vec<ReplicaRecovered> {
    let model = result.storage.details.model.as_ref().unwrap();
    let replicas = model.arrays[0].replicas.iter();
    replicas.filter_map(|one| one.recovered.clone()).collect()
}

fn rule(result: &RunResult) -> Option<&Rule> {
    let mut rules = result.rules.iter();
    rules.find(|rule| rule.id == "replicas-recovered")
}

/// Checks that the rule of this id does not hold.
fn fails(result: &RunResult, id: RuleId, why: &str) {
    let rule = result.rules.iter().find(|rule| id.is(rule)).unwrap();
    assert_eq!(rule.outcome, Outcome::Failed, "{rule:?}");
    assert!(rule.remark.contains(why), "{rule:?}");
}

#[test]
fn the_newest_replica_has_everything_up_to_its_instant() {
    let result = simulated(Engine::Bytes, EXAMPLE, &[]);
    let all = recovered(&result);
    assert_eq!(all.len(), 2);
    for one in &all {
        assert_eq!((&one.wrong, &one.unmeasured), (&None, &None), "{one:?}");
        assert!(one.logs.unwrap() > 0 && one.took_s.unwrap() > 0.0, "{one:?}");
        assert!(one.pages.unwrap() > 100 && one.pages_bad == Some(0), "{one:?}");
        assert!(one.commits.unwrap() > 0 && one.commits_lost.unwrap() > 0, "{one:?}");
        let behind = one.behind_s.unwrap();
        assert!(behind > 0.0 && behind < 10.0, "{one:?}");
    }
    assert_eq!(rule(&result).unwrap().outcome, Outcome::Ok);
}

#[test]
fn a_set_without_its_log_cannot_be_recovered() {
    let text = EXAMPLE.replace("[\"database 1\", \"log 1\"]", "[\"database 1\"]");
    let result = simulated(Engine::Bytes, &text, &[]);
    fails(&result, RuleId::ReplicasRecovered, "it has /db1/mail.edb without the log of Instance 1");
    assert_eq!(recovered(&result)[1].wrong, None);
}

#[test]
fn databases_without_content_have_logs_to_replay() {
    let result = simulated(Engine::Twin, EXAMPLE, &[]);
    for one in recovered(&result) {
        assert!(one.logs.unwrap() > 0 && one.took_s.is_none(), "{one:?}");
        assert_eq!((one.pages, one.commits), (None, None));
    }
    let rule = rule(&result).unwrap();
    assert_eq!(rule.outcome, Outcome::NotMeasured);
    assert!(rule.remark.contains("no content"), "{rule:?}");
}

#[test]
fn without_a_complete_replica_nothing_is_measured() {
    let late = ["replicate.0.at=1h", "replicate.1.at=1h"];
    let result = simulated(Engine::Twin, EXAMPLE, &late);
    let rule = rule(&result).unwrap();
    assert_eq!(rule.outcome, Outcome::NotMeasured);
    assert!(rule.remark.contains("no replica was complete"), "{rule:?}");
}

#[test]
fn a_link_that_brings_nothing_fails_the_test() {
    let slow = ["link.bandwidth=1 KB"];
    let result = simulated(Engine::Twin, EXAMPLE, &slow);
    fails(&result, RuleId::ReplicasRecovered, "no replica was complete");
}
