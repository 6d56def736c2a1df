//! `--until-fail`: what is said of the largest number of mailboxes for which every rule holds, and
//! of what ends it.

use brunt_lab::search::{Found, MAILBOXES};
use brunt_lab::{Judged, Tried};
use brunt_qualify::rules::RuleId;
use brunt_report::result::{Bottleneck, Limiting, Rule, Verdict};
use brunt_report::{counted, grouped};
use serde_json::json;

use super::kept::{Curve, CurvePoint};

/// Failed rules that are named.
const RULES_MAX: usize = 4;

/// A search as a curve, for this number of `servers` with the same number of mailboxes each.
pub(super) fn curve(found: Found, servers: u64) -> Curve {
    let (passes, fails) = (found.passes(), found.fails());
    let json = json!({
        "verdict": found.verdict(),
        "mailboxes_per_server": passes,
        "servers": servers,
        "fails_from": fails.map(|(count, _)| count),
        "limit": fails.map(|(_, tried)| match tried {
            Tried::Simulated(judged) if is_sessions(judged) => "sessions",
            Tried::Simulated(judged) if judged.verdict == Verdict::Fail => "rules",
            Tried::Simulated(judged) => judged.verdict.word(),
            Tried::Refused(refusal) if refusal.is_for_room() => "room",
            Tried::Refused(_) => "scenario",
        }),
    });
    let sentence = sentence(&found, servers);
    let points = found.tried.into_iter().map(|(count, tried)| CurvePoint {
        value: count.to_string(),
        label: grouped(count),
        at: count as f64,
        tried,
        path_lost: None,
    });
    Curve {
        key: MAILBOXES.to_owned(),
        axis: MAILBOXES.to_owned(),
        holds: Vec::new(),
        sentence,
        found: json,
        points: points.collect(),
    }
}

/// The answer, and below it the reason.
fn sentence(found: &Found, servers: u64) -> String {
    let Some((fails, tried)) = found.fails() else {
        return match found.passes() {
            Some(passes) => format!("{}, and no more were tried", pass(passes, servers)),
            None => "nothing was tried to its end".to_owned(),
        };
    };
    let is_room = matches!(tried, Tried::Refused(refusal) if refusal.is_for_room());
    let limit = match tried {
        Tried::Simulated(judged) if is_sessions(judged) => ": sessions are the limit, not storage",
        _ => "",
    };
    let fails = grouped(fails);
    let answer = match (found.passes(), is_room) {
        (Some(passes), true) => {
            format!("{}, {fails} do not fit: room is the limit, not speed", pass(passes, servers))
        }
        (Some(passes), false) => format!("{}, {fails} do not{limit}", pass(passes, servers)),
        (None, true) => format!("no number of mailboxes passes; {fails} do not fit"),
        (None, false) => format!("no number of mailboxes passes, and {fails} do not{limit}"),
    };
    let why = match tried {
        Tried::Refused(refusal) => vec![refusal.what().to_owned()],
        Tried::Simulated(judged) if judged.verdict != Verdict::Fail => {
            vec![judged.sentence.clone()]
        }
        Tried::Simulated(judged) => {
            let failed = &judged.failed;
            let more = failed.len().saturating_sub(RULES_MAX);
            let named = failed.iter().take(RULES_MAX);
            let named = named.map(|rule| rule.against_limit());
            let more = (more > 0).then(|| format!("and {}", counted(more as u64, "more rule")));
            let has_failed =
                |why: &&Bottleneck| failed.iter().any(|rule| rule.server == why.server);
            let why = judged.bottlenecks.iter().filter(has_failed);
            named.chain(more).chain(why.map(Bottleneck::heading)).collect()
        }
    };
    let why: String = why.iter().map(|line| format!("\n  {line}")).collect();
    answer + &why
}

/// Whether it failed because every server missed its target for want of sessions, and for nothing
/// else.
fn is_sessions(judged: &Judged) -> bool {
    let is_sessions = |why: &Bottleneck| why.limit == Limiting::Sessions;
    let is_rate = |rule: &Rule| RuleId::AchievedIo.is(rule);
    judged.verdict == Verdict::Fail
        && judged.failed.iter().all(is_rate)
        && judged.bottlenecks.iter().all(is_sessions)
        && !judged.bottlenecks.is_empty()
}

/// `2,842 mailboxes per server pass (5,684 on 2 servers)`.
fn pass(count: u64, servers: u64) -> String {
    let number = grouped(count);
    match servers {
        1 => match count {
            1 => "1 mailbox passes".to_owned(),
            _ => format!("{number} mailboxes pass"),
        },
        servers => format!(
            "{number} mailboxes per server pass ({} on {servers} servers)",
            grouped(count * servers)
        ),
    }
}

#[cfg(test)]
mod tests {
    use brunt_lab::Headline;
    use brunt_scenario::Place;

    use super::*;

    fn simulated(failed: &[&str]) -> Tried {
        let verdict = match failed {
            [] => Verdict::Pass,
            _ => Verdict::Fail,
        };
        let failed = failed.iter();
        let failed = failed.map(|server| Rule {
            server: Some((*server).to_owned()),
            ..Rule::at_most(RuleId::LogWriteAverage, "ms", 10.0, Some(10.5))
        });
        judged(verdict, failed.collect())
    }

    fn judged(verdict: Verdict, failed: Vec<Rule>) -> Tried {
        Tried::Simulated(Box::new(Judged {
            headline: Headline::default(),
            verdict,
            sentence: "DB1 has outgrown its reserve.".to_owned(),
            failed,
            bottlenecks: Vec::new(),
        }))
    }

    fn no_room() -> Tried {
        let refusal = Place::flag("--until-fail").refuse("2 TiB do not fit on LUN \"db\"");
        Tried::Refused(refusal.for_want_of_room())
    }

    fn found(tried: impl IntoIterator<Item = (u64, Tried)>) -> Found {
        Found { tried: tried.into_iter().collect() }
    }

    #[test]
    fn where_room_is_the_limit_the_sentence_says_so() {
        let found = found([(2_430, simulated(&[])), (2_445, no_room())]);
        assert_eq!(
            sentence(&found, 1),
            "2,430 mailboxes pass, 2,445 do not fit: room is the limit, not speed\n  2 TiB do not fit on LUN \"db\""
        );
    }

    #[test]
    fn the_rule_that_ends_it_is_named_with_its_server_and_value() {
        let fails = simulated(&["B"]);
        let found = found([(2_841, simulated(&[])), (2_842, fails)]);
        assert_eq!(
            sentence(&found, 2),
            "2,841 mailboxes per server pass (5,682 on 2 servers), 2,842 do not\n  B: log write, average: 10.5 ms (limit 10 ms)"
        );
        let curve = curve(found, 2);
        assert_eq!(curve.found["limit"], "rules");
        assert_eq!(curve.found["verdict"], "pass");
        assert!(curve.words().contains("fail: B: log write, average: 10.5 ms"));
    }

    #[test]
    fn too_few_sessions_are_no_limit_of_the_storage() {
        let why = Bottleneck {
            server: Some("A".to_owned()),
            limit: Limiting::Sessions,
            sentence: "4 sessions can ask for about 820".to_owned(),
            busiest: None,
        };
        let rule = Rule {
            server: Some("A".to_owned()),
            ..Rule::at_least(RuleId::AchievedIo, "/s", 950.0, Some(815.0))
        };
        let of = |limit| {
            let why = Bottleneck { limit, ..why.clone() };
            let judged = Judged {
                headline: Headline::default(),
                verdict: Verdict::Fail,
                sentence: String::new(),
                failed: vec![rule.clone()],
                bottlenecks: vec![why],
            };
            let tried = Tried::Simulated(Box::new(judged));
            let curve = curve(found([(40, simulated(&[])), (41, tried)]), 1);
            (curve.sentence, curve.found["limit"].clone())
        };
        let why = "\n  A: achieved database I/O: 815 /s (minimum 950 /s)\n  A: 4 sessions can ask for about 820";
        assert_eq!(
            of(Limiting::Sessions),
            (
                format!("40 mailboxes pass, 41 do not: sessions are the limit, not storage{why}"),
                json!("sessions")
            )
        );
        assert_eq!(
            of(Limiting::Storage),
            (format!("40 mailboxes pass, 41 do not{why}"), json!("rules"))
        );
    }

    #[test]
    fn a_run_that_breaks_is_no_pass_and_says_why() {
        let found = found([(40, simulated(&[])), (41, judged(Verdict::Error, Vec::new()))]);
        assert_eq!(
            sentence(&found, 1),
            "40 mailboxes pass, 41 do not\n  DB1 has outgrown its reserve."
        );
        let curve = curve(found, 1);
        assert_eq!(curve.found["limit"], "error");
        assert!(curve.words().contains("error: DB1 has outgrown"));
    }

    #[test]
    fn a_search_that_never_failed_has_no_answer() {
        let found = found([(40, simulated(&[])), (80, simulated(&[]))]);
        assert_eq!(sentence(&found, 1), "80 mailboxes pass, and no more were tried");
        assert_eq!(curve(found, 1).found["verdict"], "inconclusive");
    }

    #[test]
    fn without_a_pass_the_smallest_failure_is_told() {
        let found = found([(1, simulated(&["A"])), (2, simulated(&["A"]))]);
        assert_eq!(
            sentence(&found, 1),
            "no number of mailboxes passes, and 1 do not\n  A: log write, average: 10.5 ms (limit 10 ms)"
        );
    }
}
