//! A point passes when its verdict is a pass. Regressions: broken tests passed because no rule had
//! failed, and tests that did not read files ended as interrupted, so their verdict was unusable.

use std::path::Path;

use brunt_lab::{Crew, Engine, Headline, Options, Points, Program, Tried, predict};
use brunt_report::result::{Group, Outcome, Verdict, WriteCache};
use brunt_report::{ReportTables, RunResult};
use brunt_run::Stop;
use brunt_scenario::{Document, Override};

const EXAMPLE: &str = include_str!("../../../examples/mail-on-array.toml");

/// The example, made small enough for a test.
const SMALL: [&str; 6] = [
    "test.duration=5s",
    "test.min_warmup=2s",
    "instance.0.database_size=8MiB",
    "instance.1.database_size=8MiB",
    "profile.cache_min=16MiB",
    "profile.cache_max=64MiB",
];

fn overrides(more: &[&str]) -> Vec<Override> {
    let all = SMALL.iter().chain(more);
    all.map(|set| Override::of_set(set).unwrap()).collect()
}

fn document() -> Document {
    Document::new("mail.toml", EXAMPLE, Path::new("/")).unwrap()
}

fn options(engine: Engine, read_files: bool) -> Options {
    Options {
        engine,
        read_files,
        in_one_piece: false,
        program: Program { version: "0".to_owned(), commit: None, command: String::new() },
    }
}

#[test]
fn a_test_that_breaks_does_not_pass() {
    let options = options(Engine::Twin, false);
    let overrides = overrides(&["limits.reserve_percent=0", "test.duration=20s"]);
    let points = Points {
        document: &document(),
        overrides: &overrides,
        options: &options,
        path_lost: false,
        crew: Crew::alone(),
    };
    let values = ["limits.reserve_percent=0", "limits.reserve_percent=100"];
    let values = values.map(|set| Override::of_set(set).unwrap());
    let tried = points.simulate(&values, &Stop::default(), &|_, _| {}).unwrap();
    let [broken, whole] = [0, 1].map(|at| tried[at].as_ref().and_then(Tried::judged).unwrap());
    assert_eq!(broken.verdict, Verdict::Error, "{}", broken.sentence);
    assert!(broken.sentence.contains("past its reserve of 0 %"), "{}", broken.sentence);
    assert!(broken.failed.is_empty(), "{:?}", broken.failed);
    assert!(!tried[0].as_ref().unwrap().passed());
    assert_eq!(whole.verdict, Verdict::Pass, "{}", whole.sentence);
    assert!(tried[1].as_ref().unwrap().passed());
}

fn predicted(engine: Engine, read_files: bool, more: &[&str]) -> RunResult {
    let scenario = document().modelled_test(&overrides(more)).unwrap();
    predict(&scenario, options(engine, read_files), &Stop::default()).unwrap()
}

#[test]
fn a_test_has_the_same_verdict_whether_files_are_read_after_it_or_not() {
    // A cache that does not hold the databases, so that there are reads.
    let performance = ["profile.cache_min=2MiB", "profile.cache_max=4MiB"];
    for (engine, more) in [
        (Engine::Twin, performance.as_slice()),
        (Engine::Bytes, &performance),
        (Engine::Twin, &["test.kind=database-backup"]),
        (Engine::Twin, &["test.kind=soft-recovery", "test.logs=5"]),
    ] {
        let read = predicted(engine, true, more);
        let unread = predicted(engine, false, more);
        assert_ne!(unread.verdict, Verdict::Interrupted);
        assert_eq!(unread.verdict, read.verdict, "{}", read.storage.details.sentence);
        let figures = |result: &RunResult| format!("{:?}", Headline::of(result));
        let of_load =
            |result: &RunResult| figures(result).split("utilisation").next().map(str::to_owned);
        assert_eq!(of_load(&unread), of_load(&read));
        assert!(unread.storage.servers[0].checksum.is_empty());
        assert!(!read.storage.servers[0].checksum.is_empty());
        let pages = unread.rules.iter().find(|rule| rule.title == "pages verified");
        let pages = pages.unwrap();
        assert_eq!(pages.outcome, Outcome::NotMeasured);
        assert_eq!(pages.remark, "not part of this test");
    }
}

#[test]
fn a_prediction_states_nothing_that_no_model_measures() {
    let performance = ["profile.cache_min=2MiB", "profile.cache_max=4MiB"];
    let result = predicted(Engine::Twin, true, &performance);
    let server = &result.storage.servers[0];
    for file in &server.checksum {
        let pages =
            [file.pages_seen, file.pages_bad, file.pages_correctable, file.pages_wrong_number];
        assert_eq!(pages, [None; 4], "{}", file.file);
        assert!(file.bytes_read.unwrap() <= file.bytes, "{}", file.file);
    }
    for rule in &result.rules {
        if rule.group == Group::FairTest || rule.id.ends_with("-verified") {
            assert_eq!(rule.outcome, Outcome::NotMeasured, "{}", rule.id);
        }
    }
    assert_eq!(server.host_counter("executor delay (ms)").unwrap().avg, None);
    let tables = ReportTables::of(&result);
    let tables = || tables.jetstress.iter().chain(&tables.further);
    let text = |title: &str| {
        let table = tables().find(|table| table.title() == title);
        table.expect(title).to_html()
    };
    let summary = text("Test Summary");
    // So small a cache lacks free pages once its load is complete, with the writes of changed
    // pages.
    assert!(summary.contains("PREDICTED FAIL"), "{summary}");
    let failed = result.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    assert_eq!(failed.map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["page-fault-stalls"]);
    assert!(!summary.contains("2000-01-01"), "{summary}");
    assert!(text("Checksum Statistics - All").contains("not measured"));
    let durability = text("Durability");
    assert!(
        durability.contains("write cache of 128 MiB") && durability.contains("write back"),
        "{durability}"
    );
    let uncached = ["array.cache.write=0 B", performance[0], performance[1]];
    let result = predicted(Engine::Twin, false, &uncached);
    let durability = &result.storage.servers[0].details.durability[0];
    assert_eq!(durability.write_cache, WriteCache::WriteThrough);
}

/// A system so idle that an hour of it takes a moment.
fn idle(more: &[&str]) -> RunResult {
    idle_with(more, options(Engine::Twin, false))
}

fn idle_with(more: &[&str], options: Options) -> RunResult {
    let system = include_str!("../examples/small-system.toml");
    let document = Document::new("small-system.toml", system, Path::new("/")).unwrap();
    let sets = ["test.scheduling=pause 20", "test.min_warmup=10s"];
    let sets = sets.iter().chain(more);
    let sets: Vec<Override> = sets.map(|set| Override::of_set(set).unwrap()).collect();
    let scenario = document.modelled_test(&sets).unwrap();
    predict(&scenario, options, &Stop::default()).unwrap()
}

#[test]
fn a_prediction_stops_when_it_knows_enough_and_is_the_same_again() {
    let [one, again] = [(); 2].map(|()| idle(&["test.precision=20 %"]));
    let precision = one.storage.precision.as_ref().unwrap();
    assert!(precision.stopped_early, "{:?}", precision.lacked);
    assert_eq!(precision.seeds.len(), 2);
    assert!(precision.collected_s < precision.duration_s / 2.0);
    assert_eq!(one.times.collection_s, precision.collected_s);
    for figure in &precision.figures {
        let [low, high] = [figure.interval.low, figure.interval.high];
        assert!(figure.of_seeds.iter().all(|one| (low..=high).contains(one)), "{figure:?}");
    }
    assert_eq!(one.storage.precision, again.storage.precision);
    let digest = |result: &RunResult| {
        let model = result.storage.details.model.as_ref();
        model.unwrap().request_digest.clone()
    };
    assert_eq!(digest(&one), digest(&again));
    let is_unjudged = |rule: &&brunt_report::result::Rule| rule.outcome == Outcome::NotJudged;
    assert_eq!(one.rules.iter().filter(is_unjudged).count(), 2);
    let total = precision.figures[0].predicted;
    let achieved = one.storage.achieved_iops.unwrap();
    assert!((total / achieved - 1.0).abs() < 0.001, "{total} and {achieved}");
}

#[test]
fn a_complete_prediction_has_two_halves_and_says_why() {
    let whole = idle(&["test.precision=none", "test.duration=20min"]);
    let precision = whole.storage.precision.unwrap();
    assert_eq!((precision.seeds.len(), precision.collected_s), (2, 1_200.0));
    assert_eq!(precision.lacked.as_deref(), Some("the whole duration was asked for"));
    let is_unjudged = |rule: &brunt_report::result::Rule| rule.outcome == Outcome::NotJudged;
    assert!(!whole.rules.iter().any(is_unjudged));
    assert!(idle(&["test.duration=2min"]).storage.precision.is_none());
    let in_one_piece = Options { in_one_piece: true, ..options(Engine::Twin, false) };
    let sets = ["test.precision=none", "test.duration=20min"];
    let one = idle_with(&sets, in_one_piece).storage.precision.unwrap();
    assert_eq!((one.seeds.len(), one.collected_s), (1, 1_200.0));
}
