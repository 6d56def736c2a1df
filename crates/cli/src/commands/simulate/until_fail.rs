//! `--until-fail`: the largest number of mailboxes for which every rule holds, and what ends it.
//!
//! Doubled until a rule fails or databases do not fit, then narrowed down, as many points at once as there are cores. That
//! assumes what holds for storage in general: what bears a number bears a smaller one. The result is good to [`NEAR`].
//!
//! ```text
//!   passes passes passes | fails fails      speed is the limit: the smallest that fails says which rule, where, by how much
//!   passes passes passes | no room          room is the limit, and how fast storage of this kind is remains open
//! ```

use std::collections::BTreeMap;

use brunt_qualify::progress::Stop;
use brunt_report::{counted, grouped};
use serde_json::json;

use super::kept::{Curve, CurvePoint};
use super::points::{Point, Tried, simulate_all};
use super::{Engine, SimulateError, Source};
use brunt_scenario::{Override, Place};

/// How near the largest that passes and the smallest that does not are in the end, as a share.
const NEAR: f64 = 0.02;
const DOUBLINGS_MAX: u32 = 20;
/// Failed rules that are named.
const RULES_MAX: usize = 4;
const KEY: &str = "mailboxes.count";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Servers, each with the number of mailboxes.
    servers: u64,
    /// What came of each number.
    tried: BTreeMap<u64, Tried>,
}

impl Found {
    /// The largest number that passed; nothing when none did.
    pub(super) fn passes(&self) -> Option<u64> {
        let passed = self.tried.iter().filter(|(_, tried)| tried.passed());
        passed.map(|(count, _)| *count).max()
    }

    /// The smallest number above it that did not pass, and why: a small system may fail for another reason than that it bears
    /// too much.
    fn fails(&self) -> Option<(u64, &Tried)> {
        let above = self.passes().map_or(0, |passes| passes + 1);
        let first = self.tried.range(above..).next();
        first.map(|(count, tried)| (*count, tried))
    }

    /// The answer, and below it the reason.
    fn sentence(&self) -> String {
        let Some((fails, tried)) = self.fails() else {
            return match self.passes() {
                Some(passes) => format!("{}, and no more were tried", self.pass(passes)),
                None => "nothing was tried to its end".to_owned(),
            };
        };
        let is_room = matches!(tried, Tried::Refused(refusal) if refusal.is_for_room());
        let fails = grouped(fails);
        let answer = match (self.passes(), is_room) {
            (Some(passes), true) => format!(
                "{}, {fails} do not fit: room is the limit, not speed",
                self.pass(passes)
            ),
            (Some(passes), false) => format!("{}, {fails} do not", self.pass(passes)),
            (None, true) => format!("no number of mailboxes passes; {fails} do not fit"),
            (None, false) => format!("no number of mailboxes passes, and {fails} do not"),
        };
        let why = match tried {
            Tried::Refused(refusal) => vec![refusal.what().to_owned()],
            Tried::Simulated(_, failed) if failed.is_empty() => vec![tried.outcome()],
            Tried::Simulated(_, failed) => {
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
    fn pass(&self, count: u64) -> String {
        let number = grouped(count);
        match self.servers {
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

    pub(super) fn into_curve(self) -> Curve {
        let (passes, fails) = (self.passes(), self.fails());
        let found = json!({
            "mailboxes_per_server": passes,
            "servers": self.servers,
            "fails_from": fails.map(|(count, _)| count),
            "limit": fails.map(|(_, tried)| match tried {
                Tried::Simulated(..) => "rules",
                Tried::Refused(refusal) if refusal.is_for_room() => "room",
                Tried::Refused(_) => "scenario",
            }),
        });
        let sentence = self.sentence();
        let points = self.tried.into_iter().map(|(count, tried)| CurvePoint {
            value: count.to_string(),
            label: grouped(count),
            at: count as f64,
            tried,
        });
        Curve {
            key: KEY.to_owned(),
            sentence,
            found,
            points: points.collect(),
        }
    }
}

/// Looks for it, beginning with what the scenario says.
///
/// # Errors
/// [`SimulateError`] when the scenario has no mailboxes, or cannot be simulated.
pub(super) fn search(
    source: &Source,
    overrides: &[Override],
    engine: Engine,
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Found, SimulateError> {
    let scenario = source.test(overrides)?;
    let Some(mailboxes) = &scenario.scenario.mailboxes else {
        let refusal = Place::flag("--until-fail").refuse("needs a table [mailboxes]");
        return Err(refusal.hint("with `count`, `quota` and `io_per_s`").into());
    };
    let all = |counts: &[u64]| {
        let points = counts.iter().map(|count| Point {
            set: vec![format!("{KEY}={count}")],
        });
        let points: Vec<Point> = points.collect();
        simulate_all(source, overrides, engine, &points, stop, told)
    };
    let mut search = Search {
        all: &all,
        stop,
        found: Found {
            servers: scenario.servers.len() as u64,
            ..Found::default()
        },
    };
    search.double(mailboxes.count)?;
    search.narrow()?;
    Ok(search.found)
}

/// Simulates several numbers of mailboxes; nothing comes of those that were stopped.
type All<'a> = dyn Fn(&[u64]) -> Result<Vec<Option<Tried>>, SimulateError> + 'a;

struct Search<'a> {
    all: &'a All<'a>,
    stop: &'a Stop,
    found: Found,
}

impl Search<'_> {
    /// Doubles `count` until it does not pass, or halves it until it does.
    fn double(&mut self, mut count: u64) -> Result<(), SimulateError> {
        for _ in 0..DOUBLINGS_MAX {
            self.try_all(&[count])?;
            count = match (self.found.passes(), self.found.fails()) {
                _ if self.stop.is_asked() => break,
                (Some(_), Some(_)) | (None, Some((1, _))) => break,
                (Some(passes), None) => passes.saturating_mul(2),
                (None, _) => count.div_ceil(2),
            };
        }
        Ok(())
    }

    fn narrow(&mut self) -> Result<(), SimulateError> {
        while let (Some(passes), Some((fails, _))) = (self.found.passes(), self.found.fails()) {
            let near = (fails - passes) as f64 <= (passes as f64 * NEAR).max(1.0);
            if near || self.stop.is_asked() {
                break;
            }
            let third = (fails - passes).div_ceil(3);
            let between = [passes + third, passes + 2 * third];
            let between: Vec<u64> = between.into_iter().filter(|count| *count < fails).collect();
            self.try_all(&between)?;
        }
        Ok(())
    }

    fn try_all(&mut self, counts: &[u64]) -> Result<(), SimulateError> {
        let tried = (self.all)(counts)?;
        let tried = counts.iter().zip(tried);
        let tried = tried.filter_map(|(count, tried)| Some((*count, tried?)));
        self.found.tried.extend(tried);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Rule;

    use super::*;
    use crate::commands::simulate::{Headline, LogFigures};

    fn simulated(failed: &[&str]) -> Tried {
        let log = LogFigures {
            per_s: 1.0,
            ms: 1.0,
            bytes: 1.0,
        };
        let headline = Headline {
            io_per_s: 1.0,
            reads_per_s: 1.0,
            writes_per_s: 1.0,
            read_ms: 1.0,
            write_ms: 1.0,
            log,
            log_volume: log,
            utilisation: 0.5,
            passed: failed.is_empty(),
        };
        let failed = failed.iter();
        let failed = failed.map(|name| Rule::at_most(name, "ms", 10.0, Some(10.5)));
        Tried::Simulated(headline, failed.collect())
    }

    fn no_room() -> Tried {
        let refusal = Place::flag("--until-fail").refuse("2 TiB do not fit on LUN \"db\"");
        Tried::Refused(refusal.for_want_of_room())
    }

    fn found(tried: impl IntoIterator<Item = (u64, Tried)>) -> Found {
        Found {
            servers: 1,
            tried: tried.into_iter().collect(),
        }
    }

    /// What is found from `first` on where `of` says what comes of a number.
    fn searched(first: u64, of: impl Fn(u64) -> Tried) -> Found {
        let all = |counts: &[u64]| Ok(counts.iter().map(|count| Some(of(*count))).collect());
        let mut search = Search {
            all: &all,
            stop: &Stop::default(),
            found: found([]),
        };
        search.double(first).unwrap();
        search.narrow().unwrap();
        search.found
    }

    #[test]
    fn a_failure_below_a_pass_is_not_the_border() {
        let border = |tried: &[(u64, bool)]| {
            let tried = tried.iter().map(|(count, passed)| match passed {
                true => (*count, simulated(&[])),
                false => (*count, simulated(&["read"])),
            });
            let found = found(tried);
            (found.passes(), found.fails().map(|(count, _)| count))
        };
        assert_eq!(border(&[(400, false), (200, true)]), (Some(200), Some(400)));
        assert_eq!(border(&[(100, false), (200, true)]), (Some(200), None));
        assert_eq!(border(&[(400, false), (200, false)]), (None, Some(200)));
    }

    #[test]
    fn where_room_ends_the_answer_is_the_last_that_fits() {
        // Both thirds of the first interval differ: 2,223 fits, 2,445 does not.
        let found = searched(2_000, |count| match count {
            0..=2_430 => simulated(&[]),
            _ => no_room(),
        });
        let passes = found.passes().unwrap();
        assert!((2_380..=2_430).contains(&passes), "{passes}");
        let (fails, _) = found.fails().unwrap();
        assert!(fails > 2_430, "{fails}");
        let sentence = found.sentence();
        assert_eq!(
            sentence,
            format!(
                "{} mailboxes pass, {} do not fit: room is the limit, not speed\n  2 TiB do not fit on LUN \"db\"",
                grouped(passes),
                grouped(fails)
            )
        );
    }

    #[test]
    fn the_rule_that_ends_it_is_named_with_its_server_and_value() {
        let mut found = searched(1_000, |count| match count {
            0..=2_841 => simulated(&[]),
            _ => simulated(&["B: log write, average"]),
        });
        found.servers = 2;
        let (passes, fails) = (found.passes().unwrap(), found.fails().unwrap().0);
        assert!(passes <= 2_841 && fails > 2_841);
        assert_eq!(
            found.sentence(),
            format!(
                "{} mailboxes per server pass ({} on 2 servers), {} do not\n  B: log write, average: 10.5 ms (limit 10 ms)",
                grouped(passes),
                grouped(2 * passes),
                grouped(fails)
            )
        );
        let curve = found.into_curve();
        assert_eq!(curve.found["limit"], "rules");
        assert!(
            curve
                .words()
                .contains("fail: B: log write, average: 10.5 ms")
        );
    }

    #[test]
    fn a_search_without_a_pass_ends_with_its_smallest_failure() {
        let found = searched(40, |_| simulated(&["read"]));
        assert_eq!(found.passes(), None);
        assert_eq!(
            found.sentence(),
            "no number of mailboxes passes, and 1 do not\n  read: 10.5 ms (limit 10 ms)"
        );
    }
}
