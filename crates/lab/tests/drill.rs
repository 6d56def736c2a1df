//! Whole drills, small: what is lost, what users wait for, and that the checks see.

use std::path::Path;
use std::rc::Rc;

use brunt_lab::{DrillError, DrillOptions, Engine, PairProof, Program, drill};
use brunt_report::RunResult;
use brunt_report::result::{Drill, Outcome, Verdict};
use brunt_run::{Listener, News, Stop};
use brunt_scenario::{Document, Override};
use brunt_units::Time;

const EXAMPLE: &str = include_str!("../../../examples/two-sites.toml");

/// The example, made small enough for a test.
const SMALL: [&str; 8] = [
    "test.min_warmup=1s",
    "test.duration=60s",
    "instance.0.database_size=4MiB",
    "instance.1.database_size=4MiB",
    "drill.storage_failover=2s",
    "drill.host_rescan=1s",
    "drill.sample=1s",
    "drill.after=3s",
];

/// Asks for a stop when this happens; `None`: never.
struct Stops(Stop, Option<&'static str>);

impl Listener for Stops {
    fn tell(&self, _: Time, news: &News) {
        let (News::Happened { what, .. } | News::Control { name: what }) = news else {
            return;
        };
        if self.1.is_some_and(|when| what.contains(when)) {
            self.0.ask();
        }
    }
}

/// Rehearses the example with `events` instead of its own.
fn rehearsed(engine: Engine, controls: bool, events: &str, more: &[&str]) -> RunResult {
    tried(engine, controls, events, more).unwrap()
}

fn tried(
    engine: Engine,
    controls: bool,
    events: &str,
    more: &[&str],
) -> Result<RunResult, DrillError> {
    stopped(engine, controls, events, more, None)
}

fn stopped(
    engine: Engine,
    controls: bool,
    events: &str,
    more: &[&str],
    when: Option<&'static str>,
) -> Result<RunResult, DrillError> {
    let (before, _) = EXAMPLE.split_once("[[event]]").unwrap();
    let text = format!("{before}{events}");
    let document = Document::new("two-sites.toml", &text, Path::new("/")).unwrap();
    let all = SMALL.iter().chain(more);
    let overrides: Vec<Override> = all.map(|set| Override::of_set(set).unwrap()).collect();
    let scenario = document.modelled_test(&overrides).unwrap();
    let options = DrillOptions {
        engine: Some(engine),
        controls,
        program: Program { version: "0".to_owned(), commit: None, command: String::new() },
    };
    let stop = Stop::default();
    let listener: Rc<dyn Listener> = Rc::new(Stops(stop.clone(), when));
    drill(&scenario, &options, &listener, &stop)
}

fn section(result: &RunResult) -> &Drill {
    result.drill.as_ref().unwrap()
}

fn event(at: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nwhat = {what}\n")
}

/// The link is lost, then the site; the other one takes over.
fn disaster() -> String {
    [event("3s", "\"link lost\""), event("5s", "\"source lost\""), event("6s", "\"failover\"")]
        .concat()
}

const ASYNCHRONOUS: [&str; 2] = ["replication.mode=asynchronous", "replication.failsafe=false"];

fn outcome(result: &RunResult, id: &str) -> Vec<Outcome> {
    let own = result.rules.iter().filter(|rule| rule.id == id);
    own.map(|rule| rule.outcome).collect()
}

#[test]
fn nothing_acknowledged_is_lost_where_writes_wait_for_both_sites() {
    for engine in [Engine::Bytes, Engine::Twin] {
        let result = rehearsed(engine, true, &disaster(), &[]);
        assert_eq!(result.verdict, Verdict::Pass, "{engine:?}: {:?}", result.reasons);
        let drill = section(&result);
        let rpo = drill.rpo.unwrap();
        assert_eq!((rpo.transactions, rpo.records), (0, 0));
        assert!(rpo.kept > 0, "{engine:?}: nothing was committed");
        let sum: f64 = drill.steps.iter().map(|step| step.seconds).sum();
        let rto = drill.rto_s.unwrap();
        assert!((sum - rto).abs() < 1e-6, "{sum} {rto}");
        // From the loss of the link, which takes the LUNs away, to the failover, and the two steps
        // of operators.
        assert!((6.0..12.0).contains(&rto), "{rto}");
        assert_eq!(drill.controls.len(), 4);
        for control in &drill.controls {
            assert!(control.red, "{engine:?}: {}: {}", control.name, control.found);
        }
    }
}

#[test]
fn without_waiting_it_says_exactly_what_is_lost() {
    for engine in [Engine::Bytes, Engine::Twin] {
        let result = rehearsed(engine, false, &disaster(), &ASYNCHRONOUS);
        let rpo = section(&result).rpo.unwrap();
        assert!(rpo.transactions > 10, "{engine:?}: {rpo:?}");
        assert!(rpo.records > 0 && rpo.records <= rpo.transactions);
        assert!(rpo.bytes > 0);
        // Everything since the link was lost, and nothing older.
        assert!((1.0..2.1).contains(&rpo.seconds), "{engine:?}: {rpo:?}");
        assert_eq!(outcome(&result, "drill-as-reported"), [Outcome::Ok]);
        assert_eq!(outcome(&result, "drill-order"), [Outcome::Ok]);
        assert_eq!(result.verdict, Verdict::NoLimitSet, "{:?}", result.reasons);
        assert_eq!(outcome(&result, "drill-recovery-point"), [Outcome::NotJudged]);
        let strict = [&ASYNCHRONOUS[..], &["drill.recovery_point=1s"]].concat();
        let result = rehearsed(engine, false, &disaster(), &strict);
        assert_eq!(result.verdict, Verdict::Fail);
        assert_eq!(outcome(&result, "drill-recovery-point"), [Outcome::Failed]);
    }
}

/// Nobody can recover such a replica. Its controls are red for that, and not since somebody broke
/// it.
#[test]
fn groups_without_their_log_have_no_controls() {
    let groups = ["replication.group.0.luns=[\"{} data\"]", "drill.recovery_point=1h"];
    let result = rehearsed(Engine::Bytes, true, &disaster(), &groups);
    assert_eq!(result.verdict, Verdict::Fail);
    let controls = &section(&result).controls;
    assert_eq!(controls.len(), 4);
    for control in controls {
        assert!(!control.red, "{control:?}");
        assert!(control.found.starts_with("without the fault"), "{control:?}");
    }
}

#[test]
fn latencies_are_judged_in_each_phase() {
    let tight = ["limits.log_average=1us"];
    let result = rehearsed(Engine::Twin, false, &disaster(), &tight);
    assert_eq!(result.verdict, Verdict::Fail, "{:?}", result.reasons);
    let failed = result.rules.iter();
    let failed = failed.filter(|rule| rule.outcome == Outcome::Failed);
    let titles: Vec<&str> = failed.map(|rule| rule.title.as_str()).collect();
    assert!(titles.contains(&"log write, average, before"), "{titles:?}");
    assert!(titles.contains(&"log write, average, after the unplanned failover"), "{titles:?}");
}

#[test]
fn there_and_back_in_good_order_keeps_every_record() {
    let events = [
        event("3s", "\"failover\"\nplanned = true"),
        event("12s", "\"failover\"\nplanned = true\nto = \"source\""),
    ]
    .concat();
    let result = rehearsed(Engine::Bytes, false, &events, &[]);
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.reasons);
    let kinds: Vec<&str> = section(&result).failovers.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["planned failover", "failback"]);
    for id in ["drill-records", "drill-remote-checksum", "drill-in-step"] {
        assert_eq!(outcome(&result, id), [Outcome::Ok], "{id}");
    }
    let replay = section(&result).steps.iter().find(|step| step.name == "log replay").unwrap();
    assert_eq!(replay.seconds, 0.0, "a closed database needs no log");
}

#[test]
fn a_site_that_returns_comes_into_step_and_serves_again() {
    let events = [
        event("3s", "\"source lost\""),
        event("4s", "\"failover\""),
        event("12s", "\"source returns\""),
        event("20s", "\"failover\"\nplanned = true\nto = \"source\""),
    ]
    .concat();
    let result = rehearsed(Engine::Bytes, false, &events, &["replication.failsafe=false"]);
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.reasons);
    assert!(section(&result).replication.whl_peak_bytes > 0);
    assert!(section(&result).replication.merge_s.is_some());
    assert_eq!(outcome(&result, "drill-remote-checksum"), [Outcome::Ok]);
}

#[test]
fn the_worst_failover_is_told_and_the_pair_waits_for_its_end() {
    let events = [
        event("3s", "\"link lost\""),
        event("5s", "\"source lost\""),
        event("6s", "\"failover\""),
        event("7s", "\"link returns\""),
        event("7500ms", "\"drive fails\"\ndrive = 0"),
        event("8s", "\"source returns\""),
        event("30s", "\"failover\"\nplanned = true\nto = \"source\""),
    ]
    .concat();
    let result = rehearsed(Engine::Twin, false, &events, &ASYNCHRONOUS);
    let drill = section(&result);
    let losses = drill.failovers.iter().map(|one| one.rpo.transactions);
    let losses: Vec<u64> = losses.collect();
    assert!(losses[0] > 10 && losses[1] == 0, "{losses:?}");
    assert_eq!(drill.rpo.unwrap().transactions, losses[0]);
    let waits = drill.failovers.iter().map(|one| one.rto_s);
    assert_eq!(drill.rto_s, waits.max_by(f64::total_cmp));
    let said = &result.storage.details.sentence;
    assert!(said.contains("the worst of 2 failovers"), "{said}");
    let at = |what: &str| {
        let mut events = drill.events.iter();
        events.find(|event| event.what.contains(what)).unwrap().at_s
    };
    assert!(at("link is back") >= at("is served again by"));
    assert!(at("was to be at 7.0 s") >= at("is served again by"));
}

#[test]
fn an_outage_alone_is_a_merge() {
    let events = [event("3s", "\"link lost\""), event("8s", "\"link returns\"")].concat();
    let suspended = ["replication.failsafe=false", "drill.after=0s", "drill.merge_load_percent=0"];
    for (more, is_suspended) in [(&suspended[..2], false), (&suspended[..], true)] {
        let result = rehearsed(Engine::Twin, false, &events, more);
        assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.reasons);
        let drill = section(&result);
        assert_eq!((drill.rpo, drill.rto_s), (None, None));
        assert!(drill.replication.merge_s.unwrap() > 0.0);
        let told = drill.events.iter().any(|event| event.what == "load at 0 %");
        assert_eq!(told, is_suspended);
        assert_eq!(outcome(&result, "drill-in-step"), [Outcome::Ok]);
    }
}

/// With failsafe an outage of the link stops hosts at once, and so does the loss of their site.
#[test]
fn service_that_does_not_come_back_fails() {
    let outage = [event("3s", "\"link lost\""), event("8s", "\"link returns\"")].concat();
    for events in [outage, event("3s", "\"source lost\"")] {
        let result = rehearsed(Engine::Twin, false, &events, &["replication.failsafe=true"]);
        assert_eq!(outcome(&result, "drill-recovery-time"), [Outcome::Failed]);
        assert_eq!(result.verdict, Verdict::Fail);
        let mut times = result.rules.iter();
        let time = times.find(|rule| rule.id == "drill-recovery-time");
        assert_eq!(time.unwrap().measured, None, "it never ended");
        let said = &result.storage.details.sentence;
        assert!(said.contains("Users had no service for the last"), "{said}");
    }
}

#[test]
fn a_stop_is_no_verdict() {
    for when in ["source lost", "failover", "drop one", "promote the stale"] {
        let came = stopped(Engine::Bytes, true, &disaster(), &[], Some(when));
        assert!(matches!(came, Err(DrillError::Stopped)), "{when}");
    }
}

#[test]
fn a_survivor_that_takes_too_long_fails() {
    let slow = ["drill.recovery_time=5s"];
    let result = rehearsed(Engine::Twin, false, &disaster(), &slow);
    assert_eq!(outcome(&result, "drill-recovery-time"), [Outcome::Failed]);
    assert_eq!(result.verdict, Verdict::Fail);
}

/// A force without the link: both sides serve, and the one that users work on is kept.
#[test]
fn after_a_split_the_side_that_serves_is_kept() {
    let split = |keep: &str| {
        let events = [
            event("3s", "\"link lost\""),
            event("4s", "\"failover\"\nforced = true"),
            event("12s", "\"link returns\""),
            event("13s", &format!("\"split ends\"\nkeep = \"{keep}\"")),
        ];
        rehearsed(Engine::Bytes, false, &events.concat(), &ASYNCHRONOUS)
    };
    let kept = split("destination");
    assert_eq!(outcome(&kept, "drill-in-step"), [Outcome::Ok], "{:?}", kept.reasons);
    let other = split("source");
    assert_ne!(other.verdict, Verdict::Pass);
    let events = &section(&other).events;
    assert!(
        events.iter().any(|event| event.what.contains("a drill keeps the side that serves")),
        "{events:?}"
    );
}

#[test]
fn a_failover_of_one_group_is_refused_before_anything_is_simulated() {
    let events = event("3s", "\"failover\"\ngroup = \"SG1\"");
    let refused = tried(Engine::Twin, false, &events, &[]).unwrap_err();
    assert!(refused.to_string().contains("leave `group` out"), "{refused}");
}

#[test]
fn equal_seeds_give_equal_drills() {
    let once = |seed: &str| {
        rehearsed(Engine::Bytes, false, &disaster(), &[&ASYNCHRONOUS[..], &[seed]].concat())
    };
    let (one, same, other) = (once("test.seed=5"), once("test.seed=5"), once("test.seed=6"));
    assert_eq!(one.to_json(), same.to_json());
    assert_ne!(section(&one).samples, section(&other).samples);
}

#[test]
fn both_sites_may_stop_at_any_instant() {
    let proof = PairProof { seed: 1, first: 0, steps: 200 };
    let proven = proof.run(|_| true).unwrap_or_else(|found| panic!("{found}"));
    let coverage = proven.coverage;
    assert!(proven.is_complete && coverage.rounds == 10, "{coverage:?}");
    assert!(coverage.kept > 100, "{coverage:?}");
    assert!(coverage.at_risk > 0, "{coverage:?}");
    assert!(coverage.recovered > 350, "{coverage:?}");
}
