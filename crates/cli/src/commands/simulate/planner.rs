//! The distance planner: a sweep of `link.rtt` or `link.km` of a replicated test says how far apart
//! its sites may be.
//!
//! Where a link has several paths, every point is simulated again with one of them lost from the
//! beginning. Kilometres are only a best case: they are those of fibre alone.

use brunt_lab::Tried;
use brunt_lab::distance::{self, Reach};
use brunt_scenario::{Place, Refusal};
use brunt_units::Span;
use serde_json::{Value, json};

use super::kept::reason;
use crate::sweep::Sweep;

/// How a sentence begins where some round trip keeps every limit, and where none does.
const ALL_PATHS: [&str; 2] = ["Every limit holds", "No round trip keeps every limit"];
const PATH_LOST: [&str; 2] = [
    "With one path lost, every limit holds",
    "With one path lost, no round trip keeps every limit",
];

/// The round trips of a sweep, in its order.
pub(super) struct RoundTrips(Vec<Span>);

/// Reads a round trip.
type Reader = fn(&str) -> Option<Span>;

/// How far apart the sites may be.
pub(super) struct Planned {
    /// In lines.
    pub(super) sentence: String,
    /// The same for programs.
    pub(super) found: Value,
    /// Names of the longest round trips, and the numbers of their points.
    pub(super) holds: Vec<(String, usize)>,
}

impl RoundTrips {
    /// The round trips of `sweep`; `None` when it varies something else.
    ///
    /// # Errors
    /// [`Refusal`] for a value that is none.
    pub(super) fn of(sweep: &Sweep) -> Result<Option<Self>, Refusal> {
        let (read, what, example): (Reader, _, _) = match sweep.key.as_str() {
            "link.rtt" => (
                |text| text.parse().ok(),
                "is not a round trip: units are us, ms and s",
                "link.rtt=0ms..10ms",
            ),
            "link.km" => (
                |text| {
                    let km = text.parse().ok().filter(|km: &f64| *km >= 0.0);
                    km.map(distance::round_trip_over)
                },
                "is not a number of kilometres",
                "link.km=0..500/11",
            ),
            _ => return Ok(None),
        };
        let read = |text: &str| {
            read(text).ok_or_else(|| {
                let place = Place::flag(&format!("--sweep {}", sweep.key));
                let refusal = place.refuse(format!("`{text}` {what}"));
                refusal.hint(format!("for example: --sweep {example}"))
            })
        };
        let all: Result<Vec<Span>, Refusal> = sweep.texts().map(read).collect();
        Ok(Some(Self(all?)))
    }

    /// How far every limit holds by what came of the points, with all paths and with one lost.
    pub(super) fn plan(
        &self,
        tried: &[Option<Tried>],
        path_lost: Option<&[Option<Tried>]>,
    ) -> Planned {
        let reach = |tried: &[Option<Tried>]| {
            let held = tried.iter().map(|tried| Some(tried.as_ref()?.passed()));
            Reach::of(self.0.iter().copied().zip(held))
        };
        let all = reach(tried);
        let lost = path_lost.map(reach);
        let mut lines = vec![self.told(ALL_PATHS, all, tried)];
        let told = lost.zip(path_lost);
        lines.extend(told.map(|(reach, tried)| self.told(PATH_LOST, reach, tried)));
        lines.extend(all.holds.filter(|holds| *holds > Span::ZERO).map(|holds| {
            format!(
                "A round trip of {} is {:.0} km of fibre at best: detours and routers shorten that.",
                millis(holds),
                distance::kilometres_at_best(holds)
            )
        }));
        let mark = |name: &str, reach: Reach| {
            let holds = reach.holds?;
            reach.fails?;
            let point = self.0.iter().position(|one| *one == holds)?;
            Some((format!("{name} {}", millis(holds)), point))
        };
        let marks = [mark("limits hold to", all), lost.and_then(|lost| mark("a path lost:", lost))];
        Planned {
            sentence: lines.join("\n"),
            found: json!({ "round_trip": { "all_paths": found(all), "one_path_lost": lost.map(found) } }),
            holds: marks.into_iter().flatten().collect(),
        }
    }

    /// The longest round trip in a sentence, which begins as `every` or `no` does.
    fn told(&self, [every, no]: [&str; 2], reach: Reach, tried: &[Option<Tried>]) -> String {
        let failed = reach.fails.and_then(|fails| {
            let mut points = self.0.iter().zip(tried);
            let point = points.find(|(at, tried)| {
                **at == fails && tried.as_ref().is_some_and(|tried| !tried.passed())
            });
            let why = reason(point?.1.as_ref()?);
            Some(format!("at {}, {why}", millis(fails)))
        });
        match (reach.holds.map(millis), failed) {
            (Some(holds), Some(why)) => format!("{every} up to a round trip of {holds}; {why}."),
            (None, Some(why)) => format!("{no}: {why}."),
            (None, None) => format!("{no} that was simulated."),
            (Some(holds), None) => {
                let is_last = self.0.iter().max().copied() == reach.holds;
                let rest = match is_last {
                    true => "the longest that was simulated",
                    false => "and longer ones were not simulated",
                };
                format!("{every} up to a round trip of {holds}, {rest}.")
            }
        }
    }
}

fn found(reach: Reach) -> Value {
    json!({
        "holds_ms": reach.holds.map(Span::as_millis),
        "fails_ms": reach.fails.map(Span::as_millis),
        "km_at_best": reach.holds.map(distance::kilometres_at_best),
    })
}

/// `0.25 ms`, as it is written in a scenario.
fn millis(span: Span) -> String {
    format!("{} ms", span.as_millis())
}

#[cfg(test)]
mod tests {
    use brunt_lab::{Headline, Judged};
    use brunt_qualify::rules::RuleId;
    use brunt_report::result::{Rule, Verdict};

    use super::*;

    fn tried(log_ms: f64) -> Option<Tried> {
        let rule = Rule::at_most(RuleId::LogWriteAverage, "ms", 10.0, Some(log_ms));
        let failed = (log_ms > 10.0).then_some(rule);
        Some(Tried::Simulated(Box::new(Judged {
            headline: Headline::default(),
            verdict: if failed.is_some() { Verdict::Fail } else { Verdict::Pass },
            sentence: String::new(),
            failed: failed.into_iter().collect(),
            bottlenecks: Vec::new(),
        })))
    }

    fn round_trips(text: &str) -> RoundTrips {
        RoundTrips::of(&Sweep::read(text).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn the_longest_round_trips_are_named_with_what_ends_them() {
        let sweep = round_trips("link.rtt=0ms,2ms,4ms,6ms");
        let all = [2.0, 6.0, 9.5, 14.0].map(tried);
        let lost = [3.0, 10.5, 15.0, 30.0].map(tried);
        let planned = sweep.plan(&all, Some(&lost));
        assert_eq!(
            planned.sentence,
            "Every limit holds up to a round trip of 4 ms; at 6 ms, log write, average: 14 ms (limit 10 ms).\n\
             With one path lost, every limit holds up to a round trip of 0 ms; at 2 ms, log write, average: 10.5 ms (limit 10 ms).\n\
             A round trip of 4 ms is 400 km of fibre at best: detours and routers shorten that."
        );
        assert_eq!(planned.found["round_trip"]["all_paths"]["holds_ms"], 4.0);
        assert_eq!(planned.found["round_trip"]["one_path_lost"]["fails_ms"], 2.0);
    }

    #[test]
    fn what_was_not_simulated_is_not_promised() {
        let sweep = round_trips("link.km=0..200/3");
        let told = |tried: &[Option<Tried>]| sweep.plan(tried, None).sentence;
        let all = told(&[tried(1.0), tried(1.0), tried(1.0)]);
        assert!(all.starts_with(
            "Every limit holds up to a round trip of 2 ms, the longest that was simulated.\n"
        ));
        let stopped = told(&[tried(1.0), None, tried(1.0)]);
        assert_eq!(
            stopped,
            "Every limit holds up to a round trip of 0 ms, and longer ones were not simulated."
        );
        let none = told(&[tried(11.0), tried(1.0), tried(1.0)]);
        assert_eq!(
            none,
            "No round trip keeps every limit: at 0 ms, log write, average: 11 ms (limit 10 ms)."
        );
    }

    #[test]
    fn mistyped_units_are_refused() {
        let refused = |text| {
            let refused = RoundTrips::of(&Sweep::read(text).unwrap()).err().unwrap();
            refused.to_string()
        };
        for (text, why) in [
            ("link.rtt=0ms,1mss", "`1mss` is not a round trip: units are us, ms and s"),
            ("link.rtt=0..10", "`0` is not a round trip"),
            ("link.rtt=1MB..2MB", "`1MB` is not a round trip"),
            ("link.km=1ms..2ms", "`1ms` is not a number of kilometres"),
        ] {
            let refusal = refused(text);
            assert!(refusal.contains(why), "{refusal}");
            assert!(refusal.contains("for example: --sweep link."), "{refusal}");
        }
    }
}
