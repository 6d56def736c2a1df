//! What is handed over: the newest run of each kind, and a page to sign.

use brunt_paper::{Evidence, Handover, Paper, RunFiles, verify};
use brunt_report::Timestamp;
use brunt_report::result::Verdict;

use crate::{evidence, files, of_kind, text_of};

const NEEDED: [&str; 3] = ["performance", "database-backup", "soft-recovery"];

/// A run of a kind that began `hours` after the first.
fn run_of(kind: &str, label: &str, hours: u64) -> RunFiles {
    let mut run = of_kind(kind, label);
    run.result.times.started = Timestamp { unix_seconds: 1_760_000_000 + 3_600 * hours };
    files(label, &run)
}

fn labels(handover: &Handover) -> Vec<&str> {
    handover.chosen.iter().map(|files| files.label.as_str()).collect()
}

fn signed(runs: Vec<RunFiles>) -> Paper {
    Paper::new(&Evidence { sign_off: true, ..evidence(runs) }).unwrap()
}

#[test]
fn the_newest_run_of_each_kind_is_taken() {
    let handover = Handover::among(vec![
        run_of("performance", "first", 0),
        run_of("soft-recovery", "recovery", 3),
        run_of("performance", "second", 1),
        run_of("database-backup", "backup", 2),
    ]);
    assert_eq!(labels(&handover), ["second", "backup", "recovery"], "in the order of a paper");
    assert_eq!(handover.left_out, [("first".to_owned(), "older than second".to_owned())]);
}

#[test]
fn what_cannot_be_handed_over_is_named() {
    let changed = |label: &str, change: &dyn Fn(&mut brunt_report::Run)| {
        let mut run = of_kind("performance", label);
        run.result.times.started = Timestamp { unix_seconds: 1_700_000_000 };
        change(&mut run);
        files(label, &run)
    };
    let handover = Handover::among(vec![
        run_of("performance", "good", 1),
        changed("stopped", &|run| run.result.verdict = Verdict::Interrupted),
        changed("another", &|run| run.result.scenario = "demo".to_owned()),
        changed("moved", &|run| {
            for server in &mut run.result.storage.servers {
                for volume in &mut server.details.backend.volumes {
                    volume.device = "/dev/moved".to_owned();
                }
            }
        }),
        RunFiles { label: "empty".to_owned(), files: Vec::new() },
    ]);
    assert_eq!(labels(&handover), ["good"]);
    let why = |label: &str| {
        let found = handover.left_out.iter().find(|(own, _)| own == label);
        found.map(|(_, why)| why.as_str()).unwrap_or_default()
    };
    assert_eq!(why("stopped"), "came to no answer: INTERRUPTED");
    assert_eq!(why("another"), "of another system: its scenario is demo");
    assert!(why("moved").contains("/dev/moved"), "{}", why("moved"));
    assert_eq!(why("empty"), "not a test");
}

#[test]
fn a_page_is_for_one_server() {
    let of = |server: &str, kind: &str, label: &str, hours: u64| {
        let mut run = of_kind(kind, label);
        run.result.times.started = Timestamp { unix_seconds: 1_760_000_000 + 3_600 * hours };
        run.result.storage.servers[0].name = server.to_owned();
        files(label, &run)
    };
    let handover = Handover::among(vec![
        of("mail1", "performance", "p0", 0),
        of("mail1", "performance", "p1", 1),
        of("mail2", "performance", "p2", 1),
        of("mail1", "database-backup", "b1", 2),
    ]);
    assert_eq!(labels(&handover), [""; 0], "which of them is for people to say");
    let own = |runs: &[&str]| runs.iter().map(|run| (*run).to_owned()).collect::<Vec<_>>();
    let expected = [("mail1".to_owned(), own(&["p1", "b1"])), ("mail2".to_owned(), own(&["p2"]))];
    assert_eq!(handover.servers, expected, "the newest of each kind");
    let mut stranger = of_kind("performance", "demo");
    stranger.result.scenario = "demo".to_owned();
    stranger.result.times.started = Timestamp { unix_seconds: 1_700_000_000 };
    stranger.result.storage.servers[0].name = "laptop".to_owned();
    let handover =
        Handover::among(vec![of("mail1", "performance", "p1", 1), files("demo", &stranger)]);
    assert_eq!(labels(&handover), ["p1"], "another scenario on another server is left out");
}

#[test]
fn a_page_with_every_kind_can_be_signed() {
    let runs = NEEDED.map(|kind| run_of(kind, kind, 0)).to_vec();
    let paper = signed(runs);
    let page = paper.sign_off.clone().unwrap();
    assert_eq!(page.verdict, paper.headline, "all passed, as the paper says");
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!(json["schema"], "brunt.handover/1");
    let figures = json["tests"][0]["figures"].as_array().unwrap();
    let read = figures.iter().find(|one| one["rule"] == "database read, average").unwrap();
    assert_eq!((&read["limit"], &read["outcome"]), (&"20 ms".into(), &"ok".into()));
    assert_eq!(json["tests"][1]["verdict"], "missing", "stress is asked for where it was run");
    let pdf = paper.to_pdf().unwrap();
    let text = text_of(&pdf);
    for words in ["Sign-off: ", "Accepted by", "what a day of load does"] {
        assert!(text.contains(words), "{words}");
    }
    let checked = verify::verify(&pdf, crate::PROGRAM).unwrap();
    assert!(checked.follows == pdf, "{:?}", checked.differences);
}

#[test]
fn without_a_backup_test_nothing_is_signed() {
    let page = signed(vec![run_of("performance", "a", 0)]).sign_off.unwrap();
    assert_eq!(page.verdict, "INCONCLUSIVE");
    assert!(page.sentence.starts_with("Not tested: backup, recovery."), "{}", page.sentence);
    let mut failed = of_kind("performance", "b");
    failed.result.verdict = Verdict::Fail;
    let page = signed(vec![files("b", &failed)]).sign_off.unwrap();
    assert_eq!(page.verdict, "FAIL", "a failure stands whatever is missing");
}
