//! What a test leaves in its journal is enough to judge it by, wherever the journal ends.

use std::rc::Rc;

use brunt_qualify::phases::test_run::{Earlier, TestRun};
use brunt_qualify::plan::{Carried, Plan};
use brunt_qualify::result::{unfinished, unfinished_result};
use brunt_qualify::rules::RuleId;
use brunt_report::result::{Group, Outcome, Rule, RunResult, Verdict};
use brunt_run::{Cut, Folded, Record, Value, Why};
use brunt_units::{Span, Time};

use crate::small::{Left, Small, outcome, plan, rule};

/// The result of a test whose host died, from the first `records` records of its journal.
fn died(left: &Left, plan: &Plan, records: usize) -> RunResult {
    let mut outline = None;
    // The surroundings are those of the test.
    left.result_on(plan, |surroundings| {
        outline = Some(unfinished(plan, Time::ZERO, surroundings));
    });
    unfinished_result(plan, &left.folded(records), &outline.unwrap()).0
}

/// Rules that the samples decide.
fn of_samples(result: &RunResult) -> Vec<&Rule> {
    let groups = [Group::Limits, Group::Steadiness, Group::Tail];
    let rules = result.rules.iter();
    rules.filter(|rule| groups.contains(&rule.group)).collect()
}

#[test]
fn a_journal_says_what_the_test_said() {
    let left = Small::new(1).run(&plan());
    let (whole, died) = (left.result(&plan()), died(&left, &plan(), usize::MAX));
    assert_eq!(of_samples(&died), of_samples(&whole));
    assert_eq!(died.storage.achieved_iops, whole.storage.achieved_iops);
    assert_eq!(died.storage.details.distributions, whole.storage.details.distributions);
    let instances = |result: &RunResult| {
        let instances = result.instances();
        instances.map(|one| (one.transactions, one.details.clone())).collect::<Vec<_>>()
    };
    assert_eq!(instances(&died), instances(&whole));
    assert_eq!((died.verdict, died.qualifies), (Verdict::Interrupted, false));
    assert!(died.times.ended.is_none());
    // Verification never took place.
    assert_eq!(outcome(&died, RuleId::PagesVerified), Outcome::NotMeasured);
}

#[test]
fn a_shorter_journal_is_judged_on_what_it_has_and_never_passes() {
    let mut small = Small::new(1);
    small.latency = Box::new(|_, _| Span::millis(21));
    let left = small.run(&plan());
    for records in 0..=left.records.len() {
        let result = died(&left, &plan(), records);
        assert_eq!(result.verdict, Verdict::Interrupted, "{records}");
        let reads = rule(&result, RuleId::DatabaseReadAverage);
        let (wanted, errors) = match left.folded(records).samples.len() {
            0 => (Outcome::NotMeasured, Outcome::NotMeasured),
            _ => (Outcome::Failed, Outcome::Ok),
        };
        assert_eq!(reads.outcome, wanted, "{records}: {reads:?}");
        assert_eq!(outcome(&result, RuleId::IoErrors), errors, "{records}");
    }
}

#[test]
fn a_journal_without_one_of_its_records_is_never_better() {
    let mut small = Small::new(1);
    small.latency = Box::new(|_, _| Span::millis(21));
    let mut left = small.run(&plan());
    for at in 0..left.records.len() {
        let lost = left.records.remove(at);
        let result = died(&left, &plan(), usize::MAX);
        assert_eq!(result.verdict, Verdict::Interrupted, "{lost:?}");
        let reads = rule(&result, RuleId::DatabaseReadAverage);
        assert_eq!(reads.outcome, Outcome::Failed, "{lost:?}");
        left.records.insert(at, lost);
    }
}

#[test]
fn a_sample_more_never_makes_up_for_a_bad_one() {
    let mut left = Small::new(1).run(&plan());
    let good = died(&left, &plan(), usize::MAX);
    assert_eq!(outcome(&good, RuleId::DatabaseReadWorst), Outcome::Ok);
    let samples = left.records.iter().rev();
    let last = samples.clone().find_map(|record| match record {
        Record::Sample(sample) => Some(sample.clone()),
        _ => None,
    });
    let bad_at = |at: Time| {
        let mut bad = last.clone().unwrap().moved_to(at);
        for row in &mut bad.rows {
            if let Value::Io(reading) = &mut row.value {
                reading.mean = reading.mean.map(|_| Span::seconds(3));
            }
        }
        bad
    };
    // Before all others, between them, and after them.
    for at in [0, left.records.len().div_euclid(2), left.records.len()] {
        left.records.insert(at, Record::Sample(bad_at(Time::ZERO + Span::seconds(900))));
        let result = died(&left, &plan(), usize::MAX);
        assert_eq!(outcome(&result, RuleId::DatabaseReadWorst), Outcome::Failed, "{at}");
        assert_ne!(result.verdict, Verdict::Pass);
        left.records.remove(at);
    }
}

#[test]
fn what_a_torn_journal_lacks_is_said() {
    let left = Small::new(1).run(&plan());
    let outline = left.result_on(&plan(), |_| {});
    let mut folded = left.folded(usize::MAX);
    let reasons = |folded: &Folded| unfinished_result(&plan(), folded, &outline).0.reasons;
    let whole = reasons(&folded);
    folded.cut = Some(Cut { after: 12_345, why: Why::Torn });
    let mut torn = reasons(&folded);
    let said = "the journal ends within a record after 12,345 bytes; what follows is left out";
    assert_eq!(torn.pop().as_deref(), Some(said));
    assert_eq!(torn, whole);
}

#[test]
fn faults_that_an_interrupted_run_met_fail_it_and_the_run_that_carries_it_on() {
    let left = Small::new(1).run(&plan());
    let mut folded: Folded = left.folded(usize::MAX);
    folded.standing.errors.add(3, || "db1.edb: read at 32768: -1022".to_owned());
    folded.standing.findings.torn = 2;
    folded.standing.hung.add(|| "a read of db1.edb".to_owned());
    let outline = left.result_on(&plan(), |_| {});
    let (died, _) = unfinished_result(&plan(), &folded, &outline);
    assert_eq!(died.verdict, Verdict::Fail);
    let sentence = &died.storage.details.sentence;
    assert!(sentence.contains("had failed by then"), "{sentence}");

    let earlier = Rc::new(Earlier { result: outline, folded });
    let mut plan = plan();
    plan.carried = Some(Carried::of(&earlier));
    let mut run = TestRun::unfinished(&plan, Time::ZERO);
    run.errors.add(1, || "a later one".to_owned());
    run.carry(&plan, Rc::clone(&earlier));
    assert_eq!((run.errors.count, &run.errors.first), (4, &earlier.folded.standing.errors.first));
    assert_eq!((run.hung.count, run.log.findings.torn), (1, 2));
    assert_eq!(run.collected.unwrap().length, earlier.folded.length);
}
