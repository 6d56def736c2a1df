//! Comparisons and histories of made-up runs.

use brunt_report::compare::{Answer, CompareError, Comparison, History, Options, compare, history};
use brunt_report::host_counters::{CHECKSUM_SPEED, STEAL};
use brunt_report::result::{Flow, HostCounter, Sample, TestKind, Verdict};
use brunt_report::{Run, comparison_html, history_html};

use crate::sample;
use crate::validator;

/// Random numbers around zero, most within one.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        let mut unit = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    }
}

/// A run of `count` samples whose reads take `times` as long as 4 ms.
fn run(seed: u64, count: u32, times: f64) -> (String, Run) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut flow = |per_s: f64, ms: f64| {
        let ms = ms * (1.0 + 0.03 * dice.roll());
        Flow {
            per_s: per_s * (1.0 + 0.02 * dice.roll()),
            latency_ms_mean: Some(ms),
            latency_ms_p99: Some(3.0 * ms * (1.0 + 0.03 * dice.roll())),
            ..Flow::default()
        }
    };
    let mut run = sample::run(true);
    let samples = (0..count).map(|at| Sample {
        begin_s: 15.0 * f64::from(at),
        length_s: 15.0,
        database_reads: flow(200.0, 4.0 * times),
        database_writes: flow(100.0, 5.0),
        log_writes: flow(50.0, 0.5),
        ..Sample::default()
    });
    run.samples = samples.collect();
    run.result.times.collection_s = 15.0 * f64::from(count);
    run.result.times.started = run.result.times.started.after(3_600 * seed);
    (format!("runs/{seed}"), run)
}

fn answer(a: (String, Run), b: (String, Run)) -> Comparison {
    compare(&[a], &[b], &Options::default()).unwrap()
}

fn figure(comparison: &Comparison, id: &str) -> Answer {
    let found = comparison.figures.iter().find(|figure| figure.id == id);
    found.unwrap().verdict
}

#[test]
fn slower_reads_are_worse_and_faster_ones_better() {
    let worse = answer(run(1, 240, 1.0), run(2, 240, 1.06));
    assert_eq!(worse.verdict, Answer::Worse, "{}", worse.sentence);
    assert_eq!(figure(&worse, "database-read"), Answer::Worse);
    assert_eq!(figure(&worse, "log-write"), Answer::CannotTell);
    assert!(!worse.not_worse);
    assert!(worse.sentence.starts_with("B is worse than A: read +"), "{}", worse.sentence);
    let read = &worse.figures[1];
    let interval = read.interval.unwrap();
    assert!((interval.low..interval.high).contains(&1.06), "{read:?}");
    assert!(read.cliffs_delta > 0.6, "{read:?}");
    let p99 = &worse.figures[4];
    assert_eq!(
        (p99.verdict, p99.interval),
        (Answer::CannotTell, None),
        "one pair says nothing of it"
    );
    let better = answer(run(2, 240, 1.06), run(1, 240, 1.0));
    assert_eq!((better.verdict, better.not_worse), (Answer::Better, true));
}

#[test]
fn a_figure_that_a_side_lacks_stays_in_the_table() {
    let without_writes = |seed| {
        let (name, mut run) = run(seed, 240, 1.0);
        for sample in &mut run.samples {
            sample.database_writes = Flow::default();
        }
        (name, run)
    };
    let rows = |comparison: &Comparison| comparison.table().to_indented_text();
    let neither = answer(without_writes(1), without_writes(2));
    let missing: Vec<&str> = neither.missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(missing, ["write, ms", "write p99, ms", "writes, /s"]);
    assert_eq!(rows(&neither).matches("no such I/O").count(), 3);
    let one = answer(run(1, 240, 1.0), without_writes(2));
    assert_eq!(one.missing.len(), 3);
    assert_eq!([&*one.missing[0].a, &*one.missing[0].b], ["some", "none"]);
    assert!(answer(run(1, 240, 1.0), run(2, 240, 1.0)).missing.is_empty());
}

#[test]
fn equal_sides_have_no_answer_and_a_gate_lets_them_pass() {
    let long = answer(run(1, 480, 1.0), run(2, 480, 1.0));
    assert_eq!((long.verdict, long.not_worse), (Answer::CannotTell, true));
    assert_eq!(long.sentence, "No mean differs by 3 % or more.");
    let short = answer(run(1, 10, 1.0), run(2, 10, 1.0));
    assert_eq!((short.verdict, short.not_worse), (Answer::CannotTell, false));
    assert!(short.sentence.contains("could be missed"), "{}", short.sentence);
    let needs = short.figures.iter().filter_map(|figure| figure.needs_s).fold(0.0, f64::max);
    assert!(needs > 150.0, "{short:?}");
}

#[test]
fn what_became_better_and_worse_is_named_without_an_order() {
    let mut b = run(2, 240, 1.1);
    for sample in &mut b.1.samples {
        sample.database_reads.per_s *= 1.1;
        sample.database_writes.per_s *= 1.1;
    }
    let mixed = answer(run(1, 240, 1.0), b);
    assert_eq!((mixed.verdict, mixed.not_worse), (Answer::CannotTell, false));
    assert!(
        mixed.sentence.starts_with("B is better in I/O +")
            && mixed.sentence.contains("and worse in read +"),
        "{}",
        mixed.sentence
    );
}

#[test]
fn a_machine_that_changed_leaves_no_verdict() {
    let with = |mut run: (String, Run), counter: &str, value: f64| {
        let host = &mut run.1.result.storage.servers[0].host;
        host.retain(|one| one.counter != counter);
        host.push(HostCounter::over(counter, [(value, 1.0)]));
        run
    };
    let both = |counter, a, b| {
        let (a, b) = (with(run(1, 240, 1.0), counter, a), with(run(2, 240, 1.3), counter, b));
        answer(a, b)
    };
    let slower = both(CHECKSUM_SPEED, 40.0, 37.0);
    assert_eq!((slower.verdict, slower.not_worse), (Answer::CannotTell, false));
    assert!(
        slower.sentence.contains("(checksum speed (GB/s): 40.0 and 37.0)"),
        "{}",
        slower.sentence
    );
    assert_eq!(both(CHECKSUM_SPEED, 40.0, 38.5).verdict, Answer::Worse);
    assert_eq!(both(STEAL, 0.5, 1.6).verdict, Answer::CannotTell);
    assert_eq!(both(STEAL, 0.5, 1.4).verdict, Answer::Worse);
}

#[test]
fn pairs_are_judged_together() {
    let side = |first: u64, times: f64| -> Vec<_> {
        (0..6).map(|at| run(first + 2 * at, 10, times)).collect()
    };
    let (a, b) = (side(1, 1.0), side(2, 1.12));
    let comparison = compare(&a, &b, &Options::default()).unwrap();
    assert_eq!(figure(&comparison, "database-read"), Answer::Worse, "{}", comparison.sentence);
    assert_eq!(figure(&comparison, "database-read-p99"), Answer::Worse);
    let same = compare(&a, &side(20, 1.0), &Options::default()).unwrap();
    assert_eq!(same.verdict, Answer::CannotTell);
    assert!(same.figures.iter().all(|figure| figure.needs_s.is_none()));
    assert_eq!(compare(&a, &b[1..], &Options::default()), Err(CompareError::Sides(6, 5)));
}

#[test]
fn runs_that_are_not_whole_or_did_other_work_are_refused() {
    let refused = |change: fn(&mut Run)| {
        let mut other = run(2, 240, 1.0);
        change(&mut other.1);
        let error = compare(&[run(1, 240, 1.0)], &[other], &Options::default());
        error.unwrap_err().to_string()
    };
    let said = refused(|run| run.result.times.ended = None);
    assert!(said.starts_with("runs/2: has not ended"), "{said}");
    let said = refused(|run| run.result.verdict = Verdict::Interrupted);
    assert!(said.starts_with("runs/2: its verdict is interrupted"), "{said}");
    let said = refused(|run| run.result.storage.test = TestKind::SoftRecovery.into());
    assert!(said.starts_with("runs/2: is a soft-recovery test"), "{said}");
    let said = refused(|run| run.samples.truncate(7));
    assert!(said.contains("has 7 samples, and 8 are needed"), "{said}");
    let said = refused(|run| {
        run.result.storage.details.setup.sessions = 99;
        run.result.times.collection_s *= 2.0;
        run.result.origin.version = "9.9.9".to_owned();
    });
    let wanted = "runs/1 and runs/2 do different work:\n  brunt: 0.1.0 and 9.9.9\n";
    assert!(said.starts_with(wanted), "{said}");
    assert!(
        said.contains("\n  sessions: ") && said.contains("\n  measured: 3600 s and 7200 s\n"),
        "{said}"
    );
    assert!(said.ends_with("--allow-differences compares them all the same"), "{said}");
}

#[test]
fn other_settings_are_named() {
    let mut other = run(2, 240, 1.0);
    other.1.result.storage.details.setup.cache_bytes_max *= 2;
    other.1.result.storage.details.setup.sessions = 99;
    // Nothing is known of its keys.
    other.1.scenario.clear();
    let options = Options { allow_differences: true, ..Options::default() };
    let comparison = compare(&[run(1, 240, 1.0)], &[other], &options).unwrap();
    let named: Vec<&str> = comparison.differences.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(named, ["sessions", "cache"]);
}

fn keeps_to(schema: &str, json: &str) {
    let json = serde_json::from_str(json).unwrap();
    if let Some(faults) = validator::faults(schema, &[json]) {
        assert_eq!(faults, [[""; 0]]);
    }
}

#[test]
fn a_comparison_has_json_and_a_page() {
    let (mut a, b) = (run(1, 240, 1.0), run(2, 240, 1.06));
    a.0 = "runs/<a>".to_owned();
    let (a, b) = ([a], [b]);
    let comparison = compare(&a, &b, &Options::default()).unwrap();
    let json = comparison.to_json();
    keeps_to(include_str!("../../../../docs/comparison.schema.json"), &json);
    assert!(
        json.contains("\"verdict\": \"worse\"") && json.contains("\"verdict\": \"cannot tell\"")
    );
    let page = comparison_html(&comparison, &a, &b);
    for part in [
        "<span class=\"verdict\">B IS WORSE</span>",
        "<figcaption>Change from A to B</figcaption>",
        "aria-label=\"Change from A to B: I/O ",
        "aria-label=\"Database read latency: A, mean ",
        "data-name=\"B, p99\"",
        "runs/&lt;a&gt;",
        "Each point stands for 2 samples.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(comparison.headline(), "worse");
    assert_eq!(page.matches("role=\"img\"").count(), 5);
    assert!(!page.contains("NaN"));
    let lines = comparison.table().to_indented_text();
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
}

#[test]
fn a_history_names_the_run_and_the_size_of_a_change() {
    let mut runs: Vec<(String, Run)> =
        (1..=20).map(|seed| run(seed, 40, if seed > 12 { 1.2 } else { 1.0 })).collect();
    runs[3].1.result.verdict = Verdict::Interrupted;
    runs[4].1.result.storage.details.setup.sessions = 99;
    runs.reverse();
    let found = history("runs", runs, Vec::new(), 0.03).unwrap();
    assert_eq!((found.runs.len(), found.left_out.len()), (18, 2));
    let read = found.figures.iter().find(|figure| figure.id == "database-read").unwrap();
    let [change] = &read.changes[..] else { panic!("one change: {read:?}") };
    assert_eq!((change.at, change.run.as_str()), (10, "runs/13"));
    assert!((change.interval.low..change.interval.high).contains(&1.2), "{change:?}");
    let steady = found.figures.iter().find(|figure| figure.id == "log-write").unwrap();
    assert!(steady.changes.is_empty(), "{steady:?}");
    assert!(
        found
            .sentence
            .starts_with("18 runs; performance changed at one of them. The newest run beside the 7 stable runs before it: "),
        "{}",
        found.sentence
    );
    keeps_to(include_str!("../../../../docs/history.schema.json"), &found.to_json());
    let page = history_html(&found);
    assert!(
        page.contains("<figcaption>read</figcaption>")
            && page.contains("Left out: runs/4: its verdict")
    );
    let few = (1..=3).map(|seed| run(seed, 40, 1.0)).collect();
    let said = history("runs", few, Vec::new(), 0.03).unwrap_err().to_string();
    assert_eq!(said, "runs: has 3 runs that can be compared, and a history needs 4");
}

/// A history of runs whose reads take these times as long.
fn history_of(times: &[f64]) -> History {
    let runs = times.iter().enumerate();
    let runs = runs.map(|(at, times)| run(at as u64 + 1, 40, *times)).collect();
    history("runs", runs, Vec::new(), 0.03).unwrap()
}

#[test]
fn a_history_that_is_too_short_says_how_many_runs_it_lacks() {
    let found = history_of(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0]);
    assert_eq!(found.runs_missing, 2);
    assert!(
        found.sentence.starts_with(
            "6 runs: cannot tell where figures change; that takes 2 more runs. The newest run is worse than the 3 stable runs before it: read +"
        ),
        "{}",
        found.sentence
    );
    let [after_three, after_five] = [history_of(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0]), found];
    assert_eq!(after_three.runs_missing, 0);
    let read = after_three.figures.iter().find(|figure| figure.id == "database-read");
    assert_eq!(read.unwrap().changes[0].at, 3);
    assert_eq!(after_five.newest.a.len(), 3, "slow runs are not what is stable");
}

#[test]
fn the_newest_run_is_judged_the_same_night() {
    let worse = history_of(&[1.0, 1.0, 1.0, 5.0]);
    assert_eq!((worse.newest.verdict, worse.newest.not_worse), (Answer::Worse, false));
    assert_eq!(worse.runs_missing, 4);
    let better = history_of(&[1.0, 1.0, 1.0, 0.2]);
    assert_eq!((better.newest.verdict, better.newest.not_worse), (Answer::Better, true));
    let same = history_of(&[1.0; 12]);
    assert_eq!(same.newest.verdict, Answer::CannotTell, "{}", same.sentence);
    assert!(same.sentence.starts_with("12 runs; no change is shown. "));
    // After a change the level is the new one.
    let settled = history_of(&[1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0]);
    let stable: Vec<_> = settled.newest.a.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(stable, ["runs/5", "runs/6", "runs/7", "runs/8"]);
    assert_eq!(settled.newest.verdict, Answer::CannotTell, "{}", settled.sentence);
    let page = history_html(&worse);
    assert!(page.contains("NEWEST RUN IS WORSE") && page.contains("The newest run</h2>"));
    keeps_to(include_str!("../../../../docs/history.schema.json"), &worse.to_json());
}

#[test]
fn a_change_is_named_first_and_goes_to_ci() {
    let (mut a, mut b) = (run(1, 240, 1.0), run(2, 240, 1.03));
    a.1.scenario = "name = \"a\"\n[array.controller]\nread = \"100us\"\n".to_owned();
    b.1.scenario = a.1.scenario.replace("100us", "300us");
    let comparison = compare(&[a.clone()], &[b.clone()], &Options::default()).unwrap();
    let changed = "array.controller.read 100us -> 300us";
    assert_eq!(comparison.changed().as_deref(), Some(changed));
    assert!(comparison.to_json().contains("\"what\": \"array.controller.read\""));
    let headline = comparison.headline();
    assert!(headline.starts_with("worse, by 2.") && headline.ends_with(" %"), "{headline}");
    let page = comparison_html(&comparison, &[a], &[b]);
    let scenario = &comparison.a[0].scenario;
    assert!(page.contains(&format!(
        "B IS {}</span> {scenario}: array.controller.read 100us -&gt; 300us</h1>",
        comparison.verdict_in_words()
    )));
    let markdown = comparison.to_markdown();
    assert!(markdown.contains(&format!("### B is {headline}: ")), "{markdown}");
    assert!(
        markdown.contains("\n\nChanged: array.controller.read 100us -&gt; 300us\n\n| "),
        "{markdown}"
    );
    let junit = comparison.to_junit();
    assert!(junit.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- "), "{junit}");
    assert!(
        junit.contains("name=\"not worse\"><failure message=\"B is worse than A: read +"),
        "{junit}"
    );
    assert!(junit.contains("name=\"read, ms\"><failure "), "{junit}");
}
