//! The result of all rules: the verdict, and one plain sentence.
//!
//! The sentence of a pass states the load and the nearest limit; that of a failure states which
//! rules failed and where.

use brunt_report::result::{
    Bottleneck, Direction, Group, Outcome, Rule, Verdict, WRONG_DATA, gravest_first,
};
use brunt_report::{capitalised, counted, decimals, grouped};

use super::{Evidence, RuleId, shortened, tester};

/// How the run ended, before its rules count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// The user stopped it.
    Stopped,
    /// It is not known how: it was killed, its host died, or it still goes on.
    Unfinished,
    /// It could not continue, with the reason.
    Broken(String),
    /// It went on to its end and came to no answer, and why.
    Unanswered(String),
}

/// The verdict on a run with this ending and these rules.
///
/// A run that broke because the storage failed is a failed one; its rate until then does not count.
pub fn verdict(ending: &Ending, rules: &[Rule]) -> Verdict {
    // A failure of these is a fault, even if the test ended early.
    let is_fault = |rule: &&Rule| rule.group == Group::Integrity || RuleId::SessionsFound.is(rule);
    match ending {
        Ending::Complete => match Verdict::of(rules) {
            Verdict::Fail if has_no_reads(rules) && all_failed(rules, tester::is_rate) => {
                Verdict::Inconclusive
            }
            Verdict::Fail if tester::is_to_blame(rules) => Verdict::Invalid,
            Verdict::Pass if !without_io(rules).is_empty() => Verdict::Inconclusive,
            Verdict::Pass if missed_its_pace(rules) => Verdict::Inconclusive,
            Verdict::Pass if shortened::open(rules).is_some() => Verdict::Inconclusive,
            verdict => verdict,
        },
        Ending::Stopped => Verdict::Interrupted,
        Ending::Unfinished | Ending::Broken(_) | Ending::Unanswered(_) => {
            let faults: Vec<Rule> = rules.iter().filter(is_fault).cloned().collect();
            match (Verdict::of(&faults), ending) {
                (Verdict::Fail, _) => Verdict::Fail,
                (_, Ending::Unanswered(_)) => Verdict::Inconclusive,
                (_, Ending::Unfinished) => Verdict::Interrupted,
                _ => Verdict::Error,
            }
        }
    }
}

/// Whether nothing but rules that are `what`, or about a fair test, failed.
fn all_failed(rules: &[Rule], what: fn(&Rule) -> bool) -> bool {
    let mut failed = rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    failed.all(|rule| rule.group == Group::FairTest || what(rule))
}

/// Whether a target was missed because less was asked for than intended.
fn missed_its_pace(rules: &[Rule]) -> bool {
    let mut rates = rules.iter().filter(|rule| RuleId::AchievedIo.is(rule));
    rates.any(|rule| rule.outcome == Outcome::NotJudged)
}

/// Whether a test had no database reads to judge.
fn has_no_reads(rules: &[Rule]) -> bool {
    let mut reads = rules.iter().filter(|rule| RuleId::DatabaseReadAverage.is(rule));
    reads.any(|rule| rule.outcome == Outcome::NotMeasured)
}

/// Latencies that were not measured in a completed test, because there was no such I/O.
fn without_io(rules: &[Rule]) -> Vec<&str> {
    let must = [RuleId::DatabaseReadAverage, RuleId::LogWriteAverage, RuleId::DatabaseWrites];
    let latencies = rules.iter().filter(|rule| must.iter().any(|id| id.is(rule)));
    let without = latencies.filter(|rule| rule.outcome == Outcome::NotMeasured);
    without.map(|rule| rule.title.as_str()).collect()
}

/// The verdict in one plain sentence.
///
/// `bottleneck` says why a rate was missed.
pub fn sentence(
    ending: &Ending,
    rules: &[Rule],
    evidence: &Evidence,
    bottleneck: Option<&Bottleneck>,
) -> String {
    let achieved = evidence.achieved_io_per_s;
    let storage = evidence.storage();
    let rate = achieved.map_or("no I/O was measured".to_owned(), rate);
    match (ending, verdict(ending, rules)) {
        (Ending::Stopped, _) => {
            format!("The test was stopped before its end; nothing is judged ({rate}).")
        }
        (Ending::Unfinished, verdict) => {
            let so_far = match verdict {
                Verdict::Fail => format!(", and it had failed by then: {}", failures(rules)),
                _ => String::new(),
            };
            format!(
                "The run did not end: it was killed, its host died, or it still goes on; the rules judge what it recorded ({rate}){so_far}."
            )
        }
        (Ending::Broken(why), _) => {
            format!("The test could not be carried through: {why}.")
        }
        (Ending::Unanswered(why), _) => {
            format!("The test says nothing about this storage: {why}.")
        }
        (Ending::Complete, Verdict::Fail) => {
            let missed = missed_by(rules, evidence, Outcome::Failed);
            let failed = match (missed, wrong_data(rules, evidence), achieved) {
                (Some(missed), ..) => missed,
                (None, Some(wrong), _) => format!("{wrong}: {}.", failures(rules)),
                (None, None, Some(_)) => {
                    format!("{storage} does not hold at {rate}: {}.", failures(rules))
                }
                (None, None, None) => format!("{storage} does not hold: {}.", failures(rules)),
            };
            because(failed, "", bottleneck)
        }
        (Ending::Complete, Verdict::Invalid) => {
            let others = failures_of(rules, |rule| rule.group != Group::FairTest);
            let why = match tester::held_back_in_words(rules, &evidence.tester) {
                Some(why) if others.is_empty() => why,
                Some(why) => format!("{why}, and what failed may be due to that: {others}"),
                None => {
                    format!("something else than this storage was measured: {}", failures(rules))
                }
            };
            format!("The test is invalid ({rate}): {why}.")
        }
        (Ending::Complete, Verdict::Inconclusive) if missed_its_pace(rules) => {
            let missed = missed_by(rules, evidence, Outcome::NotJudged).unwrap_or_default();
            because(missed, "", bottleneck)
        }
        (Ending::Complete, Verdict::Inconclusive) if without_io(rules).is_empty() => {
            shortened::sentence(rules, &rate)
        }
        (Ending::Complete, Verdict::Inconclusive) => format!(
            "The test says nothing about this storage ({rate}): there was no I/O to measure for {}. {}",
            without_io(rules).join(" and "),
            match without_io(rules)[..] {
                [title] if title == RuleId::DatabaseWrites.name().title => {
                    "They come once the log has gone through the checkpoint depth: a longer test, or a smaller `checkpoint_depth`, \
                     will have some."
                }
                _ => "Larger databases, a smaller cache or a longer test will have some.",
            }
        ),
        (Ending::Complete, _) => match achieved {
            Some(achieved) if evidence.done.is_empty() => {
                because(held(achieved, rules, evidence), "The headroom was not shown. ", bottleneck)
            }
            _ => done(rules, evidence),
        },
    }
}

/// The sentence of a test that missed its target, with this `outcome`, while nothing else failed.
fn missed_by(rules: &[Rule], evidence: &Evidence, outcome: Outcome) -> Option<String> {
    let failed = |rule: &&Rule| rule.outcome == Outcome::Failed || rule.outcome == outcome;
    let mut failed = rules.iter().filter(failed);
    let only = failed.next().filter(|rule| RuleId::AchievedIo.is(rule))?;
    let (target, achieved) = evidence.target.zip(only.measured)?;
    failed.next().is_none().then(|| {
        format!(
            "Target missed: {} of {} transactional I/Os per second (at least {} needed).",
            decimals(achieved),
            decimals(target.io_per_s),
            decimals(only.limit.unwrap_or_default()),
        )
    })
}

/// What is wrong with the data, if something is.
fn wrong_data(rules: &[Rule], evidence: &Evidence) -> Option<String> {
    let is_wrong = rules.iter().any(|rule| {
        let wrong = [RuleId::PagesVerified, RuleId::LogsVerified, RuleId::RecordsVerified];
        rule.outcome == Outcome::Failed && wrong.iter().any(|id| id.is(rule))
    });
    let files = match evidence.wrong_files {
        0 => String::new(),
        files => format!(" ({})", counted(files, "file")),
    };
    is_wrong.then(|| format!("{WRONG_DATA}{files}"))
}

/// `sentence`, and why a rate was missed.
fn because(sentence: String, missed: &str, bottleneck: Option<&Bottleneck>) -> String {
    match bottleneck {
        Some(why) => format!("{sentence} {missed}{}", why.sentence),
        None => sentence,
    }
}

fn rate(rate: f64) -> String {
    format!("{} transactional I/Os per second", decimals(rate))
}

/// What the storage carried, and its nearest limit.
fn held(achieved: f64, rules: &[Rule], evidence: &Evidence) -> String {
    let above = evidence.target.map(|target| {
        let percent = (achieved / target.io_per_s - 1.0) * 100.0;
        match percent {
            percent if percent >= 0.0 => format!(", {} % above the target", decimals(percent)),
            percent => format!(", {} % below the target", decimals(-percent)),
        }
    });
    // More than was asked for is no merit of the storage.
    let paced = rules.iter().find(|rule| RuleId::LoadPace.is(rule));
    let above = match paced.filter(|rule| rule.outcome == Outcome::Advisory) {
        Some(rule) => Some(format!(
            ", {} above its pace, so this was not the load that was asked for",
            rule.measured_in_words()
        )),
        None => above,
    };
    let rate = format!("{}{}", rate(achieved), above.unwrap_or_default());
    let held = match evidence.mailboxes {
        Some(count) => format!(
            "This storage {} {} mailboxes: {rate}, every limit held",
            match evidence.is_predicted {
                true => "would carry",
                false => "carried",
            },
            grouped(count)
        ),
        None => format!("{} held every limit at {rate}", evidence.storage()),
    };
    match nearest(rules) {
        Some(nearest) => format!("{held}. Nearest to its limit: {nearest}."),
        None => format!("{held}."),
    }
}

/// The Jetstress limit that was used up most, unless it was exceeded and tolerated.
fn nearest(rules: &[Rule]) -> Option<String> {
    let used = rules.iter().filter_map(|rule| {
        let used = rule.used_percent()?;
        let is_one = rule.group == Group::Limits && rule.direction == Direction::AtMost;
        (is_one && used <= 100.0).then_some((used, rule))
    });
    let (_, rule) = used.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let (measured, limit) = (rule.measured_in_words(), rule.limit_in_words());
    Some(format!("{}, {measured} of {limit}", rule.title))
}

/// The work of a test without load, such as a backup.
fn done(rules: &[Rule], evidence: &Evidence) -> String {
    let all = evidence.done.iter().filter_map(|done| {
        let rule = rules.iter().find(|rule| done.what.is(rule))?;
        rule.measured?;
        let remark = match rule.remark.as_str() {
            "" => String::new(),
            remark => format!(" ({remark})"),
        };
        let count = |what| counted(done.done.unwrap_or_default(), what);
        Some(match done.what {
            RuleId::DatabasesBackedUp => format!("{} backed up{remark}", count("database")),
            RuleId::DatabasesRestored => format!("{} restored{remark}", count("database")),
            RuleId::LogsReplayed => format!("each instance replayed {}{remark}", count("log file")),
            _ => format!("{}: {}{remark}", rule.title, rule.measured_in_words()),
        })
    });
    let mut parts: Vec<String> = all.collect();
    if parts.is_empty() {
        parts.push("everything was done".to_owned());
    }
    // A prediction has nothing to compare.
    parts.extend(evidence.records.as_ref().map(|_| "nothing is missing".to_owned()));
    capitalised(&format!("{}.", parts.join("; ")))
}

/// All failed rules in words, those about integrity first.
fn failures(rules: &[Rule]) -> String {
    failures_of(rules, |_| true)
}

fn failures_of(rules: &[Rule], which: fn(&Rule) -> bool) -> String {
    let failed = gravest_first(rules).into_iter().filter(|rule| which(rule));
    let failed: Vec<String> = failed.filter_map(failure).collect();
    failed.join("; ")
}

/// A failed rule in words.
fn failure(rule: &Rule) -> Option<String> {
    if rule.outcome != Outcome::Failed {
        return None;
    }
    let mut text = format!("{} {}", rule.title, rule.measured_and_limit());
    if !rule.remark.is_empty() {
        text += &format!(", {}", rule.remark);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Tuning;
    use brunt_run::Standstill;
    use brunt_units::Span;
    use brunt_workload::profile::Version;

    use super::*;
    use crate::goal::Target;
    use crate::kinds::TestKind;
    use crate::plan::Limits;
    use crate::rules::device::VolumeIo;
    use crate::rules::{
        Done, FilesVerified, RecordsVerified, Samples, SessionsUse, StreamLatency, SystemLog,
        bottleneck, judge,
    };

    fn judged(evidence: &Evidence) -> Vec<Rule> {
        let limits = Limits::of(Version::Exchange2013.profile(), TestKind::Performance);
        judge(TestKind::Performance, evidence, &limits)
    }

    fn evidence() -> Evidence {
        let stream = |millis| StreamLatency {
            name: String::new(),
            mean: Some(Span::millis(millis)),
            samples: Samples::default(),
        };
        Evidence {
            reads: vec![stream(5)],
            log_writes: vec![stream(4)],
            achieved_io_per_s: Some(480.0),
            target: Some(Target { io_per_s: 400.0, headroom_percent: 20 }),
            ..Evidence::default()
        }
    }

    #[test]
    fn only_a_complete_run_is_judged() {
        let mut evidence = evidence();
        evidence.io_errors = 3;
        let rules = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Fail);
        assert_eq!(verdict(&Ending::Stopped, &rules), Verdict::Interrupted);
        let broken = Ending::Broken("the disk went away".to_owned());
        assert_eq!(verdict(&broken, &rules), Verdict::Fail);
        let said = sentence(&Ending::Complete, &rules, &evidence, None);
        assert_eq!(
            said,
            "This storage does not hold at 480 transactional I/Os per second: I/O errors 3 (limit 0)."
        );
        evidence.io_errors = 0;
        evidence.stalls_per_s = Some(100.0);
        let slow = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &slow), Verdict::Fail);
        assert_eq!(verdict(&broken, &slow), Verdict::Error);
        assert!(sentence(&broken, &rules, &evidence, None).contains("the disk went away"));
    }

    #[test]
    fn a_search_that_contradicts_itself_is_no_failure_of_the_storage() {
        let mut evidence = evidence();
        let unanswered = Ending::Unanswered("no sessions were found".to_owned());
        for (is_contradictory, wanted) in [(true, Verdict::Inconclusive), (false, Verdict::Fail)] {
            evidence.tuning = Some(Tuning {
                is_contradictory,
                outcome: "no sessions were found".to_owned(),
                ..Tuning::default()
            });
            assert_eq!(verdict(&unanswered, &judged(&evidence)), wanted);
        }
    }

    /// A file system that becomes read-only ends a test. It is the storage's fault where the kernel
    /// or the test itself saw errors.
    #[test]
    fn a_test_that_broke_off_fails_where_devices_had_errors() {
        let ending = Ending::Broken("the file system is read-only".to_owned());
        let mut evidence = evidence();
        evidence.system_log = Some(SystemLog { errors: Some(0), ..SystemLog::default() });
        assert_eq!(verdict(&ending, &judged(&evidence)), Verdict::Error);
        let mut seen = evidence.clone();
        seen.system_log = Some(SystemLog { errors: Some(3), ..SystemLog::default() });
        assert_eq!(verdict(&ending, &judged(&seen)), Verdict::Fail);
        evidence.io_errors = 1;
        assert_eq!(verdict(&ending, &judged(&evidence)), Verdict::Fail);
    }

    /// Nothing but time was lost in a standstill.
    #[test]
    fn a_standstill_is_no_excuse_for_lost_data() {
        let stood = Standstill { longest: Span::seconds(3), ..Standstill::default() };
        let mut evidence = evidence();
        evidence.tester.standstill = Some(stood);
        evidence.reads[0].mean = Some(Span::millis(50));
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Invalid);
        evidence.io_errors = 1;
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
    }

    #[test]
    fn a_test_of_something_else_than_the_storage_is_invalid() {
        let mut evidence = evidence();
        evidence.volumes = vec![VolumeIo {
            mount: "/srv".to_owned(),
            engine: 1 << 30,
            device: Some(1 << 29),
            ..VolumeIo::default()
        }];
        let rules = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Invalid);
        let said = sentence(&Ending::Complete, &rules, &evidence, None);
        assert_eq!(
            said,
            "The test is invalid (480 transactional I/Os per second): something else than this storage was measured: \
             device agrees 50 % of reads (minimum 90 % of reads), /srv: 512 MiB of 1 GiB (50.0 %) reached the device."
        );
    }

    #[test]
    fn a_pass_says_what_was_carried_and_what_would_give_way_first() {
        let mut evidence = evidence();
        let said =
            |evidence: &Evidence| sentence(&Ending::Complete, &judged(evidence), evidence, None);
        assert_eq!(
            said(&evidence),
            "This storage held every limit at 480 transactional I/Os per second, 20.0 % above the target. \
             Nearest to its limit: log write, average, 4 ms of 10 ms."
        );
        evidence.mailboxes = Some(4_000);
        evidence.target = None;
        evidence.log_writes = evidence.reads.clone();
        evidence.log_writes[0].mean = Some(Span::millis(1));
        assert_eq!(
            said(&evidence),
            "This storage carried 4,000 mailboxes: 480 transactional I/Os per second, every limit held. \
             Nearest to its limit: database read, average, 5 ms of 20 ms."
        );
        evidence.is_predicted = true;
        let predicted = said(&evidence);
        assert!(predicted.starts_with("This storage would carry 4,000 mailboxes: "), "{predicted}");
    }

    #[test]
    fn a_target_missed_without_reads_says_nothing_about_the_storage() {
        let mut evidence = evidence();
        evidence.reads[0].mean = None;
        evidence.achieved_io_per_s = Some(3.0);
        let rules = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Inconclusive);
        assert_eq!(bottleneck(&rules, &evidence), None);
        let said = sentence(&Ending::Complete, &rules, &evidence, None);
        assert!(said.contains("no I/O to measure for database read, average."), "{said}");
        evidence.io_errors = 1;
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
        evidence.io_errors = 0;
        evidence.log_writes[0].mean = Some(Span::millis(30));
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
    }

    #[test]
    fn rates_and_latencies_of_a_program_that_was_held_back_are_not_the_storages() {
        let mut evidence = evidence();
        evidence.reads[0].mean = Some(Span::millis(25));
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
        evidence.tester.throttled_percent = Some(30.0);
        let rules = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Invalid);
        assert_eq!(
            sentence(&Ending::Complete, &rules, &evidence, None),
            "The test is invalid (480 transactional I/Os per second): a limit on processor time held the program back for 30.0 % of \
             the time, and what failed may be due to that: database read, average 25 ms (limit 20 ms)."
        );
        evidence.io_errors = 1;
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
        evidence.io_errors = 0;
        evidence.reads[0].mean = Some(Span::millis(5));
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Pass);
    }

    /// 6 of 8 I/Os a second by two sessions that are always busy, on a host that others keep busy
    /// and that runs the program late.
    fn held_back() -> Evidence {
        let mut evidence = evidence();
        evidence.achieved_io_per_s = Some(5.0);
        evidence.target = Some(Target { io_per_s: 6.0, headroom_percent: 0 });
        evidence.sessions = Some(SessionsUse { count: 2, busy: 0.99 });
        evidence.tester.host_percent = Some(91.0);
        evidence.tester.delay_p99 = Some(Span::millis(80));
        evidence
    }

    #[test]
    fn a_test_that_the_host_held_back_is_invalid() {
        let verdict_of = |evidence: &Evidence| verdict(&Ending::Complete, &judged(evidence));
        let late = held_back();
        assert_eq!(verdict_of(&late), Verdict::Invalid);
        let rules = judged(&late);
        let said = sentence(&Ending::Complete, &rules, &late, None);
        assert!(
            said.starts_with(
                "The test is invalid (5.00 transactional I/Os per second): the host's CPUs were 91 % busy, and brunt was scheduled late \
                 (p99 80.0 ms), and what failed may be due to that: achieved database I/O 5 /s"
            ),
            "{said}"
        );
        let why = bottleneck(&rules, &late).unwrap();
        assert!(why.sentence.contains("the host held the test back"), "{why:?}");
        // Its own processor time, as well.
        let mut busy = held_back();
        busy.tester.host_percent = Some(50.0);
        assert_eq!(verdict_of(&busy), Verdict::Fail, "late, but nobody knows why");
        busy.tester.busy_percent = Some(97.0);
        assert_eq!(verdict_of(&busy), Verdict::Invalid);
        // What the delay does not explain is the storage's.
        for (millis, wanted) in [(100, Verdict::Invalid), (101, Verdict::Fail)] {
            let mut slow = held_back();
            slow.reads[0].mean = Some(Span::millis(millis));
            assert_eq!(verdict_of(&slow), wanted, "{millis} ms");
        }
        let mut lost = held_back();
        lost.io_errors = 1;
        assert_eq!(verdict_of(&lost), Verdict::Fail);
    }

    #[test]
    fn a_target_missed_for_want_of_demand_says_nothing_about_the_storage() {
        let mut evidence = evidence();
        evidence.achieved_io_per_s = Some(300.0);
        evidence.sessions = Some(SessionsUse { count: 8, busy: 0.4 });
        let rules = judged(&evidence);
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Inconclusive);
        let why = bottleneck(&rules, &evidence);
        let said = sentence(&Ending::Complete, &rules, &evidence, why.as_ref());
        assert_eq!(
            said,
            "Target missed: 300 of 400 transactional I/Os per second (at least 380 needed). 8 sessions had nothing to do for 60 % of the \
             time: neither they nor the storage were the limit. Less was asked for than intended; the pace may need a longer warm-up or a \
             longer test to settle."
        );
        evidence.log_writes[0].mean = Some(Span::millis(30));
        assert_eq!(verdict(&Ending::Complete, &judged(&evidence)), Verdict::Fail);
    }

    #[test]
    fn wrong_data_is_said_before_anything_that_is_slow() {
        let mut evidence = evidence();
        evidence.stalls_per_s = Some(50.4);
        evidence.wrong_files = 6;
        evidence.pages = Some(FilesVerified { seen: 100, bad: 3, correctable: 0, files: 8 });
        let said = sentence(&Ending::Complete, &judged(&evidence), &evidence, None);
        let wanted = "The storage returned wrong data (6 files): pages verified 3 bad (limit 0 bad), of 100 pages in 8 files, 0 correctable; \
                      page-fault stalls, average 50.4 /s";
        assert!(said.starts_with(wanted), "{said}");
    }

    #[test]
    fn a_backup_says_how_fast_it_was() {
        let evidence = |records| Evidence {
            done: vec![Done {
                what: RuleId::DatabasesBackedUp,
                wanted: 2,
                done: Some(2),
                remark: "912 MiB/s in total".to_owned(),
            }],
            records,
            ..Evidence::default()
        };
        let said = |evidence: Evidence| {
            let limits = Limits::of(Version::Exchange2013.profile(), TestKind::DatabaseBackup);
            let rules = judge(TestKind::DatabaseBackup, &evidence, &limits);
            sentence(&Ending::Complete, &rules, &evidence, None)
        };
        assert_eq!(
            said(evidence(Some(RecordsVerified {
                expected: 1_000,
                checked: 1_000,
                known: 1_000,
                ..RecordsVerified::default()
            }))),
            "2 databases backed up (912 MiB/s in total); nothing is missing."
        );
        assert_eq!(said(evidence(None)), "2 databases backed up (912 MiB/s in total).");
    }
}
