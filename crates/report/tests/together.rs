//! Several hosts as one: what adds up, what stays apart, and what does not belong together.

mod sample;

use brunt_report::result::Verdict;
use brunt_report::{Run, TogetherError, report_html, together};

fn host(name: &str, passes: bool) -> Run {
    let mut run = sample::run(passes);
    run.result.servers[0].name = name.to_owned();
    run.result.details.origin.run_id = format!("run of {name}");
    run
}

#[test]
fn one_run_stays_what_it_is() {
    let run = sample::run(true);
    let same = together(vec![run.clone()]).unwrap();
    assert_eq!((same.result, same.samples), (run.result, run.samples));
}

#[test]
fn io_adds_up_and_rules_stay_with_their_host() {
    let (one, two) = (host("a", true), host("b", true));
    let all = together(vec![one.clone(), two.clone()]).unwrap();
    let (sum, part) = (&all.result, &one.result);
    let close = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    close(
        sum.achieved_iops.unwrap(),
        2.0 * part.achieved_iops.unwrap(),
    );
    close(sum.target_iops.unwrap(), 2.0 * part.target_iops.unwrap());
    assert_eq!(sum.database_files, 4);
    assert_eq!(sum.servers.len(), 2);
    assert_eq!(sum.rules.len(), 2 * part.rules.len());
    assert_eq!(sum.rules[0].name, "a: database read, average");
    assert_eq!(sum.verdict, Verdict::Pass);
    assert!(
        sum.details
            .sentence
            .starts_with("All 2 runs held every limit")
    );
    assert_eq!(all.samples.len(), one.samples.len());
    close(
        all.samples[7].database_reads.per_s,
        2.0 * one.samples[7].database_reads.per_s,
    );
    assert_eq!(
        all.samples[7].database_reads.latency_ms_mean,
        one.samples[7].database_reads.latency_ms_mean
    );
    let ios = |run: &Run| -> u64 {
        let buckets = &run.result.details.distributions[0].buckets;
        buckets.iter().map(|bucket| bucket.count).sum()
    };
    assert_eq!(ios(&all), 2 * ios(&one));
    let html = report_html(&all);
    for text in [
        "a / Instance 1",
        "b / Instance 2",
        ">Total<",
        "a: Test begins",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn one_failure_fails_all_and_is_named() {
    let all = together(vec![host("a", true), host("b", false)]).unwrap();
    assert_eq!(all.result.verdict, Verdict::Fail);
    let sentence = &all.result.details.sentence;
    assert!(
        sentence.starts_with("1 of 2 runs did not pass: b (fail)"),
        "{sentence}"
    );
}

#[test]
fn hosts_that_ran_one_after_the_other_do_not_qualify() {
    let (one, mut two) = (host("a", true), host("b", true));
    let times = &mut two.result.details.times;
    times.collection_started = times.collection_started.map(|at| at.after(600));
    times.collection_ended = times.collection_ended.map(|at| at.after(600));
    let all = together(vec![one.clone(), two]).unwrap();
    let reason = &all.result.reasons[0];
    assert!(reason.contains("600 s apart"), "{reason}");
    assert!(!all.result.qualifies);
    // 600 s are 40 samples.
    assert_eq!(all.samples.len(), one.samples.len() + 40);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let stress = || {
        let mut run = host("b", true);
        run.result.test = "stress".to_owned();
        run
    };
    let error = |runs| together(runs).unwrap_err();
    assert_eq!(error(Vec::new()), TogetherError::None);
    assert!(matches!(
        error(vec![host("a", true), stress()]),
        TogetherError::Tests(..)
    ));
    let twice = error(vec![host("a", true), host("a", true)]);
    assert_eq!(twice, TogetherError::Twice("run of a".to_owned()));
}

#[test]
fn two_runs_of_one_host_are_told_apart() {
    let mut again = host("a", true);
    again.result.details.origin.run_id = "another".to_owned();
    let all = together(vec![host("a", true), again]).unwrap();
    let names: Vec<_> = all.result.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["a", "a (2)"]);
}
