//! Several hosts as one test: what adds up, what stays separate, and what does not belong together.

use brunt_report::result::{TestKind, Verdict};
use std::convert::Infallible;

use brunt_report::result::{Flow, MachineClock};
use brunt_report::{
    Listed, Run, TogetherError, are_one_test, report_html, side_by_side_html, streams, sum_of,
};
use brunt_run::{Row, Sample, Value};
use brunt_stats::Reading;
use brunt_units::{Span, Time};

fn host(name: &str, passes: bool) -> Run {
    let mut run = crate::sample::run(passes);
    run.result.storage.servers[0].name = name.to_owned();
    run.result.origin.run_id = format!("run of {name}");
    run
}

/// All `runs` as one, as if only their tables were there, without histograms.
fn together(runs: Vec<Run>) -> Result<Run, TogetherError> {
    are_one_test(&runs)?;
    let sum = sum_of(&runs, |number, each| {
        runs[number].samples.iter().for_each(|sample| each(&recorded(sample)));
        Ok::<(), Infallible>(())
    });
    brunt_report::together(runs, sum.unwrap().as_ref())
}

fn recorded(sample: &brunt_report::result::Sample) -> Sample {
    let length = Span::from_seconds(sample.length_s);
    let count = |per_s: f64| format!("{:.0}", per_s * sample.length_s).parse().unwrap();
    let row = |stream, flow: &Flow| {
        let span = |ms: Option<f64>| ms.map(|ms| Span::from_seconds(ms / 1e3));
        let reading = Reading {
            count: count(flow.per_s),
            bytes: count(flow.bytes_per_s),
            mean: span(flow.latency_ms_mean),
            max: span(flow.latency_ms_max),
            ..Reading::default()
        };
        Row::io(stream, reading)
    };
    let rows = vec![
        row(streams::DATABASE_READ, &sample.database_reads),
        row(streams::DATABASE_WRITE, &sample.database_writes),
        row(streams::LOG_WRITE, &sample.log_writes),
        Row::new(streams::CACHE, Value::Bytes(sample.cache_bytes)),
    ];
    let begin = Time::ZERO + Span::from_seconds(41.0 + sample.begin_s);
    Sample { begin, length, rows, histograms: Vec::new(), is_whole: true }
}

#[test]
fn one_run_stays_what_it_is() {
    let run = crate::sample::run(true);
    let same = together(vec![run.clone()]).unwrap();
    assert_eq!((same.result, same.samples), (run.result, run.samples));
}

#[test]
fn mailboxes_and_sessions_are_those_of_all() {
    let of = |name, mailboxes| {
        let mut run = host(name, true);
        let setup = &mut run.result.storage.details.setup;
        (setup.sessions, setup.mailboxes) = (4, mailboxes);
        run
    };
    let summed = |mailboxes| {
        let all = together(vec![of("a", Some(4_000)), of("b", mailboxes)]).unwrap();
        let setup = &all.result.storage.details.setup;
        (setup.sessions, setup.mailboxes)
    };
    assert_eq!(summed(Some(1_000)), (8, Some(5_000)));
    assert_eq!(summed(None), (8, None), "nobody knows");
}

#[test]
fn limits_that_differ_stand_with_their_servers() {
    let mut other = host("b", true);
    for rule in &mut other.result.rules {
        rule.limit = rule.limit.map(|limit| limit + 1.0);
    }
    let html = report_html(&together(vec![host("a", true), other]).unwrap());
    assert!(
        html.contains("<td>database read, average</td><td class=\"n\">each its own</td>"),
        "{html}"
    );
}

#[test]
fn io_adds_up_and_rules_stay_with_their_host() {
    let (one, two) = (host("a", true), host("b", true));
    let all = together(vec![one.clone(), two.clone()]).unwrap();
    let (sum, part) = (&all.result, &one.result);
    let close = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    close(sum.storage.achieved_iops.unwrap(), 2.0 * part.storage.achieved_iops.unwrap());
    close(sum.storage.target_iops.unwrap(), 2.0 * part.storage.target_iops.unwrap());
    assert_eq!(sum.storage.database_files, 4);
    assert_eq!(sum.storage.servers.len(), 2);
    assert_eq!(sum.rules.len(), 2 * part.rules.len());
    assert_eq!(sum.rules[0].heading(), "a: database read, average");
    assert_eq!(sum.verdict, Verdict::Pass);
    assert!(sum.storage.details.sentence.starts_with("All 2 servers held every limit"));
    assert_eq!(all.samples.len(), one.samples.len());
    close(all.samples[7].database_reads.per_s, 2.0 * one.samples[7].database_reads.per_s);
    let [summed, own] = [&all, &one].map(|run| run.samples[7].database_reads);
    // Means are recorded in nanoseconds.
    let off = summed.latency_ms_mean.unwrap() - own.latency_ms_mean.unwrap();
    assert!(off.abs() <= 1e-6, "{off}");
    assert_eq!((summed.latency_ms_p99, summed.latency_ms_p999), (None, None));
    let ios = |run: &Run| -> u64 {
        let buckets = &run.result.storage.details.distributions[0].buckets;
        buckets.iter().map(|bucket| bucket.count).sum()
    };
    assert_eq!(ios(&all), 2 * ios(&one));
    let html = report_html(&all);
    for text in ["a / Instance 1", "b / Instance 2", ">Total<", "a: Test begins"] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn one_failure_fails_all_and_is_named() {
    let all = together(vec![host("a", true), host("b", false)]).unwrap();
    assert_eq!(all.result.verdict, Verdict::Fail);
    let sentence = &all.result.storage.details.sentence;
    assert!(sentence.starts_with("1 of 2 servers did not pass: b (fail)"), "{sentence}");
}

/// `run`, begun `seconds` later.
fn later(mut run: Run, seconds: u64) -> Run {
    let times = &mut run.result.times;
    times.started = times.started.after(seconds);
    times.collection_started = times.collection_started.map(|at| at.after(seconds));
    times.collection_ended = times.collection_ended.map(|at| at.after(seconds));
    times.ended = times.ended.map(|at| at.after(seconds));
    run
}

#[test]
fn a_reason_that_all_servers_have_is_given_once() {
    let (mut one, mut two) = (host("a", true), host("b", true));
    one.result.reasons = vec!["too short".to_owned(), "too small".to_owned()];
    two.result.reasons = vec!["too short".to_owned()];
    let all = together(vec![one, two]).unwrap();
    assert_eq!(all.result.reasons, ["too short", "a: too small"]);
}

#[test]
fn hosts_that_hardly_met_do_not_qualify() {
    let (one, two) = (host("a", true), later(host("b", true), 600));
    let all = together(vec![one.clone(), two]).unwrap();
    let reason = &all.result.reasons[0];
    assert!(reason.contains("600 s apart"), "{reason}");
    assert!(!all.result.qualifies);
    // 600 s are 40 samples.
    assert_eq!(all.samples.len(), one.samples.len() + 40);
}

#[test]
fn clocks_say_how_well_begins_are_known() {
    let of = |name, synchronised, max_error_ms| {
        let mut run = host(name, true);
        let machine = &mut run.result.storage.servers[0].details.machine;
        let estimated_error_ms = max_error_ms / 2.0;
        machine.clock = Some(MachineClock { synchronised, estimated_error_ms, max_error_ms });
        run
    };
    let said = |one, other| together(vec![one, other]).unwrap().result.storage.details.sentence;
    let right = || of("a", true, 600.0);
    let text = said(right(), later(of("b", true, 1_400.0), 2));
    let within = "They began 2 s apart, which is within the error of their clocks (2.00 s).";
    assert!(text.ends_with(within), "{text}");
    for known in [
        said(right(), later(of("b", true, 1_300.0), 2)),
        said(right(), of("b", true, 1_400.0)),
        said(right(), later(host("b", true), 2)),
    ] {
        assert!(known.ends_with(" together."), "{known}");
    }
    let text = said(right(), of("b", false, 16_000.0));
    let free = "The clock of b was not synchronised: how far apart the servers began is not known.";
    assert!(text.ends_with(free), "{text}");
}

#[test]
fn runs_that_never_met_are_not_added_up() {
    // The sample collects for 1,200 s.
    let error = together(vec![later(host("b", true), 1_201), host("a", true)]).unwrap_err();
    assert_eq!(error.to_string(), "a had ended before b began");
    let mut again = host("a", true);
    again.result.origin.run_id = "another".to_owned();
    let runs = [host("a", true), again];
    let error = are_one_test(&runs).unwrap_err();
    assert_eq!(error, TogetherError::OneServer("a".to_owned()));
    let named = ["first", "sec<nd>"].into_iter().zip(runs);
    let listed = named.map(|(label, run)| Listed {
        label: label.to_owned(),
        report: (label == "first").then(|| "first/report.html".to_owned()),
        run,
    });
    let page = side_by_side_html(&error.to_string(), &listed.collect::<Vec<_>>());
    let sentence = "2 runs: 2 performance; 2 PASS, not a qualification. Missing: stress, database-backup, soft-recovery.";
    assert!(page.contains(sentence), "{page}");
    assert!(page.contains("content=\"brunt\""), "or it is not replaced");
    assert!(page.contains("more than one of them is of a, and a server is not added to itself."));
    assert!(
        page.contains("<td><a href=\"first/report.html\">first</a></td><td>a</td>")
            && page.contains("sec&lt;nd&gt;")
    );
    let figures =
        "<td>PASS, not a qualification</td><td class=\"n\">248</td><td class=\"n\">240</td>";
    assert!(page.contains(figures), "{page}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let stress = || {
        let mut run = host("b", true);
        run.result.storage.test = TestKind::Stress.into();
        run
    };
    let error = |runs| together(runs).unwrap_err();
    assert_eq!(error(Vec::new()), TogetherError::None);
    assert!(matches!(error(vec![host("a", true), stress()]), TogetherError::Tests(..)));
    let twice = error(vec![host("a", true), host("a", true)]);
    assert_eq!(twice, TogetherError::Twice("run of a".to_owned()));
}
