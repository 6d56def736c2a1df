//! Trials in words, and why no number of sessions was found.

use brunt_report::result::Trial;
use brunt_report::{counted, decimals};
use brunt_workload::tuning::{Reading, Why};

use super::{Measured, Search};
use crate::plan::Limits;

/// A limit that a trial exceeded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Over {
    /// Sessions of the trial.
    pub(super) sessions: u32,
    which: Which,
    /// With the measured value, and what to try.
    what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Reads,
    Log,
    Stalls,
}

impl Over {
    /// The limit that a trial of `sessions` exceeded by most; `None` if all held.
    pub(super) fn of(sessions: u32, measured: &Measured, limits: &Limits) -> Option<Self> {
        let latency = &limits.latency;
        let values = [
            (Which::Reads, measured.read_ms, latency.read_mean.as_millis()),
            (Which::Log, measured.log_ms, latency.log_mean.as_millis()),
            (Which::Stalls, measured.stalls_per_s, limits.stalls_per_s),
        ];
        let worst = values
            .into_iter()
            .max_by(|(_, one, of), (_, other, than)| (one / of).total_cmp(&(other / than)));
        let (which, value, limit) = worst.filter(|(_, value, limit)| value > limit)?;
        let value = decimals(value);
        Some(Self {
            sessions,
            which,
            what: match which {
                Which::Reads => format!("database reads take {value} ms (limit {limit} ms)"),
                Which::Log => format!("log writes take {value} ms (limit {limit} ms)"),
                Which::Stalls => format!(
                    "operations wait {value} times a second for a free page of the cache (limit {limit}): it is too small, \
                     or database writes are too slow to free pages; try a larger `profile.cache_max`"
                ),
            },
        })
    }
}

/// Why no sessions were found for `asked` I/Os per second, and whether trials contradict one
/// another. `over` is the limit that its trials exceeded. With a pace, `maximum` is the outcome of
/// the search without one.
pub(super) fn refusal(
    why: Why,
    asked: f64,
    over: Option<Over>,
    maximum: Option<Search>,
) -> (String, bool) {
    let (most, beyond) = match &maximum {
        Some(Search::Found { sessions, io_per_s, over }) => {
            (Some((*sessions, *io_per_s)), over.clone())
        }
        Some(Search::None { over, .. }) => (None, over.clone()),
        _ => (None, None),
    };
    let asked_words = decimals(asked);
    if let Some((sessions, most)) = most.filter(|(_, most)| *most >= asked) {
        let most = decimals(most);
        let text = format!(
            "no trial paced at {asked_words} I/Os per second passed, but {} without a pace pass at {most}: \
             the storage can do it, and brunt or its host could not keep the pace; run it again on an idle host",
            counted(sessions.into(), "session"),
        );
        return (text, true);
    }
    let mut text = match (why, &maximum) {
        (Why::Unsteady, _) | (Why::Pace, None) => {
            let text = "trials contradict one another, so no number of sessions was found; \
                        run it again on an idle host";
            return (text.to_owned(), true);
        }
        (Why::Pace, Some(_)) => {
            format!("no number of sessions keeps {asked_words} I/Os per second")
        }
        (Why::Limits, Some(_)) => {
            format!("{asked_words} I/Os per second are kept only above a limit")
        }
        (Why::Limits, None) => "even the fewest sessions are above a limit".to_owned(),
    };
    text += &match (most, &maximum) {
        (Some((sessions, most)), _) => format!(
            "; the most that passes is {} with {}",
            decimals(most),
            counted(sessions.into(), "session")
        ),
        (None, Some(Search::None { .. })) => {
            "; no number of sessions passes without a pace".to_owned()
        }
        (None, _) => String::new(),
    };
    if let Some(over) = over.or(beyond) {
        let sessions = counted(over.sessions.into(), "session");
        text += &format!("; with {sessions}, {}", over.what);
    }
    (text, false)
}

/// A trial of `sessions`, paced for `asked` I/Os per second if there is a pace; `over` is the limit
/// that it exceeded.
pub(super) fn described(
    asked: Option<f64>,
    sessions: u32,
    measured: &Measured,
    over: Option<&Over>,
) -> Trial {
    let Reading { io_per_s, late, .. } = measured.reading;
    let outcome = match (asked, over) {
        (Some(asked), _) if late > 1.0 && io_per_s < asked => "behind its pace",
        (Some(_), _) if late > 1.0 => "operations begin late",
        (_, Some(over)) => match over.which {
            Which::Reads => "reads above their limit",
            Which::Log => "log above its limit",
            Which::Stalls => "page-fault stalls",
        },
        (Some(_), None) => "keeps its pace",
        (None, None) => "passes",
    };
    Trial {
        sessions,
        is_paced: asked.is_some(),
        io_per_s,
        db_read_ms: measured.read_ms,
        log_write_ms: measured.log_ms,
        page_fault_stalls_per_s: measured.stalls_per_s,
        outcome: outcome.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use brunt_workload::profile::Version;

    use super::*;
    use crate::kinds::TestKind;

    fn limits() -> Limits {
        Limits::of(Version::Exchange2013.profile(), TestKind::Performance)
    }

    fn measured(read_ms: f64, log_ms: f64, stalls_per_s: f64) -> Measured {
        Measured {
            reading: Reading { io_per_s: 2_431.0, ..Reading::default() },
            read_ms,
            log_ms,
            stalls_per_s,
        }
    }

    #[test]
    fn storage_that_does_more_without_a_pace_is_not_blamed() {
        let found = |io_per_s| Search::Found { sessions: 19, io_per_s, over: None };
        let said = |why, most| refusal(why, 2_400.0, None, Some(found(most)));
        for why in [Why::Pace, Why::Limits, Why::Unsteady] {
            let (text, is_contradictory) = said(why, 18_735.0);
            assert!(is_contradictory, "{text}");
            assert!(
                text.starts_with("no trial paced at 2,400 I/Os per second passed, but 19 sessions without a pace pass at 18,735: "),
                "{text}"
            );
        }
        assert_eq!(
            said(Why::Pace, 1_900.0),
            (
                "no number of sessions keeps 2,400 I/Os per second; the most that passes is 1,900 with 19 sessions".to_owned(),
                false
            )
        );
        assert!(refusal(Why::Unsteady, 0.0, None, None).1);
        assert_eq!(
            refusal(Why::Limits, 0.0, None, None),
            ("even the fewest sessions are above a limit".to_owned(), false)
        );
    }

    #[test]
    fn the_limit_that_was_exceeded_is_named() {
        let over = |measured| Over::of(2, &measured, &limits());
        assert_eq!(over(measured(20.0, 10.0, 1.0)), None);
        let said = |why, over, maximum| refusal(why, 900.0, over, maximum).0;
        assert_eq!(
            said(Why::Limits, over(measured(34.0, 12.0, 0.0)), None),
            "even the fewest sessions are above a limit; with 2 sessions, database reads take 34.0 ms (limit 20 ms)"
        );
        let maximum = Search::None { why: Why::Limits, over: over(measured(1.0, 1.0, 35.0)) };
        let stalls = said(Why::Pace, None, Some(maximum));
        assert!(
            stalls.contains("; with 2 sessions, operations wait 35.0 times a second for a free page of the cache (limit 1): "),
            "{stalls}"
        );
        assert!(stalls.ends_with("; try a larger `profile.cache_max`"), "{stalls}");
    }

    #[test]
    fn a_trial_is_behind_its_pace_only_below_it() {
        let outcome = |asked, late, mut measured: Measured| {
            measured.reading.late = late;
            let over = Over::of(4, &measured, &limits());
            described(asked, 4, &measured, over.as_ref()).outcome
        };
        let good = measured(1.0, 1.0, 0.0);
        assert_eq!(outcome(Some(2_500.0), 2.0, good), "behind its pace");
        assert_eq!(outcome(Some(2_400.0), 2.0, good), "operations begin late");
        assert_eq!(outcome(Some(2_400.0), 0.5, good), "keeps its pace");
        assert_eq!(outcome(None, 0.0, good), "passes");
        let over = |measured| outcome(None, 0.0, measured);
        assert_eq!(over(measured(21.0, 1.0, 0.0)), "reads above their limit");
        assert_eq!(over(measured(21.0, 30.0, 0.0)), "log above its limit");
        assert_eq!(over(measured(1.0, 1.0, 9.0)), "page-fault stalls");
    }
}
