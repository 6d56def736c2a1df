//! How far apart two sites may be: the longest round trip for which every limit holds.
//!
//! ```text
//!   round trip   0 ms   1 ms   2 ms   3 ms   4 ms
//!                pass   pass   pass   fail   pass        holds up to 2 ms, fails at 3 ms
//! ```
//!
//! It is the longest one that was simulated, with none below it that failed: nothing is read
//! between points. A pass beyond a failure is chance, and does not count.

use brunt_array::{Incident, PairIncident, PairLinkDesign, Scheduled, SystemDesign};
use brunt_scenario::{ArrayPlan, ModelledScenario};
use brunt_units::{Span, Time};

/// The longest round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Every limit holds up to here; `None` when it does for no round trip.
    pub holds: Option<Span>,
    /// The next round trip, where it does not hold; `None` when no longer one was simulated.
    pub fails: Option<Span>,
}

impl Reach {
    /// Of round trips in any order, and whether every limit held; `None` for one that was not
    /// simulated.
    pub fn of(points: impl IntoIterator<Item = (Span, Option<bool>)>) -> Self {
        let mut points: Vec<(Span, Option<bool>)> = points.into_iter().collect();
        // Of the same round trip, what did not pass comes first.
        points.sort();
        let mut reach = Self::default();
        for (round_trip, held) in points {
            match held {
                Some(true) => reach.holds = Some(round_trip),
                Some(false) => {
                    reach.fails = Some(round_trip);
                    break;
                }
                None => break,
            }
        }
        reach
    }
}

/// The round trip over this many kilometres of fibre.
pub fn round_trip_over(kilometres: f64) -> Span {
    PairLinkDesign::round_trip_over(kilometres)
}

/// Kilometres of fibre with this round trip: the best case, without routers, detours and gateways.
pub fn kilometres_at_best(round_trip: Span) -> f64 {
    round_trip.as_seconds() / round_trip_over(1.0).as_seconds()
}

/// Whether hosts wait for the link of an array of `scenario`.
pub fn is_replicated(scenario: &ModelledScenario) -> bool {
    let mut arrays = scenario.arrays.iter();
    arrays.any(|array| matches!(array.design, SystemDesign::Pair(_)))
}

/// Whether a link can lose a path and still be there.
pub fn has_path_to_lose(scenario: &ModelledScenario) -> bool {
    scenario.arrays.iter().any(|array| spare(array).is_some())
}

/// From the beginning, every link that has more than one path lacks one.
pub(crate) fn lose_path(scenario: &mut ModelledScenario) {
    for array in &mut scenario.arrays {
        let lost = spare(array).map(PairIncident::LinkPathLost);
        let lost = lost.map(|lost| Scheduled::new(Time::ZERO, Incident::Pair(lost)));
        array.incidents.splice(0..0, lost);
    }
}

/// A path that no event names, of a link that has others.
fn spare(array: &ArrayPlan) -> Option<usize> {
    let SystemDesign::Pair(pair) = &array.design else {
        return None;
    };
    let is_named = |path: &usize| {
        let mut incidents = array.incidents.iter();
        incidents.any(|one| match one.incident {
            Incident::Pair(
                PairIncident::LinkPathLost(own) | PairIncident::LinkPathReturns(own),
            ) => own == *path,
            _ => false,
        })
    };
    let paths = pair.link.paths;
    (0..paths).find(|path| paths > 1 && !is_named(path))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brunt_scenario::Document;
    use brunt_world::random::Streams;

    use super::*;

    /// Tries each round trip as an answer.
    fn obvious(points: &[(Span, Option<bool>)]) -> Option<Span> {
        let holds = |at: &Span| {
            let mut up_to = points.iter().filter(|(other, _)| other <= at);
            up_to.all(|(_, held)| *held == Some(true))
        };
        points.iter().map(|(at, _)| *at).filter(holds).max()
    }

    #[test]
    fn the_longest_round_trip_follows_from_the_points() {
        for seed in 0..2_000 {
            let mut stream = Streams::new(seed).named("points");
            let mut points = Vec::new();
            for _ in 0..stream.below(9) {
                let held = match stream.below(8) {
                    0 => None,
                    some => Some(some > 2),
                };
                points.push((Span::millis(stream.below(6)), held));
            }
            let reach = Reach::of(points.iter().copied());
            assert_eq!(reach.holds, obvious(&points), "seed {seed}: {points:?}");
            if let Some(fails) = reach.fails {
                assert!(points.contains(&(fails, Some(false))));
                assert!(reach.holds < Some(fails));
                let between = |at: Span| Some(at) > reach.holds && at < fails;
                assert!(!points.iter().any(|(at, _)| between(*at)), "seed {seed}");
            }
        }
    }

    const EXAMPLE: &str = include_str!("../../../examples/distance.toml");

    /// The path that is lost of the example, which has two, after this change.
    fn lost(from: &str, to: &str) -> Option<usize> {
        let text = EXAMPLE.replace(from, to);
        let document = Document::new("distance.toml", &text, Path::new("/")).unwrap();
        let mut scenario = document.modelled_test(&[]).unwrap();
        assert!(is_replicated(&scenario));
        let had = scenario.arrays[0].incidents.len();
        assert_eq!(has_path_to_lose(&scenario), spare(&scenario.arrays[0]).is_some());
        lose_path(&mut scenario);
        let incidents = &scenario.arrays[0].incidents;
        let first = incidents.first().filter(|_| incidents.len() > had)?;
        assert_eq!(first.at, Time::ZERO);
        match first.incident {
            Incident::Pair(PairIncident::LinkPathLost(path)) => Some(path),
            _ => None,
        }
    }

    #[test]
    fn a_path_is_lost_that_no_event_names() {
        let event = |path| {
            format!("\n[[event]]\nat = \"5min\"\nwhat = \"link path lost\"\npath = {path}\n")
        };
        let last = "luns = [\"{} data\", \"{} log\"]\n";
        let with = |events: String| lost(last, &format!("{last}{events}"));
        assert_eq!(with(String::new()), Some(0));
        assert_eq!(lost("paths = 2", "paths = 1"), None);
        assert_eq!(with(event(0)), Some(1));
        assert_eq!(with(event(0) + &event(1)), None);
    }

    #[test]
    fn a_millisecond_is_a_hundred_kilometres_at_best() {
        assert!((kilometres_at_best(Span::millis(1)) - 100.0).abs() < 1e-9);
    }
}
