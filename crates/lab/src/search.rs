//! The largest number of mailboxes for which every rule holds, and what limits it.
//!
//! The number is doubled until a rule fails or databases do not fit, then narrowed down, with as
//! many points at once as there are cores. This assumes what holds for storage in general: storage
//! that passes with a number also passes with a smaller one. The result is accurate to `NEAR`.
//!
//! ```text
//!   passes passes passes | fails fails      performance is the limit: the smallest that fails shows which rule, where, by how much
//!   passes passes passes | no room          capacity is the limit; the performance limit remains unknown
//! ```

use std::collections::BTreeMap;

use brunt_report::result::Verdict;
use brunt_run::Stop;
use brunt_scenario::Override;

use crate::points::Told;
use crate::{LabError, Points, Tried};

/// The key that varies.
pub const MAILBOXES: &str = "mailboxes.count";

/// Final distance between the largest number that passes and the smallest that does not, as a
/// share.
const NEAR: f64 = 0.02;
const DOUBLINGS_MAX: u32 = 20;

/// The results of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// The result for each number.
    pub tried: BTreeMap<u64, Tried>,
}

impl Found {
    /// The largest number that passed; `None` when none did.
    pub fn passes(&self) -> Option<u64> {
        let passed = self.tried.iter().filter(|(_, tried)| tried.passed());
        passed.map(|(count, _)| *count).max()
    }

    /// The smallest larger number that did not pass, and its result. A number below it may have
    /// failed too: a small system may fail for other reasons than load.
    pub fn fails(&self) -> Option<(u64, &Tried)> {
        let above = self.passes().map_or(0, |passes| passes + 1);
        let first = self.tried.range(above..).next();
        first.map(|(count, tried)| (*count, tried))
    }

    /// Pass when there is a largest number that passes, fail when even the smallest does not hold
    /// or fit. Anything else leaves the question open.
    pub fn verdict(&self) -> Verdict {
        match (self.passes(), self.fails()) {
            (Some(_), Some(_)) => Verdict::Pass,
            (None, Some((_, Tried::Simulated(judged)))) => judged.verdict,
            (None, Some((_, Tried::Refused(_)))) => Verdict::Fail,
            (_, None) => Verdict::Inconclusive,
        }
    }
}

/// Searches the scenario of `points`, starting at `first`.
///
/// # Errors
/// [`LabError`] when it cannot be simulated.
pub fn search(
    points: &Points<'_>,
    first: u64,
    stop: &Stop,
    told: &Told<'_>,
) -> Result<Found, LabError> {
    let all = |counts: &[u64]| {
        let values = counts.iter().map(|count| {
            let value = Override::of_set(&format!("{MAILBOXES}={count}"));
            value.expect("a key and its value")
        });
        let values: Vec<Override> = values.collect();
        points.simulate(&values, stop, told)
    };
    among(first, &all)
}

/// Searches, starting at `first`, where `all` tries numbers.
pub(crate) fn among(first: u64, all: &All<'_>) -> Result<Found, LabError> {
    let mut search = Search { all, found: Found::default() };
    search.double(first)?;
    search.narrow()?;
    Ok(search.found)
}

/// Simulates several numbers of mailboxes; stopped ones yield `None`.
pub(crate) type All<'a> = dyn Fn(&[u64]) -> Result<Vec<Option<Tried>>, LabError> + 'a;

struct Search<'a> {
    all: &'a All<'a>,
    found: Found,
}

impl Search<'_> {
    /// Doubles `count` until it does not pass, or halves it until it does.
    fn double(&mut self, mut count: u64) -> Result<(), LabError> {
        for _ in 0..DOUBLINGS_MAX {
            if !self.try_all(&[count])? {
                break;
            }
            count = match (self.found.passes(), self.found.fails()) {
                (Some(_), Some(_)) | (None, Some((1, _))) => break,
                (Some(passes), None) => passes.saturating_mul(2),
                (None, _) => count.div_ceil(2),
            };
        }
        Ok(())
    }

    fn narrow(&mut self) -> Result<(), LabError> {
        while let (Some(passes), Some((fails, _))) = (self.found.passes(), self.found.fails()) {
            let near = (fails - passes) as f64 <= (passes as f64 * NEAR).max(1.0);
            if near {
                break;
            }
            let third = (fails - passes).div_ceil(3);
            let between = [passes + third, passes + 2 * third];
            let between: Vec<u64> = between.into_iter().filter(|count| *count < fails).collect();
            if !self.try_all(&between)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether all of `counts` were tried: what comes next follows from all of them.
    fn try_all(&mut self, counts: &[u64]) -> Result<bool, LabError> {
        let tried = (self.all)(counts)?;
        let is_whole = tried.iter().all(Option::is_some);
        let tried = counts.iter().zip(tried);
        let tried = tried.filter_map(|(count, tried)| Some((*count, tried?)));
        self.found.tried.extend(tried);
        Ok(is_whole)
    }
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Place;

    use super::*;
    use crate::points::tests::tried as judged;

    fn tried(passed: bool) -> Tried {
        judged(match passed {
            true => Verdict::Pass,
            false => Verdict::Fail,
        })
    }

    fn no_room() -> Tried {
        let refusal = Place::flag("--until-fail").refuse("2 TiB do not fit on LUN \"db\"");
        Tried::Refused(refusal.for_want_of_room())
    }

    fn found(tried: impl IntoIterator<Item = (u64, Tried)>) -> Found {
        Found { tried: tried.into_iter().collect() }
    }

    /// The result of a search from `first` on, where `of` gives the result of a number.
    fn searched(first: u64, of: impl Fn(u64) -> Tried) -> Found {
        let all = |counts: &[u64]| Ok(counts.iter().map(|count| Some(of(*count))).collect());
        among(first, &all).unwrap()
    }

    #[test]
    fn a_failure_below_a_pass_is_not_the_border() {
        let border = |all: &[(u64, bool)]| {
            let found = found(all.iter().map(|(count, passed)| (*count, tried(*passed))));
            (found.passes(), found.fails().map(|(count, _)| count))
        };
        assert_eq!(border(&[(400, false), (200, true)]), (Some(200), Some(400)));
        assert_eq!(border(&[(100, false), (200, true)]), (Some(200), None));
        assert_eq!(border(&[(400, false), (200, false)]), (None, Some(200)));
    }

    #[test]
    fn where_room_ends_the_answer_is_the_last_that_fits() {
        // The two inner points of the first interval differ: 2,223 fits, 2,445 does not.
        let found = searched(2_000, |count| match count {
            0..=2_430 => tried(true),
            _ => no_room(),
        });
        let passes = found.passes().unwrap();
        assert!((2_380..=2_430).contains(&passes), "{passes}");
        let (fails, _) = found.fails().unwrap();
        assert!(fails > 2_430, "{fails}");
    }

    #[test]
    fn a_rule_that_fails_lies_between_the_two_numbers() {
        let found = searched(1_000, |count| tried(count <= 2_841));
        let (passes, fails) = (found.passes().unwrap(), found.fails().unwrap().0);
        assert!(passes <= 2_841 && fails > 2_841);
        assert!((fails - passes) as f64 <= passes as f64 * NEAR);
    }

    #[test]
    fn a_search_without_a_pass_ends_with_its_smallest_failure() {
        let found = searched(40, |_| tried(false));
        assert_eq!(found.passes(), None);
        assert_eq!(found.fails().map(|(count, _)| count), Some(1));
    }

    #[test]
    fn only_a_border_is_an_answer() {
        let verdict = |first, of: fn(u64) -> Tried| searched(first, of).verdict();
        assert_eq!(verdict(40, |count| tried(count < 100)), Verdict::Pass);
        assert_eq!(verdict(40, |_| tried(false)), Verdict::Fail);
        assert_eq!(verdict(40, |_| no_room()), Verdict::Fail);
        assert_eq!(verdict(40, |_| tried(true)), Verdict::Inconclusive);
        assert_eq!(verdict(40, |_| judged(Verdict::Error)), Verdict::Error);
        assert_eq!(found([]).verdict(), Verdict::Inconclusive);
    }
}
