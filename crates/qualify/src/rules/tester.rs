//! Did the test measure the storage, or the tester?
//!
//! When the program does not keep up, or the machine does not let it run, latencies grow although the storage is not to blame, and
//! a target is missed that it could have held. These rules advise: they help to read the others. Where the program stood still, stolen or
//! throttled time is over its limit, or I/O is limited, rates and latencies that fail do not tell of the storage ([`super::verdict`]).
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

use brunt_report::result::{Outcome, Rule};
use brunt_units::Span;

use super::RuleId;
use crate::pulse::{GAP, Standstill};

const DELAY: Span = Span::millis(1);
pub(super) const BUSY_PERCENT: f64 = 90.0;
const STEAL_PERCENT: f64 = 5.0;
const THROTTLED_PERCENT: f64 = 1.0;

/// What the program and its machine report about themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tester {
    /// p99 of how late tasks ran.
    pub delay_p99: Option<Span>,
    /// When the program did not run.
    pub standstill: Option<Standstill>,
    /// Processor time of the program, in percent of one core for each shard.
    pub busy_percent: Option<f64>,
    /// Processor time in use by anything, in percent of the machine. No rule of its own: it explains the others.
    pub host_percent: Option<f64>,
    /// Processor time taken by other machines on the same host, in percent.
    pub steal_percent: Option<f64>,
    /// Time for which a limit on processor time kept the program from running, in percent.
    pub throttled_percent: Option<f64>,
    /// Limits of control groups on I/O to the tested devices, in words; `None` when they are not known.
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
            percent(
                RuleId::HostThrottledTime,
                THROTTLED_PERCENT,
                tester.throttled_percent,
            ),
            "",
            "a limit on processor time held the program back",
        ),
        (
            Rule::at_most(
                RuleId::HostIoLimits,
                "",
                0.0,
                limits.map(|limits| limits.len() as f64),
            ),
            "",
            limited.as_str(),
        ),
    ]
    .map(|(rule, usual, beyond)| match rule.outcome {
        Outcome::Failed => rule.advisory().with_remark(beyond),
        _ => rule.with_remark(usual),
    })
}

/// Why a result does not qualify because the machine did not let the program run, or its I/O through.
pub(crate) fn obstacle(tester: &Tester) -> Option<String> {
    let over = |measured: Option<f64>, limit| measured.filter(|percent| *percent > limit);
    let stolen = over(tester.steal_percent, STEAL_PERCENT);
    let throttled = over(tester.throttled_percent, THROTTLED_PERCENT);
    if let Some(limits) = tester
        .io_limits
        .as_ref()
        .filter(|limits| !limits.is_empty())
    {
        return Some(format!(
            "a control group limits I/O ({}): a run without the limit",
            limits.join("; ")
        ));
    }
    if let Some(still) = tester
        .standstill
        .as_ref()
        .filter(|still| still.longest > GAP)
    {
        return Some(still.words());
    }
    match (stolen, throttled) {
        (_, Some(percent)) => Some(format!(
            "a limit on processor time held the program back for {percent:.1} % of the time"
        )),
        (Some(percent), None) => Some(format!(
            "{percent:.1} % of the processor time went to other machines on the host"
        )),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Tester {
        Tester {
            delay_p99: Some(DELAY),
            standstill: Some(Standstill {
                longest: GAP,
                ..Standstill::default()
            }),
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
        assert_eq!(outcomes(&bad), [Outcome::Advisory; 6]);
        let said = |tester: &Tester| obstacle(tester).unwrap();
        let limits = "a control group limits I/O (/a: 8:0 rbps=1048576): ";
        assert!(said(&bad).starts_with(limits));
        let bad = Tester {
            io_limits: None,
            ..bad
        };
        assert!(said(&bad).starts_with("brunt did not run for 1.0 s, 0 s after the start"));
        let bad = Tester {
            standstill: None,
            ..bad
        };
        assert!(said(&bad).starts_with("a limit on processor time"));
        let stolen = Tester {
            steal_percent: Some(12.0),
            ..good()
        };
        assert!(
            obstacle(&stolen)
                .unwrap()
                .starts_with("12.0 % of the processor")
        );
        assert_eq!(outcomes(&Tester::default()), [Outcome::NotMeasured; 6]);
    }
}
