//! Did the test measure the storage, or the tester?
//!
//! When the program does not keep up, or the machine does not let it run, latencies grow although
//! the storage is not to blame, and a target is missed that it could have held. These rules advise:
//! they help to read the others. Where one of them explains everything else that failed, it fails
//! as well ([`blame`]), and the test is invalid: it says nothing about the storage. A standstill
//! fails in any case: no load was there meanwhile, so a pass would flatter.
//!
//! | rule | limit | why |
//! | --- | --- | --- |
//! | delay p99 | 1 ms | a twentieth of the limit of an average read |
//! | standstill | 1 s | whatever is in flight meanwhile looks as slow ([`crate::pulse`]) |
//! | processor | 90 % of one core | one thread drives each shard |
//! | steal, throttling | 5 %; 1 % of the time | the machine's time went elsewhere |
//! | I/O limits | none | a control group held I/O back, not the storage |
//!
//! The limits are our choice.

use brunt_report::decimals;
use brunt_report::result::{Direction, Group, Outcome, Rule};
use brunt_run::Standstill;
use brunt_units::Span;

use super::{Evidence, RuleId, bottleneck};
use crate::pulse::GAP;

const DELAY: Span = Span::millis(1);
pub(super) const BUSY_PERCENT: f64 = 90.0;
const STEAL_PERCENT: f64 = 5.0;
const THROTTLED_PERCENT: f64 = 1.0;

/// Rules that can say why the program was held back; the first that is broken is named.
const HOLD: [RuleId; 6] = [
    RuleId::HostIoLimits,
    RuleId::TesterStandstill,
    RuleId::TesterProcessor,
    RuleId::HostThrottledTime,
    RuleId::HostStolenTime,
    RuleId::TesterDelay,
];

/// What the program and its machine report about themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tester {
    /// p99 of how late tasks ran.
    pub delay_p99: Option<Span>,
    /// When the program did not run.
    pub standstill: Option<Standstill>,
    /// Processor time of the program, in percent of one core for each shard.
    pub busy_percent: Option<f64>,
    /// Processor time in use by anything, in percent of the machine. No rule of its own: it
    /// explains the others.
    pub host_percent: Option<f64>,
    /// Processor time taken by other machines on the same host, in percent.
    pub steal_percent: Option<f64>,
    /// Time for which a limit on processor time kept the program from running, in percent.
    pub throttled_percent: Option<f64>,
    /// Limits of control groups on I/O to the tested devices, in words; `None` when they are not
    /// known.
    pub io_limits: Option<Vec<String>>,
}

pub(super) fn rules(tester: &Tester) -> [Rule; 6] {
    let delay = tester.delay_p99.map(Span::as_millis);
    let still = tester.standstill.as_ref();
    let stood = still.map_or_else(String::new, Standstill::words);
    let limits = tester.io_limits.as_ref();
    let limited = limits.map_or_else(String::new, |limits| limits.join("; "));
    let percent = |name: RuleId, limit, measured| Rule::at_most(name, "%", limit, measured);
    [
        (
            Rule::at_most(RuleId::TesterDelay, "ms", DELAY.as_millis(), delay),
            "",
            "brunt was scheduled late, so measured latencies are too high; give it a free CPU core",
        ),
        (
            Rule::at_most(
                RuleId::TesterStandstill,
                "ms",
                GAP.as_millis(),
                still.map(|still| still.longest.as_millis()),
            ),
            "",
            stood.as_str(),
        ),
        (
            percent(RuleId::TesterProcessor, BUSY_PERCENT, tester.busy_percent),
            "of one core",
            "of one core: the program may be what limits the rate, not the storage",
        ),
        (
            percent(RuleId::HostStolenTime, STEAL_PERCENT, tester.steal_percent),
            "",
            "other machines on the same host had the processor",
        ),
        (
            percent(RuleId::HostThrottledTime, THROTTLED_PERCENT, tester.throttled_percent),
            "",
            "a limit on processor time held the program back",
        ),
        (
            Rule::at_most(RuleId::HostIoLimits, "", 0.0, limits.map(|limits| limits.len() as f64)),
            "",
            limited.as_str(),
        ),
    ]
    .map(|(rule, usual, beyond)| match rule.outcome {
        Outcome::Failed if RuleId::TesterStandstill.is(&rule) => rule.with_remark(beyond),
        Outcome::Failed => rule.advisory().with_remark(beyond),
        _ => rule.with_remark(usual),
    })
}

/// Why a result does not qualify because the machine did not let the program run, or its I/O
/// through.
pub(crate) fn obstacle(tester: &Tester) -> Option<String> {
    let over = |measured: Option<f64>, limit| measured.filter(|percent| *percent > limit);
    let stolen = over(tester.steal_percent, STEAL_PERCENT);
    let throttled = over(tester.throttled_percent, THROTTLED_PERCENT);
    if let Some(limits) = tester.io_limits.as_ref().filter(|limits| !limits.is_empty()) {
        return Some(format!(
            "a control group limits I/O ({}): a run without the limit",
            limits.join("; ")
        ));
    }
    if let Some(still) = tester.standstill.as_ref().filter(|still| still.longest > GAP) {
        return Some(still.words());
    }
    match (stolen, throttled) {
        (_, Some(percent)) => Some(format!(
            "a limit on processor time held the program back for {percent:.1} % of the time"
        )),
        (Some(percent), None) => {
            Some(format!("{percent:.1} % of the processor time went to other machines on the host"))
        }
        (None, None) => None,
    }
}

/// The rules that say why the program was held back. That it was late on a busy host counts only if
/// it `can_be_late`.
fn holding(tester: &Tester, can_be_late: bool) -> Vec<RuleId> {
    let rules = rules(tester);
    let is_over = |id: &RuleId| {
        let mut broken =
            rules.iter().filter(|rule| matches!(rule.outcome, Outcome::Advisory | Outcome::Failed));
        broken.any(|rule| id.is(rule))
    };
    let is_late = can_be_late && tester.host_percent > Some(BUSY_PERCENT);
    let over = HOLD.into_iter().filter(is_over);
    over.filter(|id| *id != RuleId::TesterDelay || is_late).collect()
}

/// The first of these rules.
pub(super) fn held_back(tester: &Tester, can_be_late: bool) -> Option<RuleId> {
    holding(tester, can_be_late).first().copied()
}

/// Lets the rule fail that explains every other failure, if there is one.
pub(super) fn blame(rules: &mut [Rule], evidence: &Evidence) {
    let failed: Vec<&Rule> = rules
        .iter()
        .filter(|rule| rule.outcome == Outcome::Failed && rule.group != Group::FairTest)
        .collect();
    if failed.is_empty() {
        return;
    }
    let mut holding = holding(&evidence.tester, true).into_iter();
    let to_blame = holding.find(|id| failed.iter().all(|rule| explains(*id, rule, evidence)));
    if let Some(id) = to_blame {
        let own = rules.iter_mut().filter(|rule| id.is(rule));
        own.for_each(|rule| rule.outcome = Outcome::Failed);
    }
}

/// Whether `failed` may be due to what `id` says. Time and I/O that were taken away may explain
/// anything that depends on time; a program without time to spare, that it did too little; and one
/// that was late, no more than its delay.
fn explains(id: RuleId, failed: &Rule, evidence: &Evidence) -> bool {
    match id {
        RuleId::HostIoLimits
        | RuleId::TesterStandstill
        | RuleId::HostThrottledTime
        | RuleId::HostStolenTime => is_speed(failed),
        RuleId::TesterProcessor if is_rate(failed) => true,
        _ if RuleId::AchievedIo.is(failed) => bottleneck::lateness_explains(evidence),
        _ => is_speed(failed) && is_within_delay(failed, &evidence.tester),
    }
}

/// Whether a latency would hold its limit without the delay of the program.
fn is_within_delay(failed: &Rule, tester: &Tester) -> bool {
    let delay_ms = tester.delay_p99.map_or(0.0, Span::as_millis);
    let is_latency = failed.unit == "ms" && failed.direction == Direction::AtMost;
    let values = failed.measured.zip(failed.limit);
    is_latency && values.is_some_and(|(measured, limit)| measured - delay_ms <= limit)
}

/// Whether a rule says that the program was held back, and that everything else that failed may be
/// due to that.
pub(super) fn is_to_blame(rules: &[Rule]) -> bool {
    let failed = || rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    let mut holds = failed().filter(|rule| HOLD.iter().any(|id| id.is(rule)));
    holds.next().is_some() && failed().all(|rule| rule.group == Group::FairTest || is_speed(rule))
}

/// What held the program back, in words, of `rules` that put the blame on it.
pub(super) fn held_back_in_words(rules: &[Rule], tester: &Tester) -> Option<String> {
    let mut failed = rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    let id = failed.find_map(|rule| HOLD.into_iter().find(|id| id.is(rule)))?;
    match id {
        RuleId::TesterProcessor => {
            Some(format!("brunt used {:.0} % of each core that it runs on", tester.busy_percent?))
        }
        RuleId::TesterDelay => Some(format!(
            "the host's CPUs were {:.0} % busy, and brunt was scheduled late (p99 {} ms)",
            tester.host_percent?,
            decimals(tester.delay_p99?.as_millis())
        )),
        _ => obstacle(tester),
    }
}

/// Whether the rule is about how much was done in a time.
pub(super) fn is_rate(rule: &Rule) -> bool {
    RuleId::AchievedIo.is(rule) || RuleId::StationaryIoRate.is(rule)
}

/// Whether the rule is about rates or latencies, and not about what was done and what is there.
fn is_speed(rule: &Rule) -> bool {
    const WORK: [RuleId; 4] = [
        RuleId::SessionsFound,
        RuleId::DatabasesBackedUp,
        RuleId::DatabasesRestored,
        RuleId::LogsReplayed,
    ];
    match rule.group {
        Group::Limits => !WORK.iter().any(|id| id.is(rule)),
        Group::Steadiness | Group::Tail => true,
        Group::Integrity | Group::FairTest => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Tester {
        Tester {
            delay_p99: Some(DELAY),
            standstill: Some(Standstill { longest: GAP, ..Standstill::default() }),
            busy_percent: Some(90.0),
            host_percent: None,
            steal_percent: Some(5.0),
            throttled_percent: Some(1.0),
            io_limits: Some(Vec::new()),
        }
    }

    fn outcomes(tester: &Tester) -> [Outcome; 6] {
        rules(tester).map(|rule| rule.outcome)
    }

    #[test]
    fn a_tester_that_keeps_up_is_fine_and_any_other_is_named() {
        assert_eq!(outcomes(&good()), [Outcome::Ok; 6]);
        assert_eq!(obstacle(&good()), None);
        let bad = Tester {
            delay_p99: Some(Span(DELAY.0 + 1)),
            standstill: Some(Standstill {
                count: 1,
                longest: Span(GAP.0 + 1),
                ..Standstill::default()
            }),
            busy_percent: Some(90.1),
            host_percent: None,
            steal_percent: Some(5.1),
            throttled_percent: Some(1.1),
            io_limits: Some(vec!["/a: 8:0 rbps=1048576".to_owned()]),
        };
        let mut wanted = [Outcome::Advisory; 6];
        wanted[1] = Outcome::Failed;
        assert_eq!(outcomes(&bad), wanted);
        let said = |tester: &Tester| obstacle(tester).unwrap();
        let limits = "a control group limits I/O (/a: 8:0 rbps=1048576): ";
        assert!(said(&bad).starts_with(limits));
        let bad = Tester { io_limits: None, ..bad };
        assert!(said(&bad).starts_with("brunt did not run for 1.0 s, 0 s after the start"));
        let bad = Tester { standstill: None, ..bad };
        assert!(said(&bad).starts_with("a limit on processor time"));
        let stolen = Tester { steal_percent: Some(12.0), ..good() };
        assert!(obstacle(&stolen).unwrap().starts_with("12.0 % of the processor"));
        assert_eq!(outcomes(&Tester::default()), [Outcome::NotMeasured; 6]);
    }
}
