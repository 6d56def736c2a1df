//! `--until-fail`: what is said of the largest number of mailboxes for which every rule holds, and of what ends it.

use brunt_lab::Tried;
use brunt_lab::search::{Found, MAILBOXES};
use brunt_report::result::Verdict;
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
    });
    Curve {
        key: MAILBOXES.to_owned(),
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
    let fails = grouped(fails);
    let answer = match (found.passes(), is_room) {
        (Some(passes), true) => format!(
            "{}, {fails} do not fit: room is the limit, not speed",
            pass(passes, servers)
        ),
        (Some(passes), false) => format!("{}, {fails} do not", pass(passes, servers)),
        (None, true) => format!("no number of mailboxes passes; {fails} do not fit"),
        (None, false) => format!("no number of mailboxes passes, and {fails} do not"),
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
            named.chain(more).collect()
        }
    };
    let why: String = why.iter().map(|line| format!("\n  {line}")).collect();
    answer + &why
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
    use brunt_lab::{Headline, Judged};
    use brunt_qualify::rules::RuleId;
    use brunt_report::result::Rule;
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
        }))
    }

    fn no_room() -> Tried {
        let refusal = Place::flag("--until-fail").refuse("2 TiB do not fit on LUN \"db\"");
        Tried::Refused(refusal.for_want_of_room())
    }

    fn found(tried: impl IntoIterator<Item = (u64, Tried)>) -> Found {
        Found {
            tried: tried.into_iter().collect(),
        }
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
        assert!(
            curve
                .words()
                .contains("fail: B: log write, average: 10.5 ms")
        );
    }

    #[test]
    fn a_run_that_breaks_is_no_pass_and_says_why() {
        let found = found([
            (40, simulated(&[])),
            (41, judged(Verdict::Error, Vec::new())),
        ]);
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
        assert_eq!(
            sentence(&found, 1),
            "80 mailboxes pass, and no more were tried"
        );
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
