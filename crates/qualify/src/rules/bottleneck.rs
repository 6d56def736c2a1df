//! Why a target was missed: from what was measured to a sentence that says what to try.
//!
//! ```text
//!   held back? --> reads or log over their limits? --> page-fault stalls? --> sessions idle? --> storage busy?
//!      host             storage, log                        cache                 pace         no: sessions
//!                                                                                              yes: storage
//!                                                                                          unknown: undecided
//! ```
//!
//! A host that ran the program late held it back only if the sessions had no time to spare and the
//! lateness explains the missing rate.
//!
//! Sessions that are busy all the time ask for no more than their number divided by the time that
//! an I/O takes of them. That they are the limit is known only if the storage had time to spare. A
//! device of this machine is busy while any request is in flight, and many devices serve several at
//! once: one that is always busy may still have time to spare. A part of a model has not.

use brunt_report::result::{Bottleneck, BusyPart, Limiting, Outcome, Rule};
use brunt_report::{counted, decimals, grouped};
use brunt_units::Span;

use super::tester::{self, Tester};
use super::{Evidence, RuleId};

/// Sessions that spend this share of their time in operations have none left; our choice, as is the
/// next.
const SESSIONS_BUSY: f64 = 0.9;
/// A part of the storage that is busy for a smaller share of the time can do more.
const PART_BUSY: f64 = 0.9;

/// What sessions did with their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionsUse {
    /// Sessions in the pool.
    pub count: u32,
    /// Share of their time in operations, 0 to 1.
    pub busy: f64,
}

/// Why the target or its headroom was missed; `None` when neither was, or without database reads,
/// which say nothing about the storage.
pub fn bottleneck(rules: &[Rule], evidence: &Evidence) -> Option<Bottleneck> {
    let is_missed = |rule: &Rule| match rule.outcome {
        Outcome::Failed | Outcome::NotJudged => RuleId::AchievedIo.is(rule),
        Outcome::Advisory => RuleId::AchievedHeadroom.is(rule),
        _ => false,
    };
    let has_reads = evidence.reads.iter().any(|reads| reads.mean.is_some());
    if !has_reads || !rules.iter().any(is_missed) {
        return None;
    }
    let (limit, sentence) = decide(rules, evidence);
    Some(Bottleneck { server: None, limit, sentence, busiest: evidence.busiest.clone() })
}

/// Takes the outcome of a target that was missed because less was asked for than intended: that
/// says nothing about the storage.
pub(super) fn unjudge(rules: &mut [Rule], evidence: &Evidence) {
    let is_pace = bottleneck(rules, evidence).is_some_and(|why| why.limit == Limiting::Pace);
    let mut missed = rules.iter_mut().filter(|rule| RuleId::AchievedIo.is(rule));
    if let Some(rule) = missed.find(|rule| is_pace && rule.outcome == Outcome::Failed) {
        rule.outcome = Outcome::NotJudged;
        rule.remark += "; less was asked for";
    }
}

fn decide(rules: &[Rule], evidence: &Evidence) -> (Limiting, String) {
    let is_over = |id: RuleId| {
        let rule = rules.iter().find(|rule| id.is(rule));
        rule.is_some_and(|rule| rule.outcome == Outcome::Failed)
    };
    let slow = [RuleId::DatabaseReadAverage, RuleId::LogWriteAverage].map(is_over);
    if let Some(host) = host(&evidence.tester, lateness_explains(evidence)) {
        return match slow {
            [false, false] => (Limiting::Host, host),
            _ => {
                let text = "Latencies were over their limits as well, and what was measured does not tell why.";
                (Limiting::Undecided, format!("{host} {text}"))
            }
        };
    }
    let busiest = busiest(evidence);
    match slow {
        [true, true] => {
            let text =
                "Database reads and log writes took longer than allowed: the storage was the limit";
            return (Limiting::Storage, format!("{text}{busiest}."));
        }
        [true, false] => {
            let text = "Database reads took longer than allowed: the storage of the databases was the limit";
            return (Limiting::Storage, format!("{text}{busiest}."));
        }
        [false, true] => {
            let text = "Log writes took longer than allowed, database reads did not: the storage of the logs was the limit";
            return (Limiting::Log, format!("{text}{busiest}."));
        }
        [false, false] => {}
    }
    if is_over(RuleId::PageFaultStalls) {
        let stalls = decimals(evidence.stalls_per_s.unwrap_or_default());
        let text = format!(
            "Operations waited {stalls} times a second for a free page: the cache was the limit, because it is too small or \
             because database writes are too slow to free pages. Try a larger `profile.cache_max`."
        );
        return (Limiting::Cache, text);
    }
    busy_sessions(evidence, &busiest)
}

/// Latencies are within their limits: whether sessions or storage had time to spare.
fn busy_sessions(evidence: &Evidence, busiest: &str) -> (Limiting, String) {
    let sessions = evidence.sessions.zip(evidence.achieved_io_per_s);
    let sessions = sessions.filter(|(sessions, rate)| sessions.count > 0 && *rate > 0.0);
    let Some((sessions, rate)) = sessions else {
        let text = "Latencies stayed within their limits; what was measured does not tell what limits the rate.";
        return (Limiting::Undecided, text.to_owned());
    };
    let idle = 100.0 * (1.0 - sessions.busy);
    let number = counted(sessions.count.into(), "session");
    if sessions.busy < SESSIONS_BUSY {
        let text = format!(
            "{number} had nothing to do for {idle:.0} % of the time: neither they nor the storage were the limit{busiest}. Less \
             was asked for than intended; the pace may need a longer warm-up or a longer test to settle."
        );
        return (Limiting::Pace, text);
    }
    let asks = rate / sessions.busy;
    let each_ms = 1_000.0 * f64::from(sessions.count) / asks;
    let asks = format!(
        "{number} at {} ms for each I/O can ask for about {} I/Os per second",
        decimals(each_ms),
        grouped(rounded(asks))
    );
    let is_idle = |part: &BusyPart| part.busy < PART_BUSY;
    let more = match evidence.is_predicted {
        true => "more sessions, or `test.tune`",
        false => "`--tune`, or more sessions",
    };
    match evidence.busiest.as_ref().map(is_idle) {
        Some(true) => (
            Limiting::Sessions,
            format!("{asks}; the storage was not the limit{busiest}. Try {more}."),
        ),
        Some(false) if evidence.is_predicted => (
            Limiting::Storage,
            format!("{asks}, and the storage had no time to spare{busiest}: it was the limit."),
        ),
        Some(false) => (
            Limiting::Undecided,
            format!(
                "{asks}. Latencies stayed within their limits, so more may help: try {more}. What was measured does not tell \
                 whether the storage can do more{busiest}."
            ),
        ),
        None => (
            Limiting::Undecided,
            format!("{asks}. Latencies stayed within their limits, so more may help: try {more}."),
        ),
    }
}

/// ` (vda was busy 31 % of the time)`; empty when nothing is known.
fn busiest(evidence: &Evidence) -> String {
    evidence.busiest.as_ref().map_or_else(String::new, |BusyPart { part, busy }| {
        format!(" ({part} was busy {:.0} % of the time)", busy * 100.0)
    })
}

/// Whether the program was so late, and its sessions so busy, that it could have reached the rate
/// if it had been on time. Without figures of the sessions it may be.
pub(super) fn lateness_explains(evidence: &Evidence) -> bool {
    let figures = evidence.sessions.zip(evidence.achieved_io_per_s);
    let Some(((sessions, rate), target)) = figures.zip(evidence.target) else {
        return true;
    };
    let late_s = evidence.tester.delay_p99.map_or(0.0, Span::as_seconds);
    let each_s = f64::from(sessions.count) * sessions.busy / rate;
    let missing = 1.0 - rate / target.offered();
    sessions.busy >= SESSIONS_BUSY && late_s >= each_s * missing
}

/// What kept the program from running, if anything did. That it was late counts only if it
/// `can_be_late`.
fn host(tester: &Tester, can_be_late: bool) -> Option<String> {
    let what = match tester::held_back(tester, can_be_late)? {
        RuleId::TesterProcessor => {
            return Some(format!(
                "brunt used {:.0} % of each core that it runs on: brunt was the limit, not the storage. Raise \
                 `shards` in [engine] to use more cores.",
                tester.busy_percent?
            ));
        }
        RuleId::HostIoLimits | RuleId::TesterStandstill => {
            let what = tester::obstacle(tester)?;
            let (first, rest) = what.split_at(1);
            return Some(format!("{}{rest}.", first.to_uppercase()));
        }
        RuleId::HostThrottledTime => {
            format!("A CPU limit stopped brunt for {:.0} % of the time", tester.throttled_percent?)
        }
        RuleId::HostStolenTime => {
            format!("Other virtual machines took {:.0} % of the CPU time", tester.steal_percent?)
        }
        _ => format!(
            "The host's CPUs were {:.0} % busy, and brunt was scheduled late (p99 {} ms)",
            tester.host_percent?,
            decimals(tester.delay_p99?.as_millis())
        ),
    };
    Some(format!("{what}: the host held the test back. Run it again with a free CPU core."))
}

/// Two significant figures: the estimate is no better.
fn rounded(rate: f64) -> u64 {
    let step = 10_f64.powf((rate.max(1.0).log10().floor() - 1.0).max(0.0));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and a rate is not below zero"
    )]
    let rounded = ((rate / step).round() * step) as u64;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Target;
    use crate::kinds::TestKind;
    use crate::rules::tests::{limits, stream};
    use crate::rules::{Ending, judge, sentence};

    const MS: Span = Span::millis(1);

    /// 4 sessions that are always busy, and fast storage that was not looked at.
    fn evidence() -> Evidence {
        Evidence {
            reads: vec![stream("DB1", MS, MS * 2, 0, 480)],
            log_writes: vec![stream("Instance 1", MS, MS * 2, 0, 480)],
            stalls_per_s: Some(0.0),
            achieved_io_per_s: Some(7_215.0),
            target: Some(Target { io_per_s: 60_000.0, headroom_percent: 0 }),
            sessions: Some(SessionsUse { count: 4, busy: 0.99 }),
            ..Evidence::default()
        }
    }

    fn busy(part: &str, busy: f64) -> Option<BusyPart> {
        let part = part.to_owned();
        Some(BusyPart { part, busy })
    }

    fn slow_reads(evidence: &mut Evidence) {
        evidence.reads = vec![stream("DB1", MS * 30, MS * 40, 0, 480)];
    }

    fn slow_logs(evidence: &mut Evidence) {
        evidence.log_writes = vec![stream("Instance 1", MS * 30, MS * 40, 0, 480)];
    }

    /// Two sessions that are to do six I/Os a second and do five, on a host that others keep busy.
    fn late_host(evidence: &mut Evidence, busy: f64) {
        evidence.achieved_io_per_s = Some(5.0);
        evidence.target = Some(Target { io_per_s: 6.0, headroom_percent: 0 });
        evidence.sessions = Some(SessionsUse { count: 2, busy });
        evidence.tester.host_percent = Some(99.0);
        evidence.tester.delay_p99 = Some(MS * 3);
    }

    #[test]
    fn what_was_measured_decides_or_the_sentence_says_that_it_does_not() {
        const ASKS: &str =
            "4 sessions at 0.55 ms for each I/O can ask for about 7,300 I/Os per second";
        type Case = (fn(&mut Evidence), Limiting, String);
        let cases: [Case; 17] = [
            (|_| {}, Limiting::Undecided,
             format!("{ASKS}. Latencies stayed within their limits, so more may help: try `--tune`, or more sessions.")),
            (|e| e.busiest = busy("vda", 0.31), Limiting::Sessions,
             format!("{ASKS}; the storage was not the limit (vda was busy 31 % of the time). Try `--tune`, or more sessions.")),
            // A device that always has a request in flight may serve several at once.
            (|e| e.busiest = busy("vda", 0.97), Limiting::Undecided,
             "does not tell whether the storage can do more (vda was busy 97 % of the time).".to_owned()),
            (|e| { e.busiest = busy("group \"db\"", 0.97); e.is_predicted = true; }, Limiting::Storage,
             format!("{ASKS}, and the storage had no time to spare (group \"db\" was busy 97 % of the time): it was the limit.")),
            (|e| { e.busiest = busy("group \"db\"", 0.2); e.is_predicted = true; }, Limiting::Sessions,
             "Try more sessions, or `test.tune`.".to_owned()),
            (|e| e.sessions = None, Limiting::Undecided, "does not tell what limits the rate.".to_owned()),
            (|e| e.sessions.as_mut().unwrap().busy = 0.4, Limiting::Pace,
             "4 sessions had nothing to do for 60 % of the time: neither".to_owned()),
            (slow_reads, Limiting::Storage, "Database reads took longer than allowed".to_owned()),
            (slow_logs, Limiting::Log, "Log writes took longer than allowed, database reads did not".to_owned()),
            (|e| { slow_reads(e); slow_logs(e); e.busiest = busy("vda", 0.5); }, Limiting::Storage,
             "Database reads and log writes took longer than allowed: the storage was the limit (vda was busy 50 % of the time).".to_owned()),
            (|e| e.stalls_per_s = Some(35.0), Limiting::Cache,
             "Operations waited 35.0 times a second for a free page: the cache was the limit".to_owned()),
            (|e| e.tester.busy_percent = Some(97.0), Limiting::Host,
             "brunt used 97 % of each core that it runs on: brunt was the limit, not the storage. Raise `shards`".to_owned()),
            (|e| e.tester.steal_percent = Some(12.0), Limiting::Host,
             "Other virtual machines took 12 % of the CPU time: the host held the test back.".to_owned()),
            (|e| { e.tester.host_percent = Some(99.0); e.tester.delay_p99 = Some(MS * 8); }, Limiting::Host,
             "The host's CPUs were 99 % busy, and brunt was scheduled late (p99 8.00 ms): the host held the test back.".to_owned()),
            (|e| { late_host(e, 0.01); }, Limiting::Pace, "2 sessions had nothing to do for 99 % of the time".to_owned()),
            (|e| { late_host(e, 0.95); }, Limiting::Undecided, "2 sessions at 380 ms for each I/O".to_owned()),
            (|e| { slow_reads(e); e.tester.throttled_percent = Some(30.0); }, Limiting::Undecided,
             "A CPU limit stopped brunt for 30 % of the time: the host held the test back. Run it again with a free CPU core. Latencies were over".to_owned()),
        ];
        for (change, limit, wanted) in cases {
            let mut evidence = evidence();
            change(&mut evidence);
            let rules = judge(TestKind::Performance, &evidence, &limits());
            let found = bottleneck(&rules, &evidence).unwrap();
            assert_eq!(found.limit, limit, "{}", found.sentence);
            assert!(found.sentence.contains(&wanted), "{}\nwanted: {wanted}", found.sentence);
            assert_eq!(found.busiest, evidence.busiest);
        }
    }

    #[test]
    fn only_a_missed_rate_has_a_reason() {
        let mut evidence = evidence();
        let mut of = |io_per_s, headroom_percent| {
            evidence.target = Some(Target { io_per_s, headroom_percent });
            let rules = judge(TestKind::Performance, &evidence, &limits());
            let why = bottleneck(&rules, &evidence);
            let said = sentence(&Ending::Complete, &rules, &evidence, why.as_ref());
            (why.is_some(), said)
        };
        assert!(!of(7_000.0, 0).0);
        let (is_missed, said) = of(7_000.0, 20);
        assert!(
            is_missed && said.contains(". The headroom was not shown. 4 sessions at"),
            "{said}"
        );
        let (is_missed, said) = of(60_000.0, 0);
        assert!(is_missed);
        assert!(said.starts_with("Target missed: 7,215 of 60,000 transactional I/Os per second (at least 57,000 needed). 4 sessions"), "{said}");
        slow_reads(&mut evidence);
        let rules = judge(TestKind::Performance, &evidence, &limits());
        let why = bottleneck(&rules, &evidence);
        let said = sentence(&Ending::Complete, &rules, &evidence, why.as_ref());
        assert!(said.starts_with("This storage does not hold at 7,215 transactional"), "{said}");
        assert!(said.ends_with(". Database reads took longer than allowed: the storage of the databases was the limit."), "{said}");
    }

    #[test]
    fn an_estimate_has_two_figures() {
        let all = [0.0, 4.2, 12.4, 128.0, 7_272.7, 18_735.0].map(rounded);
        assert_eq!(all, [0, 4, 12, 130, 7_300, 19_000]);
    }
}
